import { type Dtype, type Estimate, type Outcome, type Size, type SizeSet, sizeText } from '../contract/index.ts';
import { classChanges, type Difference, environment, type ProfileChanges } from './compare-context.ts';
import { type Group, groupsOf } from './compare-summary.ts';
import { ratioOf, type Verdict, verdictOf } from './ratio.ts';
import type { BenchReport, Entry, ProfileEntry, SizeRow } from './report.ts';
import { isRight } from './right.ts';

/** What a comparison reads of an entry, a profile and a report. */
export type ComparedRow = Pick<
  SizeRow,
  | 'problem'
  | 'dims'
  | 'originSpanNs'
  | 'originWrapperNs'
  | 'librarySpanNs'
  | 'librarySpeedup'
  | 'candidateSpanNs'
  | 'speedup'
>;
export type ComparedEntry = Pick<
  Entry,
  'cell' | 'task' | 'dtype' | 'sizes' | 'candidate' | 'outcome' | 'reason' | 'jobWallMs'
> & {
  readonly rows: readonly ComparedRow[];
  readonly library: { readonly title: string } | null;
  /** Place in `machines`; older reports do not say it. */
  readonly machine?: number;
};
export type ComparedProfile = Pick<
  ProfileEntry,
  'cell' | 'task' | 'dtype' | 'version' | 'sizes' | 'bottleneck' | 'launchBound' | 'why'
>;
export type ComparedReport = Pick<
  BenchReport,
  'bench' | 'createdAt' | 'programVersion' | 'config' | 'cells' | 'outdated' | 'machines' | 'clocks' | 'missing'
> & { readonly entries: readonly ComparedEntry[]; readonly profiles: readonly ComparedProfile[] };

/** What is compared of a row. Times in ns; speed-ups are of the origin over the library, or over the candidate. */
export const quantities = {
  'origin-span': { label: 'origin GPU span', unit: 'ns', of: (row: ComparedRow) => row.originSpanNs },
  'origin-wrapper': { label: 'origin wrapper time', unit: 'ns', of: (row: ComparedRow) => row.originWrapperNs },
  'library-span': { label: 'library span', unit: 'ns', of: (row: ComparedRow) => row.librarySpanNs },
  'library-speedup': { label: 'library speed-up', unit: '1', of: (row: ComparedRow) => row.librarySpeedup },
  'candidate-span': { label: 'candidate span', unit: 'ns', of: (row: ComparedRow) => row.candidateSpanNs },
  'candidate-speedup': { label: 'candidate speed-up', unit: '1', of: (row: ComparedRow) => row.speedup },
} as const;
export type Quantity = keyof typeof quantities;
export const quantityNames = Object.keys(quantities) as Quantity[];

/** One quantity of one size that at least one bench has. Either a ratio or why there is none. */
export interface Pair {
  readonly task: string;
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  readonly problem: string;
  readonly dims: Size;
  readonly quantity: Quantity;
  readonly a: Estimate | null;
  readonly b: Estimate | null;
  /** B over A. */
  readonly ratio: Estimate | null;
  /** Whether the intervals of A and B share a value; null: there is nothing to compare. */
  readonly overlap: boolean | null;
  readonly verdict: Verdict | null;
  /** Why there is no ratio; '' where there is one. */
  readonly why: string;
  readonly candidates: { readonly a: string | null; readonly b: string | null };
  /** UUIDs of the GPUs; null: the report does not say on which of its machines the row was measured. */
  readonly gpus: { readonly a: string | null; readonly b: string | null };
}

/** A bench by name. */
export interface Side {
  readonly bench: string;
  readonly createdAt: string;
  readonly cells: BenchReport['cells'];
}

/** Sizes of a cell with figures in one bench alone (`in`), or in none of the two. */
export interface Unpaired {
  readonly cell: string;
  readonly in: 'A' | 'B' | 'neither';
  readonly rows: number;
  /** What the bench without figures says of them. */
  readonly why: string;
}

export interface Comparison {
  readonly format: 'cudamaster-bench-comparison';
  readonly version: 1;
  readonly a: Side;
  readonly b: Side;
  readonly environment: readonly Difference[];
  /** Rows (sizes) in both with the same dimensions; only in one; in both, with other dimensions. */
  readonly rows: {
    readonly common: number;
    readonly onlyA: number;
    readonly onlyB: number;
    readonly otherDims: number;
  };
  /** Compared rows (one measurement in both is none) by where they were measured: one GPU, two, or at least one report does not say. */
  readonly gpus: { readonly same: number; readonly other: number; readonly unknown: number };
  readonly unpaired: readonly Unpaired[];
  readonly otherDims: readonly {
    readonly cell: string;
    readonly problem: string;
    readonly a: string;
    readonly b: string;
  }[];
  /** Cells whose figures are one measurement that lies in both benches: they say nothing about repeating it. */
  readonly sameMeasurement: readonly { readonly cell: string; readonly rows: number }[];
  readonly outcomes: readonly {
    readonly cell: string;
    readonly a: Outcome;
    readonly b: Outcome;
    readonly reasonA: string;
    readonly reasonB: string;
  }[];
  readonly candidates: readonly { readonly cell: string; readonly a: string | null; readonly b: string | null }[];
  readonly groups: readonly Group[];
  /** Quantities that no common row has in either bench. */
  readonly inNeither: readonly Quantity[];
  readonly profiles: ProfileChanges;
  readonly pairs: readonly Pair[];
}

/** Why a measurement that lies in both benches gives no ratio. */
export const oneMeasurement = 'the same measurement in A and B';

/** A cell with the entries that measured it; `same`: one measurement lies in both. */
interface CellPair {
  readonly cell: string;
  readonly a: ComparedEntry | null;
  readonly b: ComparedEntry | null;
  readonly same: boolean;
  readonly gpus: Pair['gpus'];
}
type Both = CellPair & { readonly a: ComparedEntry; readonly b: ComparedEntry };

/** Not only equal figures, which short kernels may repeat by the timer's step, but of a job that took equally long as well. */
const sameMeasurement = (a: ComparedEntry, b: ComparedEntry): boolean =>
  a.rows.length > 0 && a.jobWallMs === b.jobWallMs && JSON.stringify(a.rows) === JSON.stringify(b.rows);

/** Every cell with times that either bench has or should have. Named by what is measured: so are cells without an entry. */
function cellPairs(a: ComparedReport, b: ComparedReport): CellPair[] {
  const byCell = (entries: readonly ComparedEntry[]): Map<string, ComparedEntry> =>
    new Map(entries.map((e) => [`${e.sizes}.${e.task}.${e.dtype}`, e]));
  const [left, right] = [byCell(a.entries), byCell(b.entries)];
  const unrun = [...a.missing, ...b.missing].map(({ cell }) => cell).filter((cell) => !cell.startsWith('profile.'));
  return [...new Set([...left.keys(), ...right.keys(), ...unrun])].map((cell) => {
    const [x, y] = [left.get(cell) ?? null, right.get(cell) ?? null];
    const same = x !== null && y !== null && sameMeasurement(x, y);
    return { cell, a: x, b: y, same, gpus: { a: gpuOf(a, x), b: gpuOf(b, y) } };
  });
}

/** With one machine in the report there is no doubt. */
function gpuOf({ machines }: ComparedReport, entry: ComparedEntry | null): string | null {
  const at = entry?.machine ?? (machines.length === 1 ? 0 : -1);
  return machines[at]?.machine.gpu?.uuid ?? null;
}

const rowsOf = (entry: ComparedEntry | null): readonly ComparedRow[] => entry?.rows ?? [];

/** Rows of both with the same problem. */
const matches = ({ a, b }: CellPair): (readonly [ComparedRow, ComparedRow])[] =>
  rowsOf(a).flatMap((row) => {
    const match = rowsOf(b).find(({ problem }) => problem === row.problem);
    return match ? [[row, match] as const] : [];
  });

const sameDims = ([{ dims: a }, { dims: b }]: readonly [ComparedRow, ComparedRow]): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
};

function whyWithout(report: ComparedReport, entry: ComparedEntry | null, cell: string): string {
  if (entry !== null) return `${entry.outcome}: ${entry.reason}`;
  return report.missing.find((m) => m.cell === cell)?.reason ?? 'not part of this bench';
}

function unpairedOf(a: ComparedReport, b: ComparedReport, found: CellPair): Unpaired[] {
  const { cell } = found;
  const [left, right] = [rowsOf(found.a), rowsOf(found.b)];
  const [whyA, whyB] = [whyWithout(a, found.a, cell), whyWithout(b, found.b, cell)];
  if (left.length === 0 && right.length === 0) {
    const why = whyA === whyB ? whyA : `A: ${whyA}; B: ${whyB}`;
    return [{ cell, in: 'neither', rows: 0, why }];
  }
  const common = matches(found).length;
  const others = 'it has other sizes of this cell';
  const sides: Unpaired[] = [
    { cell, in: 'A', rows: left.length - common, why: right.length > 0 ? others : whyB },
    { cell, in: 'B', rows: right.length - common, why: left.length > 0 ? others : whyA },
  ];
  return sides.filter(({ rows }) => rows > 0);
}

function pairOf(both: Both, [x, y]: readonly [ComparedRow, ComparedRow], quantity: Quantity): Pair[] {
  const { of, unit } = quantities[quantity];
  const wrong = (entry: ComparedEntry): boolean =>
    quantity.startsWith('candidate') && entry.candidate !== null && !isRight(entry);
  // Reports made before candidates had to be right hold figures of wrong ones.
  const [a, b] = [wrong(both.a) ? null : of(x), wrong(both.b) ? null : of(y)];
  if (a === null && b === null) return [];
  const { task, dtype, sizes } = both.a;
  const candidates = { a: both.a.candidate, b: both.b.candidate };
  const common = { task, dtype, sizes, problem: x.problem, dims: x.dims, quantity, a, b, candidates, gpus: both.gpus };
  const without = (why: string): Pair[] => [{ ...common, ratio: null, overlap: null, verdict: null, why }];
  const lacks = (entry: ComparedEntry, name: 'A' | 'B', other: 'A' | 'B'): Pair[] =>
    without(wrong(entry) ? `the candidate of ${name} is not right: ${entry.outcome}` : `only in ${other}`);
  if (a === null) return lacks(both.a, 'A', 'B');
  if (b === null) return lacks(both.b, 'B', 'A');
  if (both.same) return without(oneMeasurement);
  const titles = [both.a.library?.title ?? 'not named', both.b.library?.title ?? 'not named'];
  if (quantity.startsWith('library') && titles[0] !== titles[1])
    return without(`different libraries: ${titles[0]} in A, ${titles[1]} in B`);
  const found = ratioOf(a, b);
  if ('why' in found) return without(found.why);
  const { ratio } = found;
  return [{ ...common, ratio, overlap: a.lo <= b.hi && b.lo <= a.hi, verdict: verdictOf(ratio, unit), why: '' }];
}

/**
 * Two benches figure by figure: rows of the same task, data type, size set, problem and dimensions. What one of them lacks is named and
 * never counted. Pure; every difference is that of B against A.
 */
export function compareReports(a: ComparedReport, b: ComparedReport): Comparison {
  const cells = cellPairs(a, b);
  const both = cells.filter((c): c is Both => c.a !== null && c.b !== null);
  const unpaired = cells.flatMap((c) => unpairedOf(a, b, c));
  const rows = both.flatMap((c) => matches(c).map((match) => ({ c, match })));
  const common = rows.filter(({ match }) => sameDims(match));
  const otherDims = rows.filter(({ match }) => !sameDims(match));
  const pairs = common.flatMap(({ c, match }) => quantityNames.flatMap((name) => pairOf(c, match, name)));
  const alone = (where: 'A' | 'B'): number => unpaired.reduce((sum, u) => sum + (u.in === where ? u.rows : 0), 0);
  return {
    format: 'cudamaster-bench-comparison',
    version: 1,
    a: sideOf(a),
    b: sideOf(b),
    environment: environment(a, b),
    rows: { common: common.length, onlyA: alone('A'), onlyB: alone('B'), otherDims: otherDims.length },
    gpus: gpusOf(common.map(({ c }) => c)),
    unpaired,
    otherDims: otherDims.map(({ c: { cell }, match: [x, y] }) => {
      return { cell, problem: x.problem, a: sizeText(x.dims), b: sizeText(y.dims) };
    }),
    sameMeasurement: both.filter(({ same }) => same).map(({ cell, a: x }) => ({ cell, rows: x.rows.length })),
    ...changes(both),
    groups: groupsOf(pairs, quantityNames),
    inNeither: quantityNames.filter((name) => !pairs.some(({ quantity }) => quantity === name)),
    profiles: classChanges(a, b),
    pairs,
  };
}

function gpusOf(rows: readonly CellPair[]): Comparison['gpus'] {
  const compared = rows.filter(({ same }) => !same).map(({ gpus }) => gpus);
  const known = compared.filter(({ a, b }) => a !== null && b !== null);
  const same = known.filter(({ a, b }) => a === b).length;
  return { same, other: known.length - same, unknown: compared.length - known.length };
}

const sideOf = ({ bench, createdAt, cells }: ComparedReport): Side => ({ bench, createdAt, cells });

function changes(both: readonly Both[]): Pick<Comparison, 'outcomes' | 'candidates'> {
  return {
    outcomes: both
      .filter(({ a, b }) => a.outcome !== b.outcome)
      .map(({ cell, a, b }) => ({ cell, a: a.outcome, b: b.outcome, reasonA: a.reason, reasonB: b.reason })),
    candidates: both
      .filter(({ a, b }) => a.candidate !== b.candidate)
      .map(({ cell, a, b }) => ({ cell, a: a.candidate, b: b.candidate })),
  };
}
