import {
  memoryHigher,
  type ProfilePlan,
  type ProfileResult,
  type ProfileStage,
  type ProfileStages,
} from '../../contract/index.ts';
import { EnvironmentFault } from './classify.ts';
import { collected, type Done, type Tool, whyOf } from './collecting.ts';
import { type Collected, type Collection, Ncu } from './ncu.ts';
import { packPage, packText } from './ncu-pages.ts';
import {
  bottleneckIn,
  byTime,
  countsOf,
  isKept,
  launchChoice,
  passesIn,
  printTable,
  type RawTable,
  sameLaunch,
  secondIds,
  throughputsIn,
} from './ncu-table.ts';
import type { Scope } from './scope.ts';
import { LOG_CAP } from './tool.ts';

export const emptyProfile = (): ProfileResult => ({
  mode: 'profile',
  ncuVersion: null,
  rawCsv: '',
  sourceCsv: '',
  log: '',
  exitCode: null,
  incidents: [],
});

/**
 * Profiles one call with Nsight Compute. With `stages` in two collections: the verdict's metrics of every launch, then what the bottleneck
 * needs of the launch with most time, its source counters included; else everything at once. Nothing the target prints can mix with the
 * figures: they come from a report, or from ncu's own log file.
 * Throws EnvironmentFault (env.ncu-*) when ncu cannot; the log stays in the result. A second stage that fails leaves the first one's
 * result, with the reason in `stages`.
 */
export async function profile(plan: ProfilePlan, scope: Scope, out: ProfileResult): Promise<void> {
  const { ncu, machine } = scope.ctx.tools;
  if (!ncu)
    throw new EnvironmentFault(
      'env.ncu-missing',
      'Nsight Compute (ncu) was not found.',
      'Install it (package cuda-nsight-compute or the stand-alone installer). Timing works without.',
    );
  const programs = [{ path: ncu, version: machine.ncu }, ...(scope.ctx.tools.otherNcus ?? [])];
  for (const [i, { path, version }] of programs.entries()) {
    out.ncuVersion = version;
    try {
      return await profileBy(path, plan, scope, out);
    } catch (fault) {
      if (!(fault instanceof EnvironmentFault) || fault.reason.code !== 'env.ncu-incompatible') throw fault;
      if (i === programs.length - 1) throw misfit(fault, scope, programs);
      scope.ctx.progress(`profile: ncu ${version ?? ''} does not fit, trying ncu ${programs[i + 1]?.version ?? ''}`);
    }
  }
}

async function profileBy(ncu: string, plan: ProfilePlan, scope: Scope, out: ProfileResult): Promise<void> {
  const tool: Tool = { ncu: new Ncu(scope, plan, ncu), replay: 'kernel', tried: false };
  await tool.ncu.open();
  try {
    if (plan.stages) await inStages(plan, plan.stages, scope, tool, out);
    else await atOnce(plan, scope, tool, out);
    if (tool.replay === 'application') out.replay = 'application';
  } finally {
    await tool.ncu.close();
  }
}

/** Which versions do not fit together: the cure is to change one of them. */
function misfit(
  { reason }: EnvironmentFault,
  scope: Scope,
  programs: readonly { readonly version: string | null }[],
): EnvironmentFault {
  const { gpu, driver } = scope.ctx.tools.machine;
  const versions = programs.map(({ version }) => version ?? 'unknown').join(', ');
  const here = `ncu ${versions}, driver ${driver ?? 'unknown'}, ${gpu?.name ?? 'GPU unknown'}`;
  return new EnvironmentFault(reason.code, `${reason.message} (Here: ${here}.)`, reason.remedy);
}

/** Puts what a collection says of itself into the result; false: it holds no launch, and nothing more can be had. */
function told(got: Collected, out: ProfileResult): got is Collected & { table: RawTable } {
  out.exitCode = got.exitCode;
  out.log = [out.log, got.log]
    .filter((text) => text !== '')
    .join('\n')
    .slice(0, LOG_CAP);
  if (got.fault) out.incidents.push(got.fault.incident);
  if (got.reason) throw new EnvironmentFault(got.reason.code, got.reason.message, got.reason.remedy);
  return got.table !== null;
}

type Stage = Readonly<Pick<ProfileStage, 'stage' | 'launch'>> & { readonly sections: readonly string[] };

const stageOf = (got: Done, of: Stage, note?: string): ProfileStage => ({
  ...of,
  sections: [...of.sections],
  metrics: [...got.asked],
  unknown: [...got.unknown],
  launches: got.table?.rows.length ?? 0,
  passes: passesIn(got.table, got.log),
  ...(got.replay === 'application' ? { replay: got.replay } : {}),
  collectMs: Math.round(got.collectMs),
  importMs: Math.round(got.importMs),
  ...(note === undefined ? {} : { note }),
});

async function atOnce(plan: ProfilePlan, scope: Scope, tool: Tool, out: ProfileResult): Promise<void> {
  const { metrics, sections, set, source, maxLaunches } = plan;
  scope.ctx.progress(`profile ${plan.problem.id}`);
  // A set brings the metrics itself; the plan's then only name the columns that every launch keeps.
  const asked = set === undefined ? metrics : [];
  // Without a source page ncu can print the figures itself, which spares the process that would read its report.
  const printed = !source && set === undefined && plan.keepLaunches !== undefined;
  const what: Collection = { metrics: asked, sections, set, source, launch: null, maxLaunches, printed };
  const got = await collected(tool, scope, what);
  const spent = [got.collectMs, got.importMs].map((ms) => `${(ms / 1000).toFixed(2)} s`);
  scope.ctx.progress(`profile ${plan.problem.id}: collect ${spent[0]}, read ${spent[1]}`);
  if (!told(got, out)) return;
  if (set === undefined) {
    if (printed)
      keepLaunches(
        plan,
        got.table,
        byTime(got.table, ['gpu__time_duration.sum']) ?? got.table.rows.map((_, at) => at),
        out,
      );
    else out.rawCsv = got.raw;
    out.sourceCsv = got.source;
    await keepReport(got, scope, out);
    return;
  }
  const order = byTime(got.table, ['gpu__time_duration.sum']) ?? [0];
  keepLaunches(plan, got.table, order, out);
  out.detailGz = packText(printTable(got.table, undefined, (row) => row === order[0]));
  keepSource(got.source, out);
  out.stages = [stageOf(got, { stage: 'full', sections: [`--set ${set}`, ...sections], launch: null })];
  await keepReport(got, scope, out);
}

/** The report of what is shown goes where the executor keeps it, if it does: for people to open in Nsight Compute. */
async function keepReport({ report }: Collected, { ctx }: Scope, out: ProfileResult): Promise<void> {
  if (report !== null && ctx.keepReport) out.report = await ctx.keepReport(report);
}

/** Every launch with the verdict's columns, or those with most time, and how many there were of each kernel. */
function keepLaunches(plan: ProfilePlan, table: RawTable, order: readonly number[], out: ProfileResult): void {
  const kept = new Set(order.slice(0, plan.keepLaunches ?? order.length));
  out.rawCsv = printTable(table, isKept(plan.metrics), (row) => kept.has(row));
  out.counts = countsOf(table);
}

function keepSource(page: string, out: ProfileResult): void {
  if (page === '') return;
  const { gz, cut } = packPage(page);
  out.sourceGz = gz;
  if (cut > 0) out.sourceCut = cut;
}

async function inStages(
  plan: ProfilePlan,
  stages: ProfileStages,
  scope: Scope,
  tool: Tool,
  out: ProfileResult,
): Promise<void> {
  scope.ctx.progress(`profile ${plan.problem.id}: every launch`);
  const { metrics, maxLaunches } = plan;
  const every: Collection = { metrics, sections: [], source: false, launch: null, maxLaunches, printed: true };
  const first = await collected(tool, scope, every, stages.instead);
  if (!told(first, out)) return;
  const order = byTime(first.table, stages.duration);
  const all = first.table.rows.map((_, row) => row);
  keepLaunches({ ...plan, metrics: [...first.asked, ...metrics] }, first.table, order ?? all, out);
  const at = { stage: 'verdict', sections: [], launch: null } as const;
  const row = order?.[0];
  if (row === undefined) {
    out.stages = [
      stageOf(first, at, 'No second stage: a launch has no duration, so the one with most time is not known.'),
    ];
    return;
  }
  out.stages = [stageOf(first, at)];
  // The candidate failed after its launches were profiled: it would again.
  if (first.fault !== null) return;
  scope.ctx.progress(`profile ${plan.problem.id}: the launch with most time`);
  await evidenceOf(plan, stages, scope, tool, out, first, row);
}

/**
 * The second stage, restricted to one launch. Whether launches before the range count for ncu's skipping is not written anywhere, so what
 * came back is compared with what was chosen, and the other way of counting tried once.
 */
async function evidenceOf(
  plan: ProfilePlan,
  stages: ProfileStages,
  scope: Scope,
  tool: Tool,
  out: ProfileResult,
  first: Done & { readonly table: RawTable },
  row: number,
): Promise<void> {
  const { table } = first;
  const choice = launchChoice(table, row);
  const single = table.rows.length === 1;
  const metrics = secondIds(plan, stages, bottleneckIn(table, row, stages), bandwidthToo(table, row, stages));
  const index = Number(table.rows[row]?.[0] ?? row);
  const keep = (got: Done & { readonly table: RawTable }, sourced: boolean, note?: string): Promise<void> => {
    const sections = [...stages.sections, ...(sourced ? ['SourceCounters'] : [])];
    out.stages?.push(stageOf(got, { stage: 'evidence', sections, launch: index }, note));
    out.detailGz = packText(printTable(got.table, undefined, (r) => r === 0));
    keepSource(got.source, out);
    return keepReport(got, scope, out);
  };
  const skips = single ? [0] : [choice.skip, choice.ofName + choice.skip];
  let source = plan.source;
  let without: string | undefined;
  let other: (Done & { readonly table: RawTable }) | null = null;
  let last: Done | null = null;
  for (let i = 0; i < skips.length; ) {
    const launch = single ? null : { name: choice.name, skip: skips[i] as number };
    const what: Collection = { metrics, sections: stages.sections, source, launch, printed: false };
    const got = await collected(tool, scope, what, stages.instead);
    out.log = `${out.log}\n${got.log}`.slice(0, LOG_CAP);
    if (got.fault) out.incidents.push(got.fault.incident);
    last = got;
    if (withTable(got)) {
      if (sameLaunch(table, row, got.table, 0)) return keep(got, source, without);
      if (sameKernel(table, row, got.table)) other ??= got;
      i++;
    } else if (mayHelp(got)) i++;
    else if (source && !got.fault) {
      // The counters by source line are the most demanding part: the evidence can do without.
      source = false;
      without = `Without source counters: ${whyOf(got)}`;
    } else break;
  }
  if (other === null) out.stages?.push(failedStage(last as Done, stages, index));
  else await keep(other, source, 'ncu profiled another launch of this kernel than the one with most time.');
}

const withTable = (got: Done): got is Done & { readonly table: RawTable } => got.table !== null;

const failedStage = (got: Done, { sections }: ProfileStages, launch: number): ProfileStage =>
  stageOf(got, { stage: 'evidence', sections, launch }, `The second stage gave nothing: ${whyOf(got)}`);

const bandwidthToo = (table: RawTable, row: number, stages: ProfileStages): boolean => {
  const { compute, dram, memory } = throughputsIn(table, row, stages);
  return (
    compute !== null && dram !== null && memory !== null && memoryHigher({ compute, dram, memory }, stages.thresholds)
  );
};

const sameKernel = (a: RawTable, row: number, b: RawTable): boolean => {
  const name = (table: RawTable, at: number) => table.rows[at]?.[table.header.indexOf('Kernel Name')];
  return name(a, row) === name(b, 0);
};

/** Nothing matched the filter: the other way of counting may. */
const mayHelp = (got: Collected): boolean => got.fault === null && got.reason?.code === 'env.ncu-empty';
