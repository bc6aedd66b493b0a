import { z } from 'zod';
import { confirmedFigures } from './confirmed.ts';
import { type Evaluation, outcomeSchema } from './evaluation.ts';
import type { RunEvent } from './run.ts';

const rangeSchema = z.object({ value: z.number(), lo: z.number(), hi: z.number() });

/** What a run found of one version: kept in its recording, so that a replay by another program can be held against it. */
export const versionVerdictSchema = z.object({
  /** "r0" is the origin, else "r2.a1". */
  version: z.string(),
  outcome: outcomeSchema,
  /** P over origin and R against the best, with intervals, from the confirming sample; null where there is none. */
  score: rangeSchema.nullable(),
  ratio: rangeSchema.nullable(),
});
export type VersionVerdict = z.infer<typeof versionVerdictSchema>;

const rangeOf = (estimate: z.infer<typeof rangeSchema> | null | undefined): VersionVerdict['score'] =>
  estimate ? { value: estimate.value, lo: estimate.lo, hi: estimate.hi } : null;

function verdictOf(version: string, evaluation: Evaluation): VersionVerdict {
  const figures = confirmedFigures(evaluation);
  return { version, outcome: evaluation.outcome, score: rangeOf(figures?.score), ratio: rangeOf(figures?.ratio) };
}

/** The verdict that an event of a run tells; null of every other event. */
export function verdictIn(event: RunEvent): VersionVerdict | null {
  if (event.type === 'baseline') return verdictOf('r0', event.evaluation);
  if (event.type === 'evaluated') return verdictOf(`r${event.round}.a${event.attempt}`, event.evaluation);
  return null;
}

/** The same data through the same arithmetic gives the same number; another order of additions may change its last digits. */
const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b));
const rangeText = (range: VersionVerdict['score']): string =>
  range === null ? 'none' : `${range.value.toPrecision(5)} [${range.lo.toPrecision(5)}, ${range.hi.toPrecision(5)}]`;
const sameRange = (a: VersionVerdict['score'], b: VersionVerdict['score']): boolean =>
  a === null || b === null ? a === b : near(a.value, b.value) && near(a.lo, b.lo) && near(a.hi, b.hi);

/** In words what differs between a recorded verdict and that of now, "" if nothing does. */
export function verdictDifference(then: VersionVerdict, now: VersionVerdict): string {
  const parts = [
    then.outcome === now.outcome ? '' : `the verdict is "${now.outcome}", recorded was "${then.outcome}"`,
    sameRange(then.score, now.score) ? '' : `P is ${rangeText(now.score)}, recorded was ${rangeText(then.score)}`,
    sameRange(then.ratio, now.ratio) ? '' : `R is ${rangeText(now.ratio)}, recorded was ${rangeText(then.ratio)}`,
  ];
  return parts.filter((part) => part !== '').join('; ');
}
