import type { Evaluation, Sanitized } from './evaluation.ts';

/** What stands at the end of the reason of an accepted version that was not wholly sanitized; '' where it was. */
export const sanitizeRemark = (s: Sanitized): string =>
  s.state === 'yes' ? '' : ` (${s.state === 'no' ? 'not' : 'partly'} sanitized: ${s.why})`;

const remark = / \((not|partly) sanitized: (.*)\)$/s;
const whole: Sanitized = { state: 'yes', why: '' };
/** As program versions before the field wrote it. */
const olderRemark = / \((\d+ of \d+ sanitizer runs did not end in time)\)$/;

/**
 * Whether compute-sanitizer has looked at an accepted version. null: it is none, or nobody knows. Older evaluations, which lack the
 * field, are read by the remark of their reason; one without a remark says nothing, since the program that wrote it counted a run of the
 * sanitizer that was skipped as clean.
 */
export function sanitizedOf(
  e: { readonly outcome: string | null; readonly reason: string } & Pick<Partial<Evaluation>, 'sanitized'>,
): Sanitized | null {
  if (e.outcome !== 'accepted' && e.outcome !== 'trade-off') return null;
  if (e.sanitized) return e.sanitized;
  // Ten thousand rows are read at a time.
  if (!e.reason.endsWith(')')) return null;
  const found = remark.exec(e.reason);
  if (found) return { state: found[1] === 'not' ? 'no' : 'partly', why: found[2] ?? '' };
  const older = olderRemark.exec(e.reason);
  return older ? { state: 'partly', why: older[1] ?? '' } : null;
}

/** `sanitizedFact` read back; null for what is none. */
export function sanitizedOfFact(fact: string | null): Sanitized | null {
  if (fact === null) return null;
  if (fact === 'yes') return whole;
  const [, state, why] = /^(no|partly): (.*)$/s.exec(fact) ?? [];
  return state === 'no' || state === 'partly' ? { state, why: why ?? '' } : null;
}

/** "sanitized", "not sanitized: compute-sanitizer was not found." Capital letters are the reader's. */
export const sanitizedText = (s: Sanitized): string =>
  s.state === 'yes' ? 'sanitized' : `${s.state === 'no' ? 'not' : 'partly'} sanitized: ${s.why}`;

/** As the value of a row named "Sanitized": "yes", "no: compute-sanitizer was not found." */
export const sanitizedFact = (s: Sanitized): string => (s.state === 'yes' ? 'yes' : `${s.state}: ${s.why}`);
