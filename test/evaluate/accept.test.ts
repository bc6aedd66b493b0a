import { describe, expect, test } from 'vitest';
import type { ArmId, TimeResult } from '../../main/contract/index.ts';
import { alphaFor, decide } from '../../main/evaluate/accept.ts';
import { floorNs } from '../../main/evaluate/floor.ts';
import { figuresInput, gpu, peaks, timeResult } from './fakes.ts';
import { baseTime, type Noise, simulate } from './noise.ts';

const noise: Noise = {
  processes: 3,
  solo: 2,
  problems: 4,
  blocks: 15,
  call: 0.01,
  tail: 0.03,
  drift: 0.003,
  process: 0.002,
  step: 32,
};
/** Origin three times as slow as the best; the candidate's time over the best's per size. */
const truth = (slower: (i: number) => number) => (arm: ArmId, i: number) =>
  baseTime(i) * (arm === 'O' ? 3 : arm === 'B' ? 1 : slower(i));
const run = (slower: (i: number) => number, over: Partial<TimeResult> = {}, seed = 'a', shape = noise) =>
  timeResult(simulate(shape, truth(slower), seed), over);

describe('acceptance', () => {
  test('clearly faster: accepted, with figures from this sample', () => {
    const { outcome, reason, figures } = decide(
      figuresInput(
        run(() => 0.8),
        4,
      ),
      1,
    );
    expect(outcome, reason).toBe('accepted');
    expect(figures?.phase).toBe('confirm');
    expect(figures?.ratio?.value).toBeCloseTo(1.25, 1);
    expect(figures?.score?.value).toBeCloseTo(3.75, 1);
    expect(figures?.score?.lo).toBeLessThan(figures?.score?.value ?? 0);
    expect(figures?.pMin).toBeLessThanOrEqual(figures?.geomean ?? 0);
    expect(figures?.sizes).toHaveLength(4);
    expect(figures?.processes).toBe(3);
    expect(figures?.sizes[3]?.originSpanNs?.value).toBeCloseTo(240_000, -4);
    expect(reason).toMatch(/R = 1\.\d+x .* lower 99\.0 % bound 1\.\d+x > 1\.01/);
  });

  test('the same, faster by less than the margin, slower: not faster', () => {
    for (const slower of [1, 0.996, 1.05]) {
      const { outcome, reason } = decide(
        figuresInput(
          run(() => slower),
          4,
        ),
        1,
      );
      expect(outcome, reason).toBe('not-faster');
      expect(reason).toMatch(/R = /);
    }
  });

  test('many candidates tried: a gain that one would be granted is refused', () => {
    const time = run(() => 1 / 1.035);
    expect(decide(figuresInput(time, 4), 1).outcome).toBe('accepted');
    expect(decide(figuresInput(time, 4), 500).outcome).toBe('not-faster');
    expect(alphaFor(1)).toBe(0.01);
    expect(alphaFor(10)).toBeCloseTo(0.001, 15);
    expect(alphaFor(0)).toBe(0.01);
  });

  test('faster overall, one size clearly slower: trade-off that names the size', () => {
    const { outcome, reason } = decide(
      figuresInput(
        run((i) => (i === 0 ? 1.4 : 0.7)),
        4,
      ),
      1,
    );
    expect(outcome).toBe('trade-off');
    expect(reason).toContain('large/0');
  });

  test('a small size slower within 5 % or noise: accepted', () => {
    expect(
      decide(
        figuresInput(
          run((i) => (i === 0 ? 1.03 : 0.7)),
          4,
        ),
        1,
      ).outcome,
    ).toBe('accepted');
  });

  test('shorter span but callers wait longer: not accepted', () => {
    const time = run(() => 0.8);
    for (const set of time.samples)
      if (set.quantity === 'wrapper' && set.arms.C) set.arms.C = set.arms.C.map((t) => (t as number) * 1.6);
    const { outcome, reason } = decide(figuresInput(time, 4), 1);
    expect(outcome).toBe('not-faster');
    expect(reason).toMatch(/callers wait longer/);
  });

  test('no best yet: R is P', () => {
    const samples = simulate(
      noise,
      truth(() => 0.8),
      'nb',
      ['O', 'C'],
    );
    const { outcome, figures } = decide(figuresInput(timeResult(samples), 4, { hasBest: false }), 1);
    expect(outcome).toBe('accepted');
    expect(figures?.ratio?.value).toBeCloseTo(figures?.score?.value ?? 0, 10);
    expect(figures?.sizes[0]?.bestSpanNs).toBeNull();
  });
});

describe('what must never be accepted', () => {
  test('origin slower beside the candidate than alone: interference', () => {
    const time = run(() => 0.8);
    for (const set of time.samples) if (set.kind === 'full') set.arms.O = set.arms.O?.map((t) => (t as number) * 1.3);
    const { outcome, reason } = decide(figuresInput(time, 4), 1);
    expect(outcome).toBe('interference');
    expect(reason).toMatch(/origin is 1\.3/);
  });
  test('at one size only: interference that names it', () => {
    const time = run(() => 0.8);
    for (const set of time.samples)
      if (set.kind === 'full' && set.problem === 1) set.arms.O = set.arms.O?.map((t) => (t as number) * 1.5);
    expect(decide(figuresInput(time, 4), 1)).toMatchObject({
      outcome: 'interference',
      reason: expect.stringContaining('large/1'),
    });
  });
  test('origin alone was not measured validly: nothing is proven, and nothing accepted', () => {
    for (const problem of [undefined, 2]) {
      const time = run(() => 0.8);
      for (const set of time.samples)
        if (set.kind === 'solo' && (problem === undefined || set.problem === problem))
          set.arms.O = set.arms.O?.map(() => null);
      const { outcome, reason } = decide(figuresInput(time, 4), 1);
      expect([outcome, reason]).toEqual([
        'environment',
        expect.stringContaining('too few valid times of the origin alone'),
      ]);
    }
  });
  test.each([1, 12])('what speaks against the %i. candidate counts as much as against the first', (tries) => {
    const outcomes = (make: (k: number) => TimeResult) =>
      Array.from({ length: 20 }, (_, k) => decide(figuresInput(make(k), 4), tries).outcome);
    const slow = outcomes((k) => run((i) => (i === 1 ? 1.12 : 0.6), {}, `slow ${k}`));
    expect(slow.filter((outcome) => outcome === 'trade-off').length).toBeGreaterThan(17);
    // Callers wait for the candidate a fifth longer than for the best; processes differ in that as they do on real hosts.
    const waiting = outcomes((k) => {
      const time = run(() => 0.8, {}, `wait ${k}`);
      const calls = simulate(
        { ...noise, process: 0.02 },
        truth(() => 1.2),
        `host ${k}`,
      );
      const wrapper = calls.filter((set) => set.quantity === 'wrapper');
      return { ...time, samples: [...time.samples.filter((set) => set.quantity === 'span'), ...wrapper] };
    });
    expect(waiting.filter((outcome) => outcome === 'not-faster').length).toBeGreaterThan(17);
  });
  test('no interference where there is none', () => {
    for (let k = 0; k < 20; k++)
      expect(
        decide(
          figuresInput(
            run(() => 0.8, {}, `quiet ${k}`),
            4,
          ),
          1,
        ).outcome,
      ).toBe('accepted');
  });
  test('faster than the GPU can be: suspect', () => {
    const floors = [1000, 1000, 1000, 300_000];
    const { outcome, reason } = decide(
      figuresInput(
        run(() => 0.5),
        4,
        { floors },
      ),
      1,
    );
    expect(outcome).toBe('suspect');
    expect(reason).toContain('large/3');
  });
  test('at the floor: believed', () => {
    const floors = [1000, 1000, 1000, 300_000 * 0.8].map((f, i) => Math.min(f, baseTime(i) * 0.8));
    expect(
      decide(
        figuresInput(
          run(() => 0.8),
          4,
          { floors },
        ),
        1,
      ).outcome,
    ).toBe('accepted');
  });
  test('void calls: too few samples is the environment, with the culprit', () => {
    const time = run(() => 0.8, {
      voided: 99,
      incidents: [{ kind: 'foreign-work', message: 'python3 (pid 42)' }],
    });
    for (const set of time.samples) if (set.problem === 2) set.arms.O = set.arms.O?.map(() => null);
    expect(decide(figuresInput(time, 4), 1)).toMatchObject({
      outcome: 'environment',
      reason: expect.stringContaining('pid 42'),
    });
  });
  test('one process decides nothing', () => {
    const time = run(() => 0.5, {}, 'one', { ...noise, processes: 1 });
    expect(decide(figuresInput(time, 4), 1).outcome).toBe('environment');
  });
  test('self-comparisons over the whole rule: nothing accepted', () => {
    const outcomes = new Map<string, number>();
    for (let k = 0; k < 60; k++) {
      const shape = { ...noise, process: k % 2 === 0 ? 0.002 : 0.01 };
      const { outcome } = decide(
        figuresInput(
          run(() => 1, {}, `self ${k}`, shape),
          4,
        ),
        1,
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
    expect(outcomes.get('accepted') ?? 0).toBeLessThanOrEqual(1);
    expect(outcomes.get('trade-off') ?? 0).toBe(0);
    expect(outcomes.get('not-faster') ?? 0).toBeGreaterThanOrEqual(58);
  }, 120_000);
});

describe('floor', () => {
  const base = { dtype: 'fp32' as const, flops: 0, bytes: { read: 0, write: 0 }, flushed: true, gpu, peaks };
  test('an empty kernel', () => expect(floorNs(base)).toBe(1000));
  test('reads over the measured read rate', () =>
    expect(floorNs({ ...base, bytes: { read: 4.2e9, write: 0 } })).toBeCloseTo(1e6, 0));
  test('writes: what L2 can hold is taken off', () => {
    expect(floorNs({ ...base, bytes: { read: 0, write: 60 << 20 } })).toBe(1000);
    expect(floorNs({ ...base, bytes: { read: 0, write: (60 << 20) + 4e9 } })).toBeCloseTo(1e6, 0);
  });
  test('reads and writes together', () =>
    expect(floorNs({ ...base, bytes: { read: 2.1e9, write: (60 << 20) + 2.1e9 } })).toBeCloseTo(1e6, 0));
  test('without a flush inputs may lie in L2', () =>
    expect(floorNs({ ...base, flushed: false, bytes: { read: 50 << 20, write: 0 } })).toBe(1000));
  test('arithmetic over the fastest legal pipe', () => {
    expect(floorNs({ ...base, flops: 60e9 * 2.7 })).toBeCloseTo(1e6, 0);
    expect(floorNs({ ...base, dtype: 'bf16', flops: 60e9 * 16 })).toBeCloseTo(1e6, 0);
    expect(floorNs({ ...base, gpu: { ...gpu, cc: '99.0' }, flops: 60e9 * 5.4 })).toBeCloseTo(1e6, 0);
  });
});
