import type { Comparison, Problem, SessionResult, VerifyPlan, VerifyResult } from '../contract/index.ts';
import { outputsOf } from './session/problem-text.ts';

/**
 * Whether a comparison passed: no element over its limit, nothing non-finite, and the RMS of error over limit within the output's
 * bound. Written so that NaN fails. A comparison of nothing passes only where the buffer is empty; an output without limits never.
 */
export function comparisonPassed(comparison: Comparison, problem: Problem | undefined): boolean {
  const index = problem?.buffers.findIndex((buffer) => buffer.name === comparison.output) ?? -1;
  const limit = problem?.limits.find((entry) => entry.buffer === index);
  if (comparison.bad !== 0 || comparison.nonFinite !== 0) return false;
  if (comparison.compared === 0) return problem?.buffers[index]?.count === 0;
  if (limit === undefined) return false;
  // Exact outputs: bad counts alone. No RMS: every reference value is infinite or NaN, and each was met.
  if (limit.uOut === 0 || comparison.rms === null) return true;
  return comparison.rms <= (comparison.rmsLimit ?? limit.rms);
}

/** Every problem checked with every seed, every output of it compared, every comparison passed, no incident. */
export function verifiedClean(plan: VerifyPlan, result: VerifyResult): boolean {
  if (result.incidents.length > 0) return false;
  return plan.problems.every((problem) => {
    const checks = result.checks.filter((check) => check.problem === problem.id);
    return (
      checks.length >= plan.seeds &&
      checks.every(
        (check) =>
          check.outputs.length === outputsOf(problem).length &&
          check.outputs.every((c) => comparisonPassed(c, problem)),
      )
    );
  });
}

/** The same for the result of any session step; false for sessions that are no verification. */
export const sessionVerified = (plan: { readonly mode: string }, result: SessionResult | undefined): boolean =>
  plan.mode === 'verify' && result?.mode === 'verify' && verifiedClean(plan as VerifyPlan, result);
