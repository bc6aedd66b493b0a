import type { TaskDetail, TaskEntry } from '../../../main/contract/api.ts';
import type { Estimate } from '../../../main/contract/evaluation.ts';
import { type Dtype, dtypes } from '../../../main/contract/task.ts';

/** What the address names: a task with a type, or a version of a run. */
export type KernelAddress =
  | { readonly kind: 'task'; readonly task: string; readonly dtype: Dtype }
  | { readonly kind: 'version'; readonly version: string }
  | { readonly kind: 'none' };

/** `#/kernel/softmax/bf16`, `#/kernel/RUN:r1.a0`. A task without a type is FP32. */
export function addressOf(path: readonly string[]): KernelAddress {
  const [first, second] = path;
  if (first === undefined) return { kind: 'none' };
  if (/^[A-Za-z0-9-]+:(origin|r\d+\.a\d+)$/.test(first)) return { kind: 'version', version: first };
  const dtype = dtypes.find((d) => d === second) ?? 'fp32';
  return { kind: 'task', task: first, dtype };
}

/** One task with all its types, as the list shows it. */
export interface TaskGroup {
  readonly id: string;
  readonly title: string;
  readonly category: string;
  readonly entries: readonly TaskEntry[];
  readonly fault: string | null;
  /** One of the user's own. */
  readonly own: boolean;
}

/** The user's own first: they are few, and what is worked on. */
export const byCategory = (a: string, b: string): number =>
  Number(b === 'user') - Number(a === 'user') || a.localeCompare(b);

/** Tasks by category and name, those whose name, title or category hold every word of the query. */
export function taskGroups(entries: readonly TaskEntry[], query: string, category: string): readonly TaskGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map<string, TaskEntry[]>();
  for (const entry of entries) groups.set(entry.id, [...(groups.get(entry.id) ?? []), entry]);
  return [...groups]
    .map(
      ([id, of]): TaskGroup => ({
        id,
        title: of[0]?.title ?? id,
        category: of[0]?.category ?? (of[0]?.own ? 'user' : 'other'),
        entries: of,
        fault: of.find(({ fault }) => fault !== null)?.fault ?? null,
        own: of[0]?.own === true,
      }),
    )
    .filter((g) => category === '' || g.category === category)
    .filter((g) => words.every((word) => `${g.id} ${g.title} ${g.category}`.toLowerCase().includes(word)))
    .toSorted((a, b) => byCategory(a.category, b.category) || a.id.localeCompare(b.id));
}

export const categoriesOf = (entries: readonly TaskEntry[]): readonly string[] =>
  [...new Set(entries.flatMap(({ category }) => category ?? []))].toSorted(byCategory);

/** A scored problem with what was measured of the origin. */
export interface SizeRow {
  readonly id: string;
  readonly dims: Readonly<Record<string, number>>;
  readonly weight: number;
  readonly bytes: number | null;
  readonly flop: number | null;
  /** FLOP per byte that must move at least; null: either is not stated. */
  readonly intensity: number | null;
  readonly span: Estimate | null;
  readonly wrapper: Estimate | null;
  readonly floorNs: number | null;
  /** Span over floor: how far the origin is from the physical limit. */
  readonly aboveFloor: number | null;
}

export function sizeRows({ problems, baseline }: Pick<TaskDetail, 'problems' | 'baseline'>): readonly SizeRow[] {
  const figures = baseline?.evaluation.figures?.sizes ?? [];
  return problems.map(({ id, dims, weight, bytes, flop }) => {
    const measured = figures.find((f) => sameDims(f.dims, dims));
    const span = measured?.originSpanNs ?? null;
    const floorNs = measured?.floorNs ?? null;
    return {
      id,
      dims,
      weight,
      bytes,
      flop,
      intensity: bytes === null || flop === null || bytes === 0 ? null : flop / bytes,
      span,
      wrapper: measured?.originWrapperNs ?? null,
      floorNs,
      aboveFloor: span === null || floorNs === null || floorNs === 0 ? null : span.value / floorNs,
    };
  });
}

const sameDims = (a: Readonly<Record<string, number>>, b: Readonly<Record<string, number>>): boolean => {
  const keys = Object.keys(b);
  return keys.length === Object.keys(a).length && keys.every((key) => a[key] === b[key]);
};

/** Words of a command line: blanks part them, quotes keep them together. null: a quote is not closed. */
export function splitArgs(text: string): readonly string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (const c of text) {
    if (quote !== '') {
      if (c === quote) quote = '';
      else word = (word ?? '') + c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= '';
    } else if (/\s/.test(c)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? '') + c;
  }
  if (quote !== '') return null;
  return word === null ? words : [...words, word];
}

export const joinArgs = (args: readonly string[]): string =>
  args.map((arg) => (/[\s"']|^$/.test(arg) ? (arg.includes('"') ? `'${arg}'` : `"${arg}"`) : arg)).join(' ');
