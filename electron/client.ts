import type { MessagePortMain } from 'electron';
import {
  type ApiMethod,
  type ApiParams,
  type ApiResults,
  err,
  type HostMessage,
  type Result,
} from '../main/contract/index.ts';

const gone = err('internal', 'The engine is not there.', { remedy: 'Wait until it has started again.' });

/** The shell as a client of the engine: it asks what a screen could ask, no more. */
export class ShellClient {
  #port: MessagePortMain | null = null;
  #next = 1;
  readonly #waiting = new Map<number, (result: Result<unknown>) => void>();
  readonly #onChange: () => void;

  /** `onChange`: runs have changed. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A new line; what the old one still owed is answered as lost. */
  attach(port: MessagePortMain | null): void {
    this.#port?.close();
    this.#port = port;
    for (const settle of this.#waiting.values()) settle(gone);
    this.#waiting.clear();
    if (port === null) return;
    port.on('message', ({ data }) => {
      if (port === this.#port) this.#take(data as HostMessage);
    });
    port.start();
    this.#onChange();
  }

  #take(message: HostMessage): void {
    if (message.type === 'answer') {
      this.#waiting.get(message.id)?.(message.result);
      this.#waiting.delete(message.id);
    } else if (message.type === 'changed' && message.what !== 'versions') this.#onChange();
  }

  call<M extends ApiMethod>(method: M, params: ApiParams<M>): Promise<Result<ApiResults[M]>> {
    const port = this.#port;
    if (port === null) return Promise.resolve(gone);
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, (result) => resolve(result as Result<ApiResults[M]>));
      port.postMessage({ type: 'call', id, method, params });
    });
  }
}
