import { type Dtype, dtypes, type SizeSet, sizeSets } from '../contract/index.ts';
import type { Pair, Quantity } from './compare.ts';

/** Distances from 1 that are counted, %. */
export const nearness = [1, 3, 5, 10] as const;
const shown = 10;

/** Summary of one quantity over the sizes of a set. */
export interface Group {
  readonly sizes: SizeSet;
  /** null: all data types together. */
  readonly dtype: Dtype | null;
  readonly quantity: Quantity;
  /** Pairs with a ratio. */
  readonly pairs: number;
  /** Pairs without one, by why. */
  readonly without: readonly { readonly why: string; readonly count: number }[];
  /** B over A: the middle one, of an even number the geometric mean of the two. null: no pairs. */
  readonly median: number | null;
  /** How many are at most so far from 1 in either direction: both B/A and A/B at most 1 + percent/100. */
  readonly within: readonly { readonly percent: number; readonly count: number }[];
  /** Pairs whose own intervals share a value. */
  readonly overlapping: number;
  /** Ratios whose interval lies wholly below or above 1. */
  readonly below: number;
  readonly above: number;
  /** At most how many of so many intervals leave 1 out by chance where nothing differs: the sum of 1 − level. null: no pairs. */
  readonly expectedByChance: number | null;
  /** Levels of the intervals. */
  readonly levels: readonly number[];
  /** The ratios farthest from 1, farthest first. */
  readonly farthest: readonly Pair[];
}

type Found = Pair & { readonly ratio: NonNullable<Pair['ratio']> };

const distance = ({ ratio }: Found): number => Math.abs(Math.log(ratio.value));

/** The same whichever bench is A. null of nothing. */
export function medianRatio(ratios: readonly number[]): number | null {
  if (ratios.length === 0) return null;
  const sorted = [...ratios].sort((a, b) => a - b);
  const at = (i: number): number => sorted[i] as number;
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? at(half) : Math.sqrt(at(half - 1) * at(half));
}

function groupOf(pairs: readonly Pair[], key: Pick<Group, 'sizes' | 'dtype' | 'quantity'>): Group {
  const found = pairs.filter((p): p is Found => p.ratio !== null);
  const reasons = new Map<string, number>();
  for (const { ratio, why } of pairs) if (ratio === null) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  const apart = (value: number): number => Math.max(value, 1 / value);
  return {
    ...key,
    pairs: found.length,
    without: [...reasons].map(([why, count]) => ({ why, count })),
    median: medianRatio(found.map(({ ratio }) => ratio.value)),
    within: nearness.map((percent) => ({
      percent,
      count: found.filter(({ ratio }) => apart(ratio.value) <= 1 + percent / 100).length,
    })),
    overlapping: found.filter(({ overlap }) => overlap === true).length,
    below: found.filter(({ ratio }) => ratio.hi < 1).length,
    above: found.filter(({ ratio }) => ratio.lo > 1).length,
    expectedByChance: found.length === 0 ? null : found.reduce((sum, { ratio }) => sum + 1 - ratio.level, 0),
    levels: [...new Set(found.map(({ ratio }) => ratio.level))].sort((x, y) => x - y),
    farthest: [...found].sort((x, y) => distance(y) - distance(x)).slice(0, shown),
  };
}

/** Groups that hold anything: per size set and quantity each data type, then all of them together if there are several. */
export function groupsOf(pairs: readonly Pair[], names: readonly Quantity[]): Group[] {
  return sizeSets.flatMap((sizes) =>
    names.flatMap((quantity) => {
      const here = pairs.filter((p) => p.sizes === sizes && p.quantity === quantity);
      const present = dtypes.filter((dtype) => here.some((p) => p.dtype === dtype));
      const each = present.map((dtype) =>
        groupOf(
          here.filter((p) => p.dtype === dtype),
          { sizes, dtype, quantity },
        ),
      );
      return present.length > 1 ? [...each, groupOf(here, { sizes, dtype: null, quantity })] : each;
    }),
  );
}
