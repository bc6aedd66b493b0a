import { ownTasksDir } from '../base/paths.ts';
import {
  AppFailure,
  type BenchCandidate,
  type BenchCell,
  type BenchConfig,
  type Dtype,
  err,
  type Task,
} from '../contract/index.ts';
import { type LoadedTask, listTasks, taskIds } from '../evaluate/task/index.ts';

/** What the user asked for; absent: everything. */
export interface Choice {
  readonly tasks?: readonly string[];
  readonly categories?: readonly string[];
  readonly dtypes?: readonly Dtype[];
}

export interface Chosen {
  readonly task: LoadedTask;
  readonly dtype: Dtype;
}

const refuse = (message: string, remedy: string): never => {
  throw new AppFailure(err('usage', message, { remedy }).error);
};

/** A name that nobody has is told at once, with the names there are: an empty bench would look like a finished one. */
function checkNames(kind: string, asked: readonly string[] | undefined, known: readonly string[]): void {
  const unknown = asked?.find((name) => !known.includes(name));
  if (asked?.length === 0) refuse(`No ${kind} is named.`, `Known: ${known.join(', ')}.`);
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  refuse(
    `There is no ${kind} "${unknown}".`,
    `${near === null ? '' : `Did you mean ${near}? `}Known: ${known.join(', ')}.`,
  );
}

/** The name that was likely meant: another case, or at most two letters off. null: none is near. */
function nearest(name: string, known: readonly string[]): string | null {
  const asked = name.toLowerCase();
  const [best] = known
    .map((other) => ({ other, off: distance(asked, other.toLowerCase()) }))
    .filter(({ off }) => off <= Math.min(2, asked.length / 3))
    .sort((a, b) => a.off - b.off);
  return best?.other ?? null;
}

/** Letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let before = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++)
      row.push(
        Math.min(
          (row[j - 1] as number) + 1,
          (before[j] as number) + 1,
          (before[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      );
    before = row;
  }
  return before[b.length] as number;
}

/** Tasks and data types of a bench. Throws AppFailure `usage`, or the fault of a chosen task that cannot be loaded. */
export function choose(root: string, choice: Choice): Chosen[] {
  const all = listTasks(root, ownTasksDir());
  // The suite is what ships; a task of the user's own is measured when it is named.
  const shipped = taskIds(root);
  const listed = all.filter(({ id }) => shipped.includes(id) || choice.tasks?.includes(id));
  const loaded = listed.flatMap(({ loaded }) => (loaded.ok ? [loaded.value] : []));
  checkNames(
    'task',
    choice.tasks,
    all.map(({ id }) => id),
  );
  checkNames('category', choice.categories, [...new Set(loaded.map(({ task }) => task.category))].sort());
  const wanted = (task: Task): boolean =>
    (choice.tasks?.includes(task.id) ?? true) && (choice.categories?.includes(task.category) ?? true);
  for (const { id, loaded } of listed)
    if (!loaded.ok && (choice.tasks?.includes(id) ?? choice.categories === undefined))
      throw new AppFailure(loaded.error);
  const chosen = loaded
    .filter(({ task }) => wanted(task))
    .flatMap((task) =>
      task.task.dtypes
        .filter((dtype) => choice.dtypes?.includes(dtype) ?? true)
        .map((dtype): Chosen => ({ task, dtype })),
    );
  if (chosen.length === 0)
    refuse('No task is left to measure.', 'Choose fewer conditions; `cudamaster tasks` lists what there is.');
  return chosen;
}

/**
 * The cells of a bench in the order they are run: stage by stage, so that a bench that was stopped has whole stages. With candidates
 * their tasks alone are measured, each against its origin; profiles are of both.
 */
export function cellsOf(
  chosen: readonly Chosen[],
  config: BenchConfig,
  candidates: readonly BenchCandidate[],
): BenchCell[] {
  const measured = config.candidates !== 'none';
  const has = (task: string, dtype: Dtype): boolean => candidates.some((c) => c.task === task && c.dtype === dtype);
  const pairs = chosen.filter(({ task, dtype }) => !measured || has(task.task.id, dtype));
  return config.stages.flatMap((stage) =>
    pairs.flatMap(({ task, dtype }): BenchCell[] => {
      const id = `${stage}.${task.task.id}.${dtype}`;
      const common = { stage, task: task.task.id, dtype, sizes: stage === 'profile' ? config.profileSizes : stage };
      if (stage !== 'profile') return [{ ...common, id, version: measured ? 'candidate' : 'origin' }];
      const versions = measured ? (['origin', 'candidate'] as const) : (['origin'] as const);
      return versions.map((version) => ({ ...common, id: `${id}.${version}`, version }));
    }),
  );
}
