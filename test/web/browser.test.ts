import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createHost } from '../../main/host/index.ts';
import { serve } from '../../main/web/index.ts';
import { root } from '../app/lab.ts';
import { complaints, launchBrowser } from '../e2e/browser.ts';
import { tempHome } from './support.ts';

vi.setConfig({ testTimeout: 120_000 });

const script = `
  const seen = document.querySelector('p');
  const socket = new WebSocket(location.href.replace(/^http/, 'ws') + 'api');
  socket.onopen = () => socket.send(JSON.stringify({ type: 'call', id: 1, method: 'app.info', params: {} }));
  socket.onmessage = (e) => { seen.textContent = JSON.parse(e.data).result?.value?.door ?? seen.textContent; };
`;

it('lets a real browser in through a link in a file, keeps other pages of this machine out, and blocks scripts in the page', async () => {
  const home = tempHome();
  process.env.CUDAMASTER_HOME = home;
  const renderer = join(home, 'renderer');
  mkdirSync(renderer);
  const inline = '<script>document.title = "inline"</script>';
  writeFileSync(
    join(renderer, 'index.html'),
    `<!doctype html><p>waiting</p>${inline}<script type="module" src="./main.js"></script>`,
  );
  writeFileSync(join(renderer, 'main.js'), script);
  const served = await serve({ host: createHost({ root }), renderer, idleMinutes: 0 });
  onTestFinished(() => served.close());
  const base = served.url.slice(0, served.url.indexOf('/login') + 1);
  const link = join(home, 'link.html');
  writeFileSync(link, `<!doctype html><meta http-equiv="refresh" content="0;url=${served.url}">`);
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const context = await browser.newContext();
  const page = await context.newPage();
  const seen = complaints(page);
  await page.goto(pathToFileURL(link).href);
  await page.waitForURL(base);
  await page.getByText('web', { exact: true }).waitFor();
  expect(await page.title()).toBe('');
  expect(seen.some((s) => s.includes('Content Security Policy') || s.includes('violates'))).toBe(true);

  // Another server on this machine is another origin, though the same site: the browser sends it our cookie's neighbours, not our data.
  const other = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end('<!doctype html><p>other</p>');
  });
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void other.close());
  const stranger = await context.newPage();
  await stranger.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
  const outcome = await stranger.evaluate(
    `new Promise((resolve) => {
      const socket = new WebSocket(${JSON.stringify(`${base.replace(/^http/, 'ws')}api`)});
      socket.onopen = () => resolve('open');
      socket.onerror = () => resolve('refused');
    })`,
  );
  expect(outcome).toBe('refused');
  const read = await stranger.evaluate(
    `fetch(${JSON.stringify(`${base}main.js`)}, { credentials: 'include' }).then((r) => 'read ' + r.status, () => 'refused')`,
  );
  expect(read).toBe('refused');
  const framed = await stranger.evaluate(
    `new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.src = ${JSON.stringify(base)};
      frame.onload = () => { try { resolve(frame.contentDocument === null ? 'blocked' : 'empty'); } catch { resolve('blocked'); } };
      document.body.append(frame);
    })`,
  );
  expect(framed).toBe('blocked');
});
