import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { ask, connect, login, pathOf, startServe, tempHome } from './support.ts';

// Processes are started and killed: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const slow = { recording: 'debug-from-wrong', slowMs: 700 } as const;

describe('a server of its own process', () => {
  it('listens on loopback alone, keeps its key to the address it prints, and serves several clients', async () => {
    const served = await startServe();
    expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?token=[A-Za-z0-9_-]{43}$/);
    // 127.0.0.1 in hex, little endian: no other address of this machine.
    const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n');
    const port = served.port.toString(16).toUpperCase().padStart(4, '0');
    const listening = rows
      .map((row) => row.trim().split(/\s+/))
      .filter((c) => c[1]?.endsWith(`:${port}`) && c[3] === '0A');
    expect(listening.map((c) => c[1])).toEqual([`0100007F:${port}`]);
    const a = await connect(served);
    const b = await connect(served, a.cookie);
    const { run } = await a.client.got('runs.replay', { recording: 'debug-from-wrong' });
    await b.client.until(() => b.client.of('changed').some((m) => m.what === 'runs'));
    b.client.subscribe('s', run);
    await b.client.settled('s');
    expect(b.client.of('event').at(-1)?.event.type).toBe('run-ended');
    const zip = await ask(served.port, `/api/export/${run}:r1.a1.zip`, { headers: { cookie: a.cookie } });
    expect([zip.status, zip.headers['content-type'], zip.body.slice(0, 2)]).toEqual([200, 'application/zip', 'PK']);
    expect(zip.headers['content-disposition']).toMatch(/^attachment; filename="[A-Za-z0-9._-]+\.zip"$/);
    expect((await ask(served.port, `/api/export/${run}:r1.a1.zip`)).status).toBe(401);
    for (const name of [`${run}:r9.a9.zip`, `${run}:r1.a1`, '..%2f..%2fetc.zip', 'x.zip'])
      expect((await ask(served.port, `/api/export/${name}`, { headers: { cookie: a.cookie } })).status).toBe(404);
    const token = /token=(.+)/.exec(served.url)?.[1] ?? '';
    const secrets = [token, a.cookie.split('=')[1] ?? ''];
    const files = readdirSync(served.home, { recursive: true, withFileTypes: true }).filter((f) => f.isFile());
    expect(files.length).toBeGreaterThan(3);
    for (const f of files) {
      const bytes = readFileSync(join(f.parentPath, f.name));
      for (const secret of secrets) expect(bytes.includes(secret)).toBe(false);
    }
    expect(served.out().split(token)).toHaveLength(2);
    served.child.kill('SIGTERM');
    expect(await served.exited).toBe(0);
    expect(JSON.parse(served.stdout().trim().split('\n').at(-1) ?? '')).toEqual({
      ok: true,
      value: { ended: 'signal' },
    });
  });

  it('ended in the middle of a run: the run is saved, shown as it is and goes on in the next one', async () => {
    const first = await startServe();
    const a = await connect(first);
    const { run } = await a.client.got('runs.replay', slow);
    a.client.subscribe('s', run);
    await a.client.until(() => a.client.of('event').some((m) => m.event.type === 'fix'));
    first.child.kill('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(await a.closed).toBeGreaterThan(0);
    const second = await startServe([], first.home);
    const b = await connect(second);
    const stopped = await b.client.got('runs.get', { run });
    expect(stopped.row).toMatchObject({ status: 'cancelled', drivenBy: null });
    expect(await b.client.got('runs.resume', { run })).toEqual({ run });
    b.client.subscribe('t', run, stopped.seq);
    await b.client.settled('t');
    expect((await b.client.got('runs.get', { run })).row.status).toBe('done');
  });

  it('killed in the middle of a run: another server on the same history says so and resumes it', async () => {
    const first = await startServe();
    const other = await startServe([], first.home);
    const [a, b] = [await connect(first), await connect(other)];
    const { run } = await a.client.got('runs.replay', slow);
    b.client.subscribe('s', run);
    await b.client.until(() => b.client.of('event').some((m) => m.event.type === 'fix'));
    expect((await b.client.got('runs.get', { run })).row.drivenBy).toBe('elsewhere');
    const refused = await b.client.call('runs.cancel', { run });
    expect(refused.ok ? '' : refused.error.code).toBe('store.lease');
    first.child.kill('SIGKILL');
    await first.exited;
    await b.client.settled('s');
    const gone = await b.client.got('runs.get', { run });
    expect(gone.row).toMatchObject({ status: 'interrupted', drivenBy: null });
    await b.client.got('runs.resume', { run });
    b.client.subscribe('t', run, gone.seq);
    await b.client.settled('t');
    const done = await b.client.got('runs.get', { run });
    expect(done.row.status).toBe('done');
    expect((await b.client.got('runs.steps', { run })).filter((s) => s.opened > 1).length).toBeLessThanOrEqual(1);
    const versions = await b.client.got('versions.list', {});
    expect(versions.map((v) => v.outcome)).toEqual(['accepted', 'wrong-result', 'valid']);
  });

  it('ends when nobody has been there for a while, but never while a run is under way', async () => {
    const served = await startServe(['--idle-minutes', '0.02']);
    const a = await connect(served);
    await a.client.got('runs.replay', slow);
    a.ws.close();
    await a.closed;
    await pause(2500);
    expect(served.child.exitCode).toBeNull();
    expect(await served.exited).toBe(0);
    expect(served.out()).toContain('"ended":"idle"');
    const again = await connect(await startServe([], served.home));
    expect((await again.client.got('runs.list', {}))[0]?.status).toBe('done');
  });

  it('says what is wrong with a port or a path that cannot be had', async () => {
    const first = await startServe();
    await expect(startServe(['--port', String(first.port)])).rejects.toThrow('"code":"usage"');
    const file = join(tempHome(), 'file');
    writeFileSync(file, 'mine');
    await expect(startServe(['--socket', file])).rejects.toThrow('there is a file of that name');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    await expect(startServe(['--socket', `/tmp/${'x'.repeat(150)}`])).rejects.toThrow('longer than 103 bytes');
  });
});

describe('a Unix socket', () => {
  it('belongs to its user alone, wants the same key, and is taken over when its server was killed', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'cm-sock-')), 's');
    const served = await startServe(['--socket', path]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const at = { socketPath: path, headers: { host: 'localhost:8080' } };
    expect((await ask(0, '/', at)).status).toBe(401);
    const cookie = await login({ port: 0, url: served.url }, at);
    const page = await ask(0, '/', { ...at, headers: { ...at.headers, cookie } });
    expect([200, 503]).toContain(page.status);
    expect((await ask(0, pathOf(served.url), { ...at, headers: { host: 'evil.example' } })).status).toBe(403);
    await expect(startServe(['--socket', path])).rejects.toThrow('another server uses it');
    served.child.kill('SIGKILL');
    await served.exited;
    expect(existsSync(path)).toBe(true);
    const next = await startServe(['--socket', path]);
    expect((await ask(0, '/', at)).status).toBe(401);
    next.child.kill('SIGTERM');
    await next.exited;
    expect(existsSync(path)).toBe(false);
  });
});
