import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Comparison, Dtype, Incident, Problem, VerifyPlan, VerifyResult } from '../../main/contract/index.ts';
import { failuresOf } from '../../main/evaluate/compare-digest.ts';
import { verifyFinding } from '../../main/evaluate/findings.ts';
import type { EvaluationInput } from '../../main/evaluate/plan.ts';
import { separation } from '../../main/evaluate/where.ts';
import { wrongResult } from '../../main/evaluate/wrong-result.ts';
import { comparison, problem } from './fakes.ts';

interface Recorded {
  candidate: string;
  dtype: Dtype;
  problems: { id: string; N: number }[];
  checks: { problem: string; seed: string; wrong?: Comparison }[];
  incidents: Incident[];
}
const fixture = fileURLToPath(new URL('../fixtures/evaluate/wrong-on-h200.json', import.meta.url));
const recorded = JSON.parse(readFileSync(fixture, 'utf8')) as {
  limit: { c: number; rms: number };
  candidates: Recorded[];
};

const planOf = (problems: Problem[]): VerifyPlan => ({
  mode: 'verify',
  runner: 'r',
  judge: 'j',
  shim: 's',
  arm: { id: 'C', lib: 'l', symbol: 'f' },
  problems,
  seeds: 3,
});

const resultOf = (
  checks: { problem: string; seed: string; output: Comparison }[],
  incidents: Incident[] = [],
): VerifyResult => ({
  mode: 'verify',
  gpu: null,
  checks: checks.map((c) => ({ problem: c.problem, seed: c.seed, outputs: [c.output], firstCallNs: null })),
  incidents,
});

/* ------------------------------------------------------------------ measured */

function replay(name: string): { plan: VerifyPlan; result: VerifyResult; dtype: Dtype } {
  const found = recorded.candidates.find((c) => c.candidate === `dot_product/${name}.cu`);
  if (!found) throw new Error(`no ${name} in the fixture`);
  const problems = found.problems.map(({ id, N }): Problem => {
    const generator = id.endsWith('+wide')
      ? ({ kind: 'wide', loExp: -20, hiExp: 20 } as const)
      : ({ kind: 'uniform', lo: -1, hi: 1 } as const);
    return {
      ...problem(id, N),
      buffers: [
        { name: 'loss', role: 'out', elem: 'f32', count: 1 },
        { name: 'X', role: 'in', elem: 'f32', count: N, generator },
      ],
      limits: [{ buffer: 0, ...recorded.limit, uOut: 2 ** -24, uAcc: 2 ** -24 }],
    };
  });
  const right = comparison({ output: 'loss', compared: 1 });
  const checks = found.checks.map((c) => ({ problem: c.problem, seed: c.seed, output: c.wrong ?? right }));
  return { plan: planOf(problems), result: resultOf(checks, found.incidents), dtype: found.dtype };
}

const findingOf = (name: string) => {
  const { plan, result, dtype } = replay(name);
  const found = verifyFinding(
    { dtype, candidate: { source: '', compileArgs: [] } } as unknown as EvaluationInput,
    plan,
    result,
  );
  if (found === null) throw new Error('nothing found');
  return found;
};

describe('wrong candidates as measured on an H200: each for its own reason', () => {
  test.each<[string, string, RegExp]>([
    ['noop', 'wrong-result', /^loss: nothing was written .* at N=\d+; wrong at 4 of 4/],
    ['zeros', 'wrong-result', /^loss is 0, expected -106\.598 at N=\d+/],
    ['nan', 'wrong-result', /^loss is nan, expected 64\.8926/],
    [
      'last_wrong',
      'wrong-result',
      /off by 2 times the limit .*relative error 6\.0e-4.*a few terms missing.*at N=1 got 0/,
    ],
    ['tail_dropped', 'wrong-result', /errors of one size, about 0\.28, from N=1 to N=\d+/],
    ['cached', 'cheat', /right for the first contents.*kept from an earlier call/],
    ['shared_race', 'race', /not repeatable: .* gave loss = 20\.7757 and 58\.4158 .*expected 57\.5077/],
    ['half', 'precision', /typical relative error 2\.3e-4: typical of half or TF32/],
    ['half_large_only', 'precision', /typical of half \(not finite.*only from N=65536 on, right up to N=7919/],
    ['bf16_accumulate', 'precision', /rounded to bf16 or half/],
    ['lazy', 'wrong-result', /only the first call at a size is wrong.*also CUDA error.*cudaErrorInvalidValue/],
  ])('%s → %s', (name, outcome, reason) => {
    const found = findingOf(name);
    expect(found.outcome, found.reason).toBe(outcome);
    expect(found.reason).toMatch(reason);
    expect(found.reason).not.toMatch(/verify\/\d at|\n/);
  });
  test('no two share a reason', () => {
    // Sizes and values differ from run to run anyway; the words must differ without them.
    const words = recorded.candidates.map((c) =>
      findingOf(c.candidate.replace(/.*\/|\.cu$/g, '')).reason.replace(/-?\d[\d.e+-]*/g, '#'),
    );
    const alike = words.filter((w, i) => words.indexOf(w) !== i);
    // A dropped last term and a dropped tail look alike where no size is right; their sizes are told apart below.
    expect(alike.every((w) => w.includes('a few terms missing'))).toBe(true);
    expect(alike.length).toBeLessThanOrEqual(1);
  });
});

/* ------------------------------------------------------------------ made up: larger outputs */

const seeds = ['s0', 's1', 's2', 's0'];
const sizes = [187, 1000, 4283, 31];
const first = (index: number, got: number | string, want: number, limit = 1e-7) => ({ index, got, want, limit });
type Over = Partial<Comparison> | null;

function judge(
  change: (n: number, call: number) => Over,
  of: (p: Problem) => Problem = (p) => p,
  dtype: Dtype = 'fp32',
) {
  const problems = sizes.map((n, i) => of(problem(`verify/${i}`, n)));
  const plan = planOf(problems);
  const checks = problems.flatMap((p, i) =>
    seeds.map((seed, call) => {
      const n = sizes[i] as number;
      return { problem: p.id, seed, output: comparison({ compared: n, ...change(n, call) }) };
    }),
  );
  const result = resultOf(checks);
  return wrongResult(plan, result, failuresOf(plan, result), dtype);
}

describe('what wrong elements have in common', () => {
  const large = { worst: 1e6, rms: 1e5 };
  test.each<[string, (n: number) => Over, RegExp]>([
    [
      'tail',
      (n) => (n % 4 ? { bad: n % 4, ...large, first: [first(n - (n % 4), 0, 1)], lastBad: n - 1 } : null),
      /out: 3 of 31 elements wrong, one run of elements is wrong, 28 to 30 \(the end\).*wrong at 3 of 4 .*, only where N is no multiple of 2$/,
    ],
    [
      'last element',
      (n) => ({ bad: 1, ...large, first: [first(n - 1, 0, 1)], lastBad: n - 1 }),
      /one element is wrong, index \d+ \(the last\), off by up to 1000000 times the limit/,
    ],
    [
      'stride',
      (n) => ({
        bad: Math.ceil(n / 4),
        ...large,
        stride: 4,
        first: [first(0, 0, 1)],
        lastBad: 4 * (Math.ceil(n / 4) - 1),
      }),
      /wrong every 4 elements, from 0 to \d+/,
    ],
    [
      'stride of most only',
      (n) => ({ bad: 5, ...large, stride: 4, first: [first(0, 0, 1)], lastBad: n - 1 }),
      /wrong mostly every 4 elements/,
    ],
    [
      'part never written',
      (n) => ({ bad: 10, nonFinite: 10, poisonLeft: 10, first: [first(n - 10, 'nan', 1)], lastBad: n - 1 }),
      /out: 10 of \d+ elements never written, one run .*\(the end\)/,
    ],
    [
      'NaN',
      (n) => ({ bad: 2, nonFinite: 2, ...large, first: [first(7, 'nan', 0.25)], lastBad: n - 9 }),
      /out: 2 of \d+ elements NaN or infinite, the first at index 7 \(got nan, expected 0\.25\)/,
    ],
    [
      'all zero',
      (n) => ({ bad: n, ...large, allZero: true, first: [first(0, 0, 0.5)], lastBad: n - 1 }),
      /out is all zero \(\d+ of \d+ elements wrong; \[0\] expected 0\.5\)/,
    ],
    ['RMS', () => ({ worst: 0.99, rms: 0.9, rmsLimit: 0.5 }), /RMS of error over limit is 0\.900 \(allowed 0\.5\)/],
  ])('%s', (_, change, pattern) => {
    expect(judge((n) => change(n)).reason).toMatch(pattern);
  });
  test('poison is not counted as NaN that was written', () => {
    const w = judge((n) => ({ bad: n, nonFinite: n, poisonLeft: n, first: [first(0, 'nan', 1)], lastBad: n - 1 }));
    expect(w.digest).toContain('nothing was written');
    expect(w.digest).not.toContain('NaN or infinite');
  });
});

describe('what the order of calls tells', () => {
  const bad = (got: number, want: number): Over => ({
    bad: 900,
    worst: 1e6,
    first: [first(0, got, want)],
    lastBad: 900,
  });
  test('one value for different contents after a right first call is a kept result, at two sizes of four', () => {
    const w = judge((n, call) => (n >= 1000 && (call === 1 || call === 2) ? bad(0.75, call) : null));
    expect(w.outcome).toBe('cheat');
  });
  test('two wrong calls with values of their own are not yet a kept result', () => {
    const w = judge((n, call) => (n === 1000 && (call === 1 || call === 2) ? bad(call / 8, call) : null));
    expect(w.outcome).toBe('wrong-result');
  });
  test('wrong after the first call, the first contents included: state that is not reset', () => {
    const w = judge((_, call) => (call === 0 ? null : bad(call * 3, call === 3 ? 1 : call)));
    expect(w).toMatchObject({ outcome: 'wrong-result', deferred: true });
    expect(w.reason).toMatch(/an earlier call's state is not reset/);
  });
  test('the same contents, right and far off: not repeatable', () => {
    const w = judge((n, call) => (n === 4283 && call === 3 ? bad(0.5, 1) : null));
    expect(w.outcome).toBe('race');
    expect(w.reason).toMatch(/out\[0\] = 0\.5 and a right value at N=4283/);
  });
  test('another order of a wrong sum is no race', () => {
    const w = judge((_, call) => bad(call === 3 ? 5.0000001 : 5, 1));
    expect(w.outcome).toBe('wrong-result');
  });
});

describe('precision', () => {
  const exact = (p: Problem): Problem => ({ ...p, limits: [{ buffer: 0, c: 0, rms: 1, uOut: 0, uAcc: 0 }] });
  const moved = (got: number, want: number): Over => ({
    bad: 20,
    worst: 2000,
    maxUlp: 2000,
    first: [0, 3, 4].map((i) => first(i, got, want, 0)),
    lastBad: 30,
  });
  test('moved values rounded to half', () => {
    expect(judge(() => moved(0.333251953125, 0.3333333432674408), exact).outcome).toBe('precision');
  });
  test('a near neighbour in a sorted output is no rounding', () => {
    expect(judge(() => moved(0.3333339393138885, 0.3333333432674408), exact).outcome).toBe('wrong-result');
  });
  test('integers off by one are no rounding', () => {
    const indices = (p: Problem): Problem => ({
      ...exact(p),
      buffers: p.buffers.map((b) => ({ ...b, elem: 'i32' as const })),
    });
    expect(judge(() => moved(501, 500), indices).outcome).toBe('wrong-result');
  });
  test('a reduction that is slightly off at large sizes only may lack terms: not called precision', () => {
    const w = judge(
      (n) =>
        n > 1000
          ? { compared: 1, bad: 1, worst: 3, rms: 3, first: [first(0, 10.01, 10, 0.0033)], lastBad: 0 }
          : { compared: 1 },
      (p) => ({ ...p, buffers: [{ name: 'out', role: 'out', elem: 'f32', count: 1 }, ...p.buffers.slice(1)] }),
    );
    expect(w.outcome).toBe('wrong-result');
    expect(w.digest).toMatch(/errors are small: lower precision inside, or a few terms/);
    expect(w.reason).toMatch(/only from N=4283 on, right up to N=1000/);
  });
});

describe('which sizes are wrong', () => {
  const at = (ids: Record<string, number>, wrong: string[]): string => {
    const problems = Object.entries(ids).map(([id, n]) => problem(id, n));
    const result = resultOf(problems.map((p) => ({ problem: p.id, seed: 's', output: comparison() })));
    return separation(planOf(problems), result, new Set(wrong));
  };
  const sizesOf = { 'verify/0': 1001, 'verify/1': 64, 'verify/2': 31, 'verify/3': 4096, 'verify/4': 5 };
  test.each<[string[], string]>([
    [['verify/0', 'verify/2', 'verify/4'], 'only where N is no multiple of 2'],
    [['verify/0', 'verify/3'], 'only from N=1001 on, right up to N=64'],
    [['verify/2', 'verify/4'], 'only up to N=31, right from N=64 on'],
    [['verify/1', 'verify/2', 'verify/3', 'verify/4'], 'among plain inputs right only at N=1001'],
    [['verify/1', 'verify/4'], ''],
    [Object.keys(sizesOf), ''],
  ])('%j: %s', (wrong, text) => expect(at(sizesOf, wrong)).toBe(text));
  test('only special inputs', () => {
    expect(at({ ...sizesOf, 'verify/0+wide': 1001, 'verify/1+ties': 64 }, ['verify/0+wide'])).toBe(
      'only with the input wide',
    );
  });
});

describe('incidents name the size', () => {
  test('and how many of all', () => {
    const problems = sizes.map((n, i) => problem(`verify/${i}`, n));
    const message = 'changed 4 elements of input in';
    const incidents = [0, 1].map(
      (i): Incident => ({ kind: 'input-changed', arm: 'C', problem: `verify/${i}`, message }),
    );
    const input = { dtype: 'fp32', candidate: { source: '', compileArgs: [] } } as unknown as EvaluationInput;
    const found = verifyFinding(input, planOf(problems), resultOf([], incidents));
    expect(found?.reason).toBe(
      'changed its inputs (N=187, at 2 of 4 sizes and inputs in all): changed 4 elements of input in',
    );
  });
});
