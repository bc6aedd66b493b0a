import type { ArmId, SampleSet } from '../../contract/index.ts';

/** Median; null of nothing. */
export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const mid = sorted.length >> 1;
  const high = sorted[mid] as number;
  return sorted.length % 2 === 1 ? high : ((sorted[mid - 1] as number) + high) / 2;
}

/**
 * Centre of an arm's time at one problem, ns: the median over full processes of each process's median, so that a process with
 * more valid samples has no more say. null when a process has none left.
 */
export function centreOf(
  samples: readonly SampleSet[],
  arm: ArmId,
  problem: number,
  quantity: SampleSet['quantity'],
): number | null {
  const centres: number[] = [];
  for (const set of samples) {
    if (set.kind !== 'full' || set.problem !== problem || set.quantity !== quantity) continue;
    const valid = (set.arms[arm] ?? []).filter((v): v is number => v !== null);
    const centre = median(valid);
    if (centre === null) return null;
    centres.push(centre);
  }
  return median(centres);
}

/**
 * Quick point estimate of R = sum w_i S_i(candidate) / sum w_i S_i(best), S = origin time over arm time (GPU span). Without an arm B
 * origin is the best (S = 1). Used for nomination only: evaluate computes the figures that are shown.
 * null when a time is missing or there is no candidate.
 */
export function estimateR(samples: readonly SampleSet[], weights: readonly number[]): number | null {
  const hasBest = samples.some((set) => set.arms.B !== undefined);
  let candidate = 0;
  let best = 0;
  for (let problem = 0; problem < weights.length; problem++) {
    const weight = weights[problem] as number;
    const o = centreOf(samples, 'O', problem, 'span');
    const c = centreOf(samples, 'C', problem, 'span');
    const b = hasBest ? centreOf(samples, 'B', problem, 'span') : o;
    if (o === null || c === null || b === null || !(o > 0 && c > 0 && b > 0)) return null;
    candidate += (weight * o) / c;
    best += (weight * o) / b;
  }
  return best > 0 ? candidate / best : null;
}

/** CUPTI converts device ticks to ns in floating point: equal durations differ by a few ns (H200: ticks of 32 ns seen as 29 to 35). */
const CONVERSION_NS = 4;

/**
 * Step of the device's timer, ns, from durations: the median of the gaps between distinct values that are about as small as the smallest,
 * values within the conversion error taken as one. null when there are no two distinct values.
 */
export function smallestStep(values: readonly number[]): number | null {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const gaps: number[] = [];
  for (let i = 1; i < sorted.length; i++) {
    const gap = (sorted[i] as number) - (sorted[i - 1] as number);
    if (gap > CONVERSION_NS) gaps.push(gap);
  }
  if (gaps.length === 0) return sorted.length > 1 ? (sorted[1] as number) - (sorted[0] as number) : null;
  const smallest = Math.min(...gaps);
  const alike = gaps.filter((gap) => gap <= smallest * 1.25).sort((a, b) => a - b);
  return alike[alike.length >> 1] as number;
}
