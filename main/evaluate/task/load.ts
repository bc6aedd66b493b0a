import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../base/hash.ts';
import { readRegular } from '../../base/input.ts';
import {
  type AppError,
  AppFailure,
  type Dtype,
  err,
  FORMAT,
  ok,
  type Result,
  type Task,
  taskSchema,
} from '../../contract/index.ts';
import { checkTask, type Issue } from './check.ts';
import { unknownNames } from './reference-names.ts';
import { checkWrapper, originName, paramTypes } from './signature.ts';

/** Folder of the shipped tasks below the resource root. */
export const shippedTasks = 'kernels/mskernelbench';

export interface LoadedTask {
  readonly task: Task;
  /** Absolute folder. */
  readonly dir: string;
  /** Source of the naive version of each dtype that the task has. */
  readonly origin: Readonly<Record<Dtype, string>>;
  /** Text of reference.h; null for a user's task without one: its origin is the reference. */
  readonly reference: string | null;
  /** Text of library.cu: a vendor library's answer to the same task, if there is one. */
  readonly library: string | null;
  /** SHA-256 of every file read, by name. */
  readonly hashes: Readonly<Record<string, string>>;
}

const remedy = 'main/contract/task.ts describes the format; kernels/mskernelbench holds examples.';

const invalidTask = (file: string, issues: readonly Issue[]) => {
  const lines = issues.map((issue) => (issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`));
  return err('input.task', `${file}: ${lines[0]}`, {
    remedy: lines.length > 1 ? `${remedy} ${lines.length - 1} more: see detail.` : remedy,
    detail: lines.length > 1 ? lines.slice(0, 40).join('\n') : undefined,
  });
};

/** ["sizes", "published", 2, "N"] → "sizes.published[2].N". */
const pathText = (path: readonly PropertyKey[]): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${String(part)}`)).join('');

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Fields of the file that the schema dropped: misspelt or unknown, and never to be ignored in silence. */
function unknownFields(raw: unknown, parsed: unknown, path: readonly PropertyKey[] = []): Issue[] {
  if (Array.isArray(raw) && Array.isArray(parsed))
    return raw.flatMap((item, index) => unknownFields(item, parsed[index], [...path, index]));
  if (raw === null || parsed === null || typeof raw !== 'object' || typeof parsed !== 'object') return [];
  return Object.entries(raw).flatMap(([key, value]) =>
    Object.hasOwn(parsed, key)
      ? unknownFields(value, (parsed as Record<string, unknown>)[key], [...path, key])
      : [{ path: pathText([...path, key]), message: 'unknown field' }],
  );
}

interface SchemaIssue {
  readonly code: string;
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly errors?: readonly (readonly SchemaIssue[])[];
}

const depth = (issues: readonly SchemaIssue[]): number => Math.max(0, ...issues.map((issue) => issue.path.length));

/** Zod's issues; of a union the alternative that got furthest, since "invalid input" helps nobody. */
function schemaIssues(issues: readonly SchemaIssue[], base: readonly PropertyKey[] = []): Issue[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    if (issue.code === 'invalid_union' && issue.errors && issue.errors.length > 0) {
      const nearest = [...issue.errors].sort((a, b) => depth(b) - depth(a) || a.length - b.length)[0];
      return schemaIssues(nearest ?? [], path);
    }
    return [{ path: pathText(path), message: issue.message }];
  });
}

/**
 * Reads a task file's text. Refuses, naming file, field and expected form, whatever is malformed in any field
 * (`input.task`), and a newer version by name (`format.newer`).
 * @param file named in messages.
 */
export function parseTask(text: string, file: string): Result<Task> {
  let raw: Json;
  try {
    raw = JSON.parse(text) as Json;
  } catch (cause) {
    return invalidTask(file, [{ path: '', message: `not JSON: ${(cause as Error).message}` }]);
  }
  if (raw === null || typeof raw !== 'object' || Array.isArray(raw))
    return invalidTask(file, [{ path: '', message: 'expected one JSON object' }]);
  const version = raw.version;
  if (typeof version === 'number' && version > FORMAT.task)
    return err(
      'format.newer',
      `${file}: version ${version} of the task format is newer than this program's (${FORMAT.task}).`,
      {
        remedy: 'Update CUDAMaster.',
      },
    );
  if (version !== FORMAT.task)
    return invalidTask(file, [
      { path: 'version', message: `expected ${FORMAT.task}, found ${JSON.stringify(version)}` },
    ]);
  const parsed = taskSchema.safeParse(raw);
  if (!parsed.success) return invalidTask(file, schemaIssues(parsed.error.issues as readonly SchemaIssue[]));
  const issues = [...unknownFields(raw, parsed.data), ...checkTask(parsed.data)];
  return issues.length > 0 ? invalidTask(file, issues) : ok(parsed.data);
}

/** Longest file of a task that is read, bytes: the longest that ships has 12 KB. */
const mostBytes = 1 << 20;

function checkOrigin(task: Task, dtype: Dtype, source: string, file: string): AppError | null {
  const checked = checkWrapper(source, originName(task, dtype), paramTypes(task, dtype));
  return checked.ok
    ? null
    : {
        ...checked.error,
        message: `${file}: ${checked.error.message}`,
        remedy: 'The wrapper must match wrapper.params of task.json.',
      };
}

/** Loads the task in a folder: the user's own, or a shipped one. */
export function loadTaskFrom(dir: string): Result<LoadedTask> {
  try {
    return load(dir);
  } catch (cause) {
    if (cause instanceof AppFailure) return { ok: false, error: cause.error };
    throw cause;
  }
}

function load(dir: string): Result<LoadedTask> {
  const hashes: Record<string, string> = {};
  const read = (name: string): string | null => {
    const text = readRegular(join(dir, name), { limit: mostBytes });
    if (text !== null) hashes[name] = sha256Hex(text);
    return text;
  };
  const missing = (name: string) => err('input.file', `${join(dir, name)} is missing.`, { remedy });

  const json = read('task.json');
  if (json === null) return missing('task.json');
  const parsed = parseTask(json, join(dir, 'task.json'));
  if (!parsed.ok) return parsed;
  const task = parsed.value;

  const origin: Partial<Record<Dtype, string>> = {};
  for (const dtype of task.dtypes) {
    const name = `origin.${dtype}.cu`;
    const source = read(name);
    if (source === null) return missing(name);
    const fault = checkOrigin(task, dtype, source, join(dir, name));
    if (fault) return { ok: false, error: fault };
    origin[dtype] = source;
  }

  const reference = read('reference.h');
  if (reference === null && task.category !== 'user') return missing('reference.h');
  if (reference !== null && !/\bstruct\s+Reference\b/.test(reference))
    return err('input.task', `${join(dir, 'reference.h')}: expected "struct Reference" in namespace task`, {
      remedy: 'kernels/harness/PROTOCOL.md describes it.',
    });
  return ok({ task, dir, origin: origin as Record<Dtype, string>, reference, library: read('library.cu'), hashes });
}

/**
 * Loads a task by its id: a shipped one, or one of the user's own.
 * @param root the resource root.
 * @param id folder name below kernels/mskernelbench or `own`; anything that is not a plain name is refused.
 * @param own folder of the user's tasks (ownTasksDir); null: shipped tasks alone.
 */
export function loadTask(root: string, id: string, own: string | null = null): Result<LoadedTask> {
  const found = taskFolders(root, own).find((task) => task.id === id);
  if (found) return named(id, found.own ? loadOwn(found.dir) : loadTaskFrom(found.dir));
  const kept = own === null ? undefined : removedFolders(own, id).at(-1);
  if (kept)
    return err('input.task', `Your task "${id}" was taken out of the list.`, {
      remedy: `\`cudamaster tasks add ${kept}\` brings it back.`,
    });
  const known = taskIds(root, own).join(', ');
  return err('input.task', `There is no task "${id}".`, { remedy: `Known tasks: ${known || 'none'}.` });
}

/** Below the folder of the user's tasks: those that were removed or replaced, as ID-TIME-NUMBER. */
export const removedTasks = '.removed';

/** Where the files of a removed task are kept, oldest first. */
function removedFolders(own: string, id: string): string[] {
  const name = /^(\w+)-\d{8}T\d{9}Z-[0-9a-f]{4}$/;
  const aside = join(own, removedTasks);
  return foldersIn(aside)
    .filter((folder) => name.exec(folder)?.[1] === id)
    .map((folder) => join(aside, folder));
}

/** The folder's name is the task's id: both name it, in histories and on command lines. */
function named(id: string, loaded: Result<LoadedTask>): Result<LoadedTask> {
  if (!loaded.ok || loaded.value.task.id === id) return loaded;
  return invalidTask(join(loaded.value.dir, 'task.json'), [
    { path: 'id', message: `expected the folder's name "${id}", found "${loaded.value.task.id}"` },
  ]);
}

/** Loads a task that did not ship. Its category says so, and by that its code is contained: another one is refused. */
export function loadOwn(dir: string): Result<LoadedTask> {
  const loaded = loadTaskFrom(dir);
  if (!loaded.ok) return loaded;
  const { task, reference } = loaded.value;
  if (task.category !== 'user')
    return invalidTask(join(dir, 'task.json'), [
      { path: 'category', message: `expected "user" for a task of your own, found "${task.category}"` },
    ]);
  const unknown = reference === null ? [] : unknownNames(reference, task);
  if (unknown.length > 0)
    return err('input.task', `${join(dir, 'reference.h')}: ${unknown[0]}`, {
      remedy: 'reference.h and task.json must name the same parameters and dimensions.',
      detail: unknown.length > 1 ? unknown.join('\n') : undefined,
    });
  return loaded;
}

/** Names of the folders in a folder, sorted. Empty when it is missing. Those that begin with a dot are none of ours. */
function foldersIn(dir: string): string[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(dir, { withFileTypes: true });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw cause;
  }
  return entries
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name)
    .sort();
}

/** Where a task lies. */
export interface TaskFolder {
  readonly id: string;
  readonly dir: string;
  /** One of the user's own. */
  readonly own: boolean;
}

/** The shipped tasks, sorted, then the user's own. A name that ships is never taken by one of the user's. */
export function taskFolders(root: string, own: string | null = null): TaskFolder[] {
  const at = (folder: string, isOwn: boolean): TaskFolder[] =>
    foldersIn(folder).map((id) => ({ id, dir: join(folder, id), own: isOwn }));
  const shipped = at(join(root, shippedTasks), false);
  const theirs = own === null ? [] : at(own, true);
  return [...shipped, ...theirs.filter(({ id }) => !shipped.some((task) => task.id === id))];
}

/** Their names. */
export const taskIds = (root: string, own: string | null = null): string[] =>
  taskFolders(root, own).map(({ id }) => id);

/** Every task, loaded or with the reason why it cannot be: one bad file hides no other. */
export const listTasks = (root: string, own: string | null = null): { id: string; loaded: Result<LoadedTask> }[] =>
  taskIds(root, own).map((id) => ({ id, loaded: loadTask(root, id, own) }));
