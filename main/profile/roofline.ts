import type { Launch, MetricValue, Roofline, RooflinePeaks, RooflinePoint, TimeResult } from '../contract/index.ts';
import data from './roofline.json' with { type: 'json' };

interface Term {
  readonly weight: number;
  readonly counts: readonly string[];
  readonly rate?: string;
}
interface Pipe {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly terms: readonly Term[];
}
const pipes: readonly Pipe[] = data.pipes;

/** ncu prints two decimals, so a rate is off by at most half of the last one. */
const HALF_STEP = 0.005;
/** A point this far above its roof does not belong under it; ours. */
const ABOVE_PCT = 105;

const none = (reason: string): MetricValue => ({ available: false, reason });
const some = (value: number, unit: string): MetricValue => ({ available: true, value, unit });

/** Peaks of a time session: the best measured stream, FP32, and the other pipes that were measured. */
export function sessionPeaks(peaks: TimeResult['peaks']): RooflinePeaks {
  if (peaks === null) return { bytesPerS: null, flopsPerS: {} };
  const { readBytesPerS, writeBytesPerS, copyBytesPerS, fp32FlopsPerS, pipeFlopsPerS } = peaks;
  return {
    bytesPerS: Math.max(readBytesPerS, writeBytesPerS, copyBytesPerS),
    flopsPerS: { fp32: fp32FlopsPerS, ...pipeFlopsPerS },
  };
}

/**
 * Points of a launch under the roofs min(peak of the pipe, intensity · bandwidth) (Williams, Waterman, Patterson 2009), from DRAM bytes
 * and executed operations. A pipe with a count missing has no point; a launch without bytes or time has points without position.
 */
export function roofline(launch: Launch, peaks: RooflinePeaks): Roofline {
  const duration = inUnit(first(launch, data.duration), 'ns');
  const bytes = dramBytes(launch, duration);
  const counted = pipes.map((pipe) => ({ pipe, ops: operations(launch, pipe) }));
  const missing = counted.flatMap(({ pipe, ops }) => ('reason' in ops ? [{ pipe: pipe.id, reason: ops.reason }] : []));
  const worked = counted.flatMap(({ pipe, ops }) => ('flop' in ops && ops.flop > 0 ? [{ pipe, ...ops }] : []));
  const total = worked.reduce((sum, { flop }) => sum + flop, 0);
  worked.sort((a, b) => b.flop - a.flop);
  const points = worked.map(({ pipe, flop, plusMinus }) => ({
    ...position(pipe, flop, bytes, duration, peaks),
    flop,
    plusMinus,
    share: flop / total,
  }));
  return {
    peaks,
    launch: launch.index,
    kernel: launch.kernel,
    bytes,
    duration,
    points,
    missing,
    notes: notesOf(points, missing.length),
  };
}

function notesOf(points: readonly RooflinePoint[], missing: number): string[] {
  const notes = ['Time and bytes are those under the profiler, which empties the caches before the launch.'];
  if (points.length === 0 && missing === 0)
    notes.push('The launch executed no floating-point operation that ncu counts.');
  if (points.length > 1)
    notes.push('Several pipes worked: each point stands under its own roof, with all bytes of the launch.');
  for (const { pipe } of points) {
    const note = pipes.find(({ id }) => id === pipe)?.note;
    if (note !== undefined) notes.push(note);
  }
  for (const { label, ofCeiling } of points)
    if (ofCeiling.available && ofCeiling.value > ABOVE_PCT)
      notes.push(`${label} lies above its roof: these peaks were not measured on this GPU, or at lower clocks.`);
  return notes;
}

/** First of the ids with a number. */
function first(launch: Launch, ids: readonly string[]): MetricValue {
  let missing: MetricValue = none(`${ids[0]} is not in ncu's output`);
  for (const id of ids) {
    const value = launch.metrics[id];
    if (value?.available) return value.value >= 0 ? value : none(`${id} is negative`);
    if (value !== undefined) missing = none(`${id}: ${value.reason}`);
  }
  return missing;
}

/** Without its units row a number could be of any scale. */
const inUnit = (value: MetricValue, unit: string): MetricValue =>
  value.available && value.unit !== unit ? none(`the unit is "${value.unit}", not "${unit}"`) : value;

function dramBytes(launch: Launch, duration: MetricValue): MetricValue {
  let missing: MetricValue | null = null;
  for (const way of data.bytes) {
    const unit = way.sum === undefined ? 'byte/s' : 'byte';
    const parts = (way.sum ?? [way.perSecond ?? '']).map((id) => inUnit(first(launch, [id]), unit));
    const absent = parts.find((part) => !part.available);
    if (absent !== undefined) missing ??= absent;
    else {
      const sum = parts.reduce((total, part) => total + (part.available ? part.value : 0), 0);
      if (way.sum !== undefined) return some(sum, 'byte');
      if (duration.available) return some((sum * duration.value) / 1e9, 'byte');
    }
  }
  return missing ?? none('DRAM bytes are not in ncu’s output');
}

/** Operations of a pipe; a term without a number leaves the pipe unknown. */
function operations(launch: Launch, pipe: Pipe): { flop: number; plusMinus: number } | { reason: string } {
  let flop = 0;
  let plusMinus = 0;
  for (const { weight, counts, rate } of pipe.terms) {
    const count = first(launch, counts);
    if (count.available) {
      flop += weight * count.value;
      continue;
    }
    if (rate === undefined) return { reason: count.reason };
    const perCycle = first(launch, [rate]);
    const cycles = first(launch, data.cycles);
    if (!perCycle.available) return { reason: perCycle.reason };
    if (!cycles.available) return { reason: cycles.reason };
    flop += weight * perCycle.value * cycles.value;
    plusMinus += weight * HALF_STEP * cycles.value;
  }
  return { flop, plusMinus };
}

function position(
  pipe: Pipe,
  flop: number,
  bytes: MetricValue,
  duration: MetricValue,
  peaks: RooflinePeaks,
): Omit<RooflinePoint, 'flop' | 'plusMinus' | 'share'> {
  const intensity = !bytes.available
    ? bytes
    : bytes.value > 0
      ? some(flop / bytes.value, 'flop/byte')
      : none('the launch moved no byte of device memory');
  const rate = !duration.available
    ? duration
    : duration.value > 0
      ? some((flop / duration.value) * 1e9, 'flop/s')
      : none('the launch took no measurable time');
  const { ceiling, under } = roof(pipe, intensity, peaks);
  const ofCeiling = !ceiling.available
    ? ceiling
    : !rate.available
      ? rate
      : some((100 * rate.value) / ceiling.value, '%');
  return { pipe: pipe.id, label: pipe.label, intensity, rate, ceiling, ofCeiling, under };
}

function roof(pipe: Pipe, intensity: MetricValue, peaks: RooflinePeaks): Pick<RooflinePoint, 'ceiling' | 'under'> {
  const flat = peaks.flopsPerS[pipe.id];
  const no = (reason: string) => ({ ceiling: none(reason), under: null });
  if (flat === undefined || !(flat > 0)) return no(`the ${pipe.label} peak of this GPU was not measured`);
  if (peaks.bytesPerS === null || !(peaks.bytesPerS > 0))
    return no('the memory bandwidth of this GPU was not measured');
  if (!intensity.available) return no(intensity.reason);
  const slope = intensity.value * peaks.bytesPerS;
  return { ceiling: some(Math.min(flat, slope), 'flop/s'), under: slope < flat ? 'bandwidth' : 'compute' };
}

/** Every metric id the roofline can use, for asking ncu. */
export function rooflineMetricIds(): string[] {
  const terms = pipes.flatMap((pipe) => pipe.terms);
  const ids = [
    ...data.duration,
    ...data.cycles,
    ...data.bytes.flatMap((way) => way.sum ?? [way.perSecond ?? '']),
    ...terms.flatMap(({ counts, rate }: Term) => (rate === undefined ? counts : [...counts, rate])),
  ];
  return [...new Set(ids)];
}

/** The ids to ask for: of each quantity the first one, counts rather than rates; cycles only serve rates. */
export function rooflineIds(): string[] {
  const counts = pipes.flatMap((pipe) => pipe.terms).map(({ counts }) => counts[0] as string);
  return [...new Set([...data.duration, ...(data.bytes[0]?.sum ?? []), ...counts])];
}
