/**
 * Timing facts that settle the open choices of the timing method: does a span behind the gate differ from one without where it should
 * not, how much do launch gaps and the way of emptying L2 disturb short, middle and long calls.
 * Usage: node dist/timing-facts.js ROOT [--calls 60]; prints a markdown table (docs/results/timing-facts-*.md).
 */
import { newRootSeed } from '../../main/base/random.ts';
import {
  type FactsResult,
  type JobBundle,
  type SessionStep,
  type Size,
  sizeText,
  unwrap,
} from '../../main/contract/index.ts';
import { planEvaluation } from '../../main/evaluate/plan.ts';
import { resolveProblem } from '../../main/evaluate/task/index.ts';
import { evaluationInput, execute, localExecutor, options, task } from './common.ts';

const { root, option } = options();
const calls = Number(option('calls', '60'));
const executor = await localExecutor();

const subjects: { task: string; what: string; sizes: Size[] }[] = [
  {
    task: 'spmv_csr',
    what: 'one kernel',
    sizes: [
      { rows: 1024, cols: 2048, nnz: 20_971 },
      { rows: 32_768, cols: 2048, nnz: 671_088 },
      { rows: 1 << 20, cols: 2048, nnz: 20 << 20 },
    ],
  },
  { task: 'dot_product', what: 'set + kernel', sizes: [{ N: 1024 }, { N: 65_536 }, { N: 1 << 20 }] },
  { task: 'matrix_transpose', what: 'one kernel', sizes: [1024, 4096, 16_384].map((n) => ({ M: n, N: n })) },
];

const quantile = (sorted: readonly number[], p: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] as number;

console.log(
  '| task | size | call | L2 | quantity | calls | p5 µs | median µs | p95 µs |\n|---|---|---|---|---|---|---|---|---|',
);
for (const subject of subjects) {
  const result = await facts(subject.task, subject.sizes);
  for (const row of result.rows) {
    const ns = row.ns.toSorted((a, b) => a - b);
    if (ns.length === 0) continue;
    const size = subject.sizes[Number(row.problem.split('/')[1])] as Size;
    const cells = [0.05, 0.5, 0.95].map((p) => (quantile(ns, p) / 1000).toFixed(2));
    console.log(
      `| ${subject.task} | ${sizeText(size)} | ${subject.what} | ${row.flush} | ${row.quantity} | ${ns.length} | ${cells.join(' | ')} |`,
    );
  }
  console.log(
    `<!-- ${subject.task}: ${result.gpu?.name}, timer step ${result.timerStepNs} ns, incidents ${result.incidents.length} -->`,
  );
}

async function facts(id: string, sizes: readonly Size[]): Promise<FactsResult> {
  const loaded = task(root, id);
  const planned = unwrap(planEvaluation(evaluationInput(loaded, 'fp32', null, `facts ${id}`)));
  const builds = planned.job.steps.filter((s) => s.kind === 'build');
  const verify = planned.job.steps.find((s): s is SessionStep => s.kind === 'session' && s.plan.mode === 'verify');
  if (verify?.plan.mode !== 'verify') throw new Error('no verification in the plan');
  const { runner, judge, shim, arm } = verify.plan;
  const problems = sizes.map((size, i) => resolveProblem(loaded.task, 'fp32', size, `facts/${i}`));
  const step: SessionStep = {
    kind: 'session',
    id: 'facts',
    needs: builds.map((b) => b.id),
    plan: { mode: 'facts', runner, judge, shim, arm, problems, calls },
    limits: verify.limits,
  };
  const bundle: JobBundle = { ...planned, job: { ...planned.job, steps: [...builds, step] } };
  const result = await execute(executor, bundle, newRootSeed(), `facts-${id}`);
  const session = result.steps.find((s) => s.id === 'facts')?.session;
  if (session?.mode !== 'facts')
    throw new Error(`no facts: ${JSON.stringify(result.steps.map((s) => [s.id, s.status, s.reason]))}`);
  return session;
}
