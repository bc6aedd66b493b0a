import { sha256Hex } from '../base/hash.ts';
import {
  AppFailure,
  type Arm,
  type Calibration,
  type Dtype,
  err,
  FORMAT,
  type JobBundle,
  type Numerics,
  ok,
  type Problem,
  type ProfileMode,
  type Result,
  type SessionPlan,
  type SessionStep,
  type SizeSet,
  type Step,
} from '../contract/index.ts';
import { shimSource, type Variant, versionScript } from '../jobs/session/shim.ts';
import { KEEP_LAUNCHES, MAX_LAUNCHES, profileStages, verdictMetricIds } from '../profile/collect.ts';
import { rooflineIds } from '../profile/roofline.ts';
import { buildIds, harnessFiles, harnessSteps, libraryStep, made } from './builds.ts';
import { defaults } from './defaults.ts';
import { linkArguments } from './libraries.ts';
import {
  allocatedBytes,
  candidateName,
  type LoadedTask,
  libraryName,
  originName,
  problemsOf,
  sanitizeProblems,
  verifyProblems,
  weightsOf,
} from './task/index.ts';

/** One version of a kernel: its source and its own compiler arguments (checked against the allow-list before they get here). */
export interface Version {
  readonly source: string;
  readonly compileArgs: readonly string[];
}

/** What an evaluation is about. Everything in it is reproducible: the same input gives the same job and hash. */
export interface EvaluationInput {
  readonly task: LoadedTask;
  readonly dtype: Dtype;
  /** null: a baseline (origin verified, timed alone, profiled). */
  readonly candidate: Version | null;
  /** null while origin is the best. */
  readonly best: Version | null;
  readonly sizeSet: SizeSet;
  readonly profile: ProfileMode;
  /** 'native' or sm_NN. */
  readonly arch: string;
  /** Candidates tried in this run, this one included: corrects the level of acceptance. */
  readonly tries: number;
  /** Hex; fixes the ragged sizes. Seeds of contents are drawn at run time and are not in the plan. */
  readonly planSeed: string;
  /** 'host': everything without a GPU (tests); timing then means nothing. Default 'gpu'. */
  readonly variant?: Variant;
  /** Origin's errors in the run's baseline: shown beside the candidate's, no part of the job. */
  readonly originNumerics?: readonly Numerics[] | null;
  /** Human label of the job, "dot_product fp32 r1.a0". */
  readonly label: string;
  /** true: the task's library.cu is built, verified and timed beside the others (arm L); its failure is no fault of anything else. */
  readonly library?: boolean;
  /** How much is measured of a baseline; default `baseline`. */
  readonly amount?: 'baseline' | 'suite' | 'suiteLarge';
  /** Thresholds measured on the GPU that will run the job; results of another GPU or driver are judged by the paper's. */
  readonly calibration?: Calibration | null;
  /** 'profile': nothing but the profile, for what has been verified elsewhere. */
  readonly only?: 'profile';
}

export const stepIds = {
  ...buildIds,
  verify: 'verify',
  verifyLibrary: 'verify-library',
  nominate: 'time-nominate',
  confirm: 'time-confirm',
  sanitize: 'sanitize',
  profile: 'profile',
} as const;

/** The scored problems with their weights, in the task's order. */
export function scoredProblems(input: EvaluationInput): { problems: Problem[]; weights: number[] } {
  const problems = problemsOf(input.task.task, input.dtype, input.sizeSet);
  return { problems, weights: weightsOf(input.task.task, input.dtype, problems) };
}

/** The problem that is profiled: the largest of the scored set, by weight, then by bytes. */
export function profiledProblem(problems: readonly Problem[], weights: readonly number[]): number {
  let best = 0;
  for (let i = 1; i < problems.length; i++) {
    const heavier = (weights[i] as number) - (weights[best] as number);
    const larger = allocatedBytes(problems[i] as Problem) - allocatedBytes(problems[best] as Problem);
    if (heavier > 0 || (heavier === 0 && larger > 0)) best = i;
  }
  return best;
}

/** Arm whose merits are judged: the candidate, or origin in a baseline. */
export const subjectArm = (input: EvaluationInput): 'C' | 'O' => (input.candidate === null ? 'O' : 'C');

interface Arms {
  readonly origin: Arm;
  readonly best: Arm | null;
  readonly candidate: Arm | null;
  readonly library: Arm | null;
}

function armsOf(input: EvaluationInput): Arms {
  const own = candidateName(input.task.task, input.dtype);
  const origin: Arm = { id: 'O', lib: made.origin, symbol: originName(input.task.task, input.dtype) };
  return {
    origin,
    best: input.best && input.candidate ? { id: 'B', lib: made.best, symbol: own } : null,
    candidate: input.candidate ? { id: 'C', lib: made.candidate, symbol: own } : null,
    library: input.library === true && input.task.library !== null ? libraryArm(input) : null,
  };
}

const libraryArm = ({ task, dtype }: EvaluationInput): Arm => ({
  id: 'L',
  lib: made.library,
  symbol: libraryName(task.task, dtype),
});

/** Files in scratch by name, and the build steps over them. */
function builds(input: EvaluationInput, arms: Arms): { files: Map<string, string>; steps: Step[] } {
  const { task, dtype } = input;
  const harness = harnessFiles();
  const files = new Map(harness);
  files.set('reference.h', task.reference as string);
  files.set('shim.cpp', shimSource(task.task, dtype));
  files.set('origin.map', versionScript(arms.origin.symbol));
  files.set('origin.cu', task.origin[dtype]);
  const headers = [...harness.keys()].filter((name) => name.endsWith('.h'));
  const variant = input.variant ?? 'gpu';
  const steps: Step[] = harnessSteps(task.task.id, variant, headers, isOwn(input));
  const add = (
    name: 'origin' | 'best' | 'candidate' | 'library',
    map: string,
    own: readonly string[],
    untrusted: boolean,
  ) =>
    steps.push(
      libraryStep(
        buildIds[name],
        variant,
        { source: `${name}.cu`, versionScript: map, output: made[name] },
        own,
        untrusted,
      ),
    );
  add('origin', 'origin.map', [], isOwn(input));
  for (const [name, arm, version] of [
    ['best', arms.best, input.best],
    ['candidate', arms.candidate, input.candidate],
  ] as const) {
    if (arm === null || version === null) continue;
    files.set('optimized.map', versionScript(arm.symbol));
    files.set(`${name}.cu`, version.source);
    add(name, 'optimized.map', version.compileArgs, true);
  }
  if (arms.library !== null) {
    const source = task.library as string;
    files.set('library.map', versionScript(arms.library.symbol));
    files.set('library.cu', source);
    add('library', 'library.map', linkArguments(source), isOwn(input));
  }
  return { files, steps };
}

/** A task of the user's own: its reference is not ours, so what holds it is contained. */
const isOwn = ({ task }: EvaluationInput): boolean => task.task.category === 'user';

const programsOf = (input: EvaluationInput) => ({
  runner: made.runner,
  judge: made.judge,
  shim: made.shim,
  ...(isOwn(input) ? { judgeContained: true } : {}),
});

/** Every session after verification runs only if that found the results right. */
function session(id: string, needs: string[], plan: SessionPlan, ifNominated?: string): SessionStep {
  const limits = defaults.limits[plan.mode as 'verify' | 'time' | 'sanitize' | 'profile'];
  return {
    kind: 'session',
    id,
    needs,
    ...(id === stepIds.verify || id === stepIds.verifyLibrary ? {} : { ifVerified: stepIds.verify }),
    ...(ifNominated === undefined ? {} : { ifNominated }),
    plan,
    limits,
  };
}

type Phase = 'nominate' | 'confirm';

function timeStep(
  input: EvaluationInput,
  arms: Arms,
  phase: Phase,
  needs: string[],
  ifNominated?: string,
): SessionStep {
  const { problems, weights } = scoredProblems(input);
  // The first sample only asks whether the candidate is worth a proper one.
  const library = phase === 'confirm' ? arms.library : null;
  const { time } = defaults;
  const amount = input.candidate === null ? time[input.amount ?? 'baseline'] : time[phase];
  const plan: SessionPlan = {
    mode: 'time',
    ...programsOf(input),
    phase,
    arms: [arms.origin, arms.best, arms.candidate, library].filter((arm) => arm !== null),
    problems,
    weights,
    processes: amount.processes,
    soloProcesses: amount.soloProcesses,
    blocks: amount.blocks,
    quantities: [...amount.quantities],
    flush: time.flush,
    gate: time.gate,
    positions: time.positions,
    ...('checkedBlocks' in amount ? { checkedBlocks: amount.checkedBlocks } : {}),
    nominateAbove: time.nominateAbove,
  };
  const step = session(phase === 'nominate' ? stepIds.nominate : stepIds.confirm, needs, plan, ifNominated);
  return library === null ? step : { ...step, optionalArms: [{ arm: 'L', ifVerified: stepIds.verifyLibrary }] };
}

function profileStep(input: EvaluationInput, arm: Arm, needs: string[]): SessionStep {
  const { problems, weights } = scoredProblems(input);
  return session(stepIds.profile, needs, {
    mode: 'profile',
    ...programsOf(input),
    arm,
    problem: problems[profiledProblem(problems, weights)] as Problem,
    sections: [],
    maxLaunches: MAX_LAUNCHES,
    keepLaunches: KEEP_LAUNCHES,
    // Suites want class and roofline of every kernel from one start of ncu each; an optimization wants the evidence too.
    ...(input.only === 'profile'
      ? { metrics: [...new Set([...verdictMetricIds(), ...rooflineIds()])], source: false }
      : {
          metrics: verdictMetricIds(),
          source: true,
          ...(input.profile === 'full' ? { set: 'full' } : { stages: profileStages(input.calibration?.thresholds) }),
        }),
  });
}

/** Without values to compare there is no judge, and no other version than the profiled one. */
const profileNeeds = (input: EvaluationInput): ReadonlySet<string> =>
  new Set([stepIds.runner, stepIds.shim, input.candidate === null ? stepIds.origin : stepIds.candidate]);

function sessions(input: EvaluationInput, arms: Arms, builds: readonly Step[]): Step[] {
  const { task, dtype, planSeed } = input;
  const subject = arms.candidate ?? arms.origin;
  const needed = builds.map((step) => step.id).filter((id) => id !== stepIds.library);
  if (input.only === 'profile') {
    const { ifVerified: _, ...step } = profileStep(input, subject, needed);
    return [step];
  }
  const verifyArm = (id: string, arm: Arm, needs: string[]): SessionStep =>
    session(id, needs, {
      mode: 'verify',
      ...programsOf(input),
      arm,
      problems: verifyProblems(task.task, dtype, planSeed),
      seeds: defaults.verify.seeds,
    });
  const library = arms.library ? [verifyArm(stepIds.verifyLibrary, arms.library, [stepIds.library])] : [];
  const verify = [verifyArm(stepIds.verify, subject, needed), ...library];
  const after = [stepIds.verify];
  const profile = input.profile === 'none' ? [] : [profileStep(input, subject, after)];
  if (arms.candidate === null) return [...verify, timeStep(input, arms, 'confirm', after), ...profile];
  return [
    ...verify,
    timeStep(input, arms, 'nominate', after),
    timeStep(input, arms, 'confirm', after, stepIds.nominate),
    session(
      stepIds.sanitize,
      after,
      {
        mode: 'sanitize',
        ...programsOf(input),
        arm: arms.candidate,
        tools: [...defaults.sanitize.tools],
        problems: sanitizeProblems(task.task, dtype, planSeed),
        races: defaults.sanitize.races,
      },
      stepIds.nominate,
    ),
    ...profile,
  ];
}

/** Inputs that no job can be made of. */
function check(input: EvaluationInput): Result<null> {
  const { task, dtype, sizeSet } = input;
  if (!task.task.dtypes.includes(dtype))
    return err('input.task', `Task ${task.task.id} has no ${dtype} version.`, {
      remedy: `It has: ${task.task.dtypes.join(', ')}.`,
    });
  if (task.task.sizes[sizeSet].length === 0)
    return err('input.task', `Task ${task.task.id} has no sizes in the set "${sizeSet}".`);
  if (task.reference === null)
    return err('input.task', `Task ${task.task.id} has no reference.h, so results cannot be proven correct.`, {
      remedy: 'Write reference.h (kernels/harness/PROTOCOL.md describes it).',
    });
  return ok(null);
}

/**
 * Task and versions → the job of one evaluation: builds, verification, timing (a first sample that may nominate, then the confirming
 * one), sanitizer, profile. Pure apart from reading the harness's files. Errors: `input.task`.
 */
export function planEvaluation(input: EvaluationInput): Result<JobBundle> {
  const checked = check(input);
  if (!checked.ok) return checked;
  try {
    const arms = armsOf(input);
    const all = builds(input, arms);
    const { files } = all;
    const steps = input.only === 'profile' ? all.steps.filter((step) => profileNeeds(input).has(step.id)) : all.steps;
    const contents = new Map<string, string>();
    const hashes: Record<string, string> = {};
    for (const [name, text] of files) {
      const hash = sha256Hex(text);
      hashes[name] = hash;
      contents.set(hash, text);
    }
    const job = {
      version: FORMAT.job,
      label: input.label,
      arch: input.arch,
      files: hashes,
      steps: [...steps, ...sessions(input, arms, steps)],
      keep: [],
    };
    return ok({ job, contents });
  } catch (cause) {
    if (cause instanceof AppFailure) return { ok: false, error: cause.error };
    throw cause;
  }
}
