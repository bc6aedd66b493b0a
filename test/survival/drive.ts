/** The real loop on a real history, answered from a recording: what a run does, without GPU and model, as often as one likes. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { taskParts } from '../../main/app/context.ts';
import { type Drive, driveLoop } from '../../main/app/drive.ts';
import { reportOf, writeSources } from '../../main/app/report.ts';
import { setResourceRoot } from '../../main/base/paths.ts';
import type { ChatProvider, Executor, Recording } from '../../main/contract/index.ts';
import { defaults } from '../../main/evaluate/defaults.ts';
import { RecordingExecutor } from '../../main/jobs/recording.ts';
import { recordingProvider } from '../../main/llm/index.ts';
import { parseRecording, Store } from '../../main/store/index.ts';

// How finely intervals are resampled is not what is tested here, and would be most of the time.
Object.assign(defaults.accept, { resamples: 20 });

/** Every start of an external action is noted here at once: it outlives a kill -9. One position a line. */
export const executedFile = (folder: string): string => join(folder, 'executed.txt');

const recordings = new Map<string, Recording>();
export const recordingOf = (root: string, name: string): Recording => {
  const file = join(root, 'test', 'recordings', name);
  const recording = recordings.get(file) ?? parseRecording(readFileSync(file, 'utf8'), file);
  recordings.set(file, recording);
  return recording;
};

/** Begins the recorded run in the history of `folder`, or goes on with the one that is there, until it ends. */
export async function driveRecorded(root: string, folder: string, recording: Recording): Promise<void> {
  setResourceRoot(root);
  const store = await Store.open(folder);
  try {
    if (store.notice) throw new Error(`the history was damaged: ${store.notice.message}`);
    const [found] = await store.runs(1);
    if (found?.status === 'done') return await writeSources(await reportOf(store, found.id));
    const { rootSeed, originHash, taskHash, programVersion } = recording;
    const environment = { gpu: 'G', driver: '580.1', toolkit: '13.0', harness: 'h' };
    const config = { ...recording.config, executor: 'local' as const, provider: 'openai' };
    const driven = found
      ? await store.resume(found, environment, true)
      : await store.begin({
          kind: 'optimize',
          config,
          options: {},
          rootSeed,
          originHash,
          taskHash,
          programVersion,
          environment,
        });
    const run = await store.find(driven.id);
    const app = {
      root,
      env: {},
      version: programVersion,
      openPlace: () => Promise.reject(new Error('no place is opened')),
    };
    const { executor, provider } = answers(folder, recording);
    const parts = taskParts(app, run.config.task, run.config.dtype);
    const ctx = { emit: () => {} };
    const drive: Drive = { app, store, driven, run, parts, executor, ctx, after: 0, measures: false };
    await driveLoop(drive, provider);
  } finally {
    await store.close();
  }
}

function answers(folder: string, recording: Recording): { executor: Executor; provider: ChatProvider } {
  const note = (position: string) => appendFileSync(executedFile(folder), `${position}\n`);
  const jobs = new RecordingExecutor(recording);
  const chats = recordingProvider({
    strict: false,
    chats: recording.steps.flatMap(({ position, requestHash, response }) =>
      response.kind === 'chat' ? [{ position, requestHash, reply: response.reply }] : [],
    ),
  });
  return {
    executor: {
      name: 'local',
      execute: (bundle, options) => {
        note(options.position);
        return jobs.execute(bundle, options);
      },
    },
    provider: {
      name: 'recording',
      chat: (request, options) => {
        note(options.position);
        return chats.chat(request, options);
      },
    },
  };
}
