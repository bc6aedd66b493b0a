import { attempt } from '../../base/fault.ts';
import { AppFailure, err } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';
import type { ServiceContext } from '../events.ts';
import { replayRecording } from '../replay.ts';
import { evaluateSource, optimizeTask, type ResumeParams, resumeRun } from '../run.ts';
import type { ApiContext, Handlers } from './context.ts';
import { recordingFile } from './recordings.ts';

type Methods =
  | 'runs.start'
  | 'runs.evaluate'
  | 'runs.replay'
  | 'runs.resume'
  | 'runs.answer'
  | 'runs.approve'
  | 'runs.pause'
  | 'runs.cancel';

type Drive = (ctx: ServiceContext) => Promise<{ readonly id: string }>;

/** Drives in the background; the answer is the run's id. */
async function begin(api: ApiContext, drive: Drive): Promise<{ run: string }> {
  const store = await api.store();
  return { run: await api.active.start(store, (ctx) => attempt(() => drive(ctx))) };
}

const resume = (api: ApiContext, params: ResumeParams): Promise<{ run: string }> =>
  begin(api, (ctx) => resumeRun(api.app, params, ctx));

/** A run that this process has taken just now is not among the active ones yet: pause and cancel must not miss it. */
async function arrived(api: ApiContext, store: Store, run: string): Promise<void> {
  if (!api.active.has(run) && (await store.drivers()).get(run)?.here) await api.active.begun();
}

/** Who drives a run that this process does not. Throws what says so. */
async function elsewhere(api: ApiContext, name: string, doing: string): Promise<never> {
  const store = await api.store();
  const run = await store.find(name);
  const driver = (await store.drivers()).get(run.id);
  if (driver?.here)
    throw new AppFailure(
      err('store.lease', `Run ${run.id} is being started or ended by this program.`, { remedy: 'Try again.' }).error,
    );
  if (driver)
    throw new AppFailure(
      err('store.lease', `Run ${run.id} is driven by another process (${driver.host}, pid ${driver.pid}).`, {
        remedy: `${doing} it there.`,
      }).error,
    );
  throw new AppFailure(err('usage', `Run ${run.id} is not under way (${run.status}).`).error);
}

export const drivingMethods = (api: ApiContext): Handlers<Methods> => ({
  'runs.start': (params) => begin(api, (ctx) => optimizeTask(api.app, params, ctx)),
  'runs.evaluate': ({ source, label, ...rest }) =>
    begin(api, (ctx) =>
      evaluateSource(
        api.app,
        {
          ...rest,
          kind: source === undefined ? 'profile' : 'evaluate',
          ...(source === undefined ? {} : { text: { label, source } }),
        },
        ctx,
      ),
    ),
  'runs.replay': async ({ recording, ...rest }) => {
    const file = await recordingFile(api.app.root, recording);
    return begin(api, (ctx) => replayRecording(api.app, { file, ...rest }, ctx));
  },
  'runs.resume': (params) => resume(api, params),
  'runs.answer': ({ run, text }) => resume(api, { run, answerText: text }),
  'runs.approve': ({ run, scheme, reject }) =>
    resume(api, { run, decision: { verdict: reject === true ? 'reject' : 'approve', scheme } }),
  'runs.pause': async ({ run }) => {
    const store = await api.store();
    const { id } = await store.find(run);
    await arrived(api, store, id);
    const { status } = await store.find(id);
    if (status !== 'running' || !api.active.pause(id)) await elsewhere(api, id, 'Pause');
    return null;
  },
  'runs.cancel': async ({ run }) => {
    const store = await api.store();
    const before = await store.find(run);
    await arrived(api, store, before.id);
    const stopped = await api.active.cancel(before.id);
    const found = await store.find(before.id);
    if (stopped && (found.status === 'cancelled' || found.status === 'done')) return null;
    // It waits, was paused, or came to a stop by itself just now.
    const over = found.status === 'done' || found.status === 'cancelled';
    if (over || (await store.isDriven(found.id))) await elsewhere(api, found.id, 'Cancel');
    await store.cancel(found);
    return null;
  },
});
