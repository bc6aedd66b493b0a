import { describe, expect, test } from 'vitest';
import { Prng } from '../../main/base/random.ts';
import { bootstrapInterval, type Cut, otsu } from '../../main/profile/otsu.ts';

const generator = (seed: string) => {
  const prng = new Prng(seed);
  return () => prng.next();
};
const cut = (values: readonly number[]): Cut => {
  const found = otsu(values);
  if (!found.available) throw new Error(found.reason);
  return found;
};

/** Every split into "the k smallest" and the rest between different values, compared in whole numbers: values are tenths. */
function bruteForce(tenths: readonly number[]) {
  const sorted = tenths.toSorted((a, b) => a - b);
  const n = sorted.length;
  const sum = (part: readonly number[]) => part.reduce((a, b) => a + b, 0);
  const cuts = sorted.slice(1).flatMap((above, i) => {
    const [below, k] = [sorted[i] as number, i + 1];
    // between-class variance · n² = (n·S_k − k·S)² / (k (n − k))
    const top = BigInt(n * sum(sorted.slice(0, k)) - k * sum(sorted)) ** 2n;
    return above > below ? [{ k, below, above, top, bottom: BigInt(k * (n - k)) }] : [];
  });
  const best = cuts.filter((a) => cuts.every((b) => a.top * b.bottom >= b.top * a.bottom));
  const widest = Math.max(...best.map(({ above, below }) => above - below));
  const chosen = best.find(({ above, below }) => above - below === widest);
  return chosen && { ...chosen, tied: best.length };
}

/** η by its definition: n₀n₁(μ₁ − μ₀)² / (n Σ(x − μ)²). */
function separability(values: readonly number[], threshold: number): number {
  const mean = (part: readonly number[]) => part.reduce((a, b) => a + b, 0) / part.length;
  const low = values.filter((value) => value <= threshold);
  const high = values.filter((value) => value > threshold);
  const spread = values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0);
  return (low.length * high.length * (mean(high) - mean(low)) ** 2) / values.length / spread;
}

describe('threshold', () => {
  test('equals the best of all splits, in whole numbers, on random sets: value, classes, ties', () => {
    const prng = new Prng('otsu');
    let ties = 0;
    for (let round = 0; round < 2000; round++) {
      const coarse = prng.pick([1, 50, 250, 500]); // coarse values repeat, and tie
      const n = prng.int(2, round % 10 === 0 ? 60 : 9);
      const tenths = Array.from({ length: n }, () => coarse * prng.int(0, Math.floor(1000 / coarse)));
      const values = tenths.map((tenth) => tenth / 10);
      const want = bruteForce(tenths);
      const got = otsu(values);
      if (want === undefined) {
        expect(got.available).toBe(false);
        continue;
      }
      if (want.tied > 1) ties++;
      expect(got).toMatchObject({
        available: true,
        gap: [want.below / 10, want.above / 10],
        low: want.k,
        high: n - want.k,
        tied: want.tied,
      });
      const { threshold, eta } = got as Cut;
      expect(threshold).toBeCloseTo((want.below + want.above) / 20, 9);
      expect(values.filter((value) => value > threshold)).toHaveLength(n - want.k); // the verdict's rule
      expect(eta).toBeCloseTo(separability(values, threshold), 9);
    }
    expect(ties).toBeGreaterThan(100);
  });

  test('two groups: the middle of the gap between them', () => {
    expect(cut([80, 5, 82, 10, 78, 8])).toMatchObject({ threshold: 44, gap: [10, 78], low: 3, high: 3, tied: 1 });
    expect(cut([80, 5, 82, 10, 78, 8]).eta).toBeGreaterThan(0.99);
  });

  test('finer than bins: 30.1 and 30.9 lie in one bin of whole percents, and are two classes', () => {
    expect(cut([30.1, 30.1, 30.9, 30.9])).toMatchObject({ gap: [30.1, 30.9], low: 2, high: 2, eta: 1 });
  });

  test('ties: the widest gap, then the lowest; said', () => {
    expect(cut([0, 1, 2])).toMatchObject({ threshold: 0.5, tied: 2 });
    expect(cut([0, 50, 100])).toMatchObject({ threshold: 25, tied: 2, eta: 0.75 });
  });

  test('two values have η 1, whatever they are: η alone proves nothing', () => {
    expect(cut([29.9, 30.1])).toMatchObject({ eta: 1, low: 1, high: 1 });
  });

  test('neighbouring floating-point numbers still split', () => {
    const [below, above] = [1 + Number.EPSILON, 1 + 2 * Number.EPSILON];
    const { threshold } = cut([below, above]);
    expect([below > threshold, above > threshold]).toEqual([false, true]);
  });

  test.each([1e-200, 1, 1e200])('scale %d does not matter', (scale) => {
    const values = [1, 2, 3, 40, 41, 42, 43];
    const found = cut(values.map((value) => value * scale));
    expect(found.low).toBe(3);
    expect(found.eta).toBeCloseTo(cut(values).eta, 12);
  });

  test('one value far out makes a class of its own, with a high η', () => {
    const values = [...Array.from({ length: 24 }, (_, i) => 5 + i / 10), 95];
    expect(cut(values)).toMatchObject({ low: 24, high: 1 });
    expect(cut(values).eta).toBeGreaterThan(0.9);
  });

  test.each([
    [[], /0 values/],
    [[30], /1 values/],
    [[7, 7, 7], /all 3 values are 7/],
    [[0, 0], /all 2 values are 0/],
    [[1, Number.NaN], /NaN is not a percentage/],
    [[1, Number.POSITIVE_INFINITY], /Infinity/],
    [[1, -2], /-2 is not/],
  ])('none for %j', (values, reason) => {
    const found = otsu(values);
    expect(found).toEqual({ available: false, reason: expect.stringMatching(reason) });
    expect(bootstrapInterval(values, Math.random)).toEqual(found);
  });

  test('one peak: η stays under 0.8 (uniform 0.75, normal 2/π)', () => {
    const grid = Array.from({ length: 1001 }, (_, i) => i / 10);
    expect(cut(grid).eta).toBeCloseTo(0.75, 3);
    const random = generator('normal');
    const normal = Array.from({ length: 4000 }, () => {
      let sum = 0;
      for (let i = 0; i < 12; i++) sum += random();
      return 50 + 8 * (sum - 6);
    });
    expect(cut(normal).eta).toBeCloseTo(2 / Math.PI, 1);
  });
});

describe('bootstrap interval', () => {
  const two = [2, 4, 5, 7, 9, 11, 12, 15, 60, 64, 66, 70, 71, 75, 80, 88];

  test('is what drawing each resample as a list and cutting it gives', () => {
    const resamples = 400;
    const random = generator('same stream');
    const thresholds = Array.from({ length: resamples }, () => {
      const sorted = two.toSorted((a, b) => a - b);
      return cut(sorted.map(() => sorted[Math.floor(random() * sorted.length)] as number)).threshold;
    }).sort((a, b) => a - b);
    expect(bootstrapInterval(two.toReversed(), generator('same stream'), { resamples, level: 0.9 })).toEqual({
      available: true,
      low: thresholds[19], // floor(0.05 · 399)
      high: thresholds[380], // ceil(0.95 · 399)
      level: 0.9,
      resamples,
    });
  });

  test('same generator, same interval; another, nearly the same', () => {
    const [a, b, c] = ['a', 'a', 'b'].map((seed) => bootstrapInterval(two, generator(seed)));
    expect(a).toEqual(b);
    if (!a?.available || !c?.available) throw new Error('no interval');
    expect(Math.abs(a.low - c.low) + Math.abs(a.high - c.high)).toBeLessThan(4);
    expect(a.low).toBeLessThanOrEqual(cut(two).threshold);
    expect(a.high).toBeGreaterThanOrEqual(cut(two).threshold);
  });

  test('a class of few values is missed by many resamples: no interval, or a wide one', () => {
    const alone = bootstrapInterval([...Array.from({ length: 24 }, () => 5), 95], generator('alone'));
    expect(alone).toEqual({ available: false, reason: expect.stringMatching(/\d+ of 2000 resamples held one value/) });
    const low = Array.from({ length: 24 }, (_, i) => 5 + i / 4);
    for (const high of [[95], [94, 95], [93, 94, 95]]) {
      const found = bootstrapInterval([...low, ...high], generator('few'));
      expect(found.available && found.high - found.low).toBeGreaterThan(30);
    }
  });

  test.each([1, -0.1, Number.NaN])('a generator that gives %d is a bug, and is named', (bad) => {
    expect(() => bootstrapInterval(two, () => bad)).toThrow(RangeError);
  });
});
