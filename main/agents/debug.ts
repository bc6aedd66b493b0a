import { type ChatRequest, ok, type Result } from '../contract/index.ts';
import { type Budget, fitHistory } from './budget.ts';
import type { Shared } from './knowledge.ts';
import type { PromptSet } from './prompts.ts';
import { buildRequest, promptRoom } from './request.ts';
import { fenced } from './template.ts';
import { readText, type TextReply } from './text-reply.ts';

export interface PastFix {
  readonly attempt: number;
  readonly fix: string;
  /** What came of it, one line. */
  readonly result: string;
}

export interface DebugInput {
  readonly shared: Shared;
  readonly source: string;
  readonly compileArgs: readonly string[];
  readonly scheme: string;
  readonly digest: string;
  /** Fixes of this round that did not help, oldest first. */
  readonly earlier: readonly PastFix[];
}

const longestDigest = 12_000;

/** The middle of a long digest goes: the first error and the last lines carry most. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.floor(limit * 0.7);
  const tail = limit - head;
  return `${text.slice(0, head)}\n(… ${text.length - limit} characters left out …)\n${text.slice(-tail)}`;
}

function earlierText(kept: readonly PastFix[], dropped: number): string {
  if (kept.length === 0 && dropped === 0) return '';
  const lead = dropped > 0 ? [`(The oldest ${dropped} left out for length.)`] : [];
  const items = kept.map((f) => `Attempt ${f.attempt}: ${f.fix}\nResult: ${f.result}`);
  return ['# Fixes already tried in this round', ...lead, ...items].join('\n\n');
}

/** The Debug agent's request. `dropped` = how many of the oldest fixes did not fit, `cut` = characters left out of the digest. */
export function debugRequest(
  prompts: PromptSet,
  input: DebugInput,
  budget: Budget,
): Result<{ request: ChatRequest; dropped: number; cut: number }> {
  const { task, gpu, rules, precision, notes } = input.shared;
  const fixed = {
    task,
    gpu,
    rules,
    precision,
    notes,
    scheme: input.scheme,
    arguments: input.compileArgs.join(' ') || '(no options)',
    code: fenced('cuda', input.source),
    digest: fenced('text', cutMiddle(input.digest, longestDigest)),
  };
  const fitted = fitHistory(input.earlier, promptRoom('debug', budget), (kept, dropped) =>
    buildRequest('debug', prompts.agents.debug, { ...fixed, earlier: earlierText(kept, dropped) }, budget),
  );
  if (!fitted.ok) return fitted;
  const cut = Math.max(0, input.digest.length - longestDigest);
  return ok({ request: fitted.value.value.request, dropped: fitted.value.dropped, cut });
}

export const readFix = (text: string, finish: 'stop' | 'length' | 'other'): TextReply => readText(text, finish);
