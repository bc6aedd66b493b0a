import type { z } from 'zod';
import type { SessionPlan, SessionResult, stepStatusSchema } from '../../contract/index.ts';
import type { SessionContext } from '../context.ts';
import { CandidateFault, EnvironmentFault, type Reason } from './classify.ts';
import { emptyFacts, facts } from './facts.ts';
import { emptyPaper, paper } from './paper.ts';
import { emptyProfile, profile } from './profile.ts';
import { startRunner } from './runner.ts';
import { emptySanitize, sanitize } from './sanitize.ts';
import { Scope, Stopped } from './scope.ts';
import { emptyTime, nominate, time } from './time.ts';
import { emptyVerify, verify } from './verify.ts';

export { centreOf, estimateR } from './time-estimate.ts';

export interface SessionOutcome {
  /** ok: there is a result, whatever the candidate did; environment: the machine failed; timeout: the session's own limit; killed: cancelled. */
  readonly status: z.infer<typeof stepStatusSchema>;
  readonly reason?: { readonly code: string; readonly message: string; readonly remedy?: string };
  /** Raw findings; partial unless the status is ok. */
  readonly result?: SessionResult;
}

/**
 * Runs one session: drives runner and judge as the plan says and gives back what they found. Never rejects because of anything a candidate or
 * the machine does: a candidate's crash, hang or lie is an incident in the result, a fault of the machine is status `environment`.
 * All processes, sockets and dump files are gone when it resolves.
 */
export async function runSession(plan: SessionPlan, ctx: SessionContext): Promise<SessionOutcome> {
  const scope = new Scope(ctx);
  const result = emptyResult(plan);
  try {
    const reason = await drive(plan, scope, result);
    if (reason) return { status: 'environment', reason, result };
    if (result.mode === 'time' && plan.mode === 'time') nominate(plan, result);
    return { status: 'ok', result };
  } catch (cause) {
    const stopped = cause instanceof Stopped ? cause.why : scope.stopped;
    if (stopped) return { ...stoppedOutcome(stopped, ctx), result };
    throw cause;
  } finally {
    await scope.close();
  }
}

/** Runs the mode; turns faults into incidents or a reason. After a hang it makes sure that the GPU still answers. */
async function drive(plan: SessionPlan, scope: Scope, result: SessionResult): Promise<Reason | null> {
  try {
    await runMode(plan, scope, result);
  } catch (cause) {
    if (scope.stopped) throw new Stopped(scope.stopped);
    if (cause instanceof EnvironmentFault) return cause.reason;
    if (!(cause instanceof CandidateFault)) throw cause;
    result.incidents.push(cause.incident);
  }
  if (!scope.gpuInDoubt) return null;
  try {
    const runner = await startRunner(scope, plan);
    await runner.quit();
    return null;
  } catch (cause) {
    if (!(cause instanceof EnvironmentFault)) throw cause;
    return {
      code: 'env.gpu-lost',
      message: `After a call that hung the GPU does not answer any more. ${cause.reason.message}`,
      remedy: 'Look into the kernel log for Xid messages; reset the GPU or restart the machine.',
    };
  }
}

function emptyResult(plan: SessionPlan): SessionResult {
  switch (plan.mode) {
    case 'verify':
      return emptyVerify();
    case 'time':
      return emptyTime(plan);
    case 'profile':
      return emptyProfile();
    case 'sanitize':
      return emptySanitize();
    case 'facts':
      return emptyFacts();
    case 'paper':
      return emptyPaper();
  }
}

async function runMode(plan: SessionPlan, scope: Scope, result: SessionResult): Promise<void> {
  if (plan.mode === 'verify' && result.mode === 'verify') await verify(plan, scope, result);
  else if (plan.mode === 'time' && result.mode === 'time') await time(plan, scope, result);
  else if (plan.mode === 'profile' && result.mode === 'profile') await profile(plan, scope, result);
  else if (plan.mode === 'sanitize' && result.mode === 'sanitize') await sanitize(plan, scope, result);
  else if (plan.mode === 'facts' && result.mode === 'facts') await facts(plan, scope, result);
  else if (plan.mode === 'paper' && result.mode === 'paper') await paper(plan, scope, result);
}

function stoppedOutcome(why: Stopped['why'], ctx: SessionContext): Pick<SessionOutcome, 'status' | 'reason'> {
  if (why === 'cancelled') return { status: 'killed', reason: { code: 'cancelled', message: 'Cancelled.' } };
  return {
    status: 'timeout',
    reason: {
      code: 'limit.time',
      message: `The session did not end within ${Math.round(ctx.limits.wallMs / 1000)} s.`,
      remedy: 'Use fewer or smaller sizes, or raise the limit.',
    },
  };
}
