import { randomBytes } from 'node:crypto';
import { chmod, lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileFault, systemCode } from '../base/fault.ts';
import { AppFailure, err } from '../contract/index.ts';
import type { Host } from '../host/index.ts';
import { buildWeb } from './server.ts';

export interface ServeOptions {
  readonly host: Host;
  /** Folder of the built screens (dist/renderer). */
  readonly renderer: string;
  /** TCP port on 127.0.0.1; 0 = any free one. Not with `socket`. */
  readonly port?: number;
  /** Path of a Unix socket instead of a port. */
  readonly socket?: string;
  /** Minutes without a client and without a run after which `idle` resolves; 0 = never. */
  readonly idleMinutes: number;
}

export interface Served {
  /** Where to log in, with a token that works once; over a Unix socket the path of that address. */
  readonly url: string;
  readonly port: number | null;
  readonly socket: string | null;
  /** A new address to log in: the token before it ends. */
  renew(): string;
  /** Resolves when nobody has been there for long, and no run is under way. */
  readonly idle: Promise<void>;
  /** Ends connections and runs (their state is saved). */
  close(): Promise<void>;
}

/** Serves the screens and the API on this machine. Throws AppFailure `usage` when port or socket cannot be had. */
export async function serve(options: ServeOptions): Promise<Served> {
  const { host, socket } = options;
  // Browsers send cookies to every port of a name: each server needs its own.
  const cookieName = `cudamaster-${randomBytes(6).toString('hex')}`;
  const web = await buildWeb({ host, renderer: options.renderer, cookieName });
  if (socket === undefined) await listenPort(web.app, options.port ?? 0);
  else await listenSocket(web.app, socket);
  const address = web.app.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : null;
  const place = port === null ? 'http://localhost' : `http://127.0.0.1:${port}`;
  const idle = watchIdle(options.idleMinutes, () =>
    web.stats.open > 0 || host.activeRuns() > 0 ? null : web.stats.lastSeen,
  );
  return {
    url: `${place}/login?token=${web.access.token}`,
    port,
    socket: socket ?? null,
    renew: () => `${place}/login?token=${web.access.renew()}`,
    idle: idle.reached,
    close: async () => {
      idle.stop();
      // Runs first: their last events still reach the screens.
      await host.close();
      for (const client of web.app.websocketServer.clients) client.terminate();
      await web.app.close();
      if (socket !== undefined) await rm(socket, { force: true });
    },
  };
}

type App = Awaited<ReturnType<typeof buildWeb>>['app'];

async function listenPort(app: App, port: number): Promise<void> {
  try {
    await app.listen({ host: '127.0.0.1', port });
  } catch (fault) {
    const code = systemCode(fault);
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw fault;
    const why = code === 'EACCES' ? 'you may not use it' : 'another program uses it';
    throw new AppFailure(
      err('usage', `Port ${port} cannot be had: ${why}.`, { remedy: 'Choose another, or --port 0 for any free one.' })
        .error,
    );
  }
}

/** sun_path holds 104 bytes on macOS, 108 on Linux, its end included. */
const socketPathBytes = 103;

/** The socket is made with the rights it keeps: nobody else can connect even for a moment. */
async function listenSocket(app: App, path: string): Promise<void> {
  if (Buffer.byteLength(path) > socketPathBytes)
    throw new AppFailure(
      err('usage', `The path of the socket is longer than ${socketPathBytes} bytes, which systems do not take.`, {
        remedy: 'Choose a shorter one, for example in /run/user or /tmp.',
      }).error,
    );
  await removeStale(path);
  const before = process.umask(0o177);
  try {
    await app.listen({ path });
    await chmod(path, 0o600);
  } catch (fault) {
    throw fileFault(fault, path, 'Making the socket');
  } finally {
    process.umask(before);
  }
}

/** A socket that nobody answers at is left over from a server that was killed. Anything else stays. */
async function removeStale(path: string): Promise<void> {
  const found = await lstat(path).catch(() => null);
  if (found === null) return;
  const taken = (why: string) =>
    new AppFailure(err('usage', `${path} cannot be used: ${why}.`, { remedy: 'Choose another path.' }).error);
  if (!found.isSocket()) throw taken('there is a file of that name');
  const answered = await new Promise<boolean>((resolve) => {
    const probe = connect(path, () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', () => resolve(false));
  });
  if (answered) throw taken('another server uses it');
  await rm(path, { force: true });
}

/** `quietSince`: when the last client left, ms since 1970; null while somebody is there or a run is under way. */
function watchIdle(minutes: number, quietSince: () => number | null): { reached: Promise<void>; stop(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (minutes <= 0) return { reached: promise, stop: () => {} };
  const limit = minutes * 60_000;
  let busyUntil = Date.now();
  const timer = setInterval(
    () => {
      const since = quietSince();
      if (since === null) busyUntil = Date.now();
      else if (Date.now() - Math.max(since, busyUntil) >= limit) resolve();
    },
    Math.min(limit / 4, 5000),
  );
  return { reached: promise, stop: () => clearInterval(timer) };
}
