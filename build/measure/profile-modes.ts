/**
 * What profiling costs and shows: for origin and best of four tasks, at their largest published size, the two-stage collection against
 * `ncu --set full`: wall time of the profile step, size of the text for agents, class, hottest lines, roofline, and what a recording
 * keeps. Nothing is verified here; a short timing gives CUPTI's launches and the peaks.
 * Usage: node dist/profile-modes.js ROOT [--out FILE] [--tasks dot_product,softmax] [--repeats 1]
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { estimateTokens } from '../../main/agents/budget.ts';
import { profileText, readArguments, readCode } from '../../main/agents/index.ts';
import { newRootSeed } from '../../main/base/random.ts';
import {
  type Dtype,
  type Executor,
  type JobBundle,
  type JobResult,
  type Profile,
  type ProfileMode,
  recordingSchema,
  type SessionStep,
  type Step,
  type StepResult,
  type TimeResult,
  unwrap,
} from '../../main/contract/index.ts';
import { interpretProfileOnly } from '../../main/evaluate/interpret.ts';
import {
  type EvaluationInput,
  planEvaluation,
  profiledProblem,
  scoredProblems,
  stepIds,
} from '../../main/evaluate/plan.ts';
import { candidateName, type LoadedTask } from '../../main/evaluate/task/index.ts';
import { evaluationInput, localExecutor, options, task } from './common.ts';

/** Goals of the issue. */
const GOALS = { wall: 0.5, tokens: 0.15 } as const;
const TOP = 10;

interface Subject {
  readonly task: string;
  readonly dtype: Dtype;
  /** Where the best version comes from: a recorded run's round, or a file. */
  readonly best: { readonly recording: string; readonly round: number } | { readonly file: string };
}
const subjects: readonly Subject[] = [
  { task: 'dot_product', dtype: 'fp32', best: { recording: 'test/recordings/dot_product-fp32.json', round: 3 } },
  { task: 'softmax', dtype: 'bf16', best: { recording: 'test/recordings/softmax-bf16.json', round: 3 } },
  { task: 'spmv_csr', dtype: 'fp32', best: { recording: 'test/recordings/spmv_csr-fp32.json', round: 1 } },
  { task: 'matrix_transpose', dtype: 'fp32', best: { file: 'test/candidates/matrix_transpose/faster.cu' } },
];

/** Source and arguments of a best version, read like the loop reads them. */
export function bestOf(root: string, { best, task: id, dtype }: Subject, loaded: LoadedTask) {
  if ('file' in best)
    return { source: readFileSync(join(root, best.file), 'utf8'), compileArgs: ['-O3', '-std=c++17'] };
  const { steps } = recordingSchema.parse(JSON.parse(readFileSync(join(root, best.recording), 'utf8')));
  const reply = (agent: string) => {
    const response = steps.find((s) => s.position === `r${best.round}.a0.${agent}`)?.response;
    if (response?.kind !== 'chat')
      throw new Error(`${best.recording}: no reply of the ${agent} in round ${best.round}`);
    return response.reply;
  };
  const code = reply('coder');
  const read = readCode(code.text, code.finish, candidateName(loaded.task, dtype));
  if (read.kind !== 'code') throw new Error(`${id}: the recorded reply holds no source`);
  const args = reply('compiler');
  const compile = readArguments(args.text, args.finish);
  return { source: read.source, compileArgs: compile.kind === 'arguments' ? compile.arguments : ['-O3', '-std=c++17'] };
}

/** The job: what the profile needs of the builds, a short timing of the profiled size, the profile. */
export function profileBundle(input: EvaluationInput, timed: boolean): JobBundle {
  const planned = unwrap(planEvaluation(input));
  const { problems, weights } = scoredProblems(input);
  const at = profiledProblem(problems, weights);
  const builds = planned.job.steps.filter((step) => step.kind === 'build');
  const needs = builds.map((step) => step.id);
  const sessions = planned.job.steps.flatMap((step): SessionStep[] => {
    if (step.kind !== 'session') return [];
    const { ifVerified: _v, ifNominated: _n, ...free } = step;
    if (step.id === stepIds.profile) return [{ ...free, needs }];
    if (step.id !== stepIds.confirm || !timed || step.plan.mode !== 'time') return [];
    const plan = {
      ...step.plan,
      problems: [problems[at] as (typeof problems)[number]],
      weights: [1],
      processes: 1,
      soloProcesses: 0,
      blocks: { min: 4, max: 4, budgetMs: 20 },
      quantities: ['span' as const],
    };
    return [{ ...free, needs, plan }];
  });
  const steps: Step[] = [...builds, ...sessions];
  return { ...planned, job: { ...planned.job, steps } };
}

/** The short timing has one problem; the profile knows it by its place among all. */
const asScored = (time: TimeResult | null, index: number): TimeResult | null =>
  time && { ...time, activities: time.activities.map((a) => ({ ...a, problem: index })) };

interface Collected {
  readonly profile: Profile;
  readonly wallMs: number;
  readonly storedBytes: number;
}

async function collect(
  executor: Executor,
  input: EvaluationInput,
  time: TimeResult | null,
): Promise<Collected & { readonly time: TimeResult | null }> {
  const bundle = profileBundle(input, time === null);
  const outcome = await executor.execute(bundle, { rootSeed: newRootSeed(), position: input.label });
  if (outcome.kind !== 'done') throw new Error('the executor parked');
  const step = stepOf(outcome.result, stepIds.profile);
  const timing = stepOf(outcome.result, stepIds.confirm);
  const { problems, weights } = scoredProblems(input);
  const seen =
    time ?? asScored(timing?.session?.mode === 'time' ? timing.session : null, profiledProblem(problems, weights));
  return {
    profile: interpretProfileOnly(input, bundle, outcome.result, seen),
    wallMs: step?.wallMs ?? Number.NaN,
    storedBytes: JSON.stringify(step?.session ?? null).length,
    time: seen,
  };
}

const stepOf = (result: JobResult, id: string): StepResult | undefined => result.steps.find((s) => s.id === id);

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN;
};

/** One version in both modes. `fullFirst` alternates, so that neither mode has the warmer caches always. */
export async function measureVersion(executor: Executor, input: EvaluationInput, fullFirst: boolean, repeats: number) {
  const walls: Record<'filtered' | 'full', number[]> = { filtered: [], full: [] };
  const last: Partial<Record<'filtered' | 'full', Collected>> = {};
  let time: TimeResult | null = null;
  for (let i = 0; i < repeats; i++)
    for (const mode of fullFirst ? (['full', 'filtered'] as const) : (['filtered', 'full'] as const)) {
      const got = await collect(executor, { ...input, profile: mode, label: `${input.label} ${mode}` }, time);
      time = got.time;
      walls[mode].push(got.wallMs);
      last[mode] = got;
    }
  return summary(last.filtered as Collected, last.full as Collected, walls);
}

const tokens = (profile: Profile, mode: ProfileMode): number | null =>
  profile.status === 'unavailable' ? null : estimateTokens(profileText(profile, mode));

function summary(filtered: Collected, full: Collected, walls: Record<'filtered' | 'full', number[]>) {
  const { profile } = filtered;
  const { verdict, heatmap } = profile;
  const hot = profile.launches.find((l) => l.index === verdict?.launch);
  const rows = (map: NonNullable<Profile['heatmap']>['lines'] | undefined) =>
    map?.available === true ? map.rows.slice(0, TOP) : [];
  const [few, many] = [tokens(profile, 'filtered'), tokens(full.profile, 'full')];
  return {
    status: profile.status,
    reason: profile.reason ?? null,
    fullStatus: full.profile.status,
    fullReason: full.profile.reason ?? null,
    kernel: hot?.kernel ?? null,
    launches: profile.launchCount ?? profile.launches.length,
    class: verdict?.bottleneck ?? null,
    launchBound: verdict?.launchBound ?? null,
    why: verdict?.why ?? null,
    wallMs: { twoStage: median(walls.filtered), full: median(walls.full), all: walls },
    wallRatio: median(walls.filtered) / median(walls.full),
    stages: profile.stages ?? [],
    fullStages: full.profile.stages ?? [],
    tokens: { filtered: few, full: many },
    tokensRatio: few === null || many === null ? null : few / many,
    stored: { twoStageBytes: filtered.storedBytes, fullBytes: full.storedBytes },
    samples: heatmap?.lines.available === true ? heatmap.lines.total : null,
    lines: rows(heatmap?.lines),
    noLines: heatmap?.lines.available === false ? heatmap.lines.reason : null,
    instructions: rows(heatmap?.instructions),
    roofline: profile.roofline ?? null,
    found: (profile.findings ?? []).filter((f) => f.state === 'found').map((f) => `${f.label}: ${f.sentence}`),
    unknown: (profile.findings ?? []).filter((f) => f.state === 'unknown').map((f) => `${f.label}: ${f.sentence}`),
    filtered: profile.filtered,
    static: profile.static ?? [],
    text: profileText(profile, 'filtered'),
  };
}
export type VersionSummary = ReturnType<typeof summary>;

export interface TaskSummary {
  readonly task: string;
  readonly dtype: Dtype;
  readonly origin: VersionSummary;
  readonly best: VersionSummary;
}

const pct = (x: number | null): string =>
  x === null || !Number.isFinite(x) ? 'not measured' : `${(100 * x).toFixed(1)} %`;
const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(2)} s` : 'not measured');

/** goal / measured / met or missed; null: not measured. */
export function goalLine(name: string, measured: number | null, goal: number): string {
  const known = measured !== null && Number.isFinite(measured);
  return `${name}: goal <= ${goal}, measured ${known ? measured.toFixed(3) : 'nothing'}, ${known ? (measured <= goal ? 'met' : 'missed') : 'not measured'}`;
}

export function reportLines(tasks: readonly TaskSummary[]): string[] {
  const all = tasks.flatMap((t) => [
    { name: `${t.task} ${t.dtype} origin`, v: t.origin },
    { name: `${t.task} ${t.dtype} best`, v: t.best },
  ]);
  const lines = [
    '| version | class | launches | two-stage | full | ratio | passes | full passes | tokens | full tokens | ratio | stored KB |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
    ...all.map(
      ({ name, v }) =>
        `| ${name} | ${v.class ?? 'none'}${v.launchBound ? ', launch bound' : ''} | ${v.launches} | ${seconds(v.wallMs.twoStage)} | ${seconds(v.wallMs.full)} | ${pct(v.wallRatio)} | ${v.stages.map((s) => s.passes ?? '?').join(' + ')} | ${v.fullStages.map((s) => s.passes ?? '?').join('')} | ${v.tokens.filtered ?? '–'} | ${v.tokens.full ?? '–'} | ${pct(v.tokensRatio)} | ${(v.stored.twoStageBytes / 1024).toFixed(0)} |`,
    ),
    '',
  ];
  for (const { name, v } of all) {
    lines.push(
      `${name}: ${v.status}${v.reason === null ? '' : ` (${v.reason})`}; full: ${v.fullStatus}${v.fullReason === null ? '' : ` (${v.fullReason})`}; ${v.why ?? ''}`,
    );
    for (const s of [...v.stages, ...v.fullStages])
      lines.push(
        `  ${s.stage}: ${s.metrics.length} metrics ${s.sections.join(' ')}, ${s.passes ?? '?'} passes, collect ${seconds(s.collectMs)}, read ${seconds(s.importMs)}${s.unknown.length > 0 ? `, unknown: ${s.unknown.join(' ')}` : ''}${s.note ? `, note: ${s.note}` : ''}`,
      );
    for (const r of v.lines.slice(0, 5))
      lines.push(
        `  line ${r.line}: ${pct(r.share)} ± ${pct(r.plusMinus)} ${r.dominant?.label ?? ''}  ${r.text.trim().slice(0, 90)}`,
      );
    if (v.noLines !== null) lines.push(`  no lines: ${v.noLines}`);
    for (const f of v.found) lines.push(`  found: ${f}`);
    for (const f of v.unknown) lines.push(`  not known: ${f}`);
  }
  const sum = (pick: (v: VersionSummary) => number): number => all.reduce((total, { v }) => total + pick(v), 0);
  const worst = (pick: (v: VersionSummary) => number | null): number | null =>
    all.some(({ v }) => pick(v) === null) ? null : Math.max(...all.map(({ v }) => pick(v) as number));
  lines.push(
    '',
    goalLine(
      'two-stage wall time over --set full, all versions together',
      sum((v) => v.wallMs.twoStage) / sum((v) => v.wallMs.full),
      GOALS.wall,
    ),
    goalLine(
      'two-stage wall time over --set full, worst version',
      worst((v) => v.wallRatio),
      GOALS.wall,
    ),
    goalLine(
      'filtered text over full text in tokens, worst version',
      worst((v) => v.tokensRatio),
      GOALS.tokens,
    ),
    ...tasks.map((t) => `class of ${t.task}: origin ${t.origin.class ?? 'none'}, best ${t.best.class ?? 'none'}`),
  );
  return lines;
}

async function main(): Promise<void> {
  const { root, option } = options();
  const wanted = option('tasks', '').split(',').filter(Boolean);
  const repeats = Number(option('repeats', '1'));
  const chosen = subjects.filter((s) => wanted.length === 0 || wanted.includes(s.task));
  const executor = await localExecutor();
  const tasks: TaskSummary[] = [];
  let fullFirst = false;
  for (const subject of chosen) {
    const loaded = task(root, subject.task);
    const measure = async (what: string, version: { source: string; compileArgs: readonly string[] } | null) => {
      const input = { ...evaluationInput(loaded, subject.dtype, null, `${subject.task} ${what}`), candidate: version };
      // Libraries and ncu come from disk once: the first measurement of the program must not pay for all.
      if (tasks.length === 0 && what === 'origin') await collect(executor, { ...input, profile: 'filtered' }, null);
      fullFirst = !fullFirst;
      console.error(`${subject.task} ${what} …`);
      return measureVersion(executor, input, fullFirst, repeats);
    };
    const origin = await measure('origin', null);
    const best = await measure('best', bestOf(root, subject, loaded));
    tasks.push({ task: subject.task, dtype: subject.dtype, origin, best });
  }
  const machine = await executor.machine();
  for (const line of reportLines(tasks)) console.log(line);
  const out = option('out', '');
  if (out !== '') writeFileSync(out, `${JSON.stringify({ machine, goals: GOALS, repeats, tasks }, null, 1)}\n`);
}

if (import.meta.main) await main();
