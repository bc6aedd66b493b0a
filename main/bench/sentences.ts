import { type Dtype, sizeSets } from '../contract/index.ts';
import type { BenchReport, ProfileEntry, Success } from './report.ts';
import { median, percent, pointOf } from './words.ts';

/** What the curve of cumulative success shows. */
export function successSentence(groups: readonly Success[]): string {
  const parts = groups.map((g) => {
    const of = (tau: number): number => g.reached.find((r) => r.tau === tau)?.count ?? 0;
    const name = g.of === 'candidate' ? 'candidates' : 'vendor libraries';
    return `${name}, ${g.dtype}, ${g.sizes} sizes: ${of(1)} of ${g.n} at least as fast, ${of(2)} at least twice, ${of(8)} at least eight times`;
  });
  return `How many are at least τ times as fast as their origin: ${parts.join('; ')}.`;
}

/** How near the profiled kernels come to their roof. */
export function roofSentence(profiles: readonly ProfileEntry[]): string {
  const shares = profiles.flatMap((p) => {
    const point = pointOf(p);
    return point?.ofCeiling.available ? [point.ofCeiling.value] : [];
  });
  const middle = median(shares);
  if (middle === null) return `None of ${profiles.length} profiled kernels has a place under the roof.`;
  const near = shares.filter((share) => share >= 50).length;
  return `${shares.length} of ${profiles.length} profiled kernels have a place under the roof: half of them reach less than ${percent(middle)} % of it, ${near} reach at least 50 %.`;
}

/** Whether speed was bought with accuracy: by the share of the allowed error, which is what decides. */
export function errorSentence(r: Pick<BenchReport, 'entries'>, dtype: Dtype): string {
  const own = r.entries.filter((e) => e.dtype === dtype);
  const parts = (
    [
      [
        'candidates',
        own.flatMap((e) => (e.candidate !== null && e.verified && e.score ? (e.error?.worstOfLimit ?? []) : [])),
      ],
      [
        'vendor libraries',
        own.flatMap((e) => (e.library?.status === 'measured' ? (e.library.worstOfLimit ?? []) : [])),
      ],
    ] as const
  ).flatMap(([name, shares]) =>
    shares.length === 0
      ? []
      : [`${name} use up to ${percent(100 * Math.max(...shares))} % of the allowed error (${shares.length} figures)`],
  );
  const sets = sizeSets.filter((sizes) => own.some((e) => e.sizes === sizes)).join(' and ');
  return `Error and speed-up of every ${dtype} version at the ${sets} sizes: ${parts.join('; ')}. An ulp of a value near zero is tiny, so that many ulp can be a small error.`;
}
