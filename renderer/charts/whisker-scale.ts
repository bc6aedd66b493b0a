import type { Estimate } from '../../main/contract/evaluation.ts';

/** A logarithmic axis; ratios and times of very different sizes stay legible on it. */
export interface LogDomain {
  readonly lo: number;
  readonly hi: number;
}

/** Covers every interval and `always`, with a little room; null: nothing to show. */
export function domainOf(estimates: readonly (Estimate | null)[], always: readonly number[] = []): LogDomain | null {
  let lo = Number.POSITIVE_INFINITY;
  let hi = 0;
  const take = (x: number): void => {
    if (!(x > 0) || !Number.isFinite(x)) return;
    if (x < lo) lo = x;
    if (x > hi) hi = x;
  };
  let any = false;
  for (const e of estimates)
    if (e !== null) {
      any = true;
      take(e.lo);
      take(e.hi);
      take(e.value);
    }
  if (!any) return null;
  for (const x of always) take(x);
  const room = Math.max(1.02, (hi / lo) ** 0.04);
  return { lo: lo / room, hi: hi * room };
}

/** Place of x on the axis, 0 … 1; outside it the nearer end. */
export function placeOf(domain: LogDomain, x: number): number {
  if (!(x > 0)) return 0;
  const span = Math.log(domain.hi / domain.lo);
  return Math.min(1, Math.max(0, span === 0 ? 0.5 : Math.log(x / domain.lo) / span));
}
