import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileFault } from '../base/fault.ts';
import { writeOutput } from '../base/files.ts';
import { sha256Hex } from '../base/hash.ts';
import { readInput, readRegular } from '../base/input.ts';
import { ensureDir, ownTasksDir } from '../base/paths.ts';
import {
  type AppError,
  AppFailure,
  type CompiledFile,
  type Dtype,
  err,
  type Job,
  ownTaskFileLimit,
  type Param,
  type StepResult,
  unwrap,
} from '../contract/index.ts';
import { diagnosticsOf, firstError } from '../evaluate/build-facts.ts';
import { buildIds } from '../evaluate/builds.ts';
import { planEvaluation } from '../evaluate/plan.ts';
import {
  type DraftOptions,
  draftTask,
  type LoadedTask,
  loadOwn,
  loadTask,
  removedTasks,
  taskIds,
} from '../evaluate/task/index.ts';
import { LocalExecutor } from '../jobs/local.ts';
import { resolveTools } from '../toolchain/index.ts';
import { type AppContext, settingsOf } from './context.ts';
import type { ServiceContext } from './events.ts';
import { referenceTrial, refuseReference, trialNotices } from './own-trial.ts';

export interface DraftParams extends DraftOptions {
  /** The user's .cu. */
  readonly file: string;
  /** Folder to write; must not exist, or be empty. */
  readonly out?: string;
}

export interface DraftAnswer {
  readonly task: string;
  readonly dtype: Dtype;
  readonly folder: string;
  readonly files: readonly string[];
  /** How each parameter of the wrapper was understood. */
  readonly parameters: readonly string[];
}

const roleText = (param: Param): string => {
  if (param.role === 'scalar') return `${param.name}: ${param.ctype}, ${param.value}`;
  const what = { in: 'input', inout: 'read and overwritten', out: 'output, not read (--inout NAME if it is)' }[
    param.role
  ];
  return `${param.name}: ${what}, ${param.count} elements`;
};

/** Why a task of the user's own cannot have this id; null: it can. */
export const shippedFault = (app: AppContext, id: string): string | null =>
  taskIds(app.root).includes(id) ? `A task named "${id}" ships with CUDAMaster.` : null;

function refuseShipped(app: AppContext, id: string, remedy: string): void {
  const fault = shippedFault(app, id);
  if (fault !== null) throw failure('input.task', fault, remedy);
}

const failure = (code: 'input.task' | 'input.file' | 'usage', message: string, remedy: string): AppFailure =>
  new AppFailure(err(code, message, { remedy }).error);

/**
 * Makes a task folder from a user's .cu: task.json, the source as origin, and a reference.h to be filled in. Nothing is compiled or run.
 * Throws AppFailure `input.task`, `input.file`, `usage`, `env.*`.
 */
export async function draftOwnTask(app: AppContext, params: DraftParams, ctx: ServiceContext): Promise<DraftAnswer> {
  const { file, out, ...options } = params;
  const source = await readInput(file, { limit: ownTaskFileLimit, signal: ctx.signal });
  const { task, dtype, files } = unwrap(draftTask(source, options));
  refuseShipped(app, task.id, 'Give it another one with --id.');
  const folder = resolve(out ?? task.id);
  const there = await readdir(folder).catch((fault: unknown) => {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw fileFault(fault, folder, 'Reading the folder');
  });
  if (there.length > 0)
    throw failure('usage', `${folder} is not empty.`, 'Name another folder with --out; nothing is overwritten.');
  await mkdir(folder, { recursive: true }).catch((fault: unknown) => {
    throw fileFault(fault, folder, 'Making the folder');
  });
  for (const [name, text] of Object.entries(files)) await writeOutput(join(folder, name), text);
  return { task: task.id, dtype, folder, files: Object.keys(files), parameters: task.wrapper.params.map(roleText) };
}

export interface AddParams {
  readonly folder: string;
  /** Takes the place of a task of the same id; the former one is kept aside. */
  readonly replace?: boolean;
}

export interface AddAnswer {
  readonly task: string;
  readonly dtypes: readonly Dtype[];
  /** Where the copy lies that is used from now on. */
  readonly folder: string;
  readonly compiled: readonly CompiledFile[];
  /** Where the former task of this id was put; null: there was none. */
  readonly former: string | null;
  /** Worth knowing, though the task can be used. */
  readonly notes: readonly string[];
}

/**
 * Takes a task folder in as one of the user's own: it is read, checked in every field, its reference and original are compiled in the
 * sandbox, the reference is called there (the original is not), and the folder is copied to the data folder. Throws AppFailure `input.task`, `input.file`, `usage`, `env.*`, `cancelled`.
 */
export async function addOwnTask(app: AppContext, params: AddParams, ctx: ServiceContext): Promise<AddAnswer> {
  const folder = resolve(params.folder);
  const task = unwrap(loadOwn(folder));
  const { id, dtypes } = task.task;
  refuseShipped(app, id, 'Give yours another id in task.json.');
  const target = join(ownTasksDir(), id);
  const exists = taskIds(app.root, ownTasksDir()).includes(id);
  if (exists && folder === target)
    throw failure('usage', `${folder} is the task itself.`, 'Name the folder that it was made from, or a copy.');
  if (exists && params.replace !== true)
    throw failure(
      'usage',
      `There is a task of your own named "${id}" already.`,
      'Replace it (--replace), or give this one another id.',
    );
  ctx.emit({
    type: 'notice',
    message: `Compiling reference.h and the original of ${id}; reference.h is called in the sandbox, at up to two small sizes for each type; the original is not run.`,
  });
  const compiled: CompiledFile[] = [];
  const notes: string[] = [];
  for (const dtype of dtypes) compiled.push(...(await compile(task, dtype, ctx, notes)));
  for (const message of notes) ctx.emit({ type: 'notice', message });
  const broken = compiled.find(({ state }) => state === 'fails');
  if (broken) throw brokenFile(broken, folder);
  if (ctx.signal?.aborted) throw new AppFailure(err('cancelled', 'Cancelled: nothing was added.').error);
  const part = await copyTask(task, folder, target);
  const former = await putInPlace(part, id, exists);
  return { task: id, dtypes, folder: target, compiled, former, notes };
}

/**
 * Makes a copied folder the task of that id, in the place of the former one where there is one. What fails leaves the former in the list
 * and the copy nowhere. Gives back where the former lies.
 */
export async function putInPlace(part: string, id: string, exists: boolean): Promise<string | null> {
  const target = join(ownTasksDir(), id);
  let former: string | null = null;
  try {
    former = exists ? await putAside(id) : null;
    await rename(part, target);
    return former;
  } catch (fault) {
    await rm(part, { recursive: true, force: true });
    // Where another one took the place meanwhile, that one stays, and this one is kept aside.
    if (former !== null) await rename(former, target).catch(() => undefined);
    throw fileFault(fault, target, 'Writing the task');
  }
}

/** Line of the file that the compiler's first error is about; undefined: it names none. */
function lineOf({ file, why }: CompiledFile): number | undefined {
  const called = file === 'reference.h' ? /\breference\.h[:(](\d+)/ : /\borigin\.cu[:(](\d+)/;
  const found = called.exec(why);
  return found ? Number(found[1]) : undefined;
}

function brokenFile(broken: CompiledFile, folder: string): AppFailure {
  const { file, dtype, why, detail } = broken;
  return new AppFailure({
    code: 'input.task',
    message: `${join(folder, file)} does not compile (${dtype}): ${why}`,
    remedy: 'Mend the file and add the folder again.',
    detail,
    at: { file, line: lineOf(broken) },
  });
}

/** Compiles reference and original as an evaluation would, and calls the reference. Where nvcc or the GPU's architecture is missing the original is not compiled. `notes` gets what is worth knowing. */
async function compile(task: LoadedTask, dtype: Dtype, ctx: ServiceContext, notes: string[]): Promise<CompiledFile[]> {
  const settings = await settingsOf();
  const tools = unwrap(await resolveTools({ require: 'none', settings: settings.tools, signal: ctx.signal }));
  const arch = tools.arch ?? tools.archs.find((name) => name === 'sm_80') ?? tools.archs[0] ?? 'sm_80';
  const bundle = unwrap(
    planEvaluation({
      task,
      dtype,
      candidate: null,
      best: null,
      sizeSet: 'published',
      profile: 'none',
      arch,
      tries: 0,
      planSeed: '0'.repeat(64),
      label: `${task.task.id} ${dtype}`,
    }),
  );
  const wanted: readonly string[] = tools.nvcc === null ? [buildIds.judge] : [buildIds.judge, buildIds.origin];
  const trial = referenceTrial(task, dtype);
  const steps = [...bundle.job.steps.filter((step) => wanted.includes(step.id)), ...trial.steps];
  const job: Job = { ...bundle.job, steps, keep: [] };
  // None of it needs the GPU: it is not waited for.
  const place = { ...tools, machine: { ...tools.machine, gpu: null } };
  const executor = new LocalExecutor(place, { requireSandbox: settings.requireSandbox, runSession: trial.run });
  const outcome = await executor.execute(
    { ...bundle, job },
    {
      rootSeed: '0'.repeat(64),
      position: 'tasks.add',
      signal: ctx.signal,
      onProgress: () => undefined,
    },
  );
  if (outcome.kind !== 'done') throw new Error('the local executor does not park');
  const origin = `origin.${dtype}.cu`;
  const results = outcome.result.steps;
  const found = results
    .filter(({ id }) => wanted.includes(id))
    .map(
      (step): CompiledFile => ({
        file: step.id === buildIds.judge ? 'reference.h' : origin,
        dtype,
        ...verdictOf(step),
      }),
    );
  for (const step of results) if (step.id === trial.id) verdictOf(step);
  if (trial.found !== null) refuseReference(trial.found, join(task.dir, 'reference.h'), dtype);
  notes.push(...trialNotices(trial.found, task, dtype, tools));
  if (tools.nvcc !== null) return found;
  return [...found, { file: origin, dtype, state: 'not tried', why: 'there is no nvcc here' }];
}

/** Throws AppFailure where the machine, not the file, is at fault. */
function verdictOf(step: StepResult): Pick<CompiledFile, 'state' | 'why' | 'detail'> {
  if (step.status === 'ok') return { state: 'compiles', why: '' };
  const { code, message, remedy } = step.reason ?? {};
  if (step.status === 'environment')
    throw new AppFailure({
      code: (code as AppError['code'] | undefined) ?? 'env.toolkit-broken',
      message: message ?? `${step.id} could not be run.`,
      remedy,
    });
  const detail = diagnosticsOf(step);
  return { state: 'fails', why: firstError(detail) || message || step.status, detail: detail || undefined };
}

/**
 * Copies exactly the files that were read and checked to a folder beside the target, to be renamed; gives back its name. Throws
 * AppFailure `input.file` where one is no longer what was checked.
 */
export async function copyTask(task: LoadedTask, from: string, target: string): Promise<string> {
  const own = ensureDir(ownTasksDir());
  const part = join(own, `.part-${basename(target)}-${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(part, { mode: 0o700 });
    for (const [name, hash] of Object.entries(task.hashes)) {
      const text = readRegular(join(from, name), { limit: ownTaskFileLimit });
      if (text === null || sha256Hex(text) !== hash)
        throw failure(
          'input.file',
          `${join(from, name)} was changed while it was checked: nothing was added.`,
          'Add the folder again.',
        );
      await writeFile(join(part, name), text);
    }
    return part;
  } catch (fault) {
    await rm(part, { recursive: true, force: true });
    throw fileFault(fault, target, 'Writing the task');
  }
}

/** Moves a task of the user's own out of the list; its files are kept. Gives back where they are. */
async function putAside(id: string): Promise<string> {
  const own = ensureDir(ownTasksDir());
  const aside = ensureDir(join(own, removedTasks));
  const stamp = new Date().toISOString().replace(/[-:.]/g, '');
  const target = join(aside, `${id}-${stamp}-${randomBytes(2).toString('hex')}`);
  await rename(join(own, id), target).catch((fault: unknown) => {
    throw fileFault(fault, join(own, id), 'Moving the task');
  });
  return target;
}

/** Takes a task of the user's own out of the list. Throws AppFailure `input.task`. */
export async function removeOwnTask(
  app: AppContext,
  { task }: { task: string },
): Promise<{ task: string; kept: string }> {
  if (taskIds(app.root).includes(task))
    throw failure('input.task', `"${task}" ships with CUDAMaster and stays.`, 'Name a task of your own.');
  if (!taskIds(app.root, ownTasksDir()).includes(task)) unwrap(loadTask(app.root, task, ownTasksDir()));
  return { task, kept: await putAside(task) };
}
