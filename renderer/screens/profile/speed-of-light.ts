import type { Launch, MetricValue, Profile } from '../../../main/contract/index.ts';
import { mainLaunch, metricOf } from './versions.ts';

/** One bar: share of a peak, in %. */
export interface Bar {
  readonly id: string;
  readonly label: string;
  readonly value: MetricValue;
  /** Of the version compared with; null: none chosen. */
  readonly baseline: MetricValue | null;
  /** θ, in %; null: the verdict does not look at this one. */
  readonly threshold: number | null;
}

interface Spec {
  readonly label: string;
  /** GPU generations name a quantity differently: the first one present. */
  readonly ids: readonly string[];
  readonly threshold?: 'compute' | 'memory' | 'dram';
}

/** What is shown, from the whole to the parts. All are % of what the hardware can sustain, or hit rates. */
const specs: readonly Spec[] = [
  { label: 'Compute (SM)', ids: ['sm__throughput.avg.pct_of_peak_sustained_elapsed'], threshold: 'compute' },
  { label: 'Memory', ids: ['gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed'], threshold: 'memory' },
  {
    label: 'DRAM',
    ids: [
      'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
      'dram__throughput.avg.pct_of_peak_sustained_elapsed',
    ],
    threshold: 'dram',
  },
  { label: 'L1/TEX', ids: ['l1tex__throughput.avg.pct_of_peak_sustained_active'] },
  { label: 'L2', ids: ['lts__throughput.avg.pct_of_peak_sustained_elapsed'] },
  {
    label: 'Issue slots busy',
    ids: ['sm__inst_issued.avg.pct_of_peak_sustained_elapsed', 'sm__inst_issued.avg.pct_of_peak_sustained_active'],
  },
  { label: 'L1 hit rate', ids: ['l1tex__t_sector_hit_rate.pct'] },
  { label: 'L2 hit rate', ids: ['lts__t_sector_hit_rate.pct'] },
  { label: 'Achieved occupancy', ids: ['sm__warps_active.avg.pct_of_peak_sustained_active'] },
];

/** The bars of a launch beside those of the version compared with. */
export function bars(profile: Profile, launch: Launch | null, compared: Profile | null): readonly Bar[] {
  const other = mainLaunch(compared);
  return specs.map(({ label, ids, threshold }) => ({
    id: ids.find((id) => launch?.metrics[id]?.available) ?? (ids[0] as string),
    label,
    value: metricOf(launch, ids),
    baseline: compared === null ? null : metricOf(other, ids),
    threshold: threshold === undefined ? null : (profile.verdict?.thresholds[threshold] ?? null),
  }));
}

/** Metrics that the verdict was made of, for the sentence below it. */
export const verdictBars = (all: readonly Bar[]): readonly Bar[] => all.filter(({ threshold }) => threshold !== null);
