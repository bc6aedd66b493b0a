import type { Launch, MetricLine, MetricValue, Profile } from '../../../main/contract/index.ts';
import { ratioOf } from './change.ts';
import { mainLaunch, type RunVersion } from './versions.ts';

export interface MetricRow {
  readonly id: string;
  readonly label: string;
  /** '' where neither the catalogue nor the profile explains it. */
  readonly meaning: string;
  readonly unit: string;
  readonly value: MetricValue;
  /** null: nothing to compare with. */
  readonly compared: MetricValue | null;
  /** Selected over compared; null: not comparable. */
  readonly ratio: number | null;
}

type Described = { readonly label: string; readonly meaning: string; readonly unit?: string | null };

/** Labels and meanings of every metric id that the catalogue or the profiles know. */
export function describedMetrics(
  catalogue: readonly MetricLine[],
  profiles: readonly (Profile | null)[],
): ReadonlyMap<string, Described> {
  const known = new Map<string, Described>();
  for (const profile of profiles) {
    if (profile === null) continue;
    const named = [
      ...profile.filtered,
      ...(profile.evidence ?? []),
      ...(profile.findings ?? []).flatMap(({ evidence }) => evidence),
    ];
    for (const { id, label, meaning } of named) known.set(id, { label, meaning });
  }
  // Reasons of sampled warps stand among the metrics; they belong to the code, not to a launch.
  for (const line of catalogue) if (!line.id.startsWith('stall:')) known.set(line.id, line);
  return known;
}

/** Every metric of the selected and the compared launch, known ones first, then by id. */
export function metricRows(
  catalogue: readonly MetricLine[],
  profile: Profile,
  launch: Launch | null,
  compared: Profile | null,
): readonly MetricRow[] {
  const other = mainLaunch(compared);
  const known = describedMetrics(catalogue, [compared, profile]);
  const ids = new Set([...known.keys(), ...Object.keys(launch?.metrics ?? {}), ...Object.keys(other?.metrics ?? {})]);
  return [...ids]
    .map((id): MetricRow => {
      const described = known.get(id);
      const value = launch?.metrics[id] ?? { available: false, reason: whyMissing(profile, id) };
      const before =
        compared === null ? null : (other?.metrics[id] ?? { available: false, reason: whyMissing(compared, id) });
      const unit = value.available ? value.unit : before?.available ? before.unit : (described?.unit ?? '');
      return {
        id,
        label: described?.label ?? id,
        meaning: described?.meaning ?? '',
        unit,
        value,
        compared: before,
        ratio: ratioOf(value, before),
      };
    })
    .toSorted((a, b) => rank(a) - rank(b));
}

/** With a value and explained, with a value, explained, the rest. Array.sort keeps the order within. */
const rank = ({ value, meaning }: MetricRow): number => (value.available ? 0 : 2) + (meaning === '' ? 1 : 0);

function whyMissing(profile: Profile, id: string): string {
  if (profile.status === 'unavailable') return profile.reason ?? 'there is no profile';
  if (profile.stages?.some(({ unknown }) => unknown.includes(id))) return 'this ncu or GPU does not know it';
  if (
    profile.stages !== undefined &&
    !profile.stages.some(({ metrics, stage }) => stage === 'full' || metrics.includes(id))
  )
    return 'not asked for: the bottleneck did not need it';
  return 'not in ncu’s output';
}

/** Rows whose id, label, meaning or unit hold every word of the query. */
export function searchMetrics(rows: readonly MetricRow[], query: string): readonly MetricRow[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter(({ id, label, meaning, unit }) => {
    const text = `${id} ${label} ${meaning} ${unit}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Versions that have figures to compare, in their order. */
export const profiled = (versions: readonly RunVersion[]): readonly RunVersion[] =>
  versions.filter(({ evaluation }) => mainLaunch(evaluation?.profile) !== null);
