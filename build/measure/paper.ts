/**
 * The paper's own protocol, named and apart from ours: 3 warm-ups, then 50 back-to-back calls with the same inputs between two events,
 * origin first, L2 as it comes. It is for comparison with published figures only: no verification, no interval, nothing is accepted by it.
 * Usage: node dist/paper.js ROOT --task dot_product [--dtype fp32] [--candidate FILE]; prints a markdown table.
 */
import { readFileSync } from 'node:fs';
import { newRootSeed } from '../../main/base/random.ts';
import {
  type Dtype,
  type JobBundle,
  type JobResult,
  type SessionStep,
  sizeText,
  unwrap,
} from '../../main/contract/index.ts';
import { type EvaluationInput, planEvaluation, scoredProblems } from '../../main/evaluate/plan.ts';
import { asCandidate, evaluationInput, execute, localExecutor, options, task } from './common.ts';

export const WARM_UPS = 3;
export const CALLS = 50;

/** The job: the builds of an evaluation of origin and candidate, then one session in the paper's mode over the scored sizes. */
export function paperBundle(input: EvaluationInput): JobBundle {
  const planned = unwrap(planEvaluation(input));
  const builds = planned.job.steps.filter((s) => s.kind === 'build');
  const timed = planned.job.steps.find((s): s is SessionStep => s.kind === 'session' && s.plan.mode === 'time');
  if (timed?.plan.mode !== 'time') throw new Error('no timing in the plan');
  const { runner, judge, shim, arms, problems } = timed.plan;
  const step: SessionStep = {
    kind: 'session',
    id: 'paper',
    needs: builds.map((b) => b.id),
    plan: { mode: 'paper', runner, judge, shim, arms, problems, warmups: WARM_UPS, calls: CALLS },
    limits: timed.limits,
  };
  return { ...planned, job: { ...planned.job, steps: [...builds, step] } };
}

/** Per problem: mean time of a call, ms, origin and candidate; P weighted as the paper does. Throws when the session did not run. */
export function paperTable(input: EvaluationInput, result: JobResult) {
  const session = result.steps.find((s) => s.id === 'paper')?.session;
  if (session?.mode !== 'paper')
    throw new Error(`no result: ${JSON.stringify(result.steps.map((s) => [s.id, s.status, s.reason]))}`);
  if (session.incidents.length > 0) throw new Error(session.incidents.map((i) => i.message).join('; '));
  const { problems, weights } = scoredProblems(input);
  const rows = problems.map((problem, i) => {
    const mean = (arm: string): number => {
      const row = session.rows.find((r) => r.problem === problem.id && r.arm === arm);
      if (!row) throw new Error(`no times of arm ${arm} at ${problem.id}`);
      return row.totalMs / row.calls;
    };
    return { problem, weight: weights[i] as number, originMs: mean('O'), candidateMs: mean('C') };
  });
  const total = rows.reduce((sum, r) => sum + r.weight, 0);
  const p = rows.reduce((sum, r) => sum + (r.weight / total) * (r.originMs / r.candidateMs), 0);
  return { rows, p };
}

if (import.meta.main) {
  const { root, option } = options();
  const dtype = option('dtype', 'fp32') as Dtype;
  const loaded = task(root, option('task', 'dot_product'));
  const file = option('candidate', '');
  const source = file === '' ? asCandidate(loaded, dtype) : readFileSync(file, 'utf8');
  const input = evaluationInput(loaded, dtype, source, `paper ${loaded.task.id}`);
  const { rows, p } = paperTable(
    input,
    await execute(await localExecutor(), paperBundle(input), newRootSeed(), `paper-${loaded.task.id}`),
  );
  console.log(
    `Paper's protocol (${WARM_UPS} warm-ups, ${CALLS} calls between two events), ${loaded.task.id} ${dtype}, ${file || 'origin against itself'}\n`,
  );
  console.log('| size | origin µs | candidate µs | ratio |\n|---|---|---|---|');
  for (const r of rows)
    console.log(
      `| ${sizeText(r.problem.dims)} | ${(r.originMs * 1000).toFixed(2)} | ${(r.candidateMs * 1000).toFixed(2)} | ${(r.originMs / r.candidateMs).toFixed(3)} |`,
    );
  console.log(`\nP = ${p.toFixed(3)} (no interval: this protocol gives none)`);
}
