import { describe, expect, it } from 'vitest';
import {
  clearlyWrong,
  load,
  mutate,
  type mutations,
  nextDown,
  nextUp,
  type Right,
  roundTo,
  store,
  tailLength,
  truncateTo,
} from './mutate.ts';

const stored = (elem: Right['elem'], values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * (elem === 'bf16' ? 2 : 4));
  values.forEach((value, i) => {
    store(elem, bytes, i, value);
  });
  return bytes;
};
const values = (elem: Right['elem'], bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / (elem === 'bf16' ? 2 : 4) }, (_, i) => load(elem, bytes, i));

describe('formats', () => {
  it('round once, to nearest even', () => {
    expect(roundTo(1 + 2 ** -8, 8)).toBe(1);
    expect(roundTo(1 + 3 * 2 ** -8, 8)).toBe(1 + 2 ** -6);
    expect(roundTo(-(1 + 2 ** -8 + 2 ** -30), 8)).toBe(-(1 + 2 ** -7));
    expect(roundTo(2 - 2 ** -20, 8)).toBe(2);
    expect(roundTo(2 ** -140, 8)).toBe(0);
    expect(roundTo(3 * 2 ** -133, 8)).toBe(3 * 2 ** -133);
    expect(truncateTo(2 - 2 ** -20, 8)).toBe(2 - 2 ** -7);
    expect(truncateTo(-1.999, 5)).toBe(-1.9375);
  });

  it('store and load', () => {
    expect(values('bf16', stored('bf16', [1.00390625, -0, 3e38, 1e39]))).toEqual([1, -0, roundTo(3e38, 8), Infinity]);
    expect(values('i32', stored('i32', [-7, 2 ** 31]))).toEqual([-7, 2 ** 31 - 1]);
    expect(values('f32', stored('f32', [0.1]))).toEqual([Math.fround(0.1)]);
  });

  it('step to the neighbours', () => {
    expect(nextUp('f32', 1)).toBe(1 + 2 ** -23);
    expect(nextUp('bf16', 1)).toBe(1 + 2 ** -7);
    expect(nextUp('bf16', -1)).toBe(-(1 - 2 ** -8));
    expect(nextDown('f32', 1)).toBe(1 - 2 ** -24);
    expect(nextUp('f32', -0)).toBe(2 ** -149);
    expect(nextUp('i32', -1)).toBe(0);
  });
});

describe('mutations', () => {
  const numbers = Array.from({ length: 600 }, (_, i) => Math.sin(i + 1) + 2);
  const right = (elem: 'f32' | 'bf16'): Right => ({
    elem,
    bytes: stored(elem, numbers),
    wide: elem === 'bf16' ? stored('f32', numbers) : null,
    other: stored(elem, [...numbers].reverse()),
    position: 17,
    beyond: 9,
  });

  it.each(['f32', 'bf16'] as const)('of %s change what they name and nothing else', (elem) => {
    const at = right(elem);
    const before = values(elem, at.bytes);
    const differing = (id: (typeof mutations)[number]['id']): number[] => {
      const after = values(elem, mutate(id, at));
      return before.flatMap((value, i) => (value === after[i] ? [] : [i]));
    };
    const tail = Array.from({ length: 256 }, (_, i) => 344 + i);
    expect(differing('zero').length).toBe(600);
    expect(differing('one-wrong')).toEqual([17]);
    expect(differing('one-beyond')).toEqual([17]);
    expect(differing('tail-poison')).toEqual(tail);
    expect(differing('tail-zero')).toEqual(tail);
    expect(values(elem, mutate('neighbour', at))).toEqual([...before.slice(1), before[0]]);
    expect(values(elem, mutate('stale', at))).toEqual([...before].reverse());
    expect(differing('coarse').length).toBeGreaterThan(200);
    expect(differing('coarser').length).toBeGreaterThan(400);
    expect(values(elem, at.bytes)).toEqual(before);
  });

  it('cut, do not round, the results of bf16', () => {
    const cut = values('bf16', mutate('coarse', right('bf16')));
    cut.forEach((value, i) => {
      expect(value).toBe(truncateTo(Math.fround(numbers[i] as number), 8));
    });
  });

  it('know short outputs and clear errors', () => {
    expect([1, 2, 3, 511, 512, 100000].map(tailLength)).toEqual([1, 1, 1, 255, 256, 256]);
    for (const value of [0, 1, -1, 1e6, -1e-6])
      expect(Math.abs(clearlyWrong('f32', value) - value)).toBeGreaterThanOrEqual(1);
    expect(clearlyWrong('i32', 5)).not.toBe(5);
  });
});
