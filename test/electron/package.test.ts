/**
 * The packaged program: packed without network around a stand-in for Electron's folder (its binary is not everywhere), then used from a
 * read-only place whose path has spaces and letters beyond ASCII, with an empty PATH.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { runInNewContext } from 'node:vm';
import { extractAll, listPackage } from '@electron/asar';
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EngineMessage } from '../../electron/engine-messages.ts';
import { TestClient } from '../host/client.ts';
import { StandInPort, StandInProcess } from './stand-in.ts';

const root = join(import.meta.dirname, '../..');
const base = mkdtempSync(join(tmpdir(), 'cm-pack-'));
const out = join(base, 'Prüfung mit Leerzeichen 計算');
const home = join(base, 'home');
const unpacked = join(out, 'linux-unpacked');
const archive = join(unpacked, 'resources/app.asar');
const resources = join(unpacked, 'resources/cudamaster');
const program = join(resources, 'bin/cudamaster');
/** Node alone cannot read in an archive, as Electron does. */
const extracted = join(base, 'extracted');
const linux = process.platform === 'linux';
const bwrap = ['/usr/bin/bwrap', '--die-with-parent', '--dev-bind', '/', '/'];

/** The files that electron-builder wants of an Electron; the program holds the mark after which its fuses lie, as the real one does. */
function standInElectron(folder: string): void {
  for (const name of ['locales', 'resources']) mkdirSync(join(folder, name), { recursive: true });
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules/electron/package.json'), 'utf8'));
  writeFileSync(join(folder, 'version'), version);
  for (const name of ['LICENSE', 'LICENSES.chromium.html', 'locales/en-US.pak', 'locales/de.pak'])
    writeFileSync(join(folder, name), name);
  const fuseWire = Buffer.concat([
    Buffer.from('dL7pKGdnNz796PbbjQWNKmHXBZaB9tsX'),
    Buffer.from([1, 9]),
    Buffer.from('101000110'),
  ]);
  writeFileSync(join(folder, 'electron'), Buffer.concat([Buffer.from('#!/bin/sh\nexit 0\n'), fuseWire]));
  chmodSync(join(folder, 'electron'), 0o755);
}

const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
const stamps = (folder: string) => files(folder).map((file) => `${relative(folder, file)} ${lstatSync(file).mtimeMs}`);

/** Read-only for everybody, root as well; nothing from PATH. */
const inside = (...args: string[]): [string, string[]] => [
  bwrap[0] as string,
  [...bwrap.slice(1), '--ro-bind', out, out, program, ...args],
];
const env = { PATH: '', HOME: home, CUDAMASTER_HOME: home };

describe.skipIf(!linux)('Packaged program', { timeout: 180_000 }, () => {
  let before: string[];
  beforeAll(async () => {
    mkdirSync(home);
    const electron = join(base, 'electron');
    standInElectron(electron);
    const argv = [join(root, 'build/package.ts'), '--dir', '--electron-dist', electron, '--out', out];
    const [first, ...rest] = [...bwrap, '--unshare-net', process.execPath, ...argv] as [string, ...string[]];
    const made = spawnSync(first, rest, { cwd: root, encoding: 'utf8' });
    expect(made.status, made.stdout + made.stderr).toBe(0);
    before = stamps(unpacked);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  test('the archive holds shell and screens, bundled, and nothing else', () => {
    const listed = listPackage(archive, { isPack: false }).map((path) => path.replaceAll('\\', '/'));
    for (const name of [
      '/package.json',
      '/dist/electron/main.js',
      '/dist/electron/engine.js',
      '/dist/electron/preload.cjs',
      '/dist/electron/pages/keys.html',
      '/dist/electron/icons/32x32.png',
      '/dist/renderer/index.html',
    ])
      expect(listed).toContain(name);
    const odd = listed.filter((path) => !/^\/(package\.json|dist(\/(electron|renderer)(\/.*)?)?)$/.test(path));
    expect(odd).toEqual([]);
    expect(listed.filter((path) => /node_modules|\.ts$|\.map$|\.cc?$|deps/.test(path))).toEqual([]);
  });

  test('native code and everything that other programs read are real files', () => {
    expect(files(join(unpacked, 'resources/app.asar.unpacked')).map((f) => relative(unpacked, f))).toEqual([
      'resources/app.asar.unpacked/dist/electron/node_sqlite3.node',
    ]);
    const names = files(resources).map((file) => relative(resources, file));
    for (const name of [
      'node',
      'bin/cudamaster',
      'dist/cli.js',
      'dist/worker.js',
      'dist/node_sqlite3.node',
      'dist/renderer/index.html',
      'prompts/planner.md',
      'kernels/harness/PROTOCOL.md',
      'kernels/mskernelbench/dot_product/task.json',
      'test/recordings/index.json',
      'LICENSE',
    ])
      expect(names).toContain(name);
    expect(files(resources).filter((file) => !lstatSync(file).isFile())).toEqual([]);
    expect(names.filter((name) => /node_modules|sqlite3\.(c|h)$|binding\.gyp/.test(name))).toEqual([]);
    const all = (folder: string) => files(join(root, folder)).map((file) => relative(root, file));
    expect(names).toEqual(expect.arrayContaining([...all('prompts'), ...all('kernels')]));
  });

  test('fuses: no Node mode, no options from the environment, no inspector, only our archive', async () => {
    const wire = await getCurrentFuseWire(join(unpacked, 'cudamaster-desktop'));
    // A fuse is a character: 1 is on.
    const state = (fuse: FuseV1Options) => wire[fuse] === '1'.charCodeAt(0);
    expect({
      runAsNode: state(FuseV1Options.RunAsNode),
      nodeOptions: state(FuseV1Options.EnableNodeOptionsEnvironmentVariable),
      inspect: state(FuseV1Options.EnableNodeCliInspectArguments),
      cookies: state(FuseV1Options.EnableCookieEncryption),
      integrity: state(FuseV1Options.EnableEmbeddedAsarIntegrityValidation),
      onlyAsar: state(FuseV1Options.OnlyLoadAppFromAsar),
      fileProtocol: state(FuseV1Options.GrantFileProtocolExtraPrivileges),
    }).toEqual({
      runAsNode: false,
      nodeOptions: false,
      inspect: false,
      cookies: true,
      integrity: true,
      onlyAsar: true,
      fileProtocol: false,
    });
  });

  test('the command line runs a recorded optimization through the real loop', () => {
    const recording = join(resources, 'test/recordings/debug-from-wrong.json');
    const [first, args] = inside('replay', recording, '--json');
    const done = spawnSync(first, args, { env, cwd: '/', encoding: 'utf8' });
    expect(done.status, done.stderr).toBe(0);
    const last = JSON.parse(done.stdout.trim().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ status: 'done', task: 'dot_product' });
    const [again, list] = inside('--json', 'runs');
    expect(spawnSync(again, list, { env, cwd: '/', encoding: 'utf8' }).stdout).toContain('dot_product');
  });

  test('the server serves the screens', async () => {
    const [first, args] = inside('--json', 'serve');
    const child: ChildProcess = spawn(first, args, { env, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const url = await new Promise<string>((resolve) => {
        createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
          const message = JSON.parse(line) as { type?: string; url?: string };
          if (message.type === 'serving' && message.url) resolve(message.url);
        });
      });
      const login = await fetch(url, { redirect: 'manual' });
      const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
      const page = await fetch(new URL('/', url), { headers: { cookie } });
      expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<div id="root">')]);
    } finally {
      child.kill('SIGINT');
      await new Promise((resolve) => child.once('exit', resolve));
    }
  });

  test('the entry of the archive loads with nothing but the module electron; a second start ends at once', () => {
    extractAll(archive, extracted);
    const names = /import \{([^}]*)\} from "electron"/.exec(
      readFileSync(join(extracted, 'dist/electron/main.js'), 'utf8'),
    );
    const stub = join(base, 'electron-stub.mjs');
    const others = (names?.[1] ?? '').split(',').map((name) => name.trim());
    writeFileSync(
      stub,
      `export const app = new Proxy({}, { get: (_, name) => (...args) => {
        if (name === 'exit') console.log('exit', ...args);
        return false; // another one runs already
      } });\n${others
        .filter((name) => name !== 'app')
        .map((name) => `export const ${name} = {};`)
        .join('\n')}\n`,
    );
    const hooks = join(base, 'hooks.mjs');
    writeFileSync(
      hooks,
      `import { registerHooks } from 'node:module';
      registerHooks({ resolve: (id, context, next) =>
        id === 'electron' ? { url: ${JSON.stringify(pathToFileURL(stub).href)}, shortCircuit: true } : next(id, context) });`,
    );
    const entry = join(extracted, 'dist/electron/main.js');
    const done = spawnSync(process.execPath, ['--import', hooks, entry], { env, encoding: 'utf8' });
    expect([done.stderr, done.stdout]).toEqual(['', 'exit 0\n']);
  });

  test('the preload hands over ports, shows screens that are screens, and gives the keys to their own page alone', () => {
    const load = (hostname: string) => {
      const on = new Map<string, (event: unknown, arg?: unknown) => void>();
      const said: unknown[][] = [];
      const exposed: string[] = [];
      const page = {
        location: { protocol: 'app:', hostname, origin: `app://${hostname}`, hash: '' },
        postMessage: (...args: unknown[]) => said.push(args),
        addEventListener: (_type: string, listener: () => void) => listener(),
        require: () => ({
          ipcRenderer: {
            on: (channel: string, listener: () => void) => on.set(channel, listener),
            invoke: (...args: unknown[]) => said.push(args),
          },
          contextBridge: { exposeInMainWorld: (name: string) => exposed.push(name) },
        }),
      };
      runInNewContext(readFileSync(join(extracted, 'dist/electron/preload.cjs'), 'utf8'), page);
      return { page, on, said, exposed };
    };
    const { page, on, said, exposed } = load('cudamaster');
    on.get('port')?.({ ports: ['port'] });
    for (const hash of ['javascript:alert(1)', 7, '#/run/1']) on.get('go')?.({}, hash);
    expect(said).toEqual([['connect'], ['cudamaster-port', 'app://cudamaster', ['port']]]);
    expect([page.location.hash, exposed]).toEqual(['#/run/1', []]);
    expect(load('shell').exposed).toEqual(['keys']);
    expect(load('example.com')).toMatchObject({ said: [], exposed: [] });
  });

  test('the engine of the archive works with the files beside it', async () => {
    const engine = new StandInProcess(join(extracted, 'dist/electron/engine.js'), env);
    try {
      const [port1, port2] = [new StandInPort(), new StandInPort()];
      port1.peer = port2;
      port2.peer = port1;
      engine.postMessage({ type: 'start', root: resources, keys: {} } satisfies EngineMessage);
      engine.postMessage({ type: 'connect' } satisfies EngineMessage, [port1]);
      const page = new TestClient((message) => port2.postMessage(message));
      port2.on('message', ({ data }) => page.take(data));
      port2.start();
      expect((await page.got('tasks.list', {})).length).toBeGreaterThan(50);
      const { run } = await page.got('runs.replay', { recording: 'dot_product-fp32' });
      const status = async () => (await page.got('runs.get', { run })).row.status;
      await expect.poll(status, { timeout: 60_000 }).toBe('done');
    } finally {
      engine.kill();
    }
  });

  test('nothing of the installed program has changed by its use', () => {
    expect(stamps(unpacked)).toEqual(before);
  });
});
