import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { judgeProgram, newFolder, runnerProgram } from './build.ts';
import { Program } from './client.ts';
import { modelValue, roundToBf16, values } from './model.ts';

const seed = '0123456789abcdef';
const count = 4000;
const kinds = [
  'uniform -1 1',
  'uniform 0.1 0.30000000000000004',
  'wide -20 20',
  'wide -150 -120',
  'wide 120 130',
  'levels -1 1 7',
  'levels 2.5 9 1',
  'zeros',
  'int -7 1000',
  'offsets 3999 123457 even 16',
  'offsets 3999 123457 skewed 16',
  'rows 77 4000 even 16 sorted',
  'rows 500 4000 even 16 shuffled',
  'rows 501 4000 skewed 16 shuffled',
  'ell 571 3001 7 mixed 16 int 0 1000',
  'ell 571 3001 7 mixed 16 uniform -1 1',
  'ell 571 3001 7 skewed 5 wide -20 20',
];
const integral = (kind: string): boolean => /^(int|offsets|rows)|^ell .* int /.test(kind);

/** One buffer of each kind and storage, ordinals in order. */
const buffers = kinds.flatMap((kind) =>
  (['f32', 'bf16', ...(integral(kind) ? ['i32'] : [])] as ('f32' | 'bf16' | 'i32')[]).map((elem) => ({ kind, elem })),
);
const problem = [
  'guarded',
  'dims N=4000',
  ...buffers.map(({ kind, elem }, i) => `buf b${i} in ${elem} ${count} ${i} ${kind}`),
].join('\n');

describe('generators', () => {
  const dir = newFolder();
  let runner: Program;
  let judge: Program;
  beforeAll(async () => {
    runner = await Program.start(runnerProgram('host'), dir);
    judge = await Program.start(judgeProgram(), dir);
    await runner.ok('hello');
    await runner.ok('problem', problem);
    await judge.ok('problem', problem);
    await runner.ok('prepare', `${seed} none`);
  }, 300_000);
  afterAll(async () => {
    await runner?.quit();
    await judge?.quit();
  });

  const round = { f32: Math.fround, bf16: roundToBf16, i32: (v: number) => v };

  it.each(buffers.map((b, i) => [`${b.kind} as ${b.elem}`, i] as const))('%s', async (_, i) => {
    const { kind, elem } = buffers[i] as (typeof buffers)[number];
    await runner.ok('dump', `${i} r${i}`);
    await judge.ok('input', `${seed} ${i} j${i}`);
    const fromRunner = readFileSync(join(dir, `r${i}`));
    expect(fromRunner.equals(readFileSync(join(dir, `j${i}`)))).toBe(true);
    const got = values(fromRunner, elem);
    const want = got.map((__, k) => round[elem](modelValue(kind, BigInt(`0x${seed}`), i, k)));
    const different = got.findIndex((v, k) => !Object.is(v, want[k]));
    expect({ different, got: got[different], want: want[different] }).toEqual({ different: -1 });
  });

  it('offsets start at 0 and end at NNZ; skewed rows are empty but for every 16th', () => {
    const index = buffers.findIndex((b) => b.kind.includes('skewed') && b.elem === 'i32');
    const offsets = values(readFileSync(join(dir, `r${index}`)), 'i32');
    expect([offsets[0], offsets.at(-1)]).toEqual([0, 123457]);
    const filled = offsets.slice(1).flatMap((v, row) => (v > (offsets[row] as number) ? [row % 16] : []));
    expect(new Set(filled)).toEqual(new Set([0]));
  });

  it('shuffled rows hold the entries that offsets say; buffers of an ELL matrix agree on its places, NNZ in all', () => {
    const read = (start: string): number[] =>
      values(
        readFileSync(join(dir, `r${buffers.findIndex((b) => b.kind.startsWith(start) && b.elem !== 'bf16')}`)),
        'f32',
      );
    const shuffled = read('rows 500');
    expect([...shuffled].sort((a, b) => a - b)).toEqual(shuffled.map((_, i) => Math.floor(i / 8)));
    expect(shuffled.filter((row, i) => row <= (shuffled[i + 1] as number)).length).toBeLessThan(2300);
    const [columns, entries] = [read('ell 571 3001 7 mixed 16 int'), read('ell 571 3001 7 mixed 16 uniform')];
    const filled = (list: number[], empty: number): number[] =>
      list.slice(0, 571 * 7).flatMap((v, i) => (v === empty ? [] : [i]));
    expect(filled(columns, -1)).toEqual(filled(entries, 0));
    const lengths = Array.from({ length: 571 }, (_, r) => columns.slice(r * 7, r * 7 + 7).filter((v) => v >= 0).length);
    expect(lengths.reduce((a, b) => a + b)).toBe(3001);
    expect(new Set(lengths)).toEqual(new Set([3, 4, 5, 6, 7]));
  });

  it('other seeds and ordinals give other values', async () => {
    await judge.ok('input', `fedcba9876543210 0 other-seed`);
    await judge.ok('problem', `guarded\nbuf a in f32 ${count} 5 uniform -1 1`);
    await judge.ok('input', `${seed} 0 other-ordinal`);
    const [a, b, c] = ['j0', 'other-seed', 'other-ordinal'].map((n) => values(readFileSync(join(dir, n)), 'f32'));
    const same = (x?: number[], y?: number[]): number => (x ?? []).filter((v, i) => v === y?.[i]).length;
    expect(same(a, b)).toBeLessThan(3);
    expect(same(a, c)).toBeLessThan(3);
  });
});
