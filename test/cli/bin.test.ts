/** The bin at the command line, over a history with two real runs: what is said, what goes for good, what stays. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { unwrap } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { Store } from '../../main/store/index.ts';
import { root } from '../app/lab.ts';
import { newRun } from '../store/samples.ts';
import { entry, inProcess } from './program.ts';

vi.setConfig({ testTimeout: 240_000 });

const made = mkdtempSync(join(tmpdir(), 'cm-bin-made-'));
const ctx = { emit: () => {} };
const { services } = createHost({ root });
/** Two replays: the same recording is a run of its own each time, and shares its long contents with the other. */
let one = '';
let two = '';
let home = '';

beforeAll(async () => {
  vi.stubEnv('CUDAMASTER_HOME', made);
  const file = join(root, 'test/recordings/debug-from-wrong.json');
  one = unwrap(await services.replay({ file }, ctx)).id;
  two = unwrap(await services.replay({ file }, ctx)).id;
}, 60_000);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(made, { recursive: true, force: true });
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-bin-'));
  cpSync(made, home, { recursive: true });
  vi.stubEnv('CUDAMASTER_HOME', home);
  const mine = home;
  onTestFinished(() => rmSync(mine, { recursive: true, force: true }));
});

const contents = (): number =>
  readdirSync(join(home, 'data', 'content'), { recursive: true, withFileTypes: true }).filter(
    (e) => e.isFile() && !e.name.startsWith('.'),
  ).length;
const ids = async (deleted: boolean): Promise<string[]> =>
  unwrap(await services.history({ deleted }, ctx))
    .map((v) => v.id)
    .sort();
const all = (run: string): string[] => ['origin', 'r1.a0', 'r1.a1'].map((p) => `${run}:${p}`);

it('delete says what went where and the way back; a run means all its versions', async () => {
  const ran = await inProcess('delete', `${one}:r1.a0`);
  expect([ran.code, ran.err]).toEqual([0, '']);
  expect(ran.out.split('\n')).toEqual([
    `${one}:r1.a0 (dot_product fp32, wrong-result) is in the bin.`,
    'Nothing is lost: the run keeps its whole record.',
    `Back: cudamaster restore ${one}:r1.a0`,
    'For good: cudamaster purge (a run whose versions are all in the bin)',
    '',
  ]);
  const rest = await inProcess('delete', one, '--json');
  expect(rest.last).toMatchObject({
    run: one,
    versions: [{ deletedAt: expect.any(String) }, { deletedAt: expect.any(String) }],
  });
  expect(await ids(true)).toEqual(all(one));
  expect((await inProcess('delete', one)).out).toContain('in the bin already: nothing was changed');
  const back = await inProcess('restore', one);
  expect(back.out).toContain(`3 versions of ${one} are back in the history:`);
  expect(await ids(true)).toEqual([]);
  // An id of a version that nobody has, and a run without one.
  expect((await inProcess('delete', `${one}:r9.a9`)).code).toBe(7);
});

it('purge deletes nothing without a word, then the whole run and nothing of another', async () => {
  unwrap(await services.binRun({ run: one, deleted: true }, ctx));
  unwrap(await services.editVersion({ version: `${two}:r1.a0`, edit: { deleted: true } }, ctx));
  const folder = join(home, 'data', 'runs', one);
  expect(existsSync(folder)).toBe(true);

  const refused = await inProcess('purge', '--json');
  expect([refused.code, refused.last]).toMatchObject([
    2,
    { ok: false, error: { code: 'usage', detail: one, remedy: expect.stringContaining('--yes') } },
  ]);
  const dry = await inProcess('purge', '--dry-run');
  expect(dry.code).toBe(0);
  expect(dry.out).toMatch(/^To be deleted for good: 1 run with 3 versions, \S+ \S+ of files$/m);
  expect(dry.out).toContain(
    `Kept: ${two} (dot_product fp32): 1 of its 3 versions are in the bin; the others need its record.`,
  );
  expect(dry.out).toContain('Nothing was deleted (--dry-run).');
  expect(existsSync(folder)).toBe(true);

  const before = contents();
  const gone = await inProcess('purge', '--yes', '--json');
  expect(gone.code).toBe(0);
  expect(gone.last).toMatchObject({
    dryRun: false,
    purged: [{ run: one, versions: 3 }],
    bin: [{ run: two, kept: expect.stringContaining('1 of its 3') }],
    left: [],
  });
  expect(gone.last.freedBytes).toBeGreaterThan(0);
  expect(existsSync(folder)).toBe(false);
  // The other run has the same long contents: none of them went, and all of it can still be read.
  expect(contents()).toBe(before);
  expect(await ids(true)).toEqual([`${two}:r1.a0`]);
  expect((await inProcess('show', one)).code).toBe(7);
  expect(unwrap(await services.show({ run: two }, ctx)).state.rounds).toHaveLength(1);
  unwrap(await services.binRun({ run: two, deleted: true }, ctx));
  const last = unwrap(await services.purge({}, ctx));
  expect(last.freedBytes).toBeGreaterThan(0);
  expect([contents(), await ids(false), await ids(true)]).toEqual([0, [], []]);
  expect((await inProcess('purge')).out).toContain('Nothing was deleted: no run has all its versions in the bin.');
});

it('pinned versions, runs under way and runs that are named but not in the bin stay', async () => {
  unwrap(await services.binRun({ run: one, deleted: true }, ctx));
  unwrap(await services.editVersion({ version: `${one}:r1.a1`, edit: { pinned: true } }, ctx));
  const pinned = await inProcess('purge', one, '--yes');
  expect(pinned.code).toBe(2);
  expect(pinned.err).toContain('1 of its versions is pinned');
  expect((await inProcess('purge', two, '--yes', '--json')).code).toBe(2);
  expect((await inProcess('purge', 'nobody', '--yes', '--json')).code).toBe(7);
  unwrap(await services.editVersion({ version: `${one}:r1.a1`, edit: { pinned: false } }, ctx));

  const store = await Store.open(join(home, 'data'));
  try {
    // Somebody takes it up after the list was made.
    const listed = (await store.bin()).filter((b) => b.kept === null).map((b) => b.run);
    expect(listed).toEqual([one]);
    const driven = await store.resume(await store.find(one), null, false);
    expect((await store.bin())[0]?.kept).toBe('it is under way');
    expect((await store.purge(listed)).purged).toEqual([]);
    await driven.release();
    // Another run is under way: what it may be about to use is left to the daily collection.
    const other = await store.begin(newRun());
    const report = await store.purge(listed);
    expect(report.purged).toMatchObject([{ run: one, versions: 3 }]);
    await other.release();
  } finally {
    await store.close();
  }
});

it('a purge that was killed in the middle is tidied by the next: nothing of a run that stays is lost', async () => {
  unwrap(await services.binRun({ run: one, deleted: true }, ctx));
  const runs = join(home, 'data', 'runs');
  // Killed before its rows went, after them, and a folder of a history that is no longer: that is no purge's.
  renameSync(join(runs, one), join(runs, `.purged-${one}`));
  mkdirSync(join(runs, '.purged-260101-0000-gone', 'chat'), { recursive: true });
  mkdirSync(join(runs, '260101-0000-lost'));
  unwrap(await services.purge({ runs: [] }, ctx));
  expect(readdirSync(runs).sort()).toEqual(['260101-0000-lost', one, two].sort());
  // A fault of the history while it goes: its files are where they were.
  const db = join(home, 'data', 'history.db');
  const c = await Connection.open(db, { busyMs: 10_000 });
  await c.exec("CREATE TRIGGER broken BEFORE DELETE ON runs BEGIN SELECT raise(ABORT, 'broken'); END");
  await c.close();
  expect((await services.purge({}, ctx)).ok).toBe(false);
  expect(readdirSync(runs).sort()).toEqual(['260101-0000-lost', one, two].sort());
  expect(unwrap(await services.show({ run: one }, ctx)).state.rounds).toHaveLength(1);
});

it('at a terminal it asks: "no" deletes nothing, the end of input is a no, "yes" deletes', async () => {
  unwrap(await services.binRun({ run: one, deleted: true }, ctx));
  const asked = (typed: string | null): Promise<{ code: number | null; shown: string }> => {
    const words = [process.execPath, entry, 'purge'].map((w) => `'${w}'`).join(' ');
    const child = spawn('script', ['-qec', words, '/dev/null'], {
      env: { ...process.env, CUDAMASTER_HOME: home },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    let shown = '';
    let told = false;
    child.stdout.on('data', (d: Buffer) => {
      shown += d;
      if (told || !shown.includes('[y/N]')) return;
      told = true;
      // \u0004 ends the input of a terminal.
      child.stdin.write(typed === null ? '\u0004' : `${typed}\n`);
    });
    return new Promise((done) => child.on('close', (code) => done({ code, shown })));
  };
  for (const typed of ['n', null]) {
    const { code, shown } = await asked(typed);
    expect([typed, code, shown]).toEqual([typed, 130, expect.stringContaining('[y/N]')]);
    expect(shown).toContain(`  ${one}  replay  dot_product fp32  3 versions`);
    expect(await ids(true)).toEqual(all(one));
  }
  expect((await asked('y')).code).toBe(0);
  expect(await ids(true)).toEqual([]);
});
