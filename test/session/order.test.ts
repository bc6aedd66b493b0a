import { describe, expect, it } from 'vitest';
import { newRootSeed, Prng } from '../../main/base/random.ts';
import { armIds, type SampleSet } from '../../main/contract/index.ts';
import { drawPositions } from '../../main/jobs/session/positions.ts';
import { centreOf, estimateR, median, smallestStep } from '../../main/jobs/session/time-estimate.ts';
import { blockCount, blockOrder, processOrder } from '../../main/jobs/session/time-order.ts';
import { WholeDraw } from '../../main/jobs/session/time-whole.ts';

describe('order of calls', () => {
  for (let k = 1; k <= armIds.length; k++) {
    const arms = armIds.slice(0, k);
    it(`goes forth and back over ${k} arms`, () => {
      const order = blockOrder(arms).map((s) => s.arm);
      expect(order).toEqual([...arms, ...[...arms].reverse()]);
    });

    it(`gives each of ${k} arms both contents once, and never the same twice running, over blocks too`, () => {
      const calls = [0, 1, 2].flatMap((block) =>
        blockOrder(arms).map((s) => ({ ...s, seed: `${block}/${s.content}` })),
      );
      for (let block = 0; block < 3; block++)
        for (const arm of arms) {
          const contents = calls.filter((c) => c.arm === arm && c.seed.startsWith(`${block}/`)).map((c) => c.content);
          expect([...contents].sort()).toEqual([0, 1]);
        }
      for (let i = 1; i < calls.length; i++) expect(calls[i]?.seed).not.toBe(calls[i - 1]?.seed);
    });
  }

  it('keeps the order it is given', () => {
    expect(blockOrder(['C', 'O', 'B']).map((s) => s.arm)).toEqual(['C', 'O', 'B', 'B', 'O', 'C']);
  });

  it('spreads solo processes among the full ones', () => {
    expect(processOrder(3, 2)).toEqual(['solo', 'full', 'solo', 'full', 'full']);
    expect(processOrder(2, 0)).toEqual(['full', 'full']);
    expect(processOrder(1, 1).sort()).toEqual(['full', 'solo']);
    for (const [full, solo] of [
      [5, 3],
      [1, 4],
      [6, 2],
    ] as const) {
      const order = processOrder(full, solo);
      expect(order.filter((k) => k === 'full')).toHaveLength(full);
      expect(order.filter((k) => k === 'solo')).toHaveLength(solo);
    }
  });

  it('fits the number of blocks to the budget', () => {
    const limits = { min: 4, max: 30, budgetMs: 60 };
    expect(blockCount(1e6, 0, 3, limits)).toBe(10);
    expect(blockCount(1e6, 5e6, 3, limits)).toBe(6); // the judge is slower
    expect(blockCount(1e3, 1e3, 3, limits)).toBe(30);
    expect(blockCount(1e9, 0, 3, limits)).toBe(4);
  });
});

const set = (arms: SampleSet['arms'], extra: Partial<SampleSet> = {}): SampleSet => ({
  process: 0,
  kind: 'full',
  problem: 0,
  quantity: 'span',
  blocks: 2,
  arms,
  ...extra,
});

describe('point estimate of R', () => {
  it('is the weighted speed-up of the candidate over that of the best', () => {
    const samples = [
      set({ O: [100, 100], B: [50, 50], C: [40, 40] }),
      set({ O: [300, 300], B: [300, 300], C: [100, 100] }, { problem: 1 }),
    ];
    // S(C) = 2.5, 3; S(B) = 2, 1; weights 1, 3
    expect(estimateR(samples, [1, 3])).toBeCloseTo((2.5 + 9) / (2 + 3), 12);
  });

  it('takes origin for the best where there is no other, and ignores solo processes and wrapper times', () => {
    const samples = [
      set({ O: [100, 104, 96], C: [50, 52, 48] }),
      set({ O: [1] }, { kind: 'solo' }),
      set({ O: [7], C: [7] }, { quantity: 'wrapper' }),
    ];
    expect(estimateR(samples, [1])).toBeCloseTo(2, 12);
  });

  it('is null when anything is missing, never zero', () => {
    expect(estimateR([set({ O: [100], C: [null, null] })], [1])).toBeNull();
    expect(estimateR([set({ O: [100], C: [50] })], [1, 1])).toBeNull();
    expect(estimateR([set({ O: [100] })], [1])).toBeNull();
    expect(centreOf([set({ O: [1] }), set({ O: [null] }, { process: 1 })], 'O', 0, 'span')).toBeNull();
    expect(median([])).toBeNull();
  });

  it('gives each process the same say', () => {
    const samples = [
      set({ O: [10, 10, 10, 10, 10] }),
      set({ O: [20] }, { process: 1 }),
      set({ O: [30] }, { process: 2 }),
    ];
    expect(centreOf(samples, 'O', 0, 'span')).toBe(20);
  });

  it('finds the timer step in the values', () => {
    expect(smallestStep([96, 32, 160, 32, 128])).toBe(32);
    expect(smallestStep([5, 5])).toBeNull();
  });
});

describe('draws', () => {
  it('takes exactly one call, each with the same chance', () => {
    const random = new Prng(newRootSeed());
    const hits = new Array<number>(8).fill(0);
    for (let run = 0; run < 8000; run++) {
      const draw = new WholeDraw(random);
      draw.expect('C', 3, 8);
      const taken = hits.map((_, i) => (draw.takes('C', 3) ? i : -1)).filter((i) => i >= 0);
      expect(taken).toHaveLength(1);
      hits[taken[0] as number] = (hits[taken[0] as number] as number) + 1;
    }
    // 1000 expected each, standard deviation 30: six of them
    for (const n of hits) expect(Math.abs(n - 1000)).toBeLessThan(180);
  });

  it('looks at positions within the buffer, always at the last one, at all of a small buffer', () => {
    const random = new Prng(newRootSeed());
    const some = drawPositions(random, 1000, 16);
    expect(some).toHaveLength(16);
    expect([...some].every((p) => p >= 0n && p < 1000n)).toBe(true);
    expect(some[15]).toBe(999n);
    expect([...drawPositions(random, 3, 16)]).toEqual([0n, 1n, 2n]);
    expect([...drawPositions(random, 10, 1)].every((p) => p < 10n)).toBe(true);
  });
});
