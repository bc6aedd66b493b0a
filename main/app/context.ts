import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { briefOf } from '../agents/index.ts';
import { hashJson, sha256Hex } from '../base/hash.ts';
import { configDir, dataDir, ownTasksDir, tempDir } from '../base/paths.ts';
import { deriveRoot } from '../base/random.ts';
import { AppFailure, type Dtype, err, type RunConfig, unwrap } from '../contract/index.ts';
import { allowedIncludes, bindEvaluator } from '../evaluate/index.ts';
import { candidateName, type LoadedTask, loadTask, signature } from '../evaluate/task/index.ts';
import type { LoopConfig } from '../optimizer/index.ts';
import { type RunRecord, Store } from '../store/index.ts';
import { calibrationOf } from './calibration-file.ts';
import type { ServiceContext } from './events.ts';
import type { OpenPlace } from './machine.ts';
import { readSettings, type Settings } from './settings.ts';

/** What every service works with. */
export interface AppContext {
  /** Folder of prompts, kernels and recordings. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
  readonly openPlace: OpenPlace;
}

/** Opens the user's history, tells what is to be told about it, and closes it afterwards. */
export async function withStore<T>(
  ctx: ServiceContext,
  folder: string,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  if (ctx.store?.folder === folder) return work(ctx.store);
  const store = await Store.open(folder);
  if (store.notice) {
    const { message, remedy, detail } = store.notice;
    ctx.emit({ type: 'notice', message, remedy, detail });
  }
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

export const historyFolder = (): string => dataDir();
export const settingsOf = (): Promise<Settings> => readSettings(configDir());
export const runFolder = (store: Store, run: string): string => join(store.folder, 'runs', run);
export const reportFolder = (store: Store, run: string): string => join(store.folder, 'runs', run, 'reports');

/** A folder of its own, unless the user has named one: a demo must not mix with real work. */
export async function demoFolder(env: NodeJS.ProcessEnv): Promise<string> {
  return env.CUDAMASTER_HOME ? dataDir() : mkdtemp(join(tempDir(), 'cudamaster-demo-'));
}

export interface TaskParts {
  readonly task: LoadedTask;
  readonly origin: string;
  readonly originHash: string;
  readonly taskHash: string;
}

/** Throws AppFailure `input.task`, `input.file`, `format.newer`. */
export function taskParts(app: AppContext, id: string, dtype: Dtype): TaskParts {
  const task = unwrap(loadTask(app.root, id, ownTasksDir()));
  const origin = task.origin[dtype];
  if (!task.task.dtypes.includes(dtype) || origin === undefined)
    throw new AppFailure(
      err('input.task', `Task ${id} has no ${dtype} version.`, {
        remedy: `It has: ${task.task.dtypes.join(', ')} (--dtype).`,
      }).error,
    );
  return { task, origin, originHash: sha256Hex(origin), taskHash: taskHash(task) };
}

/** Of what defines a task. A reference of ours belongs to the program's version; a user's changes when they edit it. */
function taskHash({ task, hashes }: LoadedTask): string {
  const file = hashes['task.json'] ?? hashJson(task);
  return task.category === 'user' ? hashJson([file, hashes['reference.h'] ?? null]) : file;
}

/** What the loop is told of a run; the same for every drive of it. */
export function loopConfig(app: AppContext, run: RunRecord, parts: TaskParts): LoopConfig {
  const { task } = parts.task;
  const { dtype } = run.config;
  return {
    run: run.config,
    rootSeed: run.rootSeed,
    programVersion: app.version,
    brief: briefOf(task, dtype, {
      signature: signature(task, dtype, candidateName(task, dtype)),
      includes: allowedIncludes,
    }),
    origin: { source: parts.origin, compileArgs: [] },
  };
}

/** Replays judge as the recorded run did: no calibration of this machine enters. */
export function evaluatorOf(run: RunRecord, parts: TaskParts) {
  const { dtype, sizeSet, profile, arch } = run.config;
  const replays = run.kind === 'replay' || run.kind === 'demo';
  const calibration = replays ? null : calibrationOf(run.environment?.gpu ?? null);
  const planSeed = deriveRoot(run.rootSeed, 'plan');
  return bindEvaluator({ task: parts.task, dtype, sizeSet, profile, arch, planSeed, calibration });
}

/** Settings of a run with what was not asked for. */
export function runConfig(parts: Partial<RunConfig> & Pick<RunConfig, 'task' | 'dtype' | 'executor'>): RunConfig {
  return {
    rounds: 3,
    debugAttempts: 3,
    profile: 'filtered',
    sizeSet: 'published',
    provider: 'none',
    model: 'none',
    arch: 'native',
    maxUsd: null,
    maxTokens: null,
    maxMinutes: null,
    notes: '',
    ...parts,
  };
}
