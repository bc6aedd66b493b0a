import type { Store } from '../../store/index.ts';

/** How often other connections' commits are looked for, ms: once for all clients. */
const pollMs = 200;

type What = 'runs' | 'versions' | 'queue';

/** Tells its listeners which lists became stale, whichever process wrote. Looks only while somebody listens. */
export class Watch {
  readonly #store: () => Promise<Store>;
  readonly #listeners = new Set<(what: What) => void>();
  #timer: NodeJS.Timeout | null = null;
  #busy = false;
  #version = -1;
  #marks: { runs: string; versions: string } | null = null;

  constructor(store: () => Promise<Store>) {
    this.#store = store;
  }

  listen(listener: (what: What) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#look(), pollMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  tell(what: What): void {
    for (const listener of this.#listeners) listener(what);
  }

  async #look(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      const store = await this.#store();
      const version = await store.dataVersion();
      if (version === this.#version) return;
      this.#version = version;
      const before = this.#marks;
      const now = await store.marks();
      this.#marks = now;
      if (before === null) return;
      if (now.runs !== before.runs) this.tell('runs');
      if (now.versions !== before.versions) this.tell('versions');
    } catch {
      // Busy or gone for the moment: looked at again with the next turn, calls tell what is wrong.
      this.#version = -1;
    } finally {
      this.#busy = false;
    }
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#marks = null;
    this.#version = -1;
  }
}
