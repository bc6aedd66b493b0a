import type { Comparison, Dtype, Problem } from '../contract/index.ts';
import type { Failure } from './compare-digest.ts';
import { middle } from './stats.ts';

/** Largest relative error that rounding inputs or products to half, TF32 or bf16 makes, with room for a few in a row. */
const LOW_PRECISION = { fp32: 2 ** -6, bf16: 2 ** -5 } as const;

/** Outputs with fewer elements than this are reductions: a few missing terms look like rounding there. */
const FEW = 32;

/** Largest finite half. */
const HALF_MAX = 65_504;

type Element = Comparison['first'][number];

const limitOf = (c: Comparison, problem: Problem): Problem['limits'][number] | undefined =>
  problem.limits.find((entry) => entry.buffer === problem.buffers.findIndex((buffer) => buffer.name === c.output));

const contiguous = (c: Comparison): boolean => {
  const first = c.first[0]?.index;
  return first !== undefined && c.lastBad !== null && c.lastBad - first + 1 === c.bad;
};

const asBits = new DataView(new ArrayBuffer(8));

/** At most 11 significant bits, as half, TF32 and bf16 numbers have. */
function isNarrow(value: number): boolean {
  asBits.setFloat64(0, value);
  return (asBits.getBigUint64(0) & ((1n << 42n) - 1n)) === 0n;
}

/** 'open': too little is known to call the errors small or large. */
type Size = 'small' | 'large' | 'open';

const relative = (e: Element): number =>
  typeof e.got === 'number' && typeof e.want === 'number' ? Math.abs(e.got - e.want) / Math.abs(e.want) : Infinity;

/**
 * Finite errors against what lower precision makes, measured by the scale of the limit (its √n·M). Outputs that are moved or sorted
 * (no rounding allowed) have neighbours close to each other: there the values themselves must be rounded ones. Sums that are exact in
 * fp32 (M = 0) have no scale, and their value may nearly cancel: a few say nothing, the middle one of many does.
 */
function sizeOf(c: Comparison, problem: Problem, dtype: Dtype): Size {
  if (c.allZero || c.poisonLeft > 0 || c.nonFinite > 0 || c.worst === null) return 'large';
  if (c.compared >= FEW && c.bad > 0 && c.bad < 0.01 * c.compared && contiguous(c)) return 'large';
  const limit = limitOf(c, problem);
  if (limit === undefined) return 'open';
  if (limit.uOut === 0) {
    const isFloat = problem.buffers[limit.buffer]?.elem === 'f32';
    const rounded = c.first.every((e) => typeof e.got === 'number' && isNarrow(e.got) && relative(e) <= 2 ** -7);
    return isFloat && rounded ? 'small' : 'large';
  }
  if (c.first.length > 0 && c.first.every((e) => hasNoScale(e, limit.uOut))) {
    if (c.compared < FEW) return 'open';
    return middle(c.first.map(relative)) <= LOW_PRECISION[dtype] ? 'small' : 'large';
  }
  return c.worst * (limit.uOut + limit.c * limit.uAcc) <= LOW_PRECISION[dtype] ? 'small' : 'large';
}

const hasNoScale = (e: Element, uOut: number): boolean =>
  typeof e.want === 'number' && e.limit <= uOut * Math.abs(e.want) * (1 + 1e-6);

/** Not finite where numbers above half's range occur. */
function overflowsHalf(c: Comparison, problem: Problem): boolean {
  if (c.nonFinite === 0 || c.poisonLeft > 0) return false;
  const wide = problem.buffers.some(({ generator: g }) =>
    g?.kind === 'wide' ? 2 ** g.hiExp > HALF_MAX : g?.kind === 'uniform' && Math.abs(g.hi) > HALF_MAX,
  );
  return wide || c.first.some((e) => typeof e.want === 'number' && Math.abs(e.want) > HALF_MAX);
}

/**
 * Relative errors of the wrong elements that few terms make up without much cancellation: there the error is that of single roundings,
 * and one missing term would be a large part of the value. √n·M of the limit against |r| tells: with M = 0 (exact sums) it says nothing.
 */
function conditionedErrors(failures: readonly Failure[]): number[] {
  return failures.flatMap(({ outputs, problem }) =>
    outputs.flatMap((c) => {
      const limit = limitOf(c, problem);
      if (limit === undefined || limit.uOut === 0 || limit.c * limit.uAcc === 0) return [];
      return c.first.flatMap((e) => {
        if (typeof e.got !== 'number' || typeof e.want !== 'number' || e.want === 0) return [];
        const size = Math.abs(e.want);
        const scale = (e.limit - limit.uOut * size) / (limit.c * limit.uAcc);
        return scale >= 0.5 * size && scale <= 16 * size ? [Math.abs(e.got - e.want) / size] : [];
      });
    }),
  );
}

/** No error beyond what lower precision makes; with few outputs (a reduction) a few missing terms can look the same. */
export function hasSmallErrors(failures: readonly Failure[], dtype: Dtype): boolean {
  const sizes = failures.flatMap((f) => f.outputs.map((output) => sizeOf(output, f.problem, dtype)));
  return sizes.includes('small') && !sizes.includes('large');
}

/** What lower precision would explain, and why it is taken for that. */
export interface Precision {
  /** Typical relative error of an element; null when cancellation hides it. */
  readonly typical: number | null;
  /** Not finite where half overflows, at this many problems. */
  readonly overflows: number;
}

/**
 * Wrong by the magnitudes that lower precision gives, without any structure: all failing outputs have wrong elements spread out, none
 * missing or zero, and errors that stay below what rounding to half, TF32 or bf16 inside makes; not finite only where half overflows.
 * Reductions must show it where few terms are added (a missing term would be a large error there), or by such an overflow.
 * Returns null when it is not that.
 */
export function lowPrecision(failures: readonly Failure[], dtype: Dtype): Precision | null {
  const over = failures.filter((f) => f.outputs.some((c) => overflowsHalf(c, f.problem)));
  const finite = failures.filter((f) => !over.includes(f));
  if (!hasSmallErrors(finite, dtype)) return null;
  const overflows = new Set(over.map((f) => f.problem.id)).size;
  const largest = Math.max(...failures.flatMap((f) => f.outputs.map((output) => output.compared)));
  const conditioned = conditionedErrors(finite);
  const isFew = largest < FEW;
  if (conditioned.some((e) => e > LOW_PRECISION[dtype])) return null;
  if (isFew && conditioned.length < 3 && overflows === 0) return null;
  const errors = conditioned.length >= 3 || isFew ? conditioned : elementErrors(finite);
  return { typical: errors.length >= 3 ? middle(errors) : null, overflows };
}

/** Relative errors of the listed wrong elements; where only the RMS is over its bound, from the RMS in ulp. */
function elementErrors(failures: readonly Failure[]): number[] {
  return failures.flatMap(({ outputs, problem }) =>
    outputs.flatMap((c) => {
      if (c.first.length === 0) {
        const stored = problem.buffers.find((buffer) => buffer.name === c.output)?.elem;
        return c.rmsUlp === null || stored === 'i32' ? [] : [c.rmsUlp * 2 ** (stored === 'bf16' ? -7.5 : -23.5)];
      }
      return c.first.flatMap((e) =>
        typeof e.got === 'number' && typeof e.want === 'number' && e.want !== 0
          ? [Math.abs(e.got - e.want) / Math.abs(e.want)]
          : [],
      );
    }),
  );
}

/**
 * Format whose rounding makes relative errors of this size: half and TF32 keep 11 significant bits, bf16 8, fp32 24. Of bf16 inputs only
 * products and sums can be rounded, which leaves either.
 */
export function formatText({ typical, overflows }: Precision, dtype: Dtype): string {
  if (overflows > 0) return 'half (not finite where it overflows)';
  if (typical !== null && typical <= 2 ** -15) return 'a function or sum less exact than fp32 gives';
  if (dtype === 'bf16') return 'products or sums rounded to bf16 or half';
  if (typical === null) return 'half, TF32 or bf16';
  return typical > 2 ** -11.5 ? 'bf16' : 'half or TF32';
}
