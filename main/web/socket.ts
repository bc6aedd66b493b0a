import type { WebSocket } from '@fastify/websocket';
import type { HostMessage } from '../contract/index.ts';
import type { Host } from '../host/index.ts';

export const socketLimits = {
  /** Longest message taken: a source of 4 MiB as JSON, escaped. */
  messageBytes: 12 * 1024 * 1024,
  /** Messages of one client in a second. */
  perSecond: 400,
  /** What may wait for a client that reads too slowly, bytes. */
  waitingBytes: 128 * 1024 * 1024,
  sockets: 64,
} as const;

/** A client that answers no ping for this long is gone (closed laptop, dead tunnel), ms. */
const silentMs = 45_000;
/** How long a client that is shut out may take to close its end, ms. */
const goodbyeMs = 2000;

export interface SocketStats {
  open: number;
  /** When somebody was last there, ms since 1970. */
  lastSeen: number;
}

/** Speaks the API over one WebSocket until it closes. */
export function serveSocket(host: Host, socket: WebSocket, stats: SocketStats): void {
  if (stats.open >= socketLimits.sockets) {
    socket.close(1013, 'too many connections');
    return;
  }
  stats.open++;
  const client = host.connect((message: HostMessage) => {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > socketLimits.waitingBytes) return socket.close(1013, 'reads too slowly');
    socket.send(JSON.stringify(message));
  });
  const alive = keepAlive(socket);
  const calm = rate();
  let shut = false;
  /** Says why and takes nothing more; a client that does not go by itself is cut off. */
  const shutOut = (code: number, why: string): void => {
    shut = true;
    socket.close(code, why);
    setTimeout(() => socket.terminate(), goodbyeMs).unref();
  };
  socket.on('message', (data: Buffer, binary: boolean) => {
    if (shut) return;
    stats.lastSeen = Date.now();
    alive.seen();
    if (!calm()) return shutOut(1008, 'too many messages');
    const message = binary ? undefined : jsonOf(data);
    if (message === undefined) return shutOut(1007, 'JSON is expected');
    client.receive(message);
  });
  // A broken line closes it as well; there is nobody to tell.
  socket.on('error', () => {});
  socket.on('close', () => {
    alive.stop();
    client.close();
    stats.open--;
    stats.lastSeen = Date.now();
  });
}

function jsonOf(data: Buffer): unknown {
  try {
    return JSON.parse(data.toString('utf8'));
  } catch {
    return undefined;
  }
}

/** true while a client keeps to the limit: a second's worth at once, refilled as time goes. */
function rate(): () => boolean {
  let left: number = socketLimits.perSecond;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(socketLimits.perSecond, left + ((now - at) / 1000) * socketLimits.perSecond) - 1;
    at = now;
    return left >= 0;
  };
}

function keepAlive(socket: WebSocket): { seen(): void; stop(): void } {
  let last = Date.now();
  const seen = (): void => {
    last = Date.now();
  };
  socket.on('pong', seen);
  const timer = setInterval(() => {
    if (Date.now() - last > silentMs) return socket.terminate();
    socket.ping();
  }, silentMs / 3);
  timer.unref();
  return { seen, stop: () => clearInterval(timer) };
}
