import { parse } from 'csv-parse/sync';
import {
  type Bottleneck,
  bottleneckOf,
  type ProfilePlan,
  type ProfileStages,
  type Thresholds,
} from '../../contract/index.ts';
import { kernelBaseName } from '../../contract/kernel-name.ts';

/** The raw page as rows of text: what a session has to know of it between its collections. Reading it properly is main/profile's. */
export interface RawTable {
  readonly header: readonly string[];
  readonly units: readonly string[] | null;
  readonly rows: readonly (readonly string[])[];
}

/** Table in what ncu printed; null when there is none with a launch. Lines around it (`==PROF==`, program output) are passed over. */
export function rawTable(text: string): RawTable | null {
  let header: string[] | null = null;
  let units: string[] | null = null;
  const rows: string[][] = [];
  for (const line of text.split(/\r\n|\r|\n/)) {
    if (!line.startsWith('"')) continue;
    const row = cells(line);
    if (row === null) continue;
    if (row[0] === 'ID' && row.includes('Kernel Name')) {
      if (header === null) header = row;
    } else if (header !== null && row.length === header.length) {
      if (row[0] === '') units ??= row;
      else if (/^\d+$/.test(row[0] ?? '')) rows.push(row);
    }
  }
  return header === null || rows.length === 0 ? null : { header, units, rows };
}

function cells(line: string): string[] | null {
  try {
    return (parse(line, { relax_column_count: true }) as string[][])[0] ?? null;
  } catch {
    return null;
  }
}

/** ncu's own lines: warnings, errors and progress. */
export const messagesOf = (text: string): string =>
  text
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith('=='))
    .join('\n');

const quoted = (row: readonly string[]): string => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');

/** The table as CSV with some columns and rows only. */
export function printTable(
  table: RawTable,
  column: (name: string) => boolean = () => true,
  row: (at: number) => boolean = () => true,
): string {
  const at = table.header.flatMap((name, i) => (column(name) ? [i] : []));
  const cut = (cells: readonly string[]): string => quoted(at.map((i) => cells[i] ?? ''));
  const rows = table.rows.filter((_, i) => row(i)).map(cut);
  return `${[cut(table.header), ...(table.units === null ? [] : [cut(table.units)]), ...rows].join('\n')}\n`;
}

/** Columns every launch keeps: who it was, what was asked, and what ncu adds of its shape for nothing. */
export const isKept = (asked: readonly string[]): ((name: string) => boolean) => {
  const wanted = new Set(asked);
  return (name) => !name.includes('__') || wanted.has(name) || name.startsWith('launch__');
};

/** A number as ncu prints it ("421,088"); null: none. */
export function numberIn(table: RawTable, row: number, ids: readonly string[]): number | null {
  for (const id of ids) {
    const at = table.header.indexOf(id);
    const text = at < 0 ? '' : (table.rows[row]?.[at] ?? '').replaceAll(',', '').trim();
    if (/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) return Number(text);
  }
  return null;
}

/** Rows with most time first; null when a row has no duration and there are several. */
export function byTime(table: RawTable, duration: readonly string[]): number[] | null {
  const times = table.rows.map((_, row) => numberIn(table, row, duration));
  if (times.length > 1 && times.some((time) => time === null)) return null;
  return times.map((_, row) => row).sort((a, b) => (times[b] ?? 0) - (times[a] ?? 0));
}

/** The bottleneck of a row; null when a throughput is missing. */
export function bottleneckIn(table: RawTable, row: number, stages: ProfileStages): Bottleneck | null {
  const { compute, dram, memory } = throughputsIn(table, row, stages);
  if (compute === null || dram === null || memory === null) return null;
  return bottleneckOf({ compute, dram, memory }, stages.thresholds);
}

export function throughputsIn(
  table: RawTable,
  row: number,
  { throughputs }: ProfileStages,
): { readonly [K in keyof Thresholds]: number | null } {
  return {
    compute: numberIn(table, row, throughputs.compute),
    dram: numberIn(table, row, throughputs.dram),
    memory: numberIn(table, row, throughputs.memory),
  };
}

const cell = (table: RawTable, row: number, name: string): string =>
  table.rows[row]?.[table.header.indexOf(name)] ?? '';

export const kernelOf = (table: RawTable, row: number): string => cell(table, row, 'Kernel Name');

/** Whether a row of one table may be the launch of a row of another: kernel, grid and block agree. */
export const sameLaunch = (a: RawTable, rowA: number, b: RawTable, rowB: number): boolean =>
  ['Kernel Name', 'Grid Size', 'Block Size'].every((name) => cell(a, rowA, name) === cell(b, rowB, name));

/** Launches per kernel name. */
export function countsOf(table: RawTable): { kernel: string; launches: number }[] {
  const counts = new Map<string, number>();
  for (let row = 0; row < table.rows.length; row++) {
    const kernel = kernelOf(table, row);
    counts.set(kernel, (counts.get(kernel) ?? 0) + 1);
  }
  return [...counts].map(([kernel, launches]) => ({ kernel, launches }));
}

/**
 * Times a launch was replayed, the most of any: a column of ncu's own, else its progress lines ("… 100% - 13 passes", "Application replay
 * pass 13"); null: it says none.
 */
export function passesIn(table: RawTable | null, log: string): number | null {
  const own = (table?.rows ?? []).map((_, row) => numberIn(table as RawTable, row, ['profiler__replayer_passes']));
  const told = [...log.matchAll(/ (\d+) pass(?:es)?\b|Application replay pass (\d+)/g)].map((m) =>
    Number(m[1] ?? m[2]),
  );
  const found = [...own.filter((passes) => passes !== null), ...told];
  return found.length === 0 ? null : Math.max(...found);
}

/** What ncu's filter by name compares with: the function without parameters and templates. null: a name it could not be given plainly. */
export function filterName(kernel: string): string | null {
  const name = kernelBaseName(kernel);
  return /^[A-Za-z_]\w*$/.test(name) ? name : null;
}

/** How a launch is named to ncu: the nth of its kernel within the range. */
export interface LaunchChoice {
  readonly row: number;
  readonly name: string | null;
  readonly skip: number;
  /** Launches of that name in one call: the call before the range has as many. */
  readonly ofName: number;
}

export function launchChoice(table: RawTable, row: number): LaunchChoice {
  const name = filterName(kernelOf(table, row));
  const rows = table.rows.map((_, at) => at);
  const alike = name === null ? rows : rows.filter((at) => filterName(kernelOf(table, at)) === name);
  return { row, name, skip: Math.max(0, alike.indexOf(row)), ofName: alike.length };
}

/** The metric id in a word, without dots around it; one step a character, however long the word is. */
function metricIn(word: string): string {
  const at = word.indexOf('__');
  if (at < 0) return '';
  let from = word.lastIndexOf('.', at) + 1;
  let to = word.length;
  while (from < at && !/[A-Za-z]/.test(word[from] as string)) from++;
  while (to > at && word[to - 1] === '.') to--;
  return word.slice(from, to);
}

/** Ids that ncu says it does not know, of those asked. It names them with or without their suffix, one or several a line. */
export function unknownMetrics(log: string, asked: readonly string[]): string[] {
  const lines = log
    .split('\n')
    .filter(
      (line) => /metric/i.test(line) && /failed to find|unknown|not (?:found|supported|exist)|invalid/i.test(line),
    );
  const words = new Set(lines.flatMap((line) => (line.match(/[\w.]+/g) ?? []).map(metricIn)));
  const exact = asked.filter((id) => words.has(id));
  if (exact.length > 0) return exact;
  return asked.filter((id) => words.has(id.split('.')[0] as string));
}

/** Ids without the unknown ones, with what is to be asked in their place. */
export function replaced(
  asked: readonly string[],
  unknown: readonly string[],
  gone: ReadonlySet<string>,
  instead: ProfileStages['instead'],
): string[] {
  const next = (id: string): string[] => {
    if (!unknown.includes(id)) return [id];
    const other = (instead[id] ?? []).find((each) => !gone.has(each) && !asked.includes(each));
    return other === undefined ? [] : [other];
  };
  return [...new Set(asked.flatMap(next))];
}

/** Metric ids of the second stage for a bottleneck, without those that every launch has already. */
export function secondIds(
  plan: ProfilePlan,
  stages: ProfileStages,
  bottleneck: Bottleneck | null,
  both: boolean,
): string[] {
  const of = (name: Bottleneck): readonly string[] => stages.byBottleneck[name] ?? [];
  const own = bottleneck === null ? [] : [...of(bottleneck), ...(both ? of('memory-bandwidth') : [])];
  const repeated = new Set(plan.metrics.filter((id) => !stages.duration.includes(id)));
  return [...new Set([...own, ...stages.always])].filter((id) => !repeated.has(id));
}
