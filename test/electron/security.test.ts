/** What pages may and may not, over a stand-in for the module `electron` (its binary is not everywhere). */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sizes } from '../../build/icons.ts';
import { isOurs, mayOpen } from '../../electron/guard.ts';
import { answer } from '../../electron/ipc.ts';
import { Keys, protectionOf } from '../../electron/keys.ts';
import { pageHandler, screensUrl } from '../../electron/pages.ts';
import { startShell } from '../../electron/shell.ts';
import { keepWindowState, readWindowState } from '../../electron/window-state.ts';
import { type StandIn, StandInContents, type StandInWindow, standIn } from './stand-in.ts';

const home = mkdtempSync(join(tmpdir(), 'cm-shell-'));
const root = join(import.meta.dirname, '../..');
process.env.CUDAMASTER_HOME = home;

describe('Desktop window', () => {
  let e: StandIn;
  let window: StandInWindow;
  beforeAll(async () => {
    e = standIn({ env: { ...process.env, CUDAMASTER_HOME: home } });
    await startShell(e.api, { argv: ['electron', '.'], folder: home, resources: '' })?.ready;
    window = e.windows[0] as StandInWindow;
  });
  afterAll(() => e.dispose());

  test('nothing of ours runs on the GPU, and every page is in the sandbox without Node', () => {
    const calls = e.app.calls.map(([name, first]) => [name, first]);
    expect(calls).toContainEqual(['disableHardwareAcceleration', undefined]);
    expect(calls).toContainEqual(['appendSwitch', 'disable-gpu']);
    expect(calls).toContainEqual(['enableSandbox', undefined]);
    expect(window.options.webPreferences).toEqual({
      preload: join(root, 'dist/electron/preload.cjs'),
      contextIsolation: true,
      sandbox: true,
      nodeIntegration: false,
      nodeIntegrationInWorker: false,
      nodeIntegrationInSubFrames: false,
      webviewTag: false,
      webSecurity: true,
      allowRunningInsecureContent: false,
      navigateOnDragDrop: false,
      spellcheck: false,
    });
    expect(window.webContents.url).toBe('app://cudamaster/');
  });

  test.each([
    ['https://example.com/', true],
    ['app://shell/keys.html', true],
    ['app://elsewhere/', true],
    ['file:///etc/passwd', true],
    ['javascript:alert(1)', true],
    ['app://cudamaster/', false],
    ['app://cudamaster/index.html#/run/1', false],
  ])('a page that goes to %s: refused %s', (url, refused) => {
    for (const event of ['will-navigate', 'will-redirect'])
      expect(window.webContents.refuses(event, { url })).toBe(refused);
    expect(window.webContents.refuses('will-frame-navigate', { url, isMainFrame: false })).toBe(true);
  });

  test('no window is opened and no page is embedded; only known sites go to the browser', () => {
    expect(window.webContents.refuses('will-attach-webview', {})).toBe(true);
    const ask = (url: string) => window.webContents.openHandler({ url }).action;
    for (const url of [
      'https://docs.nvidia.com/cuda/',
      'https://example.com/',
      'file:///etc/passwd',
      'app://shell/keys.html',
    ])
      expect(ask(url)).toBe('deny');
    expect(e.opened).toEqual(['https://docs.nvidia.com/cuda/']);
  });

  test.each([
    ['http://docs.nvidia.com/', false],
    ['https://docs.nvidia.com.example.com/', false],
    ['https://user:secret@docs.nvidia.com/', false],
    ['https://docs.nvidia.com:8443/', false],
    ['file:///usr/bin/id', false],
    ['not an address', false],
    ['https://developer.nvidia.com/nsight-compute', true],
  ])('address %s may be opened: %s', (url, allowed) => expect(mayOpen(url)).toBe(allowed));

  test('permissions: text for the clipboard of our own pages, nothing else', () => {
    const request = e.session.set.request as unknown as (c: unknown, p: string, cb: (ok: boolean) => void) => void;
    const check = e.session.set.check as unknown as (c: unknown, p: string, origin: string) => boolean;
    const asked = (url: string, permission: string): boolean => {
      let given = false;
      request({ getURL: () => url }, permission, (ok) => {
        given = ok;
      });
      return given;
    };
    expect(asked(screensUrl, 'clipboard-sanitized-write')).toBe(true);
    expect(asked('https://example.com/', 'clipboard-sanitized-write')).toBe(false);
    for (const permission of ['media', 'geolocation', 'notifications', 'clipboard-read', 'openExternal', 'fullscreen'])
      expect([asked(screensUrl, permission), check(null, permission, screensUrl)]).toEqual([false, false]);
    expect((e.session.set.device as unknown as () => boolean)()).toBe(false);
  });

  test('only what our own page made can be saved, and where is asked', () => {
    const save = (page: string, url: string) => {
      const set: { defaultPath?: string }[] = [];
      let prevented = false;
      const item = {
        getURL: () => url,
        getFilename: () => 'dot.zip',
        setSaveDialogOptions: (o: object) => set.push(o),
      };
      e.session.emit('will-download', { preventDefault: () => (prevented = true) }, item, { getURL: () => page });
      return prevented ? 'refused' : set[0]?.defaultPath;
    };
    expect(save(screensUrl, 'blob:app://cudamaster/1234')).toBe('/home/user/downloads/dot.zip');
    expect(save(screensUrl, 'https://example.com/x.zip')).toBe('refused');
    expect(save('https://example.com/', 'blob:app://cudamaster/1234')).toBe('refused');
  });

  test('a page cannot reach the keys, and another one not the engine', async () => {
    const ports = window.webContents.ports.length;
    const event = { senderFrame: window.webContents.mainFrame, sender: window.webContents };
    const asScreens = (channel: string, ...args: unknown[]) => e.handlers.get(channel)?.(event, ...args);
    expect(await asScreens('keys.list')).toMatchObject({ ok: false, error: { code: 'usage' } });
    expect(await asScreens('keys.set', 'A_KEY', 'value')).toMatchObject({ ok: false });
    const shellPage = new StandInContents();
    shellPage.mainFrame.url = 'app://shell/keys.html';
    const asKeys = { senderFrame: shellPage.mainFrame, sender: shellPage };
    expect(await e.handlers.get('connect')?.(asKeys)).toMatchObject({ ok: false });
    expect(window.webContents.ports.length).toBe(ports);
    expect(await e.handlers.get('keys.list')?.(asKeys)).toMatchObject({ ok: true, value: { names: [] } });
  });
});

describe('Messages of pages', () => {
  const handlers = new Map<string, (event: unknown, ...args: unknown[]) => Promise<unknown>>();
  const ipc = { handle: (channel: string, handler: never) => handlers.set(channel, handler) };
  answer(ipc as never, 'double', 'app://cudamaster/', z.tuple([z.number()]), ([n]) => n * 2);
  const call = (frame: { url: string } | null, main: object | null, ...args: unknown[]) =>
    handlers.get('double')?.({ senderFrame: frame, sender: { mainFrame: main } }, ...args);
  const frame = { url: 'app://cudamaster/#/home' };

  test('are answered for the right page and arguments', async () => {
    expect(await call(frame, frame, 21)).toEqual({ ok: true, value: 42 });
  });
  test.each([
    ['a frame inside the page', { url: 'app://cudamaster/' }, frame],
    ['a frame that is gone', null, frame],
    ['another page', { url: 'app://shell/keys.html' }, null],
    ['another site with our name in it', { url: 'https://cudamaster/' }, null],
  ])('are refused from %s', async (_what, sender, main) => {
    expect(await call(sender, main ?? sender, 21)).toMatchObject({ ok: false, error: { code: 'usage' } });
  });
  test.each([[[]], [['21']], [[21, 22]], [[Number.NaN]], [[{}]]])('are refused with arguments %j', async (args) => {
    expect(await call(frame, frame, ...args)).toMatchObject({ ok: false, error: { code: 'usage' } });
  });
});

describe('Addresses of the program', () => {
  const screens = join(home, 'screens');
  const shell = join(home, 'pages');
  const handle = pageHandler({ screens, shell });
  const get = async (url: string, method = 'GET') => {
    const response = await handle({ url, method });
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  beforeAll(() => {
    for (const folder of [screens, shell, join(screens, 'assets')]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(screens, 'index.html'), '<meta name="csp-nonce" content="__CSP_NONCE__">');
    writeFileSync(join(screens, 'assets/a.js'), 'export {};');
    writeFileSync(join(screens, 'assets/a.exe'), 'MZ');
    writeFileSync(join(screens, '.hidden.js'), 'secret');
    writeFileSync(join(shell, 'keys.html'), '<p>keys</p>');
    writeFileSync(join(home, 'secret.js'), 'secret');
    symlinkSync(join(home, 'secret.js'), join(screens, 'link.js'));
    symlinkSync(home, join(screens, 'up'));
  });

  test('the page has a policy that begins with nothing, and a fresh nonce each time', async () => {
    const first = await get('app://cudamaster/');
    const second = await get('app://cudamaster/');
    const nonce = /content="([A-Za-z0-9+/=]{24})"/.exec(first.text)?.[1] ?? '';
    expect(nonce).not.toBe('');
    expect(first.headers.get('content-security-policy')).toBe(
      `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; font-src 'self'; img-src 'self'; connect-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    );
    expect(first.headers.get('x-content-type-options')).toBe('nosniff');
    expect(second.text).not.toBe(first.text);
    expect((await get('app://cudamaster/assets/a.js')).headers.get('content-type')).toMatch(/^text\/javascript/);
  });

  test.each([
    'app://cudamaster/../secret.js',
    'app://cudamaster/assets/../../secret.js',
    'app://cudamaster/%2e%2e/secret.js',
    'app://cudamaster/..%2fsecret.js',
    'app://cudamaster/assets%2fa.js',
    'app://cudamaster//etc/passwd',
    'app://cudamaster//secret.js',
    'app://cudamaster/C:/secret.js',
    'app://cudamaster/..\\secret.js',
    'app://cudamaster/link.js',
    'app://cudamaster/up/secret.js',
    'app://cudamaster/.hidden.js',
    'app://cudamaster/assets/a.js%00.html',
    'app://cudamaster/assets',
    'app://cudamaster/assets/a.exe',
    'app://cudamaster/keys.html',
    'app://shell/index.html',
    'app://elsewhere/index.html',
  ])('%s leads nowhere', async (url) => {
    const got = await get(url);
    expect([got.status, got.text]).toEqual([404, 'There is no such page.\n']);
  });

  test('a file by its whole path, or another method, leads nowhere', async () => {
    expect((await get(`app://cudamaster${join(home, 'secret.js')}`)).status).toBe(404);
    expect((await get('app://cudamaster/', 'POST')).status).toBe(405);
    expect(isOurs('app://cudamaster.example.com/')).toBe(false);
  });
});

describe('Keys', () => {
  const e = standIn({ env: {} });
  const file = join(home, 'keys/keys.json');
  const keys = new Keys(e.api.safeStorage, file);

  test('are kept encrypted in a file of the user alone, and can be taken away', async () => {
    await keys.set('OPENAI_API_KEY', 'sk-a-secret-value');
    expect(readFileSync(file, 'utf8')).not.toContain('secret');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect([await keys.names(), await keys.values()]).toEqual([
      ['OPENAI_API_KEY'],
      { OPENAI_API_KEY: 'sk-a-secret-value' },
    ]);
    await keys.remove('OPENAI_API_KEY');
    expect(await keys.values()).toEqual({});
  });

  test('where the system protects nothing, it says so', async () => {
    const warned = async (backend: string, available: boolean, platform: NodeJS.Platform) =>
      protectionOf(standIn({ env: {}, storage: { backend, available } }).api.safeStorage, platform);
    expect((await warned('basic_text', true, 'linux')).warning).toMatch(/not protected/);
    expect((await warned('gnome_libsecret', true, 'linux')).warning).toMatch(/not from programs that you run/);
    expect((await warned('basic_text', true, 'win32')).warning).toBeNull();
    expect(await warned('basic_text', false, 'linux')).toMatchObject({ available: false });
    const none = new Keys(standIn({ env: {}, storage: { backend: 'x', available: false } }).api.safeStorage, file);
    await expect(none.set('A', 'value')).rejects.toMatchObject({ error: { code: 'usage' } });
  });

  test('a damaged file is named, never overwritten', async () => {
    writeFileSync(file, '{"version": 9}');
    await expect(keys.set('A', 'value')).rejects.toMatchObject({ error: { code: 'input.file' } });
    expect(readFileSync(file, 'utf8')).toBe('{"version": 9}');
  });
});

describe('Icons', () => {
  const folder = join(root, 'build/resources');
  const sizeOf = (png: Buffer): number => {
    expect(png.subarray(1, 4).toString()).toBe('PNG');
    return png.readUInt32BE(16);
  };

  test('every size is drawn, and both containers hold them whole', () => {
    const pngs = new Map(sizes.map((n) => [n as number, readFileSync(join(folder, `icons/${n}x${n}.png`))]));
    for (const [size, png] of pngs) expect(sizeOf(png)).toBe(size);
    const ico = readFileSync(join(folder, 'icon.ico'));
    const entries = Array.from({ length: ico.readUInt16LE(4) }, (_, i) => 6 + 16 * i);
    for (const at of entries) {
      const offset = ico.readUInt32LE(at + 12);
      const png = ico.subarray(offset, offset + ico.readUInt32LE(at + 8));
      expect(sizeOf(png) % 256).toBe(ico.readUInt8(at));
      expect(pngs.get(sizeOf(png))?.equals(png)).toBe(true);
    }
    expect(entries).toHaveLength(7);
    const icns = readFileSync(join(folder, 'icon.icns'));
    expect(icns.readUInt32BE(4)).toBe(icns.length);
    const found: number[] = [];
    for (let at = 8; at < icns.length; at += icns.readUInt32BE(at + 4)) found.push(sizeOf(icns.subarray(at + 8)));
    expect(new Set(found)).toEqual(new Set([16, 32, 64, 128, 256, 512, 1024]));
  });
});

describe('Place of the window', () => {
  const file = join(home, 'window.json');
  const screen = { x: 0, y: 0, width: 1920, height: 1080 };
  const place = { x: 100, y: 50, width: 1200, height: 800, maximized: true };

  test('is kept', async () => {
    await keepWindowState(file, place);
    expect(readWindowState(file, [screen])).toEqual({ version: 1, ...place });
  });
  test.each([
    ['its screen is gone', { ...place, x: 3000 }],
    ['only a sliver of it would be seen', { ...place, x: 1900 }],
    ['its title would lie above the screen', { ...place, y: -400 }],
  ])('is not taken when %s', async (_why, state) => {
    await keepWindowState(file, state);
    expect(readWindowState(file, [screen])).toBeNull();
  });
  test.each(['', '{', '{"version":1,"x":"a"}', '{"version":2}'])('a damaged file %j is no place', (text) => {
    writeFileSync(file, text);
    expect(readWindowState(file, [screen])).toBeNull();
  });
});

afterAll(() => rmSync(home, { recursive: true, force: true }));
