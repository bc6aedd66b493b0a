import { debugRequest, type PastFix, readFix } from '../agents/index.ts';
import { type Evaluation, isValidOutcome } from '../contract/index.ts';
import {
  type AgentContext,
  askWhole,
  badReply,
  built,
  linkedSource,
  type WriteInput,
  type Written,
  writeCandidate,
} from './attempt.ts';
import { pitfallsOf } from './history.ts';
import { labelOf, type State } from './measure.ts';
import type { Best, EvaluationRequest, LoopConfig, Version } from './ports.ts';

export interface RoundResult {
  readonly version: Version | null;
  readonly attempt: number;
  readonly evaluation: Evaluation | null;
  readonly outcomes: readonly string[];
  readonly reason: string;
}

/** Lines 5 to 18: up to 1 + D candidates, each mended from the one before. */
export async function attempts(
  config: LoopConfig,
  ctx: AgentContext,
  state: State,
  round: number,
  scheme: string,
  supplied: Version | null,
): Promise<RoundResult> {
  const outcomes: string[] = [];
  const fixes: PastFix[] = [];
  let version: Version | null = null;
  let evaluation: Evaluation | null = null;
  let replyProblem: string | null = null;
  let fix: string | null = null;
  let attempt = 0;
  for (; attempt <= config.run.debugAttempts; attempt++) {
    const base = state.withdrawn && version === null ? ({ base: 'origin' } as const) : {};
    await ctx.steps.event(`r${round}.a${attempt}.started`, { type: 'attempt-started', round, attempt, ...base });
    if (evaluation !== null && version !== null && replyProblem === null)
      fix = await diagnose(ctx, round, attempt, scheme, version, evaluation, fixes);
    const written: Written =
      attempt === 0 && supplied !== null
        ? await takeSupplied(ctx, round, supplied)
        : await write(ctx, state, { round, attempt, scheme, fix, replyProblem }, version);
    if (!written.ok) {
      replyProblem = written.reason;
      outcomes.push('bad-reply');
      continue;
    }
    replyProblem = null;
    const candidate: Version = written.version;
    version = candidate;
    evaluation = await evaluateCandidate(config, ctx, state, round, attempt, candidate);
    outcomes.push(evaluation.outcome);
    if (fix !== null) fixes.push({ attempt, fix, result: `${evaluation.outcome}: ${evaluation.reason}` });
    if (isValidOutcome(evaluation.outcome)) break;
    if (evaluation.outcome === 'compile-error')
      state.remarks.push(`${candidate.compileArgs.join(' ') || '(no options)'}: did not compile, ${evaluation.reason}`);
  }
  const reason =
    replyProblem !== null
      ? `The Coder's last reply could not be used: ${replyProblem}.`
      : (evaluation?.hint ?? evaluation?.reason ?? 'No candidate.');
  return { version, attempt, evaluation, outcomes, reason };
}

/** A candidate made from the one before it in its round, else from the best, which another machine may have made another. */
async function write(
  ctx: AgentContext,
  state: State,
  input: Pick<WriteInput, 'round' | 'attempt' | 'scheme' | 'fix' | 'replyProblem'>,
  before: Version | null,
): Promise<Written> {
  await ctx.checkMachine(`r${input.round}.a${input.attempt}.coder`);
  const base = before?.source ?? (state.best as Best).source;
  return writeCandidate(ctx, { ...input, base, remarks: state.remarks, pitfalls: pitfallsOf(state.history) });
}

async function takeSupplied(ctx: AgentContext, round: number, given: Version): Promise<Written> {
  const version: Version = { ...given, source: await linkedSource(ctx, `r${round}.a0.source`, given.source) };
  await ctx.steps.event(`r${round}.a0.source`, {
    type: 'source',
    round,
    attempt: 0,
    source: version.source,
    compileArgs: [...version.compileArgs],
  });
  return { ok: true, version };
}

/** Line 10. An unusable diagnosis leaves the evidence itself as the Coder's guide. */
async function diagnose(
  ctx: AgentContext,
  round: number,
  attempt: number,
  scheme: string,
  version: Version,
  evaluation: Evaluation,
  fixes: readonly PastFix[],
): Promise<string> {
  const position = `r${round}.a${attempt}.debug`;
  await ctx.checkMachine(position);
  const digest = evaluation.digest.trim() === '' ? evaluation.reason : evaluation.digest;
  const { request, dropped, cut } = built(
    debugRequest(
      ctx.prompts,
      {
        shared: ctx.shared,
        source: version.source,
        compileArgs: version.compileArgs,
        scheme,
        digest: `${evaluation.outcome}: ${digest}`,
        earlier: fixes,
      },
      ctx.budget,
    ),
  );
  if (dropped > 0)
    await ctx.steps.notice(position, 100, `The oldest ${dropped} fixes were left out of the Debug prompt for length.`);
  if (cut > 0)
    await ctx.steps.notice(position, 101, `${cut} characters were left out of the middle of the evidence for length.`);
  const reply = await askWhole(ctx, position, request, readFix);
  if (reply.kind === 'unusable') await badReply(ctx, { round, attempt, position }, 'debug', reply.reason);
  const fix =
    reply.kind === 'text'
      ? reply.text
      : reply.kind === 'truncated'
        ? reply.answer
        : `(no diagnosis was given) ${evaluation.outcome}: ${digest}`;
  await ctx.steps.event(`r${round}.a${attempt}.fix`, { type: 'fix', round, attempt, fix });
  return fix;
}

/** Line 7. */
async function evaluateCandidate(
  config: LoopConfig,
  ctx: AgentContext,
  state: State,
  round: number,
  attempt: number,
  version: Version,
): Promise<Evaluation> {
  const at = `r${round}.a${attempt}`;
  const position = `${at}.eval`;
  state.tried++;
  const request = (): EvaluationRequest => {
    const best = state.best as Best;
    return {
      label: labelOf(config, at),
      candidate: version,
      best: best.round === 0 ? null : { source: best.source, compileArgs: best.compileArgs },
      tried: state.tried,
      originNumerics: state.origin?.numerics,
    };
  };
  const evaluation = await ctx.steps.evaluate(position, request, () => ctx.checkMachine(position));
  await ctx.steps.event(`${at}.evaluated`, { type: 'evaluated', round, attempt, evaluation });
  return evaluation;
}
