import { Prng } from '../base/random.ts';
import type { Estimate } from '../contract/index.ts';
import type { Cell, Table } from './samples.ts';
import { ascending, interquartileMean, studentUpper } from './stats.ts';

/**
 * Hierarchical bootstrap for few processes.
 *
 * Resampling 2 or 3 processes whole gives intervals that are too narrow and sometimes of width zero: with P processes the spread
 * of resampled means is (P−1)/P of the true one and its few values have no tails. So each level is resampled in the way its
 * number allows:
 *  - processes: their deviations from the mean over processes are multiplied by independent normal numbers, the same for all sizes
 *    and arms (a multiplier bootstrap), scaled to the unbiased variance of a mean of P;
 *  - blocks: drawn with replacement inside each process, whole rows, so that pairs stay together. What they give is the variance
 *    between processes if processes did not differ at all; it is added with the weight of `priorDf` degrees of freedom, so that
 *    processes which agree by luck do not make the interval vanish;
 *  - the interval is point ± t·SE with P−1+priorDf degrees of freedom.
 * Simulated coverage (test/evaluate/bootstrap.test.ts): where blocks are the noise, 95 % intervals hold more than 97 %; where whole
 * processes differ far more than blocks, 91 % with 3 processes and 94 % with 5.
 */
export const priorDf = 1;
/** Block resamples kept per process and size, at most; combined at random across processes and sizes. */
const mostBanked = 512;

/** Statistic of a whole set of centres: fills `out` (logarithms of ratios or of times). */
export type Statistic = (centres: Centres, out: Float64Array) => void;

/** Centres of every arm at every size, log ns. `relative` ones share the drift of their block and serve for ratios only. */
export interface Centres {
  readonly relative: (problem: number, arm: number) => number;
  readonly absolute: (problem: number, arm: number) => number;
  /** The same as a table, for statistics that are computed ten thousand times: arm `a` at problem `p`, relative, is `values[p * width + a]`. */
  readonly values: Float64Array;
  readonly width: number;
  /** Columns of a problem: relative ones of the arms, then at this offset the absolute ones. */
  readonly absoluteAt: number;
}

export interface Spread {
  /** Value on the data itself, log. */
  readonly point: Float64Array;
  /** Bootstrap standard error, log. */
  readonly se: Float64Array;
  readonly df: number;
  /** Fewest processes at any size. */
  readonly processes: number;
}

/** One process at one size: its centres (A relative, then A absolute) and bank of deviations of resampled ones. */
interface Prepared {
  readonly centres: Float64Array;
  readonly bank: Float64Array;
}

/** Columns: per block the arm's log minus the block's mean over arms (drift cancels), then the logs themselves. */
function columnsOf(cell: Cell, arms: number): Float64Array[] {
  const columns = Array.from({ length: 2 * arms }, () => new Float64Array(cell.blocks));
  for (let b = 0; b < cell.blocks; b++) {
    let sum = 0;
    for (let a = 0; a < arms; a++) sum += cell.logs[b * arms + a] as number;
    for (let a = 0; a < arms; a++) {
      const value = cell.logs[b * arms + a] as number;
      (columns[a] as Float64Array)[b] = value - sum / arms;
      (columns[arms + a] as Float64Array)[b] = value;
    }
  }
  return columns;
}

function prepare(cell: Cell, arms: number, bankSize: number, prng: Prng): Prepared {
  const columns = columnsOf(cell, arms);
  const orders = columns.map(ascending);
  const n = cell.blocks;
  const width = columns.length;
  const centres = Float64Array.from(columns, (column, c) =>
    interquartileMean(column, orders[c] as Uint16Array, null, n),
  );
  const bank = new Float64Array(bankSize * width);
  const counts = new Uint16Array(n);
  const unbias = n > 1 ? Math.sqrt(n / (n - 1)) : 1;
  for (let k = 0; k < bankSize; k++) {
    counts.fill(0);
    for (let draw = 0; draw < n; draw++) {
      const at = Math.floor((prng.u32() / 4294967296) * n);
      counts[at] = (counts[at] as number) + 1;
    }
    for (let c = 0; c < width; c++) {
      const value = interquartileMean(columns[c] as Float64Array, orders[c] as Uint16Array, counts, n);
      bank[k * width + c] = (value - (centres[c] as number)) * unbias;
    }
  }
  return { centres, bank };
}

/** Fills `out` with standard normal numbers by the polar method; an odd one is kept for the next time. */
function normals(prng: Prng): (out: Float64Array) => void {
  const spare = new Float64Array(1);
  let kept = false;
  return (out) => {
    for (let i = 0; i < out.length; i++) {
      if (kept) {
        kept = false;
        out[i] = spare[0] as number;
        continue;
      }
      for (;;) {
        const x = prng.u32() / 2147483648 - 1;
        const y = prng.u32() / 2147483648 - 1;
        const s = x * x + y * y;
        if (!(s > 0 && s < 1)) continue;
        const f = Math.sqrt((-2 * Math.log(s)) / s);
        spare[0] = y * f;
        kept = true;
        out[i] = x * f;
        break;
      }
    }
  };
}

/**
 * Bootstraps a vector statistic jointly over sizes. Deterministic for a seed.
 * null when a size has no process left: nothing may be said then.
 */
export function bootstrap(
  table: Table,
  statistic: Statistic,
  length: number,
  options: { readonly seed: string; readonly resamples?: number },
): Spread | null {
  if (table.problems.length === 0 || table.problems.some((cells) => cells.length === 0)) return null;
  const resamples = options.resamples ?? 10_000;
  const prng = new Prng(options.seed);
  const arms = table.arms.length;
  const width = 2 * arms;
  const bankSize = Math.min(mostBanked, resamples);
  const prepared = table.problems.map((cells) => cells.map((cell) => prepare(cell, arms, bankSize, prng)));
  const centre = new Float64Array(table.problems.length * width);
  for (const [i, list] of prepared.entries()) weigh(list, centre.subarray(i * width, (i + 1) * width));
  const drawn = centre.slice();
  const view: Centres = {
    relative: (problem, arm) => drawn[problem * width + arm] as number,
    absolute: (problem, arm) => drawn[problem * width + arms + arm] as number,
    values: drawn,
    width,
    absoluteAt: arms,
  };
  const point = new Float64Array(length);
  statistic(view, point);
  const slots = processSlots(table);
  const normal = normals(prng);
  const multipliers = new Float64Array(slots.count);
  const value = new Float64Array(length);
  const squares = new Float64Array(length);
  for (let r = 0; r < resamples; r++) {
    normal(multipliers);
    for (let i = 0; i < prepared.length; i++)
      drawProblem(
        prepared[i] as Prepared[],
        slots.of[i] as number[],
        multipliers,
        prng,
        centre,
        drawn,
        i * width,
        width,
      );
    statistic(view, value);
    for (let s = 0; s < length; s++) {
      const off = (value[s] as number) - (point[s] as number);
      squares[s] = (squares[s] as number) + off * off;
    }
  }
  const processes = Math.min(...table.problems.map((cells) => cells.length));
  return { point, se: squares.map((sum) => Math.sqrt(sum / resamples)), df: processes - 1 + priorDf, processes };
}

/** Processes by number, so that a process has the same multiplier at every size. */
function processSlots(table: Table): { readonly count: number; readonly of: number[][] } {
  const ids = [...new Set(table.problems.flatMap((cells) => cells.map((cell) => cell.process)))];
  return { count: ids.length, of: table.problems.map((cells) => cells.map((cell) => ids.indexOf(cell.process))) };
}

/**
 * Fills in the mean over processes, and turns each process's centres into its share of a draw: deviations from the mean, scaled so
 * that normal multipliers give the unbiased variance of a mean; bank scaled to its weight (see above).
 */
function weigh(list: readonly Prepared[], centre: Float64Array): void {
  const n = list.length;
  for (const { centres } of list)
    for (let c = 0; c < centre.length; c++) centre[c] = (centre[c] as number) + (centres[c] as number) / n;
  const between = n > 1 ? Math.sqrt(1 / ((n - 1) * n)) : 0;
  const within = Math.sqrt(priorDf / (n - 1 + priorDf)) / n;
  for (const { centres, bank } of list) {
    for (let c = 0; c < centre.length; c++) centres[c] = ((centres[c] as number) - (centre[c] as number)) * between;
    for (let k = 0; k < bank.length; k++) bank[k] = (bank[k] as number) * within;
  }
}

function drawProblem(
  list: readonly Prepared[],
  slots: readonly number[],
  multipliers: Float64Array,
  prng: Prng,
  centre: Float64Array,
  drawn: Float64Array,
  at: number,
  width: number,
): void {
  for (let c = 0; c < width; c++) drawn[at + c] = centre[at + c] as number;
  for (let p = 0; p < list.length; p++) {
    const { centres, bank } = list[p] as Prepared;
    const g = multipliers[slots[p] as number] as number;
    // Whole numbers throughout: a remainder of floating-point numbers takes longer than all the rest here.
    const rows = (bank.length / width) >>> 0;
    const row = ((prng.u32() >>> 0) % rows) * width;
    for (let c = 0; c < width; c++)
      drawn[at + c] = (drawn[at + c] as number) + g * (centres[c] as number) + (bank[row + c] as number);
  }
}

/**
 * Two-sided interval of exp(statistic). Never narrower than ± `leastHalfWidth` (log): the timer's step carried through.
 */
export function estimate(spread: Spread, at: number, level: number, leastHalfWidth = 0): Estimate {
  const log = spread.point[at] as number;
  const half = Math.max(studentUpper((1 - level) / 2, spread.df) * (spread.se[at] as number), leastHalfWidth);
  return { value: Math.exp(log), lo: Math.exp(log - half), hi: Math.exp(log + half), level };
}

/** One-sided bound of exp(statistic): the true value is above it (side 'lower') with probability 1 − tail. */
export function bound(spread: Spread, at: number, side: 'lower' | 'upper', tail: number, leastHalfWidth = 0): number {
  const half = Math.max(studentUpper(tail, spread.df) * (spread.se[at] as number), leastHalfWidth);
  return Math.exp((spread.point[at] as number) + (side === 'lower' ? -half : half));
}
