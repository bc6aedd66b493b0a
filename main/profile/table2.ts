import {
  type Bottleneck,
  bottleneckOf,
  type Launch,
  type MetricValue,
  memoryHigher,
  type Profile,
  type Thresholds,
  type Verdict,
} from '../contract/index.ts';
import table from './table2.json' with { type: 'json' };

type MetricKey = keyof typeof table.metrics;
export type Table2Key = MetricKey;
type Filtered = Profile['filtered'][number];

/** θ of the paper, in % of peak. `calibrate` may propose other ones for a GPU. */
export const PAPER_THRESHOLDS: Thresholds = { compute: 30, dram: 30, memory: 30 };

const entry = (key: MetricKey) => table.metrics[key];

/** Metric id of a label of ncu's details page; null when Table 2 has no use for it. Labels repeat across sections: the section decides. */
export function idOfLabel(section: string, label: string, unit: string): string | null {
  for (const metric of Object.values(table.metrics)) {
    if (metric.label === label && metric.section === section && (metric.unit === '' || metric.unit === unit))
      return metric.ids[0] ?? null;
  }
  return null;
}

/** The metric ids asked of ncu: verdict, Table 2, finer evidence. Launch figures and duration included. */
export function profileMetricIds(): string[] {
  return Object.values(table.metrics).map((metric) => metric.ids[0] as string);
}

/** All ids of a quantity, the one to ask for first. */
export const alternatives = (key: MetricKey): string[] => [...entry(key).ids];

export const firstIds = (keys: readonly MetricKey[]): string[] => keys.map((key) => entry(key).ids[0] as string);

export const bottleneckIds = (of: Bottleneck): string[] => firstIds(table.bottlenecks[of] as MetricKey[]);

export const evidenceKeys = table.evidence as readonly MetricKey[];

/** ncu metric id (the first of its generations) and label of a Table 2 key. */
export const metricName = (key: MetricKey): { readonly id: string; readonly label: string } => ({
  id: entry(key).ids[0] as string,
  label: entry(key).label,
});

/** Value of a metric by Table 2 key: the first of its ids that the launch has. */
export function metric(launch: Launch, key: MetricKey): MetricValue {
  let missing: MetricValue = { available: false, reason: `${entry(key).ids[0]} is not in ncu's output` };
  for (const id of entry(key).ids) {
    const value = launch.metrics[id];
    if (value?.available) return value;
    if (value !== undefined && missing.available === false) missing = value;
  }
  return missing;
}

/** Index (in the array) of the launch with most time; the reason when that cannot be said. */
function hottest(launches: readonly Launch[]): { readonly at: number } | { readonly why: string } {
  if (launches.length === 0) return { why: 'no launch was profiled' };
  if (launches.length === 1) return { at: 0 };
  let at = -1;
  let most = -1;
  for (const [i, launch] of launches.entries()) {
    const time = metric(launch, 'duration');
    if (!time.available) return { why: `launch ${launch.index} has no duration (${time.reason})` };
    if (time.value > most) [at, most] = [i, time.value];
  }
  return { at };
}

const pct = (value: number): string => `${value.toFixed(1)} %`;

/**
 * Bottleneck of the launch with most time (Table 2 of the paper): SM throughput above θ → compute bound; else DRAM or memory
 * throughput above θ → memory-bandwidth bound; else memory-latency bound. A grid below one wave is also `launchBound`.
 * A verdict needs all three throughputs: one missing, none given.
 */
export function verdict(launches: readonly Launch[], thresholds: Thresholds = PAPER_THRESHOLDS): Verdict {
  const none = (why: string, launch: number | null = null, launchBound = false): Verdict => ({
    bottleneck: null,
    launchBound,
    why,
    thresholds,
    launch,
  });
  const hot = hottest(launches);
  if ('why' in hot) return none(hot.why);
  const launch = launches[hot.at] as Launch;
  const waves = metric(launch, 'waves');
  const launchBound = waves.available && waves.value < 1;
  const grid = waves.available
    ? launchBound
      ? `; the grid fills only ${waves.value} of one wave: launch bound`
      : ''
    : `; waves per SM unknown (${waves.reason})`;
  const compute = metric(launch, 'compute');
  const memory = metric(launch, 'memory');
  const dram = metric(launch, 'dram');
  for (const [key, value] of [
    ['compute', compute],
    ['memory', memory],
    ['dram', dram],
  ] as const)
    if (!value.available)
      return none(`no verdict: ${entry(key).label} is missing (${value.reason})${grid}`, launch.index, launchBound);
  if (!compute.available || !memory.available || !dram.available) return none('unreachable', launch.index, launchBound);
  const seen = `SM ${pct(compute.value)}, memory ${pct(memory.value)}, DRAM ${pct(dram.value)}`;
  const bottleneck = bottleneckOf({ compute: compute.value, memory: memory.value, dram: dram.value }, thresholds);
  return { bottleneck, launchBound, why: `${seen}${grid}`, thresholds, launch: launch.index };
}

const show = (launch: Launch, key: MetricKey): Filtered => {
  const value = metric(launch, key);
  const { ids, label, meaning } = entry(key);
  return { id: ids.find((id) => launch.metrics[id]?.available) ?? (ids[0] as string), label, meaning, value };
};

/** The launch a verdict is about. */
export const launchOf = (launches: readonly Launch[], of: Verdict): Launch | undefined =>
  launches.find((launch) => launch.index === of.launch);

/** The metrics Table 2 passes on for the verdict; both sides above θ with memory the higher one: the bandwidth metrics go along. */
export function filteredView(launches: readonly Launch[], of: Verdict): Filtered[] {
  const launch = launchOf(launches, of);
  if (launch === undefined || of.bottleneck === null) return [];
  const keys: MetricKey[] = [...(table.bottlenecks[of.bottleneck] as MetricKey[])];
  const seen = throughputsOf(launch);
  if (of.bottleneck === 'compute' && seen !== null && memoryHigher(seen, of.thresholds))
    keys.push(...(table.bottlenecks['memory-bandwidth'] as MetricKey[]));
  return keys.map((key) => show(launch, key));
}

function throughputsOf(launch: Launch): Thresholds | null {
  const compute = metric(launch, 'compute');
  const memory = metric(launch, 'memory');
  const dram = metric(launch, 'dram');
  if (!compute.available || !memory.available || !dram.available) return null;
  return { compute: compute.value, memory: memory.value, dram: dram.value };
}

/** Finer evidence for the Planner: occupancy and its limits, divergence, coalescing, bank conflicts, spills, stalls. Missing ones left out. */
export function evidenceView(launches: readonly Launch[], of: Verdict): Filtered[] {
  const launch = launchOf(launches, of);
  if (launch === undefined) return [];
  return (table.evidence as MetricKey[]).map((key) => show(launch, key)).filter((m) => m.value.available);
}

/** All of Table 2 and the evidence, in file order: the `full` profile mode. */
export function fullView(launches: readonly Launch[], of: Verdict): Filtered[] {
  const launch = launchOf(launches, of) ?? launches[0];
  return launch === undefined ? [] : (Object.keys(table.metrics) as MetricKey[]).map((key) => show(launch, key));
}

/** Label and meaning of a metric id of Table 2; null for other ids. */
export function describeMetric(id: string): { readonly label: string; readonly meaning: string } | null {
  return Object.values(table.metrics).find((entry) => entry.ids.includes(id)) ?? null;
}
