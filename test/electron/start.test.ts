/** `npm start`: a window where there can be one, else the browser, and why. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { refusal } from '../../build/package.ts';
import { findElectron, noWindow } from '../../build/start.ts';
import { ensureRenderer } from '../e2e/renderer.ts';

const root = join(import.meta.dirname, '../..');
const home = mkdtempSync(join(tmpdir(), 'cm-start-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('npm start', () => {
  test('finds Electron where it is, without asking its package', () => {
    const program = process.platform === 'linux' ? 'electron' : 'other';
    const folder = join(home, 'electron');
    mkdirSync(join(folder, 'dist'), { recursive: true });
    expect(findElectron({}, folder)).toBeNull();
    writeFileSync(join(folder, 'path.txt'), program);
    expect(findElectron({}, folder)).toBeNull();
    writeFileSync(join(folder, 'dist', program), '');
    expect(findElectron({}, folder)).toBe(join(folder, 'dist', program));
    expect(findElectron({ ELECTRON_OVERRIDE_DIST_PATH: join(home, 'nowhere') }, folder)).toBeNull();
  });

  test.each([
    [{ electron: null }, /npx install-electron/],
    [{ env: {} }, /no display/],
    [{ uid: 0 }, /root/],
    [{}, null],
    [{ env: {}, platform: 'win32' as const }, null],
    [{ env: { WAYLAND_DISPLAY: 'wayland-0' } }, null],
  ])('%j: %s', (change, expected) => {
    const why = noWindow({ electron: '/e', platform: 'linux', env: { DISPLAY: ':0' }, uid: 1000, ...change });
    if (expected === null) expect(why).toBeNull();
    else expect(why).toMatch(expected);
  });

  test('without Electron it says so and serves the screens', async () => {
    await ensureRenderer();
    const env = { PATH: '', HOME: home, CUDAMASTER_HOME: home, ELECTRON_OVERRIDE_DIST_PATH: join(home, 'nowhere') };
    const child = spawn(process.execPath, [join(root, 'build/start.ts'), '--no-build'], { env, cwd: root });
    let said = '';
    child.stdout.on('data', (data: Buffer) => {
      said += data.toString();
    });
    try {
      await expect.poll(() => said, { timeout: 40_000 }).toMatch(/http:\/\/127\.0\.0\.1:\d+\/login\?token=/);
      expect(said).toMatch(/^No window: Electron's program is not installed/);
      const url = /http:\S+/.exec(said)?.[0] ?? '';
      expect((await fetch(url, { redirect: 'manual' })).status).toBe(303);
    } finally {
      const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      expect(await ended).toBe(0);
    }
  });
});

describe('npm run dist', () => {
  test('makes packages for the own system alone, and says why', () => {
    expect(refusal('linux', 'linux')).toBeNull();
    expect(refusal('win32', 'linux')).toMatch(/made on Windows only: it holds the database's native part/);
    expect(refusal('darwin', 'win32')).toMatch(/made on macOS only/);
    expect(refusal('beos', 'linux')).toMatch(/no system that is packaged/);
  });
});
