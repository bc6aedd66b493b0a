import type {
  Incident,
  Outcome,
  Problem,
  SessionPlan,
  SessionResult,
  TimeResult,
  VerifyPlan,
  VerifyResult,
} from '../contract/index.ts';
import { comparisonPassed, verifiedClean } from '../jobs/verified.ts';
import { failuresOf, patternOf, verifyDigest } from './compare-digest.ts';
import type { EvaluationInput } from './plan.ts';
import { subjectArm } from './plan.ts';
import { labelOf } from './where.ts';
import { wrongResult } from './wrong-result.ts';

/** Something that decides the outcome before any figure does. */
export interface Finding {
  readonly outcome: Outcome;
  readonly reason: string;
  /** For the Debug agent; '' where there is nothing for it to mend. */
  readonly digest: string;
}

type Kind = Incident['kind'];

/** What an incident of the judged arm means. Foreign work voids samples and is no finding. */
const meaning: Readonly<
  Record<Exclude<Kind, 'foreign-work' | 'sampled-wrong' | 'sanitizer'>, { outcome: Outcome; what: string }>
> = {
  timeout: { outcome: 'timeout', what: 'the call did not end in time' },
  crash: { outcome: 'runtime-error', what: 'the process died' },
  'cuda-error': { outcome: 'runtime-error', what: 'CUDA error' },
  load: { outcome: 'compile-error', what: 'the library does not load' },
  guard: { outcome: 'memory-error', what: 'wrote outside its buffers' },
  protocol: { outcome: 'cheat', what: "wrote to the harness's own channel" },
  'input-changed': { outcome: 'cheat', what: 'changed its inputs' },
  'threads-left': { outcome: 'cheat', what: 'left host threads behind' },
  'late-activity': { outcome: 'cheat', what: 'GPU work ran outside of the call' },
  'no-activity': { outcome: 'cheat', what: 'no GPU work was recorded in the call' },
};

/** What may have caused the others first: threads left behind explain a later crash, a crash explains a broken reply. */
const order: readonly Kind[] = [
  'load',
  'threads-left',
  'timeout',
  'crash',
  'cuda-error',
  'guard',
  'protocol',
  'input-changed',
  'late-activity',
  'no-activity',
];

/** The size where it happened, and at how many in all. After a fatal one the rest may not have been tried: no count then. */
function at(incident: Incident, all: readonly Incident[], problems: readonly Problem[]): string {
  if (incident.problem === undefined) return '';
  const alike = all.filter((i) => i.kind === incident.kind && i.arm === incident.arm && i.problem !== undefined);
  const sizes = new Set(alike.map((i) => i.problem)).size;
  const count =
    fatal.has(incident.kind) || sizes < 2 ? '' : `, at ${sizes} of ${problems.length} sizes and inputs in all`;
  return ` (${labelOf(problems, incident.problem)}${count})`;
}

const fatal: ReadonlySet<Kind> = new Set(['timeout', 'crash', 'cuda-error', 'load']);

/** CUDA errors worth a hint: what the text alone does not say. */
const hints: readonly (readonly [RegExp, string])[] = [
  [
    /LaunchOutOfResources/,
    'A launch asked for more registers or shared memory than a multiprocessor has: smaller blocks, or __launch_bounds__.',
  ],
  [
    /InvalidConfiguration|InvalidValue/,
    'A launch or API call had invalid arguments: check grid, block and shared memory sizes for every size of the task.',
  ],
  [
    /IllegalAddress|MisalignedAddress/,
    'A kernel accessed memory outside its buffers, or with a wider type than the address is aligned for.',
  ],
  [/MemoryAllocation/, 'An allocation failed: workspace must be small, and kept between calls.'],
  [/StreamCapture|NotSupported|NotPermitted/, 'An API call is not allowed here.'],
];

function incidentFinding(incident: Incident, all: readonly Incident[], problems: readonly Problem[]): Finding {
  const { outcome, what } = meaning[incident.kind as keyof typeof meaning];
  const reason = `${what}${at(incident, all, problems)}: ${incident.message}`;
  const hint = hints.find(([pattern]) => pattern.test(incident.message))?.[1];
  const digest = [reason, hint, incident.detail].filter((part) => part !== undefined && part !== '').join('\n');
  return { outcome, reason, digest };
}

function firstIncident(
  incidents: readonly Incident[],
  subject: string,
  problems: readonly Problem[],
): (Finding & { kind: Kind }) | null {
  const own = incidents.filter((i) => i.arm === undefined || i.arm === subject);
  for (const kind of order) {
    const found = own.find((incident) => incident.kind === kind);
    if (found) return { ...incidentFinding(found, own, problems), kind };
  }
  return null;
}

/** Incidents of other arms: in a process with the candidate, theirs are its doing; their results were right without it. */
function othersDisturbed(
  incidents: readonly Incident[],
  subject: string,
  problems: readonly Problem[],
): Finding | null {
  // A vendor's library (L) may fail by itself: it proves nothing.
  const found = incidents.find(
    (i) => i.arm !== undefined && i.arm !== subject && i.arm !== 'L' && i.kind !== 'foreign-work',
  );
  if (!found) return null;
  const who = found.arm === 'O' ? 'origin' : found.arm === 'B' ? 'the best version' : `arm ${found.arm}`;
  return {
    outcome: 'interference',
    reason: `${who} failed in the process that holds the candidate${at(found, [found], problems)}: ${found.message}`,
    digest: `In the same process ${who}, which is right alone, failed: ${found.message}. The candidate must not change anything outside its own outputs and workspace.`,
  };
}

/** No GPU work seen in origin either: the recording is at fault. */
const recordingBroken = (incidents: readonly Incident[]): boolean =>
  incidents.some((i) => i.kind === 'no-activity' && i.arm === 'O');

export const environment = (reason: string): Finding => ({ outcome: 'environment', reason, digest: '' });

/** What verification found; null = nothing wrong. */
export function verifyFinding(input: EvaluationInput, plan: VerifyPlan, result: VerifyResult): Finding | null {
  const failures = failuresOf(plan, result);
  const wrong = failures.length > 0 ? wrongResult(plan, result, failures, input.dtype) : null;
  const incident = firstIncident(result.incidents, subjectArm(input), plan.problems);
  if (incident !== null) {
    const { kind, ...finding } = incident;
    // What one call left for the next runs in the next one's place, and can break it: then the crash is the effect.
    if (wrong?.deferred && (kind === 'cuda-error' || kind === 'crash'))
      return {
        outcome: wrong.outcome,
        reason: `${wrong.reason}; also ${finding.reason}`,
        digest: `${wrong.digest}\n\n${finding.digest}`,
      };
    const values = failures.length > 0 ? `\n\n${verifyDigest(plan, result, failures)}` : '';
    return { ...finding, digest: `${finding.digest}${values}` };
  }
  if (wrong !== null) return { outcome: wrong.outcome, reason: wrong.reason, digest: wrong.digest };
  const checked = new Set(result.checks.map((check) => check.problem));
  const missing = plan.problems.filter((problem) => !checked.has(problem.id));
  if (missing.length > 0)
    return environment(`verification did not reach ${missing.length} of ${plan.problems.length} sizes`);
  // What the executor asked before it timed anything: nothing wrong is not yet everything looked at.
  return verifiedClean(plan, result)
    ? null
    : environment('verification is incomplete: calls or outputs were not compared');
}

/**
 * Whether a verification that did not end in time can be laid at the candidate's door: its calls, as long as the first one at each
 * size took, make up half of the time at least. Else the time went into making contents and into the judge, on this machine's processors.
 */
export function tookTheTime(plan: VerifyPlan, result: VerifyResult | null, wallMs: number): boolean {
  const firsts = result?.checks.map((check) => check.firstCallNs).filter((ns) => ns !== null) ?? [];
  const callsMs = (firsts.reduce((sum, ns) => sum + ns, 0) * (plan.seeds + 1)) / 1e6;
  return callsMs >= wallMs / 2;
}

/** Timed calls of an arm at a problem, both quantities. */
const callsOf = (time: TimeResult, arm: string, problem: number): number =>
  time.samples
    .filter((set) => set.problem === problem)
    .reduce((sum, set) => sum + (set.arms[arm as 'C']?.length ?? 0), 0);

const seenTimes = (message: string): number => Number(/\(seen (\d+) times\)/.exec(message)?.[1] ?? 1);

/** Share of wrong timed calls above which chance (a race) is no explanation. */
const SYSTEMATIC = 0.3;

/** Errors up to this many times the limit are rounding that grew with the size; a race or a stale value is farther off somewhere. */
const CLOSE = 4;

/** The call that was compared whole errs a little everywhere it errs: no race, its arithmetic does not hold the limit at this size. */
function closeToLimit(whole: TimeResult['whole'][number], where: string): Finding | null {
  const bad = whole.outputs.filter((o) => o.bad > 0 || o.nonFinite > 0);
  const worst = Math.max(...whole.outputs.map((o) => o.worst ?? Number.POSITIVE_INFINITY));
  if (bad.length === 0 || bad.some((o) => o.nonFinite > 0) || !(worst <= CLOSE)) return null;
  const counts = bad.map((o) => `${o.bad} of ${o.compared} elements of ${o.output}`).join(', ');
  const reason = `right at the sizes of the verification; at ${where} ${counts} exceed the limit, by a factor of ${worst.toPrecision(3)} at most: an error that grows with the size, as of long sums in one accumulator`;
  return { outcome: 'wrong-result', reason, digest: reason };
}

/** Wrong in timed calls though verified: often = the result depends on earlier calls, seldom = a race. */
function wrongWhenTimed(
  subject: string,
  plan: Extract<SessionPlan, { mode: 'time' }>,
  time: TimeResult,
): Finding | null {
  const sampled = time.incidents.find((i) => i.kind === 'sampled-wrong' && (i.arm === undefined || i.arm === subject));
  const whole = time.whole.find(
    (w) => w.arm === subject && w.outputs.some((o) => !comparisonPassed(o, plan.problems[w.problem])),
  );
  if (!sampled && !whole) return null;
  const id = sampled?.problem ?? plan.problems[whole?.problem ?? 0]?.id ?? '';
  if (!sampled && whole) {
    const close = closeToLimit(whole, labelOf(plan.problems, id));
    if (close !== null) return close;
  }
  const calls = callsOf(
    time,
    subject,
    plan.problems.findIndex((p) => p.id === id),
  );
  const wrong = sampled ? seenTimes(sampled.message) : 1;
  const outcome = calls > 0 && wrong / calls >= SYSTEMATIC ? 'cheat' : 'race';
  const why =
    outcome === 'cheat'
      ? 'the result depends on earlier calls (something is kept that must not be)'
      : 'a race, or something kept between calls';
  const reason = `right when verified, wrong in ${wrong} of ${calls} timed calls at ${labelOf(plan.problems, id)}: ${why}`;
  return { outcome, reason, digest: [reason, sampled?.message, sampled?.detail].filter(Boolean).join('\n') };
}

/** What a timing session found apart from figures; null = nothing wrong. */
export function timeFinding(
  input: EvaluationInput,
  plan: Extract<SessionPlan, { mode: 'time' }>,
  time: TimeResult,
): Finding | null {
  const subject = subjectArm(input);
  if (recordingBroken(time.incidents))
    return environment('GPU activity records are missing for origin too: CUPTI does not work here');
  const incident = firstIncident(time.incidents, subject, plan.problems);
  if (incident !== null) return { outcome: incident.outcome, reason: incident.reason, digest: incident.digest };
  return (
    wrongWhenTimed(subject, plan, time) ??
    (subject === 'C' ? othersDisturbed(time.incidents, subject, plan.problems) : null)
  );
}

/** Right when verified, wrong in some of the repeated calls: blocks that get in each other's way. */
function repeatedFinding(
  plan: Extract<SessionPlan, { mode: 'sanitize' }>,
  result: Extract<SessionResult, { mode: 'sanitize' }>,
): Finding | null {
  const races = result.races ?? [];
  const worst = races.filter((r) => r.wrong > 0).sort((a, b) => b.wrong / b.calls - a.wrong / a.calls)[0];
  if (worst === undefined) return null;
  const [wrong, calls] = [races.reduce((n, r) => n + r.wrong, 0), races.reduce((n, r) => n + r.calls, 0)];
  const load = worst.load === 'alone' ? 'alone on the GPU' : `beside ${worst.load} of another process`;
  const reason = `right when verified, wrong in ${wrong} of ${calls} repeated calls, most often ${load} at ${labelOf(plan.problems, worst.problem)}: a race between blocks`;
  const shown = worst.outputs.filter((o) => o.bad > 0 || o.nonFinite > 0);
  const lines = shown.map((o) => `output ${o.output}: ${patternOf(o) || `${o.bad} of ${o.compared} elements wrong`}`);
  const hint =
    'Blocks run in any order and at any time: look for results that pass between blocks without an atomic or a second kernel, and for global memory that one block reads while another writes it.';
  return { outcome: 'race', reason, digest: [reason, ...lines, hint].join('\n') };
}

/** What the sanitizer found; null = nothing. */
export function sanitizeFinding(
  plan: Extract<SessionPlan, { mode: 'sanitize' }>,
  result: Extract<SessionResult, { mode: 'sanitize' }>,
): Finding | null {
  const found = result.incidents.find((i) => i.kind === 'sanitizer');
  if (!found) {
    const repeated = repeatedFinding(plan, result);
    if (repeated !== null) return repeated;
    const incident = firstIncident(result.incidents, 'C', plan.problems);
    return incident && { outcome: incident.outcome, reason: incident.reason, digest: incident.digest };
  }
  const race = found.message.startsWith('racecheck');
  const sync = found.message.startsWith('synccheck');
  const outcome: Outcome = race ? 'race' : sync ? 'runtime-error' : 'memory-error';
  const reason = `compute-sanitizer ${found.message}${at(found, [found], plan.problems)}`;
  return { outcome, reason, digest: [reason, found.detail].filter(Boolean).join('\n').slice(0, 6000) };
}
