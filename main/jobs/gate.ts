/**
 * Takes turns between builds (several at once) and measurements (alone): a compiler running beside a timed call shifts the
 * wrapper time. Builds go first, since their number is finite; a measurement starts when none runs or waits.
 */
export class Gate {
  private readonly limit: number;
  private running = 0;
  private alone = false;
  private readonly builds: { exclusive: boolean; go: () => void }[] = [];
  private readonly quiet: (() => void)[] = [];

  /** `limit`: builds that may run at once, at least 1. */
  constructor(limit: number) {
    this.limit = Math.max(1, Math.floor(limit));
  }

  /** Runs a build when there is room; `exclusive`: when nothing else runs (the retry of a build that the system killed). */
  async build<T>(fn: () => Promise<T>, exclusive = false): Promise<T> {
    await new Promise<void>((go) => {
      this.builds.push({ exclusive, go });
      this.next();
    });
    try {
      return await fn();
    } finally {
      this.running--;
      if (exclusive) this.alone = false;
      this.next();
    }
  }

  /** Runs a measurement with no build beside it. */
  async measure<T>(fn: () => Promise<T>): Promise<T> {
    await new Promise<void>((go) => {
      this.quiet.push(go);
      this.next();
    });
    try {
      return await fn();
    } finally {
      this.alone = false;
      this.next();
    }
  }

  private next(): void {
    while (!this.alone && this.builds.length > 0) {
      const first = this.builds[0] as { exclusive: boolean; go: () => void };
      if (first.exclusive ? this.running > 0 : this.running >= this.limit) return;
      this.builds.shift();
      this.running++;
      this.alone = first.exclusive;
      first.go();
    }
    if (this.alone || this.running > 0) return;
    const go = this.quiet.shift();
    if (!go) return;
    this.alone = true;
    go();
  }
}
