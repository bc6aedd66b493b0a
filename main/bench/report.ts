import {
  type AppError,
  AppFailure,
  type Bench,
  type BenchCell,
  type BenchResult,
  type Bottleneck,
  bottlenecks,
  confirmedFigures,
  type Dtype,
  dtypes,
  type Estimate,
  type Evaluation,
  FORMAT,
  type GpuInfo,
  type Machine,
  type MetricValue,
  type Outcome,
  type Roofline,
  type Sanitized,
  type SizeSet,
  sanitizedOf,
  sizeSets,
} from '../contract/index.ts';
import { roofline, sessionPeaks } from '../profile/roofline.ts';
import { metric } from '../profile/table2.ts';
import type { Planner } from './jobs.ts';
import { timed } from './jobs.ts';
import { type MicroRow, microRows } from './paper.ts';
import { isRight, type RawFigures, rightOnly, rightProfile } from './right.ts';
import { type StageRow, stageRows } from './stages.ts';

/** Thresholds of the cumulative success curve. */
export const taus = [1, 2, 4, 8, 16, 32] as const;

/** One size of an entry. null: not measured. Times in ns. */
export interface SizeRow {
  readonly problem: string;
  readonly dims: Readonly<Record<string, number>>;
  /** Share of the size in P, 0…1. */
  readonly share: number;
  readonly originSpanNs: Estimate | null;
  readonly originWrapperNs: Estimate | null;
  readonly candidateSpanNs: Estimate | null;
  readonly candidateWrapperNs: Estimate | null;
  readonly speedup: Estimate | null;
  readonly librarySpanNs: Estimate | null;
  /** Origin over library. */
  readonly librarySpeedup: Estimate | null;
  /** Library over candidate. */
  readonly libraryVersusCandidate: Estimate | null;
  /** Least possible time on this GPU. */
  readonly floorNs: number | null;
}

export interface Entry {
  readonly cell: string;
  readonly task: string;
  readonly title: string;
  readonly category: string;
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  /** File name or version of the candidate; null: a baseline. */
  readonly candidate: string | null;
  readonly outcome: Outcome;
  readonly reason: string;
  readonly verified: boolean;
  /** Figures of the candidate are null unless it is right, here and in `rows`. */
  readonly score: Estimate | null;
  readonly pMin: number | null;
  readonly geomean: number | null;
  readonly error: Evaluation['error'];
  readonly rows: readonly SizeRow[];
  readonly library: Omit<NonNullable<Evaluation['library']>, 'sizes'> | null;
  readonly processes: number | null;
  readonly calls: number | null;
  readonly voided: number | null;
  readonly jobWallMs: number;
  /** The machine that measured it: its place in `machines`; -1: none, it was refused. */
  readonly machine: number;
  /** Of accepted candidates and trade-offs; absent of others. */
  readonly sanitized?: Sanitized;
  /** Absent: the candidate is right, or nothing was measured of it. */
  readonly raw?: RawFigures;
}

export interface ProfileEntry {
  readonly cell: string;
  readonly task: string;
  readonly dtype: Dtype;
  readonly version: 'origin' | 'candidate';
  readonly sizes: SizeSet;
  readonly status: 'complete' | 'incomplete' | 'unavailable';
  readonly reason: string;
  /** What must be known of it whatever its status. */
  readonly remark?: string;
  readonly bottleneck: Bottleneck | null;
  readonly launchBound: boolean;
  readonly why: string;
  readonly throughputs: Readonly<Record<'compute' | 'memory' | 'dram', MetricValue>> | null;
  readonly launches: number;
  readonly kernel: string | null;
  readonly roofline: Roofline | null;
  /** The machine that measured it: its place in `machines`. */
  readonly machine: number;
}

/** Share of entries that reach τ. `unknown`: entries that were tried and have no figure: they count as not reached. */
export interface Success {
  readonly of: 'candidate' | 'library';
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  readonly n: number;
  readonly unknown: number;
  readonly reached: readonly { readonly tau: number; readonly count: number }[];
}

export interface Classes {
  readonly dtype: Dtype;
  readonly version: 'origin' | 'candidate';
  readonly counts: Readonly<Record<Bottleneck | 'none', number>>;
  readonly launchBound: number;
}

export interface BenchReport {
  readonly format: 'cudamaster-bench-report';
  readonly version: number;
  readonly bench: string;
  readonly createdAt: string;
  readonly reportedAt: string;
  readonly programVersion: string;
  readonly config: Bench['config'];
  readonly cells: { readonly all: number; readonly measured: number };
  /** Cells whose result is of another job: the task, the harness or the plan has changed since it was measured. */
  readonly outdated: readonly string[];
  readonly machines: readonly { readonly machine: Machine; readonly cells: number }[];
  readonly gpu: GpuInfo | null;
  /** Clocks seen during timing, MHz: least and most. null: not read. */
  readonly clocks: { readonly sm: readonly [number, number]; readonly memory: readonly [number, number] } | null;
  readonly stages: readonly StageRow[];
  readonly entries: readonly Entry[];
  readonly profiles: readonly ProfileEntry[];
  readonly success: readonly Success[];
  readonly classes: readonly Classes[];
  /** The paper's six comparisons with known implementations. */
  readonly micro: readonly MicroRow[];
  /** Cells without a result, with why. */
  readonly missing: readonly { readonly cell: string; readonly reason: string }[];
}

export interface ReportInput {
  readonly bench: Bench;
  readonly results: ReadonlyMap<string, BenchResult>;
  readonly planner: Pick<Planner, 'task' | 'candidateOf'>;
  readonly outdated?: readonly string[];
  readonly now: string;
}

/** Everything that is known of a bench. Pure: the same results give the same report (but for `reportedAt`). */
export function reportOf({ bench, results, planner, outdated = [], now }: ReportInput): BenchReport {
  const found = bench.cells.flatMap((cell) => {
    const result = results.get(cell.id);
    return result?.result ? [{ cell, result }] : [];
  });
  const machines = machinesOf(found.map(({ result }) => result));
  const placeOf = ({ result }: BenchResult): number =>
    result === null ? -1 : machines.findIndex(({ key }) => key === keyOf(result));
  // With those that were refused before anything ran.
  const told = bench.cells.flatMap((cell) => {
    const result = results.get(cell.id);
    return result?.evaluation ? [{ cell, result }] : [];
  });
  const entries = told.flatMap(({ cell, result }) => entryOf(planner, cell, result, placeOf(result)) ?? []);
  const peaks = peaksOf(results);
  const profiles = found
    .flatMap(({ cell, result }) => profileEntry(cell, result, peaks, placeOf(result)) ?? [])
    .map((profile) => rightProfile(profile, entries));
  return {
    format: 'cudamaster-bench-report',
    version: FORMAT.bench,
    bench: bench.id,
    createdAt: bench.createdAt,
    reportedAt: now,
    programVersion: bench.programVersion,
    config: bench.config,
    cells: { all: bench.cells.length, measured: found.length },
    outdated: [...outdated],
    machines: machines.map(({ machine, cells }) => ({ machine, cells })),
    gpu: found.map(({ result }) => result.evaluation?.gpu ?? null).find((gpu) => gpu !== null) ?? null,
    clocks: clocksOf(found.map(({ result }) => result)),
    stages: stageRows(found.map(({ cell, result }) => ({ stage: cell.stage, result: result.result }))),
    entries,
    profiles,
    success: successOf(entries),
    classes: classesOf(profiles),
    micro: microRows(entries),
    missing: bench.cells.flatMap((cell) => missingOf(cell, results.get(cell.id) ?? null)),
  };
}

function missingOf(cell: BenchCell, result: BenchResult | null): { cell: string; reason: string }[] {
  if (result?.result || result?.evaluation) return [];
  const fault: AppError | null = result?.fault ?? null;
  return [{ cell: cell.id, reason: fault ? fault.message : 'not run yet' }];
}

/** Title and category; of a task that is gone its id. What was measured of it stays. */
function taskOf(planner: ReportInput['planner'], id: string): { readonly title: string; readonly category: string } {
  try {
    return planner.task(id).task;
  } catch (fault) {
    if (!(fault instanceof AppFailure)) throw fault;
    return { title: id, category: 'unknown' };
  }
}

function entryOf(
  planner: ReportInput['planner'],
  cell: BenchCell,
  { evaluation }: BenchResult,
  machine: number,
): Entry | null {
  if (evaluation === null) return null;
  const task = taskOf(planner, cell.task);
  const { library } = evaluation;
  const figures = confirmedFigures(evaluation);
  const sanitized = sanitizedOf(evaluation);
  const total = figures?.sizes.reduce((sum, size) => sum + size.weight, 0) ?? 0;
  const rows = (figures?.sizes ?? []).map((size): SizeRow => {
    const lib = library?.sizes.find((s) => s.problem === size.problem);
    return {
      problem: size.problem,
      dims: size.dims,
      share: total > 0 ? size.weight / total : 0,
      originSpanNs: size.originSpanNs,
      originWrapperNs: size.originWrapperNs,
      candidateSpanNs: size.candidateSpanNs,
      candidateWrapperNs: size.candidateWrapperNs,
      speedup: size.speedup,
      librarySpanNs: lib?.spanNs ?? null,
      librarySpeedup: lib?.speedup ?? null,
      libraryVersusCandidate: lib?.versusCandidate ?? null,
      floorNs: size.floorNs,
    };
  });
  const { sizes: _, ...own } = library ?? { sizes: [] };
  return rightOnly({
    cell: cell.id,
    task: cell.task,
    title: task.title,
    category: task.category,
    dtype: cell.dtype,
    sizes: cell.sizes,
    candidate: planner.candidateOf(cell)?.label ?? null,
    outcome: evaluation.outcome,
    reason: evaluation.reason,
    verified: evaluation.verified,
    score: figures?.score ?? null,
    pMin: figures?.pMin ?? null,
    geomean: figures?.geomean ?? null,
    error: evaluation.error,
    rows,
    library: library ? (own as Entry['library']) : null,
    processes: figures?.processes ?? null,
    calls: figures?.calls ?? null,
    voided: figures?.voided ?? null,
    jobWallMs: evaluation.jobWallMs,
    machine,
    ...(sanitized === null ? {} : { sanitized }),
  });
}

type Peaks = ReturnType<typeof sessionPeaks>;

/** Peaks of the GPU by its UUID: the best of what the time sessions of this bench have measured on it. */
function peaksOf(results: ReadonlyMap<string, BenchResult>): ReadonlyMap<string, Peaks> {
  const out = new Map<string, Peaks>();
  for (const { result } of results.values()) {
    const uuid = result?.machine.gpu?.uuid;
    const peaks = sessionPeaks(timed(result)?.peaks ?? null);
    if (uuid === undefined || peaks.bytesPerS === null) continue;
    const known = out.get(uuid);
    out.set(uuid, {
      bytesPerS: Math.max(known?.bytesPerS ?? 0, peaks.bytesPerS),
      flopsPerS: { fp32: Math.max(known?.flopsPerS.fp32 ?? 0, peaks.flopsPerS.fp32 ?? 0) },
    });
  }
  return out;
}

function profileEntry(
  cell: BenchCell,
  found: BenchResult,
  peaks: ReadonlyMap<string, Peaks>,
  machine: number,
): ProfileEntry | null {
  const { profile } = found;
  if (cell.stage !== 'profile' || profile === null) return null;
  const launch = profile.launches.find(({ index }) => index === profile.verdict?.launch) ?? null;
  const uuid = found.result?.machine.gpu?.uuid ?? '';
  return {
    cell: cell.id,
    task: cell.task,
    dtype: cell.dtype,
    version: cell.version,
    sizes: cell.sizes,
    status: profile.status,
    reason: profile.reason ?? '',
    ...(profile.remark === undefined ? {} : { remark: profile.remark }),
    bottleneck: profile.verdict?.bottleneck ?? null,
    launchBound: profile.verdict?.launchBound ?? false,
    why: profile.verdict?.why ?? profile.reason ?? '',
    throughputs: launch && {
      compute: metric(launch, 'compute'),
      memory: metric(launch, 'memory'),
      dram: metric(launch, 'dram'),
    },
    launches: profile.launches.length,
    kernel: launch?.kernel ?? null,
    roofline: launch && roofline(launch, peaks.get(uuid) ?? { bytesPerS: null, flopsPerS: {} }),
    machine,
  };
}

/** Machines are told apart by all but the host's name; '' before there is a result. */
function keyOf(result: BenchResult['result']): string {
  if (result === null) return '';
  const { host: _, ...same } = result.machine;
  return JSON.stringify(same);
}

/** Those with most cells first. */
function machinesOf(results: readonly BenchResult[]): { key: string; machine: Machine; cells: number }[] {
  const out = new Map<string, { key: string; machine: Machine; cells: number }>();
  for (const { result } of results) {
    if (result === null) continue;
    const key = keyOf(result);
    out.set(key, { key, machine: result.machine, cells: (out.get(key)?.cells ?? 0) + 1 });
  }
  return [...out.values()].sort((a, b) => b.cells - a.cells);
}

function clocksOf(results: readonly BenchResult[]): BenchReport['clocks'] {
  const clocks = results.flatMap(({ result }) => timed(result)?.clocks ?? []);
  const range = (values: number[]): readonly [number, number] => [Math.min(...values), Math.max(...values)];
  const sm = clocks.flatMap((c) => c.smMHz);
  const memory = clocks.flatMap((c) => c.memMHz);
  return sm.length > 0 && memory.length > 0 ? { sm: range(sm), memory: range(memory) } : null;
}

/** Candidates: P of those that were measured and are right; a rejected one reaches nothing. Libraries: their weighted mean likewise. */
function successOf(entries: readonly Entry[]): Success[] {
  const out: Success[] = [];
  const add = (of: Success['of'], group: readonly Entry[], value: (e: Entry) => number | null): void => {
    const first = group[0];
    if (first === undefined) return;
    const values = group.map(value);
    out.push({
      of,
      dtype: first.dtype,
      sizes: first.sizes,
      n: group.length,
      unknown: values.filter((v) => v === null).length,
      reached: taus.map((tau) => ({ tau, count: values.filter((v) => v !== null && v >= tau).length })),
    });
  };
  const groups = sizeSets.flatMap((sizes) =>
    dtypes.map((dtype) => entries.filter((e) => e.sizes === sizes && e.dtype === dtype)),
  );
  for (const group of groups) {
    add(
      'candidate',
      group.filter((e) => e.candidate !== null),
      (e) => (isRight(e) ? (e.score?.value ?? null) : null),
    );
    add(
      'library',
      group.filter((e) => e.library !== null),
      (e) => e.library?.score?.value ?? null,
    );
  }
  return out;
}

function classesOf(profiles: readonly ProfileEntry[]): Classes[] {
  return grouped(profiles, (p) => `${p.dtype} ${p.version}`).map((group) => ({
    dtype: (group[0] as ProfileEntry).dtype,
    version: (group[0] as ProfileEntry).version,
    counts: Object.fromEntries(
      [...bottlenecks, null].map((name) => [name ?? 'none', group.filter((p) => p.bottleneck === name).length]),
    ) as Classes['counts'],
    launchBound: group.filter((p) => p.launchBound).length,
  }));
}

function grouped<T>(items: readonly T[], key: (item: T) => string): T[][] {
  const out = new Map<string, T[]>();
  for (const item of items) out.set(key(item), [...(out.get(key(item)) ?? []), item]);
  return [...out.values()];
}
