import { deriveSeed } from '../../base/random.ts';
import type { PaperPlan, SessionResult } from '../../contract/index.ts';
import { startRunner } from './runner.ts';
import type { Scope } from './scope.ts';

type PaperResult = Extract<SessionResult, { mode: 'paper' }>;

export const emptyPaper = (): PaperResult => ({ mode: 'paper', rows: [], incidents: [] });

/** The protocol of the paper: warm-ups, then back-to-back calls with the same inputs between two events, one arm after the other. */
export async function paper(plan: PaperPlan, scope: Scope, out: PaperResult): Promise<void> {
  const runner = await startRunner(scope, plan);
  let where: { arm?: string; problem?: string } = {};
  try {
    for (const arm of plan.arms) {
      where = { arm: arm.id };
      await runner.load(arm);
    }
    for (const [i, problem] of plan.problems.entries()) {
      scope.ctx.progress(`paper ${i + 1}/${plan.problems.length} ${problem.id}`);
      await runner.problem(problem);
      for (const arm of plan.arms) {
        where = { arm: arm.id, problem: problem.id };
        await runner.prepare(deriveSeed(scope.ctx.seed, 'paper', problem.id), 'none');
        const totalMs = await runner.burst(arm.id, plan.warmups, plan.calls);
        out.rows.push({ problem: problem.id, arm: arm.id, totalMs, calls: plan.calls });
      }
    }
    await runner.quit();
  } catch (cause) {
    throw await runner.faultOf(cause, where);
  }
}
