import {
  type Bottleneck,
  bottlenecks,
  type Calibration,
  type ClassCounts,
  err,
  type Launch,
  type MetricValue,
  ok,
  type Profile,
  type Result,
  type ThresholdProposal,
  type Thresholds,
  type Throughput,
  throughputs,
  type Verdict,
  type VerdictShift,
} from '../contract/index.ts';
import { bootstrapInterval, type Cut, type Interval, type NoCut, otsu, type Random } from './otsu.ts';
import { metric, metricName, PAPER_THRESHOLDS, verdict } from './table2.ts';

/**
 * When a threshold is adopted. The interval may be 10 points wide: the paper gives its θ as a round ten, so a threshold less sure
 * than ±5 says no more than the paper's; and candidates take values that no task has, so the width counts in points, not in tasks
 * inside. Fewer than 20 values are not judged, for η alone proves little then: of 8 lognormal values 73 % reach 0.8, of 20 uniform
 * ones 30 %. By simulation all conditions together adopt at most 4 % of samples from one peak, per throughput (uniform, normal,
 * exponential, lognormal, triangular; 20, 30, 50 values; 600 samples each; 15 points of width: 7 %), and 33-97 % of four two-peaked
 * mixtures at 50 values. test/profile/calibrate.test.ts draws such samples again.
 */
export const ADOPTION = { eta: 0.8, width: 10, level: 0.95, atLeast: 20, resamples: 2000 } as const;

/** The profile of a task's baseline at its `large` size. One per task: two types of one task resemble each other and are no two values. */
export interface TaskProfile {
  readonly task: string;
  readonly profile: Profile;
}

export type About = Pick<Calibration, 'gpu' | 'driver' | 'date' | 'dtype'>;

type Found = { readonly launch: Launch } | { readonly reason: string };

/**
 * Thresholds of Table 2 for this GPU: per throughput the cut of Otsu over one launch per task (the one with most time), its
 * separability and bootstrap interval; the paper's 30 % stays where they do not carry it, and everywhere with `withheld`, which says why.
 * Errors: a task given twice.
 */
export function calibrate(
  tasks: readonly TaskProfile[],
  about: About,
  random: Random,
  withheld: string | null = null,
): Result<Calibration> {
  const twice = tasks.find(({ task }, at) => tasks.findIndex((other) => other.task === task) !== at);
  if (twice !== undefined)
    return err('usage', `${twice.task} was given twice to calibrate.`, { remedy: 'Give one profile per task.' });
  const found = tasks.map(({ task, profile }) => ({ task, found: launchOf(profile, about.gpu.cc) }));
  const [compute, dram, memory] = throughputs.map((key) => propose(key, found, random, withheld)) as [
    ThresholdProposal,
    ThresholdProposal,
    ThresholdProposal,
  ];
  const proposals = { compute, dram, memory };
  const thresholds = { compute: compute.used, dram: dram.used, memory: memory.used };
  return ok({
    ...about,
    ncuVersions: [...new Set(tasks.flatMap(({ profile }) => profile.ncuVersion ?? []))].sort(),
    tasks: tasks.length,
    thresholds,
    proposals,
    verdicts: shiftOf(
      found.map(({ task, found }) => ({
        task,
        before: verdictOf(found, PAPER_THRESHOLDS),
        after: verdictOf(found, thresholds),
      })),
    ),
  });
}

/** The launch that stands for a profile, or why there is none: only complete profiles of a `large` size on a GPU of this kind count. */
function launchOf(profile: Profile, cc: string): Found {
  if (profile.status !== 'complete') return { reason: profile.reason ?? `the profile is ${profile.status}` };
  if (!profile.problem?.startsWith('large/'))
    return { reason: `profiled at ${profile.problem ?? 'an unknown size'}, not at a large one` };
  const launch = profile.launches.find(({ index }) => index === profile.verdict?.launch);
  if (launch === undefined) return { reason: profile.verdict?.why ?? 'the profile has no verdict' };
  if (launch.cc !== cc) return { reason: `profiled on compute capability ${launch.cc}, this GPU has ${cc}` };
  return { launch };
}

/** θ of one throughput from the launches of the tasks. */
function propose(
  key: Throughput,
  tasks: readonly { readonly task: string; readonly found: Found }[],
  random: Random,
  withheld: string | null,
): ThresholdProposal {
  const values: ThresholdProposal['values'] = [];
  const missing: ThresholdProposal['missing'] = [];
  for (const { task, found } of tasks) {
    const value = 'launch' in found ? percentage(metric(found.launch, key)) : found;
    if (typeof value === 'number') values.push({ task, value });
    else missing.push({ task, reason: value.reason });
  }
  const cut = cutOf(
    values.map(({ value }) => value),
    missing,
    random,
  );
  const refused = withheld ?? refusal(cut);
  const paper = PAPER_THRESHOLDS[key];
  const used = refused === null && cut.available ? cut.threshold : paper;
  return {
    metric: key,
    ...metricName(key),
    n: values.length,
    values,
    missing,
    cut,
    adopted: refused === null,
    used,
    why: refused === null ? `${points(used)} % adopted: ${merits(cut)}` : `the paper's ${paper} % stays: ${refused}`,
  };
}

/** Value of a metric in %, or why it cannot be used. */
function percentage(value: MetricValue): number | { readonly reason: string } {
  if (!value.available) return { reason: value.reason };
  if (value.unit !== '%') return { reason: `the unit is "${value.unit}", not %` };
  if (!Number.isFinite(value.value) || value.value < 0) return { reason: `${value.value} is not a percentage` };
  return value.value;
}

function cutOf(
  values: readonly number[],
  missing: ThresholdProposal['missing'],
  random: Random,
): ThresholdProposal['cut'] {
  if (values.length < ADOPTION.atLeast) {
    const first = missing[0];
    const lost = first === undefined ? '' : `; ${missing.length} without one, first ${first.task}: ${first.reason}`;
    return { available: false, reason: `${values.length} tasks have a value, ${ADOPTION.atLeast} are needed${lost}` };
  }
  const cut = otsu(values);
  return cut.available ? { ...cut, interval: bootstrapInterval(values, random, ADOPTION) } : cut;
}

/** Why a cut is not adopted; null when it is. */
export function refusal(
  cut: (Pick<Cut, 'available' | 'threshold' | 'eta'> & { readonly interval: Interval | NoCut }) | NoCut,
): string | null {
  if (!cut.available) return cut.reason;
  const at = `Otsu's cut at ${points(cut.threshold)} %`;
  if (!(cut.eta >= ADOPTION.eta))
    return `${at} separates too little: η ${below(cut.eta)} is under ${ADOPTION.eta}, the values form no two classes`;
  const { interval } = cut;
  if (!interval.available) return `${at} has no interval: ${interval.reason}`;
  const width = interval.high - interval.low;
  if (!(width <= ADOPTION.width)) return `${at} is uncertain: ${range(interval)}, more than ${ADOPTION.width}`;
  return null;
}

const merits = (cut: ThresholdProposal['cut']): string =>
  cut.available && cut.interval.available
    ? `middle of the gap from ${points(cut.gap[0])} to ${points(cut.gap[1])} %, ${cut.low} low and ${cut.high} high values, η ${below(cut.eta)}, ${range(cut.interval)}`
    : '';

const range = ({ low, high, level }: Interval): string =>
  `${Math.round(level * 100)} % interval ${points(low)} to ${points(high)} %, ${points(high - low)} points wide`;

const points = (value: number): string => value.toFixed(1);
/** Two digits, rounded down: an η under 0.8 is never printed as 0.80. */
const below = (eta: number): string => (Math.floor(eta * 100 + 1e-9) / 100).toFixed(2);

function verdictOf(found: Found, thresholds: Thresholds): Verdict {
  if ('launch' in found) return verdict([found.launch], thresholds);
  return { bottleneck: null, launchBound: false, why: found.reason, thresholds, launch: null };
}

/** Verdicts per class; those without one under `none`. */
export function classCounts(verdicts: readonly Verdict[]): ClassCounts {
  const of = (name: Bottleneck | null): number => verdicts.filter(({ bottleneck }) => bottleneck === name).length;
  const classes = Object.fromEntries(bottlenecks.map((name) => [name, of(name)])) as Record<Bottleneck, number>;
  return { ...classes, none: of(null), launchBound: verdicts.filter(({ launchBound }) => launchBound).length };
}

/** Class counts before and after, and the tasks whose class changed. */
export function shiftOf(
  tasks: readonly { readonly task: string; readonly before: Verdict; readonly after: Verdict }[],
): VerdictShift {
  return {
    before: classCounts(tasks.map(({ before }) => before)),
    after: classCounts(tasks.map(({ after }) => after)),
    moved: tasks
      .filter(({ before, after }) => before.bottleneck !== after.bottleneck)
      .map(({ task, before, after }) => ({ task, from: before.bottleneck, to: after.bottleneck })),
  };
}

/** Thresholds for a GPU: a calibration's when it was made on this very GPU with this driver, else the paper's; with the reason. */
export function thresholdsFor(
  calibration: Calibration | null,
  machine: { readonly uuid: string | null; readonly driver: string | null },
): { readonly thresholds: Thresholds; readonly calibrated: boolean; readonly why: string } {
  const paper = (why: string) => ({ thresholds: PAPER_THRESHOLDS, calibrated: false, why });
  if (calibration === null) return paper('this GPU was not calibrated');
  if (machine.uuid === null || calibration.gpu.uuid !== machine.uuid)
    return paper(`the calibration is of ${calibration.gpu.uuid}, this GPU is ${machine.uuid ?? 'unknown'}`);
  if (calibration.driver !== machine.driver)
    return paper(`calibrated under driver ${calibration.driver}, now ${machine.driver ?? 'unknown'}: calibrate again`);
  return { thresholds: calibration.thresholds, calibrated: true, why: `calibrated on ${calibration.date}` };
}
