import { basename } from 'node:path';
import { toAppError } from '../main/base/fault.ts';
import { readInput } from '../main/base/input.ts';
import { err, type Result, type TaskEntry } from '../main/contract/index.ts';
import type { ShellClient } from './client.ts';
import type { Question } from './closing.ts';

/** As much as the API takes. */
const sourceLimit = 4 * 1024 * 1024;

/** A candidate that the user opened, and the task that it is one of. */
export interface OpenedKernel {
  readonly path: string;
  readonly source: string;
  readonly task: string;
  readonly dtype: TaskEntry['dtype'];
  /** C name of its wrapper. */
  readonly wrapper: string;
}

/** Names followed by a parenthesis, outside of comments: calls and definitions. A comment that nobody closes ends with the file. */
function namesIn(source: string): Set<string> {
  const code = source.replace(/\/\*[\s\S]*?(?:\*\/|$)|\/\/[^\n]*/g, ' ');
  return new Set(Array.from(code.matchAll(/\b([A-Za-z_]\w*)\s*\(/g), (m) => m[1] as string));
}

/** The task is told by the wrapper: every task and data type has a name of its own for it. Nothing is built or run. */
export function kernelOf(path: string, source: string, tasks: readonly TaskEntry[]): Result<OpenedKernel> {
  const names = namesIn(source);
  const of = (suffix: string) => tasks.filter((t) => t.wrapper !== undefined && names.has(`${t.wrapper}${suffix}`));
  const found = of('_optimized');
  const [one] = found;
  const file = basename(path);
  if (one?.wrapper && found.length === 1)
    return { ok: true, value: { path, source, task: one.id, dtype: one.dtype, wrapper: `${one.wrapper}_optimized` } };
  if (one)
    return err(
      'usage',
      `${file} has the wrappers of several tasks: ${found.map((t) => `${t.id} ${t.dtype}`).join(', ')}.`,
      {
        remedy: 'Leave one of them: each candidate is a file of its own.',
      },
    );
  const origin = of('')[0];
  if (origin?.wrapper)
    return err('usage', `${file} has the wrapper of an origin, ${origin.wrapper}: a candidate has another name.`, {
      remedy: `Call its wrapper ${origin.wrapper}_optimized, and its kernels …_kernel_optimized.`,
    });
  return err('usage', `${file} has the wrapper of no task.`, {
    remedy:
      'A candidate has the wrapper of its task with _optimized at its end; the screen Kernels shows the signature of each.',
  });
}

/** Reads a `.cu` file and finds its task. */
export async function openKernel(client: ShellClient, path: string): Promise<Result<OpenedKernel>> {
  try {
    const source = await readInput(path, { limit: sourceLimit });
    const tasks = await client.call('tasks.list', {});
    return tasks.ok ? kernelOf(path, source, tasks.value) : tasks;
  } catch (fault) {
    return { ok: false, error: toAppError(fault) };
  }
}

/** What is to be done with it: opening runs nothing, and building or running it is asked for, with what would run. */
export const kernelQuestion = (kernel: OpenedKernel): Question => ({
  message: `Build and run ${basename(kernel.path)} as a candidate of ${kernel.task} ${kernel.dtype}?`,
  detail:
    `${kernel.path}\n${kernel.source.split('\n').length} lines, wrapper ${kernel.wrapper}\n\n` +
    'It is proven against the original, measured and profiled, and kept in the history as a version. Its code runs contained where ' +
    'this machine can; run it only if you trust where it comes from.',
  buttons: ['Run it here', 'Make a bundle for a GPU elsewhere', 'Cancel'],
});

/** Starts its evaluation; gives back the run. */
export function evaluateKernel(
  client: ShellClient,
  kernel: OpenedKernel,
  executor: 'local' | 'bundle',
): Promise<Result<{ readonly run: string }>> {
  const { task, dtype, source, path } = kernel;
  return client.call('runs.evaluate', { task, dtype, executor, source, label: basename(path).slice(0, 200) });
}
