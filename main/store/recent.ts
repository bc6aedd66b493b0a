import type { RunEvent } from '../contract/index.ts';

/** Length of text (bytes) whose events are kept: those of several runs. */
const mostBytes = 8 << 20;

/**
 * Events that this process wrote itself, as they were stored: whoever follows its own run need not read, parse and check them again. Only events
 * whose transaction was committed belong here; an event never changes under its number. Nobody may change what it gets.
 */
export class RecentEvents {
  readonly #events = new Map<string, { readonly event: RunEvent; readonly bytes: number }>();
  #bytes = 0;

  add(run: string, seq: number, event: RunEvent, bytes: number): void {
    this.#events.set(`${run} ${seq}`, { event, bytes });
    this.#bytes += bytes;
    for (const [key, oldest] of this.#events) {
      if (this.#bytes <= mostBytes) return;
      this.#events.delete(key);
      this.#bytes -= oldest.bytes;
    }
  }

  get(run: string, seq: number): RunEvent | undefined {
    return this.#events.get(`${run} ${seq}`)?.event;
  }
}
