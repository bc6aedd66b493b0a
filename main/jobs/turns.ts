import { deferred } from '../base/deferred.ts';

/** How a session uses the GPU: shared = its figures do not matter (verification, sanitizer), alone = they do. */
export type Use = 'shared' | 'alone';

/**
 * Turns of one executor's sessions on its GPU, in the order of asking: up to `limit` shared ones beside each other, an exclusive one by
 * itself. Because the order is kept, neither kind can starve the other. Across processes the machine-wide lock decides (gpu-lock.ts).
 */
export class Turns {
  private readonly limit: number;
  private readonly waiting: { use: Use; go: () => void }[] = [];
  private shared = 0;
  private alone = false;

  /** `limit`: shared sessions at once, at least 1. */
  constructor(limit: number) {
    this.limit = Math.max(1, Math.floor(limit));
  }

  async run<T>(use: Use, fn: () => Promise<T>): Promise<T> {
    await new Promise<void>((go) => {
      this.waiting.push({ use, go });
      this.next();
    });
    try {
      return await fn();
    } finally {
      if (use === 'alone') this.alone = false;
      else this.shared--;
      this.next();
    }
  }

  private next(): void {
    for (let first = this.waiting[0]; first !== undefined; first = this.waiting[0]) {
      if (this.alone) return;
      if (first.use === 'alone' ? this.shared > 0 : this.shared >= this.limit) return;
      this.waiting.shift();
      if (first.use === 'alone') this.alone = true;
      else this.shared++;
      first.go();
    }
  }
}

/** At most `limit` at once, in the order of asking. */
export class Slots {
  private readonly limit: number;
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  constructor(limit: number) {
    this.limit = Math.max(1, Math.floor(limit));
  }

  async run<T>(fn: () => Promise<T>): Promise<T> {
    if (this.running >= this.limit) await new Promise<void>((go) => this.waiting.push(go));
    else this.running++;
    try {
      return await fn();
    } finally {
      // The place goes to the next one without being free in between.
      const next = this.waiting.shift();
      if (next) next();
      else this.running--;
    }
  }
}

/**
 * Holds a turn for as long as the holder says, instead of for as long as a function runs: `around` takes the turn, runs what it is given
 * and gives the turn back; the result of `borrow` ends that. Resolves when the turn has been taken.
 */
export async function borrow(around: (held: () => Promise<void>) => Promise<void>): Promise<() => Promise<void>> {
  const taken = deferred<void>();
  const done = deferred<void>();
  const whole = around(async () => {
    taken.resolve();
    await done.promise;
  });
  whole.catch(taken.reject);
  await taken.promise;
  return async () => {
    done.resolve();
    await whole;
  };
}
