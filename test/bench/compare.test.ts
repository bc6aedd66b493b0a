import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it, onTestFinished } from 'vitest';
import { setResourceRoot } from '../../main/base/paths.ts';
import { Prng } from '../../main/base/random.ts';
import { cellsOf, choose } from '../../main/bench/choose.ts';
import { type Comparison, compareReports } from '../../main/bench/compare.ts';
import { comparisonCsv } from '../../main/bench/compare-csv.ts';
import { narrowed, parseReport } from '../../main/bench/compare-read.ts';
import { medianRatio } from '../../main/bench/compare-summary.ts';
import { driveBench } from '../../main/bench/drive.ts';
import { BenchFolder } from '../../main/bench/folder.ts';
import { Planner } from '../../main/bench/jobs.ts';
import { ratioOf } from '../../main/bench/ratio.ts';
import { reportOf } from '../../main/bench/report.ts';
import type { Bench, BenchConfig } from '../../main/contract/index.ts';
import { mean, studentUpper, variance } from '../../main/evaluate/stats.ts';
import { machine, root } from '../app/lab.ts';
import { labExecutor } from './lab.ts';
import { entry, figure, profile, report, reportText, row } from './reports.ts';

const pairOf = (c: Comparison, quantity: string, problem = 'published/0') =>
  c.pairs.find((p) => p.quantity === quantity && p.problem === problem);

describe('the ratio of two figures', () => {
  it('adds the half-widths of ln in quadrature', () => {
    // ln 1.1 = 0.0953102; times √2 = 0.1347890; 1.2 · exp(∓0.1347890)
    const found = ratioOf(figure(100), figure(120));
    if ('why' in found) throw new Error(found.why);
    expect(found.ratio.value).toBeCloseTo(1.2, 12);
    expect(found.ratio.lo).toBeCloseTo(1.04868, 5);
    expect(found.ratio.hi).toBeCloseTo(1.373154, 5);
    expect(found.ratio.level).toBe(0.95);
  });

  it('takes each side of a skewed interval by itself', () => {
    // Down: B’s lower and A’s upper side, hypot(ln 1.1, ln 1.3) = 0.279140; up: hypot(ln 1.2, ln 1.05) = 0.188735.
    const a = { value: 100, lo: 100 / 1.05, hi: 130, level: 0.95 };
    const b = { value: 100, lo: 100 / 1.1, hi: 120, level: 0.95 };
    const found = ratioOf(a, b);
    if ('why' in found) throw new Error(found.why);
    expect(Math.log(found.ratio.lo)).toBeCloseTo(-0.27914, 5);
    expect(Math.log(found.ratio.hi)).toBeCloseTo(0.188735, 5);
  });

  it('is none where levels differ or a figure is none', () => {
    expect(ratioOf(figure(1, 1.1, 0.95), figure(1, 1.1, 0.99))).toEqual({
      why: 'intervals of 95 % in A, of 99 % in B',
    });
    const good = figure(1);
    for (const bad of [
      { value: 0, lo: 0, hi: 0, level: 0.95 },
      { value: -1, lo: -2, hi: 1, level: 0.95 },
      { value: 3, lo: 1, hi: 2, level: 0.95 },
      { value: 1, lo: 1, hi: Number.POSITIVE_INFINITY, level: 0.95 },
      { value: 1, lo: 1, hi: 1, level: 1 },
    ]) {
      expect(ratioOf(bad, good)).toEqual({ why: 'the figure of A is no positive number inside an interval' });
      expect(ratioOf(good, bad)).toEqual({ why: 'the figure of B is no positive number inside an interval' });
    }
  });

  it('of two measurements of one thing leaves 1 out as often as its level says', () => {
    const random = new Prng('compare');
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const measured = (sd: number) => figure(1000 * Math.exp(sd * normal()), Math.exp(1.959964 * sd));
    const n = 20_000;
    let out = 0;
    for (let i = 0; i < n; i++) {
      const found = ratioOf(measured(0.01), measured(0.03));
      if ('ratio' in found && (found.ratio.lo > 1 || found.ratio.hi < 1)) out++;
    }
    // Five standard deviations of a binomial count.
    expect(Math.abs(out - 0.05 * n)).toBeLessThan(5 * Math.sqrt(n * 0.05 * 0.95));
  });

  it('from three processes each leaves 1 out no oftener than its level says', () => {
    const random = new Prng('processes');
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const t = studentUpper(0.025, 2);
    const measured = (sd: number) => {
      const logs = [sd * normal(), sd * normal(), sd * normal()];
      return figure(1000 * Math.exp(mean(logs)), Math.exp(t * Math.sqrt(variance(logs) / 3)));
    };
    const n = 10_000;
    for (const sd of [0.002, 0.01, 0.05]) {
      let out = 0;
      for (let i = 0; i < n; i++) {
        const found = ratioOf(measured(0.01), measured(sd));
        if ('ratio' in found && (found.ratio.lo > 1 || found.ratio.hi < 1)) out++;
      }
      expect(out).toBeGreaterThan(0);
      expect(out).toBeLessThan(0.05 * n + 5 * Math.sqrt(n * 0.05 * 0.95));
    }
  });
});

describe('pairs', () => {
  it('are of the same task, type, size set, problem and dimensions, and have words that say no more than the figures', () => {
    const a = report('a', [entry('dot', [row(0, { originSpanNs: figure(100, 1.01), speedup: figure(2, 1.01) })])]);
    const b = report('b', [entry('dot', [row(0, { originSpanNs: figure(110, 1.01), speedup: figure(2.2, 1.01) })])]);
    const c = compareReports(a, b);
    expect(c.rows).toEqual({ common: 1, onlyA: 0, onlyB: 0, otherDims: 0 });
    expect(pairOf(c, 'origin-span')).toMatchObject({ verdict: 'slower', overlap: false, why: '' });
    expect(pairOf(c, 'candidate-speedup')).toMatchObject({ verdict: 'higher' });
    const back = compareReports(b, a);
    expect(pairOf(back, 'origin-span')?.verdict).toBe('faster');
    expect(pairOf(back, 'candidate-speedup')?.verdict).toBe('lower');
    expect(pairOf(back, 'origin-span')?.ratio?.lo).toBeCloseTo(1 / (pairOf(c, 'origin-span')?.ratio?.hi ?? 0), 12);
    const near = compareReports(a, report('b', [entry('dot', [row(0, { originSpanNs: figure(101, 1.01) })])]));
    expect(pairOf(near, 'origin-span')).toMatchObject({ verdict: 'same within the intervals', overlap: true });
  });

  it('may differ clearly though their intervals touch: the interval of the ratio decides', () => {
    // |ln 1.15| = 0.1398 is more than √2 · ln 1.1 = 0.1348 and less than 2 · ln 1.1 = 0.1906.
    const c = compareReports(
      report('a', [entry('dot', [row(0, { originSpanNs: figure(100) })])]),
      report('b', [entry('dot', [row(0, { originSpanNs: figure(115) })])]),
    );
    expect(pairOf(c, 'origin-span')).toMatchObject({ overlap: true, verdict: 'slower' });
  });

  it('with a figure in one bench alone have no ratio, and are counted as such', () => {
    const full = row(0, { originSpanNs: figure(100), librarySpanNs: figure(50) });
    const c = compareReports(
      report('a', [entry('dot', [full], { library: { title: 'cuBLAS' } })]),
      report('b', [entry('dot', [row(0, { originSpanNs: figure(100), originWrapperNs: figure(200) })])]),
    );
    expect(pairOf(c, 'library-span')).toMatchObject({ ratio: null, verdict: null, overlap: null, why: 'only in A' });
    expect(pairOf(c, 'origin-wrapper')).toMatchObject({ ratio: null, why: 'only in B' });
    expect(c.groups.map((g) => [g.quantity, g.pairs, g.without, g.median, g.expectedByChance])).toEqual([
      ['origin-span', 1, [], 1, expect.closeTo(0.05)],
      ['origin-wrapper', 0, [{ why: 'only in B', count: 1 }], null, null],
      ['library-span', 0, [{ why: 'only in A', count: 1 }], null, null],
    ]);
    expect(c.inNeither).toEqual(['library-speedup', 'candidate-span', 'candidate-speedup']);
  });

  it('of other dimensions are named, not compared', () => {
    const c = compareReports(
      report('a', [entry('dot', [row(0, { originSpanNs: figure(1) }), row(1, { originSpanNs: figure(2) })])]),
      report('b', [entry('dot', [row(0, { originSpanNs: figure(1) }), row(1, { originSpanNs: figure(2) }, 4096)])]),
    );
    expect(c.rows).toEqual({ common: 1, onlyA: 0, onlyB: 0, otherDims: 1 });
    expect(c.otherDims).toEqual([{ cell: 'published.dot.fp32', problem: 'published/1', a: 'N=2048', b: 'N=4096' }]);
    expect(c.pairs).toHaveLength(1);
  });

  it('that one bench lacks are named with what it says of them; so is what both lack', () => {
    const some = [row(0, { originSpanNs: figure(1) })];
    const refused = { outcome: 'wrong-result', reason: '2 of 15 elements beyond the limit' } as const;
    const a = report('a', [entry('one', some), entry('two', some), entry('four', [...some, row(1, {})])], {
      missing: [{ cell: 'published.three.fp32', reason: 'not run yet' }],
    });
    const b = report('b', [entry('two', [], refused), entry('three', some, { dtype: 'bf16' }), entry('four', some)], {
      missing: [
        { cell: 'published.three.fp32', reason: 'The GPU fell off the bus.' },
        { cell: 'profile.one.fp32.origin', reason: 'not run yet' },
      ],
    });
    const c = compareReports(a, b);
    expect(c.rows).toEqual({ common: 1, onlyA: 3, onlyB: 1, otherDims: 0 });
    expect(c.unpaired).toEqual([
      { cell: 'published.one.fp32', in: 'A', rows: 1, why: 'not part of this bench' },
      { cell: 'published.two.fp32', in: 'A', rows: 1, why: 'wrong-result: 2 of 15 elements beyond the limit' },
      { cell: 'published.four.fp32', in: 'A', rows: 1, why: 'it has other sizes of this cell' },
      { cell: 'published.three.bf16', in: 'B', rows: 1, why: 'not part of this bench' },
      { cell: 'published.three.fp32', in: 'neither', rows: 0, why: 'A: not run yet; B: The GPU fell off the bus.' },
    ]);
    expect(c.outcomes).toEqual([
      expect.objectContaining({ cell: 'published.two.fp32', a: 'valid', b: 'wrong-result' }),
    ]);
  });

  it('of one measurement that lies in both benches are no repetition of it', () => {
    const twice = entry('dot', [row(0, { originSpanNs: figure(100) })]);
    const again = (span: number) => entry('add', [row(0, { originSpanNs: figure(span) })]);
    const c = compareReports(report('a', [twice, again(10)]), report('b', [{ ...twice }, again(10)]));
    expect(c.sameMeasurement).toEqual([{ cell: 'published.dot.fp32', rows: 1 }]);
    expect(c.groups[0]).toMatchObject({ pairs: 1, without: [{ why: 'the same measurement in A and B', count: 1 }] });
    // Equal figures of another job are a repetition: a short kernel takes a whole number of the timer’s steps.
    expect(c.pairs.find((p) => p.task === 'add')?.ratio?.value).toBe(1);
  });

  it('of a candidate that is not right are not compared, whatever an older report holds', () => {
    const figures = { originSpanNs: figure(100), candidateSpanNs: figure(20), speedup: figure(5) };
    const side = (outcome: 'accepted' | 'suspect' | 'race') =>
      report(outcome, [entry('dot', [row(0, figures)], { candidate: 'one.cu', outcome })]);
    const c = compareReports(side('accepted'), side('suspect'));
    expect(pairOf(c, 'candidate-span')).toMatchObject({
      b: null,
      ratio: null,
      why: 'the candidate of B is not right: suspect',
    });
    expect(pairOf(c, 'candidate-speedup')?.ratio).toBeNull();
    expect(pairOf(c, 'origin-span')?.ratio?.value).toBe(1);
    const neither = compareReports(side('race'), side('suspect'));
    expect(neither.inNeither).toContain('candidate-speedup');
  });

  it('of different libraries are not compared, those of other candidates are, by name', () => {
    const figures = { originSpanNs: figure(100), librarySpanNs: figure(50), candidateSpanNs: figure(20) };
    const side = (title: string, candidate: string) =>
      report(title, [entry('dot', [row(0, figures)], { library: { title }, candidate, outcome: 'accepted' })]);
    const c = compareReports(side('CUB', 'one.cu'), side('Thrust', 'two.cu'));
    expect(pairOf(c, 'library-span')).toMatchObject({ ratio: null, why: 'different libraries: CUB in A, Thrust in B' });
    expect(pairOf(c, 'candidate-span')?.ratio?.value).toBe(1);
    expect(c.candidates).toEqual([{ cell: 'published.dot.fp32', a: 'one.cu', b: 'two.cu' }]);
  });
});

describe('summary', () => {
  // B/A of 13 sizes in two types, each figure known to a factor of 1.01: the ratio to exp(√2 · ln 1.01) = 1.014171.
  const ratios = [1, 1.005, 0.995, 1.02, 0.98, 1.04, 1.08, 0.9, 1.2, 1.09, 1.009, 1.012];
  const factors = { fp32: ratios, bf16: [2] };
  const side = (name: string, of: (factor: number) => number) =>
    report(
      name,
      (['fp32', 'bf16'] as const).map((dtype) =>
        entry(
          'dot',
          factors[dtype].map((factor, n) => row(n, { originSpanNs: figure(of(factor), 1.01) })),
          { dtype },
        ),
      ),
    );
  const c = compareReports(
    side('a', () => 100),
    side('b', (factor) => 100 * factor),
  );
  const group = (dtype: string | null) => c.groups.find((g) => g.dtype === dtype);

  it('counts what can be counted by hand', () => {
    expect(c.groups.map((g) => [g.sizes, g.dtype, g.quantity, g.pairs])).toEqual([
      ['published', 'fp32', 'origin-span', 12],
      ['published', 'bf16', 'origin-span', 1],
      ['published', null, 'origin-span', 13],
    ]);
    const fp32 = group('fp32');
    // Sorted: 0.9 0.98 0.995 1 1.005 1.009 | 1.012 1.02 1.04 1.08 1.09 1.2
    expect(fp32?.median).toBeCloseTo(Math.sqrt(1.009 * 1.012), 12);
    expect(group(null)?.median).toBeCloseTo(1.012, 12);
    // 0.98 is 1/1.0204, within 3 %; 0.9 is 1/1.111, not within 10 %.
    const counts = Object.fromEntries(fp32?.within.map(({ percent, count }) => [percent, count]) ?? []);
    expect(counts).toEqual({ 1: 4, 3: 7, 5: 8, 10: 10 });
    // Beyond a factor of 1.014171: 0.98 and 0.9 below; 1.02, 1.04, 1.08, 1.2 and 1.09 above.
    expect([fp32?.below, fp32?.above]).toEqual([2, 5]);
    // Own intervals meet up to 1.0201: 1, 1.005, 0.995, 1.02, 1.009, 1.012; 0.98 is 1/1.0204.
    expect(fp32?.overlapping).toBe(6);
    expect(fp32?.expectedByChance).toBeCloseTo(0.6, 12);
    expect(fp32?.levels).toEqual([0.95]);
  });

  it('names the ten that differ most in either direction, farthest first', () => {
    const factor = (p: Comparison['pairs'][number]) => Number(p.ratio?.value.toFixed(3));
    expect(group('fp32')?.farthest.map(factor)).toEqual([1.2, 0.9, 1.09, 1.08, 1.04, 0.98, 1.02, 1.012, 1.009, 0.995]);
    expect(group(null)?.farthest).toHaveLength(10);
    expect(group(null)?.farthest[0]?.dtype).toBe('bf16');
  });

  it('has a median that is the same whichever bench is A, and none of nothing', () => {
    expect(medianRatio([])).toBeNull();
    expect(medianRatio([4])).toBe(4);
    expect(medianRatio([4, 1])).toBe(2);
    expect(medianRatio([1, 1 / 4])).toBe(1 / 2);
  });

  it('as CSV has a line per pair, and empty fields where there is no ratio', () => {
    const mixed = compareReports(
      report('a', [entry('dot', [row(0, { originSpanNs: figure(100), originWrapperNs: figure(300) })])]),
      report('b', [entry('dot', [row(0, { originSpanNs: figure(120) })])]),
    );
    const lines = parse(comparisonCsv(mixed), { columns: true }) as Record<string, string>[];
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatchObject({ task: 'dot', dims: 'N=1024', quantity: 'origin-span', unit: 'ns', a: '100' });
    expect(lines[0]).toMatchObject({
      b: '120',
      ratio: '1.2',
      ratio_level: '0.95',
      verdict: 'slower',
      why_no_ratio: '',
    });
    expect(lines[1]).toMatchObject({
      b: '',
      ratio: '',
      ratio_lo: '',
      intervals_overlap: '',
      why_no_ratio: 'only in A',
    });
  });
});

describe('beside the figures', () => {
  it('stands what differs in the environment, and what one of them does not say', () => {
    const a = report('a', []);
    const b = report('b', [], {
      on: { driver: '590.1', gpu: { name: 'NVIDIA H200', uuid: 'GPU-two', cc: '9.0' } },
      clocks: null,
      outdated: ['published.dot.fp32'],
    });
    const { environment } = compareReports(a, b);
    const differing = Object.fromEntries(environment.filter((d) => !d.same).map((d) => [d.what, [d.a, d.b]]));
    expect(differing.driver).toEqual([['580.1'], ['590.1']]);
    expect(differing['GPU UUID']?.[1]).toEqual(['GPU-two (0 cells)']);
    expect(differing['SM clock while timing']).toEqual([['1980 MHz'], ['unknown']]);
    expect(differing['outdated cells']).toEqual([['none'], ['published.dot.fp32']]);
    // Neither says it: not known to be the same.
    expect(differing.ncu).toEqual([['unknown'], ['unknown']]);
    expect(environment.find((d) => d.what === 'nvcc')).toMatchObject({ same: true, a: ['13.0.88'] });
  });

  it('stands on which GPU each row was measured, as far as the reports say it', () => {
    const some = [row(0, { originSpanNs: figure(1) })];
    const on = (uuid: string) => ({ machine: { ...machine, gpu: { name: 'NVIDIA H200', uuid, cc: '9.0' } }, cells: 1 });
    const names = ['one', 'two', 'three'] as const;
    const a = report(
      'a',
      names.map((name, at) => entry(name, some, at < 2 ? { machine: at } : {})),
      { machines: [on('GPU-1'), on('GPU-2')] },
    );
    const b = report(
      'b',
      names.map((name) => entry(name, some)),
      { machines: [on('GPU-1')] },
    );
    const c = compareReports(a, b);
    expect(c.gpus).toEqual({ same: 1, other: 1, unknown: 1 });
    expect(c.pairs.map((p) => [p.gpus.a, p.gpus.b])).toEqual([
      ['GPU-1', 'GPU-1'],
      ['GPU-2', 'GPU-1'],
      [null, 'GPU-1'],
    ]);
  });

  it('stand the profiles whose class has changed', () => {
    const memory = { bottleneck: 'memory-bandwidth', why: 'SM 20.0 %, memory 80.0 %, DRAM 80.0 %' } as const;
    const a = report('a', [], { profiles: [profile('one'), profile('two'), profile('three'), profile('gone')] });
    const b = report('b', [], {
      profiles: [profile('one'), profile('two', memory), profile('three', { launchBound: true })],
    });
    const { profiles } = compareReports(a, b);
    expect(profiles).toMatchObject({ common: 3, onlyA: 1, onlyB: 0 });
    expect(profiles.changed.map((p) => [p.task, p.a.bottleneck, p.b.bottleneck, p.b.launchBound])).toEqual([
      ['two', 'compute', 'memory-bandwidth', false],
      ['three', 'compute', 'compute', true],
    ]);
  });

  it('a part can be asked for', () => {
    const some = [row(0, { originSpanNs: figure(1) })];
    const all = report('a', [entry('one', some), entry('two', some), entry('two', some, { dtype: 'bf16' })], {
      profiles: [profile('one'), profile('two')],
      missing: [{ cell: 'large.two.fp32', reason: 'not run yet' }],
      outdated: ['profile.two.fp32.origin', 'published.one.fp32'],
    });
    const part = narrowed(all, { tasks: ['two'], dtypes: ['fp32'], sizes: ['large'] });
    expect(part.entries).toEqual([]);
    expect(part.profiles.map((p) => p.task)).toEqual(['two']);
    expect([part.missing.length, part.outdated]).toEqual([1, ['profile.two.fp32.origin']]);
    expect(narrowed(all, {})).toEqual(all);
  });
});

describe('a report that is read', () => {
  const text = reportText(report('a', [entry('dot', [row(0, { originSpanNs: figure(1) })])]));
  const changed = (change: (value: Record<string, unknown>) => void): string => {
    const value = JSON.parse(text) as Record<string, unknown>;
    change(value);
    return JSON.stringify(value);
  };

  it('is refused by its name when it is none, damaged or newer', () => {
    const cases: [string, string, RegExp][] = [
      ['{', 'format.invalid', /^r\.json is no JSON/],
      ['null', 'format.invalid', /^r\.json is no report of a bench/],
      ['[]', 'format.invalid', /no report of a bench/],
      [changed((v) => Object.assign(v, { version: 99 })), 'format.newer', /^r\.json has format bench 99/],
      [changed((v) => Object.assign(v, { entries: 3 })), 'format.invalid', /^r\.json: .*expected array/s],
      [
        changed((v) => Object.assign(v, { entries: [(v.entries as object[])[0], (v.entries as object[])[0]] })),
        'format.invalid',
        /holds the cell published\.dot\.fp32 twice/,
      ],
    ];
    for (const [from, code, message] of cases)
      expect(() => parseReport('r.json', from)).toThrow(
        expect.objectContaining({ error: expect.objectContaining({ code, message: expect.stringMatching(message) }) }),
      );
    expect(parseReport('r.json', text).bench).toBe('a');
  });

  it('is what a bench writes: two of the laboratory differ within their noise, and no figure is lost', async () => {
    setResourceRoot(root);
    const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cm-compare-')));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const made = async (id: string) => {
      const config: BenchConfig = {
        ...report('', []).config,
        stages: ['published', 'profile'],
      };
      const cells = cellsOf(choose(root, { tasks: ['RELU'], dtypes: ['fp32'] }), config, []);
      const common = { format: 'cudamaster-bench', version: 1, createdAt: '2026-11-29T12:00:00.000Z' } as const;
      const bench: Bench = { ...common, id, programVersion: '0.1.0', rootSeed: 'ab', config, candidates: [], cells };
      const folder = new BenchFolder(join(dir, id));
      await folder.create(bench, new Map());
      await driveBench({
        root,
        folder,
        bench,
        executor: labExecutor,
        programVersion: '0.1.0',
        onProgress: () => {},
      });
      const results = await folder.results(cells);
      return reportOf({ bench, results, planner: new Planner(root, bench, folder), now: '2026-11-29T13:00:00.000Z' });
    };
    const [one, two] = [await made('one'), await made('two')];
    const read = parseReport('report.json', JSON.stringify(one));
    const c = compareReports(read, parseReport('report.json', JSON.stringify(two)));
    const rows = one.entries.flatMap((e) => e.rows);
    expect(rows.length).toBeGreaterThan(0);
    expect(c.rows).toEqual({ common: rows.length, onlyA: 0, onlyB: 0, otherDims: 0 });
    for (const quantity of ['origin-span', 'origin-wrapper', 'library-span', 'library-speedup'])
      expect([quantity, c.pairs.filter((p) => p.quantity === quantity && p.ratio !== null).length]).toEqual([
        quantity,
        rows.length,
      ]);
    expect(c.groups.every((g) => Math.abs((g.median ?? 0) - 1) < 0.01)).toBe(true);
    expect(c.profiles).toMatchObject({ common: 1, changed: [] });
    expect(c.gpus).toEqual({ same: rows.length, other: 0, unknown: 0 });
    expect(c.sameMeasurement).toEqual([]);
  });
});
