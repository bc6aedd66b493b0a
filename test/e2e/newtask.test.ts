/** A kernel of the user's own, from a pasted .cu to a task in the list, in a real browser over `cudamaster serve`, with the real compilers. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { seriousViolations } from './axe.ts';
import { complaints, launchBrowser } from './browser.ts';
import { ensureRenderer } from './renderer.ts';
import { startServer, type TestServer, testHome } from './server.ts';

const source = `#include <cuda_runtime.h>
__global__ void row_scale_kernel(const float* A, float* out, float alpha, int rows, int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) out[i] = alpha * A[i];
}
extern "C" void row_scale(const float* __restrict__ A, float* out, float alpha, int rows, int cols) {
  row_scale_kernel<<<(rows * cols + 255) / 256, 256>>>(A, out, alpha, rows, cols);
}
`;
const body = `    const double value = alpha_ * A_[i];
    return {value, std::fabs(value), 1.0};`;

describe('A kernel of the user’s own', { timeout: 300_000 }, () => {
  const home = testHome();
  let browser: Browser;
  let server: TestServer;
  let page: Page;
  let seen: string[];
  const open = (hash: string) => page.goto(`http://127.0.0.1:${server.port}/${hash}`);
  const field = (name: string) => page.getByRole('textbox', { name, exact: true });
  const editor = (label: string) => page.locator(`.cm-content[aria-label="${label}"]`);
  const write = async (label: string, text: string): Promise<void> => {
    await editor(label).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
  };
  const summary = (text: string | RegExp) => page.locator('.newtask-summary', { hasText: text }).waitFor();
  const kept = () => readdirSync(join(home.path, 'data/tasks')).filter((name) => !name.startsWith('.'));

  beforeAll(async () => {
    await ensureRenderer();
    [browser, server] = await Promise.all([launchBrowser(), startServer(home.path)]);
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      reducedMotion: 'reduce',
      bypassCSP: true,
    });
    page = await context.newPage();
    page.setDefaultTimeout(120_000);
    seen = complaints(page);
    await page.goto(server.url);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
    home.remove();
  });

  test('every way leads there: start page, list of kernels, start of a run, palette', async () => {
    const there = () => page.getByRole('heading', { name: 'A kernel of your own' }).waitFor();
    for (const hash of ['#/home', '#/kernel', '#/run/new']) {
      await open(hash);
      await page
        .getByRole('button', { name: /^Your own kernel/ })
        .first()
        .click();
      await there();
    }
    await open('#/run');
    await page.getByRole('link', { name: 'bring your own kernel' }).click();
    await there();
    await open('#/history');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find a command, task or run' }).fill('kernel of your own');
    await page.getByRole('option', { name: /Add a kernel of your own/ }).waitFor();
    await page.keyboard.press('Enter');
    await there();
    expect(await seriousViolations(page)).toEqual([]);
  });

  test('a pasted source is understood; a wrong count is told at its field, and nothing is lost on the way', async () => {
    await open('#/newtask');
    await write('Source of your kernel', 'int main() {}');
    await page
      .getByRole('alert')
      .getByText(/defines no extern "C" void function/)
      .waitFor();
    await write('Source of your kernel', source);
    await field('Elements of A').waitFor();
    expect(await field('Dimensions').inputValue()).toBe('rows, cols');
    await page.getByText('output, not read, number of elements not known yet').waitFor();
    // What is only missing is no error yet.
    expect(await page.locator('[aria-invalid]').count()).toBe(0);

    await field('rows of size 1').fill('1024');
    await field('cols of size 1').fill('512');
    await field('Elements of A').fill('rows*colums');
    const error = page.getByRole('alert').getByText(/colums is no dimension \(rows, cols are\)/);
    await error.waitFor();
    expect(await field('Elements of A').getAttribute('aria-invalid')).toBe('true');
    const described = (await field('Elements of A').getAttribute('aria-describedby')) ?? '';
    expect(await page.locator(`[id="${described}"]`).textContent()).toContain('Expressions know rows, cols');

    // Asked for too early: the first field that needs something has the focus.
    await page.keyboard.press('Control+s');
    await page.getByText(/The number of elements of out is needed/).waitFor();
    expect(await field('Elements of A').evaluate((el) => el === document.activeElement)).toBe(true);
    expect(await seriousViolations(page)).toEqual([]);

    await page.getByRole('link', { name: 'History' }).click();
    await page.waitForURL(/#\/history/);
    await page.goBack();
    expect(await field('Elements of A').inputValue()).toBe('rows*colums');
    await page.waitForFunction(`(localStorage.getItem('cudamaster.newtask') ?? '').includes('rows*colums')`);
    await page.reload();
    await error.waitFor();
    expect(await editor('Source of your kernel').textContent()).toContain('row_scale_kernel');
  });

  test('a compile error of reference.h is shown at the file and line; mended, the task is added and opened', async () => {
    await field('Elements of A').fill('rows*cols');
    await field('Elements of out').fill('rows*cols');
    await field('Value of alpha').fill('0.5');
    await field('Floating-point operations, at least').fill('rows*cols');
    await field('Id').fill('softmax');
    await page
      .getByRole('alert')
      .getByText(/"softmax" ships with CUDAMaster/)
      .waitFor();
    await field('Id').fill('my_scale');
    await summary('What is left is reference.h');

    await page.getByRole('tab', { name: 'reference.h' }).click();
    await editor('reference.h of your kernel').waitFor();
    await page.getByRole('button', { name: 'Check and add' }).click();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Check and add' }).click();
    await page
      .getByRole('alert')
      .getByText(/reference\.h does not compile \(fp32\).*is not filled in/)
      .waitFor();
    const marked = page.locator('.cm-bad-line');
    await marked.waitFor();
    expect(await marked.textContent()).toContain('#error');
    expect(await seriousViolations(page)).toEqual([]);
    expect(existsSync(join(home.path, 'data/tasks'))).toBe(false);

    // As a user does it: the marked line goes, the definition comes in.
    await marked.click();
    await page.keyboard.press('Home');
    await page.keyboard.press('Shift+End');
    await page.keyboard.insertText(body);
    expect(await page.locator('.cm-bad-line').count()).toBe(0);
    await page.getByRole('tab', { name: 'reference.h (error)' }).waitFor();
    await summary('check and add it');
    await page.keyboard.press('Control+s');
    await page.waitForURL(/#\/kernel\/my_scale\/fp32/);
    await page.getByRole('button', { name: 'Optimize', exact: true }).waitFor();
    const list = page.getByRole('navigation', { name: 'Kernels' });
    await list.getByRole('link', { name: 'my_scale fp32' }).waitFor();
    expect(kept()).toEqual(['my_scale']);
    expect(await seriousViolations(page)).toEqual([]);
    // The screen is ready for the next one.
    await open('#/newtask');
    await summary('Paste, drop or choose');
  });

  test('another kernel of the same id asks before it replaces', async () => {
    await page.locator('input[type="file"]').setInputFiles({
      name: 'two.cu',
      mimeType: 'text/plain',
      buffer: Buffer.from(`${source}extern "C" void fill(float* y, int n) {\n}\n`),
    });
    const wrapper = page.getByRole('combobox', { name: 'The function that is to be optimized' });
    await wrapper.selectOption('fill');
    await field('n of size 1').fill('4096');
    await field('Floating-point operations, at least').fill('0');
    await field('Id').fill('my_scale');
    await summary('What is left is reference.h');
    await page.getByRole('button', { name: 'Check and add' }).click();
    await page.getByRole('dialog', { name: 'Replace your task my_scale?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('button', { name: 'Discard it' }).click();
    await summary('Paste, drop or choose');

    // Dropped anywhere on the files it is the source, whole, and not inserted where the editor's cursor is.
    const dropped = 'extern "C" void fill(float* y, int n) {\n}\n';
    await page.evaluate((text) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([text], 'fill.cu'));
      for (const type of ['dragenter', 'dragover', 'drop'])
        document
          .querySelector('.cm-content')
          ?.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer }));
    }, dropped);
    await field('Elements of y').waitFor();
    expect(await editor('Source of your kernel').locator('.cm-line').allTextContents()).toEqual(dropped.split('\n'));
    await page.getByRole('button', { name: 'Start over' }).click();
    await page.getByRole('button', { name: 'Discard it' }).click();
    await summary('Paste, drop or choose');
  });

  test('a task of one’s own is changed, and a broken change leaves it as it was', async () => {
    await open('#/kernel/my_scale/fp32');
    await page.getByRole('button', { name: 'Change task' }).click();
    const label = 'task.json of my_scale';
    await page.getByRole('tab', { name: 'task.json' }).click();
    await editor(label).waitFor();
    expect(await page.getByRole('button', { name: 'Check and replace' }).isDisabled()).toBe(true);
    const json = JSON.parse(readFileSync(join(home.path, 'data/tasks/my_scale/task.json'), 'utf8'));
    await write(label, JSON.stringify({ ...json, flops: 'rows*' }));
    await page.keyboard.press('Control+s');
    await page
      .getByRole('alert')
      .getByText(/^task\.json: flops/)
      .waitFor();
    expect(await seriousViolations(page)).toEqual([]);
    await write(label, JSON.stringify({ ...json, title: 'Scales a matrix' }, null, 2));
    await page.getByRole('button', { name: 'Check and replace' }).click();
    await page.waitForURL(/#\/kernel\/my_scale\/fp32/);
    await page.getByText(/Scales a matrix/).waitFor();
    expect(readdirSync(join(home.path, 'data/tasks/.removed'))).toHaveLength(1);
    await page.getByRole('button', { name: 'Remove my_scale' }).click();
    await page.getByRole('dialog', { name: 'Remove my_scale?' }).getByRole('button', { name: 'Keep' }).click();
    expect(kept()).toEqual(['my_scale']);
  });

  test('one that cannot be used says why and leads to its files; it is removed after a question', async () => {
    writeFileSync(join(home.path, 'data/tasks/my_scale/task.json'), '{');
    await open('#/kernel');
    await page.reload();
    await page.getByRole('link', { name: 'Mend my_scale' }).click();
    await page.getByText('This task cannot be used as it is.').waitFor();
    await page.setViewportSize({ width: 1024, height: 700 });
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog', { name: 'Remove my_scale?' }).getByRole('button', { name: 'Remove' }).click();
    await page.waitForURL(/#\/kernel$/);
    await page.getByText('my_scale is out of the list.').waitFor();
    expect(kept()).toEqual([]);
    await page.getByRole('link', { name: 'Mend my_scale' }).waitFor({ state: 'detached' });
    expect(seen).toEqual([]);
  });
});
