import type { ContentFiles } from './content.ts';
import type { Database } from './db/database.ts';
import { isDriven } from './lease.ts';
import type { RecentEvents } from './recent.ts';
import { findRun, readEvents, type StoredEvent } from './runs.ts';
import type { TransientBus, TransientListener } from './transient.ts';

/** How often other connections' commits are looked for, ms. */
const pollMs = 150;

export interface Subscription {
  /** Looks now for what was committed, not only at the next turn. */
  look(): void;
  /** Ends it; the promise is settled when no listener will be called any more. */
  close(): Promise<void>;
  /** Resolves when the run has ended or parked, its driver is gone, or the subscription was closed. */
  readonly settled: Promise<void>;
}

/**
 * Every durable event of a run after sequence number `after`, in order and once: first those stored, then those to come, whichever
 * process writes them. Transient events only of runs that this process drives.
 */
export function subscribe(
  parts: { db: Database; content: ContentFiles; bus: TransientBus; recent?: RecentEvents },
  run: string,
  after: number,
  onEvent: (event: StoredEvent) => void,
  onTransient?: TransientListener,
): Subscription {
  const { db, content, bus, recent } = parts;
  const stopTransient = onTransient ? bus.listen(run, onTransient) : () => {};
  let closed = false;
  let wake = () => {};
  let asked = false;

  const tail = async (): Promise<void> => {
    let seen = after;
    let version = -1;
    for (;;) {
      asked = false;
      const now = await db.dataVersion();
      if (now !== version) {
        version = now;
        for (const event of await readEvents(db, content, run, seen, null, recent)) {
          if (closed) return;
          seen = event.seq;
          onEvent(event);
        }
      }
      if (closed || (await isSettled(db, run, seen))) return;
      if (asked) continue;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pollMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  };

  const settled = tail().finally(stopTransient);
  // Whoever waits for it sees the fault; before somebody does, it must not end the process.
  settled.catch(() => {});
  return {
    settled,
    look: () => {
      asked = true;
      wake();
    },
    close: async () => {
      closed = true;
      wake();
      await settled.catch(() => {});
    },
  };
}

/** Nothing more will come: nobody drives the run, and we have read its last event. */
async function isSettled(db: Database, run: string, seen: number): Promise<boolean> {
  if (await isDriven(db, run)) return false;
  const last = await db.get<{ next_seq: number }>('SELECT next_seq FROM runs WHERE id = ?', [run]);
  if (!last) await findRun(db, run);
  return !last || seen >= last.next_seq - 1;
}
