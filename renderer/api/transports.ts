import type { HostMessage } from '../../main/contract/api.ts';
import type { Protocol } from './protocol.ts';

/** Waits between attempts to connect, ms: quick at first, then every five seconds. */
const waits = [100, 250, 500, 1000, 2000, 5000] as const;

/** Speaks the API over a WebSocket that is opened again whenever it breaks. Gives back the function that ends it. */
export function connectSocket(protocol: Protocol, url: string): () => void {
  let socket: WebSocket | null = null;
  let tries = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let ended = false;

  const open = (): void => {
    clearTimeout(timer);
    const ws = new WebSocket(url);
    socket = ws;
    ws.onopen = () => {
      tries = 0;
      protocol.attach({ send: (message) => ws.send(JSON.stringify(message)) });
    };
    ws.onmessage = (e) => protocol.receive(JSON.parse(String(e.data)) as HostMessage);
    ws.onclose = () => {
      if (socket !== ws) return;
      protocol.detach();
      if (ended) return;
      timer = setTimeout(open, waits[Math.min(tries, waits.length - 1)]);
      tries += 1;
    };
  };
  open();
  return () => {
    ended = true;
    clearTimeout(timer);
    socket?.close();
  };
}

/** The line in use: what an older one says after a newer one stands is no news. */
let current: MessagePort | null = null;

/** Speaks the API over a message port (Electron's preload hands it over). */
export function connectPort(protocol: Protocol, port: MessagePort): () => void {
  const lost = (): void => {
    if (current !== port) return;
    current = null;
    protocol.detach();
  };
  // The engine was started anew: what was asked over the old line goes over the new one.
  if (current !== null) protocol.detach();
  current = port;
  port.onmessage = (e) => protocol.receive(e.data as HostMessage);
  port.onmessageerror = lost;
  port.addEventListener('close', lost);
  port.start();
  protocol.attach({ send: (message) => port.postMessage(message) });
  return () => {
    lost();
    port.close();
  };
}

/** The shell says that the engine is gone; it hands over another port when a new one stands. */
export function losePort(protocol: Protocol): void {
  current = null;
  protocol.detach();
}
