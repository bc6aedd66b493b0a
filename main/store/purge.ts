import { lstat, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFault } from '../base/fault.ts';
import type { AppError } from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import type { Database, Tx } from './db/database.ts';
import { drivers, thisPlace } from './lease.ts';

/**
 * Emptying the bin. A version is part of its run: its events, answers and job results are the run's own record, by which it is resumed,
 * replayed and shown. So what goes for good is a whole run, once every version of it lies in the bin; until then all of it is kept.
 */

/** A run with versions in the bin. */
export interface BinnedRun {
  readonly run: string;
  readonly task: string;
  readonly dtype: string;
  readonly kind: string;
  /** Versions of the run, and how many of them lie in the bin. */
  readonly versions: number;
  readonly inBin: number;
  /** Bytes of its files that nothing else needs. */
  readonly bytes: number;
  /** Why it is kept; null: it can go. */
  readonly kept: string | null;
}

export interface Purged {
  readonly run: string;
  readonly versions: number;
  /** Bytes of files deleted. */
  readonly bytes: number;
}

export interface PurgeReport {
  readonly purged: readonly Purged[];
  /** Bytes inside the history's file that new runs will use; the file itself does not shrink. */
  readonly reusableBytes: number;
  /** Bytes of long contents that another process may be about to use: the daily collection takes them. */
  readonly laterBytes: number;
  /** Files that could not be deleted; their run is no longer in the history. */
  readonly left: readonly AppError[];
}

interface BinSql {
  run: string;
  task: string;
  dtype: string;
  kind: string;
  versions: number;
  inBin: number;
  pinned: number;
}

const binSql = (one: boolean): string =>
  `SELECT v.run AS run, r.task AS task, r.dtype AS dtype, r.kind AS kind, count(*) AS versions,
     sum(v.deleted_at IS NOT NULL) AS inBin, sum(v.pinned = 1) AS pinned
   FROM versions v JOIN runs r ON r.id = v.run ${one ? 'WHERE v.run = ?' : ''}
   GROUP BY v.run HAVING inBin > 0 ORDER BY v.run`;

/** Contents that the run refers to and no other does. */
const ownContents = `SELECT hash, bytes FROM content WHERE hash IN
    (SELECT content FROM events WHERE run = ?1 AND content IS NOT NULL
     UNION SELECT content FROM steps WHERE run = ?1 AND content IS NOT NULL
     UNION SELECT request_content FROM steps WHERE run = ?1 AND request_content IS NOT NULL)
  AND hash NOT IN (SELECT content FROM events WHERE run <> ?1 AND content IS NOT NULL)
  AND hash NOT IN (SELECT content FROM steps WHERE run <> ?1 AND content IS NOT NULL)
  AND hash NOT IN (SELECT request_content FROM steps WHERE run <> ?1 AND request_content IS NOT NULL)`;

interface Content {
  readonly hash: string;
  readonly bytes: number;
}

function whyKept(row: BinSql, driven: boolean): string | null {
  if (driven) return 'it is under way';
  if (row.pinned > 0) return `${row.pinned} of its versions ${row.pinned === 1 ? 'is' : 'are'} pinned`;
  if (row.inBin < row.versions)
    return `${row.inBin} of its ${row.versions} versions are in the bin; the others need its record`;
  return null;
}

/** Bytes of the files below a folder; links count as themselves and are not followed. */
async function bytesBelow(folder: string): Promise<number> {
  if ((await lstat(folder).catch(() => null))?.isDirectory() !== true) return 0;
  let sum = 0;
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += await bytesBelow(path);
    else sum += (await lstat(path).catch(() => null))?.size ?? 0;
  }
  return sum;
}

/** Runs with versions in the bin. `runs`: folder of the runs' files. */
export async function listBin(db: Database, runs: string): Promise<BinnedRun[]> {
  const driven = await drivers(db);
  const out: BinnedRun[] = [];
  for (const row of await db.all<BinSql>(binSql(false))) {
    const kept = whyKept(row, driven.has(row.run));
    const contents = kept === null ? await db.all<Content>(ownContents, [row.run]) : [];
    const bytes =
      kept === null ? contents.reduce((sum, c) => sum + c.bytes, 0) + (await bytesBelow(join(runs, row.run))) : 0;
    const { run, task, dtype, kind, versions, inBin } = row;
    out.push({ run, task, dtype, kind, versions, inBin, bytes, kept });
  }
  return out;
}

/** A run's folder once the run is on its way out: what is called so is nobody's, whoever was killed in the middle of it. */
const outName = (run: string): string => `.purged-${run}`;

const isThere = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null)) !== null;

/** Takes one run out of the history, if it may still go; gives back its versions and the contents that are nobody's now. */
async function takeOut(
  db: Database,
  runs: string,
  run: string,
): Promise<{ versions: number; contents: Content[] } | null> {
  const [folder, out] = [join(runs, run), join(runs, outName(run))];
  let moved = false;
  try {
    return await inOneWrite(db, run, async () => {
      if (!(await isThere(folder))) return;
      await rename(folder, out);
      moved = true;
    });
  } catch (fault) {
    // The run is still there, and so must its files be.
    if (moved) await rename(out, folder).catch(() => {});
    throw fault;
  }
}

async function inOneWrite(
  db: Database,
  run: string,
  moveFiles: () => Promise<void>,
): Promise<{ versions: number; contents: Content[] } | null> {
  return db.transaction(async (tx) => {
    const row = await tx.get<BinSql>(binSql(true), [run]);
    // Looked at under the write lock: somebody may have taken a version out of the bin, or resumed the run, since the list was made.
    if (!row || whyKept(row, await isHeldIn(tx, db, run)) !== null) return null;
    const contents = await tx.all<Content>(ownContents, [run]);
    await moveFiles();
    await tx.run('DELETE FROM runs WHERE id = ?', [run]);
    for (const { hash } of contents) await tx.run('DELETE FROM content WHERE hash = ?', [hash]);
    return { versions: row.versions, contents };
  });
}

/** A lease is taken in a write transaction: inside one, what is committed is all there is. */
async function isHeldIn(tx: Tx, db: Database, run: string): Promise<boolean> {
  if ((await tx.get('SELECT 1 FROM leases WHERE run = ?', [run])) === undefined) return false;
  return (await drivers(db)).has(run);
}

/**
 * Deletes contents that nobody refers to. Only who drives a run writes contents, file first and row after: while nobody drives one, and
 * the write lock keeps anybody from beginning to, a file without a row is nobody's.
 */
async function dropContents(db: Database, content: ContentFiles, contents: readonly Content[]) {
  return db.transaction(async (tx) => {
    let bytes = 0;
    let later = 0;
    // Of a process on another machine nobody can tell whether it is dead or only asleep.
    const far = await tx.get('SELECT 1 FROM leases WHERE place <> ? LIMIT 1', [thisPlace().place]);
    const busy = far !== undefined || (await drivers(db)).size > 0;
    for (const c of contents) {
      if (await tx.get('SELECT 1 FROM content WHERE hash = ?', [c.hash])) continue;
      if (busy) later += c.bytes;
      else if (await content.drop(c.hash)) bytes += c.bytes;
    }
    return { bytes, later };
  });
}

const freeBytes = async (db: Database): Promise<number> => {
  const pages = (await db.get<{ freelist_count: number }>('PRAGMA freelist_count'))?.freelist_count ?? 0;
  return pages * ((await db.get<{ page_size: number }>('PRAGMA page_size'))?.page_size ?? 0);
};

/**
 * What a purge that was killed left: files of a run that is gone go now, those of a run that is still there go back to it. Under the
 * write lock, under which they are moved.
 */
async function tidy(db: Database, runs: string): Promise<void> {
  for (const name of await readdir(runs).catch(() => [])) {
    const run = /^\.purged-([A-Za-z0-9-]+)$/.exec(name)?.[1];
    if (run === undefined) continue;
    const known = await db.transaction(async (tx) => {
      if ((await tx.get('SELECT 1 FROM runs WHERE id = ?', [run])) === undefined) return false;
      if (!(await isThere(join(runs, run)))) await rename(join(runs, name), join(runs, run)).catch(() => {});
      return true;
    });
    if (!known) await rm(join(runs, name), { recursive: true, force: true }).catch(() => {});
  }
}

/** Why a folder could not be deleted; null: it is gone. */
const deleted = (folder: string): Promise<AppError | null> =>
  rm(folder, { recursive: true, force: true }).then(
    () => null,
    (error: unknown) => fileFault(error, folder, 'Deleting').error,
  );

/** Deletes runs for good, those of `names` that may go, with the files that only they needed. */
export async function purgeRuns(
  parts: { readonly db: Database; readonly content: ContentFiles; readonly runs: string },
  names: readonly string[],
): Promise<PurgeReport> {
  const { db, content, runs } = parts;
  await tidy(db, runs);
  const before = await freeBytes(db);
  const purged: Purged[] = [];
  const left: AppError[] = [];
  let laterBytes = 0;
  for (const run of names) {
    const taken = await takeOut(db, runs, run);
    if (taken === null) continue;
    const { bytes, later } = await dropContents(db, content, taken.contents);
    laterBytes += later;
    const folder = join(runs, outName(run));
    const inFolder = await bytesBelow(folder);
    const fault = (await isThere(folder)) ? await deleted(folder) : null;
    if (fault) left.push(fault);
    const remaining = fault ? await bytesBelow(folder) : 0;
    purged.push({ run, versions: taken.versions, bytes: bytes + Math.max(0, inFolder - remaining) });
  }
  return { purged, reusableBytes: Math.max(0, (await freeBytes(db)) - before), laterBytes, left };
}
