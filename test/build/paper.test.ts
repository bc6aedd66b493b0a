import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CALLS, paperBundle, paperTable } from '../../build/measure/paper.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import { unwrap } from '../../main/contract/index.ts';
import type { EvaluationInput } from '../../main/evaluate/plan.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { testTools } from '../jobs/support.ts';

const root = join(import.meta.dirname, '../..');
const host = (name: string): string => readFileSync(join(root, 'test/candidates/host', name), 'utf8');

/** The whole job on the host runner: times mean nothing here, the counts and the weighting do. */
test("the paper's protocol runs as a named mode and gives a weighted ratio", async () => {
  setResourceRoot(root);
  const task = unwrap(loadTask(root, 'dot_product'));
  const sizes = { ...task.task.sizes, published: [{ N: 4096 }, { N: 65536 }] };
  const input: EvaluationInput = {
    task: { ...task, task: { ...task.task, sizes }, origin: { ...task.origin, fp32: host('origin.cpp') } },
    dtype: 'fp32',
    candidate: { source: host('honest.cpp'), compileArgs: [] },
    best: null,
    sizeSet: 'published',
    profile: 'none',
    arch: 'sm_90',
    tries: 1,
    planSeed: '5eed',
    variant: 'host',
    label: 'paper',
  };
  const cache = mkdtempSync(join(tmpdir(), 'cm-paper-'));
  try {
    const executor = new LocalExecutor(testTools(), { buildCacheDir: cache, lockDir: cache });
    const done = await executor.execute(paperBundle(input), { rootSeed: 'ab'.repeat(32), position: 'paper' });
    if (done.kind !== 'done') throw new Error('parked');
    const session = done.result.steps.find((s) => s.id === 'paper')?.session;
    expect(session?.mode === 'paper' && session.rows.map((r) => `${r.problem} ${r.arm} ${r.calls}`)).toEqual(
      ['published/0', 'published/1'].flatMap((p) => [`${p} O ${CALLS}`, `${p} C ${CALLS}`]),
    );
    const { rows, p } = paperTable(input, done.result);
    const ratios = rows.map((r) => r.originMs / r.candidateMs);
    expect(p).toBeCloseTo((ratios[0] as number) * (4096 / 69632) + (ratios[1] as number) * (65536 / 69632), 9);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}, 240_000);
