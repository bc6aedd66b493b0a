import { type ChatRequest, type Dtype, ok, type Result } from '../contract/index.ts';
import { type Budget, fitHistory } from './budget.ts';
import { allowedInWords } from './nvcc-arguments.ts';
import type { PromptSet } from './prompts.ts';
import { buildRequest, promptRoom } from './request.ts';
import { fenced } from './template.ts';

export interface CompilerInput {
  readonly source: string;
  readonly arch: string;
  /** Toolkit release, e.g. "13.0"; null = unknown. */
  readonly toolkit: string | null;
  readonly dtype: Dtype;
  /** Options that failed or were refused before, with the reason. */
  readonly remarks: readonly string[];
  /** Section with the user's notes and constraints; '' = none. */
  readonly notes: string;
}

function remarkText(kept: readonly string[], dropped: number): string {
  if (kept.length === 0 && dropped === 0) return '';
  const lead = dropped > 0 ? [`(The oldest ${dropped} left out for length.)`] : [];
  return `From earlier in this run:\n\n${[...lead, ...kept.map((r) => `- ${r}`)].join('\n')}`;
}

/** The Compiler's request. Its reply is read by readArguments(). `dropped` = how many of the oldest remarks did not fit. */
export function compilerRequest(
  prompts: PromptSet,
  input: CompilerInput,
  budget: Budget,
): Result<{ request: ChatRequest; dropped: number }> {
  const fixed = {
    toolkit: input.toolkit ?? '(release unknown)',
    arch: input.arch,
    accuracy:
      input.dtype === 'fp32'
        ? 'fp32 accuracy, checked against a double-precision reference.'
        : 'bf16 results from fp32 accumulation, checked against a double-precision reference.',
    allowed: allowedInWords(),
    notes: input.notes,
    code: fenced('cuda', input.source),
  };
  const fitted = fitHistory(input.remarks, promptRoom('compiler', budget), (kept, dropped) =>
    buildRequest('compiler', prompts.agents.compiler, { ...fixed, remarks: remarkText(kept, dropped) }, budget),
  );
  return fitted.ok ? ok({ request: fitted.value.value.request, dropped: fitted.value.dropped }) : fitted;
}
