import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setResourceRoot } from '../../main/base/paths.ts';
import { type Evaluation, unwrap } from '../../main/contract/index.ts';
import { interpretEvaluation } from '../../main/evaluate/interpret.ts';
import { type EvaluationInput, planEvaluation, type Version } from '../../main/evaluate/plan.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { testTools } from '../jobs/support.ts';

/**
 * Whole evaluations without a GPU: the planned job is built with the host compiler and run by the real executor, broker, runner and
 * judge on host memory; what comes back is interpreted. Times mean nothing here and are not looked at.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const host = (name: string): string => readFileSync(join(root, 'test/candidates/host', name), 'utf8');
const expected = JSON.parse(host('index.json')) as { file: string; task: string; expect: string[] }[];

let cache: string;
let executor: LocalExecutor;
beforeAll(() => {
  setResourceRoot(root);
  cache = mkdtempSync(join(tmpdir(), 'cm-evaluate-'));
  executor = new LocalExecutor(testTools(), { buildCacheDir: cache, lockDir: cache });
});
afterAll(() => {
  if (existsSync(cache)) rmSync(cache, { recursive: true, force: true });
});

async function evaluate(
  candidate: Version | null,
  label: string,
  own: { category?: 'user'; reference?: string } = {},
): Promise<Evaluation> {
  const shipped = unwrap(loadTask(root, 'dot_product'));
  const task = {
    ...shipped,
    reference: own.reference ?? shipped.reference,
    task: { ...shipped.task, category: own.category ?? shipped.task.category },
  };
  // One small size: the host's copy of a large one would take minutes.
  const sizes = { ...task.task.sizes, published: [{ N: 4096 }, { N: 65536 }] };
  const input: EvaluationInput = {
    task: { ...task, task: { ...task.task, sizes }, origin: { ...task.origin, fp32: host('origin.cpp') } },
    dtype: 'fp32',
    candidate,
    best: null,
    sizeSet: 'published',
    profile: 'none',
    arch: 'sm_90',
    tries: 1,
    planSeed: '5eed',
    variant: 'host',
    label,
  };
  const bundle = unwrap(planEvaluation(input));
  const done = await executor.execute(bundle, { rootSeed: 'ab'.repeat(32), position: label });
  if (done.kind !== 'done') throw new Error('parked');
  return interpretEvaluation(input, bundle, done.result);
}

// The first one builds the harness: under load minutes, not the minute that a test has.
describe('evaluations on the host runner', { timeout: 300_000 }, () => {
  test('baseline: origin verified and timed', async () => {
    const e = await evaluate(null, 'r0.baseline');
    expect(e.outcome, e.reason).toBe('valid');
    expect(e.figures?.phase).toBe('baseline');
    expect(e.figures?.sizes.map((s) => s.originSpanNs?.value ?? 0).every((ns) => ns > 0)).toBe(true);
    expect(e.error?.maxUlp).not.toBeNull();
  });

  test('an honest candidate is verified and measured', async () => {
    const e = await evaluate({ source: host('honest.cpp'), compileArgs: ['-O3'] }, 'r1.a0');
    expect(e.verified, `${e.outcome}: ${e.reason}\n${e.digest}`).toBe(true);
    expect(['accepted', 'not-faster', 'trade-off'], e.reason).toContain(e.outcome);
    expect(e.figures?.sizes).toHaveLength(2);
  });

  test('a compile error comes back with the compiler’s words and no path', async () => {
    const e = await evaluate(
      { source: 'extern "C" void dot_product_optimized(float* l) { *l = nowhere; }', compileArgs: [] },
      'r1.a1',
    );
    expect(e.outcome).toBe('compile-error');
    expect(e.digest).toMatch(/nowhere.* was not declared/);
    expect(e.digest).not.toContain(tmpdir());
    expect(e.machine?.containment).toBeDefined();
  });

  const cheats = expected.filter(
    (c) => c.task === 'dot_product' && !c.expect.includes('valid') && !/infinite_loop/.test(c.file),
  );
  test.each(cheats.map((c) => [c.file.replace('host/', ''), c.expect] as const))('%s', async (file, outcomes) => {
    const e = await evaluate({ source: host(file), compileArgs: [] }, `r2.${file}`);
    expect(outcomes, `${e.outcome}: ${e.reason}`).toContain(e.outcome);
    expect(e.verified).toBe(false);
    expect(e.figures).toBeNull();
    expect(e.digest.length).toBeGreaterThan(20);
  });

  describe('a task of the user’s own', () => {
    const reference = (): string => readFileSync(join(root, 'kernels/mskernelbench/dot_product/reference.h'), 'utf8');

    test('is proven by its own reference, without a sight of the machine', async () => {
      const secret = join(cache, 'secret');
      writeFileSync(secret, 'nobody in a sandbox reads this');
      const curious = `#include <cstdlib>
#include <fstream>
static const bool seen = std::ifstream("${secret}").good() ? (std::abort(), true) : false;
${reference()}`;
      const e = await evaluate(null, 'own.baseline', { category: 'user', reference: curious });
      expect(e.outcome, e.reason).toBe('valid');
      // Without the category that says whose it is, the same reference would have seen the file: the check can fail.
      const open = await evaluate(null, 'own.open', { reference: curious });
      expect(open.outcome).toBe('environment');
    });

    test('whose reference does not compile is told so, as no fault of a candidate', async () => {
      const unfinished = `#error "write what element i is"\n${reference()}`;
      const own = { category: 'user', reference: unfinished } as const;
      const e = await evaluate({ source: host('honest.cpp'), compileArgs: ['-O3'] }, 'own.unfinished', own);
      expect(e.outcome).toBe('environment');
      expect(e.reason).toMatch(/^reference\.h of the task does not compile: .*write what element i is/);
      const outside = `#include "${join(cache, 'secret')}"\n${reference()}`;
      const blind = await evaluate(null, 'own.include', { category: 'user', reference: outside });
      expect(blind.outcome).toBe('environment');
      expect(blind.reason).toMatch(/No such file/);
    });
  });
});
