import type { Dtype, Evaluation, SizeSet } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';

export interface Baseline {
  readonly run: string;
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
    const run = await store.find(id);
    if (run.config.sizeSet !== sizeSet) continue;
    const event = await store.firstEvent(id, 'baseline');
    if (event?.type === 'baseline') return { run: id, at: event.at, evaluation: event.evaluation };
  }
  return null;
}
