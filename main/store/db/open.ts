import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileFault } from '../../base/fault.ts';
import { withFileLock } from '../../base/flock.ts';
import { ensureDir } from '../../base/paths.ts';
import { type AppError, AppFailure, err } from '../../contract/index.ts';
import { backupIfDue, isSound, restoreNewest, setAside, writeBackup } from './backup.ts';
import { Connection } from './connection.ts';
import { Database } from './database.ts';
import { type JournalMode, journalOf } from './journal.ts';
import { type Fill, historyVersion, migrate, readVersion, refuseNewer } from './migrations.ts';

export interface OpenOptions {
  /** How long a statement waits for another process, ms. */
  readonly busyMs?: number;
  /** Overrules what the file system suggests. */
  readonly journal?: JournalMode;
  /** Brings the rows of an older history up to date. */
  readonly fill?: Fill;
}

export interface Opened {
  readonly db: Database;
  /** What the user must know: a damaged history was set aside. null = all well. */
  readonly notice: AppError | null;
}

/**
 * Opens the history at `file`, making it if there is none. A damaged file is set aside (never deleted) and replaced by the
 * newest sound backup or an empty history, and `notice` says so.
 * Throws AppFailure: format.newer, env.not-writable, env.disk-full, store.busy.
 */
export async function openDatabase(file: string, options: OpenOptions = {}): Promise<Opened> {
  const busyMs = options.busyMs ?? 10_000;
  ensureDir(dirname(file));
  const first = await openSound(file, busyMs);
  if (first) return { db: await prepare(first, options, busyMs), notice: null };
  const notice = await recover(file, busyMs);
  const second = await openSound(file, busyMs);
  if (!second)
    throw new AppFailure(notice ?? err('store.corrupt', 'The history file is damaged.', { detail: file }).error);
  return { db: await prepare(second, options, busyMs), notice };
}

/** null = damaged. The version is looked at first: a newer program's file is not ours to judge or touch. */
async function openSound(file: string, busyMs: number): Promise<Connection | null> {
  const c = await Connection.open(file, { busyMs });
  try {
    refuseNewer(await readVersion(c), file);
    if (await isSound(c)) return c;
    await c.close();
    return null;
  } catch (error) {
    await c.close().catch(() => {});
    if (error instanceof AppFailure && error.error.code === 'store.corrupt') return null;
    throw error;
  }
}

async function prepare(writer: Connection, options: OpenOptions, busyMs: number): Promise<Database> {
  const { file } = writer;
  try {
    const mode = options.journal ?? (await journalOf(dirname(file)));
    const present = await writer.get<{ journal_mode: string }>('PRAGMA journal_mode');
    if (present?.journal_mode !== mode) await writer.get(`PRAGMA journal_mode = ${mode}`);
    // FULL: an acknowledged step (a paid answer) survives a power cut.
    await writer.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 4194304;');
    const before = await readVersion(writer);
    if (before > 0 && before < historyVersion) await writeBackup(writer);
    await migrate(writer, options.fill ?? (async () => {}));
    await backupIfDue(writer);
    const reader = await Connection.open(file, { busyMs, existing: true });
    await reader.exec('PRAGMA query_only = ON;');
    return new Database(file, writer, reader, (await stat(file, { bigint: true })).ino);
  } catch (error) {
    await writer.close().catch(() => {});
    throw error;
  }
}

/** Only one process at a time sets aside; one that comes second finds a sound file and has nothing to tell. */
async function recover(file: string, busyMs: number): Promise<AppError | null> {
  const signal = AbortSignal.timeout(Math.max(busyMs, 1000) * 3);
  try {
    return await withFileLock(`${file}.recovery-lock`, () => replaceDamaged(file, busyMs), { signal });
  } catch (error) {
    throw fileFault(error, file, 'Setting the damaged history aside');
  }
}

async function replaceDamaged(file: string, busyMs: number): Promise<AppError | null> {
  const again = await openSound(file, busyMs);
  if (again) {
    await again.close();
    return null;
  }
  const aside = await setAside(file);
  const backup = await restoreNewest(file, busyMs);
  const lost = backup
    ? `It goes on from the backup ${backup}; what came later is not in it.`
    : 'There was no backup, so the history begins empty.';
  return err('store.corrupt', `The history file was damaged and has been set aside. ${lost}`, {
    remedy: 'The damaged file was kept; the sqlite3 program (.recover) can often read it.',
    detail: aside,
  }).error;
}
