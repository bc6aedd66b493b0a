/** Values that a table sorts by. null is missing: always last, whichever the direction. */
export type SortValue = string | number | boolean | null;

export interface Sort {
  readonly column: string;
  readonly descending: boolean;
}

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

function compare(a: SortValue, b: SortValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return collator.compare(String(a), String(b));
}

/** Texts by their place among the distinct ones: comparing them by the rules of language is slow, and columns repeat themselves. */
function ranksOf(keys: readonly SortValue[]): ReadonlyMap<SortValue, number> | null {
  const texts = new Set<string>();
  for (const key of keys) if (typeof key === 'string') texts.add(key);
  if (texts.size === 0) return null;
  return new Map([...texts].sort(collator.compare).map((text, rank) => [text, rank]));
}

/** Stable order of `rows` by `value`; the rows themselves are left alone. */
export function sortRows<R>(rows: readonly R[], value: (row: R) => SortValue, descending: boolean): R[] {
  const keys = rows.map(value);
  const ranks = ranksOf(keys);
  const keyed = rows.map((row, index) => ({
    row,
    index,
    key: ranks?.get(keys[index] as SortValue) ?? (keys[index] as SortValue),
  }));
  keyed.sort((a, b) => {
    const missing = Number(isMissing(a.key)) - Number(isMissing(b.key));
    if (missing !== 0) return missing;
    if (isMissing(a.key)) return a.index - b.index;
    const order = compare(a.key, b.key);
    return order !== 0 ? (descending ? -order : order) : a.index - b.index;
  });
  return keyed.map((k) => k.row);
}

const isMissing = (key: SortValue): boolean => key === null || (typeof key === 'number' && Number.isNaN(key));
