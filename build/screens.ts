/**
 * docs/screens/: every screen in both themes at 1440 × 900, and one at 1024 × 700, from a real server over recordings.
 * Usage: node build/screens.ts [NAME …] (needs dist/renderer and an installed Chromium, Chrome or Edge)
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../test/e2e/browser.ts';
import { startServer, testHome } from '../test/e2e/server.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'docs/screens');

/** What is in the history when the pictures are taken. */
interface Scene {
  /** Run that optimised softmax, by replay. */
  readonly run: string;
}

interface Screen {
  readonly name: string;
  readonly hash: (scene: Scene) => string;
  /** Brings the screen into the state to be shown. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Also at 1024 × 700. */
  readonly small?: boolean;
}

/** One line per picture: add yours here. */
const screens: readonly Screen[] = [
  { name: 'home', hash: () => '#/home' },
  { name: 'run', hash: ({ run }) => `#/run/${run}?at=r3.a0`, small: true },
  { name: 'run-overview', hash: ({ run }) => `#/run/${run}` },
  {
    name: 'run-agents',
    hash: ({ run }) => `#/run/${run}?at=r1.a0&tab=messages`,
  },
  { name: 'run-start', hash: () => '#/run/new?task=softmax&dtype=bf16' },
  { name: 'kernel', hash: () => '#/kernel/softmax/bf16' },
  { name: 'profile', hash: ({ run }) => `#/profile/${run}:r3.a0` },
  { name: 'history', hash: () => '#/history' },
  { name: 'compare', hash: ({ run }) => `#/compare/${run}:r1.a0/${run}:r3.a0` },
  { name: 'settings', hash: () => '#/settings' },
  {
    name: 'palette',
    hash: () => '#/home',
    prepare: async (page) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill('softmax');
    },
  },
  {
    name: 'run-live',
    hash: () => '#/home',
    prepare: async (page) => {
      await page.getByRole('combobox', { name: 'Speed' }).selectOption({ label: 'Very slowly' });
      await page.getByRole('button', { name: 'Replay softmax-bf16' }).click();
      await page.getByRole('checkbox', { name: 'Follow' }).check();
      await page.locator('[data-node="r2.a0"]').waitFor({ timeout: 120_000 });
    },
  },
];

/** Replays a recording through the screens, as a person does, and gives back its run. */
async function replay(page: Page, recording: string): Promise<string> {
  await page.goto(`${new URL(page.url()).origin}/#/home`);
  await page.getByRole('combobox', { name: 'Speed' }).selectOption({ label: 'As fast as it can' });
  await page.getByRole('button', { name: `Replay ${recording}` }).click();
  await page.waitForURL(/#\/run\/\d/);
  await page.locator('.run-title .badge', { hasText: 'done' }).waitFor({ timeout: 60_000 });
  return page.url().split('#/run/')[1]?.split('?')[0] ?? '';
}

async function shoot(page: Page, scene: Scene, screen: Screen, file: string): Promise<void> {
  const { origin } = new URL(page.url());
  await page.goto(`${origin}/#/`);
  await page.goto(`${origin}/${screen.hash(scene)}`);
  // Everything that loads says so with role "status".
  await page.waitForTimeout(600);
  await page.locator('.state-box[role="status"]').first().waitFor({ state: 'detached', timeout: 30_000 });
  await screen.prepare?.(page);
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(folder, file) });
  await page.keyboard.press('Escape');
  console.log(`docs/screens/${file}`);
}

async function takeAll(browser: Browser, url: string, wanted: readonly string[]): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(url);
  await replay(page, 'spmv_csr-fp32');
  await replay(page, 'debug-from-wrong');
  const scene = { run: await replay(page, 'softmax-bf16') };
  const chosen = screens.filter((s) => wanted.length === 0 || wanted.includes(s.name));
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 1440, height: 900 });
    for (const screen of chosen) await shoot(page, scene, screen, `${screen.name}-${theme}.png`);
    if (theme === 'dark') continue;
    await page.setViewportSize({ width: 1024, height: 700 });
    for (const screen of chosen.filter((s) => s.small)) await shoot(page, scene, screen, `${screen.name}-small.png`);
  }
}

mkdirSync(folder, { recursive: true });
const home = testHome();
const server = await startServer(home.path);
const browser = await launchBrowser();
try {
  await takeAll(browser, server.url, process.argv.slice(2));
} finally {
  await browser.close();
  await server.stop();
  home.remove();
}
