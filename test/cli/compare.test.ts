/** `bench compare` at the command line: what it prints, what it writes, what it refuses. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { entry, figure, profile, report, reportText, row } from '../bench/reports.ts';
import { inProcess } from './program.ts';

const home = mkdtempSync(join(tmpdir(), 'cm-compare-'));
const before = 'bench-261129-1200-aaaa';
const after = 'bench-261129-1300-bbbb';
const folder = (id: string): string => join(home, 'data', 'bench', id);

const sizes = (factor: number) =>
  [0, 1, 2].map((n) =>
    row(n, {
      originSpanNs: figure(1e4 * (n + 1) * factor ** n, 1.01),
      originWrapperNs: figure(2e4 * (n + 1), 1.2),
      librarySpanNs: figure(5e3 * (n + 1), 1.02),
      librarySpeedup: figure(2 * factor ** n, 1.02),
    }),
  );
const cublas = { library: { title: 'cuBLAS' } };
const long = { dims: { first_dimension: 1_048_576, second_dimension: 1_048_576, third_dimension: 1_048_576 } };

/** A bench in the data folder as `bench` would have left it. */
function keep(id: string, text: string | null): void {
  mkdirSync(folder(id), { recursive: true });
  writeFileSync(join(folder(id), 'bench.json'), '{}');
  if (text !== null) writeFileSync(join(folder(id), 'report.json'), text);
}

beforeAll(() => {
  vi.stubEnv('CUDAMASTER_HOME', home);
  const a = report(
    before,
    [
      entry('dot_product', sizes(1), cublas),
      entry('dot_product', sizes(1), { ...cublas, dtype: 'bf16' }),
      entry('high_order_contraction', [{ ...row(0, { originSpanNs: figure(1e6, 1.3) }), ...long }]),
      entry('softmax', sizes(1)),
    ],
    { profiles: [profile('dot_product')] },
  );
  const b = report(
    after,
    [
      entry('dot_product', sizes(1.1), cublas),
      entry('dot_product', sizes(1), { ...cublas, dtype: 'bf16' }),
      entry('high_order_contraction', [{ ...row(0, { originSpanNs: figure(1.1e6, 1.3) }), ...long }]),
    ],
    {
      profiles: [profile('dot_product', { bottleneck: 'memory-latency', why: 'SM 5.0 %, memory 5.0 %, DRAM 5.0 %' })],
      missing: [{ cell: 'published.softmax.fp32', reason: 'not run yet' }],
      on: { driver: '590.44' },
    },
  );
  keep(before, reportText(a));
  keep(after, reportText(b));
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

it('shows ratios with intervals, what differs around them, and what only one bench has, in 100 columns', async () => {
  const ran = await inProcess('bench', 'compare', folder(before), 'last');
  expect([ran.code, ran.err]).toEqual([0, '']);
  const lines = ran.out.split('\n');
  for (const line of lines.slice(2)) expect([line.length <= 100, line]).toEqual([true, line]);
  expect(ran.out).toMatch(/^ {2}driver +580\.1 +590\.44$/m);
  expect(ran.out).toContain('Rows: 7 in both, 3 only in A, 0 only in B, 0 of other dimensions');
  expect(ran.out).toContain('compared rows: 7 on one GPU in both, 0 on two\n');
  expect(ran.out).toMatch(/only in A: 1 cell \(B: not run yet\): published\.softmax\.fp32/);
  expect(ran.out).toMatch(/^ {2}published sizes +type +pairs +median +≤1 %/m);
  // Quantity, type, pairs, median, within 1, 3, 5, 10 %, overlap, below, above, chance.
  expect(ran.out).toMatch(/^ {2}origin GPU span +fp32 +4 +1\.1000 +1 +1 +1 +3 +2 +0 +2 +0\.2$/m);
  expect(ran.out).toMatch(/^ {2}origin GPU span +bf16 +3 +1\.0000 +3 +3 +3 +3 +3 +0 +0 +0\.2$/m);
  expect(ran.out).toMatch(/^ {2}origin GPU span +all +7 /m);
  expect(ran.out).toMatch(
    /^ {2}dot_product +fp32 +#2 N=4096 +30\.00 µs +36\.30 µs +1\.2100 \[1\.1931, 1\.2271\] +slower$/m,
  );
  expect(ran.out).toMatch(
    /^ {2}high_order_contraction .*… {2}1\.000 ms +1\.100 ms +1\.1000 \[0\.7590, 1\.5942\] +same$/m,
  );
  expect(ran.out).toContain('In neither bench: candidate span, candidate speed-up.');
  expect(ran.out).toContain('dot_product fp32 origin (large): compute → memory-latency');
});

it('as JSON Lines has every pair before the result; as CSV likewise; a part can be asked for', async () => {
  const csv = join(home, 'pairs.csv');
  const only = ['--dtype', 'fp32', '--task', 'dot_product', '--sizes', 'published'];
  const ran = await inProcess('bench', 'compare', before, after, '--csv', csv, '--json', ...only);
  expect([ran.code, ran.err]).toEqual([0, '']);
  const lines = ran.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(ran.last).toMatchObject({
    format: 'cudamaster-bench-comparison',
    a: { bench: before },
    b: { bench: after },
    rows: { common: 3, onlyA: 0 },
    files: [csv],
  });
  expect(ran.last.pairs).toBeUndefined();
  const pairs = lines.slice(0, -1);
  expect(pairs).toHaveLength(12);
  expect(pairs.every((p) => p.type === 'pair' && p.task === 'dot_product' && p.dtype === 'fp32')).toBe(true);
  const rows = parse(readFileSync(csv, 'utf8'), { columns: true }) as Record<string, string>[];
  expect(rows.map((r) => [r.problem, r.quantity, Number(r.ratio)])).toEqual(
    pairs.map((p) => [p.problem, p.quantity, p.ratio.value]),
  );
});

it('refuses what cannot be compared, by name, with cause and remedy', async () => {
  keep('bench-261129-1100-cccc', null);
  const file = (name: string, text: string): string => {
    const path = join(home, name);
    writeFileSync(path, text);
    return path;
  };
  const text = readFileSync(join(folder(before), 'report.json'), 'utf8');
  const newer = file('newer.json', text.replace('"version":1', '"version":9'));
  const other = file('other.json', reportText(report('other', [entry('RELU', sizes(1))])));
  const cases: [string[], number, RegExp, RegExp][] = [
    [['nobody', before], 7, /There is no bench "nobody"/, /report\.json/],
    [['cccc', before], 7, /The bench in .*cccc has no report yet/, /cudamaster bench resume/],
    [[before, newer], 2, /newer\.json has format bench 9; this program knows it up to 1/, /Update/],
    [[before, file('text.json', 'words')], 2, /text\.json is no JSON/, /report\.json/],
    [[join(folder(before), 'bench.json'), before], 2, /bench\.json is no report of a bench/, /its folder/],
    [[before, other], 2, /no row in common: A has 10, B has 3/, /Measure the same/],
    [[before, after, '--sizes', 'large', '--dtype', 'bf16'], 2, /no row in common: A has 0, B has 0/, /Measure/],
    [[before, before], 2, /All 10 rows .* are the same measurement/, /another run/],
    [['', before], 2, /The name of a bench is empty/, /Give/],
    [[before, after, '--task', 'nobody'], 2, /anything of a task "nobody"/, /They have: dot_product/],
    [[before, after, '--profile'], 2, /no option --profile/, /--help/],
    [[before, after, '--csv', home], 2, /is a folder/, /^$/],
  ];
  for (const [args, code, message, remedy] of cases) {
    const ran = await inProcess('bench', 'compare', ...args, '--json');
    const error = ran.last.error as { message: string; remedy?: string };
    expect([args, ran.code]).toEqual([args, code]);
    expect(error.message).toMatch(message);
    expect(error.remedy ?? '').toMatch(remedy);
    expect(ran.out.trimEnd().split('\n')).toHaveLength(1);
  }
});
