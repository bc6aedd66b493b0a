import { AppFailure, type Dtype, type Evaluation, err, type RunState } from '../contract/index.ts';
import { stateOf } from '../optimizer/index.ts';
import { partsOfVersion, type Store } from '../store/index.ts';

/** What the events of its run say of one version. */
export interface KnownVersion {
  readonly source: string | null;
  readonly compileArgs: readonly string[];
  readonly scheme: string;
  readonly fix: string | null;
  readonly evaluation: Evaluation | null;
}

export function knownOf(state: RunState, at: { round: number; attempt: number }): KnownVersion {
  const { round, attempt } = at;
  if (round === 0) {
    const source = state.originSource === '' ? null : state.originSource;
    return { source, compileArgs: [], scheme: '', fix: null, evaluation: state.baseline };
  }
  const found = state.rounds.find((r) => r.round === round);
  const made = found?.attempts.find((a) => a.attempt === attempt);
  return {
    source: made?.source ?? null,
    compileArgs: made?.compileArgs ?? [],
    scheme: found?.scheme ?? '',
    fix: made?.fix ?? null,
    evaluation: made?.evaluation ?? null,
  };
}

/**
 * A version as a run's first candidate. Throws `store.not-found`, `usage` where it has no source or is of another task.
 */
export async function startVersion(
  store: Store,
  id: string,
  wanted: { task: string; dtype: Dtype },
): Promise<{ label: string; source: string; compileArgs: string[] }> {
  const row = await store.version(id);
  if (row.task !== wanted.task || row.dtype !== wanted.dtype)
    throw new AppFailure(
      err('usage', `Version ${id} is of ${row.task} ${row.dtype}, not of ${wanted.task} ${wanted.dtype}.`).error,
    );
  const { source, compileArgs } = knownOf(stateOf(await store.events(row.run)), partsOfVersion(id));
  if (source === null)
    throw new AppFailure(err('usage', `Version ${id} has no source: its attempt ended before there was one.`).error);
  return { label: `version ${id}`, source, compileArgs: [...compileArgs] };
}
