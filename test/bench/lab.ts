import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Executor, JobBundle, JobResult } from '../../main/contract/index.ts';
import { resultFor, root } from '../app/lab.ts';

const page = readFileSync(join(root, 'test/fixtures/ncu/gemm_full_raw.csv'), 'utf8');

/** What a worker would have found, with a page of real ncu output in the place of every profile. */
export function benchResult(bundle: JobBundle): JobResult {
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
      rawCsv: page,
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
