import { writeOutput } from '../base/files.ts';
import { AppFailure, err, type RunStatus } from '../contract/index.ts';
import { recordingText } from '../store/index.ts';
import { historyFolder, withStore } from './context.ts';
import type { RunReport, ServiceContext } from './events.ts';
import { reportOf } from './report.ts';

export interface RunLine {
  readonly id: string;
  readonly kind: string;
  /** `interrupted`: it says "running", but its process is gone. */
  readonly status: RunStatus | 'interrupted';
  readonly task: string;
  readonly dtype: string;
  readonly provider: string;
  readonly model: string;
  readonly createdAt: string;
  readonly score: number | null;
}

/** Runs of the history, newest first. */
export function listRuns(params: { limit?: number }, ctx: ServiceContext): Promise<RunLine[]> {
  return withStore(ctx, historyFolder(), async (store) => {
    const runs = await store.heads(params.limit ?? 20);
    const drivers = await store.drivers();
    return runs.map(({ updatedAt: _, ...run }) => ({
      ...run,
      status: run.status === 'running' && !drivers.has(run.id) ? 'interrupted' : run.status,
    }));
  });
}

/** How a run stands; with `follow` its events are told until it ends, parks or loses its driver. */
export function showRun(params: { run: string; follow?: boolean }, ctx: ServiceContext): Promise<RunReport> {
  return withStore(ctx, historyFolder(), async (store) => {
    const { id } = await store.find(params.run);
    if (params.follow) {
      const subscription = store.subscribe(id, 0, (event) => ctx.emit({ type: 'event', run: id, event }));
      ctx.signal?.addEventListener('abort', () => void subscription.close(), { once: true });
      await subscription.settled;
    }
    return reportOf(store, id);
  });
}

/** Writes the recording of a run. */
export function recordRun(
  params: { run: string; out: string; note?: string },
  ctx: ServiceContext,
): Promise<{ file: string; bytes: number; steps: number }> {
  return withStore(ctx, historyFolder(), async (store) => {
    const run = await store.find(params.run);
    if (run.kind === 'evaluate' || run.kind === 'profile')
      throw new AppFailure(
        err('usage', `Run ${run.id} is a single evaluation; only optimizations can be recorded.`).error,
      );
    const recording = await store.recording(run, params.note ?? `Run ${run.id} of ${run.createdAt}.`);
    if (recording.steps.length === 0)
      throw new AppFailure(
        err(
          'usage',
          `Run ${run.id} holds nothing to record yet: no job and no answer of it is complete (${run.status}).`,
          {
            remedy: `Go on with it first: cudamaster resume ${run.id}`,
          },
        ).error,
      );
    const text = recordingText(recording);
    await writeOutput(params.out, text);
    return { file: params.out, bytes: Buffer.byteLength(text), steps: recording.steps.length };
  });
}
