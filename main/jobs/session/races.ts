import { deferred } from '../../base/deferred.ts';
import { deriveSeed } from '../../base/random.ts';
import type { Comparison, Problem, SanitizePlan, SanitizeResult } from '../../contract/index.ts';
import { comparisonPassed } from '../verified.ts';
import { CandidateFault } from './classify.ts';
import { DumpBudget, dumpOutputs, judgeDump, outputBytes } from './dumps.ts';
import { type Judge, startJudge } from './judge.ts';
import { bufferBytes } from './problem-text.ts';
import { type Runner, startRunner } from './runner.ts';
import { type Scope, Stopped } from './scope.ts';
import { failOnCudaError } from './verify.ts';

type Race = NonNullable<SanitizeResult['races']>[number];
type Load = Race['load'];

/** Back-to-back calls that a process beside the candidate's makes at a time. */
const BURST = 50;

const bytesOf = (problem: Problem): number => problem.buffers.reduce((sum, b) => sum + bufferBytes(b), 0);

/** The largest problems: the most blocks that can get in each other's way. */
const largestFirst = (problems: readonly Problem[]): Problem[] => [...problems].sort((a, b) => bytesOf(b) - bytesOf(a));

/**
 * Races between blocks, which racecheck does not see: the same sizes again and again, each call compared whole with the reference, alone
 * and beside another process that keeps the GPU busy with short or with long calls, so that blocks come in other orders.
 */
export async function repeatUnderLoad(plan: SanitizePlan, scope: Scope, out: SanitizeResult): Promise<void> {
  const { races } = plan;
  const [large, second] = largestFirst(plan.problems);
  const small = largestFirst(plan.problems).findLast((p) => bytesOf(p) > 0);
  if (races === undefined || large === undefined || small === undefined) return;
  const judge = await startJudge(scope, plan);
  const found: Race[] = [];
  out.races = found;
  const runner = await startRunner(scope, plan);
  const where = { arm: plan.arm.id, problem: large.id };
  try {
    await runner.load(plan.arm);
    for (const [load, beside] of [
      ['alone', null],
      ['short calls', small],
      ['long calls', large],
    ] as const) {
      scope.ctx.progress(`repeat ${load}`);
      const stop = beside === null ? null : await keepBusy(plan, scope, beside);
      if (beside !== null && stop === null) continue;
      try {
        for (const problem of second === undefined ? [large] : [large, second]) {
          where.problem = problem.id;
          found.push(await repeat({ plan, scope, judge, runner, load, calls: races.calls }, problem));
        }
      } finally {
        await stop?.();
      }
    }
    await runner.quit();
    await judge.quit();
  } catch (cause) {
    const fault = await runner.faultOf(cause, where);
    await judge.quit().catch(() => undefined);
    if (!(fault instanceof CandidateFault)) throw fault;
    out.incidents.push(fault.incident);
  }
}

interface Room {
  readonly plan: SanitizePlan;
  readonly scope: Scope;
  readonly judge: Judge;
  readonly runner: Runner;
  readonly load: Load;
  readonly calls: number;
}

async function repeat(room: Room, problem: Problem): Promise<Race> {
  const { plan, scope, judge, runner, load, calls } = room;
  const budget = new DumpBudget(scope.ctx.limits.memoryMiB);
  const compared: Comparison[][] = [];
  await runner.problem(problem);
  for (let i = 0; i < calls; i++) {
    const seed = deriveSeed(scope.ctx.seed, 'races', load, problem.id, i);
    await runner.prepare(seed, 'none');
    failOnCudaError(await runner.call(plan.arm.id, 'plain'), { arm: plan.arm.id, problem: problem.id });
    await budget.take(outputBytes(problem));
    const dumped = await dumpOutputs(scope, runner, problem, seed);
    judge.throwIfFailed();
    judge.later(
      judgeDump(scope, judge, budget, dumped).then((outputs) => {
        compared.push(outputs);
      }),
    );
  }
  await judge.drain();
  const wrong = compared.filter((outputs) => outputs.some((o) => !comparisonPassed(o, problem)));
  return { problem: problem.id, load, calls: compared.length, wrong: wrong.length, outputs: wrong[0] ?? [] };
}

/**
 * A process of its own that calls the candidate without pause until it is stopped. It only makes load: what goes wrong in it is not
 * looked at. null = it could not be started (a GPU that takes one process at a time).
 */
async function keepBusy(plan: SanitizePlan, scope: Scope, problem: Problem): Promise<(() => Promise<void>) | null> {
  let runner: Runner;
  try {
    runner = await startRunner(scope, plan);
  } catch (cause) {
    if (cause instanceof Stopped) throw cause;
    return null;
  }
  let going = true;
  const begun = deferred<void>();
  const busy = (async () => {
    await runner.load(plan.arm);
    await runner.problem(problem);
    await runner.prepare(deriveSeed(scope.ctx.seed, 'load', problem.id), 'none');
    while (going) {
      const burst = runner.burst(plan.arm.id, 0, BURST);
      begun.resolve();
      await burst;
    }
  })().catch(() => undefined);
  // Calls as short as a launch would be over before there is anything beside them.
  await Promise.race([begun.promise, busy]);
  return async () => {
    going = false;
    await busy;
    await runner.end();
  };
}
