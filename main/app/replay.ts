import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import {
  AppFailure,
  err,
  type Recording,
  type RunConfig,
  type RunEvent,
  verdictDifference,
  verdictIn,
} from '../contract/index.ts';
import { RecordingExecutor } from '../jobs/recording.ts';
import { recordingProvider } from '../llm/index.ts';
import { type RunLogStore, type RunRecord, readRecording, type Store } from '../store/index.ts';
import { askUser, type Decided, recordedApprovals } from './approval.ts';
import { type AppContext, demoFolder, historyFolder, taskParts, withStore } from './context.ts';
import { type Drive, driveLoop } from './drive.ts';
import type { RunReport, ServiceContext } from './events.ts';
import { slowExecutor, slowProvider } from './slow.ts';

export interface ReplayParams {
  readonly file: string;
  /** Fail as soon as the program asks something else than it did. */
  readonly strict?: boolean;
  /** Waits so long before each answer, ms: so that a person can watch. */
  readonly slowMs?: number;
  /** Each scheme waits for the user. */
  readonly approve?: boolean;
}

const manifestSchema = z.object({
  version: z.literal(1),
  /** File of the recording that `demo` plays. */
  demo: z.string().regex(/^[A-Za-z0-9_.-]+\.json$/),
});

/** Replays a recording through the real loop, parsers and history; nothing is built, run or sent. */
export async function replayRecording(
  app: AppContext,
  params: ReplayParams,
  ctx: ServiceContext,
  kind: 'replay' | 'demo' = 'replay',
  folder = historyFolder(),
): Promise<RunReport> {
  const recording = await readRecording(params.file, ctx.signal);
  const { strict = false, slowMs = 0, approve = false } = params;
  const { config: recorded, rootSeed, originHash, taskHash, programVersion } = recording;
  const parts = taskParts(app, recorded.task, recorded.dtype);
  if (strict && (originHash !== parts.originHash || taskHash !== parts.taskHash))
    throw new AppFailure(
      err('replay.diverged', `Task ${recorded.task} is not the one that was recorded.`, {
        remedy: 'Replay without --strict to go on and see what changed.',
      }).error,
    );
  const config: RunConfig = { ...recorded, executor: 'recording', ...(approve ? { approve } : {}) };
  return withStore(ctx, folder, async (store) => {
    const options = { recording: resolve(params.file), note: recording.note, strict, slowMs, approve };
    // The recording's own hashes: what differs on disk now is told as changed.
    const driven = await store.begin({
      kind,
      config,
      options,
      rootSeed,
      originHash,
      taskHash,
      programVersion,
      environment: null,
    });
    const run = await store.find(driven.id);
    const approval = approve ? askUser(store, run.id, null) : recordedApprovals(recording);
    return drive({ app, store, driven, run, parts, ctx, after: 0, approval }, recording, { strict, slowMs });
  });
}

/** What a resume of a replay needs. */
const replayOptionsSchema = z.object({
  recording: z.string(),
  strict: z.boolean().default(false),
  slowMs: z.number().default(0),
  approve: z.boolean().default(false),
});

/** Goes on with a replay that was interrupted, paused or cancelled. Throws `input.*` when its recording is gone. */
export async function resumeReplay(
  app: AppContext,
  store: Store,
  found: RunRecord,
  ctx: ServiceContext,
  decided: Decided | null,
): Promise<RunReport> {
  const options = replayOptionsSchema.parse(found.options);
  const recording = await readRecording(options.recording, ctx.signal);
  const parts = taskParts(app, found.config.task, found.config.dtype);
  const driven = await store.resume(found, null, false);
  const run = await store.find(found.id);
  const after = (await store.events(run.id)).findLast((e) => e.type === 'resumed')?.seq ?? 1;
  const approval = options.approve ? askUser(store, run.id, decided) : recordedApprovals(recording);
  return drive({ app, store, driven, run, parts, ctx, after: after - 1, approval }, recording, options);
}

function drive(
  parts: Pick<Drive, 'app' | 'store' | 'driven' | 'run' | 'parts' | 'ctx' | 'after' | 'approval'>,
  recording: Recording,
  { strict, slowMs }: { strict: boolean; slowMs: number },
): Promise<RunReport> {
  const changes = new Changes(parts.driven.log);
  const note = (position: string, what: string) => changes.note(position, what);
  const executor = new RecordingExecutor(recording, {
    strict,
    onChange: ({ position, what }) => note(position, what),
  });
  const provider = recordingProvider({ chats: chatsOf(recording), strict, onChange: note });
  const replayed = {
    measures: false,
    remeasured: remeasuredIn(recording),
    watch: verdictWatch(recording, strict, note),
  };
  if (strict && recording.verdicts === undefined)
    parts.ctx.emit({
      type: 'notice',
      message:
        'The recording holds no verdicts (it was made by an older program): what this program finds is not held against what was found then.',
    });
  return driveLoop({ ...parts, ...replayed, executor: slowExecutor(executor, slowMs) }, slowProvider(provider, slowMs));
}

/** Holds each verdict against the recorded one: rules and statistics of the program may have changed as well as its requests. */
function verdictWatch(
  { verdicts = [] }: Recording,
  strict: boolean,
  note: (position: string, what: string) => void,
): (event: RunEvent) => void {
  const recorded = new Map(verdicts.map((verdict) => [verdict.version, verdict]));
  return (event) => {
    const now = verdictIn(event);
    const then = now === null ? undefined : recorded.get(now.version);
    const what = now === null || then === undefined ? '' : verdictDifference(then, now);
    if (now === null || what === '') return;
    if (!strict) return note(`${now.version}.verdict`, what);
    throw new AppFailure(
      err('replay.diverged', `At ${now.version} ${what}.`, {
        remedy: 'Replay without --strict to go on, or with the program version that made the recording.',
      }).error,
    );
  };
}

/** Differences are told as events, in the order in which they were met: the history queues its writes. */
class Changes {
  readonly #log: RunLogStore;

  constructor(log: RunLogStore) {
    this.#log = log;
  }

  note(position: string, what: string): void {
    // A history that cannot be written fails the loop's own next write, with the cause.
    this.#log.event(`changed:${position}`, { type: 'changed', position, what }).catch(() => {});
  }
}

/** Positions before which the run measured origin and best again ("r2.planner" of "r2.planner.remeasure.origin"). */
const remeasuredIn = (recording: Recording): Set<string> =>
  new Set(recording.steps.flatMap(({ position }) => position.match(/^(.+)\.remeasure\./)?.[1] ?? []));

function chatsOf(recording: Recording) {
  return recording.steps.flatMap(({ position, requestHash, response }) =>
    response.kind === 'chat' ? [{ position, requestHash, reply: response.reply }] : [],
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Replays the shipped recording in a folder of its own (unless CUDAMASTER_HOME names one). */
export async function playDemo(app: AppContext, ctx: ServiceContext): Promise<RunReport> {
  const dir = join(app.root, 'test', 'recordings');
  const text = await readFile(join(dir, 'index.json'), 'utf8').catch(() => null);
  const broken = (why: string) =>
    new AppFailure(
      err('input.recording', `The demo's recording cannot be found: ${why}`, { remedy: 'Install CUDAMaster again.' })
        .error,
    );
  if (text === null) throw broken(`${join(dir, 'index.json')} is missing.`);
  const manifest = manifestSchema.safeParse(jsonOf(text));
  if (!manifest.success) throw broken(z.prettifyError(manifest.error));
  return replayRecording(app, { file: join(dir, manifest.data.demo) }, ctx, 'demo', await demoFolder(app.env));
}
