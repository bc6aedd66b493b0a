/** One bar: values from `from` up to, not including, `to` (% of peak); split by class, as a bin may hold values of both. */
export interface Bin {
  readonly from: number;
  readonly to: number;
  readonly low: number;
  readonly high: number;
}
export interface Histogram {
  readonly bins: Bin[];
  /** Values above 100 %, which ncu's ratios of two counters can reach; in no bin. */
  readonly over: { readonly low: number; readonly high: number };
  readonly low: number;
  readonly high: number;
}

/**
 * Counts per bin of 0 … 100 % and per class: high is above the threshold, as in the verdict. The last bin holds 100 as well.
 * `bins` equal ones (20: 5 points each). Throws RangeError for a value that is no percentage or a count of bins that is none.
 */
export function histogram(values: readonly number[], threshold: number, bins = 20): Histogram {
  if (!Number.isInteger(bins) || bins < 1) throw new RangeError(`histogram: ${bins} bins`);
  const wrong = values.find((value) => !Number.isFinite(value) || value < 0);
  if (wrong !== undefined) throw new RangeError(`histogram: ${wrong} is not a percentage`);
  const edge = (at: number): number => (100 * at) / bins;
  const split = (part: readonly number[]) => {
    const high = part.filter((value) => value > threshold).length;
    return { low: part.length - high, high };
  };
  return {
    bins: Array.from({ length: bins }, (_, at) => {
      const [from, to] = [edge(at), edge(at + 1)];
      const last = at === bins - 1;
      return { from, to, ...split(values.filter((value) => value >= from && (last ? value <= to : value < to))) };
    }),
    over: split(values.filter((value) => value > 100)),
    ...split(values),
  };
}
