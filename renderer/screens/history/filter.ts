import type { VersionRow } from '../../../main/contract/api.ts';
import { outcomeOf } from '../../ui/outcomes.ts';

/** What narrows the list. Empty strings mean "any". */
export interface Filter {
  /** Words that all must be found somewhere in a version. */
  readonly text: string;
  readonly task: string;
  readonly dtype: string;
  /** 'pending' stands for versions under way. */
  readonly outcome: string;
  readonly gpu: string;
  readonly pinned: boolean;
}

export const anything: Filter = { text: '', task: '', dtype: '', outcome: '', gpu: '', pinned: false };

export type Facet = 'task' | 'dtype' | 'outcome' | 'gpu';
export const facets: readonly Facet[] = ['task', 'dtype', 'outcome', 'gpu'];

export const pending = 'pending';

/** Value of a facet; null: this version has none. */
export function facetValue(row: VersionRow, facet: Facet): string | null {
  return facet === 'outcome' ? (outcomeOf(row) ?? pending) : row[facet];
}

/** Everything of a version that words are looked for in; made once per row object. */
const texts = new WeakMap<VersionRow, string>();
function textOf(row: VersionRow): string {
  const known = texts.get(row);
  if (known !== undefined) return known;
  const text = [
    row.id,
    row.task,
    row.dtype,
    row.label,
    row.outcome,
    row.bottleneck,
    row.gpu,
    row.note,
    row.reason,
    row.kind,
  ]
    .join('\n')
    .toLowerCase();
  texts.set(row, text);
  return text;
}

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/\s+/)
    .filter((w) => w !== '');

/** Versions that pass; order is kept. `except`: a facet that is not applied (for its own counts). */
export function filterVersions(rows: readonly VersionRow[], filter: Filter, except?: Facet): VersionRow[] {
  const words = wordsOf(filter.text);
  const wanted = facets.filter((f) => f !== except && filter[f] !== '').map((f) => [f, filter[f]] as const);
  return rows.filter(
    (row) =>
      (!filter.pinned || row.pinned) &&
      wanted.every(([facet, value]) => facetValue(row, facet) === value) &&
      words.every((w) => textOf(row).includes(w)),
  );
}

/** How many versions each value of a facet would leave, with the other conditions in force; most first, then by name. */
export function facetCounts(rows: readonly VersionRow[], filter: Filter, facet: Facet): [string, number][] {
  const counts = new Map<string, number>();
  for (const row of filterVersions(rows, filter, facet)) {
    const value = facetValue(row, facet);
    if (value !== null) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  // The value in force stays on offer, also when nothing is left of it.
  if (filter[facet] !== '' && !counts.has(filter[facet])) counts.set(filter[facet], 0);
  return [...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b, 'en'));
}

export const isNarrowed = (f: Filter): boolean =>
  f.text.trim() !== '' || f.pinned || facets.some((facet) => f[facet] !== '');

/** Filter ⇄ parts of the address, so that a view can be linked to. */
export const filterOf = (query: Readonly<Record<string, string>>): Filter => ({
  text: query.q ?? '',
  task: query.task ?? '',
  dtype: query.dtype ?? '',
  outcome: query.outcome ?? '',
  gpu: query.gpu ?? '',
  pinned: query.pinned === '1',
});
