import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bestOf, goalLine, measureVersion, profileBundle, reportLines } from '../../build/measure/profile-modes.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { unwrap } from '../../main/contract/index.ts';
import { interpretProfileOnly } from '../../main/evaluate/interpret.ts';
import type { EvaluationInput } from '../../main/evaluate/plan.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { testTools } from '../jobs/support.ts';
import { COUNTS, fakeNcu, type World } from '../session/ncu-world.ts';

const root = join(import.meta.dirname, '../..');
const host = (name: string): string => readFileSync(join(root, 'test/candidates/host', name), 'utf8');

let folder: string;
beforeAll(() => {
  setResourceRoot(root);
  folder = mkdtempSync(join(tmpdir(), 'cm-modes-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const input = (): EvaluationInput => {
  const loaded = unwrap(loadTask(root, 'dot_product'));
  const sizes = { ...loaded.task.sizes, published: [{ N: 4096 }, { N: 65536 }] };
  return {
    task: { ...loaded, task: { ...loaded.task, sizes }, origin: { ...loaded.origin, fp32: host('origin.cpp') } },
    dtype: 'fp32',
    candidate: { source: host('honest.cpp'), compileArgs: ['-O3'] },
    best: null,
    sizeSet: 'published',
    profile: 'filtered',
    arch: 'sm_90',
    tries: 1,
    planSeed: '5eed',
    variant: 'host',
    label: 'modes',
  };
};

/** The real executor with a fake ncu; builds are made once for all tests of this file. */
function executorWith(world: World | null): LocalExecutor {
  const at = mkdtempSync(join(folder, 'ncu-'));
  const found = testTools();
  const ncu = world === null ? null : fakeNcu({ path: at }, world);
  const tools = { ...found, bwrap: null, ncu, machine: { ...found.machine, ncu: world && '2025.3.1' } };
  return new LocalExecutor(tools, { buildCacheDir: join(folder, 'cache'), lockDir: folder });
}

/** The host runner reports one activity per call, of this name. */
const CALL = { kernel: 'host_call', more: COUNTS };

/** The whole path without a GPU: plan, builds, real executor, broker and host runner under a fake ncu, interpretation, report. */
test('both modes of a version are collected, compared and reported', async () => {
  const version = await measureVersion(executorWith({ launches: [CALL] }), input(), false, 1);
  expect(version).toMatchObject({ status: 'complete', fullStatus: 'complete', class: 'compute', launches: 1 });
  expect(version.stages.map((s) => s.stage)).toEqual(['verdict', 'evidence']);
  expect(version.fullStages.map((s) => s.stage)).toEqual(['full']);
  expect(version.wallMs.twoStage).toBeGreaterThan(0);
  expect(version.wallRatio).toBeCloseTo(version.wallMs.twoStage / version.wallMs.full, 9);
  expect(version.tokensRatio).toBeGreaterThan(0);
  expect(version.tokensRatio).toBeLessThan(0.15);
  expect(version.lines[0]).toMatchObject({ line: 7 });
  // There is no GPU whose peaks could be measured: said, not guessed.
  expect(version.roofline?.peaks).toEqual({ bytesPerS: null, flopsPerS: {} });
  expect(version.roofline?.points[0]).toMatchObject({
    pipe: 'fp32',
    ceiling: { available: false, reason: expect.stringContaining('was not measured') },
  });
  expect(version.stored.twoStageBytes).toBeLessThan(100_000);
  const text = reportLines([{ task: 'dot_product', dtype: 'fp32', origin: version, best: version }]).join('\n');
  expect(text).toMatch(/all versions together: goal <= 0\.5, measured \d+\.\d{3}, (met|missed)/);
  expect(text).toMatch(/worst version: goal <= 0\.15, measured 0\.\d{3}, met/);
}, 240_000);

/** Plan, job and interpretation of a profile on the host runner. */
async function profileOn(world: World | null, wallMs?: number) {
  const planned = profileBundle(input(), true);
  const steps = planned.job.steps.map((step) =>
    step.id === 'profile' && wallMs !== undefined ? { ...step, limits: { ...step.limits, wallMs } } : step,
  );
  const bundle = { ...planned, job: { ...planned.job, steps } };
  const done = await executorWith(world).execute(bundle, { rootSeed: 'ab'.repeat(32), position: 'p' });
  if (done.kind !== 'done') throw new Error('parked');
  const timed = done.result.steps.find((s) => s.id === 'time-confirm')?.session;
  const time =
    timed?.mode === 'time' ? { ...timed, activities: timed.activities.map((a) => ({ ...a, problem: 1 })) } : null;
  const status = done.result.steps.find((s) => s.id === 'profile')?.status;
  return { status, profile: interpretProfileOnly(input(), bundle, done.result, time) };
}

describe('faults of ncu on the host runner', () => {
  test.each([
    [
      'no permission',
      {
        log: '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.',
      },
      /may not read the GPU performance counters/,
      /NVreg_RestrictProfilingToAdminUsers=0/,
    ],
    ['an empty report', { log: '==WARNING== No kernels were profiled.' }, /saw no kernel/, /Timing still holds/],
    [
      'another version',
      { log: '==ERROR== Cuda driver is not compatible with Nsight Compute.' },
      /does not fit/,
      /doctor/,
    ],
  ])(
    '%s: unavailable, with the remedy',
    async (_name, run, reason, remedy) => {
      const { status, profile } = await profileOn({ launches: [CALL], runs: [{ ...run, exit: 0 }] });
      expect(status).toBe('environment');
      expect(profile).toMatchObject({ status: 'unavailable', verdict: null, launches: [] });
      expect(profile.reason).toMatch(reason);
      expect(profile.remedy).toMatch(remedy);
    },
    120_000,
  );

  test('no ncu at all', async () => {
    const { profile } = await profileOn(null);
    expect(profile).toMatchObject({ status: 'unavailable', reason: expect.stringContaining('was not found') });
    expect(profile.remedy).toContain('Timing works without');
  }, 120_000);

  test('a profiler that never ends is ended', async () => {
    const { status, profile } = await profileOn({ launches: [CALL], runs: [{ hangs: true }] }, 4_000);
    expect(['timeout', 'environment']).toContain(status);
    expect(profile.status).toBe('unavailable');
    expect(profile.reason).toBeTruthy();
  }, 120_000);

  test('launches that CUPTI did not see: incomplete, without a verdict', async () => {
    const { profile } = await profileOn({ launches: [CALL, { kernel: 'other_kernel(int)' }] });
    expect(profile).toMatchObject({ status: 'incomplete', verdict: { bottleneck: null }, filtered: [] });
    expect(profile.reason).toBe('ncu profiled 1 launches of other_kernel, CUPTI saw 0 per timed call');
    expect(profile.launches).toHaveLength(2);
  }, 120_000);
});

test('what was not measured is neither met nor missed', () => {
  expect(goalLine('x', 0.4, 0.5)).toBe('x: goal <= 0.5, measured 0.400, met');
  expect(goalLine('x', 0.6, 0.5)).toBe('x: goal <= 0.5, measured 0.600, missed');
  expect(goalLine('x', null, 0.5)).toBe('x: goal <= 0.5, measured nothing, not measured');
  expect(goalLine('x', Number.NaN, 0.5)).toContain('not measured');
});

test.each([
  ['dot_product', 'fp32', 3],
  ['softmax', 'bf16', 3],
  ['spmv_csr', 'fp32', 1],
] as const)('the best version of %s %s is read from its recording', (id, dtype, round) => {
  const best = bestOf(
    root,
    { task: id, dtype, best: { recording: `test/recordings/${id}-${dtype}.json`, round } },
    unwrap(loadTask(root, id)),
  );
  expect(best.source).toContain('_kernel_optimized');
  expect(best.compileArgs).toContain('-O3');
});
