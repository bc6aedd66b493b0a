import type { PastScheme } from '../agents/index.ts';
import { confirmedFigures, type Evaluation, isValidOutcome, sizeText } from '../contract/index.ts';

/** What a round leaves for the Planners after it. */
export function pastScheme(
  round: number,
  scheme: string,
  by: 'planner' | 'user',
  last: Evaluation | null,
  attempts: readonly string[],
  reason: string,
): PastScheme {
  const figures = last?.figures ?? null;
  // Those of a first sample are a hint for the Planner alone.
  const confirmed = confirmedFigures(last);
  return {
    round,
    scheme,
    by,
    outcome: last?.outcome ?? null,
    reason,
    score: confirmed?.score?.value ?? null,
    ratio: confirmed?.ratio?.value ?? null,
    sizes: (figures?.sizes ?? []).map((s) => ({
      dims: sizeText(s.dims),
      versusBest: s.versusBest?.value ?? null,
    })),
    confirmed: confirmed !== null,
    attempts,
    bottleneck: last?.profile?.verdict?.bottleneck ?? null,
  };
}

/** What the Coder should know of earlier rounds: how their last candidate failed, one line a round. Valid ones have nothing to warn of. */
export const pitfallsOf = (history: readonly PastScheme[]): string[] =>
  history
    .filter((past) => past.outcome !== null && !isValidOutcome(past.outcome))
    .map((past) => `Round ${past.round}, ${past.outcome}: ${past.reason}`);

/** A scheme that the user did not want tried. */
export const rejectedScheme = (round: number, scheme: string): PastScheme => ({
  round,
  scheme,
  by: 'planner',
  outcome: null,
  reason: 'The user rejected this scheme before anything was tried: propose another idea.',
  score: null,
  ratio: null,
  sizes: [],
  confirmed: false,
  attempts: [],
  bottleneck: null,
});
