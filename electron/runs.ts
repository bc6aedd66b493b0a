import type { RunRow, RunSnapshot } from '../main/contract/index.ts';

/** Runs that this program drives now. */
export const drivenHere = (rows: readonly RunRow[]): RunRow[] => rows.filter((row) => row.drivenBy === 'here');

/** How far a run is: rounds ended of those wanted; null: not known yet. */
export function progressOf(snapshot: RunSnapshot): number | null {
  const { config, rounds } = snapshot.state;
  if (config === null || snapshot.row.kind === 'evaluate' || snapshot.row.kind === 'profile') return null;
  return Math.min(1, rounds.filter((round) => round.ended).length / config.rounds);
}

/** For the task bar: the mean of what is known, 2 (moving, without an end) while nothing is, -1 (none) without runs. */
export function taskBar(progress: readonly (number | null)[]): number {
  if (progress.length === 0) return -1;
  const known = progress.filter((p) => p !== null);
  if (known.length === 0 || known.every((p) => p === 0)) return 2;
  return known.reduce((sum, p) => sum + p, 0) / known.length;
}

/** A run shorter than this was watched; nobody needs to be called back for it. */
export const longRunMs = 60_000;

const words: Partial<Record<RunRow['status'], string>> = {
  done: 'is done',
  failed: 'has failed',
  parked: 'waits for you',
  interrupted: 'was interrupted and can be resumed',
};

/** What to tell of a run that came to rest; null: it was stopped by the user, or is still going. */
export function endOf(row: RunRow): { readonly title: string; readonly body: string } | null {
  const word = words[row.status];
  if (word === undefined) return null;
  const score = row.score === null ? '' : ` Best so far: ${row.score.toFixed(2)}×.`;
  return { title: `${row.task} ${word}`, body: `Run ${row.id}.${score}` };
}

/** Remembers which runs go on here, and says which long ones have come to rest. */
export class RunWatch {
  readonly #since = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Takes the newest list; gives back the runs that were long and are driven no more. */
  take(rows: readonly RunRow[]): RunRow[] {
    const here = new Set(drivenHere(rows).map((row) => row.id));
    for (const id of here) if (!this.#since.has(id)) this.#since.set(id, this.#now());
    const rested: RunRow[] = [];
    for (const [id, since] of [...this.#since]) {
      if (here.has(id)) continue;
      this.#since.delete(id);
      const row = rows.find((r) => r.id === id);
      if (row && this.#now() - since >= longRunMs) rested.push(row);
    }
    return rested;
  }
}
