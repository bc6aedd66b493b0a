import type { ApiMethod, ApiParams, ApiResults, HostMessage, Result } from '../../main/contract/index.ts';

/** A client as a screen is one, over any line: `send` carries its messages to the host, `take` is given what comes back. */
export class TestClient {
  readonly seen: HostMessage[] = [];
  readonly #send: (message: unknown) => void;
  readonly #waiting = new Map<number, (result: Result<unknown>) => void>();
  readonly #watchers = new Set<() => void>();
  #next = 1;

  constructor(send: (message: unknown) => void) {
    this.#send = send;
  }

  take(message: HostMessage): void {
    this.seen.push(message);
    if (message.type === 'answer') this.#waiting.get(message.id)?.(message.result);
    for (const watcher of [...this.#watchers]) watcher();
  }

  raw(message: unknown): void {
    this.#send(message);
  }

  call<M extends ApiMethod>(method: M, params: ApiParams<M>): Promise<Result<ApiResults[M]>> {
    const id = this.#next++;
    const answer = new Promise<Result<unknown>>((resolve) => this.#waiting.set(id, resolve));
    this.#send({ type: 'call', id, method, params });
    return answer as Promise<Result<ApiResults[M]>>;
  }

  /** The value of a call that must not fail. */
  async got<M extends ApiMethod>(method: M, params: ApiParams<M>): Promise<ApiResults[M]> {
    const result = await this.call(method, params);
    if (!result.ok) throw new Error(`${method}: ${JSON.stringify(result.error)}`);
    return result.value;
  }

  subscribe(sub: string, run: string, after = 0): void {
    this.#send({ type: 'subscribe', sub, run, after });
  }

  of<T extends HostMessage['type']>(type: T): Extract<HostMessage, { type: T }>[] {
    return this.seen.filter((m): m is Extract<HostMessage, { type: T }> => m.type === type);
  }

  /** Resolves when `test` holds of what was seen. */
  async until(test: () => boolean, ms = 60_000): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => test() && resolve();
    this.#watchers.add(look);
    const timer = setTimeout(
      () => reject(new Error(`not seen in time; last: ${JSON.stringify(this.seen.slice(-5)).slice(0, 2000)}`)),
      ms,
    );
    look();
    await promise.finally(() => {
      clearTimeout(timer);
      this.#watchers.delete(look);
    });
  }

  settled(sub: string): Promise<void> {
    return this.until(() => this.of('settled').some((m) => m.sub === sub));
  }
}
