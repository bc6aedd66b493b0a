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
  /** The Debug agent's diagnosis, or why the last reply could not be used. */
  readonly fix: { readonly kind: 'debug' | 'reply'; readonly text: string } | null;
}

function fixText(fix: CoderInput['fix']): string {
  if (fix === null) return '';
  if (fix.kind === 'debug')
    return `# Fix to apply\n\nThe source above was written for this scheme and failed. Apply this diagnosis:\n\n${fix.text}`;
  return `# About your last answer\n\nIt could not be used: ${fix.text}. Send the complete file this time.`;
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
      fix: fixText(input.fix),
      signature: fenced('cuda', input.signature),
    },
    budget,
  );
}
