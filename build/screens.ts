/**
 * docs/screens/: every screen in both themes at 1440 × 900, and some at 1024 × 700, from a real server: over recordings, and, for a
 * profile that could not be taken, over a history of real ncu pages with made-up times. Pictures that are no longer made are removed.
 * Usage: node build/screens.ts [--out FOLDER] [NAME …] (needs an installed Chromium, Chrome or Edge)
 */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../test/e2e/browser.ts';
import { storeProfiledRun } from '../test/e2e/profiled-run.ts';
import { ensureRenderer } from '../test/e2e/renderer.ts';
import { startServer, testHome } from '../test/e2e/server.ts';
import { smallerPng } from './png.ts';

const root = join(import.meta.dirname, '..');
const { values: options, positionals: wanted } = parseArgs({
  options: { out: { type: 'string' } },
  allowPositionals: true,
});
const folder = options.out ?? join(root, 'docs/screens');

/** What is in the history when the pictures are taken. */
interface Scene {
  /** Run that the pictures show: square_matrix_mul optimised, by replay; or the made-up one. */
  readonly run: string;
}

type History = 'recorded' | 'profiled';

interface Screen {
  readonly name: string;
  readonly hash: (scene: Scene) => string;
  /** Brings the screen into the state to be shown. */
  readonly prepare?: (page: Page) => Promise<void>;
  /** Also at 1024 × 700. */
  readonly small?: boolean;
  /** Default: recorded. */
  readonly history?: History;
}

/** What a user brings. */
const ownKernel = `#include <cuda_runtime.h>

__global__ void saxpy_kernel(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" void saxpy(int n, float a, const float* x, float* y) {
  saxpy_kernel<<<(n + 255) / 256, 256>>>(n, a, x, y);
}
`;

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
  { name: 'kernel', hash: () => '#/kernel/square_matrix_mul/fp32' },
  {
    name: 'kernel-edit',
    hash: () => '#/kernel/dot_product/fp32?edit=1',
    prepare: async (page) => {
      // A draft of the picture before.
      await page
        .getByRole('button', { name: 'Discard changes' })
        .click({ timeout: 2000 })
        .catch(() => undefined);
      await page.locator('.cm-content[contenteditable="true"]').click();
      await page.keyboard.press('Control+a');
      await page.keyboard.press('ArrowLeft');
      await page.keyboard.insertText('#define VECTOR 4\n');
      await page.getByRole('radio', { name: 'Against the parent' }).check({ force: true });
      await page.locator('.cm-mergeView').waitFor();
    },
  },
  {
    name: 'newtask',
    hash: () => '#/newtask',
    prepare: async (page) => {
      await page.locator('.cm-content[contenteditable="true"]').click();
      await page.keyboard.press('Control+a');
      await page.keyboard.insertText(ownKernel);
      await page.getByRole('textbox', { name: 'n of size 1' }).fill('1048576');
      await page.getByRole('checkbox', { name: 'y is read' }).check();
      await page.getByRole('textbox', { name: 'Elements of x' }).fill('n*m');
      await page.getByText('m is no dimension').waitFor();
      await page.mouse.move(0, 0);
    },
    small: true,
  },
  { name: 'profile', hash: ({ run }) => `#/profile/${run}:r3.a0?with=${run}:origin` },
  {
    name: 'profile-code',
    hash: ({ run }) => `#/profile/${run}:r3.a0?tab=code`,
    prepare: async (page) => {
      await page.locator('#code-instructions [data-row]').first().waitFor();
      await page.getByRole('button', { name: 'Hottest', exact: true }).click();
    },
    small: true,
  },
  { name: 'profile-metrics', hash: ({ run }) => `#/profile/${run}:r3.a0?tab=metrics` },
  { name: 'profile-versions', hash: ({ run }) => `#/profile/${run}:r3.a0?tab=versions` },
  { name: 'profile-unavailable', history: 'profiled', hash: ({ run }) => `#/profile/${run}:r2.a0` },
  {
    name: 'history',
    hash: () => '#/history',
    prepare: async (page) => {
      await page.locator('.grid-row', { hasText: 'r3.a0' }).first().click();
    },
    small: true,
  },
  { name: 'compare', hash: ({ run }) => `#/compare/${run}:r1.a0/${run}:r3.a0` },
  { name: 'compare-timings', hash: ({ run }) => `#/compare/${run}:r1.a0/${run}:r3.a0?tab=timings` },
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
  await page.goto(`${origin}/${screen.hash(scene)}`);
  // The same address again would show the screen as the picture before left it.
  await page.reload();
  await page.mouse.move(0, 0);
  // Everything that loads says so with role "status".
  await page.waitForTimeout(600);
  await page.locator('.state-box[role="status"]').first().waitFor({ state: 'detached', timeout: 30_000 });
  await screen.prepare?.(page);
  await page.locator('.picture[aria-busy="true"]').first().waitFor({ state: 'detached', timeout: 30_000 });
  await page.waitForTimeout(700);
  writeFileSync(join(folder, file), smallerPng(await page.screenshot()));
  await page.keyboard.press('Escape');
  console.log(file);
}

const sizes = { whole: { width: 1440, height: 900 }, small: { width: 1024, height: 700 } } as const;
const filesOf = ({ name, small }: Screen): string[] => [
  `${name}-light.png`,
  `${name}-dark.png`,
  ...(small ? [`${name}-small.png`] : []),
];

async function takeAll(page: Page, scene: Scene, chosen: readonly Screen[]): Promise<void> {
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await page.setViewportSize(sizes.whole);
    for (const screen of chosen) await shoot(page, scene, screen, `${screen.name}-${theme}.png`);
    if (theme === 'dark') continue;
    await page.setViewportSize(sizes.small);
    for (const screen of chosen.filter((s) => s.small)) await shoot(page, scene, screen, `${screen.name}-small.png`);
  }
}

/** The pictures over one history, in a server of its own. */
async function over(history: History, browser: Browser, chosen: readonly Screen[]): Promise<void> {
  if (chosen.length === 0) return;
  const home = testHome();
  const profiled = history === 'profiled' ? await storeProfiledRun(join(home.path, 'data')) : null;
  const server = await startServer(home.path);
  const context = await browser.newContext({ viewport: sizes.whole, reducedMotion: 'reduce' });
  try {
    const page = await context.newPage();
    await page.goto(server.url);
    if (profiled === null) {
      await replay(page, 'spmv_csr-fp32');
      await replay(page, 'debug-from-wrong');
      await replay(page, 'softmax-bf16');
    }
    await takeAll(page, { run: profiled ?? (await replay(page, 'square_matrix_mul-fp32')) }, chosen);
  } finally {
    await context.close();
    await server.stop();
    home.remove();
  }
}

const unknown = wanted.filter((name) => !screens.some((s) => s.name === name));
if (unknown.length > 0) throw new Error(`no such picture: ${unknown.join(', ')}`);
const chosen = screens.filter((s) => wanted.length === 0 || wanted.includes(s.name));
mkdirSync(folder, { recursive: true });
await ensureRenderer();
const browser = await launchBrowser();
try {
  for (const history of ['recorded', 'profiled'] as const)
    await over(
      history,
      browser,
      chosen.filter((s) => (s.history ?? 'recorded') === history),
    );
} finally {
  await browser.close();
}
// demo.png is made by build/demo-screen.ts.
const made = new Set(['demo.png', ...screens.flatMap(filesOf)]);
for (const file of readdirSync(folder)) if (file.endsWith('.png') && !made.has(file)) rmSync(join(folder, file));
