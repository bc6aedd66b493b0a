import type { ChatRequest, Dtype, Result } from '../contract/index.ts';
import type { Budget } from './budget.ts';
import { allowedInWords } from './nvcc-arguments.ts';
import type { PromptSet } from './prompts.ts';
import { buildFixed } from './request.ts';
import { fenced } from './template.ts';

export interface CompilerInput {
  readonly source: string;
  readonly arch: string;
  /** Toolkit release, e.g. "13.0"; null = unknown. */
  readonly toolkit: string | null;
  readonly dtype: Dtype;
  /** Options that failed or were refused before, with the reason. */
  readonly remarks: readonly string[];
}

/** The Compiler's request. Its reply is read by readArguments(). */
export function compilerRequest(prompts: PromptSet, input: CompilerInput, budget: Budget): Result<ChatRequest> {
  return buildFixed(
    'compiler',
    prompts.agents.compiler,
    {
      toolkit: input.toolkit ?? '(release unknown)',
      arch: input.arch,
      accuracy:
        input.dtype === 'fp32'
          ? 'fp32 accuracy, checked against a double-precision reference.'
          : 'bf16 results from fp32 accumulation, checked against a double-precision reference.',
      allowed: allowedInWords(),
      remarks:
        input.remarks.length === 0
          ? ''
          : `From earlier in this run:\n\n${input.remarks.map((r) => `- ${r}`).join('\n')}`,
      code: fenced('cuda', input.source),
    },
    budget,
  );
}
