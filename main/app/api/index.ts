import { z } from 'zod';
import { attempt } from '../../base/fault.ts';
import {
  type ApiMethod,
  type ApiParams,
  type ApiResults,
  type AppError,
  AppFailure,
  apiMethods,
  apiParams,
  err,
  type Result,
  type StaleList,
  type TransientEvent,
} from '../../contract/index.ts';
import { gpuHolders } from '../../jobs/gpu-holder.ts';
import { Store, type StoredEvent, type Subscription } from '../../store/index.ts';
import { type AppContext, historyFolder } from '../context.ts';
import { aboutMethods } from './about.ts';
import { ActiveRuns } from './active.ts';
import type { ApiContext, Handler, Handlers } from './context.ts';
import { drivingMethods } from './driving.ts';
import { metricMethods } from './metrics.ts';
import { ownTaskMethods, ownTasksMark } from './own-tasks.ts';
import { providerMethods } from './providers.ts';
import { queueMethods } from './queue.ts';
import { recordingMethods } from './recordings.ts';
import { runMethods } from './runs.ts';
import { settingsMethods } from './settings.ts';
import { spendMethods } from './spend.ts';
import { taskMethods } from './tasks.ts';
import { versionMethods } from './versions.ts';
import { Watch } from './watch.ts';

export interface EngineOptions {
  readonly door: 'electron' | 'web';
}

export interface EngineListener {
  changed(what: StaleList): void;
  notice(error: AppError): void;
}

/** The engine as the API offers it: one history, the runs driven here, everything that clients can ask. */
export interface Engine {
  /** Answers one request; parameters are checked here. Never rejects. `tell`: what a long one is doing. */
  call(method: unknown, params: unknown, signal: AbortSignal, tell?: (note: string) => void): Promise<Result<unknown>>;
  /** Events of a run after a sequence number, whichever process drives it. Throws `store.*` through the subscription. */
  subscribe(
    run: string,
    after: number,
    onEvent: (event: StoredEvent) => void,
    onTransient: (event: TransientEvent) => void,
  ): Promise<Subscription>;
  listen(listener: EngineListener): () => void;
  /** Runs that this process drives now. */
  activeRuns(): number;
  /** Cancels what runs, waits until it is saved, closes the history. */
  close(): Promise<void>;
}

const isMethod = (name: unknown): name is ApiMethod =>
  typeof name === 'string' && apiMethods.includes(name as ApiMethod);

/** What a caller got wrong, or null. */
function checked<M extends ApiMethod>(method: M, params: unknown): Result<ApiParams<M>> {
  const parsed = apiParams[method].safeParse(params ?? {});
  if (parsed.success) return { ok: true, value: parsed.data as ApiParams<M> };
  return err('usage', `${method}: ${z.prettifyError(parsed.error)}`);
}

/** A call given up answers at once; what it was doing comes to its end unseen. */
function orAbandoned<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const give = () => reject(new AppFailure(err('cancelled', 'The call was abandoned.').error));
  if (signal.aborted) give();
  signal.addEventListener('abort', give, { once: true });
  work.catch(() => {});
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', give));
}

export function createEngine(app: AppContext, options: EngineOptions): Engine {
  const listeners = new Set<EngineListener>();
  const notices: AppError[] = [];
  let opened: Promise<Store> | null = null;
  const notice = (error: AppError): void => {
    for (const listener of listeners) listener.notice(error);
  };
  const open = async (): Promise<Store> => {
    const store = await Store.open(historyFolder());
    if (store.notice) {
      notices.push(store.notice);
      notice(store.notice);
    }
    return store;
  };
  const store = (): Promise<Store> => {
    opened ??= open().catch((fault) => {
      opened = null; // a busy or unwritable history may be usable with the next call
      throw fault;
    });
    return opened;
  };
  const watch = new Watch(store, () => ({ queue: JSON.stringify(gpuHolders()), tasks: ownTasksMark() }));
  const active = new ActiveRuns({ notice, changed: (what) => watch.tell(what) });
  const api: ApiContext = {
    app,
    door: options.door,
    store,
    active,
    notices,
    notice,
    changed: (what) => watch.tell(what),
  };
  const methods: Handlers<ApiMethod> = {
    ...aboutMethods(api),
    ...settingsMethods(),
    ...providerMethods(api),
    ...metricMethods(),
    ...taskMethods(api),
    ...ownTaskMethods(api),
    ...recordingMethods(api),
    ...runMethods(api),
    ...drivingMethods(api),
    ...queueMethods(api),
    ...versionMethods(api),
    ...spendMethods(api),
  };
  const answer = async <M extends ApiMethod>(
    method: M,
    params: unknown,
    signal: AbortSignal,
    tell: (note: string) => void,
  ) => {
    const given = checked(method, params);
    if (!given.ok) return given;
    const handler = methods[method] as Handler<M>;
    return attempt((): Promise<ApiResults[M]> => orAbandoned(handler(given.value, signal, tell), signal));
  };
  return {
    call: async (method, params, signal, tell = () => {}) =>
      isMethod(method) ? answer(method, params, signal, tell) : err('usage', 'There is no such method.'),
    subscribe: async (run, after, onEvent, onTransient) => {
      const history = await store();
      return history.subscribe((await history.find(run)).id, after, onEvent, onTransient);
    },
    listen: (listener) => {
      listeners.add(listener);
      const stop = watch.listen((what) => listener.changed(what));
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
    activeRuns: () => active.size,
    close: async () => {
      await active.close();
      watch.close();
      const history = await opened?.catch(() => null);
      opened = null;
      await history?.close();
    },
  };
}
