/** History and Compare in a real browser over `cudamaster serve`, with a replayed recording; what is exported is what the command line exports. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seriousViolations } from './axe.ts';
import { complaints, findBrowser, launchBrowser } from './browser.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

const root = join(import.meta.dirname, '../..');
const installed = findBrowser() !== null;
const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

describe.skipIf(!installed)('History and Compare', { timeout: 240_000 }, () => {
  const home = testHome();
  let browser: Browser;
  let server: TestServer;
  let context: BrowserContext;
  let page: Page;
  let seen: string[];
  let run: string;

  const cli = (...args: string[]): string =>
    execFileSync(process.execPath, [join(root, 'main/cli/entry.js'), ...args], {
      cwd: home.path,
      env: { PATH: process.env.PATH, HOME: home.path, CUDAMASTER_HOME: home.path },
      encoding: 'utf8',
    });
  const last = (text: string) => JSON.parse(text.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
  const go = async (hash: string) => {
    await page.evaluate((to) => {
      window.location.hash = to;
    }, hash);
  };
  const rows = () => page.locator('[role=grid] [role=row].grid-row');
  const row = (position: string) => rows().filter({ hasText: `${run}:${position}` });
  const status = () => page.locator('.filter-count');

  beforeAll(async () => {
    run = String(last(cli('replay', join(root, 'test/recordings/softmax-bf16.json'), '--json')).run);
    cli('replay', join(root, 'test/recordings/debug-from-wrong.json'), '--json');
    await ensureRenderer();
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      acceptDownloads: true,
    });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    seen = complaints(page);
    await page.goto(server.url);
    await go('#/history');
    await rows().first().waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    home.remove();
  });

  test('every version stands there with its figures; words and choices narrow the list, the address keeps them', async () => {
    await expect.poll(() => status().textContent()).toBe('7 versions');
    expect(await row('r3.a0').textContent()).toMatch(
      /accepted.*1,275× \[1,267, 1,283\].*28\.68×.*memory-latency, launch.*H200/,
    );
    await page.getByRole('searchbox', { name: 'Find versions' }).fill('softmax accepted');
    await expect.poll(() => status().textContent()).toBe('2 of 7 versions');
    await page.waitForURL(/q=softmax\+accepted/);
    await page.reload();
    await expect.poll(() => status().textContent()).toBe('2 of 7 versions');
    await page.getByRole('button', { name: 'Clear' }).click();
    const outcome = page.getByLabel('Outcome');
    await outcome.focus();
    await outcome.selectOption({ label: 'wrong result (1)' });
    await expect.poll(() => status().textContent()).toBe('1 of 7 versions');
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('searchbox', { name: 'Find versions' }).fill('no such thing');
    await page.getByText('No version fits.').waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
  });

  test('sorting by a column turns with each click; what has no figure stays last', async () => {
    const heading = page.getByRole('columnheader', { name: 'Speed-up' });
    const first = () => rows().first().textContent();
    await heading.getByRole('button').click();
    await expect.poll(first).toContain('40.42×');
    await heading.getByRole('button').click();
    await expect.poll(first).toContain('1,275×');
    expect(await heading.getAttribute('aria-sort')).toBe('descending');
    expect(await rows().last().textContent()).not.toContain('×');
  });

  test('a note is written in its row by keyboard, and is there after a restart of the server', async () => {
    await row('r3.a0').click();
    await page.getByRole('grid', { name: 'Versions' }).focus();
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: `Note of ${run}:r3.a0` }).fill('clusters pay at C=16384');
    await page.keyboard.press('Enter');
    await expect.poll(() => row('r3.a0').textContent()).toContain('clusters pay');
    await page.keyboard.press('p');
    await page.getByRole('button', { name: `Unpin ${run}:r3.a0` }).waitFor();
    const { port } = server;
    await server.stop();
    server = await startServer(home.path, port);
    await page.goto(server.url);
    await go(`#/history?pinned=1`);
    await expect.poll(() => status().textContent()).toBe('1 of 7 versions');
    await row('r3.a0').click();
    expect(await page.getByLabel('Note', { exact: true }).inputValue()).toBe('clusters pay at C=16384');
    expect(cli('history', '--sort', 'score')).toMatch(/r3\.a0 .*\* clusters pay/);
    await go('#/history');
    await expect.poll(() => status().textContent()).toBe('7 versions');
  });

  test('a deleted version is undone by one click, waits in the bin otherwise, and comes back', async () => {
    await row('r2.a0').click();
    await page.getByRole('grid', { name: 'Versions' }).focus();
    await page.keyboard.press('Delete');
    await expect.poll(() => status().textContent()).toBe('6 versions');
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => status().textContent()).toBe('7 versions');
    await row('r2.a0').click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await expect.poll(() => status().textContent()).toBe('6 versions');
    await page.getByText('Bin', { exact: true }).click();
    await expect.poll(() => status().textContent()).toBe('1 versions');
    await row('r2.a0').click();
    await page.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('The bin is empty.').waitFor();
    await page.getByText('History', { exact: true }).last().click();
    await expect.poll(() => status().textContent()).toBe('7 versions');
  });

  test('the lineage shows what was made from what', async () => {
    await row('r2.a0').click();
    const lineage = page.getByRole('list', { name: 'Lineage' });
    expect(await lineage.getByRole('listitem').allTextContents()).toEqual([
      'originvalid',
      'r1.a01,195×',
      'r2.a01,215×',
      'r3.a01,275×',
    ]);
    await lineage.getByRole('button', { name: /r1\.a0/ }).click();
    await page.getByRole('heading', { name: `${run}:r1.a0` }).waitFor();
  });

  test('the exported file is, byte for byte, what the command line writes', async () => {
    await row('r3.a0').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`softmax-bf16-${run}-r3.a0.zip`);
    const saved = readFileSync(await download.path());
    const told = last(cli('export', `${run}:r3.a0`, '--out', join(home.path, 'x.zip'), '--json'));
    expect(sha256(saved)).toBe(told.sha256);
    expect(sha256(readFileSync(join(home.path, 'x.zip')))).toBe(told.sha256);
  });

  test('two chosen versions are compared: source, times with what can be told apart, metrics, errors, environment', async () => {
    await row('r1.a0').click();
    await row('r3.a0').click({ modifiers: ['Control'] });
    await page.getByRole('grid', { name: 'Versions' }).focus();
    await page.keyboard.press('c');
    await page.waitForURL(/#\/compare\//);
    await page.locator('.cm-mergeView .cm-changedLine').first().waitFor();
    await page.getByRole('tab', { name: 'Timings' }).click();
    await page.getByText('B is faster at 13 of 16 sizes; at 3 the intervals overlap: indistinguishable.').waitFor();
    const size = page.getByRole('row').filter({ hasText: 'N=16 C=256' });
    expect(await size.textContent()).toMatch(
      /1\.332 µs \[1\.313, 1\.352\]1\.281 µs \[1\.250, 1\.313\].*indistinguishable/,
    );
    await page.keyboard.press('x');
    await page.getByText('A is faster at 13 of 16 sizes').waitFor();
    await page.getByText('Wrapper time').click();
    await page.getByText(/15\.36 µs/).waitFor();
    await page.getByRole('tab', { name: 'Metrics' }).click();
    await page.getByRole('searchbox', { name: 'Find metrics' }).fill('barrier');
    const stall = page.getByRole('row').filter({ hasText: 'Stall Barrier' });
    expect(await stall.textContent()).toMatch(/4\.02 inst3\.53 inst−0\.49 inst−12\.2 %/);
    await page.getByRole('tab', { name: 'Errors' }).click();
    await page.getByRole('row').filter({ hasText: 'RMS error' }).waitFor();
    await page.getByRole('tab', { name: 'Environment' }).click();
    expect(await page.getByRole('row').filter({ hasText: 'Driver' }).textContent()).toMatch(
      /580\.159\.04580\.159\.04same/,
    );
  });

  test('versions of different kernels are shown with a warning; what does not exist is said', async () => {
    const other = last(cli('history', '--task', 'dot_product', '--json')).versions as { id: string }[];
    await go(`#/compare/${run}:r3.a0/${other[0]?.id}?tab=timings`);
    await page.getByText('These are versions of different kernels.', { exact: true }).waitFor();
    await go(`#/compare/${run}:r3.a0/${run}:r9.a9`);
    await page.getByRole('alert').filter({ hasText: 'There is no version' }).waitFor();
    await go('#/compare');
    await page.getByText('Two versions are needed.').waitFor();
  });

  test('axe finds nothing serious, in neither theme', async () => {
    const strict = await browser.newContext({
      bypassCSP: true,
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      storageState: await context.storageState(),
    });
    const other = await strict.newPage();
    const at = `http://127.0.0.1:${server.port}/`;
    for (const colorScheme of ['light', 'dark'] as const) {
      await other.emulateMedia({ colorScheme });
      await other.goto(`${at}#/history`);
      await other.locator('.grid-row').first().click();
      expect(await seriousViolations(other), `history, ${colorScheme}`).toEqual([]);
      for (const tab of ['source', 'timings', 'metrics', 'errors', 'environment']) {
        await other.goto(`${at}#/compare/${run}:r1.a0/${run}:r3.a0?tab=${tab}`);
        await other
          .getByRole('tab', { selected: true })
          .filter({ hasText: new RegExp(tab, 'i') })
          .waitFor();
        if (tab === 'source') await other.locator('.cm-mergeView').waitFor();
        else await other.locator('.grid-row, .plain-table td').first().waitFor();
        expect(await seriousViolations(other), `compare ${tab}, ${colorScheme}`).toEqual([]);
      }
    }
    await strict.close();
  });

  test('the page had nothing to complain about', () => {
    expect(seen.filter((line) => !/WebSocket connection to .* failed|ERR_CONNECTION_REFUSED/.test(line))).toEqual([]);
  });
});
