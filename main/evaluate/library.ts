import type { LibraryFigures, StepResult, TimeResult, VerifyPlan, VerifyResult } from '../contract/index.ts';
import { verifiedClean } from '../jobs/verified.ts';
import { bootstrap, estimate, type Spread } from './bootstrap.ts';
import { diagnosticsOf, firstError } from './build-facts.ts';
import { defaults } from './defaults.ts';
import type { FiguresInput } from './figures.ts';
import { libraryTitle } from './libraries.ts';
import { tableOf } from './samples.ts';

/** What a job tells of its library arm. */
export interface LibrarySteps {
  readonly source: string;
  readonly build: StepResult | null;
  readonly verify: {
    readonly step: StepResult;
    readonly plan: VerifyPlan;
    readonly result: VerifyResult | null;
  } | null;
  readonly time: TimeResult | null;
  /** null: nothing was timed. */
  readonly figures: FiguresInput | null;
}

type Error = Pick<LibraryFigures, 'maxUlp' | 'rmsUlp' | 'worstOfLimit'>;
const unknownError: Error = { maxUlp: null, rmsUlp: null, worstOfLimit: null };

/** The library's figures, or why it has none. None of it is a fault of origin or candidate. */
export function libraryFigures(steps: LibrarySteps): LibraryFigures {
  const title = libraryTitle(steps.source);
  const none = (status: LibraryFigures['status'], reason: string, error = unknownError): LibraryFigures => ({
    status,
    title,
    reason,
    sizes: [],
    score: null,
    ...error,
  });
  const { build, verify } = steps;
  if (build === null || build.status !== 'ok') return none('absent', whyAbsent(build));
  if (verify === null || verify.result === null)
    return none(
      'failed',
      `it was not verified: ${verify?.step.reason?.message ?? verify?.step.status ?? 'no such step'}`,
    );
  const error = errorsOf(verify.result);
  const stopped = verify.result.incidents[0];
  if (stopped) return none('failed', `${stopped.kind} at ${stopped.problem ?? 'loading'}: ${stopped.message}`, error);
  if (!verifiedClean(verify.plan, verify.result)) return none('wrong', whyWrong(verify.plan, verify.result), error);
  const broke = steps.time?.incidents.find((incident) => incident.arm === 'L' && incident.kind !== 'sampled-wrong');
  if (broke) return none('failed', `${broke.kind} at ${broke.problem ?? 'loading'}: ${broke.message}`, error);
  const wrong = steps.time?.incidents.find((incident) => incident.arm === 'L');
  if (wrong) return none('wrong', wrong.message, error);
  if (steps.figures === null) return none('failed', 'nothing was timed', error);
  const measured = timesOf(steps.figures);
  if (measured === null) return none('failed', 'it has too few valid samples', error);
  return { status: 'measured', title, reason: '', ...measured, ...error };
}

/** Headers or libraries that are not there are no fault of anything; the compiler's first words say which. */
function whyAbsent(build: StepResult | null): string {
  if (build === null) return 'the job has no build of it';
  const said = firstError(diagnosticsOf(build));
  return said !== '' ? said : (build.reason?.message ?? `its build ended with "${build.status}"`);
}

function whyWrong(plan: VerifyPlan, result: VerifyResult): string {
  for (const check of result.checks)
    for (const output of check.outputs)
      if (output.bad > 0 || output.nonFinite > 0)
        return `${output.bad} of ${output.compared} elements of ${output.output} are wrong at ${check.problem}`;
  return `not every output of ${plan.problems.length} sizes and inputs was found right`;
}

function errorsOf(result: VerifyResult): Error {
  const outputs = result.checks.flatMap((check) => check.outputs);
  const top = (values: (number | null)[]): number | null => {
    const known = values.filter((v) => v !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  return {
    maxUlp: top(outputs.map((o) => o.maxUlp)),
    rmsUlp: top(outputs.map((o) => o.rmsUlp)),
    worstOfLimit: top(outputs.map((o) => o.worst)),
  };
}

/** Bootstraps origin, candidate and library together, from blocks in which all of them are valid. */
function timesOf(input: FiguresInput): Pick<LibraryFigures, 'sizes' | 'score'> | null {
  const { hasCandidate, weights, problems, time } = input;
  const arms = hasCandidate ? (['O', 'C', 'L'] as const) : (['O', 'L'] as const);
  const n = problems.length;
  const at = { score: 0, span: 1, speedup: 1 + n, versus: 1 + 2 * n, length: 1 + 3 * n };
  const l = arms.length - 1;
  const table = tableOf(time.samples, {
    kind: 'full',
    quantity: 'span',
    arms,
    problems: n,
    minBlocks: defaults.accept.minBlocks,
  });
  const spread = bootstrap(
    table,
    (c, out) => {
      let sum = 0;
      let total = 0;
      for (let i = 0; i < n; i++) {
        const speedup = c.relative(i, 0) - c.relative(i, l);
        sum += (weights[i] as number) * Math.exp(speedup);
        total += weights[i] as number;
        out[at.span + i] = c.absolute(i, l);
        out[at.speedup + i] = speedup;
        out[at.versus + i] = c.relative(i, l) - c.relative(i, l - 1);
      }
      out[at.score] = Math.log(sum / total);
    },
    at.length,
    { seed: `${input.seed}:library`, resamples: defaults.accept.resamples },
  );
  return spread === null ? null : figuresFrom(input, spread, at);
}

function figuresFrom(
  input: FiguresInput,
  spread: Spread,
  at: { score: number; span: number; speedup: number; versus: number },
): Pick<LibraryFigures, 'sizes' | 'score'> {
  const { level } = defaults.accept;
  // Half a step of the timer on either time is all that can be known of short ones.
  const half = (i: number): number => input.time.timerStepNs / 2 / Math.exp(spread.point[at.span + i] as number);
  const two = (i: number): number => half(i) * (1 + Math.exp(-(spread.point[at.speedup + i] as number)));
  const sizes = input.problems.map((problem, i) => ({
    problem: problem.id,
    spanNs: estimate(spread, at.span + i, level, half(i)),
    speedup: estimate(spread, at.speedup + i, level, two(i)),
    versusCandidate: input.hasCandidate
      ? estimate(spread, at.versus + i, level, half(i) * (1 + Math.exp(spread.point[at.versus + i] as number)))
      : null,
  }));
  const shares = input.weights.map((w, i) => w * Math.exp(spread.point[at.speedup + i] as number));
  const total = shares.reduce((a, b) => a + b, 0);
  const least = shares.reduce((sum, share, i) => sum + (share / total) * two(i), 0);
  return { sizes, score: estimate(spread, at.score, level, least) };
}
