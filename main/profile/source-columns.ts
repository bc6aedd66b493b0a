import type { SourceCounts } from '../contract/index.ts';
import { metricValue } from './parse-raw.ts';
import stallTable from './stalls.json' with { type: 'json' };

/** Scalar fields of SourceCounts. */
export type CountField = Exclude<keyof SourceCounts, 'stalls' | 'stallsNotIssued' | 'memory'>;

/** Names ncu has given the columns, newest first: the wording moved from "Cycles" to "Samples", older pages print metric ids. */
const FIELDS: Readonly<Record<CountField, readonly string[]>> = {
  samples: [
    'Warp Stall Sampling (All Samples)',
    'Warp Stall Sampling (All Cycles)',
    'Sampling Data (All)',
    '# Samples',
    'smsp__pcsamp_sample_count',
  ],
  notIssued: [
    'Warp Stall Sampling (Not-issued Samples)',
    'Warp Stall Sampling (Not-issued Cycles)',
    'Sampling Data (Not Issued)',
  ],
  instructions: ['Instructions Executed', 'inst_executed'],
  threads: ['Thread Instructions Executed', 'thread_inst_executed'],
  threadsOn: ['Predicated-On Thread Instructions Executed', 'thread_inst_executed_true'],
  divergentBranches: ['Divergent Branches', 'smsp__branch_targets_threads_divergent'],
};
export const COUNT_FIELDS = Object.keys(FIELDS) as CountField[];

type Record3 = 'stalls' | 'stallsNotIssued' | 'memory';
type Target =
  | { readonly field: CountField; readonly rank: number }
  | { readonly record: Record3; readonly key: string };

/** What each column of a header is for. */
export interface Columns {
  readonly address: number;
  readonly sass: number;
  readonly line: number;
  readonly text: number;
  readonly access: readonly [space: number, operation: number, size: number];
  readonly counts: readonly (Target & { readonly at: number })[];
  readonly width: number;
}

const FIRST = ['Line No', 'Line', '#', 'Address'];

/** Columns of a header row of the source page; null when the row is none. Positions are -1 for columns the page lacks. */
export function columnsOf(header: readonly string[]): Columns | null {
  // The first cell decides: a row of source text must not pass for a header.
  if (!FIRST.includes(header[0] ?? '')) return null;
  const names = header.map((name) => name.trim());
  const sources = names.flatMap((name, at) => (name === 'Source' ? [at] : []));
  const address = names.indexOf('Address');
  const number = ['Line No', 'Line', '#'].map((name) => names.indexOf(name)).find((at) => at >= 0) ?? -1;
  if (sources.length === 0 || (address < 0 && number < 0)) return null;
  // "#" beside an address numbers the instructions; without a second "Source" there are no lines either.
  const hasLines = address < 0 || (sources.length > 1 && names[number] !== '#');
  const [first = -1, second = -1] = sources;
  return {
    address,
    sass: address < 0 ? -1 : sources.length > 1 ? second : first,
    line: hasLines ? number : -1,
    text: hasLines ? first : -1,
    access: [names.indexOf('Address Space'), names.indexOf('Access Operation'), names.indexOf('Access Size')],
    counts: names.flatMap((name, at) => {
      const target = targetOf(name);
      return target === null ? [] : [{ ...target, at }];
    }),
    width: names.length,
  };
}

const NOT_ISSUED = / \(not issued\)$|_not_issued$/i;
const STALL = /^(?:stall_|smsp__pcsamp_warps_issue_stalled_)/;

function targetOf(name: string): Target | null {
  for (const field of COUNT_FIELDS) {
    const rank = FIELDS[field].indexOf(name);
    if (rank >= 0) return { field, rank };
  }
  if (STALL.test(name))
    return { record: NOT_ISSUED.test(name) ? 'stallsNotIssued' : 'stalls', key: stallId(name.replace(NOT_ISSUED, '')) };
  return /^(?:L1|L2) |^memory_l[12]_/.test(name) ? { record: 'memory', key: name } : null;
}

/** Id of a stall by its column ("stall_long_sb", "smsp__pcsamp_warps_issue_stalled_long_scoreboard"); an unknown one keeps its name. */
export function stallId(column: string): string {
  const bare = column.replace(STALL, '');
  return stallTable.stalls.find((stall) => stall.names.includes(bare))?.id ?? bare;
}

/** Names of columns that may not be added up over instructions. */
export const isAdditive = (memoryColumn: string): boolean => !/N-Way|nway|Ratio|Avg\.|%/i.test(memoryColumn);

const count = (text: string | undefined): number | null => {
  if (text !== undefined && /^\d{1,15}$/.test(text)) return Number(text); // nearly all cells of a page
  const value = metricValue(text ?? '', '');
  return value.available && value.value >= 0 ? value.value : null;
};

/** Counts of one row. */
export function countsOf(row: readonly string[], columns: Columns): SourceCounts {
  const counts = emptyCounts();
  const ranks = new Map<CountField, number>();
  for (const target of columns.counts) {
    const value = count(row[target.at]);
    if (value === null) continue;
    if ('record' in target) counts[target.record][target.key] ??= value;
    else if (target.rank < (ranks.get(target.field) ?? Number.POSITIVE_INFINITY)) {
      counts[target.field] = value;
      ranks.set(target.field, target.rank);
    }
  }
  return counts;
}

export const emptyCounts = (): SourceCounts => ({
  samples: null,
  notIssued: null,
  instructions: null,
  threads: null,
  threadsOn: null,
  divergentBranches: null,
  stalls: {},
  stallsNotIssued: {},
  memory: {},
});

/** Sum over rows. A field one row has no number for has no sum. */
export function sumCounts(rows: readonly SourceCounts[]): SourceCounts {
  const sum = emptyCounts();
  if (rows.length === 0) return sum;
  for (const field of COUNT_FIELDS) sum[field] = total(rows.map((row) => row[field]));
  for (const record of ['stalls', 'stallsNotIssued', 'memory'] as const)
    for (const key of Object.keys(rows[0]?.[record] ?? {})) {
      const value = record === 'memory' && !isAdditive(key) ? null : total(rows.map((row) => row[record][key] ?? null));
      if (value !== null) sum[record][key] = value;
    }
  return sum;
}

const total = (values: readonly (number | null)[]): number | null =>
  values.reduce<number | null>((sum, value) => (sum === null || value === null ? null : sum + value), 0);
