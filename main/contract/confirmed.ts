import { type Evaluation, isValidOutcome } from './evaluation.ts';

type Figures = NonNullable<Evaluation['figures']>;
/** Figures of a baseline or of a confirming measurement. */
export type ConfirmedFigures = Figures & { readonly phase: Exclude<Figures['phase'], 'nominate'> };

/**
 * The figures that may be shown, exported, compared: a baseline's or a confirming measurement's. A first sample only nominates: it is
 * picked from many, so its figures are too good or too bad by chance, and count as not measured. null: there are none.
 */
export const confirmedFigures = (e: Pick<Evaluation, 'figures'> | null | undefined): ConfirmedFigures | null =>
  e?.figures && e.figures.phase !== 'nominate' ? (e.figures as ConfirmedFigures) : null;

/**
 * The confirmed figures of a version that is right: those that stand as its result in lists, pictures and scores. A race, or a time below
 * what the GPU can do, is no speed-up, however large; what was measured of it is told with its outcome alone, where it is told in full.
 */
export const resultFigures = (
  e: Pick<Evaluation, 'figures' | 'outcome'> | null | undefined,
): ConfirmedFigures | null => (e && isValidOutcome(e.outcome) ? confirmedFigures(e) : null);

/** Whether a first sample was all the timing there was. */
export const firstSampleOnly = (e: Pick<Evaluation, 'figures'> | null | undefined): boolean =>
  e?.figures?.phase === 'nominate';

/** An evaluation as it leaves the program: without the figures of a first sample, and without what only the agents are told of it. */
export function reported(e: Evaluation): Evaluation {
  const { hint: _, ...rest } = e;
  return { ...rest, figures: confirmedFigures(e) };
}
