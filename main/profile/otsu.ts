/**
 * Otsu's method on a list of numbers: "A threshold selection method from gray-level histograms", IEEE Trans. SMC 9(1), 1979.
 * The method as published looks at histogram bins; here every gap between two neighbouring values is tried, so no bin width decides.
 */

/** A uniform generator over [0, 1). Passed in: same generator, same interval. */
export type Random = () => number;

export interface Cut {
  readonly available: true;
  /** Middle of the gap that splits best; a value belongs to the high class when it is above. Unit of the values. */
  readonly threshold: number;
  /** The two values around the gap: largest of the low class, smallest of the high one. */
  readonly gap: [number, number];
  /** Separability η = between-class variance / total variance, in (0, 1]. A uniform spread has 0.75, a bell curve 2/π ≈ 0.64. */
  readonly eta: number;
  /** Values per class. */
  readonly low: number;
  readonly high: number;
  /** Gaps that split equally well, this one counted: above 1 the threshold is a choice (widest gap, then the lowest). */
  readonly tied: number;
}
export interface NoCut {
  readonly available: false;
  readonly reason: string;
}

export interface Interval {
  readonly available: true;
  readonly low: number;
  readonly high: number;
  /** Coverage aimed at, for example 0.95. */
  readonly level: number;
  readonly resamples: number;
}

/** Two variances closer than this, relatively, are the same: rounding in the sums is some 1e-14. */
const SAME = 1e-12;

/** Best threshold of the values (finite, not negative; any order). None for fewer than two, or when all are equal. */
export function otsu(values: readonly number[]): Cut | NoCut {
  const wrong = values.find((value) => !Number.isFinite(value) || value < 0);
  if (wrong !== undefined) return { available: false, reason: `${wrong} is not a percentage` };
  if (values.length < 2) return { available: false, reason: `${values.length} values: two classes need at least two` };
  const sorted = values.toSorted((a, b) => a - b);
  return (
    cutOf(sorted, new Array<number>(sorted.length).fill(1)) ?? {
      available: false,
      reason: `all ${values.length} values are ${sorted[0]}: there are no two classes`,
    }
  );
}

/**
 * The cut of sorted values, each taken `counts[i]` times (a resample). With deviations d from the mean and S the sum of the k lowest,
 * the between-class variance is S² / (k (n − k)). Deviations are in units of the range: neither huge nor tiny values lose digits.
 */
function cutOf(sorted: readonly number[], counts: readonly number[]): Cut | null {
  const used = sorted.flatMap((value, i) => ((counts[i] as number) > 0 ? [{ value, count: counts[i] as number }] : []));
  const first = used[0];
  const range = (used.at(-1)?.value ?? 0) - (first?.value ?? 0);
  if (first === undefined || range === 0) return null;
  const scaled = used.map(({ value, count }) => ({ value, count, d: (value - first.value) / range }));
  const n = scaled.reduce((sum, { count }) => sum + count, 0);
  const mean = scaled.reduce((sum, { d, count }) => sum + d * count, 0) / n;
  const total = scaled.reduce((sum, { d, count }) => sum + (d - mean) ** 2 * count, 0) / n;
  const cuts: { readonly k: number; readonly gap: [number, number]; readonly between: number }[] = [];
  let k = 0;
  let s = 0;
  for (const [i, { value, count, d }] of scaled.entries()) {
    k += count;
    s += (d - mean) * count;
    const next = scaled[i + 1]?.value;
    if (next !== undefined && next > value) cuts.push({ k, gap: [value, next], between: (s * s) / (k * (n - k)) });
  }
  const most = Math.max(...cuts.map((cut) => cut.between));
  const tied = cuts.filter((cut) => cut.between >= most * (1 - SAME));
  const best = tied.reduce((a, b) => (b.gap[1] - b.gap[0] > (a.gap[1] - a.gap[0]) * (1 + SAME) ? b : a));
  return {
    available: true,
    threshold: middle(best.gap),
    gap: best.gap,
    eta: Math.min(1, best.between / total),
    low: best.k,
    high: n - best.k,
    tied: tied.length,
  };
}

/** Middle of a gap, below its upper end also where the two are neighbouring floating-point numbers. */
function middle([below, above]: readonly [number, number]): number {
  const half = below + (above - below) / 2;
  return half < above ? half : below;
}

/**
 * Percentile bootstrap interval of the threshold (Efron): the values drawn again with replacement, the middle `level` of the thresholds.
 * A resample of equal values has no threshold and counts as beyond both ends, so a class of a few values, which many resamples
 * miss, cannot pass for a firm one. Not available when that moves an end out of sight.
 */
export function bootstrapInterval(
  values: readonly number[],
  random: Random,
  { resamples = 2000, level = 0.95 }: { readonly resamples?: number; readonly level?: number } = {},
): Interval | NoCut {
  const whole = otsu(values);
  if (!whole.available) return whole;
  const sorted = values.toSorted((a, b) => a - b);
  const thresholds: number[] = [];
  for (let i = 0; i < resamples; i++) {
    const cut = cutOf(sorted, draw(sorted.length, random));
    if (cut !== null) thresholds.push(cut.threshold);
  }
  thresholds.sort((a, b) => a - b);
  const none = resamples - thresholds.length;
  const tail = (1 - level) / 2;
  const low = thresholds[Math.floor(tail * (resamples - 1)) - none];
  const high = thresholds[Math.ceil((1 - tail) * (resamples - 1))];
  if (low === undefined || high === undefined)
    return { available: false, reason: `${none} of ${resamples} resamples held one value only and have no threshold` };
  return { available: true, low, high, level, resamples };
}

/** How often each of n values is taken in n draws. */
function draw(n: number, random: Random): number[] {
  const counts = new Array<number>(n).fill(0);
  for (let i = 0; i < n; i++) {
    const u = random();
    if (!(u >= 0 && u < 1)) throw new RangeError(`bootstrapInterval: the generator gave ${u}, not a number in [0, 1)`);
    const at = Math.floor(u * n);
    counts[at] = (counts[at] as number) + 1;
  }
  return counts;
}
