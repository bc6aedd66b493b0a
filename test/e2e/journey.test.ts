/**
 * One person's whole way through the screens, over a recorded run on the H200: start, watch, lose the server in mid-run and go on, look at
 * the heatmap, compare, note, export; and everything is still right after the restart.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { complaints, findBrowser, launchBrowser } from './browser.ts';
import { storeProfiledRun } from './profiled-run.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

const root = join(import.meta.dirname, '../..');
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

describe.skipIf(findBrowser() === null)('A journey through the screens', { timeout: 240_000 }, () => {
  const home = testHome();
  let browser: Browser;
  let server: TestServer;
  let page: Page;
  let seen: string[];
  let profiled: string;
  const go = (hash: string) => page.goto(`http://127.0.0.1:${server.port}/${hash}`);
  const badge = (text: string) => page.locator('.run-title .badge', { hasText: text });

  beforeAll(async () => {
    await ensureRenderer();
    // A run with ncu's source page lies in the history already: recordings of before the heatmap hold none.
    profiled = await storeProfiledRun(join(home.path, 'data'));
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
    page = await context.newPage();
    page.setDefaultTimeout(90_000);
    seen = complaints(page);
    await page.goto(server.url);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    home.remove();
  });

  test('start, watch, kill the server, go on, heatmap, compare, note, export, restart', async () => {
    await page.getByRole('combobox', { name: 'Speed' }).selectOption({ label: 'Slowly, to watch' });
    await page.getByRole('button', { name: 'Replay softmax-bf16' }).click();
    await page.waitForURL(/#\/run\/\d/);
    const run = new URL(page.url()).hash.slice('#/run/'.length).split('?')[0] ?? '';
    await page.getByRole('checkbox', { name: 'Follow' }).check();
    await page.locator('[data-node="r1.a0"]').waitFor();

    // The server dies as in a crash; what it had told is kept, and a new one goes on where it stopped.
    await server.stop(true);
    await page.getByText('The connection to the engine is lost').waitFor();
    server = await startServer(home.path, server.port);
    await page.goto(server.url);
    seen.length = 0;
    await go(`#/run/${run}`);
    await page.getByText('The process that drove this run is gone.').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await badge('done').waitFor({ timeout: 120_000 });
    expect(await page.locator('.strip').textContent()).toMatch(/1,275× \[1,267, 1,283\]/);
    await page.locator('[data-node="r3.a0"]').click();
    await page.getByText('Verified and confirmed faster: the new best.').waitFor();
    await page.getByRole('link', { name: 'Profile of the best' }).click();
    await page.getByText('memory-latency bound, launch bound').waitFor();

    // Hottest instruction, and the line it was made from.
    await go(`#/profile/${profiled}:origin?tab=code`);
    const sass = page.getByRole('grid', { name: 'Instructions with warp samples' });
    await sass.locator('[data-row]').first().waitFor();
    await sass.focus();
    await page.keyboard.press('n');
    expect(await sass.locator('[aria-selected="true"]').textContent()).toMatch(/11\.0FFMA/);
    expect(await page.locator('#code-lines .code-linked').count()).toBe(1);

    await go(`#/compare/${run}:r1.a0/${run}:r3.a0`);
    await page.locator('.cm-mergeView .cm-changedLine').first().waitFor();
    await expect.poll(() => page.locator('.cm-mergeView .cm-line span').count()).toBeGreaterThan(20);
    await page.getByRole('tab', { name: 'Timings' }).click();
    await page.getByText('B is faster at 13 of 16 sizes').waitFor();

    await go('#/history');
    const row = page.locator('.grid-row').filter({ hasText: `${run}:r3.a0` });
    await row.click();
    await page.getByRole('grid', { name: 'Versions' }).focus();
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: `Note of ${run}:r3.a0` }).fill('one cluster a row');
    await page.keyboard.press('Enter');
    await expect.poll(() => row.textContent()).toContain('one cluster a row');
    const exported = async (): Promise<string> => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Export' }).click(),
      ]);
      return sha256(readFileSync(await download.path()));
    };
    const before = await exported();

    // Another restart, in order this time: same versions, same note, same bytes; the command line agrees.
    await server.stop();
    server = await startServer(home.path, server.port);
    await page.goto(server.url);
    seen.length = 0;
    await go('#/history');
    await row.click();
    expect(await row.textContent()).toMatch(/accepted.*1,275× \[1,267, 1,283\].*one cluster a row/);
    expect(await exported()).toBe(before);
    const told = execFileSync(
      process.execPath,
      [join(root, 'main/cli/entry.js'), 'export', `${run}:r3.a0`, '--out', join(home.path, 'x.zip'), '--json'],
      {
        cwd: home.path,
        env: { PATH: process.env.PATH, HOME: home.path, CUDAMASTER_HOME: home.path },
        encoding: 'utf8',
      },
    );
    expect(JSON.parse(told.trim().split('\n').at(-1) ?? '')).toMatchObject({ sha256: before });
    expect(seen).toEqual([]);
  });

  test('a theme chosen while a chart is shown recolours it at once', async () => {
    await go(`#/profile/${profiled}:origin`);
    const ink = () =>
      page.evaluate(() => {
        const canvas = document.querySelector<HTMLCanvasElement>('.picture canvas');
        const data = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
        let sum = 0;
        let drawn = 0;
        for (let i = 0; i < data.length; i += 4)
          if ((data[i + 3] ?? 0) > 200) {
            sum += (data[i] ?? 0) + (data[i + 1] ?? 0) + (data[i + 2] ?? 0);
            drawn++;
          }
        return drawn === 0 ? 0 : sum / drawn / 3;
      });
    const choose = async (theme: string): Promise<number> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill(`theme: ${theme}`);
      await page
        .getByRole('option', { name: new RegExp(theme) })
        .first()
        .waitFor();
      await page.keyboard.press('Enter');
      await page.waitForFunction(`document.documentElement.dataset.theme === '${theme}'`);
      await page.waitForTimeout(300);
      return ink();
    };
    await page.locator('.picture canvas').first().waitFor();
    const light = await choose('light');
    const dark = await choose('dark');
    const again = await choose('light');
    // Most of what is drawn is the grid: light grey on light, dark grey on dark.
    expect(light).toBeGreaterThan(150);
    expect(dark).toBeLessThan(100);
    expect(Math.abs(again - light)).toBeLessThan(2);
  });
});
