import { AppFailure, type Dtype, type Evaluation, type JobResult, type SizeSet } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';

export interface Baseline {
  readonly run: string;
  /** When it was measured: of a replay, when the recording was made. */
  readonly at: string;
  readonly evaluation: Evaluation;
}

/** The newest measurement of a task's origin in the history with this data type and these sizes; null: never measured here. */
export async function newestBaseline(
  store: Store,
  task: string,
  dtype: Dtype,
  sizeSet: SizeSet,
): Promise<Baseline | null> {
  for (const id of await store.measuredOrigins(task, dtype)) {
    const found = await baselineOf(store, id, sizeSet);
    if (found) return found;
  }
  return null;
}

/** null: measured with other sizes, or the run is damaged: an older one serves. */
async function baselineOf(store: Store, id: string, sizeSet: SizeSet): Promise<Baseline | null> {
  try {
    if ((await store.find(id)).config.sizeSet !== sizeSet) return null;
    const again = await store.lastEvent(id, 'remeasured');
    if (again?.type === 'remeasured') {
      const job = await jobAt(store, id, `${again.position}.remeasure.origin`);
      return { run: id, at: job?.startedAt ?? again.at, evaluation: again.origin };
    }
    const event = await store.firstEvent(id, 'baseline');
    if (event?.type !== 'baseline') return null;
    const job = await jobAt(store, id, 'r0.baseline');
    return { run: id, at: job?.startedAt ?? event.at, evaluation: event.evaluation };
  } catch (fault) {
    if (fault instanceof AppFailure && ['store.corrupt', 'store.not-found'].includes(fault.error.code)) return null;
    throw fault;
  }
}

/** What the job of a step gave; null where it was never run or is not done. */
export async function jobAt(store: Store, run: string, position: string): Promise<JobResult | null> {
  const steps = await store.steps(run);
  if (!steps.some((s) => s.position === position && s.state === 'done')) return null;
  return (await store.step(run, position)).job;
}
