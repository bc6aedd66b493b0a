import type { EvaluationReport, RoundState, RunLine, RunReport, TaskLine, UsageState } from '../app/index.ts';
import { confirmedFigures, type DoctorReport, sanitizedOf, sanitizedText } from '../contract/index.ts';
import { bottleneckText, evidenceLines, figuresLines, numericsLines, profileLines, ratioText } from './figures.ts';
import { type Paint, printable, table, wrap } from './output.ts';

const known = (sum: number, unknown: number, replies: number, unit: string): string => {
  if (replies === 0) return `0 ${unit}`;
  if (unknown === 0) return `${sum} ${unit}`;
  return unknown === replies ? `${unit} unknown` : `${sum} ${unit} and ${unknown} replies unknown`;
};

function usageText(u: UsageState): string {
  const prompt = known(u.promptTokens, u.unknownTokens, u.replies, 'prompt tokens');
  const completion = known(u.completionTokens, u.unknownTokens, u.replies, 'completion tokens');
  const cost =
    u.replies === 0
      ? '$0'
      : u.unknownCost === u.replies
        ? 'cost unknown'
        : `$${u.costUsd.toFixed(4)}${u.unknownCost > 0 ? ` and ${u.unknownCost} replies of unknown cost` : ''}`;
  return `${u.replies} replies, ${prompt}, ${completion}, ${cost}`;
}

function roundLines(r: RoundState, open: string, paint: Paint): string[] {
  const verdict = r.accepted ? acceptedText(r, paint) : r.ended ? 'not accepted' : open;
  const lines = ['', `${paint('bold', `Round ${r.round}`)}  ${verdict}`];
  lines.push(...wrap(`scheme${r.by === 'user' ? ' (user)' : ''}: ${printable(r.scheme)}`, 110, '  '));
  for (const a of r.attempts) {
    const bound = bottleneckText(a.evaluation);
    const color = a.outcome === 'accepted' ? 'green' : a.evaluation?.verified ? 'yellow' : 'red';
    if (a.fix !== null) lines.push(...wrap(`debug: ${printable(a.fix)}`, 110, '    '));
    lines.push(
      `  attempt ${a.attempt}  ${paint(color, a.outcome ?? open)}  ${printable(a.reason)}${bound ? `  [${bound}]` : ''}`,
    );
    if (a.evaluation) lines.push(...evidenceLines(a.evaluation, '    '), ...figuresLines(a.evaluation, '    '));
  }
  return lines;
}

/** A best that did not hold on another machine is told as what it was. */
const acceptedText = (r: RoundState, paint: Paint): string =>
  r.attempts.some((a) => a.outcome === 'accepted') ? paint('green', 'new best') : 'new best, until the machine changed';

/** What differs from before; in a replay, where every job may, the positions that share a reason stand in one line. */
function changeLines(report: RunReport): string[] {
  const { changes } = report.state;
  if (report.kind !== 'replay' && report.kind !== 'demo')
    return changes.map((c) => `changed (${c.position}): ${printable(c.what)}`);
  const positions = new Map<string, string[]>();
  for (const c of changes) {
    const why = c.what.replace(/^the job ".*?" /, 'the job ');
    positions.set(why, [...(positions.get(why) ?? []), c.position]);
  }
  return [...positions].map(([why, at]) => `changed since it was recorded (${at.join(', ')}): ${printable(why)}`);
}

/** A run as a person reads it. */
export function runLines(report: RunReport, paint: Paint): string[] {
  const { state, summary } = report;
  const config = state.config;
  const lines = [
    `${paint('bold', `Run ${report.id}`)}  ${report.kind}  ${summary.task} ${summary.dtype}  ${paint(report.status === 'done' ? 'green' : 'yellow', report.status)}`,
  ];
  if (config && report.kind !== 'evaluate' && report.kind !== 'profile')
    lines.push(
      `  ${config.rounds} rounds, ${config.debugAttempts} debug attempts, profile ${config.profile}, sizes ${config.sizeSet}, ${config.provider} ${config.model}, executor ${config.executor}`,
    );
  if (state.baseline) {
    const bound = bottleneckText(state.baseline);
    lines.push(
      '',
      `${paint('bold', 'Origin')}  ${state.baseline.outcome}  ${printable(state.baseline.reason)}${bound ? `  [${bound}]` : ''}`,
    );
    lines.push(...evidenceLines(state.baseline), ...figuresLines(state.baseline));
  }
  const open = report.status === 'running' || report.status === 'parked' ? 'under way' : 'not finished';
  for (const round of state.rounds) lines.push(...roundLines(round, open, paint));
  lines.push('');
  for (const n of state.notices) lines.push(`note (${n.position}): ${printable(n.message)}`);
  lines.push(...changeLines(report));
  if (state.usage.replies > 0) lines.push(`used: ${usageText(state.usage)}`);
  if (report.kind === 'optimize' || report.kind === 'replay' || report.kind === 'demo')
    lines.push(...bestLines(report, paint));
  lines.push(`files: ${report.files.folder}`, `history: ${report.files.history}`);
  if (report.waiting)
    lines.push(
      '',
      `${paint('yellow', 'Waiting')}: ${report.waiting.path}`,
      `  ${report.waiting.how}`,
      continueText(report),
    );
  return lines;
}

function bestLines(report: RunReport, paint: Paint): string[] {
  const { best } = report.state;
  const head = bestText(report, paint);
  return best && best.round > 0
    ? [head, '  its errors beside the origin’s:', ...numericsLines(best.evaluation)]
    : [head];
}

function bestText(report: RunReport, paint: Paint): string {
  const best = report.state.best;
  if (!best) return 'best: none yet';
  if (best.round === 0) return 'best: the origin; no candidate was accepted';
  const score = confirmedFigures(best.evaluation)?.score ?? null;
  const sanitized = sanitizedOf(best.evaluation);
  return paint(
    'green',
    `best: r${best.round}.a${best.attempt}, P = ${ratioText(score)}${sanitized === null ? '' : `, ${printable(sanitizedText(sanitized))}`}${report.files.best ? `, ${report.files.best}` : ''}`,
  );
}

const continueText = (report: RunReport): string =>
  report.waiting?.for === 'answer'
    ? `  Go on: cudamaster resume ${report.id} --answer FILE`
    : `  Go on: cudamaster resume ${report.id}`;

/** An evaluation or profile as a person reads it. */
export function evaluationLines(report: EvaluationReport, paint: Paint, depth: readonly string[] = []): string[] {
  const e = report.evaluation;
  if (!e) return runLines(report, paint);
  const color = e.outcome === 'accepted' || e.outcome === 'valid' ? 'green' : e.verified ? 'yellow' : 'red';
  const lines = [
    `${paint('bold', `${report.summary.task} ${report.summary.dtype}`)}  ${paint(color, e.outcome)}  ${printable(e.reason)}`,
  ];
  lines.push(...evidenceLines(e), ...figuresLines(e));
  if (e.numerics) lines.push('', 'Errors', ...numericsLines(e));
  if (e.profile) lines.push('', 'Profile', ...profileLines(e), ...depth);
  for (const i of e.incidents.slice(0, 10))
    lines.push(`  incident ${i.kind}${i.problem ? ` at ${i.problem}` : ''}: ${printable(i.message)}`);
  if (e.digest) lines.push('', ...printable(e.digest).trimEnd().split('\n'));
  if (e.build?.diagnostics && e.outcome === 'compile-error') lines.push('', printable(e.build.diagnostics).trimEnd());
  return [...lines, '', `run: ${report.id}`, `files: ${report.files.folder}`];
}

export function doctorLines(report: DoctorReport, paint: Paint): string[] {
  const mark = {
    ok: paint('green', 'ok     '),
    warning: paint('yellow', 'warning'),
    error: paint('red', 'error  '),
    absent: paint('dim', 'absent '),
  };
  const width = Math.max(...report.checks.map((c) => c.title.length));
  const lines: string[] = [];
  for (const c of report.checks) {
    lines.push(`${mark[c.status]}  ${c.title.padEnd(width)}  ${printable(c.found)}`);
    if (c.cause)
      lines.push(
        ...printable(c.cause)
          .split('\n')
          .map((l) => `           cause: ${l}`),
      );
    if (c.remedy) lines.push(`           What to do: ${printable(c.remedy)}`);
  }
  const can = [
    `compile ${yes(report.canCompile)}`,
    `run and time ${yes(report.canRun)}`,
    `profile ${yes(report.canProfile)}`,
  ];
  lines.push(
    '',
    `Chosen: ${report.chosen.toolkit ?? 'no toolkit'}, ${report.chosen.gpu ?? 'no GPU'}${report.chosen.arch ? ` (${report.chosen.arch})` : ''}: ${report.chosen.why}`,
  );
  return [...lines, `This machine can: ${can.join(', ')}`];
}
const yes = (b: boolean): string => (b ? 'yes' : 'no');

export function taskTable(tasks: readonly TaskLine[], paint: Paint): string[] {
  // A line per task here; --json has one per data type.
  const rows = tasks
    .filter((t) => t.fault === null && t.dtype === t.dtypes[0])
    .map((t) => [
      t.id,
      t.category ?? '',
      t.dtypes.join(' '),
      `${t.sizes?.published ?? 0}`,
      `${t.sizes?.large ?? 0}`,
      t.library ?? '',
      t.title ?? '',
    ]);
  const faults = tasks.filter((t) => t.fault !== null).map((t) => paint('red', `${t.id}: ${t.fault}`));
  return [
    ...table([['task', 'category', 'types', 'published', 'large', 'library', 'title'], ...rows], [3, 4]),
    ...faults,
  ];
}

export function runTable(runs: readonly RunLine[]): string[] {
  if (runs.length === 0) return ['No runs yet.'];
  const rows = runs.map((r) => [
    r.id,
    r.createdAt.slice(0, 16).replace('T', ' '),
    r.kind,
    r.task,
    r.dtype,
    r.status,
    r.score === null ? '–' : `${r.score.toFixed(3)}×`,
    r.provider === 'none' ? '' : `${r.provider} ${r.model}`,
  ]);
  return table([['run', 'begun (UTC)', 'kind', 'task', 'type', 'status', 'P', 'model'], ...rows], [6]);
}
