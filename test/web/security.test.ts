import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createHost } from '../../main/host/index.ts';
import { Access } from '../../main/web/access.ts';
import { isLoopbackHost } from '../../main/web/guard.ts';
import { serve } from '../../main/web/index.ts';
import { socketLimits } from '../../main/web/socket.ts';
import { root } from '../app/lab.ts';
import { type Asked, ask, login, open, pathOf, tempHome } from './support.ts';

vi.setConfig({ testTimeout: 60_000 });

/** A server in this process, on a folder of screens made for the test. */
async function server() {
  const home = tempHome();
  process.env.CUDAMASTER_HOME = home;
  const renderer = join(home, 'renderer');
  mkdirSync(join(renderer, 'assets'), { recursive: true });
  writeFileSync(join(renderer, 'index.html'), '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__">');
  writeFileSync(join(renderer, 'assets/index-abc123.js'), 'export {};');
  writeFileSync(join(renderer, '.hidden'), 'hidden');
  writeFileSync(join(home, 'secret.txt'), 'outside');
  symlinkSync(join(home, 'secret.txt'), join(renderer, 'link.txt'));
  symlinkSync(home, join(renderer, 'up'));
  const host = createHost({ root });
  const served = await serve({ host, renderer, idleMinutes: 0 });
  onTestFinished(() => served.close());
  const port = served.port ?? 0;
  const cookie = await login({ port, url: served.url });
  const get = (path: string, more: Asked = {}) =>
    ask(port, path, { ...more, headers: { cookie, ...(more.headers ?? {}) } });
  return { ...served, port, cookie, get, renderer };
}

describe('who is let in', () => {
  it('wants the token once, then the cookie; wrong ones are slowed down', async () => {
    const s = await server();
    const first = await ask(s.port, '/login?token=wrong');
    expect([first.status, first.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await ask(s.port, pathOf(s.url))).status).toBe(403);
    expect((await ask(s.port, '/login')).status).toBe(403);
    expect((await ask(s.port, '/login?token=a&token=b')).status).toBe(403);
    for (const cookie of ['', 'x=y', `${s.cookie.split('=')[0]}=wrong`, `other=${s.cookie.split('=')[1]}`])
      expect((await ask(s.port, '/', { headers: { cookie } })).status).toBe(401);
    expect((await s.get('/')).status).toBe(200);
    for (let i = 0; i < 12; i++) await ask(s.port, `/login?token=${i}`);
    const tired = await ask(s.port, '/login?token=again');
    expect([tired.status, tired.headers['retry-after']]).toEqual([429, '60']);
    // The right one is still taken: nobody can lock the user out.
    const second = await ask(s.port, pathOf(s.renew()));
    expect(second.status).toBe(303);
    const set = second.headers['set-cookie']?.[0] ?? '';
    expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  it('forgets wrong tokens after a minute', () => {
    let now = 0;
    const access = new Access(() => now);
    const kinds = Array.from({ length: 11 }, () => access.login('x').kind);
    expect(kinds).toEqual([...Array(10).fill('wrong'), 'slow']);
    now = 60_001;
    expect(access.login('x').kind).toBe('wrong');
    expect(access.login(access.token).kind).toBe('in');
    expect(access.login(access.token).kind).toBe('used');
  });

  it('answers only under names of this machine, whatever the port: DNS rebinding gets nothing', async () => {
    const s = await server();
    for (const host of [
      'evil.example',
      `evil.example:${s.port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '0.0.0.0',
      '169.254.169.254',
      'localhost@evil',
      '127.0.0.1:x',
      '[::ffff:7f00:1]',
    ]) {
      const answer = await s.get('/', { headers: { host } });
      expect([host, answer.status]).toEqual([host, 403]);
      await expect(open(s.port, { cookie: s.cookie, host })).rejects.toThrow('refused 403');
      expect((await ask(s.port, pathOf(s.renew()), { headers: { host } })).status).toBe(403);
    }
    for (const host of ['localhost:9999', '127.0.0.1:1', '[::1]:8080', 'localhost', 'LOCALHOST:80'])
      expect((await s.get('/', { headers: { host } })).status).toBe(200);
    expect(isLoopbackHost(undefined)).toBe(false);
  });

  it('speaks to its own page alone: other origins, other ports of this machine and other sites are refused', async () => {
    const s = await server();
    for (const origin of [
      'http://evil.example',
      'http://127.0.0.1:1',
      `https://127.0.0.1:${s.port}`,
      `http://localhost:${s.port}`,
      'null',
      'file://',
    ]) {
      await expect(open(s.port, { cookie: s.cookie, origin })).rejects.toThrow('refused 403');
      expect((await s.get('/', { headers: { origin } })).status).toBe(403);
    }
    for (const site of ['cross-site', 'same-site'])
      expect((await s.get('/api/export/x:origin.zip', { headers: { 'sec-fetch-site': site } })).status).toBe(403);
    const line = await open(s.port, { cookie: s.cookie, origin: `http://127.0.0.1:${s.port}` });
    expect((await line.client.got('app.info', {})).door).toBe('web');
    // Behind `ssh -L 9000:…` the browser calls both by its own port.
    const far = await open(s.port, { cookie: s.cookie, host: 'localhost:9000', origin: 'http://localhost:9000' });
    expect((await far.client.call('app.info', {})).ok).toBe(true);
    await expect(open(s.port, { origin: `http://127.0.0.1:${s.port}` })).rejects.toThrow('refused 401');
  });
});

describe('a link followed from elsewhere', () => {
  it('is asked again by our own page, once, since the new cookie is held back on the first way', async () => {
    const s = await server();
    const far = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const first = await ask(s.port, '/', { headers: far });
    expect([first.status, first.body.includes('http-equiv="refresh"')]).toEqual([401, true]);
    const second = await ask(s.port, '/', { headers: { 'sec-fetch-site': 'same-origin' } });
    expect([second.status, second.body.includes('refresh')]).toEqual([401, false]);
    expect((await ask(s.port, '/assets/index-abc123.js', { headers: far })).body).not.toContain('refresh');
  });

  it('does not let cookies of earlier servers pile up', async () => {
    const s = await server();
    const old = Array.from({ length: 20 }, (_, i) => `cudamaster-${i}=x`).join('; ');
    const answer = await ask(s.port, pathOf(s.renew()), { headers: { cookie: old } });
    expect(answer.status).toBe(303);
    const gone = (answer.headers['set-cookie'] ?? []).filter((c) => c.includes('Expires=Thu, 01 Jan 1970'));
    expect(gone).toHaveLength(20);
  });
});

describe('what is served', () => {
  it('is the folder of screens and nothing outside of it', async () => {
    const s = await server();
    const asset = await s.get('/assets/index-abc123.js');
    expect([asset.status, asset.headers['cache-control']]).toEqual([200, 'private, max-age=31536000, immutable']);
    expect(asset.headers['content-type']).toMatch(/javascript/);
    for (const path of [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/%2e%2e%2fsecret.txt',
      '/..%2fsecret.txt',
      '/%252e%252e/secret.txt',
      '/..\\secret.txt',
      '/..%5csecret.txt',
      '//etc/passwd',
      '/etc/passwd',
      '/%2fetc%2fpasswd',
      '/link.txt',
      '/up/secret.txt',
      '/.hidden',
      '/assets/.%00',
      '/assets/index-abc123.js%00.txt',
      '/assets',
      '/assets/',
      '/index.html/../../secret.txt',
      '/file:///etc/passwd',
    ]) {
      const answer = await s.get(path);
      expect([path, answer.status === 404 || answer.status === 400]).toEqual([path, true]);
      expect(answer.body).not.toContain('outside');
      expect(answer.body).not.toContain('root:');
    }
  });

  it('carries a policy that lets nothing else in, and pages are never cached', async () => {
    const s = await server();
    const page = await s.get('/');
    const policy = String(page.headers['content-security-policy']);
    const nonce = /content="([^"]+)"/.exec(page.body)?.[1] ?? '';
    expect(nonce).toMatch(/^[A-Za-z0-9+/]{22}==$/);
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "font-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect((await s.get('/')).body).not.toBe(page.body);
    for (const path of ['/', '/nowhere', '/login?token=x', '/api/export/x:origin.zip']) {
      const { headers } = await s.get(path);
      expect([path, headers['cache-control'], headers['x-content-type-options']]).toEqual([
        path,
        'no-store',
        'nosniff',
      ]);
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['access-control-allow-origin']).toBeUndefined();
    }
  });

  it('is nothing that is sent: other methods and bodies are refused', async () => {
    const s = await server();
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect([method, (await s.get('/api', { method })).status]).toEqual([method, 405]);
    const big = await s
      .get('/', { method: 'POST', body: Buffer.alloc(8 << 20), headers: { 'content-type': 'text/plain' } })
      .catch((fault: NodeJS.ErrnoException) => fault);
    // Answered, or the line cut while it was still sending.
    if ('status' in big) expect(big.status).toBe(405);
    else expect(['EPIPE', 'ECONNRESET']).toContain(big.code);
    expect((await s.get(`/${'x'.repeat(20_000)}`)).status).toBeGreaterThanOrEqual(400);
    expect((await s.get('/')).status).toBe(200);
  });

  it('says so where the screens are not built', async () => {
    const home = tempHome();
    process.env.CUDAMASTER_HOME = home;
    const served = await serve({ host: createHost({ root }), renderer: join(home, 'none'), idleMinutes: 0 });
    onTestFinished(() => served.close());
    const cookie = await login({ port: served.port ?? 0, url: served.url });
    const page = await ask(served.port ?? 0, '/', { headers: { cookie } });
    expect([page.status, page.body.includes('npm run build')]).toEqual([503, true]);
  });
});

describe('the line to the API', () => {
  const line = async () => {
    const s = await server();
    return { s, ...(await open(s.port, { cookie: s.cookie })) };
  };

  it('takes long sources, and closes on messages that are too long', async () => {
    const a = await line();
    const source = 'x'.repeat(4 * 1024 * 1024 + 1);
    const params = { task: 'dot_product', dtype: 'fp32', executor: 'local', label: 'x', source } as const;
    const refused = await a.client.call('runs.evaluate', params);
    expect(refused.ok ? '' : refused.error.code).toBe('usage');
    a.ws.send('x'.repeat(socketLimits.messageBytes + 1));
    expect(await a.closed).toBe(1009);
    const b = await open(a.s.port, { cookie: a.s.cookie });
    expect((await b.client.call('app.info', {})).ok).toBe(true);
  });

  it('closes on what is no JSON, and on a flood', async () => {
    const a = await line();
    a.ws.send('{not json');
    expect(await a.closed).toBe(1007);
    const b = await open(a.s.port, { cookie: a.s.cookie });
    b.ws.send(Buffer.from([1, 2, 3]));
    expect(await b.closed).toBe(1007);
    const c = await open(a.s.port, { cookie: a.s.cookie });
    for (let i = 0; i < 5000; i++) c.ws.send('{}');
    expect(await c.closed).toBe(1008);
    const d = await open(a.s.port, { cookie: a.s.cookie });
    expect((await d.client.call('app.info', {})).ok).toBe(true);
  });

  it('keeps one client from asking too much at once', async () => {
    const a = await line();
    for (let i = 0; i < 80; i++) a.client.subscribe(`s${i}`, 'nowhere');
    await a.client.until(() => a.client.of('settled').length === 80);
    expect(a.client.of('settled').every((m) => m.error !== null)).toBe(true);
    expect(a.client.of('settled').some((m) => m.error?.code === 'usage')).toBe(true);
  });
});
