import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import type { Executor, JobBundle, JobResult } from '../../main/contract/index.ts';
import { resultFor, root } from '../app/lab.ts';

const page = readFileSync(join(root, 'test/fixtures/ncu/gemm_full_raw.csv'), 'utf8');

/** The page with other throughputs, in % of peak. */
export function pageWith(of: { compute: number; memory: number; dram: number }): string {
  const rows = parse(page.slice(page.indexOf('"ID"'))) as string[][];
  const at = (name: string): number => (rows[0] as string[]).indexOf(name);
  const put = (name: string, value: number): void => {
    if (at(name) < 0) throw new Error(`${name} is not in the page`);
    for (const row of rows.slice(2)) row[at(name)] = value.toFixed(2);
  };
  put('sm__throughput.avg.pct_of_peak_sustained_elapsed', of.compute);
  put('gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed', of.memory);
  put('gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed', of.dram);
  return `${rows.map((row) => row.map((cell) => `"${cell}"`).join(',')).join('\n')}\n`;
}

/** What a worker would have found, with a page of real ncu output in the place of every profile. */
export function benchResult(bundle: JobBundle, csv = page): JobResult {
  const result = resultFor(bundle);
  const steps = result.steps.map((step, at) => {
    const planned = bundle.job.steps[at];
    const beganAt = Date.UTC(2026, 10, 29, 12, 0, at);
    if (planned?.kind !== 'session') return { ...step, beganAt };
    const timing = { beganAt, gpuMs: 4 };
    if (planned.plan.mode !== 'profile') return { ...step, ...timing };
    const session = {
      mode: 'profile',
      ncuVersion: '2025.3.1',
      rawCsv: csv,
      sourceCsv: '',
      log: '',
      exitCode: 0,
      incidents: [],
    } as const;
    return { ...step, ...timing, status: 'ok' as const, reason: undefined, session: { ...session, incidents: [] } };
  });
  return { ...result, steps };
}

/** Answers jobs without a GPU. */
export const labExecutor: Executor = {
  name: 'local',
  execute: async (bundle) => ({ kind: 'done', result: benchResult(bundle) }),
};
