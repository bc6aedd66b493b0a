import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AppFailure } from '../../main/contract/index.ts';
import { Connection, sqlFailure } from '../../main/store/db/connection.ts';
import { Store } from '../../main/store/index.ts';
import { chatRequest, chatResponse, newRun } from '../store/samples.ts';
import { bundled, root } from './bundle.ts';
import { driveRecorded, recordingOf } from './drive.ts';
import { executedIn, type History, readHistory } from './history.ts';

const name = 'debug-from-wrong.json';
let work = '';
let whole: History;
let wanted: string[] = [];
let commits = 0;
beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), 'cm-faults-'));
  const folder = fresh();
  commits = await drivenWith(folder, () => {});
  whole = await readHistory(folder);
  wanted = executedIn(folder);
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

const fresh = (): string => mkdtempSync(join(work, 'h-'));

/** Drives the run; `onCommit` is called before each commit with its number and may throw. Gives back how many there were. */
async function drivenWith(folder: string, onCommit: (n: number) => void | Promise<void>): Promise<number> {
  let n = 0;
  const real = Connection.prototype.run;
  Connection.prototype.run = async function (sql, params) {
    if (sql === 'COMMIT') await onCommit(++n);
    return real.call(this, sql, params);
  };
  try {
    await driveRecorded(root, folder, recordingOf(root, name));
  } finally {
    Connection.prototype.run = real;
  }
  return n;
}

const codeOf = (fault: unknown): string | null => (fault instanceof AppFailure ? fault.error.code : String(fault));

/** What must be the same whatever happened in between. That a run ended badly for a time stays in its history. */
const essence = (h: History) => ({
  events: h.events.filter((e) => !(e.type === 'run-ended' && !String(e.body).includes('"status":"done"'))),
  steps: h.steps.map(({ ordinal, ...row }) => row),
  status: h.status,
  sources: h.sources,
});

/** Goes on until the run is done, as a user would who has mended the cause. */
async function resumed(folder: string): Promise<void> {
  await driveRecorded(root, folder, recordingOf(root, name));
  const history = await readHistory(folder);
  expect(essence(history)).toEqual(essence(whole));
  expect(history.seqs).toEqual(history.seqs.map((_, i) => i + 1));
  const executed = executedIn(folder);
  expect([...new Set(executed)]).toEqual(wanted);
  expect(executed.length - wanted.length).toBeLessThanOrEqual(1);
}

describe('a fault at every commit of a run', () => {
  it.each([
    ['the disk is full', 'SQLITE_FULL', 'env.disk-full'],
    ['the folder is read-only', 'SQLITE_READONLY', 'env.not-writable'],
  ])(
    '%s: told as such, nothing lost, resumed to the same history',
    async (_what, sqlite, code) => {
      let told = 0;
      for (let at = 1; at <= commits; at++) {
        const folder = fresh();
        let seen: string | null = null;
        try {
          await drivenWith(folder, (n) => {
            if (n === at)
              throw sqlFailure(Object.assign(new Error(sqlite), { code: sqlite }), join(folder, 'history.db'));
          });
        } catch (fault) {
          seen = codeOf(fault);
          expect(seen, `commit ${at}`).toBe(code);
        }
        if (seen !== null) told++;
        // What this process still holds (its lease) would have gone with it.
        if (existsSync(join(folder, 'history.db'))) await freeLease(folder);
        const ended = await lastError(folder);
        // Either the caller is told, or the run says itself why it ended.
        if (seen === null && ended !== 'done') expect(ended, `commit ${at}`).toBe(code);
        await resumed(folder);
        rmSync(folder, { recursive: true, force: true });
      }
      expect(told).toBeGreaterThan(0);
    },
    240_000,
  );

  it('the clock jumps, forth and back: the same history, in the same order', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      for (const jump of [400 * 24 * 3600_000, -400 * 24 * 3600_000, -90_000]) {
        const folder = fresh();
        await drivenWith(folder, (n) => {
          vi.setSystemTime(Date.now() + (n % 2 === 0 ? jump : -jump / 2));
        });
        const history = await readHistory(folder);
        expect(essence(history)).toEqual(essence(whole));
        expect(executedIn(folder)).toEqual(wanted);
      }
    } finally {
      vi.useRealTimers();
    }
  }, 60_000);
});

async function freeLease(folder: string): Promise<void> {
  const c = await Connection.open(join(folder, 'history.db'), { busyMs: 5000, existing: true });
  await c.run('DELETE FROM leases').catch(() => 0);
  await c.close();
}

/** 'done', the code of the fault with which the run ended, or null. */
async function lastError(folder: string): Promise<string | null> {
  const store = await Store.open(folder);
  try {
    const [run] = await store.runs(1);
    const end = run && (await store.events(run.id)).findLast((e) => e.type === 'run-ended');
    if (end?.type !== 'run-ended') return null;
    return end.status === 'done' ? 'done' : (end.error?.code ?? null);
  } finally {
    await store.close();
  }
}

/** A finished process. */
function finished(argv: readonly string[], kill?: (out: string) => boolean) {
  const child = spawn(argv[0] as string, argv.slice(1), { env: { ...process.env } });
  let out = '';
  let err = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
    if (kill?.(out)) child.kill('SIGKILL');
  });
  child.stderr.on('data', (d: Buffer) => {
    err += d;
  });
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) =>
    child.on('close', (code) => resolve({ code, out, err })),
  );
}

it.skipIf(!existsSync('/usr/bin/bwrap'))(
  'a disk that is really full: the run stops, space is freed, it goes on to the same history',
  async () => {
    const victim = await bundled('victim');
    const folder = join(work, 'small');
    mkdirSync(folder);
    const drive = `'${process.execPath}' '${victim}' '${root}' '${folder}' '${name}' never`;
    // 600 KB hold less than half of the run; the ballast leaves the rest to be freed.
    const script = `
head -c 300000 /dev/zero > '${folder}/ballast'
${drive} > /dev/null 2> '${work}/full.err'; echo "first $?"
df --output=avail '${folder}' | tail -1
rm '${folder}/ballast'; mount -o remount,size=64m '${folder}' 2>/dev/null || true
${drive} > /dev/null 2>> '${work}/full.err'; echo "second $?"
cp -r '${folder}' '${work}/kept'`;
    const sandbox = [
      '/usr/bin/bwrap',
      '--bind',
      '/',
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--size',
      '900000',
      '--tmpfs',
      folder,
    ];
    const said = await finished([...sandbox, '/bin/sh', '-c', script]);
    rmSync(victim, { force: true });
    const store = await Store.open(join(work, 'kept'));
    const [run] = await store.runs(1);
    const ends = run ? (await store.events(run.id)).filter((e) => e.type === 'run-ended') : [];
    await store.close();
    const why = ends.flatMap((e): string[] => (e.type === 'run-ended' && e.error ? [e.error.code] : []));
    // The first drive met the full disk: it said so, in its history or (where even that did not fit) as its last word.
    expect(said.out).toContain('first');
    expect(why.concat(readErr()).join(' ')).toMatch(/env\.disk-full|disk .*is full|ENOSPC/);
    await resumed(join(work, 'kept'));

    function readErr(): string[] {
      const file = join(work, 'full.err');
      return existsSync(file) ? [String(statSync(file).size > 0 ? readFileSync(file, 'utf8') : '')] : [];
    }
  },
  120_000,
);

describe('a history that is damaged', () => {
  it('cut in half, at any point of a run: set aside, the backup restored or begun empty, and what then runs is whole', async () => {
    for (const share of [0.1, 0.5, 0.9]) {
      const folder = fresh();
      await drivenWith(folder, () => {});
      await (await Store.open(folder)).close(); // the day's backup
      const file = join(folder, 'history.db');
      truncateSync(file, Math.floor((statSync(file).size * share) / 512) * 512 + 100);
      const store = await Store.open(folder);
      expect(store.notice?.code).toBe('store.corrupt');
      expect(store.notice?.message).toContain('backup');
      await store.close();
      expect(readdirSync(folder).some((n) => n.includes('.damaged-'))).toBe(true);
      await resumed(folder);
    }
  }, 120_000);

  it('backups that are damaged too are passed over for the next good one', async () => {
    const folder = fresh();
    await drivenWith(folder, () => {});
    await (await Store.open(folder)).close();
    const good = readdirSync(folder).find((n) => n.includes('.backup-')) ?? '';
    cpSync(join(folder, good), join(folder, 'history.db.backup-29991231-235959'));
    truncateSync(join(folder, 'history.db.backup-29991231-235959'), 5000);
    writeFileSync(join(folder, 'history.db'), 'no database at all'.repeat(1000));
    const store = await Store.open(folder);
    expect(store.notice?.message).toContain(good);
    expect((await store.runs()).length).toBe(1);
    await store.close();
  });

  it('a content file that is missing, changed or unreadable: that run says which, others are not affected', async () => {
    const folder = fresh();
    const store = await Store.open(folder);
    const [one, two] = [await store.begin(newRun()), await store.begin(newRun())];
    const long = (c: string) => async () => ({ kind: 'done' as const, response: chatResponse(c.repeat(30_000)) });
    await one.log.step('a', chatRequest('a'), long('1'));
    await two.log.step('a', chatRequest('a'), long('2'));
    const files = readdirSync(join(folder, 'content'), { recursive: true, withFileTypes: true })
      .filter((e) => e.isFile() && /^[0-9a-f]{62}$/.test(e.name))
      .map((e) => join(e.parentPath, e.name));
    const [first = ''] = files;
    const kept = `${first}.kept`;
    for (const spoil of [
      () => rmSync(first),
      () => writeFileSync(first, 'something else'),
      () => {
        rmSync(first);
        mkdirSync(first);
      },
    ]) {
      cpSync(first, kept);
      spoil();
      const codes = [];
      for (const run of [one, two])
        codes.push(
          await store.recording(await store.find(run.id), '').then(
            () => 'ok',
            (fault) => codeOf(fault),
          ),
        );
      expect(codes.filter((c) => c === 'ok')).toHaveLength(1);
      expect(codes.filter((c) => c !== 'ok')[0]).toMatch(
        /^store\.corrupt$|^env\.not-writable$|^internal$|^input\.file$/,
      );
      rmSync(first, { recursive: true, force: true });
      cpSync(kept, first);
      rmSync(kept);
    }
    for (const run of [one, two]) await run.release();
    await store.close();
  });
});

describe('several processes on one history', () => {
  let writer = '';
  let victim = '';
  beforeAll(async () => {
    writer = await bundled('writer');
    victim = await bundled('victim');
  });
  afterAll(() => {
    for (const file of [writer, victim]) rmSync(file, { force: true });
  });

  it('eight write at once, half of them are killed: no acknowledged write is lost', async () => {
    const folder = fresh();
    const killAt = (i: number) => (i % 2 === 0 ? undefined : (out: string) => out.split('\n').length > 8 + 3 * i);
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, i) => finished([process.execPath, writer, folder, '20'], killAt(i))),
    );
    const store = await Store.open(folder);
    expect(store.notice).toBeNull();
    let acknowledged = 0;
    for (const [i, { code, out, err }] of all.entries()) {
      expect([code, err]).toEqual([i % 2 === 0 ? 0 : null, '']);
      const run = /^run (\S+)$/m.exec(out)?.[1] ?? '';
      const c = await Connection.open(join(folder, 'history.db'), { busyMs: 5000, existing: true });
      const keys = new Set((await c.all('SELECT key FROM events WHERE run = ?', [run])).map((r) => r.key));
      const steps = new Set(
        (await c.all("SELECT position FROM steps WHERE run = ? AND state = 'done'", [run])).map((r) => r.position),
      );
      await c.close();
      const lines = out.slice(0, out.lastIndexOf('\n')).split('\n');
      for (const [, what, key] of lines.map((l) => /^(event|step) (\S+)$/.exec(l) ?? [])) {
        if (what === undefined) continue;
        acknowledged++;
        expect((what === 'event' ? keys : steps).has(key as string), `${run} ${what} ${key}`).toBe(true);
      }
      expect((await store.recording(await store.find(run), '')).steps.length).toBe(steps.size);
    }
    expect(acknowledged).toBeGreaterThan(4 * 40);
    console.log(`8 processes: ${acknowledged} acknowledged writes, none lost`);
    await store.close();
  }, 120_000);

  it('four want to drive the same run: one does, the others are told; a killed one gives it free', async () => {
    const folder = fresh();
    const at = Math.floor(commits / 2);
    await finished([process.execPath, victim, root, folder, name, 'after', String(at)]);
    const all = await Promise.all(
      Array.from({ length: 4 }, () => finished([process.execPath, victim, root, folder, name, 'never', '0'])),
    );
    const refused = all.filter((p) => p.code !== 0);
    for (const { err } of refused) expect(err).toMatch(/being driven by another process/);
    expect(all.length - refused.length).toBeGreaterThan(0);
    const history = await readHistory(folder);
    expect(essence(history)).toEqual(essence(whole));
    const executed = executedIn(folder);
    expect(executed.length - wanted.length).toBeLessThanOrEqual(1);
  }, 60_000);
});

describe('collection of contents', () => {
  it('comes after a run, once a day; keeps what is referred to and what is young, sweeps what killed writers left', async () => {
    const folder = fresh();
    await drivenWith(folder, () => {});
    expect(existsSync(join(folder, 'content', '.collected'))).toBe(true);
    const before = (await readHistory(folder)).contents;
    const old = new Date(Date.now() - 7200_000);
    const orphan = join(folder, 'content', 'ab', 'c'.repeat(62));
    const partial = join(folder, 'content', 'ab', '.123-abc.tmp');
    const young = join(folder, 'content', 'ab', 'd'.repeat(62));
    mkdirSync(join(folder, 'content', 'ab'), { recursive: true });
    for (const file of [orphan, partial, young]) writeFileSync(file, 'x');
    for (const file of [orphan, partial]) utimesSync(file, old, old);
    for (const file of before) utimesSync(join(folder, file), old, old);
    const store = await Store.open(folder);
    expect(await store.collectIfDue()).toBeNull();
    expect(existsSync(orphan)).toBe(true);
    expect(await store.collectIfDue(Date.now() + 25 * 3600_000)).toBe(2);
    expect([existsSync(orphan), existsSync(partial), existsSync(young)]).toEqual([false, false, true]);
    const [run] = await store.runs(1);
    if (!run) throw new Error('no run');
    expect((await store.recording(run, '')).steps.length).toBe(whole.steps.length);
    await store.close();
    expect((await readHistory(folder)).contents).toEqual([...before, young.slice(folder.length)].sort());
  });

  it('does not fail a run where it cannot work', async () => {
    const folder = fresh();
    mkdirSync(join(folder, 'content'), { recursive: true });
    mkdirSync(join(folder, 'content', '.collected'));
    chmodSync(join(folder, 'content', '.collected'), 0o500);
    utimesSync(join(folder, 'content', '.collected'), 0, 0);
    await drivenWith(folder, () => {});
    expect((await readHistory(folder)).status).toBe('done');
  });
});
