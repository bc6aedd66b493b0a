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

/** Every process at every size, one after the other (a cell each): deviations of their centres and banks of deviations of resampled ones. */
interface Prepared {
  /** Cells of problem i: from `first[i]` up to `first[i + 1]`. */
  readonly first: Int32Array;
  /** Number of the cell's process, the same at every size. */
  readonly slot: Int32Array;
  readonly processes: number;
  /** cells × width; centres at first (A relative, then A absolute), then their share of a draw. */
  readonly centres: Float64Array;
  /** cells × rows × width. */
  readonly bank: Float64Array;
  readonly rows: number;
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

/**
 * Interquartile mean of resampled values: `interquartileMean` for the inner loop, with the same operations in the same order. `sorted` holds the
 * values ascending from `at` on and `order` their blocks; `counts`: how often each block was drawn, n times in all.
 */
function resampledCentre(sorted: Float64Array, order: Uint16Array, at: number, counts: Uint16Array, n: number): number {
  const lo = n / 4;
  const hi = n - lo;
  let k = at;
  let seen = 0;
  let next = counts[order[k] as number] as number;
  while (next <= lo) {
    seen = next;
    k++;
    next = seen + (counts[order[k] as number] as number);
  }
  let sum = (sorted[k] as number) * (Math.min(next, hi) - lo);
  while (next < hi) {
    seen = next;
    k++;
    const count = counts[order[k] as number] as number;
    next = seen + count;
    sum += (sorted[k] as number) * (next < hi ? count : hi - seen);
  }
  return sum / (hi - lo);
}

/** Fills in the centres and the bank of one cell: block resamples, whole rows, so that pairs stay together. */
function prepare(cell: Cell, arms: number, index: number, to: Prepared, prng: Prng): void {
  const n = cell.blocks;
  const width = 2 * arms;
  const { centres, bank, rows } = to;
  const sorted = new Float64Array(width * n);
  const order = new Uint16Array(width * n);
  const from = index * width;
  for (const [c, column] of columnsOf(cell, arms).entries()) {
    const its = ascending(column);
    order.set(its, c * n);
    for (let k = 0; k < n; k++) sorted[c * n + k] = column[its[k] as number] as number;
    centres[from + c] = interquartileMean(column, its, null, n);
  }
  const counts = new Uint16Array(n);
  const draws = new Uint32Array(n);
  const unbias = n > 1 ? Math.sqrt(n / (n - 1)) : 1;
  for (let row = index * rows; row < (index + 1) * rows; row++) {
    counts.fill(0);
    prng.fill(draws);
    for (let draw = 0; draw < n; draw++) {
      const at = Math.floor(((draws[draw] as number) / 4294967296) * n);
      counts[at] = (counts[at] as number) + 1;
    }
    for (let c = 0; c < width; c++) {
      const value = resampledCentre(sorted, order, c * n, counts, n);
      bank[row * width + c] = (value - (centres[from + c] as number)) * unbias;
    }
  }
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
  const prepared = prepareAll(table, Math.min(mostBanked, resamples), prng);
  const centre = weigh(prepared, width);
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
  const normal = normals(prng);
  const multipliers = new Float64Array(prepared.processes);
  const draws = new Uint32Array(prepared.slot.length);
  const value = new Float64Array(length);
  const squares = new Float64Array(length);
  for (let r = 0; r < resamples; r++) {
    normal(multipliers);
    prng.fill(draws);
    draw(prepared, multipliers, draws, centre, drawn, width);
    statistic(view, value);
    for (let s = 0; s < length; s++) {
      const off = (value[s] as number) - (point[s] as number);
      squares[s] = (squares[s] as number) + off * off;
    }
  }
  const processes = Math.min(...table.problems.map((cells) => cells.length));
  return { point, se: squares.map((sum) => Math.sqrt(sum / resamples)), df: processes - 1 + priorDf, processes };
}

/** All cells, by problem, then process; processes are numbered so that one has the same multiplier at every size. */
function prepareAll(table: Table, rows: number, prng: Prng): Prepared {
  const cells = table.problems.flat();
  const width = 2 * table.arms.length;
  const ids = [...new Set(cells.map((cell) => cell.process))];
  const first = new Int32Array(table.problems.length + 1);
  for (const [i, list] of table.problems.entries()) first[i + 1] = (first[i] as number) + list.length;
  const prepared: Prepared = {
    first,
    slot: Int32Array.from(cells, (cell) => ids.indexOf(cell.process)),
    processes: ids.length,
    centres: new Float64Array(cells.length * width),
    bank: new Float64Array(cells.length * rows * width),
    rows,
  };
  for (const [index, cell] of cells.entries()) prepare(cell, table.arms.length, index, prepared, prng);
  return prepared;
}

/**
 * Gives back the mean over processes of every problem, and turns each process's centres into its share of a draw: deviations from the mean,
 * scaled so that normal multipliers give the unbiased variance of a mean; bank scaled to its weight (see above).
 */
function weigh({ first, centres, bank, rows }: Prepared, width: number): Float64Array {
  const problems = first.length - 1;
  const centre = new Float64Array(problems * width);
  for (let i = 0; i < problems; i++) {
    const [from, to] = [first[i] as number, first[i + 1] as number];
    const n = to - from;
    for (let cell = from; cell < to; cell++)
      for (let c = 0; c < width; c++)
        centre[i * width + c] = (centre[i * width + c] as number) + (centres[cell * width + c] as number) / n;
    const between = n > 1 ? Math.sqrt(1 / ((n - 1) * n)) : 0;
    const within = Math.sqrt(priorDf / (n - 1 + priorDf)) / n;
    for (let cell = from; cell < to; cell++)
      for (let c = 0; c < width; c++)
        centres[cell * width + c] =
          ((centres[cell * width + c] as number) - (centre[i * width + c] as number)) * between;
    for (let k = from * rows * width; k < to * rows * width; k++) bank[k] = (bank[k] as number) * within;
  }
  return centre;
}

/** One draw of all centres: the mean, and of every process its deviation times its multiplier and a row of its bank. */
function draw(
  { first, slot, centres, bank, rows }: Prepared,
  multipliers: Float64Array,
  draws: Uint32Array,
  centre: Float64Array,
  drawn: Float64Array,
  width: number,
): void {
  // A power of two, as nearly always: the remainder without a division, which would take longer than all the rest here.
  const mask = (rows & (rows - 1)) === 0 ? rows - 1 : 0;
  drawn.set(centre);
  const problems = first.length - 1;
  for (let i = 0; i < problems; i++) {
    const at = i * width;
    const to = first[i + 1] as number;
    for (let cell = first[i] as number; cell < to; cell++) {
      const g = multipliers[slot[cell] as number] as number;
      const from = cell * width;
      const drawnRow = mask === 0 ? ((draws[cell] as number) >>> 0) % rows : (draws[cell] as number) & mask;
      const row = (cell * rows + drawnRow) * width;
      for (let c = 0; c < width; c++)
        drawn[at + c] = (drawn[at + c] as number) + g * (centres[from + c] as number) + (bank[row + c] as number);
    }
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
