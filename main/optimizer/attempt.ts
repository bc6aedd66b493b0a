import {
  type Budget,
  coderRequest,
  compilerRequest,
  continuationRequest,
  defaultArguments,
  joinContinuation,
  type PromptSet,
  readArguments,
  readCode,
  type Shared,
  type TaskBrief,
} from '../agents/index.ts';
import type { AgentName, ChatRequest, Result } from '../contract/index.ts';
import type { Version } from './ports.ts';
import type { Steps } from './steps.ts';
import { failed } from './stop.ts';

export interface AgentContext {
  readonly steps: Steps;
  readonly prompts: PromptSet;
  readonly budget: Budget;
  readonly brief: TaskBrief;
  /** These three tell of the machine, and change with it (`checkMachine`). */
  readonly shared: Shared;
  readonly arch: string;
  readonly toolkit: string | null;
  /** `Evaluator.linked`. */
  readonly linked: (source: string) => string | null;
  /**
   * Before the external step at `position`: on another machine than before, origin and best are measured again first, and prompts tell
   * of this one. true: they were.
   */
  readonly checkMachine: (position: string) => Promise<boolean>;
}

/** A wrapper that lacks nothing but `extern "C"` gets it, and that is told: a round is too dear for two words. */
export async function linkedSource(ctx: AgentContext, position: string, source: string): Promise<string> {
  const mended = ctx.linked(source);
  if (mended === null) return source;
  await ctx.steps.notice(position, 103, externCAdded);
  return mended;
}

export const externCAdded = 'extern "C" was added to the wrapper; it was all that its declaration lacked.';

/** A prompt that cannot be built stops the run: no model could answer it. */
export function built<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  throw failed(result.error);
}

type Parsed = { readonly kind: string };

/**
 * Asks, and asks once for the rest if the answer was cut (`<position>.more`). `parse` sees the whole text; what is still cut
 * afterwards comes back as truncated.
 */
export async function askWhole<P extends Parsed>(
  ctx: AgentContext,
  position: string,
  request: ChatRequest,
  parse: (text: string, finish: 'stop' | 'length' | 'other') => P | { kind: 'truncated'; answer: string },
): Promise<P | { kind: 'truncated'; answer: string }> {
  const reply = await ctx.steps.chat(position, request);
  const first = parse(reply.text, reply.finish);
  if (first.kind !== 'truncated' || !('answer' in first)) return first;
  const rest = continuationRequest(request, first.answer, ctx.prompts.continuation, ctx.budget);
  if (rest === null) return first;
  const more = await ctx.steps.chat(`${position}.more`, rest);
  const whole = joinContinuation(first.answer, more.text);
  return parse(whole, more.finish);
}

export async function badReply(
  ctx: AgentContext,
  at: { round: number; attempt: number; position: string },
  agent: AgentName,
  reason: string,
): Promise<void> {
  const { round, attempt, position } = at;
  await ctx.steps.event(`${position}.bad-reply`, { type: 'bad-reply', round, attempt, agent, reason });
}

export interface WriteInput {
  readonly round: number;
  readonly attempt: number;
  readonly base: string;
  readonly scheme: string;
  readonly fix: string | null;
  readonly replyProblem: string | null;
  /** What the Compiler should know of earlier attempts. */
  readonly remarks: string[];
  /** How candidates of earlier rounds failed. */
  readonly pitfalls: readonly string[];
}

/** A candidate, or why there is none. */
export type Written =
  | { readonly ok: true; readonly version: Version }
  | { readonly ok: false; readonly reason: string };

const leftOut = (ctx: AgentContext, position: string, what: string, agent: string): Promise<void> =>
  ctx.steps.notice(position, 102, `${what} were left out of the ${agent}'s prompt for length.`);

/** Coder, then Compiler: a candidate, or why the Coder's reply could not be used. */
export async function writeCandidate(ctx: AgentContext, input: WriteInput): Promise<Written> {
  const at = `r${input.round}.a${input.attempt}`;
  const { request, dropped } = built(
    coderRequest(
      ctx.prompts,
      {
        shared: ctx.shared,
        signature: ctx.brief.signature,
        source: input.base,
        scheme: input.scheme,
        fix: input.fix,
        replyProblem: input.replyProblem,
        pitfalls: input.pitfalls,
      },
      ctx.budget,
    ),
  );
  if (dropped > 0) await leftOut(ctx, `${at}.coder`, `The oldest ${dropped} failures`, 'Coder');
  const code = await askWhole(ctx, `${at}.coder`, request, (text, finish) => readCode(text, finish, ctx.brief.wrapper));
  if (code.kind !== 'code') {
    const reason = code.kind === 'unusable' ? code.reason : 'the reply was cut off, and its continuation too';
    await badReply(ctx, { round: input.round, attempt: input.attempt, position: `${at}.coder` }, 'coder', reason);
    return { ok: false, reason };
  }
  const source = await linkedSource(ctx, `${at}.coder`, code.source);
  const compileArgs = await chooseArguments(ctx, `${at}.compiler`, source, input.remarks);
  await ctx.steps.event(`${at}.source`, {
    type: 'source',
    round: input.round,
    attempt: input.attempt,
    source,
    compileArgs: [...compileArgs],
  });
  return { ok: true, version: { source, compileArgs } };
}

/** Options are a matter of taste, not of validity: a reply without any is replaced by the defaults, and said. */
async function chooseArguments(
  ctx: AgentContext,
  position: string,
  source: string,
  remarks: string[],
): Promise<readonly string[]> {
  await ctx.checkMachine(position);
  const { request, dropped } = built(
    compilerRequest(
      ctx.prompts,
      { source, arch: ctx.arch, toolkit: ctx.toolkit, dtype: ctx.brief.dtype, remarks, notes: ctx.shared.notes },
      ctx.budget,
    ),
  );
  if (dropped > 0) await leftOut(ctx, position, `The oldest ${dropped} remarks`, 'Compiler');
  const reply = await ctx.steps.chat(position, request);
  const choice = readArguments(reply.text, reply.finish);
  if (choice.kind !== 'arguments') {
    const reason = choice.kind === 'unusable' ? choice.reason : 'the reply was cut off';
    await ctx.steps.notice(
      position,
      100,
      `No compiler options taken from the reply (${reason}); ${defaultArguments.join(' ')} used.`,
    );
    return defaultArguments;
  }
  if (choice.refused.length > 0) {
    const named = choice.refused.map((r) => `${r.argument}: ${r.why}`);
    await ctx.steps.notice(position, 101, `Compiler options refused: ${named.join('; ')}.`);
    for (const line of named) if (!remarks.includes(`refused: ${line}`)) remarks.push(`refused: ${line}`);
  }
  return choice.arguments;
}
