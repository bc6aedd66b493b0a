import { type ChatRequest, ok, type Result } from '../contract/index.ts';
import { type Budget, fitHistory } from './budget.ts';
import type { Shared } from './knowledge.ts';
import type { PromptSet } from './prompts.ts';
import { buildRequest, promptRoom } from './request.ts';
import { fenced } from './template.ts';

export interface CoderInput {
  readonly shared: Shared;
  readonly signature: string;
  /** The best version at first, the failing candidate when a fix is given. */
  readonly source: string;
  readonly scheme: string;
  /** The Debug agent's diagnosis of `source`; null at the first attempt. */
  readonly fix: string | null;
  /** Why the Coder's last reply could not be used; null when it could. */
  readonly replyProblem: string | null;
  /** How candidates of earlier rounds failed, one line each, oldest first. */
  readonly pitfalls: readonly string[];
}

function pitfallText(kept: readonly string[], dropped: number): string {
  if (kept.length === 0 && dropped === 0) return '';
  const lead = dropped > 0 ? [`(The oldest ${dropped} left out for length.)`] : [];
  return ['# How earlier candidates of this run failed', '', ...lead, ...kept.map((line) => `- ${line}`)].join('\n');
}

function fixText(input: CoderInput): string {
  const parts: string[] = [];
  if (input.fix !== null)
    parts.push(
      `# Fix to apply\n\nThe source above was written for this scheme and failed. Apply this diagnosis:\n\n${input.fix}`,
    );
  if (input.replyProblem !== null)
    parts.push(
      `# About your last answer\n\nIt could not be used: ${input.replyProblem}. Send the complete file this time.`,
    );
  return parts.join('\n\n');
}

/** The Coder's request. Its reply is read by readCode(). `dropped` = how many of the oldest failures did not fit. */
export function coderRequest(
  prompts: PromptSet,
  input: CoderInput,
  budget: Budget,
): Result<{ request: ChatRequest; dropped: number }> {
  const { task, gpu, rules, precision, notes } = input.shared;
  const fixed = {
    task,
    gpu,
    rules,
    precision,
    notes,
    code: fenced('cuda', input.source),
    scheme: input.scheme,
    fix: fixText(input),
    signature: fenced('cuda', input.signature),
  };
  const fitted = fitHistory(input.pitfalls, promptRoom('coder', budget), (kept, dropped) =>
    buildRequest('coder', prompts.agents.coder, { ...fixed, pitfalls: pitfallText(kept, dropped) }, budget),
  );
  return fitted.ok ? ok({ request: fitted.value.value.request, dropped: fitted.value.dropped }) : fitted;
}
