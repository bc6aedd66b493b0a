import { expect, test } from 'vitest';
import type { ClientMessage, StoredRunEvent } from '../../main/contract/api.ts';
import { Protocol } from '../../renderer/api/protocol.ts';

const line = () => {
  const sent: ClientMessage[] = [];
  return { sent, transport: { send: (m: ClientMessage) => void sent.push(m) } };
};
const event = (seq: number): StoredRunEvent =>
  ({ type: 'notice', position: 'r1', message: `event ${seq}`, seq, at: '2026-11-29T18:00:00Z' }) as StoredRunEvent;

test('after a broken connection the tail goes on where it ended, and nothing is told twice', () => {
  const protocol = new Protocol();
  const first = line();
  protocol.attach(first.transport);
  const seen: number[] = [];
  protocol.subscribe('run-1', 3, { event: (e) => seen.push(e.seq), transient: () => {}, settled: () => {} });
  const [subscribe] = first.sent;
  if (subscribe?.type !== 'subscribe') throw new Error('no subscription was sent');
  expect(subscribe.after).toBe(3);
  protocol.receive({ type: 'event', sub: subscribe.sub, event: event(4) });
  protocol.receive({ type: 'event', sub: subscribe.sub, event: event(5) });

  protocol.detach();
  const second = line();
  protocol.attach(second.transport);
  expect(second.sent).toEqual([{ type: 'subscribe', sub: subscribe.sub, run: 'run-1', after: 5 }]);
  protocol.receive({ type: 'event', sub: subscribe.sub, event: event(5) });
  protocol.receive({ type: 'event', sub: subscribe.sub, event: event(6) });
  expect(seen).toEqual([4, 5, 6]);
});

test('questions are asked again after a reconnect; what changes something is never repeated', async () => {
  const protocol = new Protocol();
  const first = line();
  protocol.attach(first.transport);
  const list = protocol.call('runs.list', {});
  const start = protocol.call('runs.cancel', { run: 'x' });
  protocol.detach();
  const lost = await start;
  expect(lost.ok).toBe(false);
  const second = line();
  protocol.attach(second.transport);
  expect(second.sent.map((m) => m.type === 'call' && m.method)).toEqual(['runs.list']);
  const again = second.sent[0];
  if (again?.type !== 'call') throw new Error('not asked again');
  protocol.receive({ type: 'answer', id: again.id, result: { ok: true, value: [] } });
  expect(await list).toEqual({ ok: true, value: [] });
  expect((await protocol.call('runs.cancel', { run: 'x' }, AbortSignal.abort())).ok).toBe(false);
});

test('a call that was given up is abandoned at the host', async () => {
  const protocol = new Protocol();
  const { sent, transport } = line();
  protocol.attach(transport);
  const abort = new AbortController();
  const call = protocol.call('app.doctor', {}, abort.signal);
  abort.abort();
  const answer = await call;
  expect(!answer.ok && answer.error.code).toBe('cancelled');
  expect(sent.at(-1)?.type).toBe('abandon');
});

test('without a connection a change is refused at once, a question waits', async () => {
  const protocol = new Protocol();
  expect((await protocol.call('runs.pause', { run: 'x' })).ok).toBe(false);
  const waiting = protocol.call('tasks.list', {});
  const { sent, transport } = line();
  protocol.attach(transport);
  const asked = sent[0];
  if (asked?.type !== 'call') throw new Error('not asked');
  protocol.receive({ type: 'answer', id: asked.id, result: { ok: true, value: [] } });
  expect((await waiting).ok).toBe(true);
});
