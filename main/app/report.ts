import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../base/files.ts';
import type { RunEvent } from '../contract/index.ts';
import { stateOf, summarize } from '../optimizer/index.ts';
import type { RunRecord, Store } from '../store/index.ts';
import { runFolder } from './context.ts';
import type { RunReport } from './events.ts';

/** A run that crashed before its first event is told from its row. */
export function withStart(run: RunRecord, events: readonly RunEvent[]): readonly RunEvent[] {
  if (events.some((e) => e.type === 'run-started')) return events;
  const { rootSeed, config, programVersion } = run;
  return [{ type: 'run-started', rootSeed, config, originSource: '', programVersion }, ...events];
}

/**
 * How a run stands, from its durable events. A run that says "running" while nobody drives it was interrupted: it is reported as
 * paused, since it can be resumed.
 */
export async function reportOf(store: Store, id: string): Promise<RunReport> {
  const run = await store.find(id);
  const events = withStart(run, await store.events(id));
  const state = stateOf(events);
  const summary = summarize(id, events);
  const status = state.status === 'running' && !(await store.isDriven(id)) ? 'paused' : state.status;
  const folder = runFolder(store, id);
  return {
    id,
    kind: run.kind,
    status,
    summary: { ...summary, status },
    state: { ...state, status },
    error: state.error,
    waiting: state.waiting,
    files: {
      folder,
      best: state.best && state.best.round > 0 ? join(folder, 'best.cu') : null,
      history: store.file,
    },
  };
}

/** Writes the run's sources as files a person can open: every candidate, and the best. */
export async function writeSources(report: RunReport): Promise<void> {
  const { folder, best } = report.files;
  for (const round of report.state.rounds)
    for (const a of round.attempts)
      if (a.source !== null) await writeFileAtomic(join(folder, `r${round.round}.a${a.attempt}.cu`), a.source, 0o644);
  if (best !== null && report.state.best?.source) await writeFileAtomic(best, report.state.best.source, 0o644);
  // One that did not hold on another machine is no best any more.
  else await rm(join(folder, 'best.cu'), { force: true });
}
