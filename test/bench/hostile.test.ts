/** Benches from elsewhere: damaged, cut, copied twice, of tasks that are gone. Nothing that was measured is lost, no figure is made of nothing. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type BenchAnswer, type BenchParams, createApp } from '../../main/app/index.ts';
import type { AppError, Bench, JobResult } from '../../main/contract/index.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { candidate, root } from '../app/lab.ts';
import { benchResult } from './lab.ts';

let home: string;
const before = process.env.CUDAMASTER_HOME;
const app = createApp({ root });
const said: string[] = [];
const ctx = { emit: (event: { type: string; message?: string }) => said.push(event.message ?? '') };
const what: BenchParams = {
  tasks: ['dot_product', 'RELU'],
  dtypes: ['fp32'],
  sizes: ['published'],
  profile: false,
  library: true,
  executor: 'bundle',
};
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'cm-hostile-')));
  process.env.CUDAMASTER_HOME = home;
});
afterAll(() => {
  process.env.CUDAMASTER_HOME = before;
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  rmSync(home, { recursive: true, force: true });
});

let dir: string;
let count = 0;
beforeEach(async () => {
  said.length = 0;
  dir = join(home, `bench${count++}`);
  expect(await app.bench({ ...what, out: dir }, ctx)).toMatchObject({ ok: true, value: { missing: { length: 2 } } });
});

const bundles = (): string[] => {
  const at = join(dir, 'bundles/published');
  return readdirSync(at).flatMap((name) => (name === 'files' ? [] : [join(at, name)]));
};
const bundleOf = (task: string): string => bundles().find((path) => path.includes(`.${task}.`)) ?? '';
/** Runs bundles as a worker would; `change`: what happened to their results on the way. */
async function work(paths: readonly string[], change: (result: JobResult) => JobResult = (r) => r): Promise<void> {
  for (const path of paths) {
    const { request, bundle } = await readBundle(path);
    await writeResult(path, request, change(benchResult(bundle)), '0.1.0');
  }
}
async function resume(results?: string): Promise<BenchAnswer> {
  const found = await app.resumeBench({ bench: dir, results }, ctx);
  if (!found.ok) throw new Error(`${found.error.code}: ${found.error.message}`);
  return found.value;
}
async function refusal(results?: string): Promise<AppError> {
  const found = await app.resumeBench({ bench: dir, results }, ctx);
  if (found.ok) throw new Error('it was not refused');
  return found.error;
}
const benchFile = (): string => join(dir, 'bench.json');
const edit = (change: (bench: Bench) => unknown): void =>
  writeFileSync(benchFile(), JSON.stringify(change(JSON.parse(readFileSync(benchFile(), 'utf8')))));
const report = () => JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'));
const timesOf = (result: JobResult, change: (times: (number | null)[]) => (number | null)[]): JobResult => ({
  ...result,
  steps: result.steps.map((step) =>
    step.session?.mode !== 'time'
      ? step
      : {
          ...step,
          session: {
            ...step.session,
            samples: step.session.samples.map((set) => ({
              ...set,
              arms: Object.fromEntries(Object.entries(set.arms).map(([arm, times]) => [arm, change(times ?? [])])),
            })),
          },
        },
  ),
});

it('cells of another name, twice or none are refused with file, field and remedy', async () => {
  const [first, second] = (JSON.parse(readFileSync(benchFile(), 'utf8')) as Bench).cells;
  for (const [cells, words] of [
    [[first, first], 'is there twice'],
    [[first, { ...second, dtype: 'bf16' }], 'expected "published.'],
    [[], 'cells'],
  ] as const) {
    edit((bench) => ({ ...bench, cells }));
    const error = await refusal();
    expect([error.code, error.message]).toEqual(['format.invalid', expect.stringContaining(words)]);
    expect(error.message).toContain(benchFile());
    expect(error.remedy).toBeTruthy();
  }
});

it('a task that is gone costs its own cell: what was measured of it stays, the others go on', async () => {
  await work([bundleOf('RELU')]);
  await resume();
  const old = join(dir, 'results/published.RELU.fp32.json');
  const gone = join(dir, 'results/published.gone.fp32.json');
  writeFileSync(gone, readFileSync(old, 'utf8').replaceAll('published.RELU.fp32', 'published.gone.fp32'));
  rmSync(old);
  edit((bench) => ({
    ...bench,
    cells: bench.cells.map((cell) =>
      cell.task === 'RELU' ? { ...cell, task: 'gone', id: 'published.gone.fp32' } : cell,
    ),
  }));
  await work([bundleOf('dot_product')]);
  const stand = await resume();
  expect(stand).toMatchObject({ done: 1, missing: [], outdated: ['published.gone.fp32'] });
  expect(stand.failed).toMatchObject([{ cell: 'published.gone.fp32', error: { code: 'input.task' } }]);
  expect(report()).toMatchObject({
    cells: { all: 2, measured: 2 },
    entries: { length: 2 },
    outdated: ['published.gone.fp32'],
  });
});

it('a result under the name of another cell is none of it', async () => {
  await work(bundles());
  await resume();
  const at = (task: string): string => join(dir, `results/published.${task}.fp32.json`);
  renameSync(at('RELU'), at('dot_product'));
  rmSync(join(bundleOf('dot_product'), 'result.json'));
  expect(await resume()).toMatchObject({ done: 1, missing: ['published.dot_product.fp32'] });
  expect(report().entries.map((e: { task: string }) => e.task)).toEqual(['RELU']);
});

it('a folder in the place of a result is told by name', async () => {
  mkdirSync(join(dir, 'results/published.RELU.fp32.json'), { recursive: true });
  expect(await refusal()).toMatchObject({ code: 'input.file', message: expect.stringContaining('published.RELU') });
});

it('a damaged copy does not take the place of a good result, and two that differ are not chosen between', async () => {
  const copies = join(dir, 'copies');
  const name = `${basename(bundleOf('RELU'))}.json`;
  for (const sub of ['a', 'b']) mkdirSync(join(copies, sub), { recursive: true });
  await work([bundleOf('RELU')]);
  const good = readFileSync(join(bundleOf('RELU'), 'result.json'), 'utf8');
  writeFileSync(join(copies, 'a', name), good.slice(0, 500));
  expect(await resume(join(copies, 'a'))).toMatchObject({ done: 1 });
  rmSync(join(dir, 'results'), { recursive: true });
  rmSync(join(bundleOf('RELU'), 'result.json'));
  writeFileSync(join(copies, 'b', name), good);
  const [fault] = (await resume(copies)).failed;
  expect(fault?.error.message).toContain(join(copies, 'a', name));
  writeFileSync(join(copies, 'a', name), good);
  expect(await resume(copies)).toMatchObject({ done: 1, failed: [] });
  // Everything is there, the name is wrong all the same.
  await work(bundles());
  await resume();
  expect(await refusal(join(dir, 'no-such'))).toMatchObject({ code: 'input.file' });
});

it('a full or unwritable disk costs no result: what the worker found is taken in the next time', async () => {
  await work(bundles());
  // A file where the folder of results belongs: nothing can be written there, for root either.
  writeFileSync(join(dir, 'results'), '');
  const error = await refusal();
  expect(['env.not-writable', 'input.file']).toContain(error.code);
  for (const path of bundles()) expect(readdirSync(path)).toContain('result.json');
  rmSync(join(dir, 'results'));
  expect(await resume()).toMatchObject({ done: 2, failed: [] });
});

it('times that no GPU needs give no figures, and the job waits again', async () => {
  await work([bundleOf('RELU')], (result) => timesOf(result, (times) => times.map(() => 1e-300)));
  const stand = await resume();
  expect(stand.failed).toMatchObject([{ cell: 'published.RELU.fp32', error: { code: 'input.bundle' } }]);
  expect(await resume()).toMatchObject({ done: 0, missing: { length: 2 } });
  for (const change of [() => 0, () => null, (x: number | null) => -(x ?? 0)]) {
    await work([bundleOf('RELU')], (result) => timesOf(result, (times) => times.map(change)));
    rmSync(join(dir, 'results'), { recursive: true, force: true });
    await resume();
    const [entry] = report().entries;
    expect([entry.outcome, entry.rows, entry.score]).toEqual(['environment', [], null]);
  }
});

it('what the machine spoilt is told, and another measurement of it takes its place, from the bundle or from a copy', async () => {
  const spoil = (result: JobResult): JobResult => timesOf(result, (times) => times.map(() => null));
  const spoilt = ['published.RELU.fp32', 'published.dot_product.fp32'];
  await work(bundles(), spoil);
  for (let time = 0; time < 2; time++) {
    const stand = await resume();
    expect([stand.done, [...stand.spoilt].sort()]).toEqual([2, spoilt]);
  }
  const copies = join(dir, 'copies');
  mkdirSync(copies);
  const own = join(bundleOf('RELU'), 'result.json');
  const before = readFileSync(own);
  await work(bundles());
  renameSync(own, join(copies, `${basename(bundleOf('RELU'))}.json`));
  writeFileSync(own, before);
  expect(await resume(copies)).toMatchObject({ done: 2, spoilt: [], missing: [], failed: [] });
  expect(report().entries.map((e: { outcome: string }) => e.outcome)).toEqual(['valid', 'valid']);
});

it('what a killed writer left half-written goes with the next resume', async () => {
  mkdirSync(join(dir, 'results'), { recursive: true });
  const left = ['.123-0123456789ab.tmp', 'results/.123-0123456789ab.tmp'].map((name) => join(dir, name));
  for (const path of left) writeFileSync(path, '{');
  await resume();
  for (const path of left) expect(existsSync(path)).toBe(false);
});

it('the same process twice does not make an interval narrower; a count of blocks without calls takes no time', async () => {
  await work([bundleOf('RELU')]);
  await resume();
  const once = report().entries[0].rows;
  rmSync(join(dir, 'results'), { recursive: true });
  await work([bundleOf('RELU')], (result) => ({
    ...result,
    steps: result.steps.map((step) =>
      step.session?.mode === 'time'
        ? { ...step, session: { ...step.session, samples: [...step.session.samples, ...step.session.samples] } }
        : step,
    ),
  }));
  await resume();
  const width = (rows: typeof once): number => rows[0].originSpanNs.hi / rows[0].originSpanNs.lo - 1;
  // The laboratory draws its times: alike, where twice as many processes would be far narrower.
  expect(report().entries[0].processes).toBe(3);
  expect(width(report().entries[0].rows)).toBeGreaterThan(width(once) / 3);
});

it('what is asked for without sense is refused before anything is written', async () => {
  const ask = async (more: Partial<BenchParams>) => {
    const found = await app.bench({ ...what, out: join(home, 'never'), ...more }, ctx);
    if (found.ok) throw new Error(`${JSON.stringify(more)} was taken`);
    return found.error;
  };
  expect((await ask({ tasks: ['Dot_Product'] })).remedy).toContain('Did you mean dot_product?');
  expect((await ask({ tasks: ['dot_prodct'] })).remedy).toContain('Did you mean dot_product?');
  expect((await ask({ tasks: ['zzzzzz'] })).remedy).not.toContain('mean');
  expect(await ask({ tasks: [] })).toMatchObject({ code: 'usage', message: 'No task is named.' });
  expect(await ask({ candidates: [] })).toMatchObject({ code: 'usage' });
  expect(await ask({ out: '' })).toMatchObject({ code: 'usage' });
  expect(await ask({ executor: 'local', results: home })).toMatchObject({ code: 'usage' });
  expect(readdirSync(home)).not.toContain('never');
  const twice = await app.bench({ ...what, sizes: ['published', 'published'], out: join(home, 'once') }, ctx);
  expect(twice).toMatchObject({ ok: true, value: { cells: 2 } });
});

it('a candidate that the screen refuses is a result of its own, and the others go on', async () => {
  const files = join(home, 'files');
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'no_such_task.fp32.cu'), candidate('2'));
  writeFileSync(join(files, 'dot_product.fp32.cu'), candidate('2'));
  const system = '#include <stdlib.h>\nextern "C" void RELU_optimized() { system("id"); }\n';
  writeFileSync(join(files, 'RELU.fp32.cu'), system);
  dir = join(home, 'screened');
  const begun = await app.bench({ ...what, profile: true, candidates: [files], out: dir }, ctx);
  const refused = /^RELU\.fp32\.cu is refused by the screen: line \d/;
  // The origin of a task is profiled whatever its candidate is.
  expect(begun).toMatchObject({
    ok: true,
    value: {
      cells: 6,
      done: 0,
      missing: { length: 4 },
      failed: [
        { cell: 'published.RELU.fp32', error: { code: 'candidate.rejected', message: expect.stringMatching(refused) } },
        { cell: 'profile.RELU.fp32.candidate', error: { code: 'candidate.rejected' } },
      ],
    },
  });
  expect(said.join('\n')).toContain('no_such_task.fp32.cu is left out');
  expect(said.join('\n')).toMatch(/RELU\.fp32\.cu is refused by the screen, and not measured: line/);
  // What is not built is not kept either.
  expect(readdirSync(join(dir, 'sources'))).toHaveLength(1);

  await work(bundles());
  const stand = await resume();
  expect(stand).toMatchObject({ done: 1, failed: { length: 2 } });
  const { entries, missing, cells } = report();
  expect(cells).toEqual({ all: 6, measured: 1 });
  const row = entries.find((e: { task: string }) => e.task === 'RELU');
  expect(row).toMatchObject({ candidate: 'RELU.fp32.cu', outcome: 'screen-rejected', verified: false, rows: [] });
  expect(row.reason).toMatch(refused);
  expect(entries).toHaveLength(2);
  expect(missing.map((m: { cell: string }) => m.cell)).not.toContain('published.RELU.fp32');
  const html = readFileSync(join(dir, 'report.html'), 'utf8');
  expect(html).toContain('1 of 6 jobs have a result (4 have none: see the end). 1 of 1 measured versions');
  expect(html).toContain('1 were refused by the screen before they were built.');
  const lines = parse(readFileSync(join(dir, 'report.csv'), 'utf8'), { columns: true }) as Record<string, string>[];
  const line = lines.find(({ task }) => task === 'RELU');
  expect(line).toMatchObject({ outcome: 'screen-rejected', gpu: '' });
  expect(line?.reason).toMatch(refused);
});

it('texts of a result act neither in a page, nor in a table, nor in a terminal', async () => {
  await work(bundles());
  await resume();
  const hostile = '=1+1<script>alert(1)</script>"\u001b[31mred\u0007\n@SUM(1)';
  for (const name of readdirSync(join(dir, 'results'))) {
    const file = join(dir, 'results', name);
    const cell = JSON.parse(readFileSync(file, 'utf8'));
    cell.result.machine.gpu.name = hostile;
    cell.result.machine.nvcc = hostile;
    cell.evaluation = { ...cell.evaluation, outcome: 'wrong-result', reason: hostile };
    if (cell.evaluation.library) Object.assign(cell.evaluation.library, { title: hostile, reason: `-${hostile}` });
    writeFileSync(file, JSON.stringify(cell));
  }
  await resume();
  const text = (name: string): string => readFileSync(join(dir, name), 'utf8');
  expect(text('report.html')).not.toContain('<script');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal would act on
  for (const name of ['report.html', 'report.csv']) expect(text(name)).not.toMatch(/[\u0007\u001b]/);
  const cells = (parse(text('report.csv')) as string[][]).flat();
  expect(cells.filter((cell) => cell.includes('SUM')).length).toBeGreaterThan(1);
  for (const cell of cells) expect(cell).not.toMatch(/^[=+@\t\r]|^-(?![\d.])/);
});

it('an empty name is no bench, however many there are', async () => {
  const out = join(home, 'data/bench');
  mkdirSync(join(out, 'bench-261129-1200-abcd'), { recursive: true });
  expect(await app.resumeBench({ bench: '' }, ctx)).toMatchObject({ ok: false, error: { code: 'usage' } });
  writeFileSync(join(out, 'notes.txt'), '');
  // The newest bench, not what else lies there.
  const last = await app.resumeBench({ bench: 'last' }, ctx);
  expect(last.ok || last.error.message).toContain('bench-261129-1200-abcd');
});

it('a place with spaces, quotes and a line end is named so that a shell takes it', async () => {
  const out = join(home, `a b'c"\n😀`);
  const made = await app.bench({ ...what, out }, ctx);
  expect(made.ok && made.value.how).toContain(`cudamaster bench resume '${out.replaceAll("'", "'\\''")}'`);
});

it('a few profiles are no calibration, and do not take the place of one', async () => {
  const out = join(home, 'profiles');
  await app.bench({ ...what, sizes: ['large'], measure: false, profile: true, library: false, out }, ctx);
  const at = join(out, 'bundles/profile');
  await work(readdirSync(at).flatMap((name) => (name === 'files' ? [] : [join(at, name)])));
  await app.resumeBench({ bench: out }, ctx);
  const found = await app.calibrate({ dtype: 'fp32', executor: 'local', from: out }, ctx);
  expect(found).toMatchObject({
    ok: false,
    error: { code: 'usage', message: expect.stringContaining('Nothing was kept') },
  });
  expect(readdirSync(join(home, 'data'))).not.toContain('calibrations');
});
