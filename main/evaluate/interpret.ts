import {
  type Evaluation,
  type JobBundle,
  type JobResult,
  type Profile,
  type Sanitized,
  type SessionPlan,
  type SessionResult,
  type StepResult,
  sanitizeRemark,
  type TimeResult,
} from '../contract/index.ts';
import { thresholdsFor } from '../profile/calibrate.ts';
import { interpretProfile, noProfile } from '../profile/interpret.ts';
import { kernelStatics } from '../profile/ptxas.ts';
import { sessionPeaks } from '../profile/roofline.ts';
import { type Decision, decide } from './accept.ts';
import { buildFacts, diagnosticsOf, firstError } from './build-facts.ts';
import { failuresOf } from './compare-digest.ts';
import { bootstrapped, type FiguresInput, figuresOf } from './figures.ts';
import { environment, type Finding, sanitizeFinding, timeFinding, tookTheTime, verifyFinding } from './findings.ts';
import { floorNs } from './floor.ts';
import { libraryFigures } from './library.ts';
import { numericsOf } from './numerics.ts';
import { type EvaluationInput, profiledProblem, scoredProblems, stepIds, subjectArm } from './plan.ts';
import { pagesOf } from './profile-pages.ts';
import { bytesOf, flopsOf } from './task/index.ts';

type Mode = SessionResult['mode'];
type ResultOf<M extends Mode> = Extract<SessionResult, { mode: M }>;
type PlanOf<M extends Mode> = Extract<SessionPlan, { mode: M }>;

/** Looks steps, plans and results up by id. */
class Steps {
  private readonly bundle: JobBundle;
  private readonly result: JobResult;
  constructor(bundle: JobBundle, result: JobResult) {
    this.bundle = bundle;
    this.result = result;
  }
  /** The GPU that ran the job, and its driver. */
  machine(): { readonly uuid: string | null; readonly driver: string | null } {
    const { gpu, driver } = this.result.machine;
    return { uuid: gpu?.uuid ?? null, driver };
  }
  step(id: string): StepResult | null {
    return this.result.steps.find((step) => step.id === id) ?? null;
  }
  session<M extends Mode>(
    id: string,
    mode: M,
  ): { plan: PlanOf<M>; step: StepResult; result: ResultOf<M> | null } | null {
    const step = this.step(id);
    const planned = this.bundle.job.steps.find((s) => s.id === id);
    if (step === null || planned?.kind !== 'session' || planned.plan.mode !== mode) return null;
    const result = step.session?.mode === mode ? (step.session as ResultOf<M>) : null;
    return { plan: planned.plan as PlanOf<M>, step, result };
  }
}

const why = (step: StepResult): string =>
  [step.reason?.message ?? `step ${step.id} ended with "${step.status}"`, step.reason?.remedy]
    .filter(Boolean)
    .join(' ');

/** What the builds say. The candidate's own compiler errors are its fault; everything else is not. */
function buildFinding(input: EvaluationInput, steps: Steps): Finding | null {
  const subject = input.candidate === null ? stepIds.origin : stepIds.candidate;
  for (const id of [stepIds.runner, stepIds.judge, stepIds.shim, stepIds.origin, stepIds.best, stepIds.candidate]) {
    const step = steps.step(id);
    if (step === null || step.status === 'ok') continue;
    // A form that its user has not filled in, say.
    if (id === stepIds.judge && step.status === 'failed' && input.task.task.category === 'user')
      return environment(`reference.h of the task does not compile: ${firstError(diagnosticsOf(step)) || why(step)}`);
    if (id !== subject || step.status === 'environment' || step.status === 'skipped')
      return environment(
        id === subject ? why(step) : `${id} failed: ${why(step)} ${firstError(diagnosticsOf(step))}`.trim(),
      );
    const diagnostics = diagnosticsOf(step);
    if (step.status === 'failed')
      return { outcome: 'compile-error', reason: firstError(diagnostics) || why(step), digest: diagnostics };
    return tooHeavy(step);
  }
  return null;
}

/** The compiler was stopped or died over this file, while others of the same job went through: not an error in the code, but its weight. */
function tooHeavy(step: StepResult): Finding {
  const reason = `too heavy to compile: ${step.reason?.message ?? `the compiler was ${step.status === 'timeout' ? 'stopped' : 'killed'}`}`;
  const outcome = step.status === 'timeout' ? 'timeout' : 'compile-error';
  return { outcome, reason, digest: `${reason}\nUse fewer template instances and less unrolling.` };
}

/** A session that has no (whole) result. */
function statusFinding(step: StepResult): Finding | null {
  if (step.status === 'ok') return null;
  if (step.status === 'timeout')
    return {
      outcome: 'timeout',
      reason: `${step.id}: ${why(step)}`,
      digest: `The candidate is too slow: ${why(step)}`,
    };
  return environment(`${step.id}: ${why(step)}`);
}

function verification(input: EvaluationInput, steps: Steps): Finding | null {
  const verify = steps.session(stepIds.verify, 'verify');
  if (verify === null) return environment('the job was not verified');
  const found = verify.result === null ? null : verifyFinding(input, verify.plan, verify.result);
  // A finding of a session that did not end may still name the culprit; an incomplete one without any does not prove anything.
  if (verify.step.status !== 'ok') {
    const status = statusFinding(verify.step) as Finding;
    if (status.outcome !== 'timeout') return status;
    if (found !== null && found.outcome !== 'environment') return found;
    if (tookTheTime(verify.plan, verify.result, verify.step.wallMs)) return status;
    return environment(`${verify.step.id}: ${why(verify.step)} The candidate's own calls took little of it.`);
  }
  return verify.result === null ? environment(`${verify.step.id}: ${why(verify.step)}`) : found;
}

function timing(
  input: EvaluationInput,
  steps: Steps,
  id: string,
): { finding: Finding | null; time: TimeResult | null } {
  const session = steps.session(id, 'time');
  if (session === null || session.step.status === 'skipped') return { finding: null, time: null };
  const finding =
    (session.result === null ? null : timeFinding(input, session.plan, session.result)) ?? statusFinding(session.step);
  return { finding, time: session.result };
}

function figuresInput(input: EvaluationInput, time: TimeResult, flush: string, seed: string): FiguresInput {
  const { problems, weights } = scoredProblems(input);
  const { task } = input.task;
  const floors = problems.map((problem) =>
    time.gpu === null || time.peaks === null
      ? null
      : floorNs({
          dtype: input.dtype,
          flops: flopsOf(task, input.dtype, problem),
          bytes: bytesOf(task, input.dtype, problem),
          flushed: flush !== 'none',
          gpu: time.gpu,
          peaks: time.peaks,
        }),
  );
  return {
    time,
    problems,
    weights,
    floors,
    hasBest: input.best !== null && input.candidate !== null,
    hasCandidate: input.candidate !== null,
    seed,
  };
}

/** Figures and decision of a job whose results are right. */
function measured(
  input: EvaluationInput,
  steps: Steps,
  seed: string,
): Finding & Pick<Evaluation, 'figures'> & { readonly hint?: string } {
  const confirm = timing(input, steps, stepIds.confirm);
  const nominate = timing(input, steps, stepIds.nominate);
  const finding = nominate.finding ?? confirm.finding;
  if (finding !== null) return { ...finding, figures: null };
  const flush = steps.session(stepIds.confirm, 'time')?.plan.flush ?? 'none';
  if (input.candidate === null) {
    if (confirm.time === null) return { ...environment('origin was not timed'), figures: null };
    const figures = baselineFigures(figuresInput(input, confirm.time, flush, seed));
    if (figures === null) return { ...environment('too few valid samples of origin'), figures };
    return {
      outcome: 'valid',
      reason: `origin verified and timed at ${figures.sizes.length} sizes${unseen(confirm.time)}`,
      digest: '',
      figures,
    };
  }
  if (confirm.time !== null) {
    // Peaks are measured once per session; the first sample's serve when the confirming one has none.
    const time = { ...confirm.time, peaks: confirm.time.peaks ?? nominate.time?.peaks ?? null };
    const decision: Decision = decide(figuresInput(input, time, flush, seed), input.tries);
    return { ...decision, reason: `${decision.reason}${unseen(time)}`, digest: digestOf(decision) };
  }
  if (nominate.time === null) return { ...environment('the candidate was not timed'), figures: null };
  const { pointR } = nominate.time;
  if (pointR === null)
    return {
      ...environment(`the first sample gave no estimate: ${nominate.time.voided} calls were void`),
      figures: null,
    };
  const figures = baselineFigures(figuresInput(input, nominate.time, flush, seed));
  const bar = steps.session(stepIds.nominate, 'time')?.plan.nominateAbove ?? Number.POSITIVE_INFINITY;
  return {
    outcome: 'not-faster',
    reason: notNominated(pointR <= bar),
    hint: `first sample: R = ${pointR.toFixed(3)}x against the best, not nominated`,
    digest: '',
    figures,
  };
}

/** Without a number: what a first sample shows is no result, and nobody shall quote it as one. */
const notNominated = (belowBar: boolean): string =>
  belowBar
    ? 'the first sample was not above the bar for a confirming measurement, so no times are reported'
    : 'the first sample was faster but not whole or not undisturbed, so there was no confirming measurement and no times are reported';

/** Remark on figures that other programs may have disturbed, unknown to anybody. */
const unseen = (time: TimeResult): string =>
  time.foreignLooked === false
    ? ' (whether other programs used the GPU meanwhile is not known: the driver gives no list of them)'
    : '';

const digestOf = (decision: Decision): string =>
  decision.outcome === 'interference' || decision.outcome === 'suspect' ? decision.reason : '';

function baselineFigures(input: FiguresInput): Evaluation['figures'] {
  const span = bootstrapped(input, 'span');
  return span === null ? null : figuresOf(input, span, bootstrapped(input, 'wrapper'));
}

/** Sanitizer: its findings, and whether it could look at all. */
function sanitizing(steps: Steps): { finding: Finding | null; sanitized: Sanitized } {
  const session = steps.session(stepIds.sanitize, 'sanitize');
  if (session === null) return { finding: null, sanitized: { state: 'no', why: 'the job had no such step' } };
  const { step, result, plan } = session;
  const finding = result === null || step.status === 'skipped' ? null : sanitizeFinding(plan, result);
  const all = result?.runs.length ?? 0;
  const done = result?.runs.filter((run) => run.errors !== null).length ?? 0;
  const state = done === 0 ? 'no' : 'partly';
  if (step.status !== 'ok') return { finding, sanitized: { state, why: why(step) } };
  if (all === 0) return { finding, sanitized: { state, why: 'it was never run' } };
  if (done < all)
    return { finding, sanitized: { state, why: `${all - done} of ${all} sanitizer runs did not end in time` } };
  return { finding, sanitized: { state: 'yes', why: '' } };
}

function profileOf(input: EvaluationInput, steps: Steps): Profile | null {
  const time =
    steps.session(stepIds.confirm, 'time')?.result ?? steps.session(stepIds.nominate, 'time')?.result ?? null;
  return profileAfter(input, steps, time);
}

/** `time`: where CUPTI has seen the launches that the profile must show. */
function profileAfter(input: EvaluationInput, steps: Steps, time: TimeResult | null): Profile | null {
  const session = steps.session(stepIds.profile, 'profile');
  if (session === null || session.step.status === 'skipped') return null;
  const { plan, step, result } = session;
  const at = { problem: plan.problem.id, ncuVersion: result?.ncuVersion ?? null };
  if (result === null)
    return noProfile(step.reason?.message ?? `the profile step ended with "${step.status}"`, step.reason?.remedy, at);
  const { problems, weights } = scoredProblems(input);
  const index = profiledProblem(problems, weights);
  const activities = time?.activities.filter((a) => a.arm === subjectArm(input) && a.problem === index) ?? null;
  const fault = step.status === 'ok' ? undefined : step.reason;
  const limits = thresholdsFor(input.calibration ?? null, steps.machine());
  const own = steps.step(input.candidate === null ? stepIds.origin : stepIds.candidate);
  return interpretProfile(result, {
    problem: plan.problem.id,
    activities,
    fault,
    mode: input.profile,
    pages: pagesOf(result),
    peaks: sessionPeaks(time?.peaks ?? steps.session(stepIds.nominate, 'time')?.result?.peaks ?? null),
    statics: own === null ? undefined : kernelStatics(`${own.stderr}\n${own.stdout}`),
    texts: textsOf(input),
    maxLaunches: plan.maxLaunches,
    ...(limits.calibrated ? { thresholds: limits.thresholds, thresholdsFrom: limits.why } : {}),
  });
}

/** Sources under their names in scratch: ncu does not always find the text of a line. */
const textsOf = ({ task, dtype, candidate }: EvaluationInput): Record<string, string> => ({
  'origin.cu': task.origin[dtype],
  ...(candidate === null ? {} : { 'candidate.cu': candidate.source }),
});

/** The profile of a job that was planned with `only: 'profile'`; why there is none, where a step before it failed. */
export function interpretProfileOnly(
  input: EvaluationInput,
  bundle: JobBundle,
  result: JobResult,
  time: TimeResult | null,
): Profile {
  const found = profileAfter(input, new Steps(bundle, result), time);
  if (found !== null) return found;
  const failed = result.steps.find((step) => step.status !== 'ok' && step.status !== 'skipped');
  return noProfile(failed ? `${failed.id} failed: ${why(failed)}` : 'the job has no profile step');
}

/**
 * Worst errors over all checks of the verification, ulp of the stored type and as a share of the limit. Of outputs stored in bf16 the
 * share is near 1 for the best kernel too (99.4 % seen): the limit holds half an ulp for the final rounding, which every result spends
 * at some element, and hardly more. There it says how little room is left, not how good the sums are.
 */
function errorOf(steps: Steps): Evaluation['error'] {
  const result = steps.session(stepIds.verify, 'verify')?.result;
  if (!result || result.checks.length === 0) return null;
  const all = result.checks.flatMap((check) => check.outputs.map((output) => ({ problem: check.problem, output })));
  const top = (pick: (o: (typeof all)[number]['output']) => number | null): number | null => {
    const values = all.map(({ output }) => pick(output)).filter((v) => v !== null);
    return values.length === 0 ? null : Math.max(...values);
  };
  const worstOfLimit = top((o) => o.worst);
  return {
    maxUlp: top((o) => o.maxUlp),
    rmsUlp: top((o) => o.rmsUlp),
    worstOfLimit,
    problem: all.find(({ output }) => output.worst === worstOfLimit)?.problem ?? null,
  };
}

function numericsIn(input: EvaluationInput, steps: Steps): Evaluation['numerics'] {
  const verify = steps.session(stepIds.verify, 'verify');
  const confirm = steps.session(stepIds.confirm, 'time');
  return numericsOf({
    subject: subjectArm(input),
    verify: verify?.result ? { problems: verify.plan.problems, result: verify.result } : null,
    confirm: confirm?.result ? { problems: confirm.plan.problems, result: confirm.result } : null,
    origin: input.originNumerics ?? null,
  });
}

function wrongOf(steps: Steps): Evaluation['wrong'] {
  const verify = steps.session(stepIds.verify, 'verify');
  if (!verify?.result) return [];
  return failuresOf(verify.plan, verify.result)
    .slice(0, 20)
    .map(({ check, outputs }) => ({ problem: check.problem, seed: check.seed, outputs: [...outputs] }));
}

/** The library arm of the job; undefined: it has none. */
function libraryOf(input: EvaluationInput, steps: Steps, seed: string): Evaluation['library'] {
  const source = input.task.library;
  const build = steps.step(stepIds.library);
  if (build === null || source === null) return undefined;
  const time = steps.session(stepIds.confirm, 'time');
  return libraryFigures({
    source,
    build,
    verify: steps.session(stepIds.verifyLibrary, 'verify'),
    time: time?.result ?? null,
    figures: time?.result ? figuresInput(input, time.result, time.plan.flush, seed) : null,
  });
}

/** A launch that asked for too much: what each kernel takes, and what that allows on this GPU. */
function withResources(digest: string, build: StepResult | null, gpu: Evaluation['gpu']): string {
  if (!digest.includes('LaunchOutOfResources') || build === null) return digest;
  const lines = kernelStatics(`${build.stderr}\n${build.stdout}`).flatMap(({ kernel, registers, sharedBytes }) => {
    if (registers === null) return [];
    const shared = sharedBytes === null ? '' : ` and ${sharedBytes} bytes of static shared memory a block`;
    // Registers are given to warps of 32 threads, in units of 8 a thread.
    const warps = gpu === null ? null : Math.floor(gpu.regsPerSm / (32 * 8 * Math.ceil(Math.max(registers, 1) / 8)));
    const limit =
      gpu === null || warps === null
        ? ''
        : `; of the ${gpu.regsPerSm} registers of a multiprocessor that leaves room for ${Math.min(1024, 32 * warps)} threads a block at most`;
    return [`${kernel}: ${registers} registers a thread${shared}${limit}.`];
  });
  return [digest, ...lines].join('\n');
}

/**
 * Raw results of an evaluation's job → what they mean. Pure and deterministic for one job and result.
 * Environment faults never look like faults of the candidate: their digest is empty and their outcome says so.
 */
export function interpretEvaluation(input: EvaluationInput, bundle: JobBundle, result: JobResult): Evaluation {
  const steps = new Steps(bundle, result);
  const unfit = buildFinding(input, steps) ?? verification(input, steps);
  const verified = unfit === null;
  const sanitizer = verified ? sanitizing(steps) : { finding: null, sanitized: null };
  const found = unfit === null ? measured(input, steps, result.jobHash) : { ...unfit, figures: null };
  const blocked = unfit !== null || found.outcome === 'environment';
  const final = !blocked && sanitizer.finding !== null ? { ...found, ...sanitizer.finding } : found;
  const sessions = result.steps.map((step) => step.session).filter((session) => session !== undefined);
  const own = steps.step(input.candidate === null ? stepIds.origin : stepIds.candidate);
  const library = libraryOf(input, steps, result.jobHash);
  const gpu = sessions.map((session) => ('gpu' in session ? session.gpu : null)).find((each) => each !== null) ?? null;
  const sanitized = final.outcome === 'accepted' || final.outcome === 'trade-off' ? sanitizer.sanitized : null;
  return {
    outcome: final.outcome,
    reason: `${final.reason}${sanitized === null ? '' : sanitizeRemark(sanitized)}`,
    ...('hint' in final && final.hint !== undefined ? { hint: final.hint } : {}),
    digest: final.outcome === 'environment' ? '' : withResources(final.digest, own, gpu),
    verified,
    figures: final.figures,
    error: errorOf(steps),
    numerics: numericsIn(input, steps),
    wrong: wrongOf(steps),
    incidents: sessions.flatMap((session) => session.incidents),
    build: own?.status === 'ok' || own?.status === 'failed' ? buildFacts(own) : null,
    profile: verified ? profileOf(input, steps) : null,
    gpu,
    machine: result.machine,
    jobWallMs: result.wallMs,
    ...(library === undefined ? {} : { library }),
    ...(sanitized === null ? {} : { sanitized }),
  };
}
