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
/** Draws made together: so few that they stay in the processor's nearest cache beside the bank of one process. */
const batch = 64;

/** Statistic of a whole set of centres: fills `out` (logarithms of ratios or of times). */
export type Statistic = (centres: Centres, out: Float64Array) => void;

/** Centres of every arm at every size, log ns. `relative` ones share the drift of their block and serve for ratios only. */
export interface Centres {
  readonly relative: (problem: number, arm: number) => number;
  readonly absolute: (problem: number, arm: number) => number;
  /** The same as a table, for statistics that are computed ten thousand times: arm `a` at problem `p`, relative, is `values[from + p * width + a]`. */
  readonly values: Float64Array;
  readonly from: number;
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
  /** cells × pairs of columns × rows × 2: a draw goes through a pair at a time, whose rows all fit the processor's nearest cache. */
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

/** Which blocks a resample drew: `counts[b]` becomes how often block b was, n times in all. */
function drawBlocks(prng: Prng, draws: Uint32Array, counts: Uint16Array): void {
  const n = counts.length;
  counts.fill(0);
  prng.fill(draws);
  for (let draw = 0; draw < n; draw++) {
    const at = (((draws[draw] as number) * n) / 4294967296) | 0;
    counts[at] = (counts[at] as number) + 1;
  }
}

/** Fills in the centres and the bank of one cell: block resamples, whole rows, so that pairs stay together. */
function prepare(cell: Cell, arms: number, index: number, to: Prepared, prng: Prng): void {
  const n = cell.blocks;
  const width = 2 * arms;
  const { centres, bank, rows } = to;
  const order = new Uint16Array(width * n);
  const sorted = new Float64Array(width * n);
  const own = centres.subarray(index * width, (index + 1) * width);
  for (const [c, column] of columnsOf(cell, arms).entries()) {
    const its = ascending(column);
    order.set(its, c * n);
    for (let k = 0; k < n; k++) sorted[c * n + k] = column[its[k] as number] as number;
    own[c] = interquartileMean(column, its, null, n);
  }
  const middle = Float64Array.from({ length: n + 1 }, (_, seen) => Math.min(Math.max(seen, n / 4), n - n / 4));
  const counts = new Uint16Array(n);
  const draws = new Uint32Array(n);
  const resampled = new Float64Array(width);
  const unbias = n > 1 ? Math.sqrt(n / (n - 1)) : 1;
  for (let row = 0; row < rows; row++) {
    drawBlocks(prng, draws, counts);
    resampledCentres(sorted, order, counts, middle, resampled);
    for (let c = 0; c < width; c++) {
      const at = ((index * width + c) >> 1) * rows + row;
      bank[2 * at + (c & 1)] = ((resampled[c] as number) - (own[c] as number)) * unbias;
    }
  }
}

/**
 * Interquartile means of resampled columns into `out`: `interquartileMean` with the same operations in the same order, but without a branch that
 * depends on the data, and two columns at a time. `sorted` holds the n values of each column ascending, `order` their blocks; `counts`: how
 * often each block was drawn. The weight of a value is what its draws add to the middle half, `middle[after] - middle[before]`, where
 * `middle[seen]` is the number of draws so far held between a quarter and three quarters of all: outside of them it adds zero.
 */
function resampledCentres(
  sorted: Float64Array,
  order: Uint16Array,
  counts: Uint16Array,
  middle: Float64Array,
  out: Float64Array,
): void {
  const n = counts.length;
  const first = middle[0] as number;
  const half = (middle[n] as number) - first;
  for (let c = 0; c < out.length; c += 2) {
    const a = c * n;
    const b = a + n;
    let seenA = 0;
    let seenB = 0;
    let beforeA = first;
    let beforeB = first;
    let sumA = 0;
    let sumB = 0;
    for (let k = 0; k < n; k++) {
      seenA += counts[order[a + k] as number] as number;
      seenB += counts[order[b + k] as number] as number;
      const afterA = middle[seenA] as number;
      const afterB = middle[seenB] as number;
      sumA += (sorted[a + k] as number) * (afterA - beforeA);
      sumB += (sorted[b + k] as number) * (afterB - beforeB);
      beforeA = afterA;
      beforeB = afterB;
    }
    out[c] = sumA / half;
    out[c + 1] = sumB / half;
  }
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
  const stride = centre.length;
  const drawn = new Float64Array(batch * stride);
  drawn.set(centre);
  const view: { -readonly [K in keyof Centres]: Centres[K] } = {
    relative: (problem, arm) => drawn[view.from + problem * width + arm] as number,
    absolute: (problem, arm) => drawn[view.from + problem * width + arms + arm] as number,
    values: drawn,
    from: 0,
    width,
    absoluteAt: arms,
  };
  const point = new Float64Array(length);
  statistic(view, point);
  const draws: Draws = {
    multipliers: new Float64Array(batch * prepared.processes),
    rows: new Uint32Array(batch * prepared.slot.length),
  };
  const value = new Float64Array(length);
  const squares = new Float64Array(length);
  for (let done = 0; done < resamples; done += batch) {
    const count = Math.min(batch, resamples - done);
    numbers(prepared, draws, count, prng);
    draw(prepared, draws, count, centre, drawn, width);
    for (let r = 0; r < count; r++) {
      view.from = r * stride;
      statistic(view, value);
      for (let s = 0; s < length; s++) {
        const off = (value[s] as number) - (point[s] as number);
        squares[s] = (squares[s] as number) + off * off;
      }
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

/** Random numbers of a batch: per draw one normal multiplier per process and one number per cell, which picks the row of its bank. */
interface Draws {
  readonly multipliers: Float64Array;
  readonly rows: Uint32Array;
}

/** Fills in the numbers of `count` draws, in the order of the generator: a draw's multipliers, then its rows. */
function numbers({ slot, processes, rows }: Prepared, draws: Draws, count: number, prng: Prng): void {
  const cells = slot.length;
  for (let r = 0; r < count; r++) {
    prng.normals(draws.multipliers, r * processes, (r + 1) * processes);
    prng.fill(draws.rows, r * cells, (r + 1) * cells);
  }
  // A power of two, as nearly always: the remainder without a division, which would take longer than all the rest.
  const powerOfTwo = (rows & (rows - 1)) === 0;
  for (let k = 0; k < count * cells; k++) {
    const number = draws.rows[k] as number;
    draws.rows[k] = powerOfTwo ? number & (rows - 1) : number % rows;
  }
}

/** `count` draws of all centres: the mean, and of every process its deviation times its multiplier and a row of its bank. */
function draw(
  prepared: Prepared,
  draws: Draws,
  count: number,
  centre: Float64Array,
  drawn: Float64Array,
  width: number,
): void {
  const { first } = prepared;
  for (let r = 0; r < count; r++) drawn.set(centre, r * centre.length);
  for (let i = 0; i < first.length - 1; i++)
    for (let c = 0; c < width; c += 2) {
      const to = first[i + 1] as number;
      let cell = first[i] as number;
      const at = { from: i * width + c, stride: centre.length, column: c, width };
      for (; cell + 3 <= to; cell += 3) addThree(prepared, draws, count, cell, drawn, at);
      for (; cell < to; cell++) addOne(prepared, draws, count, cell, drawn, at);
    }
}

/** Where a pair of columns of a problem stands: in a batch from `from` on, a draw every `stride`; in a cell at `column` of `width`. */
interface Place {
  readonly from: number;
  readonly stride: number;
  readonly column: number;
  readonly width: number;
}

/** Adds the shares of one process to a pair of columns. */
function addOne(prepared: Prepared, draws: Draws, count: number, cell: number, drawn: Float64Array, at: Place): void {
  const { slot, processes, centres, bank, rows } = prepared;
  const { multipliers, rows: picked } = draws;
  const { stride, column, width } = at;
  const c = cell * width + column;
  const [a, b] = [centres[c] as number, centres[c + 1] as number];
  const of = slot[cell] as number;
  for (let r = 0, to = at.from; r < count; r++, to += stride) {
    const g = multipliers[r * processes + of] as number;
    const row = c * rows + 2 * (picked[r * slot.length + cell] as number);
    drawn[to] = (drawn[to] as number) + g * a + (bank[row] as number);
    drawn[to + 1] = (drawn[to + 1] as number) + g * b + (bank[row + 1] as number);
  }
}

/** The same for three processes, one after the other: three is the usual number, and the sums stay in registers meanwhile. */
function addThree(prepared: Prepared, draws: Draws, count: number, cell: number, drawn: Float64Array, at: Place): void {
  const { slot, processes, centres, bank, rows } = prepared;
  const { multipliers, rows: picked } = draws;
  const { stride, column, width } = at;
  const cells = slot.length;
  const [c0, c1, c2] = [cell * width + column, (cell + 1) * width + column, (cell + 2) * width + column];
  const [a0, a1, a2] = [centres[c0] as number, centres[c1] as number, centres[c2] as number];
  const [b0, b1, b2] = [centres[c0 + 1] as number, centres[c1 + 1] as number, centres[c2 + 1] as number];
  const [of0, of1, of2] = [slot[cell] as number, slot[cell + 1] as number, slot[cell + 2] as number];
  for (let r = 0, to = at.from; r < count; r++, to += stride) {
    const g0 = multipliers[r * processes + of0] as number;
    const g1 = multipliers[r * processes + of1] as number;
    const g2 = multipliers[r * processes + of2] as number;
    const row0 = c0 * rows + 2 * (picked[r * cells + cell] as number);
    const row1 = c1 * rows + 2 * (picked[r * cells + cell + 1] as number);
    const row2 = c2 * rows + 2 * (picked[r * cells + cell + 2] as number);
    drawn[to] =
      (drawn[to] as number) +
      g0 * a0 +
      (bank[row0] as number) +
      g1 * a1 +
      (bank[row1] as number) +
      g2 * a2 +
      (bank[row2] as number);
    drawn[to + 1] =
      (drawn[to + 1] as number) +
      g0 * b0 +
      (bank[row0 + 1] as number) +
      g1 * b1 +
      (bank[row1 + 1] as number) +
      g2 * b2 +
      (bank[row2 + 1] as number);
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
