import type { Bottleneck, Dtype, Estimate, SizeSet } from '../contract/index.ts';
import type { Classes, Entry } from './report.ts';

/**
 * What the paper on MSKernelBench states, for the tables that set our figures beside it. Measured by its authors on one RTX 4090 with
 * their own protocol (3 warm-ups, 50 calls back to back): the same quantities, not the same experiment.
 */
export const PAPER = {
  gpu: 'RTX 4090',
  tasks: 50,
  classes: { compute: 11, 'memory-bandwidth': 15, 'memory-latency': 24 } satisfies Record<Bottleneck, number>,
  /** Speed-ups over the origin at the largest size: of a known implementation, and of the paper's best version. */
  micro: [
    { task: 'spmv_csr', baseline: 'cuSPARSE', theirs: 2.7, best: 3.19 },
    { task: 'conv_2d', baseline: 'cuDNN', theirs: 0.97, best: 1.77 },
    { task: 'dot_product', baseline: 'cuBLAS', theirs: 26.09, best: 46.83 },
    { task: 'rms_norm', baseline: 'Astra', theirs: 1.78, best: 2.44 },
    { task: 'silu_and_mul', baseline: 'Astra', theirs: 3.58, best: 3.67 },
    { task: 'merge_attn_states', baseline: 'Astra', theirs: 1.05, best: 1.42 },
  ],
} as const;

/** Tasks per bottleneck class beside the paper's. */
export interface ClassRow extends Classes {
  /** Profiled kernels of the row. */
  readonly all: number;
}

/** One of the paper's six comparisons, as far as this bench has it. */
export interface MicroRow {
  readonly task: string;
  /** null: the bench has no figures of the task. */
  readonly dtype: Dtype | null;
  readonly sizes: SizeSet | null;
  readonly paper: { readonly baseline: string; readonly theirs: number; readonly best: number };
  /** Name of our library arm; null: the task has none. */
  readonly library: string | null;
  /** Library over origin at the largest size. */
  readonly ratio: Estimate | null;
  /** Our candidate over origin at the largest size. */
  readonly candidate: Estimate | null;
  /** The largest size, where the ratios stand; null: no figures of it. */
  readonly at: Readonly<Record<string, number>> | null;
  /** The machine that measured it: its place in `machines` of the report. */
  readonly machine: number | null;
  /** Why there is no ratio; '' where there is one. */
  readonly why: string;
}

/** A row per entry of the six tasks; a task that the bench left out has one that says so. Empty when it holds none of the six. */
export function microRows(entries: readonly Entry[]): MicroRow[] {
  const rows = PAPER.micro.flatMap(({ task, ...paper }): MicroRow[] => {
    const own = entries.filter((e) => e.task === task);
    if (own.length > 0) return own.map((e) => microRow(e, paper));
    const none = { library: null, ratio: null, candidate: null, at: null, machine: null };
    return [{ task, dtype: null, sizes: null, paper, ...none, why: 'no figures in this bench' }];
  });
  return rows.some(({ dtype }) => dtype !== null) ? rows : [];
}

function microRow(e: Entry, paper: MicroRow['paper']): MicroRow {
  // Sizes stand in the task's order, the largest last.
  const last = e.rows.at(-1) ?? null;
  const ratio = last?.librarySpeedup ?? null;
  return {
    task: e.task,
    dtype: e.dtype,
    sizes: e.sizes,
    paper,
    library: e.library?.title ?? null,
    ratio,
    candidate: last?.speedup ?? null,
    at: last?.dims ?? null,
    machine: e.machine,
    why: ratio === null ? whyNone(e, paper.baseline) : '',
  };
}

function whyNone(e: Entry, baseline: string): string {
  if (e.library !== null) return `${e.library.status}${e.library.reason === '' ? '' : `: ${e.library.reason}`}`;
  return baseline === 'Astra' ? 'Astra’s kernels are not shipped' : 'no library was measured';
}

/** Counts of our profiles, with their sum. */
export const classRows = (classes: readonly Classes[]): ClassRow[] =>
  classes.map((c) => ({ ...c, all: Object.values(c.counts).reduce((sum, count) => sum + count, 0) }));
