import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bestOf, goalLine, measureVersion, reportLines } from '../../build/measure/profile-modes.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { unwrap } from '../../main/contract/index.ts';
import type { EvaluationInput } from '../../main/evaluate/plan.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { testTools } from '../jobs/support.ts';
import { COUNTS, fakeNcu } from '../session/ncu-world.ts';

const root = join(import.meta.dirname, '../..');
const host = (name: string): string => readFileSync(join(root, 'test/candidates/host', name), 'utf8');

let folder: string;
beforeAll(() => {
  setResourceRoot(root);
  folder = mkdtempSync(join(tmpdir(), 'cm-modes-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The whole path without a GPU: plan, builds, real executor, broker and host runner under a fake ncu, interpretation, report. */
test('both modes of a version are collected, compared and reported', async () => {
  const loaded = unwrap(loadTask(root, 'dot_product'));
  const sizes = { ...loaded.task.sizes, published: [{ N: 4096 }, { N: 65536 }] };
  const input: EvaluationInput = {
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
  // The host runner reports one activity per call, of this name.
  const ncu = fakeNcu({ path: folder }, { launches: [{ kernel: 'host_call', more: COUNTS }] });
  const found = testTools();
  const tools = { ...found, bwrap: null, ncu, machine: { ...found.machine, ncu: '2025.3.1' } };
  const executor = new LocalExecutor(tools, { buildCacheDir: join(folder, 'cache'), lockDir: folder });
  const version = await measureVersion(executor, input, false, 1);
  expect(version).toMatchObject({ status: 'complete', fullStatus: 'complete', class: 'compute', launches: 1 });
  expect(version.stages.map((s) => s.stage)).toEqual(['verdict', 'evidence']);
  expect(version.fullStages.map((s) => s.stage)).toEqual(['full']);
  expect(version.wallMs.twoStage).toBeGreaterThan(0);
  expect(version.wallRatio).toBeCloseTo(version.wallMs.twoStage / version.wallMs.full, 9);
  expect(version.tokenRatio).toBeGreaterThan(0);
  expect(version.tokenRatio).toBeLessThan(0.15);
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
