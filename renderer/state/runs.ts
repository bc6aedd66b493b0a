/**
 * Runs that some screen follows. News is collected and taken into the store once per animation frame, so that hundreds of events
 * a second cost one rendering per frame and typing stays quick.
 */
import { useEffect } from 'react';
import { create } from 'zustand';
import { useApi } from '../api/client.ts';
import type { Protocol } from '../api/protocol.ts';
import { emptyView, type RunNews, type RunView, takeAll } from './run-view.ts';

interface Followed {
  readonly stop: () => void;
  users: number;
}

const useStore = create<{ views: Readonly<Record<string, RunView>> }>(() => ({ views: {} }));
const followed = new Map<string, Followed>();
const waiting = new Map<string, RunNews[]>();
let scheduled = false;

function flush(): void {
  scheduled = false;
  if (waiting.size === 0) return;
  const batch = [...waiting];
  waiting.clear();
  useStore.setState(({ views }) => {
    const next = { ...views };
    for (const [run, news] of batch) {
      const view = next[run];
      if (view !== undefined) next[run] = takeAll(view, news);
    }
    return { views: next };
  });
}

function enqueue(run: string, news: RunNews): void {
  const list = waiting.get(run);
  if (list) list.push(news);
  else waiting.set(run, [news]);
  if (scheduled) return;
  scheduled = true;
  // A hidden tab gets no animation frames; it goes on at a slow pace.
  if (document.hidden) setTimeout(flush, 250);
  else requestAnimationFrame(flush);
}

async function begin(api: Protocol, run: string, alive: () => boolean, ended: (stop: () => void) => void) {
  const snapshot = await api.call('runs.get', { run });
  if (!alive()) return;
  useStore.setState(({ views }) => ({
    views: {
      ...views,
      [run]: snapshot.ok
        ? { ...emptyView(run), row: snapshot.value.row, state: snapshot.value.state, seq: snapshot.value.seq }
        : { ...emptyView(run), error: snapshot.error, settled: true },
    },
  }));
  if (!snapshot.ok) return;
  ended(
    api.subscribe(run, snapshot.value.seq, {
      event: (event) => enqueue(run, { kind: 'event', event }),
      transient: (event) => enqueue(run, { kind: 'transient', event }),
      settled: (error) => enqueue(run, { kind: 'settled', error }),
    }),
  );
}

function follow(api: Protocol, run: string): () => void {
  const known = followed.get(run);
  if (known) known.users += 1;
  else {
    let over = false;
    let unsubscribe: () => void = () => {};
    followed.set(run, {
      users: 1,
      stop: () => {
        over = true;
        unsubscribe();
      },
    });
    void begin(
      api,
      run,
      () => !over,
      (stop) => {
        unsubscribe = stop;
      },
    );
  }
  return () => {
    const entry = followed.get(run);
    if (entry === undefined) return;
    entry.users -= 1;
    if (entry.users > 0) return;
    entry.stop();
    followed.delete(run);
    waiting.delete(run);
  };
}

/** A run, live; null until its snapshot is here. `run` null: nothing. Ends with the component. */
export function useRunView(run: string | null): RunView | null {
  const api = useApi();
  useEffect(() => (run === null ? undefined : follow(api, run)), [api, run]);
  return useStore((s) => (run === null ? null : (s.views[run] ?? null)));
}

/** Follows a run again from a fresh snapshot (after resume of one that had settled). */
export function refollow(api: Protocol, run: string): void {
  const entry = followed.get(run);
  if (entry === undefined) return;
  const { users } = entry;
  entry.stop();
  followed.delete(run);
  follow(api, run);
  const fresh = followed.get(run);
  if (fresh) fresh.users = users;
}
