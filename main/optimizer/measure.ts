import type { PastScheme } from '../agents/index.ts';
import { confirmedFigures, type Evaluation, isValidOutcome } from '../contract/index.ts';
import { pastScheme } from './history.ts';
import type { Best, LoopConfig } from './ports.ts';
import type { Steps } from './steps.ts';
import { failed } from './stop.ts';

/** What the loop carries from round to round. */
export interface State {
  best: Best | null;
  /** The origin, as measured last. */
  origin: Evaluation | null;
  tried: number;
  /** The best did not hold on another machine: versions are made from the original until one is accepted. */
  withdrawn: boolean;
  readonly history: PastScheme[];
  /** For the Compiler: options refused or failed so far. */
  readonly remarks: string[];
}

/** Label of a job: "dot_product fp32 r1.a0". */
export const labelOf = (config: LoopConfig, at: string): string => `${config.run.task} ${config.run.dtype} ${at}`;

/** Origin alone: verified, timed, profiled. */
const measureOrigin = (config: LoopConfig, steps: Steps, position: string): Promise<Evaluation> =>
  steps.evaluate(position, { label: labelOf(config, position), candidate: null, best: null, tried: 0 });

/** Measures the origin at the start of a run. One that does not pass stops the run: nothing can be compared with it. */
export async function measureBaseline(config: LoopConfig, steps: Steps): Promise<Evaluation> {
  const evaluation = await measureOrigin(config, steps, 'r0.baseline');
  await steps.event('r0.baseline', { type: 'baseline', evaluation });
  if (isValidOutcome(evaluation.outcome)) return evaluation;
  throw failed({
    code: 'input.task',
    message: `The original kernel does not pass its own evaluation: ${evaluation.reason}`,
    remedy: 'Mend the original or its task description: nothing can be compared with it as it is.',
    detail: evaluation.digest,
  });
}

/**
 * Whether the best stays the best on this machine: right, and not slower than the original beyond noise. What no second sample
 * confirmed claims nothing.
 */
function holds(evaluation: Evaluation): boolean {
  const score = confirmedFigures(evaluation)?.score ?? null;
  return isValidOutcome(evaluation.outcome) && score !== null && score.hi >= 1;
}

/**
 * The machine is another one than before (`what`): figures and profile of origin and best are taken anew before the step at `position`,
 * not compared across machines, and take the former ones' place in the record (`remeasured`).
 */
export async function remeasure(
  config: LoopConfig,
  steps: Steps,
  state: State,
  position: string,
  what: string,
): Promise<void> {
  // It may change more than once before a step is done: the keys tell the times apart.
  const key = (type: string) => `${position}.${type}.${what}`;
  await steps.event(key('changed'), {
    type: 'changed',
    position,
    what: `${what}; origin and best are measured again.`,
  });
  const origin = await measureOrigin(config, steps, `${position}.remeasure.origin`);
  if (!isValidOutcome(origin.outcome))
    throw failed({
      code: 'input.task',
      message: `The original kernel fails on this machine: ${origin.reason}`,
      remedy: 'Resume the run on the machine where it began, or mend the original.',
      detail: origin.digest,
    });
  state.origin = origin;
  const before = state.best as Best;
  const best = before.round === 0 ? null : await measureBest(config, steps, before, position, origin);
  const held = best !== null && holds(best);
  state.best = held
    ? { ...before, evaluation: best, score: confirmedFigures(best)?.score?.value ?? null }
    : { ...config.origin, round: 0, attempt: 0, evaluation: origin, score: 1 };
  if (best !== null) noteInHistory(state, before.round, best, held);
  await steps.event(key('remeasured'), {
    type: 'remeasured',
    position,
    origin,
    best: best === null ? null : { round: before.round, attempt: before.attempt, evaluation: best },
    bestRound: held ? before.round : 0,
  });
  if (best === null || held) return;
  state.withdrawn = true;
  const message = `The best version does not hold on this machine (${best.outcome}: ${best.reason}); the original is the best again.`;
  await steps.event(key('withdrawn'), { type: 'notice', position, message });
}

const measureBest = (
  config: LoopConfig,
  steps: Steps,
  best: Best,
  position: string,
  origin: Evaluation,
): Promise<Evaluation> =>
  steps.evaluate(`${position}.remeasure.best`, {
    label: labelOf(config, `${position}.remeasure.best`),
    candidate: { source: best.source, compileArgs: best.compileArgs },
    best: null,
    tried: 1,
    originNumerics: origin.numerics,
  });

/** What later Planners are told of the round that made the best: how it fares on this machine. */
function noteInHistory(state: State, round: number, evaluation: Evaluation, held: boolean): void {
  const at = state.history.findLastIndex((past) => past.round === round && past.outcome === 'accepted');
  const past = state.history[at];
  if (past === undefined) return;
  const reason = `on the machine of now: ${evaluation.hint ?? evaluation.reason}`;
  const again = pastScheme(round, past.scheme, past.by, evaluation, past.attempts, reason);
  state.history[at] = held ? { ...again, outcome: past.outcome } : again;
}
