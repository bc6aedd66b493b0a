import { type AppError, AppFailure, err, type Result } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';
import type { AppEvent, ServiceContext } from '../events.ts';

interface Active {
  readonly abort: AbortController;
  pause: boolean;
  /** What it waits for or does now, as its executor says. */
  step: string;
  note: string;
  readonly ended: Promise<void>;
}

export interface ActiveHooks {
  notice(error: AppError): void;
  changed(what: 'runs' | 'queue'): void;
}

/** The runs that this process drives in the background, for all its clients. */
export class ActiveRuns {
  readonly #runs = new Map<string, Active>();
  /** Begun, but without an id yet: they count as active, too. */
  readonly #starting = new Map<Promise<unknown>, AbortController>();
  readonly #hooks: ActiveHooks;
  #closed = false;

  constructor(hooks: ActiveHooks) {
    this.#hooks = hooks;
  }

  get size(): number {
    return this.#runs.size + this.#starting.size;
  }

  has(run: string): boolean {
    return this.#runs.has(run);
  }

  /** Run, step and what is going on, of every run. */
  list(): { run: string; step: string; note: string }[] {
    return [...this.#runs].map(([run, { step, note }]) => ({ run, step, note }));
  }

  /**
   * Starts a service that drives a run, and resolves with the run's id as soon as the service has told it; the rest goes on behind.
   * What ends a service before that is thrown; what ends it later is in the run's own history.
   */
  start(store: Store, work: (ctx: ServiceContext) => Promise<Result<{ readonly id: string }>>): Promise<string> {
    if (this.#closed) throw new AppFailure(err('cancelled', 'The program is ending.').error);
    const abort = new AbortController();
    const begun = this.#begin(store, work, abort);
    this.#starting.set(begun, abort);
    return begun.finally(() => this.#starting.delete(begun));
  }

  #begin(
    store: Store,
    work: (ctx: ServiceContext) => Promise<Result<{ readonly id: string }>>,
    abort: AbortController,
  ): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<void>();
    const entry: Active = { abort, pause: false, step: '', note: '', ended: ended.promise };
    let id: string | null = null;
    const ctx: ServiceContext = {
      store,
      signal: entry.abort.signal,
      shouldPause: () => entry.pause,
      emit: (event) => {
        if (event.type === 'run') {
          id = event.run;
          this.#runs.set(id, entry);
          this.#hooks.changed('queue');
          resolve(id);
        } else this.#take(entry, event);
      },
    };
    void work(ctx)
      .then((result) => {
        if (result.ok) resolve(result.value.id);
        else if (id === null) reject(new AppFailure(result.error));
        else if (result.error.code !== 'cancelled') this.#hooks.notice(result.error);
      }, reject)
      .finally(() => {
        // A client may have resumed it since its last event: then the entry is the new drive's.
        if (id !== null && this.#runs.get(id) === entry) this.#runs.delete(id);
        ended.resolve();
        this.#hooks.changed('runs');
        this.#hooks.changed('queue');
      });
    return promise;
  }

  #take(entry: Active, event: AppEvent): void {
    if (event.type === 'notice') {
      const { message, remedy, detail } = event;
      // The one thing that services tell is where prompts go.
      this.#hooks.notice({ code: 'provider.consent', message, remedy, detail });
    }
    if (event.type !== 'transient' || event.event.type !== 'progress') return;
    const { step, note = '' } = event.event;
    if (isWait(note) !== isWait(entry.note)) this.#hooks.changed('queue');
    entry.step = step;
    entry.note = note;
  }

  /** Resolves when everything that is starting now has begun, or failed to. */
  async begun(): Promise<void> {
    await Promise.allSettled(this.#starting.keys());
  }

  /** Stops a run after its current step. false: this process does not drive it. */
  pause(run: string): boolean {
    const entry = this.#runs.get(run);
    if (entry) entry.pause = true;
    return entry !== undefined;
  }

  /** Stops a run now; resolves when it has stopped. false: this process does not drive it. */
  async cancel(run: string): Promise<boolean> {
    const entry = this.#runs.get(run);
    entry?.abort.abort();
    await entry?.ended;
    return entry !== undefined;
  }

  /** Cancels everything and waits until it is saved. Nothing can be started afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const abort of this.#starting.values()) abort.abort();
    for (const entry of this.#runs.values()) entry.abort.abort();
    await Promise.allSettled(this.#starting.keys());
    await Promise.all([...this.#runs.values()].map((entry) => entry.ended));
  }
}

/** The executor's words while somebody else has the GPU. */
export const isWait = (note: string): boolean => /^waiting for the GPU/i.test(note);
