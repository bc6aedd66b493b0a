/** The Profile screen in a real browser over `cudamaster serve`: a history whose source page is a real one of ncu, and a shipped recording. */
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { run as spawn } from '../../main/base/spawn.ts';
import { seriousViolations } from './axe.ts';
import { complaints, findBrowser, launchBrowser } from './browser.ts';
import { storeProfiledRun } from './profiled-run.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

const root = join(import.meta.dirname, '../..');

describe.skipIf(findBrowser() === null)('Profile screen', { timeout: 240_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let context: BrowserContext;
  let page: Page;
  let seen: string[];
  let run: string;
  let replayed: string;
  const home = testHome();

  const open = async (hash: string): Promise<void> => {
    await page.goto(`http://127.0.0.1:${server.port}/${hash}`);
    // The same address again would leave the screen as the test before left it.
    await page.reload();
  };

  beforeAll(async () => {
    await ensureRenderer();
    process.env.CUDAMASTER_HOME = home.path;
    run = await storeProfiledRun(join(home.path, 'data'));
    const recording = join(root, 'test/recordings/dot_product-fp32.json');
    const exit = await spawn([process.execPath, join(root, 'main/cli/entry.js'), 'replay', recording, '--json'], {
      cwd: home.path,
      env: { PATH: process.env.PATH ?? '', CUDAMASTER_HOME: home.path, HOME: home.path },
      wallMs: 120_000,
      memoryMiB: null,
      outputBytes: 1 << 26,
    });
    replayed = (JSON.parse(exit.stdout.trim().split('\n').at(-1) as string) as { run: string }).run;
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      bypassCSP: true,
    });
    page = await context.newPage();
    page.setDefaultTimeout(60_000);
    seen = complaints(page);
    await page.goto(server.url);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    home.remove();
  });

  test('verdict, speed of light, findings, occupancy, launches and how it was collected', async () => {
    await open(`#/profile/${run}:r1.a0`);
    await page.getByText('memory-latency bound, launch bound').waitFor();
    const compute = page.getByRole('row', { name: /^Compute \(SM\)/ });
    expect(await compute.textContent()).toMatch(/11\.5 %\s*60\.9 %.*threshold 30 %/);
    expect(await page.getByText(/Not available: .*L2 \(lts__throughput/).count()).toBe(1);
    expect(await page.getByText('Rule:').count()).toBeGreaterThan(0);
    const limit = page.getByRole('row', { name: /Registers limits/ });
    expect(await limit.count()).toBe(1);
    expect(await page.getByRole('button', { name: /spmv_csr_kernel_optimized/ }).getAttribute('aria-pressed')).toBe(
      'true',
    );
    expect(await page.getByRole('row', { name: /^evidence/ }).textContent()).toContain('SourceCounters');
    expect(await page.getByText(/No report to open in Nsight Compute/).count()).toBe(1);
  });

  test('roofline: points by keyboard, and as a table', async () => {
    await open(`#/profile/${run}:origin`);
    const point = page.getByRole('button', { name: /origin · FP32/ });
    await point.focus();
    expect(await point.getAttribute('title')).toMatch(/FLOP\/B.*FLOP\/s.*of its compute roof/);
    await page.getByRole('radio', { name: 'Table' }).first().check({ force: true });
    const table = page.getByRole('group', { name: 'Roofline as a table' });
    expect(await table.textContent()).toContain('DRAM bandwidth');
  });

  test('heatmap: a line selects its instructions and the other way round, n and p walk the hottest rows, / searches', async () => {
    await open(`#/profile/${run}:origin?tab=code`);
    const lines = page.getByRole('grid', { name: 'Source lines with warp samples' });
    const sass = page.getByRole('grid', { name: 'Instructions with warp samples' });
    await sass.locator('[data-row]').first().waitFor();
    expect(Number(await sass.getAttribute('aria-rowcount'))).toBe(209);
    await sass.focus();
    await page.keyboard.press('n');
    expect(await sass.locator('[aria-selected="true"]').textContent()).toMatch(/11\.0FFMA/);
    expect(await lines.locator('.code-linked').textContent()).toContain('gemm_naive_kernel');
    const hottest = await sass.getAttribute('aria-activedescendant');
    await page.keyboard.press('n');
    const next = await sass.getAttribute('aria-activedescendant');
    expect(next).not.toBe(hottest);
    await page.keyboard.press('p');
    expect(await sass.getAttribute('aria-activedescendant')).toBe(hottest);
    expect(await page.locator('.code-words').textContent()).toMatch(/of the samples .*Long Scoreboard/);
    await page.keyboard.press('Enter');
    expect(await lines.locator('[aria-selected="true"]').count()).toBe(1);
    expect(await sass.locator('.code-linked').count()).toBeGreaterThan(10);
    await page.keyboard.press('/');
    await page.keyboard.type('ffma');
    await page.getByText(/^\d+ found$/).waitFor();
    await page.keyboard.press('Enter');
    expect(await sass.locator('[aria-selected="true"]').textContent()).toContain('FFMA');
  });

  test('heatmap: hottest first, by a stall, figures as samples, columns chosen', async () => {
    await open(`#/profile/${run}:origin?tab=code`);
    const sass = page.getByRole('grid', { name: 'Instructions with warp samples' });
    const first = sass.locator('[data-row="0"]');
    await first.waitFor();
    expect(await first.textContent()).toContain('LDC');
    await page.getByRole('radio', { name: 'Hottest first' }).check({ force: true });
    await sass.locator('[data-row="0"]', { hasText: 'FFMA' }).waitFor();
    await sass.getByRole('button', { name: /LG Throttle/ }).click();
    expect(await sass.getByRole('columnheader', { name: /LG Throttle/ }).getAttribute('aria-sort')).toBe('descending');
    await sass.locator('[data-row="0"]', { hasText: 'LDG' }).waitFor();
    await page.getByRole('radio', { name: 'Samples' }).check({ force: true });
    expect(await sass.locator('[data-row="0"] .code-share').textContent()).toMatch(/^[\d,]{3,}$/);
    await page.getByText('Stall reasons').click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    expect(await sass.locator('.code-header-row > [role="columnheader"]').count()).toBeGreaterThan(12);
  });

  test('heatmap: rows lend their elements while it scrolls and stand in order afterwards; columns beside the text move one by one', async () => {
    const wait = { timeout: 60_000 };
    await open(`#/profile/${run}:origin?tab=code`);
    const sass = page.getByRole('grid', { name: 'Instructions with warp samples' });
    await sass.locator('[data-row="0"]').waitFor();
    await page.getByText('Stall reasons').click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByText('Stall reasons').click();
    const places = (): Promise<number[]> =>
      sass.locator('[data-row]').evaluateAll((rows) => rows.map((row) => Number((row as HTMLElement).dataset.row)));
    const whole = (await sass.locator('[data-row="0"]').textContent()) ?? '';
    for (const top of [700, 2400, 1100, 100_000])
      await sass.evaluate(async (grid, to) => {
        grid.scrollTop = to;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
      }, top);
    const last = 207;
    const inOrder = async (): Promise<boolean> => {
      const now = await places();
      return now.at(-1) === last && now.every((place, i) => i === 0 || place > (now[i - 1] as number));
    };
    await expect.poll(inOrder, wait).toBe(true);
    const row = sass.locator(`[data-row="${last}"]`);
    expect(await row.getAttribute('aria-rowindex')).toBe(String(last + 2));
    expect(await row.textContent()).toMatch(/^0cf0/);
    await sass.evaluate((grid) => {
      grid.scrollTop = 0;
    });
    await expect.poll(() => sass.locator('[data-row="0"]').textContent(), wait).toBe(whole);

    const all = Number(await sass.getAttribute('aria-colcount'));
    const columns = (): Promise<string[]> =>
      sass
        .locator('[data-row="0"] .code-cell')
        .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('aria-colindex') as string));
    const inSight = (await columns()).length;
    expect(inSight).toBeLessThan(all - 3);
    expect((await columns())[0]).toBe('4');
    await sass.focus();
    await page.keyboard.press('ArrowRight');
    await expect.poll(async () => (await columns())[0], wait).toBe('5');
    for (let i = 0; i < all; i++) await page.keyboard.press('ArrowRight');
    await expect.poll(async () => (await columns()).at(-1), wait).toBe(String(all));
    // A heading that the keyboard reaches comes into sight.
    await sass.locator('.code-header-row > .code-cell button').first().focus();
    await expect.poll(async () => (await columns())[0], wait).toBe('4');
    expect(await sass.evaluate((grid) => grid.scrollLeft)).toBe(0);
    await page.getByRole('radio', { name: 'SASS' }).check({ force: true });
    await expect.poll(async () => (await columns()).length, wait).toBe(all - 3);
  });

  test('metrics: searched by meaning, missing with the reason', async () => {
    await open(`#/profile/${run}:r1.a0?tab=metrics`);
    await page.getByRole('searchbox', { name: 'Search metrics' }).fill('wavefronts shared passes');
    const grid = page.getByRole('grid', { name: 'Metrics' });
    await grid.getByText('Shared Memory Wavefronts').waitFor();
    expect(await grid.textContent()).toContain('l1tex__data_pipe_lsu_wavefronts_mem_shared.sum');
    expect(await grid.textContent()).toContain('not available: not asked for');
  });

  test('matrices of the run; a column leads to its version', async () => {
    await open(`#/profile/${run}:origin?tab=versions`);
    const tables = page.getByRole('radio', { name: 'Table' });
    await tables.first().waitFor({ state: 'attached' });
    await tables.nth(0).check({ force: true });
    await tables.nth(1).check({ force: true });
    const speedups = page.getByRole('group', { name: /^Speed-up over the origin/ });
    expect(await speedups.getByRole('row', { name: /n=4096/ }).textContent()).toMatch(/1\.800×.*2\.400×/);
    expect(await page.getByRole('group', { name: 'Metrics by version', exact: true }).textContent()).toContain(
      'Duration',
    );
    await speedups.getByRole('button', { name: 'r1.a0' }).click();
    await page.waitForURL(/r1\.a0/);
  });

  test('no permission: the reason and the remedy, beside what there is', async () => {
    await open(`#/profile/${run}:r2.a0`);
    await page.getByText('ERR_NVGPUCTRPERM').waitFor();
    expect(await page.getByText('NVreg_RestrictProfilingToAdminUsers').count()).toBe(1);
    await open(`#/profile/${run}:r3.a0`);
    await page.getByText('did not get as far as the profile: compile-error').waitFor();
    await open(`#/profile/${run}:r9.a9`);
    await page.getByText('has no version r9.a9').waitFor();
    await open('#/profile/softmax');
    await page.getByText('“softmax” is no version.').waitFor();
  });

  test('a recording without a source page says so', async () => {
    await open(`#/profile/${replayed}:r3.a0`);
    await page.getByRole('row', { name: /^DRAM/ }).waitFor();
    await page.getByRole('tab', { name: 'Code heatmap' }).click();
    await page.getByText(/no source page/i).waitFor();
  });

  test('no serious fault of accessibility in either theme', async () => {
    for (const theme of ['light', 'dark']) {
      await page.evaluate(`localStorage.setItem('cudamaster.theme', '${theme}')`);
      for (const hash of [`:origin`, `:origin?tab=code`, `:r1.a0?tab=metrics`, `:r1.a0?tab=versions`, `:r2.a0`]) {
        await open(`#/profile/${run}${hash}`);
        await page.locator('.profile-bar h1').waitFor();
        if (hash.endsWith('code')) {
          await page.locator('#code-instructions [data-row]').first().waitFor();
          await page.getByRole('button', { name: 'Hottest', exact: true }).click();
        }
        expect(await seriousViolations(page), `${theme} ${hash}`).toEqual([]);
      }
    }
  });

  test('nothing was complained about', () => {
    expect(seen).toEqual([]);
  });
});
