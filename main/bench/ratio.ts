import { type Estimate, estimateSchema } from '../contract/index.ts';

/**
 * B against A. Times are faster or slower. A speed-up is only higher or lower: it may have risen because the origin became slower.
 * "same within the intervals" does not say that they are equal, only that these figures cannot tell them apart.
 */
export type Verdict = 'same within the intervals' | 'faster' | 'slower' | 'higher' | 'lower';

const usable = (e: Estimate): boolean =>
  estimateSchema.safeParse(e).success && e.lo > 0 && e.lo <= e.value && e.value <= e.hi && e.level > 0 && e.level < 1;

const percent = (level: number): string => `${Number((100 * level).toFixed(4))} %`;

/**
 * B over A. Each is taken as lognormal and independent of the other: half-widths of ln are added in quadrature, for skewed intervals
 * each side by itself (Zou and Donner, 2008). Where they are Student's of few processes, as here, the ratio's interval holds the truth
 * at least as often as its level says (Banerjee, 1960): it is rather too wide than too narrow.
 */
export function ratioOf(a: Estimate, b: Estimate): { readonly ratio: Estimate } | { readonly why: string } {
  for (const [name, e] of [['A', a] as const, ['B', b] as const])
    if (!usable(e)) return { why: `the figure of ${name} is no positive number inside an interval` };
  if (a.level !== b.level) return { why: `intervals of ${percent(a.level)} in A, of ${percent(b.level)} in B` };
  const down = Math.hypot(Math.log(b.value / b.lo), Math.log(a.hi / a.value));
  const up = Math.hypot(Math.log(b.hi / b.value), Math.log(a.value / a.lo));
  const value = b.value / a.value;
  return { ratio: { value, lo: value * Math.exp(-down), hi: value * Math.exp(up), level: a.level } };
}

/** What the interval of a ratio lets one say; `unit` ns: a time, 1: a speed-up. */
export function verdictOf(ratio: Estimate, unit: 'ns' | '1'): Verdict {
  if (ratio.lo <= 1 && ratio.hi >= 1) return 'same within the intervals';
  if (unit === 'ns') return ratio.value < 1 ? 'faster' : 'slower';
  return ratio.value > 1 ? 'higher' : 'lower';
}
