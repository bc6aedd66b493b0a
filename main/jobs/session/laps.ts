/** Where the time of a process goes, as one line for the log: "start 0.42 s, load 0.08 s". */
export class Laps {
  private readonly now: () => number;
  private readonly parts: string[] = [];
  private last: number;

  /** `now`: ms of a clock that never goes back. */
  constructor(now: () => number = () => performance.now()) {
    this.now = now;
    this.last = now();
  }

  /** Ends a part: it lasted since the end of the one before. */
  lap(name: string): void {
    const at = this.now();
    this.parts.push(`${name} ${((at - this.last) / 1000).toFixed(2)} s`);
    this.last = at;
  }

  text(): string {
    return this.parts.join(', ');
  }
}
