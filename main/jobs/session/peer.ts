import { createServer, type Server, type Socket } from 'node:net';
import type { ChildExit, ChildHandle } from '../../base/process.ts';
import type { StartOptions } from '../context.ts';
import { EnvironmentFault } from './classify.ts';
import { GONE_MS, type Scope, within } from './scope.ts';
import { Channel, PeerFault, type Reply } from './wire.ts';

/** How long a process may take from its start to its connection (a profiler starts slowly). */
const CONNECT_MS = 60_000;

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

  get exited(): Promise<ChildExit> {
    return this.child.exited;
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

  /** Lets what is connected quit, and leaves the child alone: it may connect anew. */
  async leave(): Promise<void> {
    await this.channel.request('quit', '', 5_000).catch(() => undefined);
    this.channel.close();
    this.scope.drop(this);
  }

  /** Kills it and waits until it is gone. */
  async end(): Promise<ChildExit | null> {
    this.kill();
    const exit = await this.ending();
    this.scope.drop(this);
    return exit;
  }
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

/** A program to be started: its command line, given the socket's name (relative to scratch), and who wants the process itself. */
export type Launch = readonly [
  argv: (socket: string) => readonly string[],
  options: Omit<StartOptions, 'wallMs'>,
  onStart?: (child: ChildHandle) => void,
];

/**
 * Starts a program with a fresh socket in scratch and waits for its connection.
 * The socket stops listening and disappears with the first connection, so that nothing else can come in. Rejects with StartFault.
 */
export async function startPeer(scope: Scope, ...launch: Launch): Promise<Peer> {
  const peers = await PeerSeries.start(scope, ...launch);
  try {
    const first = await peers.next();
    if (first === null) throw new StartFault(notConnected('closed'), peers.exit);
    return first;
  } finally {
    await peers.close();
  }
}

const notConnected = (kind: 'closed' | 'timeout'): PeerFault => new PeerFault(kind, '', 'it did not connect');

/**
 * A child that connects any number of times, each time when the connection before has ended: a profiler that runs its target again for every
 * pass. Until `close` the socket is there.
 */
export class PeerSeries {
  readonly child: ChildHandle;
  private readonly scope: Scope;
  private readonly server: Server;
  private readonly name: string;
  private readonly waiting: Socket[] = [];
  private wake: (() => void) | null = null;
  private ended: ChildExit | null = null;

  private constructor(scope: Scope, child: ChildHandle, server: Server, name: string) {
    this.scope = scope;
    this.child = child;
    this.server = server;
    this.name = name;
    server.on('connection', (socket) => this.onConnection(socket));
    void child.exited.then((exit) => {
      this.ended = exit;
      this.wake?.();
    });
  }

  static async start(scope: Scope, ...[argv, options, onStart]: Launch): Promise<PeerSeries> {
    const name = scope.newFile('s');
    const server = createServer();
    await listen(server, scope.path(name));
    let child: ChildHandle;
    try {
      child = scope.ctx.start(argv(name), { ...options, wallMs: scope.childMs() });
    } catch (cause) {
      server.close();
      throw new StartFault(new PeerFault('closed', '', `it could not be started: ${String(cause)}`), null);
    }
    onStart?.(child);
    return new PeerSeries(scope, child, server, name);
  }

  /** How the child ended; null: it has not. */
  get exit(): ChildExit | null {
    return this.ended;
  }

  /** The next connection; null: the child ended without one. Rejects with StartFault when neither comes; the child is gone then. */
  async next(): Promise<Peer | null> {
    const { child, scope } = this;
    const starting = { ...child };
    scope.add(starting);
    await within(this.something(), Math.min(CONNECT_MS, scope.remainingMs()));
    scope.drop(starting);
    const socket = this.waiting.shift();
    if (socket) {
      const peer = new Peer(scope, child, new Channel(socket));
      scope.add(peer);
      return peer;
    }
    if (this.ended) return null;
    child.kill();
    throw new StartFault(notConnected('timeout'), await within(child.exited, GONE_MS));
  }

  /** Kills the child and waits until it is gone (a bounded time: one that is stuck in the driver does not go). */
  async end(): Promise<void> {
    if (this.ended === null) this.child.kill();
    await this.close();
    await within(this.child.exited, GONE_MS);
  }

  /** Nothing comes in any more. The child and the connections live on. */
  async close(): Promise<void> {
    this.server.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
    await this.scope.remove(this.name);
  }

  private something(): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve;
      if (this.waiting.length > 0 || this.ended !== null) resolve();
    });
  }

  /** At most one waits: the next run of the program can be there before we have seen the end of this one. */
  private onConnection(socket: Socket): void {
    if (!this.server.listening || this.waiting.length > 0) {
      socket.destroy();
      return;
    }
    this.waiting.push(socket);
    this.wake?.();
  }
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
