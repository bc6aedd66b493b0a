import type {
  Heatmap,
  KernelStatic,
  Launch,
  Profile,
  ProfileMode,
  ProfileResult,
  RooflinePeaks,
  SourceFunction,
  SourcePage,
  Thresholds,
  TimeResult,
  Verdict,
} from '../contract/index.ts';
import { kernelBaseName } from '../contract/kernel-name.ts';
import { findings } from './evidence.ts';
import { heatmap } from './heatmap.ts';
import { parseRaw } from './parse-raw.ts';
import { parseSource } from './parse-source.ts';
import { roofline } from './roofline.ts';
import { functionOf, type SourceTexts, sourceView, withTexts } from './source-view.ts';
import { evidenceView, filteredView, fullView, launchOf, PAPER_THRESHOLDS, verdict } from './table2.ts';

type Activity = TimeResult['activities'][number];

/** The pages of the hottest launch, unpacked; '' where there is none. */
export interface Pages {
  readonly detail: string;
  readonly source: string;
}

export interface ProfileContext {
  /** Id of the problem profiled ("large/0"). */
  readonly problem: string;
  /** CUPTI's activities of the profiled arm and problem, from the time session; null = not timed, nothing to compare with. */
  readonly activities: readonly Activity[] | null;
  /** Why ncu could not profile, as the profile step told it (main/jobs/session/classify-ncu.ts); absent: it told nothing. */
  readonly fault?: { readonly message: string; readonly remedy?: string };
  readonly thresholds?: Thresholds;
  /** Where they come from, when they are not the paper's: told with the verdict. */
  readonly thresholdsFrom?: string;
  readonly mode?: ProfileMode;
  readonly pages?: Pages;
  /** Peaks measured on this GPU; null: none were. */
  readonly peaks?: RooflinePeaks | null;
  /** What ptxas said of the profiled version's kernels. */
  readonly statics?: readonly KernelStatic[];
  /** Sources by name, for lines that ncu has no text of. */
  readonly texts?: SourceTexts;
  /** Launches after which ncu was told to stop. */
  readonly maxLaunches?: number;
}

/** Whether ncu saw what the timed calls launch is not known then: another path may have been taken under it. */
const NOT_COMPARED = 'launches not compared with a timing: there is none of this version at this size';

/** Rows of a heatmap that are kept. */
const HEAT_ROWS = 30;

/** A profile that does not exist, with why and what can be done. */
export function noProfile(
  reason: string,
  remedy?: string,
  context?: { problem?: string; ncuVersion?: string | null },
): Profile {
  return {
    status: 'unavailable',
    reason,
    ...(remedy === undefined ? {} : { remedy }),
    ncuVersion: context?.ncuVersion ?? null,
    problem: context?.problem ?? null,
    launches: [],
    verdict: null,
    filtered: [],
  };
}

/**
 * ncu's text → Profile. The state comes from the rows, not from the exit code: rows that match CUPTI's launches in names and
 * counts are `complete` (so are those of a version that was not timed, with a remark); others `incomplete` (shown, but without a verdict); no rows `unavailable`, with cause and remedy. A second
 * stage that gave nothing makes it `incomplete` too, with the verdict of the first.
 */
export function interpretProfile(result: ProfileResult, context: ProfileContext): Profile {
  const { launches } = parseRaw(result.rawCsv);
  const at = { problem: context.problem, ncuVersion: result.ncuVersion };
  if (launches.length === 0) return withoutRows(result, context, at);
  const mismatch = mismatchOf(result, launches, context);
  const judged = verdict(launches, context.thresholds ?? PAPER_THRESHOLDS);
  const from = context.thresholdsFrom;
  const seen = from === undefined ? judged : { ...judged, why: `${judged.why}; thresholds of this GPU, ${from}` };
  const found =
    mismatch === null ? seen : { ...seen, bottleneck: null, why: `no verdict: ${mismatch}; seen: ${seen.why}` };
  const lacking = result.stages?.find((stage) => stage.stage === 'evidence')?.note;
  const reason = mismatch ?? lacking ?? null;
  const page = context.pages?.detail ?? '';
  const detail = page === '' ? undefined : parseRaw(page).launches[0];
  const more = withDetail(launches, found, detail);
  const view = context.mode === 'full' ? fullView(more, found) : filteredView(more, found);
  return {
    status: reason === null ? 'complete' : 'incomplete',
    ...(reason === null ? {} : { reason }),
    ...(context.activities === null ? { remark: NOT_COMPARED } : {}),
    ...(mismatch === null ? {} : { remedy: 'Run the evaluation again; launches must be the same in every call.' }),
    ...at,
    ...(result.replay === undefined ? {} : { replay: result.replay }),
    launches: result.stages === undefined ? more : more.map(lean),
    verdict: found,
    filtered: view,
    evidence: evidenceView(more, found),
    ...(result.stages === undefined ? {} : depth(result, more, found, context, detail)),
  };
}

function withoutRows(
  result: ProfileResult,
  context: ProfileContext,
  at: { problem: string; ncuVersion: string | null },
): Profile {
  const static_ = context.statics === undefined ? {} : { static: [...context.statics] };
  if (context.fault) return { ...noProfile(context.fault.message, context.fault.remedy, at), ...static_ };
  const exit = result.exitCode === null ? 'did not end by itself' : `ended with code ${result.exitCode}`;
  const incident = result.incidents[0]?.message;
  const reason = `ncu ${exit} and printed no launch${incident ? `: ${incident}` : ''}`;
  return { ...noProfile(reason, 'See the log of the profile step.', at), ...static_ };
}

/** The hottest launch with what the second stage adds; the verdict's own metrics stay those of the first. */
const withDetail = (launches: readonly Launch[], of: Verdict, detail: Launch | undefined): Launch[] =>
  launches.map((launch) =>
    detail !== undefined && launch.index === of.launch
      ? { ...launch, metrics: { ...detail.metrics, ...launch.metrics } }
      : launch,
  );

/** Facts of the machine that ncu prints with every launch; the hardware's limits that rules use stay. */
const MACHINE = /^(?:device__attribute_(?!max_warps_per_multiprocessor$|warp_size$)|numa__|nvlink__|c2clink__)/;

function lean(launch: Launch): Launch {
  const kept = Object.entries(launch.metrics).filter(([id]) => !MACHINE.test(id));
  return { ...launch, metrics: Object.fromEntries(kept) };
}

type Depth = Pick<Profile, 'findings' | 'source' | 'heatmap' | 'roofline' | 'static' | 'stages' | 'launchCount'>;

/** What goes beyond Table 2, of the launch with most time. */
function depth(
  result: ProfileResult,
  launches: readonly Launch[],
  of: Verdict,
  context: ProfileContext,
  detail: Launch | undefined,
): Depth {
  const count = result.counts?.reduce((sum, { launches: n }) => sum + n, 0) ?? launches.length;
  const common: Depth = {
    stages: result.stages,
    ...(context.statics === undefined ? {} : { static: [...context.statics] }),
    ...(count === launches.length ? {} : { launchCount: count }),
  };
  const launch = launchOf(launches, of);
  if (launch === undefined) return common;
  return {
    ...common,
    findings: findings(launches, of),
    // Time, bytes and operations of one and the same collection.
    roofline: roofline(
      { ...launch, metrics: { ...launch.metrics, ...detail?.metrics } },
      context.peaks ?? { bytesPerS: null, flopsPerS: {} },
    ),
    ...sourceOf(result, launches, launch, context),
  };
}

function sourceOf(
  result: ProfileResult,
  launches: readonly Launch[],
  launch: Launch,
  context: ProfileContext,
): Pick<Depth, 'source' | 'heatmap'> {
  const none = (reason: string): Pick<Depth, 'heatmap'> => {
    const map: Heatmap = { available: false, reason };
    return { heatmap: { lines: map, instructions: map } };
  };
  const text = context.pages?.source ?? '';
  if (text === '') return none('ncu printed no source page');
  const page: SourcePage = parseSource(text);
  const nth = result.stages?.some((stage) => stage.stage === 'full')
    ? launches.filter((other) => other.kernel === launch.kernel && other.index < launch.index).length
    : 0;
  const found = functionOf(page, launch, nth);
  if (found === undefined) return none('the source page has no such kernel');
  const of: SourceFunction = withTexts(found, context.texts ?? {});
  const view = sourceView(of, page);
  const cut = result.sourceCut ?? 0;
  return {
    source: { ...view, omitted: { ...view.omitted, instructions: view.omitted.instructions + cut } },
    heatmap: {
      lines: heatmap([of], { unit: 'line', limit: HEAT_ROWS }),
      instructions: heatmap([of], { unit: 'instruction', limit: HEAT_ROWS }),
    },
  };
}

/** Kernels by bare name with their counts, profiled against CUPTI's per call; null when they agree or there is nothing to compare with. */
function mismatchOf(result: ProfileResult, launches: readonly Launch[], context: ProfileContext): string | null {
  const { activities, maxLaunches } = context;
  const profiled = new Map<string, number>();
  for (const { kernel, launches: n } of result.counts ?? launches.map(({ kernel }) => ({ kernel, launches: 1 })))
    add(profiled, kernelBaseName(kernel), n);
  const all = [...profiled.values()].reduce((sum, n) => sum + n, 0);
  if (maxLaunches !== undefined && all >= maxLaunches)
    return `only the first ${maxLaunches} launches of the call were profiled`;
  if (activities === null) return null;
  const timed = new Map<string, number>();
  for (const activity of activities)
    if (activity.kind === 'kernel') add(timed, kernelBaseName(activity.name), activity.perCall);
  for (const name of new Set([...profiled.keys(), ...timed.keys()])) {
    const want = timed.get(name) ?? 0;
    const got = profiled.get(name) ?? 0;
    if (!(Math.abs(want - got) < 1e-6))
      return `ncu profiled ${got} launches of ${name}, CUPTI saw ${round(want)} per timed call`;
  }
  return null;
}

const add = (map: Map<string, number>, key: string, by: number): void => void map.set(key, (map.get(key) ?? 0) + by);
const round = (value: number): number => Math.round(value * 1000) / 1000;
