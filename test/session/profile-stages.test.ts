import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type ProfilePlan, type ProfileResult, profileResultSchema } from '../../main/contract/index.ts';
import { pagesOf } from '../../main/evaluate/profile-pages.ts';
import { packPage } from '../../main/jobs/session/ncu-pages.ts';
import { peaksReply } from '../../main/jobs/session/replies.ts';
import { profileStages, verdictMetricIds } from '../../main/profile/collect.ts';
import { interpretProfile } from '../../main/profile/interpret.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { COUNTS, fakeNcu, GEMM, ncuRuns, type World } from './ncu-world.ts';
import { context, fakes, problem, programs, type Scratch, scratch, session, tools } from './support.ts';

const plan = (extra: Partial<ProfilePlan> = {}): ProfilePlan => ({
  mode: 'profile',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  problem: problem('large/0'),
  metrics: verdictMetricIds(),
  sections: [],
  source: true,
  maxLaunches: 1024,
  keepLaunches: 48,
  stages: profileStages(),
  ...extra,
});

const profiled = async (at: Scratch, world: World, extra: Partial<ProfilePlan> = {}, wallMs = 30_000) => {
  const limits = { wallMs, memoryMiB: 2048, outputBytes: 1 << 20 };
  const ncu = fakeNcu(at, world);
  const ctx = context(at, { limits, tools: { ...tools, ncu, machine: { ...tools.machine, ncu: '2025.3.1' } } });
  return session(plan(extra), ctx);
};

const kernel = (name: string, perCall: number) => ({
  arm: 'C',
  problem: 0,
  kind: 'kernel' as const,
  name,
  perCall,
  meanNs: 1,
});
const understood = (result: ProfileResult, launches: Record<string, number> | null = null) =>
  interpretProfile(result, {
    problem: 'large/0',
    activities: launches && Object.entries(launches).map(([name, n]) => kernel(name, n)),
    mode: 'filtered',
    pages: pagesOf(result),
    peaks: { bytesPerS: 4.1e12, flopsPerS: { fp32: 60e12 } },
    maxLaunches: 1024,
  });

const collections = (at: Scratch) =>
  ncuRuns(at.path)
    .filter(({ args }) => !args.includes('--import'))
    .map(({ args }) => args);
const argOf = (args: readonly string[] | undefined, name: string): string | undefined =>
  args?.includes(name) ? args[args.indexOf(name) + 1] : undefined;
const duration = (ns: string) => ({ 'gpu__time_duration.sum': ns });

describe('two stages', () => {
  it('asks every launch for the verdict, then the only launch for what its bottleneck needs, with the source counters', async () => {
    using at = scratch();
    fakes(at);
    const { status, result } = await profiled(at, { launches: [{ kernel: GEMM }] });
    expect(status).toBe('ok');
    expect(profileResultSchema.safeParse(result).error).toBeUndefined();
    const [first, second, ...more] = collections(at);
    expect(more).toEqual([]);
    expect(argOf(first, '--metrics')?.split(',')).toEqual(verdictMetricIds());
    expect(first?.join(' ')).toMatch(/--csv --print-units base --page raw --log-file/);
    expect(first).not.toContain('--export');
    const asked = argOf(second, '--metrics')?.split(',') ?? [];
    // Compute bound, memory the higher side: both sets; what the first stage has is not asked again.
    expect(asked).toContain('sm__inst_issued.avg.pct_of_peak_sustained_elapsed');
    expect(asked).toContain('sm__memory_throughput.avg.pct_of_peak_sustained_elapsed');
    expect(asked).not.toContain('l1tex__t_sector_hit_rate.pct');
    expect(asked).not.toContain('sm__throughput.avg.pct_of_peak_sustained_elapsed');
    expect(second?.join(' ')).toContain('--section SourceCounters --import-source yes');
    expect(second).not.toContain('--launch-skip');
    for (const args of [first, second]) expect(args?.join(' ')).toContain('--clock-control none');
    for (const { tmp, home, lang } of ncuRuns(at.path)) {
      expect([tmp, lang]).toEqual([home, 'C']);
      expect(tmp.startsWith(at.path)).toBe(true);
    }
    expect(result.stages).toMatchObject([
      { stage: 'verdict', launch: null, launches: 1, unknown: [] },
      { stage: 'evidence', launch: 0, launches: 1, sections: ['SourceCounters'] },
    ]);
    for (const stage of result.stages ?? [])
      expect([(stage.passes ?? 0) > 0, stage.collectMs > 0]).toEqual([true, true]);
    expect(result.rawCsv).not.toContain('device__');
  });

  it('becomes a profile with findings, heatmap, roofline and source', async () => {
    using at = scratch();
    fakes(at);
    const { result } = await profiled(at, { launches: [{ kernel: GEMM, more: COUNTS }] });
    const profile = understood(result, { gemm_naive_kernel: 1 });
    expect(profile).toMatchObject({ status: 'complete', verdict: { bottleneck: 'compute', launch: 0 } });
    expect(profile.filtered).toHaveLength(8);
    expect(profile.filtered.every((m) => m.value.available)).toBe(true);
    expect(profile.findings?.filter((f) => f.state === 'unknown').map((f) => f.id)).toEqual([]);
    expect(profile.findings?.some((f) => f.state === 'found')).toBe(true);
    expect(profile.roofline?.points).toMatchObject([
      { pipe: 'fp32', flop: 2 * 1024 ** 3, share: 1, under: 'compute', ofCeiling: { available: true } },
    ]);
    expect(profile.roofline?.peaks).toEqual({ bytesPerS: 4.1e12, flopsPerS: { fp32: 60e12 } });
    const { lines, instructions } = profile.heatmap ?? {};
    expect(lines).toMatchObject({ available: true, unit: 'line', rows: [{ line: 7, share: expect.any(Number) }] });
    expect(instructions).toMatchObject({ available: true, unit: 'instruction' });
    expect(profile.source).toMatchObject({
      function: GEMM,
      files: ['probe.cu'],
      omitted: { lines: 0, instructions: 0 },
    });
    expect(profile.source?.instructions.length).toBeGreaterThan(50);
    expect(JSON.stringify(profile).length).toBeLessThan(250_000);
    expect(JSON.stringify(result).length).toBeLessThan(60_000);
  });

  it.each([undefined, 'counted'] as const)(
    'restricts the second stage to the launch with most time, whether launches before the range count or not (%s)',
    async (before) => {
      using at = scratch();
      fakes(at);
      const small = { grid: '(2, 1, 1)', metrics: duration('1,000') };
      const launches = [
        { kernel: 'init_kernel(float *)', ...small },
        { kernel: GEMM, ...small },
        { kernel: GEMM, grid: '(64, 64, 1)', metrics: duration('421,088') },
        { kernel: GEMM, ...small },
      ];
      const { result } = await profiled(at, { launches, before });
      const tries = collections(at).slice(1);
      expect(
        tries.map((args) => [
          argOf(args, '--kernel-name'),
          argOf(args, '--launch-skip'),
          argOf(args, '--launch-count'),
        ]),
      ).toEqual(
        [
          ['gemm_naive_kernel', '1', '1'],
          ['gemm_naive_kernel', '4', '1'],
        ].slice(0, before === undefined ? 1 : 2),
      );
      expect(result.stages?.at(-1)).toMatchObject({ stage: 'evidence', launch: 2, launches: 1 });
      expect(result.stages?.at(-1)?.note).toBeUndefined();
      const profile = understood(result, { init_kernel: 1, gemm_naive_kernel: 3 });
      expect(profile).toMatchObject({ status: 'complete', verdict: { launch: 2 } });
      expect(profile.launches).toHaveLength(4);
      expect(profile.launches[2]?.grid).toEqual([64, 64, 1]);
      expect(parseRaw(pagesOf(result).detail).launches[0]?.grid).toEqual([64, 64, 1]);
    },
  );

  it('filters by the bare name of a template, and by order alone where a name is unusual', async () => {
    const names = [
      ['void ns::softmax_row_kernel_optimized<1024, (bool)1>(__nv_bfloat16 *, int)', 'softmax_row_kernel_optimized'],
      ['k$_0(int)', undefined],
    ] as const;
    for (const [kernel, name] of names) {
      using at = scratch();
      fakes(at);
      const launches = [
        { kernel: GEMM, metrics: duration('10') },
        { kernel, metrics: duration('20') },
      ];
      const { result } = await profiled(at, { launches });
      const second = collections(at)[1];
      expect([argOf(second, '--kernel-name'), argOf(second, '--launch-skip')]).toEqual([name, name ? '0' : '1']);
      expect(result.stages?.[1]).toMatchObject({ launch: 1, launches: 1 });
      expect(understood(result).source?.function).toBe(kernel);
    }
  });

  it('keeps the longest of many launches and says how many there were', async () => {
    using at = scratch();
    fakes(at);
    const launches = Array.from({ length: 300 }, (_, i) => ({
      kernel: GEMM,
      metrics: duration(`${1000 + ((i * 7) % 300)}`),
    }));
    const { result } = await profiled(at, { launches });
    const profile = understood(result, { gemm_naive_kernel: 300 });
    expect(profile).toMatchObject({ status: 'complete', launchCount: 300 });
    expect(profile.launches).toHaveLength(48);
    const times = profile.launches.map((l) => (l.metrics['gpu__time_duration.sum'] as { value: number }).value);
    expect(Math.max(...times)).toBe(1299);
    expect(Math.min(...times)).toBe(1300 - 48);
    expect(JSON.stringify(result).length).toBeLessThan(80_000);
    expect(understood(result, { gemm_naive_kernel: 299 })).toMatchObject({
      status: 'incomplete',
      reason: 'ncu profiled 300 launches of gemm_naive_kernel, CUPTI saw 299 per timed call',
      verdict: { bottleneck: null },
    });
  });

  it('stops at a number of launches and says that there may be more', async () => {
    using at = scratch();
    fakes(at);
    const launches = Array.from({ length: 20 }, () => ({ kernel: GEMM }));
    const { result } = await profiled(at, { launches }, { maxLaunches: 8, keepLaunches: 4 });
    expect(result.counts).toEqual([{ kernel: GEMM, launches: 8 }]);
    const profile = interpretProfile(result, {
      problem: 'p',
      activities: null,
      pages: pagesOf(result),
      maxLaunches: 8,
    });
    expect(profile).toMatchObject({ status: 'incomplete', launchCount: 8, verdict: { bottleneck: null } });
    expect(profile.reason).toContain('only the first 8 launches');
  });

  it('leaves out metrics that ncu does not know, asks what stands for them, and says so', async () => {
    using at = scratch();
    fakes(at);
    const gone = ['gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', 'sm__ops_path_tensor_src_fp64.sum'];
    const more = { 'dram__throughput.avg.pct_of_peak_sustained_elapsed': ['12.5', '%'] as const };
    const { status, result } = await profiled(at, { launches: [{ kernel: GEMM, more }], unknown: gone });
    expect(status).toBe('ok');
    expect(collections(at)).toHaveLength(4);
    expect(result.stages?.map((s) => s.unknown)).toEqual([[gone[0]], [gone[1]]]);
    expect(result.stages?.[0]?.metrics).toContain('dram__throughput.avg.pct_of_peak_sustained_elapsed');
    const profile = understood(result);
    expect(profile.verdict?.bottleneck).toBe('compute');
    expect(profile.roofline?.missing.map((m) => m.pipe)).toContain('tensor-fp64');
  });
});

describe('full', () => {
  it('collects every section at once and keeps the launch with most time whole', async () => {
    using at = scratch();
    fakes(at);
    const launches = [{ kernel: GEMM, metrics: duration('7') }, { kernel: GEMM }];
    const { result } = await profiled(at, { launches }, { stages: undefined, set: 'full' });
    const [only, ...more] = collections(at);
    expect(more).toEqual([]);
    expect(only?.join(' ')).toContain('--set full --import-source yes');
    expect(only).not.toContain('--metrics');
    expect(result.stages).toMatchObject([{ stage: 'full', launches: 2, passes: 44 }]);
    const profile = interpretProfile(result, {
      problem: 'p',
      activities: [kernel('gemm_naive_kernel', 2)],
      mode: 'full',
      pages: pagesOf(result),
    });
    expect(profile).toMatchObject({ status: 'complete', verdict: { launch: 1 } });
    expect(Object.keys(profile.launches[1]?.metrics ?? {}).length).toBeGreaterThan(1500);
    expect(Object.keys(profile.launches[0]?.metrics ?? {}).length).toBeLessThan(90);
    expect(profile.filtered.length).toBeGreaterThan(30);
    expect(profile.heatmap?.lines.available).toBe(true);
    expect(JSON.stringify(result).length).toBeLessThan(120_000);
  });
});

describe('faults', () => {
  it.each([
    [
      '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.',
      'env.ncu-permission',
      /NVreg_RestrictProfilingToAdminUsers/,
    ],
    ['==WARNING== No kernels were profiled.', 'env.ncu-empty', /Timing still holds/],
    ['==ERROR== Cuda driver is not compatible with Nsight Compute.', 'env.ncu-incompatible', /doctor/],
  ])('first stage: %s', async (log, code, remedy) => {
    using at = scratch();
    fakes(at);
    const { status, reason, result } = await profiled(at, { launches: [{ kernel: GEMM }], runs: [{ log, exit: 0 }] });
    expect([status, reason?.code]).toEqual(['environment', code]);
    expect(reason?.remedy).toMatch(remedy);
    expect(result.log).toContain(log);
    expect(result.stages).toBeUndefined();
    const profile = interpretProfile(result, { problem: 'p', activities: null, fault: reason });
    expect(profile).toMatchObject({ status: 'unavailable', reason: reason?.message, remedy: reason?.remedy });
  });

  it('a second stage that fails leaves the verdict, and the reason', async () => {
    using at = scratch();
    fakes(at);
    const log = '==ERROR== Unhandled C++ exception: bad allocation';
    const fails = { log, exit: 1 };
    const world = { launches: [{ kernel: GEMM }], runs: [{}, fails], application: fails };
    const { status, result } = await profiled(at, world);
    expect(status).toBe('ok');
    expect(result.stages?.[1]?.note).toMatch(/gave nothing: ncu ran out of memory.*Profile a smaller size/);
    const profile = understood(result, { gemm_naive_kernel: 1 });
    expect(profile).toMatchObject({ status: 'incomplete', verdict: { bottleneck: 'compute' } });
    expect(profile.reason).toContain('ncu ran out of memory');
    expect(profile.heatmap?.lines).toEqual({ available: false, reason: 'ncu printed no source page' });
    expect(profile.findings?.some((f) => f.state === 'unknown')).toBe(true);
  });

  it('where the source counters cannot be had the evidence is collected without them', async () => {
    using at = scratch();
    fakes(at);
    const log = '==ERROR== Failed to prepare kernel for profiling';
    const { result } = await profiled(at, { launches: [{ kernel: GEMM }], runs: [{}, { log, exit: 1 }, {}] });
    const [, second, third] = collections(at);
    expect([second?.includes('SourceCounters'), third?.includes('SourceCounters')]).toEqual([true, false]);
    expect(result.stages?.[1]).toMatchObject({ stage: 'evidence', launch: 0, launches: 1, sections: [] });
    expect(result.stages?.[1]?.note).toMatch(/^Without source counters: This ncu does not fit/);
    const profile = understood(result, { gemm_naive_kernel: 1 });
    expect(profile.filtered.every((m) => m.value.available)).toBe(true);
    expect(profile.heatmap?.lines.available).toBe(false);
  });

  it('a launch without a duration among several: the verdict says why there is none', async () => {
    using at = scratch();
    fakes(at);
    const launches = [{ kernel: GEMM, metrics: duration('n/a') }, { kernel: GEMM }];
    const { result } = await profiled(at, { launches });
    expect(collections(at)).toHaveLength(1);
    expect(result.stages?.[0]?.note).toMatch(/no duration/);
    expect(understood(result).verdict).toMatchObject({ bottleneck: null, why: expect.stringMatching(/no duration/) });
  });

  it('a candidate that crashes in the second stage is an incident beside the verdict', async () => {
    using at = scratch();
    // Calls: warm-up and profiled one of the first process; the second process's own count begins anew, so its third never comes.
    fakes(at, { on: { quit: { do: 'none' } } });
    const { status, result } = await profiled(at, {
      launches: [{ kernel: GEMM }],
      runs: [{}, { dies: '==ERROR== Failed to prepare kernel for profiling\n' }],
    });
    expect(status).toBe('ok');
    expect(result.stages?.[1]?.note).toMatch(/does not fit the driver/);
    expect(result.rawCsv).toContain('gemm_naive_kernel');
  });

  it('the session’s time limit ends a hanging target', async () => {
    using at = scratch();
    fakes(at, { on: { call: { at: 2, do: 'hang' } } });
    const { status, result } = await profiled(at, { launches: [{ kernel: GEMM }] }, {}, 6_000);
    expect(['timeout', 'ok']).toContain(status);
    if (status === 'ok') expect(result.incidents.map((i) => i.kind)).toContain('timeout');
    expect(result.rawCsv).toBe('');
  });
});

it('peaks of further pipes are kept where the runner measured them, and only numbers of them', () => {
  const five = { readBytesPerS: 1, writeBytesPerS: 1, copyBytesPerS: 1, fp32FlopsPerS: 1, emptySpanNs: 1 };
  const read = (pipes?: unknown) => peaksReply({ json: { peaks: { ...five, pipes } }, blob: Buffer.alloc(0) });
  expect(read()).toEqual(five);
  expect(read({ fp64: 2, fp16: null, 'tensor-bf16': 0 })).toEqual({ ...five, pipeFlopsPerS: { fp64: 2 } });
  expect(read([1])).toEqual(five);
});

describe('pages are stored small', () => {
  const row = (address: number, samples: number) =>
    `"","","0x${address.toString(16)}","      FFMA R${address}, R1, R2, R${samples}","${samples}"`;
  const page = (n: number) =>
    [
      '"File Path","/cm/build/candidate.cu"',
      '"Function Name","k(float *)"',
      '"Line No","Source","Address","Source","Warp Stall Sampling (All Samples)"',
      '"7","x = y;","-","-","1"',
      ...Array.from({ length: n }, (_, i) => row(0x1000 + 16 * i, (i * 7919) % 1000)),
    ].join('\n');

  it('whole below the cap', () => {
    const { gz, cut } = packPage(page(300));
    expect(cut).toBe(0);
    expect(gunzipSync(Buffer.from(gz, 'base64')).toString()).toBe(page(300));
  });

  it('above it the rows with fewest samples go, titles and lines stay', () => {
    const { gz, cut } = packPage(page(40_000), 64 * 1024);
    expect(gz.length).toBeLessThanOrEqual(64 * 1024);
    expect(cut).toBeGreaterThan(1000);
    const text = gunzipSync(Buffer.from(gz, 'base64')).toString();
    expect(text).toContain('"7","x = y;"');
    const kept = [...text.matchAll(/,"(\d+)"$/gm)].map((m) => Number(m[1])).slice(1);
    expect(kept.length).toBe(40_000 - cut);
    expect(Math.min(...kept)).toBeGreaterThan(500);
  });

  it('damaged or endless contents unpack to nothing', () => {
    const result = { ...({} as ProfileResult), sourceCsv: '' };
    expect(pagesOf({ ...result, sourceGz: 'no gzip', detailGz: '%%%' })).toEqual({ detail: '', source: '' });
  });
});
