import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '../../main/base/hash.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { cellsOf, choose } from '../../main/bench/choose.ts';
import { type BenchProgress, driveBench } from '../../main/bench/drive.ts';
import { BenchFolder } from '../../main/bench/folder.ts';
import type { Bench, BenchCandidate, BenchConfig, Executor } from '../../main/contract/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { runWorker } from '../../main/worker/worker.ts';
import { testTools } from '../jobs/support.ts';
import { hostCandidate, hostSuite, repository } from './suite.ts';

let dir: string;
let suite: ReturnType<typeof hostSuite>;
beforeAll(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'cm-bench-')));
  suite = hostSuite();
  setResourceRoot(suite.root);
});
afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
  suite.remove();
  setResourceRoot(repository);
});

const config: BenchConfig = {
  stages: ['published'],
  profileSizes: 'published',
  library: true,
  arch: 'sm_90',
  executor: 'local',
  candidates: 'none',
  variant: 'host',
};

async function begin(
  name: string,
  more: Partial<BenchConfig> = {},
  candidates: BenchCandidate[] = [],
  tasks?: string[],
) {
  const own = { ...config, ...more };
  const folder = new BenchFolder(join(dir, name));
  const bench: Bench = {
    format: 'cudamaster-bench',
    version: 1,
    id: name,
    createdAt: '2026-11-29T12:00:00.000Z',
    programVersion: '0.1.0',
    rootSeed: 'ab'.repeat(32),
    config: own,
    candidates,
    cells: cellsOf(choose(suite.root, { tasks }), own, candidates),
  };
  await folder.create(bench, new Map(candidates.map(() => [sha256Hex(hostCandidate), hostCandidate])));
  return { folder, bench };
}

const local = (): LocalExecutor =>
  new LocalExecutor(testTools(), { buildCacheDir: join(dir, 'cache'), lockDir: join(dir, 'locks') });

const drive = (
  of: { folder: BenchFolder; bench: Bench },
  executor: Executor | null,
  more: Partial<Parameters<typeof driveBench>[0]> = {},
) => driveBench({ root: suite.root, ...of, executor, programVersion: '0.1.0', onProgress: () => {}, ...more });

describe('a bench on this machine', () => {
  it('measures every origin, its library where there is one, and says why a library is missing', {
    timeout: 180_000,
  }, async () => {
    const it = await begin('local');
    const said: BenchProgress[] = [];
    const stand = await drive(it, local(), { onProgress: (p) => said.push(p) });
    expect(stand).toMatchObject({ done: 2, failed: [], missing: [], waiting: [] });
    expect(said.at(-1)).toMatchObject({ stage: 'published', done: 2, total: 2 });
    const of = async (task: string) => {
      const cell = it.bench.cells.find((c) => c.task === task);
      return cell && (await it.folder.result(cell));
    };
    const dot = (await of('dot_product'))?.evaluation;
    expect([dot?.outcome, dot?.reason]).toEqual(['valid', expect.any(String)]);
    expect(dot?.library).toMatchObject({ status: 'measured' });
    expect(dot?.library?.sizes).toHaveLength(2);
    expect(dot?.library?.score?.value).toBeGreaterThan(0);
    expect(dot?.library?.maxUlp).not.toBeNull();
    const add = (await of('vector_add'))?.evaluation;
    expect(add?.outcome).toBe('valid');
    expect(add?.figures?.sizes[0]?.originSpanNs?.value).toBeGreaterThan(0);
    expect(add?.library).toMatchObject({
      status: 'absent',
      reason: expect.stringContaining('no_such_library.h'),
      sizes: [],
    });
    // Of the two jobs that began together one waited for the other's runner.
    const steps = (await of('vector_add'))?.result?.steps ?? [];
    expect(steps.filter((step) => step.status === 'ok').every((step) => step.beganAt !== undefined)).toBe(true);
    expect(steps.find((step) => step.id === 'time-confirm')?.gpuMs).toBeGreaterThan(0);
    // A second drive has nothing left to do.
    const none: Executor = { name: 'local', execute: () => Promise.reject(new Error('nothing is left')) };
    expect(await drive(it, none)).toMatchObject({ done: 2, failed: [], outdated: [] });
    // A task that has changed: its old result is named as such until it is measured again.
    const source = join(suite.root, 'kernels/mskernelbench/vector_add/origin.fp32.cu');
    const text = readFileSync(source, 'utf8');
    writeFileSync(source, `${text}// changed\n`);
    try {
      expect(await drive(it, null)).toMatchObject({ done: 1, outdated: ['published.vector_add.fp32'] });
    } finally {
      writeFileSync(source, text);
    }
  });

  it('times the others again when a library fails at a large size, and checks there what the plan asks for', {
    timeout: 180_000,
  }, async () => {
    const file = join(suite.root, 'kernels/mskernelbench/dot_product/library.cu');
    const text = readFileSync(file, 'utf8');
    // Right at every size of the verification, gone at the timed one.
    writeFileSync(file, text.replace('*loss = sum', 'if (N == 70000) __builtin_trap();\n  *loss = sum'));
    try {
      const it = await begin('crash', { stages: ['large'] }, [], ['dot_product']);
      expect(await drive(it, local())).toMatchObject({ done: 1, failed: [] });
      const found = await it.folder.result(it.bench.cells[0] as Bench['cells'][number]);
      const { outcome, figures, library } = found?.evaluation ?? {};
      expect([outcome, figures?.sizes[0]?.originSpanNs?.value], found?.evaluation?.reason).toEqual([
        'valid',
        expect.any(Number),
      ]);
      // Launching is no part of large sizes that is worth a pass.
      expect(figures?.sizes[0]?.originWrapperNs).toBeNull();
      expect(library).toMatchObject({ status: 'failed', sizes: [], reason: expect.stringContaining('crash') });
      const time = found?.result?.steps.find((step) => step.id === 'time-confirm')?.session;
      if (time?.mode !== 'time') throw new Error('not timed');
      // Warm-up and the first block of each of two processes, one output of one element.
      expect(time.sampledChecks).toBe(2 * (1 + 2));
      expect(time.samples[0]?.blocks).toBeGreaterThanOrEqual(5);
      expect(time.whole.map((w) => w.arm)).toEqual(['O']);
    } finally {
      writeFileSync(file, text);
    }
  });

  it('keeps what was finished when it is cancelled, and goes on from there', async () => {
    const it = await begin('cancelled', { library: false });
    const cancel = new AbortController();
    const real = local();
    // The first cell ends; the other one is under way when the user cancels.
    const queued: Executor = {
      name: 'local',
      execute: async (bundle, options) => {
        if (options.position === it.bench.cells[0]?.id) {
          const done = await real.execute(bundle, options);
          setTimeout(() => cancel.abort(), 500);
          return done;
        }
        await once(cancel.signal, 'abort');
        return real.execute(bundle, options);
      },
    };
    await expect(drive(it, queued, { signal: cancel.signal })).rejects.toMatchObject({ error: { code: 'cancelled' } });
    expect(readdirSync(join(it.folder.dir, 'results'))).toEqual([`${it.bench.cells[0]?.id}.json`]);
    expect(await drive(it, real)).toMatchObject({ done: 2, failed: [] });
  });

  it('reads and writes nothing outside of its folder, whatever a bench from elsewhere names', async () => {
    const { folder, bench } = await begin('foreign', {}, [], ['dot_product']);
    const hash = sha256Hex(hostCandidate);
    const file = join(folder.dir, 'bench.json');
    const cell = bench.cells[0];
    const candidate: BenchCandidate = { task: 'dot_product', dtype: 'fp32', label: 'x', source: hash, compileArgs: [] };
    for (const hostile of [
      { ...bench, cells: [{ ...cell, id: '../../outside' }] },
      { ...bench, cells: [{ ...cell, id: '/tmp/outside' }] },
      { ...bench, candidates: [{ ...candidate, source: `../../${hash}` }] },
    ]) {
      writeFileSync(file, JSON.stringify(hostile));
      await expect(folder.bench()).rejects.toThrow('bench.json');
    }
    writeFileSync(file, JSON.stringify({ ...bench, candidates: [candidate] }));
    await folder.bench();
    // Another text than the one that was chosen and is named in the report.
    const swapped = (await begin('swapped', {}, [candidate], ['dot_product'])).folder;
    expect(await swapped.source(hash)).toBe(hostCandidate);
    writeFileSync(join(swapped.dir, 'sources', `${hash}.cu`), '// other');
    expect(await swapped.source(hash)).toBeNull();
  });

  it('refuses a second driver', async () => {
    const it = await begin('two', { library: false }, [], ['vector_add']);
    const wait = Promise.withResolvers<void>();
    const held: Executor = { name: 'local', execute: () => wait.promise.then(() => Promise.reject(new Error('end'))) };
    const first = drive(it, held).catch(() => 'ended');
    await new Promise((r) => setTimeout(r, 1000));
    await expect(drive(it, local())).rejects.toMatchObject({ error: { code: 'store.lease' } });
    wait.resolve();
    expect(await first).toBe('ended');
  });

  it('measures candidates against their origins', async () => {
    const source = sha256Hex(hostCandidate);
    const candidate = { task: 'dot_product', dtype: 'fp32', label: 'four sums', source, compileArgs: ['-O3'] } as const;
    const it = await begin('candidates', { candidates: 'files' }, [{ ...candidate, compileArgs: ['-O3'] }]);
    expect(it.bench.cells.map((cell) => cell.id)).toEqual(['published.dot_product.fp32']);
    await drive(it, local());
    const found = await it.folder.result(it.bench.cells[0] as Bench['cells'][number]);
    expect(found?.evaluation?.verified, found?.evaluation?.reason).toBe(true);
  });
});

describe('a bench on another machine', () => {
  const io = (said: string[] = []) => ({
    out: (line: string) => said.push(line),
    err: () => {},
    tools: async () => testTools(),
    settings: { buildCacheDir: join(dir, 'cache'), lockDir: join(dir, 'locks') },
  });

  it('writes bundles that share their contents, parks, and takes results from where they lie', async () => {
    const it = await begin('away', { executor: 'bundle' });
    const parked = await drive(it, null);
    expect(parked).toMatchObject({ done: 0, missing: it.bench.cells.map((cell) => cell.id) });
    const folder = join(it.folder.dir, 'bundles/published');
    expect(parked.waiting).toEqual([{ folder, bundles: 2 }]);
    const bundles = readdirSync(folder).filter((name) => name !== 'files');
    expect(bundles).toHaveLength(2);
    expect(bundles.flatMap((name) => readdirSync(join(folder, name)))).not.toContain('files');
    const copies = join(dir, 'copies');
    const said: string[] = [];
    expect(await runWorker(['--json', '--results', copies, folder], io(said))).toBe(0);
    expect(JSON.parse(said.at(-1) ?? '')).toEqual({ ok: true, value: { done: 2, kept: 0, failed: 0 } });
    expect(readdirSync(copies)).toHaveLength(2);
    // The bundles stayed away: only the copies came back, one of them damaged on the way.
    for (const name of bundles) rmSync(join(folder, name), { recursive: true });
    writeFileSync(join(copies, `${bundles[0]}.json`), '{}');
    const partly = await drive(it, null, { results: copies });
    // A damaged result is set aside, and its job waits again.
    expect(partly).toMatchObject({ done: 1, failed: [], missing: [it.bench.cells[0]?.id] });
    expect(await drive(it, null)).toMatchObject({ done: 1, failed: [], missing: [it.bench.cells[0]?.id] });
  });
});
