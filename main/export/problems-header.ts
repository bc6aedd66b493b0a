import { type Dtype, type Problem, sizeText, type Task } from '../contract/index.ts';
import { candidateName, originName } from '../evaluate/task/index.ts';
import { problemText } from '../jobs/session/problem-text.ts';

/** A C string literal. Question marks are escaped for the sake of trigraphs. */
const literal = (text: string): string => JSON.stringify(text).replaceAll('?', '\\?');

const entry = (problem: Problem): string => {
  const text = `problem 0000000000000000 ${problemText(problem, 'guarded')}`;
  const verify = problem.id.startsWith('verify/');
  const lines = text.split('\n').map((line) => `     ${literal(`${line}\n`)}`);
  return `    {${literal(problem.id)}, ${literal(sizeText(problem.dims))}, ${verify},\n${lines.join('\n')}},`;
};

export interface ProblemsInput {
  readonly task: Task;
  readonly dtype: Dtype;
  readonly problems: readonly Problem[];
  /** Whether there is an optimized version beside the origin. */
  readonly optimized: boolean;
  /** 16 hex digits from which the contents are drawn. */
  readonly seed: string;
}

/** `problems.h`: sizes, inputs and limits of the task as the judge gets them, in the judge's own notation. Pure. */
export function problemsHeader({ task, dtype, problems, optimized, seed }: ProblemsInput): string {
  return `// Generated from task.json: sizes, kinds of input and error limits (the notation that harness/problem.h reads).
#pragma once

#include <cstdint>

namespace {

constexpr const char* kTask = ${literal(task.id)};
constexpr const char* kDtype = ${literal(dtype)};
constexpr const char* kOriginSymbol = ${literal(originName(task, dtype))};
constexpr const char* kOptimizedSymbol = ${optimized ? literal(candidateName(task, dtype)) : 'nullptr'};
constexpr uint64_t kSeedRoot = 0x${seed}ull;

struct Entry {
  const char* id;
  const char* size;
  bool verify;  // else: a published size
  const char* text;
};

const Entry kProblems[] = {
${problems.map(entry).join('\n')}
};

}  // namespace
`;
}
