import type { PastScheme } from '../agents/index.ts';
import { confirmedFigures, type Evaluation, isValidOutcome } from '../contract/index.ts';
import type { Best, LoopConfig } from './ports.ts';
import type { Steps } from './steps.ts';
import { failed } from './stop.ts';

/** What the loop carries from round to round. */
export interface State {
  best: Best | null;
  /** The origin, as measured last. */
  origin: Evaluation | null;
  tried: number;
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

/** The machine is another one than before: figures and profile of origin and best are taken anew, not compared across machines. */
export async function remeasure(
  config: LoopConfig,
  steps: Steps,
  state: State,
  position: string,
  what: string,
): Promise<void> {
  const best = state.best as Best;
  await steps.event(`${position}.changed`, {
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
  if (best.round === 0) {
    state.best = { ...best, evaluation: origin };
    return;
  }
  const evaluation = await steps.evaluate(`${position}.remeasure.best`, {
    label: labelOf(config, `${position}.remeasure.best`),
    candidate: { source: best.source, compileArgs: best.compileArgs },
    best: null,
    tried: 1,
    originNumerics: origin.numerics,
  });
  if (!isValidOutcome(evaluation.outcome)) {
    await steps.notice(
      position,
      100,
      `The best version fails on this machine (${evaluation.reason}); the original is the best again.`,
    );
    state.best = { ...config.origin, round: 0, attempt: 0, evaluation: origin, score: 1 };
    return;
  }
  state.best = { ...best, evaluation, score: confirmedFigures(evaluation)?.score?.value ?? null };
}
