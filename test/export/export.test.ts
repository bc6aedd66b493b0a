import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleOf } from '../../main/app/export.ts';
import { replayRecording } from '../../main/app/replay.ts';
import { sha256Hex } from '../../main/base/hash.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { registerSecret } from '../../main/base/redact.ts';
import { type Dtype, type Evaluation, unwrap } from '../../main/contract/index.ts';
import { loadTask, taskIds } from '../../main/evaluate/task/index.ts';
import { shellWord, versionArgs } from '../../main/export/build-script.ts';
import { type ExportBundle, type ExportInput, exportBundle } from '../../main/export/index.ts';
import { reportText } from '../../main/export/report.ts';
import { zipOf } from '../../main/export/zip.ts';
import { Store } from '../../main/store/index.ts';
import { machine } from '../app/lab.ts';
import { cuda } from '../harness/build.ts';

const root = join(import.meta.dirname, '../..');
setResourceRoot(root);
const scratch = mkdtempSync(join(tmpdir(), 'cm-export-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const app = {
  root,
  env: process.env,
  version: '0.1.0',
  openPlace: () => Promise.reject(new Error('an export runs nothing')),
};

/** An export whose figures are none: for what follows from the task alone. */
function plain(id: string, dtype: Dtype, more: Partial<ExportInput> = {}): ExportInput {
  const task = unwrap(loadTask(root, id));
  return {
    task,
    dtype,
    run: '260719-1432-k7qf',
    position: 'origin',
    kind: 'optimize',
    at: '2026-07-19T14:32:00.000Z',
    programVersion: '0.1.0',
    sizeSet: 'published',
    profileMode: 'filtered',
    scheme: '',
    compileArgs: [],
    evaluation: null,
    baseline: null,
    measured: null,
    taskChanged: false,
    originSource: task.origin[dtype],
    source: null,
    planSeed: 'ab'.repeat(32),
    ...more,
  };
}

function unpack(bundle: ExportBundle, name: string): string {
  const dir = join(scratch, name);
  for (const [file, bytes] of Object.entries(unzipSync(bundle.zip))) {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), bytes);
  }
  return dir;
}

describe('a recorded run', () => {
  let bundle: ExportBundle;
  let again: ExportBundle;
  let origin: ExportBundle;
  const folder = join(scratch, 'history');

  beforeAll(async () => {
    const file = join(root, 'test/recordings/softmax-bf16.json');
    const run = await replayRecording(app, { file }, { emit: () => {} }, 'replay', folder);
    const store = await Store.open(folder);
    bundle = (await bundleOf(app, store, run.id)).bundle;
    const zone = process.env.TZ;
    process.env.TZ = 'Pacific/Kiritimati';
    again = (await bundleOf(app, store, `last:r3.a0`)).bundle;
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
    origin = (await bundleOf(app, store, `${run.id}:origin`)).bundle;
    await expect(bundleOf(app, store, `${run.id}:r9.a0`)).rejects.toThrow(/no version r9.a0/);
    for (const rest of ['nothing', 'r1.a0:more', 'origin:', ''])
      await expect(bundleOf(app, store, `${run.id}:${rest}`)).rejects.toThrow(/names no version/);
    await expect(bundleOf(app, store, 'nowhere')).rejects.toThrow(/no run nowhere/);
    await store.close();
  }, 60_000);

  it('gives the same bytes each time, in every time zone', () => {
    expect(again.sha256).toBe(bundle.sha256);
    expect(sha256Hex(again.zip)).toBe(bundle.sha256);
  });

  it('holds what was promised, under safe names, and its own checksums are right', () => {
    const names = Object.keys(unzipSync(bundle.zip));
    for (const wanted of ['optimized.cu', 'origin.cu', 'task.json', 'test.cpp', 'build.sh', 'report.md', 'SHA256SUMS'])
      expect(names).toContain(wanted);
    for (const name of names) expect(name).toMatch(/^(harness\/)?[A-Za-z0-9_][A-Za-z0-9_.-]*$/);
    const dir = unpack(bundle, 'sums');
    const checked = execFileSync('sha256sum', ['-c', 'SHA256SUMS'], { cwd: dir, encoding: 'utf8' });
    expect(checked.match(/: OK$/gm)).toHaveLength(names.length - 1);
  });

  it('reports figures with intervals, errors, bottlenecks and environment, and what was not measured', () => {
    const report = bundle.files.get('report.md') ?? '';
    expect(report).toContain('1274.592× [1266.673, 1282.560]');
    expect(report).toMatch(
      /\| N=128 C=16384 \| 40\.2 % \| 6\.099 \[6\.092, 6\.106\] ms \| 3\.799 \[3\.761, 3\.837\] µs/,
    );
    expect(report).toContain('127.9 ulp');
    expect(report).toContain(
      '| bottleneck | memory-latency bound, launch bound | memory-latency bound, launch bound |',
    );
    for (const fact of ['NVIDIA H200', '580.159.04', '13.0.88', 'bubblewrap', '1980 MHz', '--prec-div=false'])
      expect(report).toContain(fact);
    expect(report).toMatch(/\| size \| input \| largest error \| RMS error \| origin's largest \| origin's RMS \|/);
    expect(report).toMatch(/\| N=\d+ C=\d+ \| \w+ \| [\d.]+ ulp/);
    expect(report).toContain('replays a recording');
    expect(report).not.toMatch(/\bundefined\b|\bNaN\b|\bnull\b/);
  });

  it('holds no host name and no path of a user', () => {
    for (const [name, text] of bundle.files) {
      expect(text, name).not.toMatch(/\/(home|root|work|tmp|Users)\//);
      expect(text, name).not.toMatch(/"host"/);
    }
  });

  it('exports the origin alone too', () => {
    expect(origin.files.has('optimized.cu')).toBe(false);
    expect(origin.files.get('report.md')).toContain('origin, GPU span');
    expect(origin.files.get('build.sh')).not.toContain('optimized');
  });
});

it('every task and dtype makes a bundle whose headers are all there', () => {
  for (const id of taskIds(root))
    for (const dtype of unwrap(loadTask(root, id)).task.dtypes) {
      const { files } = unwrap(exportBundle(plain(id, dtype)));
      for (const [name, text] of files)
        for (const [, header = ''] of text.matchAll(/^\s*#include "([^"]+)"/gm))
          expect(files.has(header) || files.has(`harness/${header}`), `${id} ${dtype} ${name}: ${header}`).toBe(true);
    }
});

describe('what a bundle must not do', () => {
  it('never carries a key', () => {
    registerSecret('a-key-nobody-may-see');
    const made = exportBundle(plain('softmax', 'fp32', { source: '// a-key-nobody-may-see' }));
    expect(made.ok).toBe(false);
    if (!made.ok) expect(made.error.message).toContain('optimized.cu');
  });

  it('hides keys and folders in free text', () => {
    const { files } = unwrap(
      exportBundle(plain('softmax', 'fp32', { scheme: 'see /home/ada/notes.txt, sk-abcdefghijklmnopqrstuvwx\nnext' })),
    );
    expect(files.get('report.md')).toContain('Scheme: see [path], sk-[redacted] next');
  });

  it('shows free text as text: no tag, link, picture, code block, table cell or control character of it acts', () => {
    const hostile =
      '<script>alert(1)</script> ![t](http://evil.example/t.png) \\[x\\](javascript:alert(3)) ``` \\| a | \u202e\u009b31m';
    const given = plain('softmax', 'fp32', { position: 'r1.a0', scheme: hostile, compileArgs: ['-DX=```\n# Owned'] });
    const title = { ...given.task, task: { ...given.task.task, title: hostile } };
    const evaluation: Evaluation = {
      ...{ outcome: 'valid', reason: hostile, digest: '', verified: false, figures: null, error: null, wrong: [] },
      ...{ incidents: [], build: null, profile: null, gpu: null, jobWallMs: 0 },
      machine: { ...machine, driver: hostile },
    };
    const report = reportText({ ...given, task: title, evaluation });
    const text = report.replaceAll(/\\./g, '');
    expect(text).not.toMatch(/<script|\]\(|[\u0080-\u009f\u202e]/);
    const row = text.split('\n').find((line) => line.startsWith('| driver |')) ?? '';
    expect(row.split('|')).toHaveLength(4);
    // Three blocks: arguments, whose fence is longer than what they hold, and the two commands.
    expect(text.match(/^`{3,}$/gm)).toEqual(['````', '````', '```', '```']);
    expect(text.match(/`{3,}/g)).toHaveLength(5);
  });

  it('sets no origin of another machine beside a version', () => {
    const filtered = [
      { id: 'sm', label: 'SM Throughput', meaning: '', value: { available: true, value: 12, unit: '%' } },
    ];
    const of = (name: string, uuid: string) =>
      ({
        outcome: 'valid',
        reason: '',
        verified: true,
        figures: null,
        profile: { status: 'complete', filtered },
        machine: { ...machine, gpu: { name, uuid, cc: '9.0' } },
      }) as unknown as Evaluation;
    const text = (name: string) =>
      reportText({
        ...plain('softmax', 'bf16'),
        position: 'r1.a1',
        evaluation: of('NVIDIA H200', 'GPU-a'),
        baseline: of(name, 'GPU-b'),
      });
    const before = /\| SM Throughput \| 12/;
    expect(text('NVIDIA H200')).toMatch(before); // another of a cluster
    expect(text('NVIDIA H100')).not.toMatch(before);
    expect(text('NVIDIA H100')).toContain('the origin was measured again since, on another machine');
  });

  it('refuses unsafe names and a task without a reference', () => {
    expect(() => zipOf(new Map([['../x', '']]))).toThrow(RangeError);
    const input = plain('softmax', 'fp32');
    const made = exportBundle({ ...input, task: { ...input.task, reference: null } });
    expect(made.ok).toBe(false);
  });

  it('quotes every argument for the shell', () => {
    const odd = "a'b; $(touch /tmp/x) `id`";
    expect(execFileSync('sh', ['-c', `printf %s ${shellWord(odd)}`], { encoding: 'utf8' })).toBe(odd);
    expect(versionArgs(['-O2', '--use_fast_math'])).toEqual([
      '-O2',
      '--use_fast_math',
      '-std=c++17',
      '-lineinfo',
      '-shared',
      '-Xcompiler=-fPIC,-fno-gnu-unique',
    ]);
  });
});

const cxx = (dir: string, ...args: string[]) =>
  execFileSync('g++', ['-O1', '-std=c++17', '-DCM_HOST', ...args], { cwd: dir, stdio: 'pipe' });

/** Builds one version from a host source. */
function hostVersion(dir: string, version: 'origin' | 'optimized', source: string): void {
  writeFileSync(join(dir, `${version}.cpp`), source);
  const map = `-Wl,--version-script=${version}.map`;
  const files = ['-x', 'c++', `${version}.cpp`, 'harness/errors.cu', '-o', `${version}.so`];
  cxx(dir, '-shared', '-fPIC', '-fno-gnu-unique', map, ...files);
}

const host = (file: string): string => readFileSync(join(root, 'test/candidates/host', file), 'utf8');
const runTest = (dir: string, ...args: string[]) =>
  spawnSync('./test', args, { cwd: dir, encoding: 'utf8', timeout: 60_000 });

describe('the test program, with host memory in place of a GPU', () => {
  let dir = '';
  beforeAll(() => {
    dir = unpack(unwrap(exportBundle(plain('dot_product', 'fp32', { source: '// replaced below' }))), 'host');
    cxx(dir, '-ffp-contract=off', '-pthread', '-I.', '-Iharness', 'test.cpp', 'shim.cpp', '-o', 'test', '-ldl');
    hostVersion(dir, 'origin', host('origin.cpp'));
  }, 120_000);

  it('passes a right version, times it, and says what the times are', () => {
    hostVersion(dir, 'optimized', host('honest.cpp'));
    const ran = runTest(dir);
    expect(ran.status, ran.stdout + ran.stderr).toBe(0);
    expect(ran.stdout).toMatch(/^PASS {2}optimized {2}verify\/0\+wide/m);
    expect(ran.stdout).toMatch(/^PASS {2}optimized {2}published\/4 .* seed 1/m);
    expect(ran.stdout).toMatch(/^TIME {2}published\/4 .*origin .* us {2}optimized .* us {2}ratio/m);
    expect(ran.stdout).toContain('an indication only');
    expect(ran.stdout).toMatch(/^PASS {2}\d+ comparisons passed, 0 failed$/m);
    const self = runTest(dir, '--self-test');
    expect(self.stdout).toMatch(/^PASS {2}self-test: \d\d outputs, 0 failed$/m);
    expect(runTest(dir, '--seeds', 'many').status).toBe(2);
    expect(runTest(dir, '--nonsense').stderr).toContain('usage');
  }, 60_000);

  it.each([
    ['zeros.cpp', /FAIL {2}optimized {2}verify\/0 /],
    ['noop.cpp', /FAIL {2}optimized .*\n {6}loss: 1 of 1 elements wrong/],
    ['out_of_bounds.cpp', /wrote outside of/],
    ['input_overwritten.cpp', /changed its input/],
  ])(
    '%s fails',
    (file, says) => {
      hostVersion(dir, 'optimized', host(file));
      const ran = runTest(dir, '--sizes', 'verify');
      expect(ran.status).toBe(1);
      expect(ran.stdout).toMatch(says);
      expect(ran.stdout).toMatch(/^PASS {2}origin/m);
      expect(ran.stdout).toMatch(/^FAIL {2}\d+ comparisons passed, [1-9]\d* failed$/m);
    },
    60_000,
  );
});

describe.skipIf(cuda === null)('with nvcc', () => {
  const builds: [string, Dtype][] = [
    ['dot_product', 'fp32'],
    ['spmv_csr', 'fp32'],
    ['softmax', 'bf16'],
    ['sorting', 'bf16'],
  ];
  it.each(builds)(
    '%s %s: build.sh builds it, and without a GPU it says so',
    (id, dtype) => {
      const folder = id === 'dot_product' ? 'dot_product/faster.cu' : null;
      const source = folder === null ? null : readFileSync(join(root, 'test/candidates', folder), 'utf8');
      const bundle = unwrap(
        exportBundle(plain(id, dtype, { source, compileArgs: source === null ? [] : ['-O2', '-DK=4'] })),
      );
      const dir = unpack(bundle, `nvcc-${id} with 'odd' name`);
      const env = { ...process.env, PATH: `${join(cuda ?? '', 'bin')}:${process.env.PATH}` };
      const built = spawnSync('sh', [join(dir, 'build.sh'), 'sm_90'], {
        cwd: '/',
        env,
        encoding: 'utf8',
        timeout: 120_000,
      });
      expect(built.stderr).toBe('');
      expect(built.status).toBe(0);
      expect(built.stdout).toContain('done: ./test');
      const ran = spawnSync('./test', [], {
        cwd: dir,
        encoding: 'utf8',
        env: { ...process.env, CUDA_VISIBLE_DEVICES: '' },
      });
      expect(ran.status).toBe(2);
      expect(ran.stderr).toMatch(/no usable NVIDIA GPU[\s\S]*--self-test/);
      expect(spawnSync('sh', ['build.sh', 'sm_90; id'], { cwd: dir, encoding: 'utf8' }).status).toBe(2);
    },
    180_000,
  );
});
