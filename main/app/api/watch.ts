import type { StaleList } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';

/** How often other connections' commits are looked for, ms: once for all clients. */
const pollMs = 200;
/** A list is told stale this often at most, ms: a run under way writes all the time, and a client loads the whole list again. */
const gapMs = 500;

/** What is looked at, each as a text that changes with it. */
export interface Marks {
  /** Who holds which GPU. */
  readonly queue: string;
  /** The user's own tasks. */
  readonly tasks: string;
}

/** Tells its listeners which lists became stale, whichever process wrote. Looks only while somebody listens. */
export class Watch {
  readonly #store: () => Promise<Store>;
  readonly #others: () => Marks;
  readonly #listeners = new Set<(what: StaleList) => void>();
  readonly #told = new Map<StaleList, number>();
  readonly #due = new Set<StaleList>();
  #timer: NodeJS.Timeout | null = null;
  #busy = false;
  #version = -1;
  #marks: Record<StaleList, string> | null = null;

  /** `others`: what is not in the history. */
  constructor(store: () => Promise<Store>, others: () => Marks) {
    this.#store = store;
    this.#others = others;
  }

  listen(listener: (what: StaleList) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => void this.#look(), pollMs);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.close();
    };
  }

  /** Now, or with the next look after the gap. */
  tell(what: StaleList): void {
    const now = performance.now();
    if (now - (this.#told.get(what) ?? Number.NEGATIVE_INFINITY) < gapMs) {
      this.#due.add(what);
      return;
    }
    this.#due.delete(what);
    this.#told.set(what, now);
    for (const listener of this.#listeners) listener(what);
  }

  async #look(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (const what of [...this.#due]) this.tell(what);
      const now = await this.#read();
      const before = this.#marks;
      this.#marks = now;
      if (before === null) return;
      for (const what of ['runs', 'versions', 'queue', 'tasks'] as const)
        if (now[what] !== before[what]) this.tell(what);
    } catch {
      // Busy or gone for the moment: looked at again with the next turn, calls tell what is wrong.
      this.#version = -1;
    } finally {
      this.#busy = false;
    }
  }

  async #read(): Promise<Record<StaleList, string>> {
    const others = this.#others();
    const store = await this.#store();
    const version = await store.dataVersion();
    if (version === this.#version && this.#marks !== null) return { ...this.#marks, ...others };
    this.#version = version;
    return { ...(await store.marks()), ...others };
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#marks = null;
    this.#version = -1;
  }
}
