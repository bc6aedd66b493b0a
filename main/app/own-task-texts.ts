import { lstat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFault, systemCode } from '../base/fault.ts';
import { readInput } from '../base/input.ts';
import { ownTasksDir, removeScratch, scratchDir } from '../base/paths.ts';
import {
  type AddedTask,
  type AppError,
  AppFailure,
  type DraftFault,
  type DraftOptions,
  type DraftView,
  err,
  type OwnTaskFile,
  type OwnTaskTexts,
  type OwnTaskView,
  ownTaskFileLimit,
  ownTaskFiles,
} from '../contract/index.ts';
import { loadTask, taskFolders, viewDraft } from '../evaluate/task/index.ts';
import type { AppContext } from './context.ts';
import type { ServiceContext } from './events.ts';
import { addOwnTask, shippedFault } from './own-tasks.ts';

/** Tasks of the user's own as texts, for front doors whose users have no files on this machine. */

/** A task from a source as far as it goes, with the fault that only this program knows: ids that ship are taken. */
export function draftView(app: AppContext, source: string, options: DraftOptions): DraftView {
  const view = viewDraft(source, options);
  const id = options.id ?? view.wrapper;
  const taken = id === null ? null : shippedFault(app, id);
  if (taken === null) return view;
  const fault: DraftFault = {
    field: 'id',
    name: null,
    message: taken,
    remedy: 'Give yours another id.',
    missing: false,
  };
  return { ...view, faults: [...view.faults, fault], files: null };
}

const isFile = (name: string): name is OwnTaskFile => (ownTaskFiles as readonly string[]).includes(name);

/** An error about a file of the scratch folder, as one about what the user wrote: the folder means nothing to them. */
function atText(error: AppError, folder: string): AppError {
  const own = (text: string | undefined): string | undefined => text?.replaceAll(`${folder}/`, '');
  const message = own(error.message) as string;
  // Checks begin their messages with the file they are about.
  const named = ownTaskFiles.find((name) => message.startsWith(`${name}:`) || message.startsWith(`${name} `));
  const at = error.at ?? (named === undefined ? undefined : { file: named });
  const remedy = own(error.remedy)?.replace('add the folder again', 'check again');
  return { ...error, message, remedy, detail: own(error.detail), at };
}

/**
 * Takes a task in, from the texts of its files, as addOwnTask does from a folder. Throws AppFailure as that does; `at` names the file
 * that is at fault, and the line where there is one.
 */
export async function addTaskTexts(
  app: AppContext,
  params: { readonly files: OwnTaskTexts; readonly replace?: boolean },
  ctx: ServiceContext,
): Promise<AddedTask> {
  const folder = scratchDir();
  try {
    for (const [name, text] of Object.entries(params.files))
      if (isFile(name) && text !== undefined)
        await writeFile(join(folder, name), text, { mode: 0o600 }).catch((fault: unknown) => {
          throw fileFault(fault, join(folder, name), 'Writing');
        });
    const added = await addOwnTask(app, { folder, replace: params.replace }, ctx);
    const { task, dtypes, compiled, former, notes } = added;
    return { task, dtypes, compiled, replaced: former !== null, notes };
  } catch (fault) {
    if (!(fault instanceof AppFailure)) throw fault;
    throw new AppFailure(atText(fault.error, folder));
  } finally {
    removeScratch(folder);
  }
}

/** Text of a file of an own task; undefined: it has none of that name. */
async function textOf(path: string): Promise<string | undefined> {
  const there = await lstat(path).catch((fault: unknown) => {
    if (systemCode(fault) === 'ENOENT') return null;
    throw fileFault(fault, path, 'Reading');
  });
  return there === null ? undefined : readInput(path, { limit: ownTaskFileLimit });
}

/** Files of a task of the user's own, for editing, also when it cannot be used. Throws AppFailure `input.task`, `input.file`. */
export async function ownTaskView(app: AppContext, task: string): Promise<OwnTaskView> {
  const shipped = shippedFault(app, task);
  if (shipped !== null)
    throw new AppFailure(err('input.task', shipped, { remedy: 'Only tasks of your own can be changed.' }).error);
  const loaded = loadTask(app.root, task, ownTasksDir());
  const found = taskFolders(app.root, ownTasksDir()).find(({ id, own }) => own && id === task);
  if (!found) {
    if (loaded.ok) throw new Error(`${task} is loaded, but lies nowhere`);
    throw new AppFailure(loaded.error);
  }
  const files: Partial<Record<OwnTaskFile, string>> = {};
  for (const name of ownTaskFiles) {
    const text = await textOf(join(found.dir, name));
    if (text !== undefined) files[name] = text;
  }
  return { task, files, fault: loaded.ok ? null : atText(loaded.error, found.dir) };
}
