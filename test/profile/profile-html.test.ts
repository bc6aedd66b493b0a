import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Profile, ProfileResult, RooflinePeaks } from '../../main/contract/index.ts';
import { interpretProfile, noProfile } from '../../main/profile/interpret.ts';
import { profileHtml } from '../../main/profile/profile-html.ts';
import { rooflineSvg, rooflineWords, stallTotals, throughputSvg } from '../../main/profile/profile-pictures.ts';
import { kernelStatics } from '../../main/profile/ptxas.ts';

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const raw = fixture('gemm_full_raw.csv');
const PTXAS = [
  "ptxas info    : Compiling entry function '_Z17gemm_naive_kernelPKfS0_Pfi' for 'sm_90'",
  'ptxas info    : Function properties for _Z17gemm_naive_kernelPKfS0_Pfi',
  '    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads',
  'ptxas info    : Used 40 registers, used 1 barriers, 64 bytes smem, 380 bytes cmem[0], 8 bytes cmem[2]',
].join('\n');

function gemm(peaks: RooflinePeaks | null, texts: Record<string, string> = {}): Profile {
  const stage = { metrics: ['a'], sections: ['SourceCounters'], unknown: ['x__y.sum'], launch: 0, launches: 1 };
  const result: ProfileResult = {
    mode: 'profile',
    ncuVersion: '2025.3.1',
    rawCsv: raw,
    sourceCsv: '',
    log: '',
    exitCode: 0,
    incidents: [],
    stages: [{ stage: 'full', ...stage, passes: 44, collectMs: 6100, importMs: 700, note: 'a <note>' }],
  };
  return interpretProfile(result, {
    problem: 'large/0',
    activities: null,
    mode: 'filtered',
    pages: { detail: raw, source: fixture('src_cuda_sass.csv') },
    peaks,
    statics: kernelStatics(PTXAS),
    texts,
  });
}

const page = (profile: Profile): string =>
  profileHtml({
    title: 'gemm <fp32>, origin',
    evaluation: {
      outcome: 'valid',
      reason: 'origin verified & timed',
      machine: {
        host: 'h',
        gpu: { name: 'NVIDIA H200', uuid: 'GPU-1', cc: '9.0' },
        driver: '580.1',
        toolkit: '13.0',
        nvcc: '13.0.88',
        hostCompiler: 'g++ 12',
        ncu: '2025.3.1',
        containment: 'bubblewrap',
      },
      gpu: null,
    },
    profile,
    date: '2026-11-29',
  });

/** Names of elements in order; throws where tags are not nested properly. */
function elements(html: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  for (const [, close, name = '', rest = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)((?:[^<>"]|"[^"]*")*)>/gi)) {
    if (close) {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}>`);
    } else {
      names.push(name);
      if (!rest.endsWith('/') && !['meta', 'br'].includes(name)) open.push(name);
    }
  }
  if (open.length > 0) throw new Error(`not closed: ${open.join(' ')}`);
  return names;
}

describe('page', () => {
  const html = page(gemm({ bytesPerS: 4.1e12, flopsPerS: { fp32: 60e12 } }));

  test('is well formed, loads and runs nothing, is whole in itself', () => {
    const names = new Set(elements(html.replace(/^<!doctype html>\n/, '')));
    for (const name of ['script', 'img', 'link', 'iframe', 'object', 'a', 'form']) expect(names.has(name)).toBe(false);
    expect(html).toContain("default-src 'none'");
    expect(html.replaceAll('http://www.w3.org/2000/svg', '')).not.toMatch(/https?:|url\(|@import|src=|\son\w+=/);
    expect(html).toContain('gemm &lt;fp32&gt;, origin');
    expect(html).toContain('a &lt;note&gt;');
    expect(html).toContain('Remark: launches not compared with a timing');
  });

  test('is for light, dark and paper', () => {
    expect(html).toContain('color-scheme:light dark');
    expect(html).toContain('@media (prefers-color-scheme:dark)');
    expect(html).toContain('@media print');
  });

  test('holds throughputs, roofline, findings, heat with numbers, resources, stages', () => {
    expect(html.match(/<svg /g)).toHaveLength(3);
    expect(html).toContain('compute bound');
    expect(html).toContain('Compute (SM) 60.9 %, threshold 30 %');
    expect(html).toMatch(/FP32: 256 flop\/byte, 5\.1 Tflop\/s, 8\.5 % of the measured arithmetic roof/);
    expect(html).toMatch(/<td class="h" style="--h:0\.7">100\.0 % ± 0\.0 %<\/td><td>Long Scoreboard \(55\.3 %\)/);
    expect(html).toMatch(/3 found of \d+ looked for/);
    expect(html).toContain('<th scope="row">gemm_naive_kernel</th><td class="n">40</td><td class="n">8</td>');
    expect(html).toContain('not known here: x__y.sum; a &lt;note&gt;');
    expect(html).toContain(
      'NVIDIA H200, compute capability 9.0; driver 580.1; ncu 2025.3.1; size large/0; 2026-11-29.',
    );
  });

  test('says how the passes were made', () => {
    expect(html).toContain('Collected by kernel replay.');
    const again = page({ ...gemm(null), replay: 'application' });
    expect(again).toContain('Collected by application replay (every pass is another run of the program).');
  });

  test('element ids are unique', () => {
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('without a profile it says why and what to do', () => {
    const none = page(noProfile('This user may not read the GPU performance counters.', 'Ask for them.'));
    elements(none.replace(/^<!doctype html>\n/, ''));
    expect(none).toContain(
      'The profile is unavailable: This user may not read the GPU performance counters. Ask for them.',
    );
    expect(none).not.toContain('<svg');
  });
});

describe('pictures', () => {
  test('roofs that were not measured are not drawn, and named', () => {
    const { roofline } = gemm(null);
    if (roofline === undefined) throw new Error('no roofline');
    const svg = rooflineSvg(roofline);
    expect(svg).not.toContain('stroke-width="2"');
    expect(rooflineWords(roofline)).toContain('No arithmetic peak of this GPU was measured');
    expect(svg).toContain('<circle');
  });

  test('a launch without any point has a picture that says so', () => {
    const { roofline } = gemm(null);
    if (roofline === undefined) throw new Error('no roofline');
    expect(rooflineSvg({ ...roofline, points: [] })).toContain('no point: see the notes');
  });

  test('a throughput that is missing has no bar', () => {
    const svg = throughputSvg([
      { label: 'DRAM', value: { available: false, reason: 'ncu reports "n/a"' }, threshold: 30 },
    ]);
    expect(svg).not.toContain('<rect');
    expect(svg).toContain('not available: ncu reports &quot;n/a&quot;');
  });

  test('stalls add up over the kernel', () => {
    const { source } = gemm(null);
    if (source === undefined) throw new Error('no source');
    const totals = stallTotals(source);
    expect(totals[0]).toMatchObject({ stall: 'long_scoreboard', label: 'Long Scoreboard', samples: 27837 });
    expect(totals.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });
});

describe('ptxas', () => {
  test('several kernels, device functions with frames of their own, figures that are left out', () => {
    const text = [
      'ptxas info    : 1024 bytes gmem',
      PTXAS,
      'ptxas info    : Compile time = 23.145 ms',
      "ptxas info    : Compiling entry function '_Z1kv' for 'sm_120'",
      'ptxas info    : Function properties for helper',
      '    96 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads',
      'ptxas info    : Function properties for _Z1kv',
      '    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads',
      'ptxas info    : Used 30 registers, used 0 barriers',
      "ptxas info    : Compiling entry function '_Z4cutsv' for 'sm_120'",
    ].join('\n');
    expect(kernelStatics(text)).toEqual([
      {
        symbol: '_Z17gemm_naive_kernelPKfS0_Pfi',
        kernel: 'gemm_naive_kernel',
        arch: 'sm_90',
        registers: 40,
        stackBytes: 8,
        spillStoreBytes: 4,
        spillLoadBytes: 12,
        sharedBytes: 64,
        constantBytes: 388,
        barriers: 1,
      },
      expect.objectContaining({
        kernel: 'k',
        arch: 'sm_120',
        registers: 30,
        stackBytes: 0,
        sharedBytes: 0,
        barriers: 0,
      }),
      expect.objectContaining({ kernel: 'cuts', registers: null, stackBytes: null, sharedBytes: null, barriers: null }),
    ]);
    expect(kernelStatics('')).toEqual([]);
    expect(kernelStatics('g++: fatal error: no input files')).toEqual([]);
  });
});

test('source text that ncu could not find comes from the source at hand', () => {
  const blank = fixture('src_cuda_sass.csv')
    .replace('/home/user/project/probe.cu', '/cm/build/candidate.cu')
    .replace(/^"7","(?:[^"]|"")*"/m, '"7","<Unable to open source file>"');
  const { source } = interpretProfile(
    {
      mode: 'profile',
      ncuVersion: null,
      rawCsv: raw,
      sourceCsv: '',
      log: '',
      exitCode: 0,
      incidents: [],
      stages: [],
    },
    {
      problem: 'p',
      activities: null,
      pages: { detail: '', source: blank },
      texts: { 'candidate.cu': '1\n2\n3\n4\n5\n6\nseven' },
    },
  );
  expect(source?.files).toEqual(['candidate.cu']);
  expect(source?.lines.find((line) => line.line === 7)?.text).toBe('seven');
});
