import { attempt } from '../base/fault.ts';
import { cacheDir, configDir, dataDir, ownTasksDir, setResourceRoot } from '../base/paths.ts';
import { isSecretName, registerSecret } from '../base/redact.ts';
import type {
  AppError,
  Check,
  DoctorReport,
  Dtype,
  ModelState,
  ProviderState,
  Result,
  Spend,
  VersionRow,
} from '../contract/index.ts';
import { libraryTitle } from '../evaluate/libraries.ts';
import { listTasks, originName } from '../evaluate/task/index.ts';
import { Store, type VersionEdit } from '../store/index.ts';
import { doctor } from '../toolchain/index.ts';
import { type BenchAnswer, type BenchParams, beginBench, resumeBench } from './bench.ts';
import { type CalibrateAnswer, type CalibrateParams, calibrateGpu } from './calibrate.ts';
import { type CompareAnswer, type CompareParams, compareBenches } from './compare.ts';
import { type AppContext, settingsOf } from './context.ts';
import type { EvaluationReport, RunReport, ServiceContext } from './events.ts';
import { type ExportParams, type ExportReport, exportVersion } from './export.ts';
import { listRuns, type RunLine, recordRun, showRun } from './history.ts';
import { type OpenPlace, openPlace } from './machine.ts';
import {
  type ConsentAnswer,
  changeConsent,
  changeEndpoint,
  type EndpointParams,
  type ModelsParams,
  modelList,
  type PriceAnswer,
  type PriceParams,
  priceList,
  providerList,
  removePrice,
  setPrice,
} from './models.ts';
import {
  type AddAnswer,
  type AddParams,
  addOwnTask,
  type DraftAnswer,
  type DraftParams,
  draftOwnTask,
  removeOwnTask,
} from './own-tasks.ts';
import {
  type ProfileParams,
  type ProfileReport,
  profileSource,
  type StoredProfileParams,
  storedProfile,
} from './profile.ts';
import { playDemo, type ReplayParams, replayRecording } from './replay.ts';
import {
  type EvaluateParams,
  evaluateSource,
  type OptimizeParams,
  optimizeTask,
  type ResumeParams,
  resumeRun,
} from './run.ts';
import { readSpend } from './spend.ts';
import { programVersion } from './version.ts';
import {
  type BinAnswer,
  type BinParams,
  binRun,
  editHistory,
  type HistoryParams,
  listHistory,
  type PurgeAnswer,
  type PurgeParams,
  purgeBin,
} from './versions.ts';
import { workBundles } from './worker.ts';

export { type Comparison, oneMeasurement, quantities } from '../bench/compare.ts';
export type { AttemptState, RoundState, RunState, UsageState } from '../optimizer/index.ts';
export type { StoredEvent } from '../store/index.ts';
export type { BenchAnswer, BenchParams } from './bench.ts';
export type { CalibrateAnswer, CalibrateParams } from './calibrate.ts';
export type { CompareAnswer, CompareParams } from './compare.ts';
export type { AppEvent, EvaluationReport, RunReport, ServiceContext } from './events.ts';
export type { ExportParams, ExportReport } from './export.ts';
export type { RunLine } from './history.ts';
export type { OpenPlace, Place, RunPlace } from './machine.ts';
export type { ConsentAnswer, EndpointParams, PriceAnswer, PriceParams } from './models.ts';
export type { AddAnswer, DraftAnswer } from './own-tasks.ts';
export type { ProfileParams, ProfileReport, StoredProfileParams } from './profile.ts';
export { type ProviderRequest, providerNames } from './providers.ts';
export type { EvaluateParams, OptimizeParams, ResumeParams } from './run.ts';
export { type BinAnswer, type HistoryParams, historySorts, type PurgeAnswer } from './versions.ts';

export interface AppOptions {
  /** Folder of prompts, kernels and recordings: real files. */
  readonly root: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Where jobs run; default this machine and bundle folders. */
  readonly openPlace?: OpenPlace;
}

/** One task in one data type. A task that cannot be loaded has one line. */
export interface TaskLine {
  readonly id: string;
  /** null: the task cannot be used. */
  readonly dtype: Dtype | null;
  /** C name of the wrapper. */
  readonly wrapper: string | null;
  /** The vendor library that is measured beside it; null: none does this task. */
  readonly library: string | null;
  readonly title: string | null;
  readonly category: string | null;
  readonly dtypes: readonly string[];
  readonly sizes: { readonly published: number; readonly large: number } | null;
  /** Why it cannot be used; null = usable. */
  readonly fault: string | null;
}

type Service<P, T> = (params: P, ctx: ServiceContext) => Promise<Result<T>>;

/** The services of the engine. Each answers with a Result, tells its progress to `ctx.emit` and ends at once on `ctx.signal`. */
export interface App {
  readonly version: string;
  doctor: Service<Record<string, never>, DoctorReport>;
  tasks: Service<Record<string, never>, readonly TaskLine[]>;
  /** Makes the folder of a task of the user's own from a .cu. */
  draftTask: Service<DraftParams, DraftAnswer>;
  /** Takes such a folder in. */
  addTask: Service<AddParams, AddAnswer>;
  removeTask: Service<{ task: string }, { task: string; kept: string }>;
  evaluate: Service<EvaluateParams, EvaluationReport>;
  profile: Service<ProfileParams, ProfileReport>;
  /** The profile of a version of the history: nothing is run. */
  storedProfile: Service<StoredProfileParams, ProfileReport>;
  optimize: Service<OptimizeParams, RunReport>;
  runs: Service<{ limit?: number }, readonly RunLine[]>;
  show: Service<{ run: string; follow?: boolean }, RunReport>;
  resume: Service<ResumeParams, RunReport>;
  record: Service<{ run: string; out: string; note?: string }, { file: string; bytes: number; steps: number }>;
  replay: Service<ReplayParams, RunReport>;
  exportVersion: Service<ExportParams, ExportReport>;
  history: Service<HistoryParams, readonly VersionRow[]>;
  editVersion: Service<{ version: string; edit: VersionEdit }, VersionRow>;
  /** All versions of a run into the bin, or out of it. */
  binRun: Service<BinParams, BinAnswer>;
  /** Deletes for good. */
  purge: Service<PurgeParams, PurgeAnswer>;
  demo: Service<Record<string, never>, RunReport>;
  bench: Service<BenchParams, BenchAnswer>;
  resumeBench: Service<{ bench: string; results?: string }, BenchAnswer>;
  /** Two benches figure by figure, by their reports: nothing is run. */
  compareBenches: Service<CompareParams, CompareAnswer>;
  calibrate: Service<CalibrateParams, CalibrateAnswer>;
  providers: Service<Record<string, never>, readonly ProviderState[]>;
  models: Service<ModelsParams, readonly ModelState[]>;
  /** Enters or removes a provider of the user's own. */
  endpoint: Service<EndpointParams, readonly ProviderState[]>;
  /** Lists, gives or takes back the consent that prompts go to a remote host. */
  consent: Service<{ give?: string; revoke?: string }, ConsentAnswer>;
  prices: Service<Record<string, never>, PriceAnswer>;
  setPrice: Service<PriceParams, PriceAnswer>;
  removePrice: Service<{ model: string; address?: string }, PriceAnswer>;
  spend: Service<Record<string, never>, Spend>;
  /** Arguments as of dist/worker.js; gives back the exit code. */
  worker(args: readonly string[], io: Parameters<typeof workBundles>[1]): Promise<number>;
}

/** Values that are long and stand under a key's name are keys: nothing written may hold them, whether they were used or not. */
function registerKeysOf(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env))
    if (isSecretName(name) && value && value.length >= 12 && !value.startsWith('/')) registerSecret(value);
}

/** What the services and the API work with. */
export function appContext(options: AppOptions): AppContext {
  const env = options.env ?? process.env;
  setResourceRoot(options.root);
  registerKeysOf(env);
  const version = programVersion(options.root);
  return { root: options.root, env, version, openPlace: options.openPlace ?? openPlace };
}

/** Puts the services together. */
export function createApp(options: AppOptions): App {
  const app = appContext(options);
  return {
    version: app.version,
    doctor: (_params, ctx) => attempt(() => examine(ctx)),
    tasks: () => attempt(() => taskLines(app.root)),
    draftTask: (params, ctx) => attempt(() => draftOwnTask(app, params, ctx)),
    addTask: (params, ctx) => attempt(() => addOwnTask(app, params, ctx)),
    removeTask: (params) => attempt(() => removeOwnTask(app, params)),
    evaluate: (params, ctx) => attempt(() => evaluateSource(app, params, ctx)),
    profile: (params, ctx) => attempt(() => profileSource(app, params, ctx)),
    storedProfile: (params, ctx) => attempt(() => storedProfile(params, ctx)),
    optimize: (params, ctx) => attempt(() => optimizeTask(app, params, ctx)),
    runs: (params, ctx) => attempt(() => listRuns(params, ctx)),
    show: (params, ctx) => attempt(() => showRun(params, ctx)),
    resume: (params, ctx) => attempt(() => resumeRun(app, params, ctx)),
    record: (params, ctx) => attempt(() => recordRun(params, ctx)),
    replay: (params, ctx) => attempt(() => replayRecording(app, params, ctx)),
    exportVersion: (params, ctx) => attempt(() => exportVersion(app, params, ctx)),
    history: (params, ctx) => attempt(() => listHistory(params, ctx)),
    editVersion: (params, ctx) => attempt(() => editHistory(params, ctx)),
    binRun: (params, ctx) => attempt(() => binRun(params, ctx)),
    purge: (params, ctx) => attempt(() => purgeBin(params, ctx)),
    worker: workBundles,
    demo: (_params, ctx) => attempt(() => playDemo(app, ctx)),
    bench: (params, ctx) => attempt(() => beginBench(app, params, ctx)),
    resumeBench: (params, ctx) => attempt(() => resumeBench(app, params, ctx)),
    compareBenches: (params, ctx) => attempt(() => compareBenches(params, ctx)),
    calibrate: (params, ctx) => attempt(() => calibrateGpu(app, params, ctx)),
    providers: () => attempt(() => providerList(app)),
    models: (params, ctx) => attempt(() => modelList(app, params, ctx)),
    endpoint: (params) => attempt(() => changeEndpoint(app, params)),
    consent: (params) => attempt(() => changeConsent(params)),
    prices: () => attempt(priceList),
    setPrice: (params) => attempt(() => setPrice(params)),
    removePrice: (params) => attempt(() => removePrice(params)),
    spend: (_params, ctx) => attempt(() => readSpend(ctx)),
  };
}

function taskLines(root: string): TaskLine[] {
  return listTasks(root, ownTasksDir()).flatMap(({ id, loaded }): TaskLine[] => {
    if (!loaded.ok) return [{ ...unusable, id, fault: loaded.error.message }];
    const { task, library } = loaded.value;
    const { title, category, dtypes, sizes } = task;
    return dtypes.map((dtype) => ({
      id,
      dtype,
      wrapper: originName(task, dtype),
      library: library === null ? null : libraryTitle(library),
      title,
      category,
      dtypes,
      sizes: { published: sizes.published.length, large: sizes.large.length },
      fault: null,
    }));
  });
}

const unusable = { dtype: null, wrapper: null, library: null, title: null, category: null, dtypes: [], sizes: null };

/** Whatever is wrong with the machine is a line of the report, and hides no other line. */
export async function examine(ctx: ServiceContext): Promise<DoctorReport> {
  const settings = await attempt(settingsOf);
  const report = await doctor({ settings: settings.ok ? settings.value.tools : {}, signal: ctx.signal });
  const checks = [...report.checks, await historyCheck(), await foldersCheck()];
  return { ...report, checks: settings.ok ? checks : [...checks, faultCheck('settings', 'Settings', settings.error)] };
}

function faultCheck(id: string, title: string, error: AppError): Check {
  const { message, remedy, detail } = error;
  return { id, title, status: 'error', found: message, cause: detail, remedy };
}

async function historyCheck(): Promise<Check> {
  const id = 'history';
  const title = 'History';
  const opened = await attempt(async () => Store.open(dataDir()));
  if (!opened.ok) return faultCheck(id, title, opened.error);
  const store = opened.value;
  const { notice, file } = store;
  await store.close();
  if (notice)
    return { id, title, status: 'warning', found: notice.message, cause: notice.detail, remedy: notice.remedy };
  return { id, title, status: 'ok', found: file };
}

async function foldersCheck(): Promise<Check> {
  const found = await attempt(() => `cache ${cacheDir()}, settings ${configDir()}`);
  if (found.ok) return { id: 'folders', title: 'Folders', status: 'ok', found: found.value };
  return faultCheck('folders', 'Folders', found.error);
}
