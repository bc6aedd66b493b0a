/** Small reports of benches with figures that can be worked out by hand. */
import type { ComparedEntry, ComparedProfile, ComparedReport, ComparedRow } from '../../main/bench/compare.ts';
import type { Estimate, Machine } from '../../main/contract/index.ts';
import { machine } from '../app/lab.ts';

/** `value` with an interval of a factor `factor` to either side. */
export const figure = (value: number, factor = 1.1, level = 0.95): Estimate => ({
  value,
  lo: value / factor,
  hi: value * factor,
  level,
});

export const row = (n: number, figures: Partial<ComparedRow>, size: number = 1024 << n): ComparedRow => ({
  problem: `published/${n}`,
  dims: { N: size },
  originSpanNs: null,
  originWrapperNs: null,
  librarySpanNs: null,
  librarySpeedup: null,
  candidateSpanNs: null,
  speedup: null,
  ...figures,
});

let jobs = 0;

/** An entry of a job of its own: no two have taken equally long. */
export const entry = (task: string, rows: readonly ComparedRow[], more: Partial<ComparedEntry> = {}): ComparedEntry => {
  const { sizes = 'published', dtype = 'fp32' } = more;
  return {
    cell: `${sizes}.${task}.${dtype}`,
    task,
    dtype,
    sizes,
    candidate: null,
    outcome: 'valid',
    reason: `origin verified and timed at ${rows.length} sizes`,
    jobWallMs: ++jobs,
    rows,
    library: null,
    ...more,
  };
};

export const profile = (task: string, more: Partial<ComparedProfile> = {}): ComparedProfile => ({
  cell: `profile.${task}.fp32.origin`,
  task,
  dtype: 'fp32',
  version: 'origin',
  sizes: 'large',
  bottleneck: 'compute',
  launchBound: false,
  why: 'SM 80.0 %, memory 20.0 %, DRAM 10.0 %',
  ...more,
});

export const report = (
  bench: string,
  entries: readonly ComparedEntry[],
  more: Partial<ComparedReport> & { readonly on?: Partial<Machine> } = {},
): ComparedReport => {
  const { on, ...own } = more;
  return {
    bench,
    createdAt: '2026-11-29T12:00:00.000Z',
    programVersion: '0.1.0',
    config: {
      stages: ['published', 'profile'],
      profileSizes: 'large',
      library: true,
      arch: 'native',
      executor: 'local',
      candidates: 'none',
    },
    cells: { all: entries.length, measured: entries.length },
    outdated: [],
    machines: [{ machine: { ...machine, ...on }, cells: entries.length }],
    clocks: { sm: [1980, 1980], memory: [3201, 3201] },
    missing: [],
    entries,
    profiles: [],
    ...own,
  };
};

/** As it would lie in a bench's folder. */
export const reportText = (own: ComparedReport): string =>
  JSON.stringify({ format: 'cudamaster-bench-report', version: 1, ...own });
