import { writeOutput } from '../base/files.ts';
import { deriveRoot } from '../base/random.ts';
import {
  AppFailure,
  type Evaluation,
  type ExportFile,
  err,
  type RunState,
  stepOfVersion,
  unwrap,
} from '../contract/index.ts';
import { type ExportBundle, exportBundle, type Measured } from '../export/index.ts';
import { stateOf } from '../optimizer/index.ts';
import { type RunRecord, type Store, versionId } from '../store/index.ts';
import { type AppContext, historyFolder, taskParts, withStore } from './context.ts';
import type { ServiceContext } from './events.ts';

/** A version inside its run's state. */
interface Found {
  readonly position: string;
  readonly source: string | null;
  readonly compileArgs: readonly string[];
  readonly scheme: string;
  readonly evaluation: Evaluation | null;
}

const notFound = (run: string, what: string, remedy: string): AppFailure =>
  new AppFailure(err('store.not-found', `Run ${run} has no ${what}.`, { remedy }).error);

function originOf(state: RunState): Found {
  return { position: 'origin', source: null, compileArgs: [], scheme: '', evaluation: state.baseline };
}

function attemptOf(run: string, state: RunState, round: number, attempt: number): Found {
  const position = `r${round}.a${attempt}`;
  const inRound = state.rounds.find((r) => r.round === round);
  const found = inRound?.attempts.find((a) => a.attempt === attempt);
  if (inRound === undefined || found === undefined)
    throw notFound(run, `version ${position}`, '`cudamaster history` lists the versions.');
  if (found.source === null)
    throw notFound(
      run,
      `source of ${position}`,
      `The reply held no usable code: ${found.reason || 'it is under way'}.`,
    );
  const { source, compileArgs, evaluation } = found;
  return { position, source, compileArgs, scheme: inRound.scheme, evaluation };
}

/** The best of a run that was optimized; the one candidate of a single evaluation; null: nothing but the origin. */
function bestOf(run: RunRecord, state: RunState): Found | null {
  if (state.best && state.best.round > 0) return attemptOf(run.id, state, state.best.round, state.best.attempt);
  if ((run.kind === 'evaluate' || run.kind === 'profile') && state.rounds.length > 0)
    return attemptOf(run.id, state, 1, 0);
  return null;
}

/** A run whose best is its origin gives nothing unasked: whoever ships the file believes that it is the faster one. */
const noBest = (run: RunRecord, state: RunState): AppFailure => {
  const first = state.rounds[0]?.attempts.find((a) => a.source !== null);
  const attempt = first
    ? `, or one that was not accepted by its name (${run.id}:r${state.rounds[0]?.round}.a${first.attempt})`
    : '';
  return new AppFailure(
    err('candidate.not-accepted', `Run ${run.id} has no accepted version: its best is the origin.`, {
      remedy: `Ask for the origin with --origin (or as ${run.id}:origin)${attempt}. \`cudamaster show ${run.id}\` says why none was accepted.`,
    }).error,
  );
};

/**
 * "RUN" or "last": its best version; "RUN:origin", "RUN:r1.a0". `fallback`: the origin where nothing was accepted. Throws AppFailure
 * `store.not-found`, `usage`, `candidate.not-accepted`.
 */
export async function locate(
  store: Store,
  name: string,
  fallback: 'origin' | 'none' = 'none',
): Promise<{ run: RunRecord; state: RunState; found: Found }> {
  const colon = name.indexOf(':');
  const runName = colon < 0 ? name : name.slice(0, colon);
  const position = colon < 0 ? undefined : name.slice(colon + 1);
  const run = await store.find(runName);
  const state = stateOf(await store.events(run.id));
  if (position === undefined) {
    const found = bestOf(run, state) ?? (fallback === 'origin' ? originOf(state) : null);
    if (found === null) throw noBest(run, state);
    return { run, state, found };
  }
  if (position === 'origin') return { run, state, found: originOf(state) };
  const at = /^r(\d{1,3})\.a(\d{1,3})$/.exec(position);
  if (at === null)
    throw new AppFailure(
      err('usage', `"${name}" names no version.`, { remedy: 'Versions are named RUN:origin or RUN:r1.a0.' }).error,
    );
  return { run, state, found: attemptOf(run.id, state, Number(at[1]), Number(at[2])) };
}

/** What the job's raw result says beyond the evaluation; null: the step was not kept. */
async function measuredOf(store: Store, run: string, step: string): Promise<Measured | null> {
  const known = (await store.steps(run)).some((s) => s.position === step);
  const job = known ? (await store.step(run, step)).job : null;
  const sessions = (job?.steps ?? []).flatMap((s) => (s.session?.mode === 'time' ? [s.session] : []));
  const last = sessions.findLast((s) => s.phase === 'confirm') ?? null;
  if (job === null || last === null) return null;
  const { timerStepNs, peaks, clocks } = last;
  return { timerStepNs, peaks, clocks, startedAt: job.startedAt };
}

/** The bundle of a version. Throws AppFailure `store.not-found`, `usage`, `candidate.not-accepted`, `input.task`. Nothing is built or run. */
export async function bundleOf(
  app: AppContext,
  store: Store,
  name: string,
): Promise<{ id: string; bundle: ExportBundle; taskChanged: boolean }> {
  const { run, state, found } = await locate(store, name);
  const { task, dtype, sizeSet, profile } = run.config;
  const parts = taskParts(app, task, dtype);
  const at = /^r(\d+)\.a(\d+)$/.exec(found.position);
  const taskChanged = run.taskHash !== parts.taskHash;
  const bundle = unwrap(
    exportBundle({
      ...found,
      task: parts.task,
      dtype,
      run: run.id,
      kind: run.kind,
      at: run.createdAt,
      programVersion: run.programVersion,
      sizeSet,
      profileMode: profile,
      originSource: state.originSource || parts.origin,
      baseline: state.baseline,
      measured: await measuredOf(store, run.id, stepOfVersion(state, Number(at?.[1] ?? 0), Number(at?.[2] ?? 0))),
      taskChanged,
      planSeed: deriveRoot(run.rootSeed, 'plan'),
    }),
  );
  const id = at ? versionId(run.id, Number(at[1]), Number(at[2])) : versionId(run.id, 0, 0);
  return { id, bundle, taskChanged };
}

/** For `versions.export`. */
export async function exportFile(app: AppContext, store: Store, version: string): Promise<ExportFile> {
  const { bundle } = await bundleOf(app, store, version);
  return { name: bundle.name, base64: Buffer.from(bundle.zip).toString('base64'), sha256: bundle.sha256 };
}

export interface ExportParams {
  /** Run (its best version) or version. */
  readonly version: string;
  readonly out: string;
  /** The run's origin instead of its best version. */
  readonly origin?: boolean;
}

/** "RUN" with `origin` is "RUN:origin"; another version cannot be meant as well. */
function wantedVersion({ version, origin }: ExportParams): string {
  if (origin !== true || version.endsWith(':origin')) return version;
  if (!version.includes(':')) return `${version}:origin`;
  throw new AppFailure(
    err('usage', `--origin and the version ${version} contradict each other.`, {
      remedy: 'Give the run, or leave --origin out.',
    }).error,
  );
}

export interface ExportReport {
  readonly version: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly files: readonly string[];
}

/** Writes the bundle of a version as a ZIP file. */
export function exportVersion(app: AppContext, params: ExportParams, ctx: ServiceContext): Promise<ExportReport> {
  return withStore(ctx, historyFolder(), async (store) => {
    const { id, bundle, taskChanged } = await bundleOf(app, store, wantedVersion(params));
    if (taskChanged)
      ctx.emit({
        type: 'notice',
        message:
          'The task has changed since this run: the test program is of the task as it is now, the figures are of the former one. The report in the file says so.',
      });
    await writeOutput(params.out, bundle.zip);
    const { zip, sha256, files } = bundle;
    return { version: id, file: params.out, bytes: zip.length, sha256, files: [...files.keys()].sort() };
  });
}
