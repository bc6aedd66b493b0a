import { z } from 'zod';
import type { Engine } from '../app/api/index.ts';
import { attempt, toAppError } from '../base/fault.ts';
import { type AppError, err, type HostMessage, type TransientEvent } from '../contract/index.ts';

const id = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const sub = z.string().min(1).max(100);

/** Client → host. `params` are checked by the method. */
export const clientMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('call'), id, method: z.string().max(100), params: z.unknown() }),
  z.strictObject({ type: z.literal('abandon'), id }),
  z.strictObject({
    type: z.literal('subscribe'),
    sub,
    run: z.string().min(1).max(64),
    after: z.number().int().min(0),
  }),
  z.strictObject({ type: z.literal('unsubscribe'), sub }),
]);

/** Calls and subscriptions of one client at once: more is a fault of the client, and answered so. */
const maxCalls = 256;
const maxSubscriptions = 64;

/** What one client has under way. */
export class Connection {
  readonly #engine: Engine;
  readonly #send: (message: HostMessage) => void;
  readonly #calls = new Map<number, AbortController>();
  readonly #subs = new Map<string, { closed: boolean; close(): void }>();
  readonly #stop: () => void;
  #closed = false;

  constructor(engine: Engine, send: (message: HostMessage) => void) {
    this.#engine = engine;
    this.#send = (message) => {
      if (!this.#closed) send(message);
    };
    this.#stop = engine.listen({
      changed: (what) => this.#send({ type: 'changed', what }),
      notice: (error) => this.#send({ type: 'notice', error }),
    });
  }

  /** Takes any message; one that is none is answered with a notice, or its call with an error. */
  receive(message: unknown): void {
    if (this.#closed) return;
    const parsed = clientMessageSchema.safeParse(message);
    if (!parsed.success) {
      this.#refuse(message, z.prettifyError(parsed.error));
      return;
    }
    const m = parsed.data;
    if (m.type === 'call') void this.#call(m.id, m.method, m.params);
    else if (m.type === 'abandon') this.#calls.get(m.id)?.abort();
    else if (m.type === 'subscribe') void this.#subscribe(m.sub, m.run, m.after);
    else this.#unsubscribe(m.sub);
  }

  #refuse(message: unknown, why: string): void {
    const { error } = err('usage', `This message is not understood: ${why}`);
    const given = z.object({ type: z.literal('call'), id }).safeParse(message);
    if (given.success) this.#send({ type: 'answer', id: given.data.id, result: { ok: false, error } });
    else this.#send({ type: 'notice', error });
  }

  async #call(number: number, method: string, params: unknown): Promise<void> {
    const refused = this.#calls.has(number)
      ? err('usage', `Call ${number} is under way already.`)
      : this.#calls.size >= maxCalls
        ? err('usage', `More than ${maxCalls} calls are under way.`)
        : null;
    if (refused) return this.#send({ type: 'answer', id: number, result: refused });
    const abort = new AbortController();
    this.#calls.set(number, abort);
    const tell = (note: string): void => {
      // A call that was given up may still be coming to its end.
      if (this.#calls.get(number) === abort) this.#send({ type: 'progress', id: number, note });
    };
    const result = await this.#engine.call(method, params, abort.signal, tell);
    this.#calls.delete(number);
    this.#send({ type: 'answer', id: number, result });
  }

  async #subscribe(name: string, run: string, after: number): Promise<void> {
    const settled = (error: AppError | null) => this.#send({ type: 'settled', sub: name, error });
    if (this.#subs.has(name))
      return this.#send({ type: 'notice', error: err('usage', `Subscription ${name} exists already.`).error });
    if (this.#subs.size >= maxSubscriptions)
      return settled(err('usage', `More than ${maxSubscriptions} subscriptions are open.`).error);
    const entry = { closed: false, close: () => {} };
    this.#subs.set(name, entry);
    const tail = await attempt(() =>
      this.#engine.subscribe(
        run,
        after,
        (event) => entry.closed || this.#send({ type: 'event', sub: name, event }),
        (event: TransientEvent) => entry.closed || this.#send({ type: 'transient', sub: name, event }),
      ),
    );
    if (!tail.ok) {
      this.#subs.delete(name);
      return settled(tail.error);
    }
    entry.close = () => void tail.value.close();
    if (entry.closed) return entry.close();
    const error = await tail.value.settled.then(
      () => null,
      (fault: unknown) => toAppError(fault),
    );
    if (entry.closed) return;
    this.#subs.delete(name);
    settled(error);
  }

  #unsubscribe(name: string): void {
    const entry = this.#subs.get(name);
    if (!entry) return;
    entry.closed = true;
    entry.close();
    this.#subs.delete(name);
  }

  /** The client is gone: its calls are given up and its subscriptions end. Runs that it started go on. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stop();
    for (const abort of this.#calls.values()) abort.abort();
    for (const name of [...this.#subs.keys()]) this.#unsubscribe(name);
  }
}
