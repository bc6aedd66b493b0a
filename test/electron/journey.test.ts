/**
 * The journey through the real window, wherever Electron's program and a display are (`npx install-electron`; without a display:
 * `xvfb-run -a npx vitest run test/electron/journey.test.ts`). DESKTOP_APP names a packaged program made with
 * `npm run dist -- --dir --test-build` to be driven instead.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { _electron, type ElectronApplication, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bundleShell } from '../../build/electron.ts';
import { findElectron, noWindow } from '../../build/start.ts';
import { complaints } from '../e2e/browser.ts';
import { ensureRenderer } from '../e2e/renderer.ts';

const root = join(import.meta.dirname, '../..');
const packaged = process.env.DESKTOP_APP;
const electron = packaged ?? findElectron();
const why = noWindow({ electron, platform: process.platform, env: process.env, uid: process.getuid?.() });

describe.skipIf(why !== null)('Desktop journey', { timeout: 240_000 }, () => {
  const home = mkdtempSync(join(tmpdir(), 'cm-journey-'));
  const file = join(home, 'brought.cudamaster');
  let app: ElectronApplication;
  let page: Page;
  let seen: string[];

  beforeAll(async () => {
    if (packaged === undefined) {
      await ensureRenderer();
      await bundleShell();
    }
    writeFileSync(file, readFileSync(join(root, 'test/recordings/dot_product-fp32.json')));
    app = await _electron.launch({
      executablePath: electron as string,
      args: [...(packaged === undefined ? [join(root, 'dist/electron')] : []), file],
      env: { ...(process.env as Record<string, string>), CUDAMASTER_HOME: home },
    });
    page = await app.firstWindow();
    page.setDefaultTimeout(90_000);
    seen = complaints(page);
  });
  afterAll(async () => {
    await app?.close();
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  });

  const badge = (text: string) => page.locator('.run-title .badge', { hasText: text });
  const enginePid = () =>
    app.evaluate(
      ({ app: main }) => main.getAppMetrics().find((m) => m.type === 'Utility' && m.name === 'CUDAMaster engine')?.pid,
    );

  test('the page has nothing of Node, and cannot leave', async () => {
    expect(page.url()).toMatch(/^app:\/\/cudamaster\//);
    const has = await page.evaluate(() =>
      ['require', 'process', 'module', 'Buffer'].filter((name) => name in globalThis),
    );
    expect(has).toEqual([]);
    await page.evaluate("location.href = 'https://example.com/'");
    expect(page.url()).toMatch(/^app:\/\/cudamaster\//);
    expect(await page.evaluate("window.open('https://example.com/') === null")).toBe(true);
    const gpu = await app.evaluate(({ app: main }) => main.getGPUFeatureStatus().gpu_compositing);
    expect(gpu).toMatch(/^disabled/);
  });

  test('a recording that was opened with the program is listed; a shipped one is watched to its end', async () => {
    await page
      .getByText(/Replay brought-/)
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Replay debug-from-wrong' }).click();
    await page.waitForURL(/#\/run\/\d/);
    await badge('done').waitFor({ timeout: 120_000 });
    expect(await page.locator('.strip').textContent()).toMatch(/40\.42×/);
  });

  test('an engine that is killed comes back, and the screens with it', async () => {
    const pid = (await enginePid()) as number;
    expect(pid).toBeGreaterThan(0);
    process.kill(pid, 'SIGKILL');
    await page.getByText('The connection to the engine is lost').waitFor();
    await page.getByText('The connection to the engine is lost').waitFor({ state: 'detached' });
    expect(await enginePid()).not.toBe(pid);
    await badge('done').waitFor();
  });

  test('nothing broke the rules of the page', () => expect(seen).toEqual([]));
});
