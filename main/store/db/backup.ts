import { randomBytes } from 'node:crypto';
import { copyFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Connection } from './connection.ts';

const kept = 2;
const dayMs = 24 * 3600 * 1000;

const stamp = (at: Date): string => at.toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);

/** Files beside a history that belong to its backups, by what follows `.backup-` in their names. */
async function besides(file: string, what: RegExp): Promise<string[]> {
  const start = `${basename(file)}.backup-`;
  const names = await readdir(dirname(file)).catch(() => [] as string[]);
  return names
    .filter((n) => n.startsWith(start) && what.test(n.slice(start.length)))
    .map((n) => join(dirname(file), n));
}

/** Backups of a history file, newest first: absolute paths. One that is being written, and SQLite's side files of it, are none. */
export async function backupsOf(file: string): Promise<string[]> {
  return (await besides(file, /^\d{8}-\d{6}$/)).sort().reverse();
}

/** When a file was last written, ms; null when another process has just removed or renamed it. */
const writtenAt = (file: string): Promise<number | null> =>
  stat(file).then(
    (found) => found.mtimeMs,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    },
  );

/** What a process left that was killed while it wrote a backup. */
async function sweepPartial(file: string, now: Date): Promise<void> {
  for (const partial of await besides(file, /\.tmp(-journal)?$/)) {
    const at = await writtenAt(partial);
    if (at !== null && now.getTime() - at > dayMs) await rm(partial, { force: true });
  }
}

/** One line of `PRAGMA quick_check` means "ok"; anything else, or an error, says that the file is damaged. */
export async function isSound(c: Connection): Promise<boolean> {
  try {
    const rows = await c.all<{ quick_check: string }>('PRAGMA quick_check(1)');
    return rows.length === 1 && rows[0]?.quick_check === 'ok';
  } catch (error) {
    const code = (error as { error?: { code?: string } }).error?.code;
    if (code === 'store.corrupt') return false;
    throw error;
  }
}

/** Writes a compact, consistent copy beside the file and keeps the newest two. */
export async function writeBackup(c: Connection, now = new Date()): Promise<string> {
  const target = `${c.file}.backup-${stamp(now)}`;
  // A name of its own: several openings of one process, or processes of one number on several machines, may write at the same moment.
  const partial = `${target}.${process.pid}-${randomBytes(4).toString('hex')}.tmp`;
  try {
    await c.run('VACUUM INTO ?', [partial]);
    await rename(partial, target);
  } finally {
    await rm(partial, { force: true });
  }
  for (const old of (await backupsOf(c.file)).slice(kept)) await rm(old, { force: true });
  await sweepPartial(c.file, now);
  return target;
}

/** At most one backup a day, and none of a history that holds nothing. */
export async function backupIfDue(c: Connection, now = new Date()): Promise<void> {
  const any = await c.get('SELECT 1 FROM runs LIMIT 1');
  if (!any) return;
  const newest = (await backupsOf(c.file))[0];
  const at = newest === undefined ? null : await writtenAt(newest);
  // Gone between listing and asking: another process has just written a newer one and swept.
  if (newest !== undefined && at === null) return;
  if (at === null || now.getTime() - at >= dayMs) await writeBackup(c, now);
}

/** Puts the newest sound backup in the place of a missing history; gives back which, or null when there is none. */
export async function restoreNewest(file: string, busyMs: number): Promise<string | null> {
  for (const backup of await backupsOf(file)) {
    const copy = `${file}.restore-${process.pid}.tmp`;
    try {
      await copyFile(backup, copy);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue; // swept by another process just now
      throw error;
    }
    const c = await Connection.open(copy, { busyMs, existing: true });
    const sound = await isSound(c).finally(() => c.close());
    if (sound) {
      await rename(copy, file);
      return backup;
    }
    await rm(copy, { force: true });
  }
  return null;
}

/** Moves a damaged history and its side files out of the way, under a name that says when. Nothing is deleted. */
export async function setAside(file: string, now = new Date()): Promise<string> {
  const base = `${file}.damaged-${stamp(now)}`;
  let target = base;
  for (let n = 2; await stat(target).catch(() => null); n++) target = `${base}-${n}`;
  for (const suffix of ['-wal', '-shm', '-journal', ''])
    await rename(file + suffix, target + suffix).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  return target;
}
