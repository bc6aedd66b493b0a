/**
 * A run as a screen follows it: the engine's own reducer over durable events, and beside it what is only of the moment (tokens that
 * stream in, progress of a job). Pure.
 */
import type { RunRow, StoredRunEvent } from '../../main/contract/api.ts';
import type { AppError } from '../../main/contract/result.ts';
import type { TransientEvent } from '../../main/contract/run.ts';
import { emptyRunState, type RunState, reduceRun } from '../../main/contract/run-state.ts';

export interface RunView {
  readonly run: string;
  /** As its snapshot had it: kind, times, who drives it. null: not read yet. */
  readonly row: RunRow | null;
  readonly state: RunState;
  readonly seq: number;
  /** Tokens of the open request by agent, the newest part of them; emptied when its reply is stored. */
  readonly streaming: Readonly<Record<string, string>>;
  readonly progress: Extract<TransientEvent, { type: 'progress' }> | null;
  /** Nobody drives it any more and everything was told. */
  readonly settled: boolean;
  readonly error: AppError | null;
}

export const emptyView = (run: string): RunView => ({
  run,
  row: null,
  state: emptyRunState,
  seq: 0,
  streaming: {},
  progress: null,
  settled: false,
  error: null,
});

/** A reply is shown while it streams up to this many characters; the stored reply is whole. */
export const streamLimit = 60_000;

export type RunNews =
  | { readonly kind: 'event'; readonly event: StoredRunEvent }
  | { readonly kind: 'transient'; readonly event: TransientEvent }
  | { readonly kind: 'settled'; readonly error: AppError | null };

/** Takes one piece of news into the view. Events that were told already are left out. */
export function takeNews(view: RunView, news: RunNews): RunView {
  if (news.kind === 'settled') return { ...view, settled: true, streaming: {}, progress: null, error: news.error };
  if (news.kind === 'transient') {
    const { event } = news;
    if (event.type === 'progress') return { ...view, progress: event };
    const text = `${view.streaming[event.agent] ?? ''}${event.text}`;
    return { ...view, streaming: { ...view.streaming, [event.agent]: text.slice(-streamLimit) } };
  }
  const { event } = news;
  if (event.seq <= view.seq) return view;
  const state = reduceRun(view.state, event);
  const next = { ...view, state, seq: event.seq, settled: false };
  if (event.type === 'usage') {
    const { [event.agent]: _done, ...rest } = view.streaming;
    return { ...next, streaming: rest };
  }
  if (event.type === 'evaluated' || event.type === 'baseline') return { ...next, progress: null };
  if (event.type === 'run-ended' || event.type === 'parked') return { ...next, progress: null, streaming: {} };
  return next;
}

/** Many pieces of news as one step: tokens of one agent are joined first, so that a burst costs one string each. */
export function takeAll(view: RunView, batch: readonly RunNews[]): RunView {
  let next = view;
  let index = 0;
  while (index < batch.length) {
    const news = batch[index] as RunNews;
    if (news.kind === 'transient' && news.event.type === 'token') {
      const { agent } = news.event;
      const parts: string[] = [];
      for (; index < batch.length; index += 1) {
        const more = batch[index] as RunNews;
        if (more.kind !== 'transient' || more.event.type !== 'token' || more.event.agent !== agent) break;
        parts.push(more.event.text);
      }
      next = takeNews(next, { kind: 'transient', event: { type: 'token', agent, text: parts.join('') } });
    } else {
      next = takeNews(next, news);
      index += 1;
    }
  }
  return next;
}
