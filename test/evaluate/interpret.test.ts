import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { setResourceRoot } from '../../main/base/paths.ts';
import {
  confirmedFigures,
  evaluationSchema,
  type Incident,
  type JobBundle,
  type JobResult,
  jobSchema,
  reported,
  type Sanitized,
  type SessionResult,
  type StepResult,
  sanitizedFact,
  sanitizedOf,
  sanitizedOfFact,
  sanitizedText,
  type TimeResult,
  unwrap,
  type VerifyResult,
} from '../../main/contract/index.ts';
import { bindEvaluator } from '../../main/evaluate/evaluator.ts';
import { interpretEvaluation } from '../../main/evaluate/interpret.ts';
import { type EvaluationInput, planEvaluation, scoredProblems, stepIds } from '../../main/evaluate/plan.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { checkBundle, jobHash } from '../../main/jobs/bundle-hash.ts';
import { comparison, gpu, timeResult } from './fakes.ts';
import { simulate } from './noise.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
let input: EvaluationInput;
let bundle: JobBundle;
beforeAll(() => {
  setResourceRoot(root);
  input = {
    task: unwrap(loadTask(root, 'softmax')),
    dtype: 'fp32',
    candidate: { source: '// candidate', compileArgs: ['-O3'] },
    best: null,
    sizeSet: 'large',
    profile: 'filtered',
    arch: 'sm_90',
    tries: 1,
    planSeed: 'ab',
    label: 'softmax fp32 r1.a0',
  };
  bundle = unwrap(planEvaluation(input));
});

describe('plan', () => {
  const session = (id: string, of = bundle) => {
    const step = of.job.steps.find((s) => s.id === id);
    if (step?.kind !== 'session') throw new Error(`no session ${id}`);
    return step;
  };
  test('a job that the executor accepts, the same for the same input', () => {
    expect(checkBundle(bundle).ok).toBe(true);
    expect(() => jobSchema.parse(bundle.job)).not.toThrow();
    expect(jobHash(unwrap(planEvaluation(input)).job)).toBe(jobHash(bundle.job));
    expect(jobHash(unwrap(planEvaluation({ ...input, planSeed: 'cd' })).job)).not.toBe(jobHash(bundle.job));
  });
  test('candidate: verified, sampled, confirmed only if nominated, sanitized, profiled at the largest size', () => {
    expect(bundle.job.steps.filter((s) => s.kind === 'session').map((s) => s.id)).toEqual([
      'verify',
      'time-nominate',
      'time-confirm',
      'sanitize',
      'profile',
    ]);
    expect(session('time-nominate').ifVerified).toBe('verify');
    expect(session('time-confirm').ifNominated).toBe('time-nominate');
    expect(session('sanitize').ifNominated).toBe('time-nominate');
    const plan = session('profile').plan;
    const { problems, weights } = scoredProblems(input);
    const largest = weights.indexOf(Math.max(...weights));
    expect(plan.mode === 'profile' && plan.problem.id).toBe(problems[largest]?.id);
    expect(plan.mode === 'profile' && plan.arm.id).toBe('C');
  });
  test('candidate and best are untrusted, the harness and the shipped origin are not', () => {
    const both = unwrap(planEvaluation({ ...input, best: { source: '// best', compileArgs: [] } }));
    const untrusted = both.job.steps.filter((s) => s.kind === 'build' && s.untrusted).map((s) => s.id);
    expect(untrusted).toEqual(['build-best', 'build-candidate']);
    const plan = session('time-confirm', both).plan;
    expect(plan.mode === 'time' && plan.arms.map((a) => [a.id, a.symbol])).toEqual([
      ['O', 'softmax'],
      ['B', 'softmax_optimized'],
      ['C', 'softmax_optimized'],
    ]);
  });
  test('baseline: origin verified, timed alone, profiled', () => {
    const base = unwrap(planEvaluation({ ...input, candidate: null }));
    expect(base.job.steps.filter((s) => s.kind === 'session').map((s) => s.id)).toEqual([
      'verify',
      'time-confirm',
      'profile',
    ]);
    const plan = session('time-confirm', base).plan;
    expect(plan.mode === 'time' && plan.arms.map((a) => a.id)).toEqual(['O']);
  });
  test('no profile where none is wanted; seeds are in no plan', () => {
    const none = unwrap(planEvaluation({ ...input, profile: 'none' }));
    expect(none.job.steps.some((s) => s.id === 'profile')).toBe(false);
    expect(JSON.stringify(bundle.job)).not.toContain('"seed"');
  });
  test('what cannot be planned is said', () => {
    const noReference = { ...input, task: { ...input.task, reference: null } };
    expect(planEvaluation(noReference)).toMatchObject({ ok: false, error: { code: 'input.task' } });
  });
});

/* --------------------------------------------------------------------- results */

const step = (id: string, over: Partial<StepResult> = {}): StepResult => ({
  id,
  status: 'ok',
  exitCode: 0,
  signal: null,
  wallMs: 1,
  cached: false,
  command: '',
  stdout: '',
  stderr: '',
  ...over,
});

const ptxas = `ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z24softmax_kernel_optimizedPfPKfii' for 'sm_90'
ptxas info    : Function properties for _Z24softmax_kernel_optimizedPfPKfii
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem
`;

function verifyResult(over: Partial<VerifyResult> = {}): VerifyResult {
  const plan = bundle.job.steps.find((s) => s.id === 'verify');
  if (plan?.kind !== 'session' || plan.plan.mode !== 'verify') throw new Error('no verify');
  const checks = plan.plan.problems.flatMap((problem) =>
    ['s0', 's1', 's2', 's0'].map((seed) => ({
      problem: problem.id,
      seed,
      outputs: [comparison({ compared: problem.buffers[0]?.count ?? 0 })],
      firstCallNs: null,
    })),
  );
  return { mode: 'verify', gpu, checks, incidents: [], ...over };
}

const time = (candidate: number, over: Partial<TimeResult> = {}): TimeResult => {
  const problems = scoredProblems(input).problems.length;
  const noise = {
    processes: 3,
    solo: 2,
    problems,
    blocks: 12,
    call: 0.01,
    tail: 0.02,
    drift: 0.002,
    process: 0.002,
    step: 32,
  };
  // Long calls, so that none lies below the physical floor of this task's sizes.
  const samples = simulate(noise, (arm) => 50_000_000 * (arm === 'O' ? 3 : candidate), `t${candidate}`, ['O', 'C']);
  return timeResult(samples, { nominated: true, pointR: 3 / candidate, ...over });
};

interface Parts {
  builds?: Record<string, Partial<StepResult>>;
  verify?: SessionResult | Partial<StepResult>;
  nominate?: SessionResult | Partial<StepResult>;
  confirm?: SessionResult | Partial<StepResult>;
  sanitize?: SessionResult | Partial<StepResult>;
  profile?: SessionResult | Partial<StepResult>;
}

const skipped: Partial<StepResult> = { status: 'skipped', reason: { code: 'skipped', message: 'Not run.' } };
const asStep = (id: string, part: SessionResult | Partial<StepResult> | undefined): StepResult =>
  part === undefined ? step(id, skipped) : 'mode' in part ? step(id, { session: part }) : step(id, part);

function jobResult(parts: Parts): JobResult {
  const steps = bundle.job.steps.map((planned) => {
    if (planned.kind === 'build')
      return step(planned.id, { stderr: planned.id === 'build-candidate' ? ptxas : '', ...parts.builds?.[planned.id] });
    const part = {
      verify: parts.verify,
      'time-nominate': parts.nominate,
      'time-confirm': parts.confirm,
      sanitize: parts.sanitize,
      profile: parts.profile,
    }[planned.id];
    return asStep(planned.id, part);
  });
  return {
    version: 1,
    jobHash: jobHash(bundle.job),
    machine: {
      host: 'h',
      gpu: null,
      driver: '580',
      toolkit: '13.0',
      nvcc: '13.0',
      hostCompiler: 'g++ 12',
      ncu: null,
      containment: 'bubblewrap',
    },
    startedAt: '2026-01-01T00:00:00Z',
    wallMs: 5,
    steps,
    outputs: {},
  };
}

function interpret(parts: Parts) {
  const evaluation = interpretEvaluation(input, bundle, jobResult(parts));
  evaluationSchema.parse(JSON.parse(JSON.stringify(evaluation)));
  return evaluation;
}
const sanitizeRuns = (errors: readonly (number | null)[]): SessionResult => ({
  mode: 'sanitize',
  runs: errors.map((found, i) => ({ tool: 'memcheck', problem: `sanitize/${i}`, exitCode: 0, errors: found, log: '' })),
  incidents: [],
});
const clean = (): Parts => ({
  verify: verifyResult(),
  nominate: time(1),
  confirm: time(1),
  sanitize: sanitizeRuns([0, 0, 0]),
});

describe('good results', () => {
  test('accepted, with figures, errors, build facts', () => {
    const e = interpret(clean());
    expect(e.outcome, e.reason).toBe('accepted');
    expect(e.verified).toBe(true);
    expect(e.digest).toBe('');
    expect(e.figures?.score?.value).toBeCloseTo(3, 1);
    expect(e.error).toMatchObject({ maxUlp: 1, worstOfLimit: 0.3 });
    expect(e.build).toMatchObject({ registers: 40, spillBytes: 20, sharedBytes: 1024, diagnostics: '' });
    expect(e.gpu?.name).toBe('NVIDIA H200');
    expect(e.figures?.sizes.every((s) => (s.floorNs ?? 0) > 0)).toBe(true);
  });
  test('not nominated: not faster, figures marked as the first sample', () => {
    const e = interpret({
      verify: verifyResult(),
      nominate: time(3.2, { phase: 'nominate', nominated: false, pointR: 0.94 }),
    });
    expect(e).toMatchObject({ outcome: 'not-faster', figures: { phase: 'nominate' } });
    // The figure is the Planner's alone: nobody can quote it.
    expect(e.hint).toBe('first sample: R = 0.940x against the best, not nominated');
    expect(e.reason).toMatch(/^the first sample was not above the bar/);
    expect(e.reason).not.toMatch(/\d/);
    expect(confirmedFigures(e)).toBeNull();
    expect(reported(e)).not.toHaveProperty('hint');
    expect(reported(e).figures).toBeNull();
    expect(JSON.stringify(reported(e))).not.toContain('0.94');
  });
  test('a first sample that was faster but not whole says so, without a figure', () => {
    const e = interpret({
      verify: verifyResult(),
      nominate: time(1, { phase: 'nominate', nominated: false, pointR: 3.21 }),
    });
    expect(e.outcome).toBe('not-faster');
    expect(e.reason).toMatch(/not whole or not undisturbed/);
    expect(e.reason).not.toMatch(/\d/);
  });
  test('confirmed figures are reported as they are', () => {
    const e = interpret(clean());
    expect(confirmedFigures(e)).toBe(e.figures);
    expect(reported(e)).toEqual(e);
  });
  test('where nobody could look for other programs on the GPU the result says so', () => {
    const remark = 'whether other programs used the GPU meanwhile is not known';
    const e = interpret({ ...clean(), confirm: time(1, { foreignLooked: false }) });
    expect([e.outcome, e.reason]).toEqual(['accepted', expect.stringContaining(remark)]);
    for (const foreignLooked of [true, undefined])
      expect(interpret({ ...clean(), confirm: time(1, { foreignLooked }) }).reason).not.toContain(remark);
  });
  test('no sanitizer there: accepted, and said', () => {
    const e = interpret({
      ...clean(),
      sanitize: {
        status: 'environment',
        reason: { code: 'env.sanitizer-missing', message: 'compute-sanitizer was not found.' },
      },
    });
    expect(e.outcome).toBe('accepted');
    expect(e.reason).toContain('not sanitized: compute-sanitizer was not found');
    expect(e.sanitized).toEqual({ state: 'no', why: 'compute-sanitizer was not found.' });
  });
  const failed = { status: 'environment', reason: { code: 'env.sanitizer-failed', message: 'It broke.' } } as const;
  test.each([
    ['every run ended', sanitizeRuns([0, 0]), 'yes', ''],
    ['some did not end', sanitizeRuns([0, null, 0]), 'partly', '1 of 3 sanitizer runs did not end in time'],
    ['none ended', sanitizeRuns([null, null]), 'no', '2 of 2 sanitizer runs did not end in time'],
    ['nothing was run', sanitizeRuns([]), 'no', 'it was never run'],
    ['it failed at once', failed, 'no', 'It broke.'],
    ['it failed on the way', { ...failed, session: sanitizeRuns([0]) }, 'partly', 'It broke.'],
    [
      'the time was up',
      { status: 'timeout', session: sanitizeRuns([0]) },
      'partly',
      'step sanitize ended with "timeout"',
    ],
    ['it was skipped', undefined, 'no', 'Not run.'],
  ] as const)('sanitized where %s: told beside the figures', (_, sanitize, state, why) => {
    const e = interpret({ ...clean(), sanitize });
    expect([e.outcome, e.sanitized]).toEqual(['accepted', { state, why }]);
    expect(e.reason.endsWith(why === '' ? 'over origin' : `${state === 'no' ? 'not' : state} sanitized: ${why})`)).toBe(
      true,
    );
    // An older record has the reason alone: its remark is read, and without one nothing is known.
    expect(sanitizedOf({ outcome: e.outcome, reason: e.reason })).toEqual(state === 'yes' ? null : e.sanitized);
    // As the row of the history keeps it.
    expect(sanitizedOfFact(sanitizedFact(e.sanitized as Sanitized))).toEqual(e.sanitized);
    expect(sanitizedText(e.sanitized as Sanitized)).toMatch(
      state === 'yes' ? /^sanitized$/ : /^(not|partly) sanitized: ./,
    );
  });
  test('what is not accepted is not said to be sanitized; older records are read by their reason', () => {
    expect(
      interpret({ verify: verifyResult(), nominate: time(3.2, { nominated: false, pointR: 0.9 }) }).sanitized,
    ).toBe(undefined);
    expect(sanitizedOf({ outcome: 'not-faster', reason: '' })).toBeNull();
    expect(sanitizedOf({ outcome: null, reason: '' })).toBeNull();
    expect(sanitizedOf({ outcome: 'accepted', reason: 'R = 2x (3 of 20 sanitizer runs did not end in time)' })).toEqual(
      {
        state: 'partly',
        why: '3 of 20 sanitizer runs did not end in time',
      },
    );
    expect(sanitizedOf({ outcome: 'trade-off', reason: 'R = 2x (package cuda-sanitizer)' })).toBeNull();
    expect(sanitizedOf({ outcome: 'accepted', reason: 'R = 2x; P = 3x over origin' })).toBeNull();
    expect([sanitizedOfFact(null), sanitizedOfFact('')]).toEqual([null, null]);
  });
  test('no profile: unavailable with the remedy, outcome untouched', () => {
    const e = interpret({
      ...clean(),
      profile: {
        status: 'environment',
        reason: { code: 'env.ncu-missing', message: 'Nsight Compute (ncu) was not found.', remedy: 'Install it.' },
      },
    });
    expect(e.outcome).toBe('accepted');
    expect(e.profile).toMatchObject({ status: 'unavailable', remedy: 'Install it.' });
  });
});

describe('builds', () => {
  const error =
    'candidate.cu(3): error: identifier "foo" is undefined\n\n1 error detected in the compilation of "/tmp/x/candidate.cu".\n';
  test('compile error: reason and digest from the compiler', () => {
    const e = interpret({
      builds: { 'build-candidate': { status: 'failed', exitCode: 2, stderr: `${ptxas}${error}` } },
    });
    expect(e.outcome).toBe('compile-error');
    expect(e.reason).toBe('candidate.cu(3): error: identifier "foo" is undefined');
    expect(e.digest).not.toContain('ptxas info');
    expect(e.digest).not.toContain('/tmp');
  });
  test.each([
    ['timeout', 'timeout'],
    ['killed', 'compile-error'],
  ] as const)('compiler %s: too heavy', (status, outcome) => {
    const e = interpret({
      builds: {
        'build-candidate': {
          status,
          reason: { code: 'env.killed', message: 'Compiling took longer than 180 s and was stopped.' },
        },
      },
    });
    expect(e.outcome).toBe(outcome);
    expect(e.digest).toMatch(/too heavy to compile/);
  });
  test.each([stepIds.runner, stepIds.judge, stepIds.shim, stepIds.origin])('%s failing is the environment', (id) => {
    const e = interpret({ builds: { [id]: { status: 'failed', exitCode: 1, stderr: 'x.h: error: no' } } });
    expect(e).toMatchObject({ outcome: 'environment', digest: '' });
    expect(e.reason).toContain(id);
  });
  test('host compiler unsupported: environment with the remedy, nothing for the model', () => {
    const e = interpret({
      builds: {
        'build-candidate': {
          status: 'environment',
          stderr: '#error unsupported GNU version',
          reason: { code: 'env.host-compiler', message: 'The host compiler is too new.', remedy: 'Install g++-12.' },
        },
      },
    });
    expect(e).toMatchObject({
      outcome: 'environment',
      digest: '',
      reason: 'The host compiler is too new. Install g++-12.',
    });
  });
});

describe('verification', () => {
  const wrong = (change: (index: number, seed: string) => Parameters<typeof comparison>[0] | null): VerifyResult => {
    const base = verifyResult();
    return {
      ...base,
      checks: base.checks.map((check, i) => {
        const over = change(i, check.seed);
        return over === null ? check : { ...check, outputs: [comparison({ compared: 1000, ...over })] };
      }),
    };
  };
  const first = (index: number, got: number | string, want: number, limit = 1e-7) => ({ index, got, want, limit });
  test('wrong result: where, how many, pattern', () => {
    const e = interpret({ verify: wrong(() => ({ bad: 24, worst: 1e6, first: [first(976, 0, 0.5)], lastBad: 999 })) });
    expect(e.outcome).toBe('wrong-result');
    expect(e.verified).toBe(false);
    expect(e.figures).toBeNull();
    expect(e.digest).toMatch(/976 to 999 \(the end\)/);
    expect(e.digest).toMatch(/got 0\.000000, expected 0\.5000000/);
    expect(e.wrong.length).toBeGreaterThan(0);
  });
  test.each<[string, Parameters<typeof comparison>[0], RegExp]>([
    ['zeros', { bad: 1000, worst: 1e7, allZero: true, first: [first(0, 0, 1)], lastBad: 999 }, /all zero/],
    [
      'never written',
      {
        bad: 1000,
        nonFinite: 1000,
        poisonLeft: 1000,
        worst: null,
        rms: null,
        first: [first(0, 'nan', 1)],
        lastBad: 999,
      },
      /nothing was written/,
    ],
    ['NaN', { bad: 3, nonFinite: 3, worst: null, first: [first(1, 'nan', 1)], lastBad: 900 }, /3 of 1000 .* NaN/],
    [
      'stride',
      { bad: 250, worst: 1e5, stride: 4, first: [first(3, 0, 1)], lastBad: 999 },
      /wrong every 4 elements, from 3 to 999/,
    ],
    ['one element', { bad: 1, worst: 1e5, first: [first(77, 0, 1)], lastBad: 77 }, /one element is wrong, index 77/],
    ['NaN alone never passes', { bad: 0, nonFinite: 1, first: [first(5, 'nan', 1)] }, /NaN/],
  ])('%s', (_, over, pattern) => {
    const e = interpret({ verify: wrong(() => over) });
    expect(e.outcome).toBe('wrong-result');
    expect(e.digest).toMatch(pattern);
  });
  test('lower precision is named as such', () => {
    const e = interpret({
      verify: wrong(() => ({
        bad: 700,
        worst: 900,
        rms: 200,
        maxUlp: 3000,
        first: [first(0, 0.5003, 0.5)],
        lastBad: 998,
        stride: 0,
      })),
    });
    expect(e.outcome).toBe('precision');
    expect(e.digest).toMatch(/lower precision inside, typical of bf16/);
  });
  test('RMS above its bound fails though no element does', () => {
    const e = interpret({ verify: wrong(() => ({ bad: 0, worst: 0.99, rms: 0.9, rmsLimit: 0.5 })) });
    expect(e.verified).toBe(false);
    expect(e.digest).toMatch(/RMS of error over limit is 0\.900/);
  });
  test('right for the first contents only: a kept result', () => {
    const e = interpret({
      verify: wrong((_, seed) =>
        seed === 's0' ? null : { bad: 1000, worst: 1e6, first: [first(0, 1, 2)], lastBad: 999 },
      ),
    });
    expect(e.outcome).toBe('cheat');
    expect(e.reason).toMatch(/kept/);
  });
  test("a session out of time is the candidate's fault only if its own calls took the time", () => {
    const base = verifyResult();
    const part = (firstCallNs: number) => ({
      verify: {
        status: 'timeout' as const,
        wallMs: 600_000,
        reason: { code: 'limit.time', message: 'The session did not end within 600 s.' },
        session: {
          ...base,
          checks: base.checks.slice(0, 4).map((c, i) => ({ ...c, firstCallNs: i ? null : firstCallNs })),
        },
      },
    });
    expect(interpret(part(1e5))).toMatchObject({ outcome: 'environment', digest: '', verified: false });
    expect(interpret(part(120e9))).toMatchObject({ outcome: 'timeout', verified: false });
  });
  test('calls or outputs that were not compared prove nothing', () => {
    const base = verifyResult();
    const few = { ...base, checks: base.checks.filter((c) => c.seed !== 's0') };
    const half = { ...base, checks: base.checks.map((c, i) => (i === 3 ? { ...c, outputs: [] } : c)) };
    for (const verify of [few, half])
      expect(interpret({ verify })).toMatchObject({ outcome: 'environment', digest: '', verified: false });
  });
  test('a size that was not reached proves nothing', () => {
    const base = verifyResult();
    const e = interpret({ verify: { ...base, checks: base.checks.slice(0, 4) } });
    expect(e).toMatchObject({ outcome: 'environment', verified: false });
  });
  test.each<[Incident['kind'], string, string]>([
    ['cuda-error', 'cudaErrorIllegalAddress: an illegal memory access was encountered', 'runtime-error'],
    ['crash', 'the process ended with SIGSEGV during "call"', 'runtime-error'],
    ['timeout', 'no answer within 20 s', 'timeout'],
    ['guard', 'wrote outside buffer out: after it, at byte offset 4', 'memory-error'],
    ['input-changed', 'changed 4 elements of input in', 'cheat'],
    ['threads-left', '1 more host threads after the call than before', 'cheat'],
    ['late-activity', '2 GPU activities ran after the call had returned', 'cheat'],
    ['no-activity', 'the call did nothing on the GPU', 'cheat'],
    ['protocol', 'a reply without its nonce', 'cheat'],
    ['load', 'undefined symbol: foo', 'compile-error'],
  ])('incident %s → %s', (kind, message, outcome) => {
    const e = interpret({ verify: verifyResult({ incidents: [{ kind, arm: 'C', problem: 'verify/0', message }] }) });
    expect(e.outcome).toBe(outcome);
    expect(e.reason).toContain(message);
    expect(e.digest).toContain(message);
    expect(e.verified).toBe(false);
  });
  test('session fault of the machine: environment', () => {
    const e = interpret({
      verify: {
        status: 'environment',
        reason: { code: 'env.gpu-lost', message: 'The GPU does not answer.' },
        session: verifyResult({ incidents: [{ kind: 'timeout', arm: 'C', message: 'x' }] }),
      },
    });
    expect(e).toMatchObject({ outcome: 'environment', digest: '' });
  });
});

describe('timing', () => {
  const incident = (kind: Incident['kind'], arm: string, message: string): Incident => ({
    kind,
    arm,
    problem: 'large/0',
    message,
  });
  test('wrong in many timed calls: depends on earlier calls', () => {
    const e = interpret({
      ...clean(),
      nominate: time(1, { incidents: [incident('sampled-wrong', 'C', 'element 5 (seen 150 times)')] }),
    });
    expect(e.outcome).toBe('cheat');
    expect(e.reason).toMatch(/right when verified, wrong in 150 of/);
  });
  test('wrong in few: a race', () => {
    const e = interpret({ ...clean(), confirm: time(1, { incidents: [incident('sampled-wrong', 'C', 'element 5')] }) });
    expect(e.outcome).toBe('race');
  });
  test('a whole comparison that fails counts', () => {
    const e = interpret({
      ...clean(),
      confirm: time(1, { whole: [{ arm: 'C', problem: 0, outputs: [comparison({ bad: 2, worst: 50 })] }] }),
    });
    expect(e.outcome).toBe('race');
  });
  test('a whole comparison that is everywhere close to the limit is rounding, no race', () => {
    const e = interpret({
      ...clean(),
      confirm: time(1, { whole: [{ arm: 'C', problem: 0, outputs: [comparison({ bad: 2, worst: 1.41 })] }] }),
    });
    expect(e.outcome).toBe('wrong-result');
    expect(e.reason).toMatch(/by a factor of 1\.41 at most: an error that grows with the size/);
  });
  test('origin failing beside the candidate: interference', () => {
    const e = interpret({
      ...clean(),
      nominate: time(1, { incidents: [incident('sampled-wrong', 'O', 'element 1')] }),
    });
    expect(e).toMatchObject({ outcome: 'interference' });
  });
  test('no records for origin either: the recording, not the candidate', () => {
    const e = interpret({
      ...clean(),
      nominate: time(1, { incidents: [incident('no-activity', 'C', 'none'), incident('no-activity', 'O', 'none')] }),
    });
    expect(e.outcome).toBe('environment');
  });
  test('a first sample without an estimate is the environment', () => {
    const e = interpret({
      verify: verifyResult(),
      nominate: time(1, { phase: 'nominate', nominated: false, pointR: null }),
    });
    expect(e.outcome).toBe('environment');
  });
  test('foreign work alone is no finding', () => {
    const e = interpret({ ...clean(), confirm: time(1, { incidents: [{ kind: 'foreign-work', message: 'pid 1' }] }) });
    expect(e.outcome).toBe('accepted');
  });
});

describe('sanitizer', () => {
  const sanitize = (message: string): SessionResult => ({
    mode: 'sanitize',
    runs: [],
    incidents: [
      {
        kind: 'sanitizer',
        arm: 'C',
        problem: 'sanitize/0',
        message,
        detail: 'Invalid __global__ read of size 4 bytes',
      },
    ],
  });
  test.each([
    ['memcheck: 2 errors', 'memory-error'],
    ['racecheck: 1 error', 'race'],
    ['initcheck: 1 error', 'memory-error'],
    ['synccheck: 1 error', 'runtime-error'],
  ])('%s → %s', (message, outcome) => {
    const e = interpret({ ...clean(), sanitize: sanitize(message) });
    expect(e.outcome).toBe(outcome);
    expect(e.digest).toContain('Invalid __global__ read');
  });
});

describe('bound evaluator', () => {
  test('the screen refuses before anything is built', () => {
    const evaluator = bindEvaluator({
      task: input.task,
      dtype: 'fp32',
      sizeSet: 'large',
      profile: 'none',
      arch: 'native',
      planSeed: 'ab',
    });
    const request = { label: 'x', candidate: { source: '#include <thread>', compileArgs: [] }, best: null, tried: 1 };
    const planned = unwrap(evaluator.plan(request));
    expect(planned.kind).toBe('rejected');
    if (planned.kind !== 'rejected') return;
    expect(planned.evaluation).toMatchObject({ outcome: 'screen-rejected', verified: false });
    expect(planned.evaluation.digest).toMatch(/line 1, include: <thread>/);
    const baseline = unwrap(evaluator.plan({ ...request, candidate: null, tried: 0 }));
    expect(baseline.kind).toBe('job');
  });
});
