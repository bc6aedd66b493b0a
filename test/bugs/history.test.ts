/** Reports about the history, packaging and paths: the command line as a real process. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Connection } from '../../main/store/db/connection.ts';
import { Store } from '../../main/store/index.ts';
import { root } from '../app/lab.ts';
import { newRun } from '../store/samples.ts';
import { tempFolder } from './engine.ts';

const entry = join(root, 'main/cli/entry.js');

interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** A command, finished. `before`: words in front of node (a sandbox, options). */
function command(
  home: string,
  args: readonly string[],
  before: readonly string[] = [],
  node: readonly string[] = [],
): Promise<Said> {
  const argv = [...before, process.execPath, ...node, entry, ...args];
  const child = spawn(argv[0] as string, argv.slice(1), {
    env: { PATH: process.env.PATH, HOME: home, CUDAMASTER_HOME: home, TMPDIR: '/tmp' },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    err += d;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

const result = (said: Said): { error?: { code: string; message: string; remedy?: string; detail?: string } } =>
  JSON.parse(said.out.trim().split('\n').at(-1) ?? '');

describe('the history', () => {
  it('B49: another process that does not let go: one sentence and exit code 7, no stack trace; then it works', async () => {
    const home = tempFolder();
    const data = join(home, 'data');
    mkdirSync(data, { recursive: true });
    await (await Store.open(data)).close();
    const other = await Connection.open(join(data, 'history.db'), { busyMs: 100 });
    await other.run('PRAGMA locking_mode = EXCLUSIVE');
    await other.run('BEGIN EXCLUSIVE');
    const said = await command(home, ['replay', join(root, 'test/recordings/debug-from-wrong.json'), '--json']);
    expect([said.code, result(said).error?.code]).toEqual([7, 'store.busy']);
    expect(said.err + said.out).toContain('Another copy of CUDAMaster is using the history');
    expect(said.err).not.toMatch(/\bat .*\.(ts|js):\d+/);
    await other.run('ROLLBACK');
    await other.close();
    expect((await command(home, ['runs'])).code).toBe(0);
  }, 60_000);

  it('B49: the write-ahead log does not grow without end', async () => {
    const data = tempFolder();
    const store = await Store.open(data);
    const run = await store.begin(newRun());
    for (let i = 0; i < 400; i++)
      await run.log.event(`e${i}`, { type: 'notice', position: 'p', message: 'x'.repeat(12_000) });
    expect(statSync(join(data, 'history.db-wal')).size).toBeLessThan(8 * 1024 * 1024);
    await run.release();
    await store.close();
  }, 60_000);

  it('B50: a damaged file is set aside, the newest good backup restored, and both are named; nothing is deleted', async () => {
    const home = tempFolder();
    const data = join(home, 'data');
    const store = await Store.open(data);
    const run = await store.begin(newRun());
    await run.log.event('end', { type: 'run-ended', status: 'done', error: null });
    await run.release();
    await store.close();
    await (await Store.open(data)).close(); // makes the backup
    const file = join(data, 'history.db');
    const damaged = Buffer.alloc(20_000, 'SQLite formaX');
    writeFileSync(file, damaged);
    const said = await command(home, ['runs', '--json']);
    expect(said.code).toBe(0);
    expect(said.out).toContain(run.id);
    expect(said.out + said.err).toMatch(/damaged and has been set aside.*backup/s);
    const aside = readdirSync(data).find((n) => n.includes('.damaged-')) ?? '';
    expect(readFileSync(join(data, aside)).equals(damaged)).toBe(true);
    expect(said.out + said.err).toContain(aside);
    const again = await command(home, ['runs', '--json']);
    expect([again.code, again.out.includes('set aside')]).toEqual([0, false]);
  }, 60_000);
});

describe('packaging and paths', () => {
  it('B51: a native module made for another Node is a plain "broken installation", not a stack', async () => {
    const home = tempFolder();
    const hook = join(home, 'hook.mjs');
    writeFileSync(
      hook,
      `import { registerHooks } from 'node:module';
const text = "The module '/x/sqlite3.node' was compiled against a different Node.js version using NODE_MODULE_VERSION 127. This version of Node.js requires NODE_MODULE_VERSION 136.";
registerHooks({ load(url, context, next) {
  return url.includes('node_modules/sqlite3') ? { format: 'commonjs', shortCircuit: true, source: 'throw new Error(' + JSON.stringify(text) + ')' } : next(url, context);
} });`,
    );
    const said = await command(home, ['runs', '--json'], [], ['--import', hook]);
    expect([said.code, result(said).error?.code]).toEqual([1, 'internal']);
    expect(result(said).error?.message).toMatch(/installation.*broken|broken.*installation/i);
    expect(result(said).error?.message).toContain('NODE_MODULE_VERSION 127');
    expect(result(said).error?.remedy).toMatch(/npm (ci|rebuild)|[Ii]nstall/);
    expect(said.err).not.toMatch(/\n\s+at /);
  }, 60_000);

  it.skipIf(!existsSync('/usr/bin/bwrap'))(
    'B52: a read-only place (AppImage, Program Files): exit code 3, the folder named, nothing else written',
    async () => {
      const home = tempFolder();
      const readOnly = ['/usr/bin/bwrap', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];
      const said = await command(home, ['demo', '--json'], readOnly);
      expect([said.code, result(said).error?.code]).toEqual([3, 'env.not-writable']);
      expect(`${result(said).error?.message} ${result(said).error?.detail} ${result(said).error?.remedy}`).toContain(
        home,
      );
      expect(said.err).not.toMatch(/\n\s+at /);
      expect(readdirSync(home)).toEqual([]);
    },
    60_000,
  );

  it.skipIf(!existsSync('/usr/bin/bwrap'))(
    'B52: everything that is written lies in the folders of the user, none beside the program',
    async () => {
      const home = tempFolder();
      // Everything else is read-only: a write there would fail.
      const boxed = ['/usr/bin/bwrap', '--ro-bind', '/', '/', '--bind', home, home, '--dev', '/dev', '--proc', '/proc'];
      expect((await command(home, ['demo'], boxed)).code).toBe(0);
      expect(readdirSync(home)).toContain('data');
    },
    60_000,
  );
});
