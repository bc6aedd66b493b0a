import type { ArmId, SampleSet } from '../contract/index.ts';

/**
 * Samples of one process at one size: a row per block, a column per arm: mean logarithm (of ns) of the arm's two calls in the block.
 * Logarithms, because noise of times is relative and speed-ups are ratios. A block counts only when every call of every arm is
 * valid: otherwise the order O B C · C B O no longer cancels drift between the arms.
 */
export interface Cell {
  readonly process: number;
  readonly blocks: number;
  /** Blocks dropped because a call was void. */
  readonly dropped: number;
  /** blocks × arms, row by row. */
  readonly logs: Float64Array;
}

/** For each problem its cells, one per process. */
export interface Table {
  readonly arms: readonly ArmId[];
  readonly problems: readonly (readonly Cell[])[];
}

function cellOf(set: SampleSet, arms: readonly ArmId[]): Cell {
  const columns = arms.map((arm) => set.arms[arm] ?? []);
  const rows: number[] = [];
  let blocks = 0;
  // A count beyond the calls that are there would be hours of nothing.
  const there = Math.min(set.blocks, Math.floor(Math.max(0, ...columns.map((column) => column.length)) / 2));
  for (let block = 0; block < there; block++) {
    const row = columns.map((column) => {
      const first = column[2 * block];
      const second = column[2 * block + 1];
      if (typeof first !== 'number' || typeof second !== 'number' || !(first > 0) || !(second > 0)) return Number.NaN;
      return (Math.log(first) + Math.log(second)) / 2;
    });
    if (row.every(Number.isFinite)) {
      rows.push(...row);
      blocks++;
    }
  }
  return { process: set.process, blocks, dropped: set.blocks - blocks, logs: Float64Array.from(rows) };
}

export interface TableOptions {
  readonly kind: SampleSet['kind'];
  readonly quantity: SampleSet['quantity'];
  readonly arms: readonly ArmId[];
  readonly problems: number;
  /** A process with fewer valid blocks at a size is left out there. */
  readonly minBlocks: number;
}

/** Sorts samples into cells. Processes with too few valid blocks at a size are missing there, never filled in. */
export function tableOf(samples: readonly SampleSet[], options: TableOptions): Table {
  const problems: Cell[][] = Array.from({ length: options.problems }, () => []);
  for (const set of samples) {
    if (set.kind !== options.kind || set.quantity !== options.quantity) continue;
    const cells = problems[set.problem];
    // The same process twice would pass for two that agree, and narrow the interval.
    if (cells === undefined || cells.some(({ process }) => process === set.process)) continue;
    const cell = cellOf(set, options.arms);
    if (cell.blocks >= options.minBlocks) cells.push(cell);
  }
  for (const cells of problems) cells.sort((a, b) => a.process - b.process);
  return { arms: options.arms, problems };
}
