/**
 * The API over any transport that carries ClientMessage and HostMessage: numbering, abandoning, subscriptions that go on after a
 * broken connection where they ended. Pure apart from the transport.
 */
import type {
  ApiClient,
  ApiMethod,
  ApiParams,
  ApiResults,
  ClientMessage,
  HostMessage,
  StaleList,
} from '../../main/contract/api.ts';
import { type AppError, err, type Result } from '../../main/contract/result.ts';

export interface Transport {
  /** Called only while connected. */
  send(message: ClientMessage): void;
}

type Handlers = Parameters<ApiClient['subscribe']>[2];
interface Subscription {
  readonly run: string;
  readonly on: Handlers;
  /** Sequence number of the last durable event told. */
  after: number;
}

interface Pending {
  readonly message: Extract<ClientMessage, { type: 'call' }>;
  settle(result: Result<unknown>): void;
  progress?(note: string): void;
}

/** Calls that change nothing may be asked again after a lost connection; others must not run twice. */
const repeatable = (method: ApiMethod): boolean =>
  /\.(info|doctor|get|list|models|steps|step|prompt|draft|files)$/.test(method);

const lost = err('internal', 'The connection to the engine was lost before it answered.', {
  remedy: 'Look whether it was done (the lists are fresh after reconnecting), then try again.',
});

export class Protocol implements ApiClient {
  #transport: Transport | null = null;
  #next = 1;
  #pending = new Map<number, Pending>();
  #subscriptions = new Map<string, Subscription>();
  #changes = new Set<(what: StaleList) => void>();
  #connections = new Set<(state: 'connected' | 'lost') => void>();
  #notices = new Set<(error: AppError) => void>();

  /** A connection stands: what was asked and not answered is asked again, subscriptions go on after their last event. */
  attach(transport: Transport): void {
    this.#transport = transport;
    for (const { message } of this.#pending.values()) transport.send(message);
    for (const [sub, s] of this.#subscriptions) transport.send({ type: 'subscribe', sub, run: s.run, after: s.after });
    for (const tell of this.#connections) tell('connected');
    // Whatever was written meanwhile is unknown: every list is stale.
    for (const what of ['runs', 'versions', 'queue', 'tasks'] as const) this.#told(what);
  }

  detach(): void {
    if (this.#transport === null) return;
    this.#transport = null;
    for (const [id, pending] of [...this.#pending]) {
      if (repeatable(pending.message.method)) continue;
      this.#pending.delete(id);
      pending.settle(lost);
    }
    for (const tell of this.#connections) tell('lost');
  }

  get connected(): boolean {
    return this.#transport !== null;
  }

  receive(message: HostMessage): void {
    if (message.type === 'answer') {
      const pending = this.#pending.get(message.id);
      this.#pending.delete(message.id);
      pending?.settle(message.result);
    } else if (message.type === 'progress') this.#pending.get(message.id)?.progress?.(message.note);
    else if (message.type === 'changed') this.#told(message.what);
    else if (message.type === 'notice') for (const tell of this.#notices) tell(message.error);
    else this.#deliver(message);
  }

  #told(what: StaleList): void {
    for (const tell of [...this.#changes]) tell(what);
  }

  #deliver(message: Extract<HostMessage, { sub: string }>): void {
    const s = this.#subscriptions.get(message.sub);
    if (s === undefined) return;
    if (message.type === 'transient') s.on.transient(message.event);
    else if (message.type === 'settled') s.on.settled(message.error);
    else if (message.event.seq > s.after) {
      s.after = message.event.seq;
      s.on.event(message.event);
    }
  }

  call<M extends ApiMethod>(
    method: M,
    params: ApiParams<M>,
    signal?: AbortSignal,
    onProgress?: (note: string) => void,
  ): Promise<Result<ApiResults[M]>> {
    return new Promise((resolve) => {
      const id = this.#next++;
      const message = { type: 'call', id, method, params } as const;
      if (signal?.aborted) return resolve(err('cancelled', 'Given up.'));
      if (this.#transport === null && !repeatable(method)) return resolve(lost);
      const give = () => {
        if (!this.#pending.delete(id)) return;
        this.#transport?.send({ type: 'abandon', id });
        resolve(err('cancelled', 'Given up.'));
      };
      signal?.addEventListener('abort', give, { once: true });
      const settle = (result: Result<unknown>) => {
        signal?.removeEventListener('abort', give);
        resolve(result as Result<ApiResults[M]>);
      };
      this.#pending.set(id, { message, settle, progress: onProgress });
      this.#transport?.send(message);
    });
  }

  subscribe(run: string, after: number, on: Handlers): () => void {
    const sub = `s${this.#next++}`;
    this.#subscriptions.set(sub, { run, on, after });
    this.#transport?.send({ type: 'subscribe', sub, run, after });
    return () => {
      if (this.#subscriptions.delete(sub)) this.#transport?.send({ type: 'unsubscribe', sub });
    };
  }

  onChange(listener: (what: StaleList) => void): () => void {
    this.#changes.add(listener);
    return () => this.#changes.delete(listener);
  }

  onConnection(listener: (state: 'connected' | 'lost') => void): () => void {
    this.#connections.add(listener);
    return () => this.#connections.delete(listener);
  }

  onNotice(listener: (error: AppError) => void): () => void {
    this.#notices.add(listener);
    return () => this.#notices.delete(listener);
  }
}
