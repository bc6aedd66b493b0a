import type { Evaluation, StepResult } from '../contract/index.ts';

export type BuildFacts = NonNullable<Evaluation['build']>;

const most = (text: string, pattern: RegExp): number | null => {
  const found = [...text.matchAll(pattern)].map((m) => Number(m[1]));
  return found.length === 0 ? null : Math.max(...found);
};

/** Registers, spills and static shared memory of the heaviest kernel, from `-Xptxas -v`. What ptxas did not say is null. */
export function buildFacts(step: StepResult): BuildFacts {
  const text = `${step.stderr}\n${step.stdout}`;
  const stores = most(text, /(?<!\d)(\d+) bytes spill stores/g);
  const loads = most(text, /(?<!\d)(\d+) bytes spill loads/g);
  const registers = most(text, /Used (\d+) registers/g);
  return {
    registers,
    spillBytes: stores === null && loads === null ? null : (stores ?? 0) + (loads ?? 0),
    // ptxas names shared memory only where a kernel has some.
    sharedBytes: registers === null ? null : (most(text, /(?<!\d)(\d+) bytes smem/g) ?? 0),
    diagnostics: diagnosticsOf(step),
  };
}

const chatter =
  /^(?:ptxas info|\s*\d+ bytes stack frame|nvcc warning : Support for offline compilation|Remark:|\s*Function properties|\s*Used \d+ registers)/;

// Lookbehinds: a search that begins at every letter of a long word would take the square of its length.
/** Warnings and errors of a build without ptxas's statistics, at most `limit` characters: the head, where the first error is. */
export function diagnosticsOf(step: StepResult, limit = 6000): string {
  const lines = `${step.stderr}\n${step.stdout}`
    .split('\n')
    .map((line) => line.replace(/(?:(?<!\S)\S*\/)?((?:candidate|best|origin)\.cu)/g, '$1').trimEnd())
    .filter((line) => !chatter.test(line));
  const text = lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
  return text.length <= limit ? text : `${text.slice(0, limit)}\n(… ${text.length - limit} characters left out …)`;
}

/** First error line, for the one-line reason. */
export function firstError(diagnostics: string): string {
  const line =
    diagnostics.split('\n').find((l) => /error|undefined reference|fatal/i.test(l)) ?? diagnostics.split('\n')[0];
  return (line ?? '').trim().slice(0, 300);
}
