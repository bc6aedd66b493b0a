import type { ChatRequest, Result } from '../contract/index.ts';
import type { Budget } from './budget.ts';
import type { Shared } from './knowledge.ts';
import type { PromptSet } from './prompts.ts';
import { buildFixed } from './request.ts';
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

/** The Coder's request. Its reply is read by readCode(). */
export function coderRequest(prompts: PromptSet, input: CoderInput, budget: Budget): Result<ChatRequest> {
  const { task, gpu, rules, precision } = input.shared;
  return buildFixed(
    'coder',
    prompts.agents.coder,
    {
      task,
      gpu,
      rules,
      precision,
      code: fenced('cuda', input.source),
      scheme: input.scheme,
      fix: fixText(input),
      signature: fenced('cuda', input.signature),
    },
    budget,
  );
}
