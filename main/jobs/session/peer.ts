import { createServer, type Server, type Socket } from 'node:net';
import type { ChildExit, ChildHandle } from '../../base/process.ts';
import type { StartOptions } from '../context.ts';
import { EnvironmentFault } from './classify.ts';
import type { Scope } from './scope.ts';
import { Channel, PeerFault, type Reply } from './wire.ts';

/** How long a process may take from its start to its connection (a profiler starts slowly). */
const CONNECT_MS = 60_000;
/** How long a process may take to be gone after it was told to quit, or killed. A GPU context being torn down takes seconds at worst. */
const GONE_MS = 15_000;

/** A child process that speaks the harness protocol over its own socket. */
export class Peer {
  readonly child: ChildHandle;
  readonly channel: Channel;
  private readonly scope: Scope;
  private exit: ChildExit | null = null;

  constructor(scope: Scope, child: ChildHandle, channel: Channel) {
    this.scope = scope;
    this.child = child;
    this.channel = channel;
    void child.exited.then((exit) => {
      this.exit = exit;
      // What it wrote last may still be on its way; after that, a socket kept open by a stray copy must not count as alive.
      setTimeout(() => channel.close(), 1000).unref();
    });
  }

  request(command: string, tail: string, limitMs: number, blob?: Buffer): Promise<Reply> {
    return this.channel.request(command, tail, limitMs, blob);
  }

  kill(): void {
    this.child.kill();
    this.channel.close();
  }

  /** How it ended, once it has; null if it is still there after a bounded wait. */
  async ending(waitMs = GONE_MS): Promise<ChildExit | null> {
    return this.exit ?? (await within(this.child.exited, waitMs));
  }

  /** Lets it quit; kills it if it is not gone after `graceMs`. Resolves when it is gone (null: it is not, even after the kill). */
  async quit(graceMs = 5_000): Promise<ChildExit | null> {
    await this.channel.request('quit', '', 5_000).catch(() => undefined);
    const exit = await this.ending(graceMs);
    if (exit) {
      this.channel.close();
      this.scope.drop(this);
      return exit;
    }
    return this.end();
  }

  /** Kills it and waits until it is gone. */
  async end(): Promise<ChildExit | null> {
    this.kill();
    const exit = await this.ending();
    this.scope.drop(this);
    return exit;
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  const value = await Promise.race([promise, late]);
  clearTimeout(timer);
  return value;
}

/** Starting failed: the fault, and how the child ended if it did. */
export class StartFault extends Error {
  readonly fault: PeerFault;
  readonly exit: ChildExit | null;
  constructor(fault: PeerFault, exit: ChildExit | null) {
    super(fault.message);
    this.name = 'StartFault';
    this.fault = fault;
    this.exit = exit;
  }
}

/**
 * Starts a program with a fresh socket in scratch and waits for its connection. `argv` gets the socket's name (relative to scratch).
 * The socket stops listening and disappears with the first connection, so that nothing else can come in. Rejects with StartFault.
 */
export async function startPeer(
  scope: Scope,
  argv: (socket: string) => readonly string[],
  options: Omit<StartOptions, 'wallMs'>,
  onStart?: (child: ChildHandle) => void,
): Promise<Peer> {
  const name = scope.newFile('s');
  const server = createServer();
  await listen(server, scope.path(name));
  const connected = firstConnection(server);
  let child: ChildHandle;
  try {
    child = scope.ctx.start(argv(name), { ...options, wallMs: scope.childMs() });
  } catch (cause) {
    server.close();
    throw new StartFault(new PeerFault('closed', '', `it could not be started: ${String(cause)}`), null);
  }
  onStart?.(child);
  const starting = { kill: () => child.kill() };
  scope.add(starting);
  const first = await within(Promise.race([connected, child.exited]), Math.min(CONNECT_MS, scope.remainingMs()));
  scope.drop(starting);
  server.close();
  await scope.remove(name);
  if (first !== null && 'cork' in first) {
    const peer = new Peer(scope, child, new Channel(first));
    scope.add(peer);
    return peer;
  }
  child.kill();
  const exit = first ?? (await within(child.exited, GONE_MS));
  const kind = first === null ? 'timeout' : 'closed';
  throw new StartFault(new PeerFault(kind, '', 'it did not connect'), exit);
}

/** Longest socket path that every Unix takes (macOS: 104 bytes with its end). */
const MAX_SOCKET_PATH = 103;

function listen(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH)
    throw new EnvironmentFault(
      'env.not-writable',
      `The path of the scratch folder is too long for a socket: ${path}`,
      'Set CUDAMASTER_HOME to a folder with a shorter path.',
    );
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(new StartFault(new PeerFault('closed', '', cause.message), null)));
    server.listen(path, () => resolve());
  });
}

function firstConnection(server: Server): Promise<Socket> {
  return new Promise((resolve) => {
    server.on('connection', (socket) => {
      if (!server.listening) {
        socket.destroy();
        return;
      }
      server.close();
      resolve(socket);
    });
  });
}
