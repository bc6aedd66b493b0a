import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '../../main/base/hash.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { cellsOf, choose } from '../../main/bench/choose.ts';
import { reportCsv } from '../../main/bench/csv.ts';
import { driveBench } from '../../main/bench/drive.ts';
import { BenchFolder } from '../../main/bench/folder.ts';
import { reportHtml } from '../../main/bench/html.ts';
import { Planner } from '../../main/bench/jobs.ts';
import { type BenchReport, reportOf } from '../../main/bench/report.ts';
import type { Bench, BenchCandidate, BenchConfig, Dtype, Executor } from '../../main/contract/index.ts';
import { candidate, root } from '../app/lab.ts';
import { labExecutor } from './lab.ts';

let dir: string;
beforeAll(() => {
  setResourceRoot(root);
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'cm-report-')));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A bench of two tasks in the laboratory; `speeds`: of candidates, by task. */
async function bench(
  name: string,
  speeds: Readonly<Record<string, string>> | null,
  executor: Executor = labExecutor,
  stages: BenchConfig['stages'] = ['published', 'large', 'profile'],
): Promise<BenchReport> {
  const config: BenchConfig = {
    stages,
    profileSizes: 'large',
    library: true,
    arch: 'native',
    executor: 'local',
    candidates: speeds ? 'files' : 'none',
  };
  const sources = new Map<string, string>();
  const candidates = Object.entries(speeds ?? {}).flatMap(([task, speed]) =>
    (['fp32', 'bf16'] as Dtype[]).map((dtype): BenchCandidate => {
      const text = candidate(speed);
      sources.set(sha256Hex(text), text);
      return { task, dtype, label: `${task}.${dtype}.cu`, source: sha256Hex(text), compileArgs: [] };
    }),
  );
  const folder = new BenchFolder(join(dir, name));
  const made: Bench = {
    format: 'cudamaster-bench',
    version: 1,
    id: name,
    createdAt: '2026-11-29T12:00:00.000Z',
    programVersion: '0.1.0',
    rootSeed: 'ab',
    config,
    candidates,
    cells: cellsOf(choose(root, { tasks: ['dot_product', 'RELU'] }), config, candidates),
  };
  await folder.create(made, sources);
  await driveBench({ root, folder, bench: made, executor, programVersion: '0.1.0', onProgress: () => {} });
  const planner = new Planner(root, made, folder);
  return reportOf({ bench: made, results: await folder.results(made.cells), planner, now: '2026-11-29T13:00:00.000Z' });
}

describe('report of baselines', () => {
  let report: BenchReport;
  beforeAll(async () => {
    report = await bench('baseline', null);
  });

  it('has an entry per task, type and size set, with the library beside it', () => {
    expect(report.entries).toHaveLength(8);
    expect(report.entries.every((e) => e.outcome === 'valid' && e.candidate === null && e.score === null)).toBe(true);
    const relu = report.entries.find((e) => e.task === 'RELU' && e.dtype === 'fp32' && e.sizes === 'published');
    expect(relu?.library).toMatchObject({ title: 'cuDNN', status: 'measured' });
    expect(relu?.rows.every((row) => row.librarySpeedup !== null && row.speedup === null)).toBe(true);
    expect(relu?.rows.reduce((sum, row) => sum + row.share, 0)).toBeCloseTo(1);
    const dot = report.entries.find((e) => e.task === 'dot_product');
    expect(dot?.library?.title).toBe('cuBLAS');
  });

  it('sums the stages, and says by the clock only what steps say', () => {
    const row = report.stages.find((s) => s.stage === 'published' && s.kind === 'time');
    // Two tasks in two types: one timing session each.
    expect(row).toMatchObject({ steps: 4, failed: 0, cached: 0 });
    expect(row?.gpuS).toBeCloseTo(4 * 0.004);
    expect(row?.elapsedS).toBeGreaterThan(0);
    expect(report.stages.find((s) => s.kind === 'build')?.gpuS).toBeNull();
  });

  it('counts success of libraries, and places profiles under the roof', () => {
    expect(report.success.map((s) => [s.of, s.dtype, s.sizes, s.n])).toEqual([
      ['library', 'fp32', 'published', 2],
      ['library', 'bf16', 'published', 2],
      ['library', 'fp32', 'large', 2],
      ['library', 'bf16', 'large', 2],
    ]);
    expect(report.profiles).toHaveLength(4);
    expect(report.profiles[0]?.roofline?.points[0]?.rate).toMatchObject({ available: true });
  });

  it('sets classes and the six comparisons of the paper beside ours, and says what is missing', () => {
    expect(report.micro.map((row) => row.task)).toEqual([
      'spmv_csr',
      'conv_2d',
      ...Array(4).fill('dot_product'),
      'rms_norm',
      'silu_and_mul',
      'merge_attn_states',
    ]);
    const dot = report.micro.find((row) => row.task === 'dot_product');
    expect(dot?.paper).toEqual({ baseline: 'cuBLAS', theirs: 26.09, best: 46.83 });
    // A ratio, or why there is none; never both, never neither.
    expect(report.micro.every((row) => (row.ratio === null) === (row.why !== ''))).toBe(true);
    expect(report.micro.find((row) => row.task === 'conv_2d')?.why).toBe('no figures in this bench');
    const html = reportHtml(report);
    expect(html).toContain('paper, origin');
    expect(html).toContain('11 (22 %)');
    expect(html).toContain('The paper’s six comparisons');
  });

  it('says of profiles whether their launches were compared with a timing', async () => {
    const remark = expect.stringMatching(/^launches not compared with a timing/);
    expect(report.profiles.filter((p) => 'remark' in p)).toEqual([]);
    const alone = await bench('untimed', null, labExecutor, ['profile']);
    expect(alone.profiles).toHaveLength(4);
    for (const p of alone.profiles) expect(p).toMatchObject({ status: 'complete', remark });
    expect(reportHtml(alone).match(/launches not compared with a timing/g)).toHaveLength(4);
  });

  it('names what was measured before a change', () => {
    expect(report.outdated).toEqual([]);
    expect(reportHtml(report)).not.toContain('Measured before a change');
    const html = reportHtml({ ...report, outdated: ['published.RELU.fp32'] });
    expect(html).toContain('1 of them are of an earlier state');
    expect(html).toContain('published.RELU.fp32');
  });

  it('is one page without scripts or anything from elsewhere', () => {
    const html = reportHtml(report);
    // Links lead to places of the page alone, and each of them is there.
    expect(html).not.toMatch(/<script|src=|href=(?!"#)|url\(|@import/i);
    const places = new Set([...html.matchAll(/ id="([^"]+)"/g)].map((m) => m[1]));
    const links = [...html.matchAll(/ href="#([^"]*)"/g)].map((m) => m[1]);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((link) => !places.has(link))).toEqual([]);
    expect(html).toContain('prefers-color-scheme:dark');
    for (const title of [
      'What the time went into',
      'Cumulative success',
      'Task by size',
      'Roofline of all profiled kernels',
      'Vendor libraries',
      'Environment',
      'Every size',
    ])
      expect(html, title).toContain(title);
    expect(html).not.toMatch(/NaN|undefined|Infinity|\[object/);
    expect([...html.matchAll(/ id="([^"]+)"/g)].map((m) => m[1]).length).toBe(
      new Set([...html.matchAll(/ id="([^"]+)"/g)].map((m) => m[1])).size,
    );
  });

  it('as CSV has a row per size and empty fields for what was not measured', () => {
    const rows = parse(reportCsv(report), { columns: true }) as Record<string, string>[];
    expect(rows).toHaveLength(report.entries.reduce((sum, e) => sum + e.rows.length, 0));
    expect(Number(rows[0]?.origin_span_ns)).toBeGreaterThan(0);
    expect([rows[0]?.speedup, rows[0]?.P, rows[0]?.candidate]).toEqual(['', '', '']);
  });
});

describe('report of candidates', () => {
  it('shows P, P_min, geometric mean, success over τ, and rejected ones as not reached', async () => {
    const report = await bench('candidates', { dot_product: '5', RELU: 'wrong' });
    const dot = report.entries.find((e) => e.task === 'dot_product' && e.dtype === 'fp32' && e.sizes === 'published');
    expect(dot).toMatchObject({ outcome: 'accepted', candidate: 'dot_product.fp32.cu' });
    expect(dot?.score?.value).toBeCloseTo(5, 0);
    expect([dot?.pMin, dot?.geomean].every((x) => x !== null && x !== undefined && Math.abs(x - 5) < 0.2)).toBe(true);
    const relu = report.entries.find((e) => e.task === 'RELU');
    expect(relu).toMatchObject({ outcome: 'wrong-result', score: null, rows: [] });
    const success = report.success.find((s) => s.of === 'candidate' && s.dtype === 'fp32' && s.sizes === 'published');
    expect(success).toMatchObject({ n: 2, unknown: 1 });
    expect(success?.reached.map(({ count }) => count)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(report.profiles.map((p) => p.version)).toContain('candidate');
    const html = reportHtml(report);
    expect(html).toContain('Error against speed-up, fp32');
    expect(dot?.sanitized).toEqual({ state: 'yes', why: '' });
    expect(relu).not.toHaveProperty('sanitized');
    expect(html).not.toContain('not sanitized');
    const sanitized = { state: 'no', why: 'compute-sanitizer was not found.' } as const;
    const without = { ...report, entries: report.entries.map((e) => (e.sanitized ? { ...e, sanitized } : e)) };
    const told = reportHtml(without).match(/<\/td><td[^>]*>no: compute-sanitizer was not found\./g);
    expect(told).toHaveLength(report.entries.filter((e) => e.sanitized).length);
    expect(reportHtml(without)).toContain('accepted, not sanitized: compute-sanitizer was not found.');
    expect(html).not.toMatch(/NaN|undefined|Infinity/);
  });

  it('holds no speed-up of a candidate that races, however fast, but for one raw block', async () => {
    const racing: Executor = {
      name: 'local',
      execute: async (bundle, options) => {
        const done = await labExecutor.execute(bundle, options);
        if (done.kind === 'done')
          for (const { session } of done.result.steps)
            if (session?.mode === 'sanitize')
              session.incidents.push({ kind: 'sanitizer', arm: 'C', message: 'racecheck: 1 error' });
        return done;
      },
    };
    const report = await bench('racing', { dot_product: '7' }, racing);
    const dot = report.entries.filter((e) => e.task === 'dot_product');
    expect(dot.map(({ outcome }) => outcome)).toEqual(['race', 'race', 'race', 'race']);
    for (const e of dot) {
      expect(e).toMatchObject({ score: null, pMin: null, geomean: null, raw: { outcome: 'race' } });
      expect(e.raw?.score?.value).toBeCloseTo(7, 0);
      expect(e.rows.length).toBeGreaterThan(0);
      for (const { candidateSpanNs, candidateWrapperNs, speedup, libraryVersusCandidate, ...own } of e.rows) {
        expect([candidateSpanNs, candidateWrapperNs, speedup, libraryVersusCandidate]).toEqual([
          null,
          null,
          null,
          null,
        ]);
        expect(own.originSpanNs?.value).toBeGreaterThan(0);
      }
    }
    const profiles = report.profiles.filter((p) => p.task === 'dot_product' && p.version === 'candidate');
    expect(profiles).toHaveLength(2);
    for (const p of profiles)
      expect(p).toMatchObject({ status: 'unavailable', bottleneck: null, throughputs: null, roofline: null });
    expect(profiles[0]?.reason).toBe('not shown: the candidate is not right (race at the published sizes)');
    expect(report.classes.find((c) => c.version === 'candidate' && c.dtype === 'fp32')?.counts).toMatchObject({
      compute: 0,
      'memory-bandwidth': 0,
      'memory-latency': 0,
    });
    expect(report.micro.filter((m) => m.task === 'dot_product').map((m) => m.candidate)).toEqual(dot.map(() => null));
    expect(report.entries.filter((e) => e.candidate === null && 'raw' in e)).toEqual([]);
  });

  it('names what has no result and why, and makes no figure of it', async () => {
    const failing: Executor = {
      name: 'local',
      execute: async (bundle, options) => {
        if (options.position.startsWith('published')) return labExecutor.execute(bundle, options);
        const { AppFailure } = await import('../../main/contract/index.ts');
        throw new AppFailure({ code: 'env.gpu-lost', message: 'The GPU fell off the bus.' });
      },
    };
    const report = await bench('partly', null, failing);
    expect(report.cells).toEqual({ all: 12, measured: 4 });
    expect(report.missing).toHaveLength(8);
    expect(report.missing[0]?.reason).toBe('The GPU fell off the bus.');
    expect(report.profiles).toEqual([]);
    const html = reportHtml(report);
    expect(html).toContain('The GPU fell off the bus.');
    expect(html).not.toContain('Roofline of all');
  });
});
