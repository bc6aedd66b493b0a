import { execFileSync } from 'node:child_process';
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isSound, writeBackup } from '../../main/store/db/backup.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { journalFor } from '../../main/store/db/journal.ts';
import { openDatabase } from '../../main/store/db/open.ts';
import { Store } from '../../main/store/index.ts';
import { codeOf, newRun, tempFolder } from './samples.ts';

const pause = (ms: number) => new Promise((r) => setTimeout(r, ms));

describe('transactions', () => {
  it('keeps an acknowledged write when another caller, whose transaction was under way, fails', async () => {
    const { db } = await openDatabase(join(tempFolder(), 'history.db'));
    const insert = 'INSERT INTO content (hash, bytes) VALUES (?, 1)';
    const failing = db.transaction(async (tx) => {
      await tx.run(insert, ['lost']);
      await pause(50);
      throw new Error('changed my mind');
    });
    const kept = db.transaction((tx) => tx.run(insert, ['kept']));
    await expect(failing).rejects.toThrow('changed my mind');
    await kept;
    expect(await db.all('SELECT hash FROM content')).toEqual([{ hash: 'kept' }]);
    await db.close();
  });

  it('shows readers committed data only, and refuses what would deadlock or leak', async () => {
    const { db } = await openDatabase(join(tempFolder(), 'history.db'));
    let seenInside = -1;
    let leaked: Promise<unknown> = Promise.resolve();
    await db.transaction(async (tx) => {
      await tx.run("INSERT INTO content (hash, bytes) VALUES ('x', 1)");
      seenInside = (await db.all('SELECT * FROM content')).length;
      await expect(db.transaction(async () => 1)).rejects.toThrow('inside a transaction');
      setTimeout(() => {
        leaked = tx.run('DELETE FROM content').catch((e: Error) => e.message);
      }, 20);
    });
    expect(seenInside).toBe(0);
    await pause(40);
    expect(await leaked).toContain('already ended');
    expect(await db.all('SELECT * FROM content')).toHaveLength(1);
    await db.close();
  });

  it('waits for another process and then says that the history is busy', async () => {
    const file = join(tempFolder(), 'history.db');
    const { db } = await openDatabase(file, { busyMs: 200 });
    const other = await Connection.open(file, { busyMs: 200 });
    await other.run('BEGIN IMMEDIATE');
    expect(await codeOf(db.transaction(async () => 1))).toBe('store.busy');
    await other.run('ROLLBACK');
    expect(await db.transaction(async () => 2)).toBe(2);
    await other.close();
    await db.close();
  });

  it('keeps compiled statements, which see a schema changed since, fail and go on, and hold nothing', async () => {
    const file = join(tempFolder(), 'kept.db');
    // Long enough for the slowest machine: what holds the file here would hold it for ever.
    const c = await Connection.open(file, { busyMs: 3000 });
    const other = await Connection.open(file, { busyMs: 3000 });
    await c.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)');
    const insert = 'INSERT INTO t (a, b) VALUES (?, ?)';
    expect(await c.run(insert, [1, 'x'])).toBe(1);
    await expect(c.run(insert, [1, 'again'])).rejects.toMatchObject({ error: { code: 'internal' } });
    expect(await c.run(insert, [2, 'y'])).toBe(1);
    expect(await c.all('SELECT * FROM t')).toEqual([
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ]);
    // Asked for together, they run in that order.
    const [, seen] = await Promise.all([c.run('DELETE FROM t WHERE a = 1'), c.all('SELECT * FROM t')]);
    expect(seen).toEqual([{ a: 2, b: 'y' }]);
    // A statement that stopped at a row would keep the other connection from changing the schema.
    await c.run('SELECT * FROM t');
    await other.exec("ALTER TABLE t ADD COLUMN c TEXT NOT NULL DEFAULT 'new'");
    expect(await c.all('SELECT * FROM t')).toEqual([{ a: 2, b: 'y', c: 'new' }]);
    for (let i = 0; i < 250; i++) expect(await c.get(`SELECT ${i} AS n`)).toEqual({ n: i });
    expect(await c.run(insert, [3, 'z'])).toBe(1);
    await expect(c.all('SELECT nothing FROM t')).rejects.toMatchObject({ error: { code: 'internal' } });
    await c.close();
    expect(await other.get('SELECT count(*) AS n FROM t')).toEqual({ n: 2 });
    await other.close();
  });

  it('does not write into a file that was moved away', async () => {
    const file = join(tempFolder(), 'history.db');
    const { db } = await openDatabase(file);
    renameSync(file, `${file}.away`);
    expect(await codeOf(db.transaction(async () => 1))).toBe('store.corrupt');
    await db.close();
  });
});

describe('opening', () => {
  it('uses WAL on local disks and the rollback journal where shared memory cannot be trusted', async () => {
    expect(journalFor('linux', 0xef53, '/home')).toBe('wal');
    expect(journalFor('linux', 0x6969, '/nfs')).toBe('delete');
    expect(journalFor('linux', 0xff534d42 | 0, '/cifs')).toBe('delete');
    expect(journalFor('linux', 0x12345, '/new')).toBe('delete');
    expect(journalFor('linux', -1, '/unknown')).toBe('delete');
    expect(journalFor('win32', 0, '\\\\server\\share')).toBe('delete');
    expect(journalFor('win32', 0, 'C:\\data')).toBe('wal');
    expect(journalFor('darwin', 0x1a, '/Users')).toBe('wal');
    const file = join(tempFolder(), 'history.db');
    const { db } = await openDatabase(file, { journal: 'delete' });
    expect(await db.get('PRAGMA journal_mode')).toEqual({ journal_mode: 'delete' });
    await db.transaction((tx) => tx.run("INSERT INTO content (hash, bytes) VALUES ('x', 1)"));
    expect(existsSync(`${file}-wal`)).toBe(false);
    await db.close();
  });

  it('refuses a newer history by name and leaves it as it is', async () => {
    const file = join(tempFolder(), 'history.db');
    const { db } = await openDatabase(file);
    await db.close();
    const c = await Connection.open(file, { busyMs: 100 });
    await c.run('PRAGMA user_version = 99');
    await c.close();
    const before = readFileSync(file);
    expect(await codeOf(openDatabase(file))).toBe('format.newer');
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('takes no file for a backup that another process is writing, and sweeps what a killed one left', async () => {
    const folder = tempFolder();
    const first = await Store.open(folder);
    await (await first.begin(newRun())).release();
    await first.close();
    const longAgo = new Date(Date.now() - 48 * 3600 * 1000);
    const parts = ['history.db.backup-29990101-000000.7.tmp', 'history.db.backup-29990101-000000.7.tmp-journal'];
    for (const [i, name] of [...parts, 'history.db.backup-29990101-000000.8.tmp-journal'].entries()) {
      writeFileSync(join(folder, name), 'being written');
      if (i < parts.length) utimesSync(join(folder, name), longAgo, longAgo);
    }
    // The unfinished ones are the newest by name: none may stand for today's backup, or be restored.
    await (await Store.open(folder)).close();
    const left = readdirSync(folder).filter((n) => n.includes('.backup-'));
    expect(left.filter((n) => /backup-\d{8}-\d{6}$/.test(n))).toHaveLength(1);
    expect(left.filter((n) => n.includes('.tmp'))).toEqual(['history.db.backup-29990101-000000.8.tmp-journal']);
    writeFileSync(join(folder, 'history.db'), Buffer.alloc(8192, 'not a database '));
    const restored = await Store.open(folder);
    expect((await restored.runs()).length).toBe(1);
    await restored.close();
  });

  it('sets a damaged history aside, restores the newest sound backup and says so', async () => {
    const folder = tempFolder();
    const first = await Store.open(folder);
    const run = await first.begin(newRun());
    await run.release();
    await first.close();
    await (await Store.open(folder)).close(); // this opening makes the backup
    const file = join(folder, 'history.db');
    expect(readdirSync(folder).filter((n) => n.includes('.backup-'))).toHaveLength(1);
    writeFileSync(file, Buffer.alloc(8192, 'not a database '));

    const second = await Store.open(folder);
    expect(second.notice?.code).toBe('store.corrupt');
    expect(second.notice?.message).toContain('backup');
    expect((await second.runs()).map((r) => r.id)).toEqual([run.id]);
    expect((await second.find('last')).rootSeed).toBe(newRun().rootSeed);
    const aside = second.notice?.detail ?? '';
    expect(readFileSync(aside).subarray(0, 5).toString()).toBe('not a');
    await second.close();
    const third = await Store.open(folder);
    expect(third.notice).toBeNull();
    await third.close();
  });

  it('begins empty when a page in the middle is damaged and there is no backup', async () => {
    const folder = tempFolder();
    const file = join(folder, 'history.db');
    await (await Store.open(folder)).close();
    truncateSync(file, Math.floor(statSync(file).size / 2));
    const store = await Store.open(folder);
    expect(store.notice?.message).toContain('begins empty');
    expect(await store.runs()).toEqual([]);
    await store.close();
    expect(readdirSync(folder).some((n) => n.includes('.damaged-'))).toBe(true);
  });

  it('lets only one of several processes set the file aside', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'history.db'), Buffer.alloc(4096, 7));
    const stores = await Promise.all([1, 2, 3].map(() => Store.open(folder)));
    expect(stores.filter((s) => s.notice !== null)).toHaveLength(1);
    for (const s of stores) await s.close();
    expect(readdirSync(folder).filter((n) => /\.damaged-[\d-]+$/.test(n))).toHaveLength(1);
  });

  it('writes backups at the same moment without taking one another’s file', async () => {
    const folder = tempFolder();
    const file = join(folder, 'history.db');
    await (await Store.open(folder)).close();
    const now = new Date();
    const connections = await Promise.all(
      Array.from({ length: 6 }, () => Connection.open(file, { busyMs: 10_000, existing: true })),
    );
    const written = await Promise.all(connections.map((c) => writeBackup(c, now)));
    expect(new Set(written).size).toBe(1);
    for (const c of connections) await c.close();
    expect(readdirSync(folder).filter((n) => n.includes('.tmp'))).toEqual([]);
    const backup = await Connection.open(written[0] as string, { busyMs: 10_000, existing: true });
    expect(await isSound(backup)).toBe(true);
    await backup.close();
  });

  it('says which folder cannot be written', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'file'), '');
    expect(await codeOf(Store.open(join(folder, 'file', 'below')))).toBe('env.not-writable');
  });

  it('says that the disk is full and loses nothing that was acknowledged', async () => {
    const folder = tempFolder();
    const { db } = await openDatabase(join(folder, 'history.db'));
    await db.transaction((tx) => tx.run("INSERT INTO content (hash, bytes) VALUES ('kept', 1)"));
    const limited = db.transaction(async (tx) => {
      // SQLite's own page limit answers with the same code as a full disk.
      await tx.get('PRAGMA max_page_count = 1');
      await tx.run('INSERT INTO content (hash, bytes) VALUES (hex(zeroblob(100000)), 1)');
    });
    expect(await codeOf(limited)).toBe('env.disk-full');
    expect(await db.all('SELECT hash FROM content')).toEqual([{ hash: 'kept' }]);
    await db.close();
  });
});

it('only main/store/db knows sqlite3', () => {
  const hits = execFileSync('grep', ['-rlE', "from 'sqlite3'", join(import.meta.dirname, '../../main')], {
    encoding: 'utf8',
  });
  expect(
    hits
      .trim()
      .split('\n')
      .every((f) => f.includes('/store/db/')),
  ).toBe(true);
});
