import type { SourceView } from '../../main/contract/index.ts';
import { linesInComment } from './highlight.ts';

/** A row of one side of the code view. */
export interface CodeRow {
  /** Where it stands: "file:line" with the page's path, or the address. */
  readonly at: string;
  /** Line number, or offset from the function's start in hexadecimal. */
  readonly label: string;
  readonly text: string;
  /** File name of a source line; null for instructions. */
  readonly file: string | null;
  /** null: no code belongs to the line, or the page has no count. */
  readonly samples: number | null;
  readonly executed: number | null;
  readonly stalls: Readonly<Record<string, number>>;
  /** Indices of the rows of the other side. */
  readonly linked: readonly number[];
  /** Takes part in the profile; false: shown for reading only. */
  readonly measured: boolean;
  /** Rows that stood before this one were left out when the result was stored. */
  readonly gapBefore: boolean;
  /** Begins within a comment that began on a line before; known where the file is shown whole. */
  readonly inComment: boolean;
}

export interface StallColumn {
  readonly id: string;
  readonly label: string;
  /** '' where the profile does not say. */
  readonly meaning: string;
  readonly samples: number;
}

export interface CodeModel {
  readonly lines: readonly CodeRow[];
  readonly instructions: readonly CodeRow[];
  /** Samples of the kernel; null: the page has none. */
  readonly total: number | null;
  /** Most samples first. */
  readonly stalls: readonly StallColumn[];
}

export type Side = 'lines' | 'instructions';

/**
 * Rows of both sides. A file of the page whose printed lines are those of `source` is shown whole, so that the hot lines stand in
 * their surroundings; other files (headers) with the lines that the page prints.
 */
export function codeModel(
  view: SourceView,
  source: string | null,
  known: ReadonlyMap<string, Pick<StallColumn, 'label' | 'meaning'>> = new Map(),
): CodeModel {
  const lineAt: number[] = [];
  const lines = lineRows(view, source, lineAt);
  const step = view.omitted.instructions > 0 ? instructionBytes(view) : null;
  const instructions = view.instructions.map(
    (row, index): CodeRow => ({
      at: row.address,
      label: row.offset === null ? shortAddress(row.address) : row.offset.toString(16).padStart(4, '0'),
      text: row.sass,
      file: null,
      samples: row.samples,
      executed: row.executed,
      stalls: row.stalls,
      linked: [...new Set([...row.lines, ...namedBy(view, index)])].flatMap((at) => lineAt[at] ?? []),
      measured: true,
      gapBefore: step !== null && isGap(view, index, step),
      inComment: false,
    }),
  );
  return { lines, instructions, total: totalOf(view), stalls: stallColumns(view, known) };
}

/** Only the direction from lines may be kept in a page. */
const backwards = new WeakMap<SourceView, Map<number, number[]>>();
function namedBy(view: SourceView, instruction: number): readonly number[] {
  let map = backwards.get(view);
  if (map === undefined) {
    map = new Map();
    for (const [at, line] of view.lines.entries()) for (const i of line.instructions) pushTo(map, i, at);
    backwards.set(view, map);
  }
  return map.get(instruction) ?? [];
}

function pushTo<K>(map: Map<K, number[]>, key: K, value: number): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

/** Bytes from an instruction to the next: the least distance seen. */
function instructionBytes(view: SourceView): number {
  let least = Number.POSITIVE_INFINITY;
  for (const [i, { offset }] of view.instructions.entries()) {
    const before = view.instructions[i - 1]?.offset ?? null;
    if (offset !== null && before !== null && offset > before) least = Math.min(least, offset - before);
  }
  return least;
}

function isGap(view: SourceView, index: number, step: number): boolean {
  const offset = view.instructions[index]?.offset ?? null;
  const before = index === 0 ? -step : (view.instructions[index - 1]?.offset ?? null);
  return offset !== null && before !== null && offset - before > step;
}

const shortAddress = (address: string): string => address.replace(/^0x0*/i, '') || '0';

function lineRows(view: SourceView, source: string | null, lineAt: number[]): CodeRow[] {
  const byFile = new Map<string | null, number[]>();
  for (const [at, line] of view.lines.entries()) pushTo(byFile, line.file, at);
  const text = source === null ? [] : source.split(/\r?\n/);
  const rows: CodeRow[] = [];
  const within = linesInComment(text.join('\n'));
  const measured = (at: number, inComment = false): void => {
    const {
      file,
      line,
      text: words,
      samples,
      executed,
      stalls,
      instructions,
    } = view.lines[at] as SourceView['lines'][number];
    lineAt[at] = rows.length;
    rows.push({
      at: `${file}:${line}`,
      label: `${line}`,
      text: words,
      file: baseName(file),
      samples,
      executed,
      stalls,
      linked: instructions,
      measured: true,
      gapBefore: false,
      inComment,
    });
  };
  for (const [file, indices] of byFile) {
    const ordered = indices.toSorted((a, b) => lineNumber(view, a) - lineNumber(view, b));
    if (!isOf(view, ordered, text)) {
      for (const at of ordered) measured(at);
      continue;
    }
    let next = 0;
    for (const [i, words] of text.entries()) {
      const at = ordered[next];
      if (at !== undefined && lineNumber(view, at) === i + 1) {
        measured(at, within.has(i));
        next++;
      } else if (i < text.length - 1 || words !== '')
        rows.push({
          at: `${file}:${i + 1}`,
          label: `${i + 1}`,
          text: words,
          file: baseName(file),
          samples: null,
          executed: null,
          stalls: {},
          linked: [],
          measured: false,
          gapBefore: false,
          inComment: within.has(i),
        });
    }
  }
  return rows;
}

const lineNumber = (view: SourceView, at: number): number => view.lines[at]?.line ?? 0;

/** The printed lines of a file are lines of this text. A page without text (the file was not found) decides nothing. */
function isOf(view: SourceView, indices: readonly number[], text: readonly string[]): boolean {
  if (text.length === 0) return false;
  const printed = indices.filter((at) => (view.lines[at]?.text ?? '').trim() !== '');
  return (
    printed.length > 0 &&
    indices.every((at) => lineNumber(view, at) >= 1 && lineNumber(view, at) <= text.length) &&
    printed.every((at) => text[lineNumber(view, at) - 1]?.trim() === view.lines[at]?.text.trim())
  );
}

const baseName = (file: string | null): string | null => (file === null ? null : (file.split(/[\\/]/).pop() ?? file));

function totalOf(view: SourceView): number | null {
  if (view.samples !== null) return view.samples;
  const known = (view.instructions.length > 0 ? view.instructions : view.lines).flatMap(({ samples }) => samples ?? []);
  return known.length === 0 ? null : known.reduce((sum, n) => sum + n, 0);
}

/** Columns of every reason seen, from instructions (each sample counted once) where there are any. */
function stallColumns(
  view: SourceView,
  known: ReadonlyMap<string, Pick<StallColumn, 'label' | 'meaning'>>,
): StallColumn[] {
  const sums = new Map<string, number>();
  for (const { stalls } of view.instructions.length > 0 ? view.instructions : view.lines)
    for (const [id, samples] of Object.entries(stalls)) sums.set(id, (sums.get(id) ?? 0) + samples);
  return [...sums]
    .map(([id, samples]) => ({
      id,
      samples,
      label: known.get(id)?.label ?? stallLabel(id),
      meaning: known.get(id)?.meaning ?? '',
    }))
    .toSorted((a, b) => b.samples - a.samples);
}

/** "long_scoreboard" → "Long Scoreboard". */
export const stallLabel = (id: string): string =>
  id
    .replace(/^(smsp__pcsamp_warps_issue_stalled_|stall_)/, '')
    .split('_')
    .map((word) => (word.length <= 3 ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join(' ');

export type SortBy = 'order' | 'samples' | (string & {});

/** Value of a column; null: not known. A stall that the row does not list has no sample when the row was sampled. */
export function cellValue(row: CodeRow, column: SortBy): number | null {
  if (column === 'samples') return row.samples;
  if (!row.measured || row.samples === null) return null;
  return row.stalls[column] ?? 0;
}

/** Indices of the rows in the order to show; hottest first, missing last, equal ones in program order. */
export function orderOf(rows: readonly CodeRow[], by: SortBy): readonly number[] {
  const order = rows.map((_, i) => i);
  if (by === 'order') return order;
  const value = rows.map((row) => cellValue(row, by) ?? -1);
  return order.sort((a, b) => (value[b] as number) - (value[a] as number) || a - b);
}

/** Rows with samples, hottest first. */
export const hottest = (rows: readonly CodeRow[], by: SortBy = 'samples'): readonly number[] =>
  orderOf(rows, by === 'order' ? 'samples' : by).filter(
    (i) => (cellValue(rows[i] as CodeRow, by === 'order' ? 'samples' : by) ?? 0) > 0,
  );

/** The next hottest row after `current` (−1: the hottest), `step` 1 or −1; null when there is none. */
export function nextHot(hot: readonly number[], current: number, step: 1 | -1): number | null {
  const at = hot.indexOf(current);
  if (at < 0) return hot[0] ?? null;
  return hot[at + step] ?? null;
}

/** Rows whose text or label holds `query`; upper and lower case alike, blanks count. Empty: none. */
export function searchRows(rows: readonly CodeRow[], query: string): readonly number[] {
  const wanted = query.toLowerCase();
  if (wanted.trim() === '') return [];
  return rows.flatMap(({ text, label }, i) => (text.toLowerCase().includes(wanted) || label === wanted ? [i] : []));
}

/** Hottest of the linked rows, to be brought into view; null: none. */
export function anchorOf(rows: readonly CodeRow[], linked: readonly number[]): number | null {
  let best: number | null = null;
  for (const i of linked) if (best === null || (rows[i]?.samples ?? -1) > (rows[best]?.samples ?? -1)) best = i;
  return best;
}

/** Heat of each pixel row of a minimap: the hottest of the rows it stands for, 0 … 1. */
export function minimapHeat(rows: readonly CodeRow[], order: readonly number[], height: number): readonly number[] {
  const most = rows.reduce((max, { samples }) => Math.max(max, samples ?? 0), 0);
  const heat = new Array<number>(Math.max(0, Math.floor(height))).fill(0);
  if (most === 0 || order.length === 0) return heat;
  for (const [place, i] of order.entries()) {
    const value = (rows[i]?.samples ?? 0) / most;
    if (value === 0) continue;
    const from = Math.floor((place / order.length) * heat.length);
    const to = Math.max(from + 1, Math.floor(((place + 1) / order.length) * heat.length));
    for (let y = from; y < to && y < heat.length; y++) heat[y] = Math.max(heat[y] as number, value);
  }
  return heat;
}
