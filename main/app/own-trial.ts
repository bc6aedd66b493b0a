import {
  AppFailure,
  type Dtype,
  err,
  type Problem,
  type SessionStep,
  sizeText,
  type ToolPaths,
} from '../contract/index.ts';
import { buildIds, made } from '../evaluate/builds.ts';
import { bytesText } from '../evaluate/task/check-limits.ts';
import { allocatedBytes, type LoadedTask, problemsOf, verifyProblems } from '../evaluate/task/index.ts';
import type { SessionContext } from '../jobs/context.ts';
import { EnvironmentFault } from '../jobs/session/classify.ts';
import type { SessionOutcome } from '../jobs/session/index.ts';
import { outputsOf } from '../jobs/session/problem-text.ts';
import { type ReferenceTrial, tryReference } from '../jobs/session/reference.ts';
import { Stopped } from '../jobs/session/scope.ts';

/** Elements of outputs that make a size a telling one. */
const fewElements = 64;
/** Sizes beyond this are not tried: what a verification may take minutes for. */
const mostBytes = 64 << 20;
const limits = { wallMs: 150_000, memoryMiB: 8_192, outputBytes: 1 << 16 };

const elements = (problem: Problem): number =>
  outputsOf(problem).reduce((sum, index) => sum + (problem.buffers[index]?.count ?? 0), 0);

/**
 * The smallest size of a verification that has outputs, and one whose values say something: the smallest with enough of them, else the
 * largest.
 */
export function trialProblems({ task }: LoadedTask, dtype: Dtype): Problem[] {
  const sizes = verifyProblems(task, dtype, '0'.repeat(64))
    .filter((problem) => !problem.id.includes('+') && elements(problem) > 0 && allocatedBytes(problem) <= mostBytes)
    .sort((a, b) => allocatedBytes(a) - allocatedBytes(b));
  const telling = sizes.find((problem) => elements(problem) >= fewElements) ?? sizes.at(-1);
  return [...new Set([sizes[0], telling])].filter((problem) => problem !== undefined);
}

/**
 * A step that calls a task's reference, to be run behind the build of its judge, and what drives it: `found` has what it did then.
 * It is no step of any evaluation, so it has no plan of its own: the one it carries names the judge alone.
 */
export function referenceTrial(task: LoadedTask, dtype: Dtype) {
  const problems = trialProblems(task, dtype);
  const arm = { id: 'O' as const, lib: '', symbol: '' };
  const plan = { mode: 'verify' as const, runner: '', judge: made.judge, shim: '', arm, problems, seeds: 1 };
  const step: SessionStep = { kind: 'session', id: 'try-reference', needs: [buildIds.judge], plan, limits };
  const trial = {
    id: step.id,
    steps: problems.length > 0 ? [step] : [],
    found: null as ReferenceTrial | null,
    run: async (_: unknown, ctx: SessionContext): Promise<SessionOutcome> => {
      try {
        trial.found = await tryReference({ judge: made.judge, problems }, ctx);
        return { status: 'ok' };
      } catch (cause) {
        if (cause instanceof EnvironmentFault) return { status: 'environment', reason: cause.reason };
        // The executor answers an abort itself.
        if (cause instanceof Stopped) return { status: 'killed' };
        throw cause;
      }
    },
  };
  return trial;
}

/** Throws AppFailure `input.task` where the reference cannot be one. */
export function refuseReference({ fault }: ReferenceTrial, file: string, dtype: Dtype): void {
  if (fault === null) return;
  throw new AppFailure(
    err('input.task', `${file} was called (${dtype}), and ${fault}.`, {
      remedy: 'Mend the file and add the folder again. kernels/harness/PROTOCOL.md says what a reference answers.',
    }).error,
  );
}

/** Sizes that the GPU of this machine cannot hold; another one may. */
export function tooLargeHere({ task }: LoadedTask, dtype: Dtype, tools: ToolPaths): string[] {
  const { gpuMemoryMiB } = tools;
  const name = tools.machine.gpu?.name;
  if (gpuMemoryMiB === undefined || gpuMemoryMiB === null || name === undefined) return [];
  const has = gpuMemoryMiB * 2 ** 20;
  const lists = [...(['published', 'large'] as const).map((set) => problemsOf(task, dtype, set))].flat();
  return lists
    .filter((problem) => allocatedBytes(problem) > has)
    .map(
      (problem) =>
        `Size ${sizeText(problem.dims)} (${dtype}) needs ${bytesText(allocatedBytes(problem))}; ${name} has ${bytesText(has)}: it cannot be run here.`,
    );
}

/** What is worth knowing of a task that can be used: what looks odd in its reference, sizes that this machine cannot run. */
export const trialNotices = (
  found: ReferenceTrial | null,
  task: LoadedTask,
  dtype: Dtype,
  tools: ToolPaths,
): string[] => [
  ...(found?.doubts ?? []).map((why) => `reference.h (${dtype}): ${why}.`),
  ...tooLargeHere(task, dtype, tools),
];
