import { type Command, Option } from 'commander';
import type { ProfileReport } from '../app/index.ts';
import {
  type Dtype,
  exitCodeOf,
  type Heatmap,
  type MetricValue,
  type Profile,
  type Result,
  reported,
  type SizeSet,
} from '../contract/index.ts';
import { answer, contextOf, errorOfRun, exitOfEvaluation, type Session } from './answers.ts';
import { significant } from './figures.ts';
import { printable, table, wrap } from './output.ts';
import { evaluationLines } from './report.ts';

/** Options that this command shares with others (commands.ts makes them). */
interface SharedOptions {
  readonly dtype: () => Option;
  readonly sizes: () => Option;
  readonly executor: () => Option;
  readonly arch: () => Option;
  readonly collect: (value: string, list: string[]) => string[];
}

interface Given {
  readonly source?: string;
  readonly of?: string;
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  readonly executor: 'local' | 'bundle';
  readonly arch: string;
  readonly full?: boolean;
  readonly html?: string;
  readonly compileArg: readonly string[];
}

export function profileCommand(
  program: Command,
  open: () => Session,
  finish: (code: number) => void,
  shared: SharedOptions,
): void {
  program
    .command('profile [task]')
    .description('profile the original, or a source, with Nsight Compute: bottleneck, evidence, hottest lines')
    .option('--source <file>', 'the .cu file; default: the original')
    .option(
      '--of <version>',
      'show a version of the history instead: RUN (its best), RUN:origin or RUN:r1.a0; nothing is run',
    )
    .addOption(shared.dtype())
    .addOption(shared.sizes())
    .addOption(shared.executor())
    .addOption(shared.arch())
    .option('--full', 'every section of ncu, not only what the bottleneck needs')
    .option('--html <file>', 'write the profile as a page with pictures')
    .addOption(
      new Option('--compile-arg <option>', 'nvcc option (repeat); write --compile-arg=-O3')
        .argParser(shared.collect)
        .default([], 'none'),
    )
    .action(async (task: string | undefined, o: Given, command: Command) => {
      if ((task === undefined) === (o.of === undefined))
        command.error('error: name a task to profile, or a version with --of', { exitCode: exitCodeOf('usage') });
      const s = open();
      if (o.of !== undefined) {
        const stored = await s.host.services.storedProfile({ version: o.of, html: o.html }, contextOf(s));
        return finish(answerProfile(s, stored));
      }
      const result = await s.host.services.profile(
        {
          task: task as string,
          dtype: o.dtype,
          source: o.source,
          compileArgs: o.compileArg,
          profile: o.full ? 'full' : 'filtered',
          sizeSet: o.sizes,
          executor: o.executor,
          arch: o.arch,
          html: o.html,
        },
        contextOf(s),
      );
      const code = answerProfile(s, result);
      if (result.ok && o.html !== undefined && result.value.html === null)
        s.printer.note(
          `No page was written: there is no profile ${result.value.evaluation === null ? 'yet' : 'to write'}. Later: cudamaster profile --of ${result.value.id} --html ${o.html}`,
        );
      finish(code);
    });
}

function answerProfile(session: Session, result: Result<ProfileReport>): number {
  const { paint } = session.printer;
  const code = answer(
    session,
    result,
    (r) => (r.evaluation === null ? r.summary : { ...reported(r.evaluation), profileText: r.text, html: r.html }),
    (r) => evaluationLines(r, paint, depthLines(r)),
    exitOfEvaluation,
  );
  const error = result.ok ? errorOfRun(result.value) : null;
  if (error && error.code !== 'parked') session.printer.error(error);
  return code;
}

/** Rows shown of lines and instructions. */
const TOP = 10;

/** What a profile holds beyond verdict and Table 2. */
export function depthLines(report: Pick<ProfileReport, 'evaluation' | 'text' | 'html'>): string[] {
  const profile = report.evaluation?.profile ?? null;
  if (profile === null) return [];
  return [
    ...rooflineLines(profile),
    ...findingLines(profile),
    ...heatLines(profile),
    ...staticLines(profile),
    ...stageLines(profile),
    ...textLines(report.text),
    ...(report.html === null ? [] : ['', `page: ${report.html}`]),
  ];
}

const value = (of: MetricValue): string =>
  of.available ? `${significant(of.value)} ${of.unit}`.trim() : `not available (${of.reason})`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** "3.91 TB/s". */
function scaled(of: MetricValue, unit: string): string {
  if (!of.available) return `not available (${of.reason})`;
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  const at = of.value > 0 ? Math.min(5, Math.max(0, Math.floor(Math.log10(of.value) / 3))) : 0;
  return `${Number((of.value / 1000 ** at).toPrecision(3))} ${prefixes[at]}${unit}`;
}

function rooflineLines({ roofline }: Profile): string[] {
  if (roofline === undefined) return [];
  const rows = roofline.points.map((p) => [
    p.label,
    p.intensity.available ? `${Number(p.intensity.value.toPrecision(3))} flop/byte` : value(p.intensity),
    scaled(p.rate, 'flop/s'),
    p.ofCeiling.available
      ? `${p.ofCeiling.value.toFixed(1)} % of the measured ${p.under === 'bandwidth' ? 'bandwidth' : 'arithmetic'} roof`
      : p.ofCeiling.reason,
  ]);
  const { bytesPerS, flopsPerS } = roofline.peaks ?? { bytesPerS: null, flopsPerS: {} };
  const peak = (of: number | null, unit: string): string =>
    of === null ? 'not measured' : scaled({ available: true, value: of, unit: '' }, unit);
  const pipes = Object.entries(flopsPerS).map(([pipe, flops]) => `${pipe} ${peak(flops, 'flop/s')}`);
  return [
    '',
    'Roofline',
    ...table(rows, [], '  '),
    `  peaks measured here: memory ${peak(bytesPerS, 'B/s')}; ${pipes.join(', ') || 'arithmetic not measured'}; other pipes not measured`,
    ...roofline.missing.map(({ pipe, reason }) => `  ${pipe} not known: ${printable(reason)}`),
    ...(rows.length === 0 ? roofline.notes.map((note) => `  ${note}`) : []),
  ];
}

function findingLines({ findings = [] }: Profile): string[] {
  if (findings.length === 0) return [];
  const found = findings.filter(({ state }) => state === 'found');
  const unknown = findings.filter(({ state }) => state === 'unknown');
  const clear = findings.length - found.length - unknown.length;
  return [
    '',
    `Finer bottlenecks: ${found.length} found, ${clear} clear or without object, ${unknown.length} not known`,
    ...found.flatMap((f) => wrap(`${f.label}: ${f.sentence}`, 110, '  ')),
    ...unknown.flatMap((f) => wrap(`${f.label}: ${f.sentence}`, 110, '  ')),
  ];
}

function heatLines({ heatmap }: Profile): string[] {
  if (heatmap === undefined) return [];
  const { lines, instructions } = heatmap;
  return [
    '',
    lines.available ? `Hottest source lines, of ${lines.total} samples` : `No source lines: ${printable(lines.reason)}`,
    ...rowsOf(lines, (row) => [`${row.line ?? ''}`]),
    instructions.available ? 'Hottest instructions' : `No instructions: ${printable(instructions.reason)}`,
    ...rowsOf(instructions, (row) => [row.address ?? '', row.line === null ? '' : `line ${row.line}`]),
    ...(lines.available ? lines.notes.map((note) => `  ${note}`) : []),
  ];
}

function rowsOf(
  map: Heatmap,
  place: (row: Extract<Heatmap, { available: true }>['rows'][number]) => string[],
): string[] {
  if (!map.available) return [];
  const rows = map.rows
    .slice(0, TOP)
    .map((row) => [
      ...place(row),
      `${percent(row.share)} ± ${percent(row.plusMinus)}`,
      row.dominant === null ? '' : `${row.dominant.label} ${percent(row.dominant.share)}`,
      printable(row.text.trim().replaceAll(/\s+/g, ' ')).slice(0, 100),
    ]);
  return table(rows, [place(map.rows[0] as (typeof map.rows)[number]).length], '  ');
}

const known = (n: number | null): string => (n === null ? '–' : String(n));

function staticLines({ static: kernels = [] }: Profile): string[] {
  if (kernels.length === 0) return [];
  const head = ['kernel (ptxas)', 'registers', 'stack B', 'spills B', 'shared B', 'barriers'];
  const spills = (a: number | null, b: number | null): string => (a === null || b === null ? '–' : String(a + b));
  const rows = kernels.map((k) => [
    k.kernel,
    known(k.registers),
    known(k.stackBytes),
    spills(k.spillStoreBytes, k.spillLoadBytes),
    known(k.sharedBytes),
    known(k.barriers),
  ]);
  return ['', ...table([head, ...rows], [1, 2, 3, 4, 5], '  ')];
}

function stageLines({ stages = [] }: Profile): string[] {
  const lines = stages.flatMap((s) => {
    const what =
      s.stage === 'full'
        ? s.sections.join(' ')
        : `${s.metrics.length} metrics${s.sections.length > 0 ? ` and ${s.sections.join(', ')}` : ''}`;
    const seconds = `${(s.collectMs / 1000).toFixed(1)} s and ${(s.importMs / 1000).toFixed(1)} s to read`;
    return [
      `  ${s.stage}: ${what}, ${s.launches} launches, ${s.passes ?? '?'} passes, ${seconds}`,
      ...(s.unknown.length > 0 ? [`    not known here: ${s.unknown.join(', ')}`] : []),
      ...(s.note === undefined ? [] : [`    ${printable(s.note)}`]),
    ];
  });
  return lines.length === 0 ? [] : ['', 'Collected', ...lines];
}

function textLines({ filtered, full }: ProfileReport['text']): string[] {
  const of = (mode: string, size: ProfileReport['text']['full']): string[] =>
    size === null ? [] : [`  text for agents, ${mode}: ${size.characters} characters, about ${size.tokens} tokens`];
  return [...of('filtered', filtered), ...of('full', full)];
}
