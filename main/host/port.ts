import type { HostMessage } from '../contract/index.ts';
import type { Client } from './index.ts';

/** What node's MessagePort and Electron's MessagePortMain have in common. */
export interface Port {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  start(): void;
}

/** Electron hands on an event with `data`, node the data itself. */
const dataOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'data' in message && 'ports' in message ? message.data : message;

/** Speaks the API over a message port until that is closed. */
export function attachPort(connect: (send: (message: HostMessage) => void) => Client, port: Port): Client {
  const client = connect((message) => port.postMessage(message));
  port.on('message', (message) => client.receive(dataOf(message)));
  port.on('close', () => client.close());
  port.start();
  return client;
}
