import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppFailure, err, type Recording, type RunConfig } from '../contract/index.ts';
import { RecordingExecutor } from '../jobs/recording.ts';
import { recordingProvider } from '../llm/index.ts';
import { type RunLogStore, readRecording } from '../store/index.ts';
import { type AppContext, demoFolder, historyFolder, taskParts, withStore } from './context.ts';
import { driveLoop } from './drive.ts';
import type { RunReport, ServiceContext } from './events.ts';

export interface ReplayParams {
  readonly file: string;
  /** Fail as soon as the program asks something else than it did. */
  readonly strict?: boolean;
  /** Waits so long before each answer, ms: so that a person can watch. */
  readonly slowMs?: number;
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
  const strict = params.strict ?? false;
  const { config: recorded, rootSeed, originHash, taskHash, programVersion } = recording;
  const parts = taskParts(app, recorded.task, recorded.dtype);
  if (strict && (originHash !== parts.originHash || taskHash !== parts.taskHash))
    throw new AppFailure(
      err('replay.diverged', `Task ${recorded.task} is not the one that was recorded.`, {
        remedy: 'Replay without --strict to go on and see what changed.',
      }).error,
    );
  const config: RunConfig = { ...recorded, executor: 'recording' };
  return withStore(ctx, folder, async (store) => {
    const options = { recording: params.file, note: recording.note };
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
    const changes = new Changes(driven.log);
    const executor = new RecordingExecutor(recording, {
      strict,
      onChange: ({ position, what }) => changes.note(position, what),
    });
    const provider = recordingProvider({
      chats: chatsOf(recording),
      strict,
      onChange: (p, what) => changes.note(p, what),
    });
    const remeasured = remeasuredIn(recording);
    const drive = { app, store, driven, run, parts, executor, ctx, after: 0, measures: false, remeasured };
    return driveLoop(drive, provider);
  });
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

/** Positions before which the run measured origin and best again ("r2.a0.eval" of "r2.a0.eval.remeasure.origin"). */
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
