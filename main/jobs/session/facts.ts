import { deriveSeed } from '../../base/random.ts';
import type { FactsPlan, FactsResult, Problem } from '../../contract/index.ts';
import type { CallReply } from './replies.ts';
import { type Flush, type Runner, startRunner } from './runner.ts';
import type { Scope } from './scope.ts';
import { smallestStep } from './time-estimate.ts';
import { failOnCudaError } from './verify.ts';

type FactQuantity = FactsResult['rows'][number]['quantity'];

const flushes: readonly Flush[] = ['none', 'read', 'write'];
/** Calls before each row that are not noted. */
const WARM_UPS = 3;

export const emptyFacts = (): FactsResult => ({ mode: 'facts', gpu: null, rows: [], timerStepNs: 0, incidents: [] });

/** Raw times of one arm for every way of flushing L2: events and wrapper time without activity recording, then spans with it, as they come and behind the gate. */
export async function facts(plan: FactsPlan, scope: Scope, out: FactsResult): Promise<void> {
  const runner = await startRunner(scope, plan);
  out.gpu = runner.gpu;
  let where = { arm: plan.arm.id as string, problem: undefined as string | undefined };
  let step: number | null = null;
  const note = (seen: number | null): void => {
    if (seen !== null && (step === null || seen < step)) step = seen;
  };
  try {
    await runner.load(plan.arm);
    for (const quantities of [
      ['event', 'wrapper'],
      ['span', 'gated'],
    ] as const) {
      if (quantities[0] === 'span') note(await runner.cupti(true));
      for (const [i, problem] of plan.problems.entries()) {
        scope.ctx.progress(`facts ${quantities.join('+')} ${i + 1}/${plan.problems.length} ${problem.id}`);
        where = { arm: plan.arm.id, problem: problem.id };
        await runner.problem(problem);
        for (const flush of flushes)
          for (const quantity of quantities) await row(plan, scope, runner, problem, flush, quantity, out);
      }
    }
    note(await runner.cupti(false));
    await runner.quit();
  } catch (cause) {
    throw await runner.faultOf(cause, where);
  } finally {
    const spans = out.rows.filter((r) => r.quantity === 'span').flatMap((r) => r.ns);
    out.timerStepNs = smallestStep(spans) ?? step ?? 0;
  }
}

async function row(
  plan: FactsPlan,
  scope: Scope,
  runner: Runner,
  problem: Problem,
  flush: Flush,
  quantity: FactQuantity,
  out: FactsResult,
): Promise<void> {
  const ns: number[] = [];
  for (let i = 0; i < WARM_UPS + plan.calls; i++) {
    const prepared = runner.prepare(deriveSeed(scope.ctx.seed, 'facts', problem.id, flush, quantity, i), flush);
    const called = runner.call(plan.arm.id, quantity);
    await prepared;
    const reply = await called;
    failOnCudaError(reply, { arm: plan.arm.id, problem: problem.id });
    const value = timeOf(reply, quantity);
    if (i >= WARM_UPS && value !== null) ns.push(value);
  }
  out.rows.push({ problem: problem.id, flush, quantity, ns });
}

const timeOf = (reply: CallReply, quantity: FactQuantity): number | null =>
  quantity === 'span' || quantity === 'gated' ? reply.spanNs : quantity === 'wrapper' ? reply.wrapperNs : reply.eventNs;
