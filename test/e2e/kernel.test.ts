/** The Kernel screen in a real browser over `cudamaster serve`: read, copy, change, evaluate, branch. */
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { candidate, resultFor } from '../app/lab.ts';
import { seriousViolations } from './axe.ts';
import { complaints, findBrowser, launchBrowser } from './browser.ts';
import { storeProfiledRun } from './profiled-run.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

describe.skipIf(findBrowser() === null)('Kernel screen', { timeout: 240_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let context: BrowserContext;
  let page: Page;
  let seen: string[];
  let run: string;
  const home = testHome();
  const open = async (hash: string): Promise<void> => {
    await page.goto(`http://127.0.0.1:${server.port}/${hash}`);
  };
  const replaceText = async (text: string): Promise<void> => {
    await page.locator('.cm-content[contenteditable="true"]').click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  };

  beforeAll(async () => {
    await ensureRenderer();
    run = await storeProfiledRun(join(home.path, 'data'));
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      bypassCSP: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
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

  test('all tasks are listed; search and category narrow the list', async () => {
    await open('#/kernel');
    const list = page.getByRole('navigation', { name: 'Kernels' });
    await list.getByRole('link', { name: 'softmax bf16' }).waitFor();
    expect(await list.getByRole('link').count()).toBe(100);
    await list.getByRole('searchbox').fill('spmv');
    expect(await list.getByRole('link').count()).toBe(8);
    await list.getByRole('searchbox').fill('');
    await list.getByRole('combobox', { name: 'Category' }).selectOption('loss');
    expect(await list.getByRole('link').count()).toBeLessThan(10);
  });

  test('a task: source, sizes with weights, no baseline yet, definition, command to copy', async () => {
    await open('#/kernel/dot_product/fp32');
    await page.locator('.cm-content', { hasText: '__global__' }).waitFor();
    const sizes = page.getByRole('group', { name: 'Sizes and baseline' });
    const weights = await sizes.locator('tbody tr td:nth-child(2)').allTextContents();
    const sum = weights.reduce((total, text) => total + Number.parseFloat(text), 0);
    expect(Math.abs(sum - 100)).toBeLessThan(0.1);
    expect(await page.getByText('The baseline was never measured here.').count()).toBe(1);
    expect(await page.getByTitle('signature', { exact: true }).textContent()).toContain(
      'extern "C" void dot_product_optimized(',
    );
    // Without a toolkit or an architecture the reason stands in the command's place.
    const panel = page.getByRole('region', { name: 'nvcc command' });
    expect(await panel.textContent()).toMatch(/architecture to compile for is not known|nvcc/);
  });

  test('a copy is changed, compared and evaluated; the result comes live', async () => {
    await open('#/kernel/dot_product/fp32?edit=1');
    await page.locator('.cm-content[contenteditable="true"]', { hasText: '__global__' }).waitFor();
    await replaceText(candidate('2.5'));
    await page.getByRole('radio', { name: 'Against the parent' }).check({ force: true });
    await page.locator('.cm-mergeView').waitFor();
    await page.getByRole('textbox', { name: 'Arguments to nvcc' }).fill('"-O3');
    expect(await page.getByRole('button', { name: 'Evaluate mine' }).isDisabled()).toBe(true);
    await page.getByText('A quote is not closed.').waitFor();
    await page.getByRole('textbox', { name: 'Arguments to nvcc' }).fill('--use_fast_math');
    await page.getByRole('combobox', { name: 'Where' }).selectOption('bundle');
    await page.getByRole('combobox', { name: 'Profile' }).selectOption('none');
    await page.getByRole('button', { name: 'Evaluate mine' }).click();
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText('Waits for a bundle.').waitFor();
    await bringResult(result.getByRole('link', { name: /^Run / }));
    await page.goBack();
    await result.getByText(/Speed-up over the origin/).waitFor();
    expect(await result.textContent()).toMatch(/accepted.*2\.\d+×/s);
    expect(await result.getByRole('row', { name: /n=|N=/ }).count()).toBeGreaterThan(0);
  });

  /** The laboratory measures the bundle that the run waits for; the run goes on to its verdict. */
  async function bringResult(link: ReturnType<Page['getByRole']>): Promise<void> {
    await link.click();
    const path = (await page.getByTitle('bundle folder').textContent()) ?? '';
    const opened = await readBundle(path);
    await writeResult(path, opened.request, resultFor(opened.bundle), 'laboratory');
    await page.getByRole('button', { name: 'Results are there: go on' }).click();
    await page.locator('.run-title .badge', { hasText: 'done' }).waitFor();
  }

  test('the text survives a reload, and is discarded on demand', async () => {
    await open('#/kernel/dot_product/bf16?edit=1');
    await page.locator('.cm-content[contenteditable="true"]', { hasText: '__global__' }).waitFor();
    await replaceText('// my own text');
    await page.waitForFunction(`Object.values(localStorage).includes('// my own text')`);
    await page.reload();
    await page.locator('.cm-content', { hasText: '// my own text' }).waitFor();
    await page.getByRole('button', { name: 'Discard changes' }).click();
    await page.locator('.cm-content', { hasText: '__global__' }).waitFor();
  });

  test('what the engine refuses is shown with its remedy, and the text stays', async () => {
    await open(`#/kernel/${run}:r1.a0?edit=1`);
    await page.locator('.cm-content[contenteditable="true"]').waitFor();
    await page.getByRole('textbox', { name: 'Arguments to nvcc' }).fill('-o /etc/passwd');
    await page.getByRole('combobox', { name: 'Where' }).selectOption('bundle');
    await page.getByRole('button', { name: 'Evaluate mine' }).click();
    await page.locator('.kernel-facts').getByText(/-o/).first().waitFor();
    expect(await page.locator('.cm-content').textContent()).toContain('gemm_naive_kernel');
  });

  test('a version: verdict, source beside its parent’s, ways to profile, run and branch', async () => {
    await open(`#/kernel/${run}:r2.a0`);
    await page.getByText('2.400× [2.376, 2.424]').waitFor();
    await page.getByRole('radio', { name: 'Against its parent', disabled: false }).check({ force: true });
    const merge = page.locator('.cm-mergeView');
    await merge.waitFor();
    expect(await merge.textContent()).toMatch(/round 1.*round 2/s);
    await page.getByRole('button', { name: 'Optimize from here' }).click();
    await page.waitForURL(/#\/run\/new\?.*from=/);
    await open(`#/kernel/${run}:r3.a0`);
    await page.getByText('compile error', { exact: true }).waitFor();
  });

  test('the palette has the commands of what is shown', async () => {
    const command = async (words: string): Promise<void> => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill(words);
      // Commands come with the data of the screen.
      await page
        .getByRole('option', { selected: true })
        .filter({ hasText: new RegExp(words, 'i') })
        .waitFor();
      await page.keyboard.press('Enter');
    };
    await open('#/kernel/dot_product/fp32');
    await page.locator('.cm-content', { hasText: '__global__' }).waitFor();
    await command('large sizes of this kernel');
    await page.waitForURL(/sizes=large/);
    await command('edit a copy of this kernel');
    await page.locator('.cm-content[contenteditable="true"]').waitFor();
    await open(`#/kernel/${run}:r1.a0`);
    await page.getByRole('button', { name: 'Optimize from here' }).waitFor();
    await command('profile of this version');
    await page.waitForURL(/#\/profile\//);
    await page.locator('.profile-bar h1').waitFor();
    await command('profile: code heatmap');
    await page.waitForURL(/tab=code/);
    await command('run of this version');
    await page.waitForURL(/#\/run\//);
    await page.goBack();
    await page.locator('.profile-bar h1').waitFor();
    await command('source of this version');
    await page.waitForURL(/#\/kernel\//);
  });

  test('no serious fault of accessibility in either theme', async () => {
    for (const theme of ['light', 'dark']) {
      await page.evaluate(`localStorage.setItem('cudamaster.theme', '${theme}')`);
      for (const hash of ['softmax/bf16', 'softmax/bf16?edit=1', `${run}:r2.a0`]) {
        await open(`#/kernel/${hash}`);
        await page.reload();
        await page.locator('.cm-content').first().waitFor();
        expect(await seriousViolations(page), `${theme} ${hash}`).toEqual([]);
      }
    }
  });

  test('nothing was complained about', () => {
    expect(seen).toEqual([]);
  });
});
