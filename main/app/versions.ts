import { AppFailure, type Dtype, err, type VersionRow } from '../contract/index.ts';
import type { BinnedRun, PurgeReport, Store, VersionEdit } from '../store/index.ts';
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
export async function fullId(store: Store, name: string): Promise<string> {
  const [run = '', ...rest] = name.split(':');
  return [await store.idOf(run), ...rest].join(':');
}

export interface BinParams {
  /** A run: its id, a part of it, or "last". */
  readonly run: string;
  readonly deleted: boolean;
}
export interface BinAnswer {
  readonly run: string;
  readonly versions: readonly VersionRow[];
}

/**
 * Puts all versions of a run into the bin, or takes them out of it; gives back those that were changed. Throws AppFailure
 * `store.not-found`, `usage` for a run that has no version.
 */
export function binRun({ run, deleted }: BinParams, ctx: ServiceContext): Promise<BinAnswer> {
  return withStore(ctx, historyFolder(), async (store) => {
    const id = await store.idOf(run);
    const all = [...(await store.versions(false)), ...(await store.versions(true))].filter((v) => v.run === id);
    if (all.length === 0)
      throw new AppFailure(
        err('usage', `Run ${id} has no version yet: there is nothing to put into the bin.`, {
          remedy: `Resume it (cudamaster resume ${id}), or leave it.`,
        }).error,
      );
    const versions: VersionRow[] = [];
    for (const v of all)
      if ((v.deletedAt !== null) !== deleted) versions.push(await store.editVersion(v.id, { deleted }));
    return { run: id, versions };
  });
}

export interface PurgeParams {
  /** Runs meant, as "RUN" or "last"; absent: all whose versions are in the bin. */
  readonly runs?: readonly string[];
  /** Only says what would go. */
  readonly dryRun?: boolean;
}
export interface PurgeAnswer extends PurgeReport {
  readonly dryRun: boolean;
  /** With `dryRun`: what would go; else what could not. Files' bytes as on disk. */
  readonly bin: readonly BinnedRun[];
  /** Sum over `purged`, bytes of files. */
  readonly freedBytes: number;
}

/** Empties the bin for good. Throws AppFailure `store.not-found`, `usage` for a named run that is not in it. */
export function purgeBin({ runs, dryRun = false }: PurgeParams, ctx: ServiceContext): Promise<PurgeAnswer> {
  return withStore(ctx, historyFolder(), async (store) => {
    const bin = await store.bin();
    const named = runs === undefined ? null : await Promise.all(runs.map((name) => store.idOf(name)));
    for (const id of named ?? []) {
      const entry = bin.find((b) => b.run === id);
      if (entry?.kept === null) continue;
      const why = entry ? entry.kept : 'none of its versions is in the bin';
      throw new AppFailure(
        err('usage', `Run ${id} cannot be deleted for good: ${why}.`, {
          remedy: `\`cudamaster delete ${id}\` puts all its versions into the bin; \`cudamaster unpin\` takes a pin away.`,
        }).error,
      );
    }
    const meant = bin.filter((b) => named === null || named.includes(b.run));
    if (dryRun) return { dryRun, bin: meant, purged: [], reusableBytes: 0, laterBytes: 0, left: [], freedBytes: 0 };
    const report = await store.purge(meant.filter((b) => b.kept === null).map((b) => b.run));
    const gone = new Set(report.purged.map((p) => p.run));
    const freedBytes = report.purged.reduce((sum, p) => sum + p.bytes, 0);
    return { ...report, dryRun, freedBytes, bin: meant.filter((b) => !gone.has(b.run)) };
  });
}

/** Note, pin, bin. Throws AppFailure `store.not-found`, `usage`. */
export function editHistory(params: { version: string; edit: VersionEdit }, ctx: ServiceContext): Promise<VersionRow> {
  const { note } = params.edit;
  if (note !== undefined && note.length > noteLimit)
    throw new AppFailure(
      err('usage', `A note has at most ${noteLimit} characters; this one has ${note.length}.`, {
        remedy: 'Keep what is longer in a file, and its name in the note.',
      }).error,
    );
  return withStore(ctx, historyFolder(), async (store) =>
    store.editVersion(await fullId(store, params.version), params.edit),
  );
}

/** As the API has it. */
const noteLimit = 20_000;
