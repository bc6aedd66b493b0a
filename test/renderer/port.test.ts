/** The screens' line to the engine when the shell hands over one port after the other. */
import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { attachPort } from '../../main/host/port.ts';
import { Protocol } from '../../renderer/api/protocol.ts';
import { connectPort, losePort } from '../../renderer/api/transports.ts';

/** An engine that answers every call with its own name; `mute` answers nothing. */
function engine(name: string, mute = false): { page: MessagePort; kill(): void } {
  const { port1, port2 } = new MessageChannel();
  attachPort(
    (send) => ({
      receive: (message) => {
        const { type, id } = message as { type: string; id: number };
        if (type === 'call' && !mute) send({ type: 'answer', id, result: { ok: true, value: name } });
      },
      close: () => {},
    }),
    port1,
  );
  return { page: port2 as unknown as MessagePort, kill: () => port1.close() };
}

test('what was asked of a lost engine is asked of the next one if asking twice does no harm, and the old line is silent', async () => {
  const protocol = new Protocol();
  const states: string[] = [];
  protocol.onConnection((state) => states.push(state));
  const first = engine('first', true);
  connectPort(protocol, first.page);
  const question = protocol.call('app.info', {});
  const order = protocol.call('runs.pause', { run: 'r' });
  losePort(protocol);
  expect(await order).toMatchObject({ ok: false, error: { code: 'internal' } });
  const second = engine('second');
  connectPort(protocol, second.page);
  first.kill();
  expect(await question).toEqual({ ok: true, value: 'second' });
  // The first port's end is told after the second stands: it changes nothing.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(protocol.connected).toBe(true);
  expect(states).toEqual(['connected', 'lost', 'connected']);
  second.kill();
  await expect.poll(() => protocol.connected).toBe(false);
  expect(states.at(-1)).toBe('lost');
});
