import type { Dtype, VersionRow } from '../contract/index.ts';
import type { Store, VersionEdit } from '../store/index.ts';
import { historyFolder, withStore } from './context.ts';
import type { ServiceContext } from './events.ts';

export const historySorts = ['newest', 'oldest', 'score', 'ulp', 'task'] as const;
export type HistorySort = (typeof historySorts)[number];

export interface HistoryParams {
  readonly task?: string;
  readonly dtype?: Dtype;
  readonly outcome?: string;
  readonly sort?: HistorySort;
  /** The bin instead. */
  readonly deleted?: boolean;
}

/** Missing values come last, whichever way the others are sorted. */
const byNumber =
  (value: (v: VersionRow) => number | null, direction: 1 | -1) =>
  (a: VersionRow, b: VersionRow): number => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return direction * (x - y);
  };

const byTime = (a: VersionRow, b: VersionRow): number => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0);

const orders: Record<HistorySort, (a: VersionRow, b: VersionRow) => number> = {
  newest: byTime,
  oldest: (a, b) => -byTime(a, b),
  score: byNumber((v) => v.score?.value ?? null, -1),
  ulp: byNumber((v) => v.maxUlp, 1),
  task: (a, b) => a.task.localeCompare(b.task, 'en') || a.dtype.localeCompare(b.dtype, 'en') || byTime(a, b),
};

/** Versions of the history that match, in the order asked for. */
export function listHistory(params: HistoryParams, ctx: ServiceContext): Promise<readonly VersionRow[]> {
  return withStore(ctx, historyFolder(), async (store) => {
    const { task, dtype, outcome, sort = 'newest' } = params;
    const rows = await store.versions(params.deleted);
    const wanted = rows.filter(
      (v) =>
        (task === undefined || v.task === task) &&
        (dtype === undefined || v.dtype === dtype) &&
        (outcome === undefined || v.outcome === outcome),
    );
    return wanted.sort(orders[sort]);
  });
}

/** The full id of a version whose run may be given by a part of its name or as "last". */
async function fullId(store: Store, name: string): Promise<string> {
  const [run = '', ...rest] = name.split(':');
  return [(await store.find(run)).id, ...rest].join(':');
}

/** Note, pin, bin. Throws AppFailure `store.not-found`, `usage`. */
export function editHistory(params: { version: string; edit: VersionEdit }, ctx: ServiceContext): Promise<VersionRow> {
  return withStore(ctx, historyFolder(), async (store) =>
    store.editVersion(await fullId(store, params.version), params.edit),
  );
}
