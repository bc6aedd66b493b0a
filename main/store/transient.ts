import type { TransientEvent } from '../contract/index.ts';

/** 20 per second and run at most. */
const gapMs = 50;

export type TransientListener = (event: TransientEvent) => void;

/**
 * Passes on what is never stored: tokens are joined per agent, of progress only the newest of a step is kept. Each flush
 * hands on one event, so that no listener ever sees more than 20 in a second.
 */
export class TransientBus {
  readonly #listeners = new Map<string, Set<TransientListener>>();
  readonly #pending = new Map<string, Map<string, TransientEvent>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();

  listen(run: string, listener: TransientListener): () => void {
    const set = this.#listeners.get(run) ?? new Set();
    this.#listeners.set(run, set.add(listener));
    return () => {
      set.delete(listener);
      if (set.size === 0) this.#listeners.delete(run);
    };
  }

  publish(run: string, event: TransientEvent): void {
    if (!this.#listeners.has(run)) return;
    const waiting = this.#pending.get(run) ?? new Map<string, TransientEvent>();
    this.#pending.set(run, waiting);
    const key = event.type === 'token' ? `token ${event.agent}` : `progress ${event.step}`;
    const before = waiting.get(key);
    const joined =
      event.type === 'token' && before?.type === 'token' ? { ...event, text: before.text + event.text } : event;
    waiting.set(key, joined);
    if (!this.#timers.has(run)) this.#flush(run);
  }

  /** Sends the oldest pending event now and the next after the gap. */
  #flush(run: string): void {
    const waiting = this.#pending.get(run);
    const next = waiting?.entries().next();
    if (!waiting || !next || next.done) {
      this.#timers.delete(run);
      this.#pending.delete(run);
      return;
    }
    waiting.delete(next.value[0]);
    for (const listener of this.#listeners.get(run) ?? []) listener(next.value[1]);
    const timer = setTimeout(() => this.#flush(run), gapMs);
    timer.unref();
    this.#timers.set(run, timer);
  }
}
