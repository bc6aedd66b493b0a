/** The Run screen in a real browser over `cudamaster serve`, with recordings and the manual provider. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compressedSizes } from '../../build/renderer.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { Store } from '../../main/store/index.ts';
import { reply, resultFor } from '../app/lab.ts';
import { chunk, end, type Handler, ModelServer, usage } from '../llm/server.ts';
import { seriousViolations } from './axe.ts';
import { complaints, findBrowser, launchBrowser } from './browser.ts';
import { config, profiledEvents } from './profiled-run.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

const installed = findBrowser() !== null;

/** A model that takes its time: the laboratory's answer in small pieces. */
const slowly: Handler = async (response, seen) => {
  const messages = (seen.body.messages ?? []) as { content: string }[];
  const text = reply(messages.map((m) => m.content).join('\n'));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const size = Math.ceil(text.length / 12);
  for (let at = 0; at < text.length; at += size) {
    response.write(`data: ${JSON.stringify(chunk(text.slice(at, at + size)))}\n\n`);
    await new Promise((r) => setTimeout(r, 250));
  }
  for (const last of [end(), usage(5000, 50)]) response.write(`data: ${JSON.stringify(last)}\n\n`);
  response.end('data: [DONE]\n\n');
};

/** Results of the bundle that the run shown waits for, as the laboratory would have measured them; the run goes on. */
async function bringResults(page: Page): Promise<void> {
  const path = (await page.getByTitle('bundle folder').textContent({ timeout: 90_000 })) ?? '';
  const opened = await readBundle(path);
  await writeResult(path, opened.request, resultFor(opened.bundle), 'laboratory');
  await page.getByRole('button', { name: 'Results are there: go on' }).click();
}

describe.skipIf(!installed)('Run screen', { timeout: 240_000 }, () => {
  let browser: Browser;
  let server: TestServer;
  let context: BrowserContext;
  let page: Page;
  let seen: string[];
  const home = testHome();
  const origin = () => `http://127.0.0.1:${server.port}`;

  beforeAll(async () => {
    await ensureRenderer();
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
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

  const badge = (text: string) => page.locator('.run-title .badge', { hasText: text });

  test('first use: a recorded run is one click away; it is watched to its end', async () => {
    await page.getByText('Begin here: watch a recorded run').waitFor();
    await page.getByRole('button', { name: 'Replay debug-from-wrong' }).click();
    await page.waitForURL(/#\/run\/\d/);
    // Watched: what is going on can be followed.
    await page.getByRole('checkbox', { name: 'Follow' }).check();
    await badge('done').waitFor({ timeout: 120_000 });
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await expect.poll(() => timeline.getByText('wrong result').count()).toBe(1);
    await expect.poll(() => timeline.getByText('accepted').count()).toBe(1);
    expect(await page.locator('.strip').textContent()).toMatch(/40\.42×/);
    expect(await page.locator('.strip').textContent()).toMatch(/unknown/);
  });

  test('verdict, source, agents and tools of an attempt can be read', async () => {
    await page.locator('[data-node="r1.a0"]').click();
    await page.getByText('Outputs differ from the reference beyond the limit.').waitFor();
    await page.locator('[data-node="r1.a1"]').click();
    await page.getByRole('heading', { name: 'Speed-up per size' }).waitFor();
    expect(await page.locator('.whiskers tbody tr').count()).toBe(5);
    await page.getByRole('tab', { name: 'Source' }).click();
    await page.locator('.cm-content', { hasText: 'dot_product_kernel_optimized' }).waitFor();
    await page.getByRole('tab', { name: 'Agents' }).click();
    await page.getByRole('region', { name: 'Debug' }).getByText('cost unknown').waitFor();
    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.getByText('timing, confirming sample').click();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill('go to settings');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Settings and machine' }).waitFor();
    await page.goBack();
    await page.locator('.run-title').waitFor();
  });

  test('a scheme waits for approval, is changed, and the run goes on', async () => {
    await page.goto(`${origin()}/#/home`);
    await page.getByRole('checkbox', { name: 'Each scheme waits for my approval' }).check();
    await page.getByRole('button', { name: 'Replay spmv_csr-fp32' }).click();
    await page.getByText('Scheme of round 1 waits for your approval').waitFor({ timeout: 90_000 });
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Scheme of round 2 waits for your approval').waitFor({ timeout: 90_000 });
    expect(await page.locator('[data-node="r1.a0"]').textContent()).toContain('accepted');
  });

  test('a scheme is changed before it is paid for, and what was changed is what the run keeps', async () => {
    // The run of the test before waits at its second scheme.
    const box = page.getByLabel('Scheme (you may change it)');
    const written = await box.inputValue();
    await box.fill('Mine: one warp per row, no atomics.');
    await page.getByRole('button', { name: 'Undo my changes' }).click();
    expect(await box.inputValue()).toBe(written);
    await box.fill('Mine: one warp per row, no atomics.');
    await page.getByRole('button', { name: 'Go on with the changed scheme' }).click();
    await page.locator('[data-node="r2"]', { hasText: 'Mine: one warp per row' }).waitFor();
  });

  test('a run for another machine stops with a bundle, goes on with its results, and asks for answers by hand', async () => {
    await page.goto(`${origin()}/#/run/new?task=dot_product&dtype=fp32`);
    await page.getByLabel('Rounds R').fill('many');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Give a whole number from 1 to 50').waitFor();
    await page.getByLabel('Rounds R').fill('2');
    await page.getByText('bundle for another machine').click();
    await page.getByLabel('Architecture').fill('sm_90');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Waits for a bundle to be run').waitFor({ timeout: 90_000 });
    await page.getByText(/^cudamaster worker .*bundles/).waitFor();
    expect(await badge('waiting').count()).toBe(1);

    await bringResults(page);
    await page.getByText('Waits for your answer as the planner').waitFor({ timeout: 90_000 });
    const prompt = (await page.getByRole('group', { name: 'Prompt' }).textContent()) ?? '';
    expect(prompt).toContain('You plan the optimization');
    await page.getByLabel('Answer: paste it, or drop a text file').fill(reply(prompt));
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Waits for your answer as the coder').waitFor({ timeout: 90_000 });
    expect(await page.locator('[data-node="r1"]').textContent()).toContain('lab-scheme-1');

    // The next answer comes as a file, dropped on the box.
    const asked = (await page.getByRole('group', { name: 'Prompt' }).textContent()) ?? '';
    const answer = page.getByLabel('Answer: paste it, or drop a text file');
    const dropped = await page.evaluateHandle((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'answer.md', { type: 'text/markdown' }));
      return data;
    }, reply(asked));
    await answer.dispatchEvent('dragover', { dataTransfer: dropped });
    expect(await answer.getAttribute('class')).toContain('drop-over');
    await answer.dispatchEvent('drop', { dataTransfer: dropped });
    await expect.poll(() => answer.inputValue()).toBe(reply(asked));
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await page.getByText('Waits for your answer as the compiler').waitFor({ timeout: 90_000 });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await badge('cancelled').waitFor();
  });

  test('a run is paused after its step, resumed, and cancelled only after a question', async () => {
    await page.goto(`${origin()}/#/home`);
    await page.getByRole('combobox', { name: 'Speed' }).selectOption({ label: 'Very slowly' });
    await page.getByRole('button', { name: 'Replay dot_product-fp32' }).click();
    await page.getByRole('button', { name: 'Pause' }).click();
    await badge('paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await badge('running').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Keep' }).click();
    expect(await badge('running').count()).toBe(1);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await badge('cancelled').waitFor();
  });

  test('a run that another process drives can be watched, not cancelled; when that process is gone it can', async () => {
    const store = await Store.open(join(home.path, 'data'));
    const driven = await store.begin({
      kind: 'optimize',
      config,
      options: {},
      rootSeed: '0'.repeat(64),
      originHash: '',
      taskHash: '',
      programVersion: '0.1.0',
      environment: null,
    });
    try {
      for (const [i, event] of profiledEvents().slice(0, 3).entries()) await driven.log.event(`e${i}`, event);
      await page.goto(`${origin()}/#/run/${driven.id}`);
      await page.getByText('driven elsewhere').waitFor();
      await page.locator('[data-node="r1"]').waitFor();
      expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill('cancel this run');
      expect(await page.getByRole('option', { name: /Cancel this run/ }).count()).toBe(0);
      await page.keyboard.press('Escape');
    } finally {
      await driven.release();
      await store.close();
    }
    await badge('interrupted').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the run' }).click();
    await badge('cancelled').waitFor();
  });

  test('the answer of a model on this machine streams in while it is written', async () => {
    const model = await ModelServer.start(slowly);
    try {
      await page.goto(`${origin()}/#/run/new?task=dot_product&dtype=fp32`);
      await page.getByText('bundle for another machine').click();
      await page.getByLabel('Architecture').fill('sm_90');
      await page.getByLabel('Provider', { exact: true }).selectOption('custom');
      await page.getByLabel('Model', { exact: true }).fill('test-model');
      await page.getByText('Address, key, context length').click();
      await page.getByLabel('Base address').fill(model.baseUrl);
      await page.getByRole('checkbox', { name: 'Each scheme waits for my approval' }).check();
      await page.getByRole('button', { name: 'Start' }).click();
      await bringResults(page);
      await page.locator('[data-node="r1"]').click();
      await page.getByRole('tab', { name: 'Planner' }).click();
      const log = page.getByRole('log', { name: 'Answer of the Planner, so far' });
      const first = await log.filter({ hasText: 'lab-scheme-1' }).textContent();
      await expect.poll(async () => ((await log.textContent()) ?? '').length).toBeGreaterThan((first ?? '').length);
      await page.getByText(/5,000 \+ 50 tokens/).waitFor();
      // A rejected scheme costs one more question to the Planner, and nothing else.
      const asked = () => model.seen.filter((s) => s.method === 'POST').length;
      const waits = page.getByText('Scheme of round 1 waits for your approval');
      await waits.waitFor();
      const before = asked();
      await page.getByRole('button', { name: 'Reject: ask the Planner again' }).click();
      await waits.waitFor({ state: 'detached' });
      await waits.waitFor();
      expect(asked()).toBe(before + 1);
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByText('Waits for a bundle to be run').waitFor({ timeout: 120_000 });
      expect(await page.locator('[data-node="r1.a0"]').count()).toBe(1);
    } finally {
      await model.close();
    }
  });

  test('a remote provider is asked nothing before the user agreed to what is sent where', async () => {
    await page.goto(`${origin()}/#/run/new?task=softmax&dtype=fp32`);
    await page.getByLabel('Provider', { exact: true }).selectOption({ label: 'OpenAI' });
    const dialog = page.getByRole('dialog', { name: 'Prompts will leave this machine' });
    // Not even for its models.
    await page.getByRole('button', { name: 'Ask which models there are' }).click();
    await dialog.getByText('Asked of api.openai.com: its list of models').waitFor();
    await dialog.getByRole('button', { name: 'I agree: ask for the models' }).waitFor();
    await page.getByRole('button', { name: 'Do not send' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Model', { exact: true }).fill('some-model');
    await page.getByRole('button', { name: 'Start' }).click();
    await dialog.getByText('api.openai.com').first().waitFor();
    await page.getByRole('button', { name: 'Do not send' }).click();
    expect(page.url()).toContain('#/run/new');
  });

  test('the server is killed in mid-run and started again: the run is there, interrupted, and goes on to its end', async () => {
    await page.goto(`${origin()}/#/home`);
    await page.getByRole('combobox', { name: 'Speed' }).selectOption({ label: 'Slowly, to watch' });
    await page.getByRole('button', { name: 'Replay dot_product-fp32' }).click();
    await page.locator('[data-node="r1.a0"]').waitFor({ timeout: 90_000 });
    const { hash } = new URL(page.url());
    await server.stop(true);
    await page.getByText('The connection to the engine is lost').waitFor();
    seen.length = 0;
    server = await startServer(home.path, server.port);
    await page.goto(server.url);
    await page.goto(`${origin()}/${hash}`);
    await page.getByText('The process that drove this run is gone.').waitFor({ timeout: 120_000 });
    seen.length = 0;
    await page.getByRole('button', { name: 'Resume' }).click();
    await badge('done').waitFor({ timeout: 120_000 });
    expect(await page.locator('.strip').textContent()).toMatch(/128\.4×/);
  });

  test.each(['light', 'dark'] as const)(
    '%s: no serious accessibility fault on run, start form, home, settings',
    async (theme) => {
      const axed = await browser.newContext({
        viewport: { width: 1440, height: 900 },
        colorScheme: theme,
        reducedMotion: 'reduce',
        bypassCSP: true,
        storageState: await context.storageState(),
      });
      const p = await axed.newPage();
      p.setDefaultTimeout(90_000);
      await p.goto(page.url());
      await p.locator('.run-title').waitFor();
      const { hash } = new URL(page.url());
      const run = hash.split('?')[0] ?? '';
      for (const [address, ready] of [
        [run, 'Attempts'],
        [`${run}?at=r1.a0`, 'Evidence'],
        [`${run}?at=r1.a0&tab=messages`, 'Coder'],
        ['#/run/new', 'Search'],
        ['#/home', 'Latest runs'],
        ['#/settings', 'Model providers'],
      ] as const) {
        await p.goto(`${origin()}/${address}`);
        await p.getByRole('heading', { name: ready }).first().waitFor();
        await p.waitForTimeout(300);
        expect(await seriousViolations(p), address).toEqual([]);
      }
      await axed.close();
    },
  );

  test('the page met no error and broke no rule of the Content-Security-Policy', () => {
    expect(seen).toEqual([]);
  });
});

describe('Built screens', () => {
  beforeAll(ensureRenderer);

  test('the built page holds no inline script or style', () => {
    const html = readFileSync(join(import.meta.dirname, '../../dist/renderer/index.html'), 'utf8');
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style="/);
  });

  test('the screens are at most 1.5 MB compressed, everything counted', () => {
    const total = compressedSizes().reduce((sum, f) => sum + f.bytes, 0);
    expect(total).toBeLessThan(1.5 * 1024 * 1024);
  });
});
