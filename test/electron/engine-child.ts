/**
 * Runs the real engine where a utility process would: `process.parentPort` over Node's IPC, message ports relayed by number.
 * `ENGINE` names the file to load.
 */
import { EventEmitter } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';

export type Wire =
  | { readonly kind: 'parent'; readonly data: unknown; readonly ports: readonly number[] }
  | { readonly kind: 'port'; readonly id: number; readonly data: unknown }
  | { readonly kind: 'closed'; readonly id: number };

const parentPort = new EventEmitter();
Object.assign(process, { parentPort });
const ports = new Map<number, MessagePort>();

function portOf(id: number): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port2.on('message', (data: unknown) => process.send?.({ kind: 'port', id, data } satisfies Wire));
  ports.set(id, port2);
  return port1;
}

process.on('message', (wire: Wire) => {
  if (wire.kind === 'parent') parentPort.emit('message', { data: wire.data, ports: wire.ports.map(portOf) });
  else if (wire.kind === 'port') ports.get(wire.id)?.postMessage(wire.data);
  else ports.get(wire.id)?.close();
});
process.on('disconnect', () => process.exit(0));
await import(process.env.ENGINE as string);
process.send?.({ kind: 'port', id: -1, data: 'loaded' } satisfies Wire);
