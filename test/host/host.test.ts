import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { environmentOf } from '../../main/app/machine.ts';
import { type Executor, stateOf } from '../../main/contract/index.ts';
import { attachPort, createHost, type Host } from '../../main/host/index.ts';
import { lockFile, withGpuLock } from '../../main/jobs/gpu-lock.ts';
import { parseRecording } from '../../main/store/index.ts';
import { candidate, machine, resultFor, root } from '../app/lab.ts';
import { TestClient } from './client.ts';

vi.setConfig({ testTimeout: 120_000 });

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'cm-host-'));
  process.env.CUDAMASTER_HOME = home;
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

/** A host whose jobs are answered by the laboratory instead of a GPU. */
function hostOf(): Host {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }),
  };
  const host = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  });
  onTestFinished(() => host.close());
  return host;
}

function connect(host: Host): TestClient {
  const client: TestClient = new TestClient((m) => line.receive(m));
  const line = host.connect((m) => client.take(m));
  return client;
}

const replayed = 'debug-from-wrong';

describe('calls', () => {
  it('answer what may be asked, and say what is wrong with the rest', async () => {
    const client = connect(hostOf());
    expect((await client.got('app.info', {})).door).toBe('web');
    const tasks = await client.got('tasks.list', {});
    expect(new Set(tasks.map((t) => t.id)).size).toBe(50);
    expect(tasks.every((t) => t.fault === null)).toBe(true);
    expect((await client.got('recordings.list', {})).map((r) => r.id)).toContain(replayed);
    expect((await client.got('metrics.list', {})).every((m) => m.label !== '' && m.meaning !== '')).toBe(true);
    const task = await client.got('tasks.get', { task: 'dot_product', dtype: 'fp32' });
    expect(task.problems.reduce((sum, p) => sum + p.weight, 0)).toBeCloseTo(1);
    expect([task.baseline, task.signature]).toEqual([null, expect.stringContaining('dot_product_optimized')]);

    const wrong = async (message: object) => {
      client.raw({ type: 'call', id: 9000, ...message });
      await client.until(() => client.of('answer').some((m) => m.id === 9000));
      const at = client.seen.findIndex((m) => m.type === 'answer' && m.id === 9000);
      const [answer] = client.seen.splice(at, 1);
      return answer?.type === 'answer' && !answer.result.ok ? answer.result.error : null;
    };
    expect((await wrong({ method: 'nope', params: {} }))?.code).toBe('usage');
    expect((await wrong({ method: 'constructor', params: {} }))?.code).toBe('usage');
    expect((await wrong({ method: 'runs.get', params: { run: 'x', more: 1 } }))?.message).toContain('more');
    expect((await wrong({ method: 'runs.get', params: 7 }))?.code).toBe('usage');
    expect((await wrong({ method: 'runs.get', params: {}, extra: 1 }))?.code).toBe('usage');
    expect((await wrong({ method: 'runs.get', params: { run: 'nowhere' } }))?.code).toBe('store.not-found');
    expect((await wrong({ method: 'versions.get', params: { version: 'a/../b' } }))?.code).toBe('usage');
    expect((await wrong({ method: 'runs.replay', params: { recording: '../../package' } }))?.code).toBe(
      'input.recording',
    );
    for (const junk of [null, 7, 'x', [], {}, { type: 'call' }, { type: 'subscribe', sub: '', run: 'x', after: -1 }])
      client.raw(junk);
    expect(client.of('notice')).toHaveLength(7);
  });

  it('can be abandoned, and a client that goes away takes its own calls with it alone', async () => {
    const host = hostOf();
    const client = connect(host);
    client.raw({ type: 'call', id: 1, method: 'app.doctor', params: {} });
    client.raw({ type: 'abandon', id: 1 });
    await client.until(() => client.of('answer').length === 1);
    const answer = client.of('answer')[0]?.result;
    expect(answer?.ok === false && answer.error.code).toBe('cancelled');
    const gone = new TestClient((m) => line.receive(m));
    const line = host.connect((m) => gone.take(m));
    gone.raw({ type: 'call', id: 1, method: 'app.info', params: {} });
    line.close();
    await client.got('app.info', {});
    expect(gone.seen).toEqual([]);
  });
});

describe('a replay over the API', () => {
  it('answers its id at once, is watched by two clients, and ends with snapshot and tail telling the same', async () => {
    const host = hostOf();
    const [a, b] = [connect(host), connect(host)];
    const { run } = await a.got('runs.replay', { recording: replayed, slowMs: 60 });
    expect(host.activeRuns()).toBe(1);
    b.subscribe('whole', run);
    const early = await a.got('runs.get', { run });
    expect([early.row.status, early.row.drivenBy]).toEqual(['running', 'here']);
    a.subscribe('tail', run, early.seq);
    await Promise.all([a.settled('tail'), b.settled('whole')]);
    const whole = b.of('event').map((m) => m.event);
    expect(whole.map((e) => e.seq)).toEqual(whole.map((_, i) => i + 1));
    expect(whole.at(-1)?.type).toBe('run-ended');
    expect(a.of('event').map((m) => m.event)).toEqual(whole.slice(early.seq));
    expect(b.of('transient').some((m) => m.event.type === 'token')).toBe(true);
    const late = await a.got('runs.get', { run });
    expect(late.state).toEqual(stateOf(whole));
    expect(late.times).toHaveLength(whole.length);
    expect(late.row).toMatchObject({ status: 'done', drivenBy: null });
    await b.until(() => ['runs', 'versions'].every((w) => b.of('changed').some((m) => m.what === w)));
    const steps = await a.got('runs.steps', { run });
    expect(steps.every((s) => s.state === 'done')).toBe(true);
    const coder = await a.got('runs.step', { run, position: 'r1.a1.coder' });
    expect(coder.request?.messages[0]?.role).toBe('system');
    expect(coder.reply?.text).toContain('__global__');
    const versions = await a.got('versions.list', {});
    expect(versions.map((v) => [v.id.split(':')[1], v.outcome, v.parent?.split(':')[1] ?? null])).toEqual([
      ['r1.a1', 'accepted', 'r1.a0'],
      ['r1.a0', 'wrong-result', 'origin'],
      ['origin', 'valid', null],
    ]);
    expect(versions[0]?.score?.value).toBeCloseTo(late.row.score ?? 0);
    const { baseline } = await a.got('tasks.get', { task: 'dot_product', dtype: 'fp32' });
    expect(baseline?.run).toBe(run);
    const detail = await a.got('versions.get', { version: `${run}:r1.a1` });
    // What a recording measured was measured when it was recorded, not when it is replayed.
    const recording = parseRecording(
      readFileSync(new URL(`../recordings/${replayed}.json`, import.meta.url), 'utf8'),
      replayed,
    );
    const measuredAt = (position: string): string | undefined => {
      const response = recording.steps.find((step) => step.position === position)?.response;
      return response?.kind === 'job' ? response.result.startedAt : undefined;
    };
    expect([baseline?.at, detail.measuredAt]).toEqual([measuredAt('r0.baseline'), measuredAt('r1.a1.eval')]);
    expect(detail.source).toContain('dot_product_optimized');
    expect(detail.fix).not.toBeNull();
    expect(detail.baseline?.outcome).toBe('valid');
    expect(detail.nvccCommand).toContain('nvcc');
  });

  it('pauses after the current step, goes on, and can be cancelled at once', async () => {
    const host = hostOf();
    const client = connect(host);
    const { run } = await client.got('runs.replay', { recording: 'softmax-bf16', slowMs: 400 });
    client.subscribe('s', run);
    await client.until(() => client.of('event').some((m) => m.event.type === 'scheme'));
    await client.got('runs.pause', { run });
    await client.settled('s');
    const paused = await client.got('runs.get', { run });
    expect(paused.row.status).toBe('paused');
    expect((await client.got('runs.steps', { run })).every((s) => s.state === 'done')).toBe(true);
    expect((await client.call('runs.pause', { run })).ok).toBe(false);

    expect(await client.got('runs.resume', { run })).toEqual({ run });
    const again = await client.call('runs.resume', { run });
    expect(again.ok ? '' : again.error.code).toBe('store.lease');
    client.subscribe('t', run, paused.seq);
    await client.until(() => client.of('event').some((m) => m.sub === 't' && m.event.type === 'source'));
    const began = performance.now();
    await client.got('runs.cancel', { run });
    expect(performance.now() - began).toBeLessThan(3000);
    const cancelled = await client.got('runs.get', { run });
    expect(cancelled.row.status).toBe('cancelled');
    expect(host.activeRuns()).toBe(0);
    expect(await client.got('runs.resume', { run })).toEqual({ run });
    await client.got('runs.cancel', { run });
    const over = await client.call('runs.cancel', { run });
    expect(over.ok ? '' : over.error.message).toContain('not under way (cancelled)');
  });

  it('obeys a cancel that meets it while it is being taken up, and says whose it is', async () => {
    const host = hostOf();
    const [a, b] = [connect(host), connect(host)];
    const { run } = await a.got('runs.replay', { recording: 'softmax-bf16', slowMs: 400 });
    await a.got('runs.cancel', { run });
    for (let delay = 0; delay < 40; delay += 8) {
      const resumed = a.call('runs.resume', { run });
      await pause(delay);
      const [first, other] = await Promise.all([b.call('runs.cancel', { run }), b.call('runs.resume', { run })]);
      await resumed;
      // Whoever came first: nothing is left running that somebody cancelled after it was taken up.
      if (first.ok) await b.call('runs.cancel', { run });
      else expect(first.error.message).not.toContain('another process');
      if (!other.ok) expect(other.error.message).toMatch(/in this program|released/);
      await a.call('runs.cancel', { run });
      expect((await a.got('runs.get', { run })).row).toMatchObject({ status: 'cancelled', drivenBy: null });
    }
    expect(host.activeRuns()).toBe(0);
  });

  it('is not answered, approved or rejected once it is done', async () => {
    const client = connect(hostOf());
    const { run } = await client.got('runs.replay', { recording: replayed });
    client.subscribe('s', run);
    await client.settled('s');
    for (const call of [
      client.call('runs.answer', { run, text: 'late' }),
      client.call('runs.approve', { run }),
      client.call('runs.approve', { run, reject: true }),
    ]) {
      const answer = await call;
      expect(answer.ok ? '' : answer.error.message).toContain('does not wait');
    }
    expect(await client.got('runs.resume', { run })).toEqual({ run });
  });

  it('waits for each scheme to be approved, changed or rejected', async () => {
    const client = connect(hostOf());
    const { run } = await client.got('runs.replay', { recording: 'softmax-bf16', approve: true });
    client.subscribe('s', run);
    await client.settled('s');
    const waits = await client.got('runs.get', { run });
    expect([waits.row.status, waits.state.waiting?.for]).toEqual(['parked', 'approval']);
    expect(waits.state.rounds[0]).toMatchObject({ by: 'planner', attempts: [] });
    expect((await client.got('runs.steps', { run })).at(-1)).toMatchObject({ kind: 'approval', state: 'parked' });
    expect((await client.call('runs.approve', { run, scheme: ' ' })).ok).toBe(false);
    await client.got('runs.approve', { run, scheme: 'Mine: two rows per warp.' });
    client.subscribe('t', run, waits.seq);
    await client.settled('t');
    const second = await client.got('runs.get', { run });
    expect(second.state.rounds[0]).toMatchObject({ by: 'user', scheme: 'Mine: two rows per warp.', accepted: true });
    expect([second.state.rounds.length, second.state.waiting?.for]).toEqual([2, 'approval']);
    // The recording knows no other scheme for round 2: what a rejection asks for is not in it.
    await client.got('runs.approve', { run, reject: true });
    client.subscribe('u', run, second.seq);
    await client.settled('u');
    const third = await client.got('runs.get', { run });
    expect([third.row.status, third.state.error?.code]).toEqual(['failed', 'replay.diverged']);
    expect(third.state.notices.some((n) => n.message.includes('rejected'))).toBe(true);
    expect((await client.call('runs.approve', { run })).ok).toBe(false);
    // Nobody drives it: it can still be called off.
    await client.got('runs.cancel', { run });
    expect((await client.got('runs.get', { run })).row.status).toBe('cancelled');
  });
});

describe('evaluations over the API', () => {
  it('keep the edited source as a version with its parent; note, pin and bin change its row alone', async () => {
    const client = connect(hostOf());
    const first = await client.got('runs.replay', { recording: replayed });
    client.subscribe('first', first.run);
    await client.settled('first');
    const parent = `${first.run}:r1.a1`;
    const params = { task: 'dot_product', dtype: 'fp32', executor: 'local', label: 'mine' } as const;
    const { run } = await client.got('runs.evaluate', { ...params, source: candidate('1.5'), parent });
    client.subscribe('mine', run);
    await client.settled('mine');
    const id = `${run}:r1.a0`;
    const mine = await client.got('versions.get', { version: id });
    expect(mine).toMatchObject({ kind: 'evaluate', label: 'mine', outcome: 'accepted', parent, pinned: false });
    expect(mine.source).toContain('lab: 1.5');
    const none = await client.call('runs.evaluate', { ...params, source: 'x', parent: `${run}:r9.a9` });
    expect(none.ok ? '' : none.error.code).toBe('store.not-found');

    const note = 'fast, but <b>why</b>?';
    expect(await client.got('versions.edit', { version: id, note, pinned: true })).toMatchObject({
      note,
      pinned: true,
    });
    const binned = await client.got('versions.edit', { version: id, deleted: true });
    expect(binned.deletedAt).not.toBeNull();
    expect((await client.got('versions.list', {})).map((v) => v.id)).not.toContain(id);
    expect((await client.got('versions.list', { deleted: true })).map((v) => v.id)).toEqual([id]);
    expect((await client.got('runs.get', { run })).state.rounds[0]?.attempts).toHaveLength(1);
    await client.got('versions.edit', { version: id, deleted: false });
    expect((await client.got('versions.list', {}))[0]).toMatchObject({ id, note, pinned: true });
    // Profiling a source measures no origin: there is no version of it that would never get its figures.
    const seen = await client.got('versions.list', {});
    expect(seen.filter((v) => v.run === run).map((v) => v.id)).toEqual([id]);
    const profile = await client.got('runs.evaluate', params);
    client.subscribe('profile', profile.run);
    await client.settled('profile');
    expect((await client.got('versions.list', {}))[0]).toMatchObject({ id: `${profile.run}:origin`, outcome: 'valid' });
  });

  it('start from a version: it takes the first round, and is the parent of what follows', async () => {
    const client = connect(hostOf());
    const params = { task: 'dot_product', dtype: 'fp32', executor: 'local' } as const;
    const { run: given } = await client.got('runs.evaluate', { ...params, label: 'seed', source: candidate('1.5') });
    client.subscribe('given', given);
    await client.settled('given');
    const from = `${given}:r1.a0`;
    const { run } = await client.got('runs.start', { ...params, provider: 'manual', from, rounds: 1 });
    client.subscribe('run', run);
    await client.settled('run');
    const { state } = await client.got('runs.get', { run });
    expect([state.status, state.waiting?.for, state.config?.rounds]).toEqual(['parked', 'answer', 2]);
    expect(state.best).toMatchObject({ round: 1, source: expect.stringContaining('lab: 1.5') });
    expect((await client.got('versions.get', { version: `${run}:r1.a0` })).parent).toBe(from);
    const prompt = await client.got('runs.prompt', { run });
    expect([prompt?.position, prompt?.agent]).toEqual(['r2.planner', 'planner']);
    expect(prompt?.text).toContain('lab: 1.5');
    expect(await client.got('runs.answer', { run, text: 'lab-scheme-2: use wider loads.' })).toEqual({ run });
    client.subscribe('after', run);
    await client.settled('after');
    expect((await client.got('runs.prompt', { run }))?.position).toBe('r2.a0.coder');
    const other = await client.call('runs.start', { ...params, task: 'softmax', provider: 'manual', from });
    expect(other.ok ? '' : other.error.message).toContain('is of dot_product');
  });
});

it('tells who holds a GPU, and when that changes', async () => {
  const uuid = `GPU-test-${process.pid}`;
  const file = lockFile(uuid);
  onTestFinished(() => [file, `${file}.door`].forEach((f) => void rmSync(f, { force: true })));
  const client = connect(hostOf());
  const mine = async () => (await client.got('queue.list', {})).find((line) => line.gpu === uuid);
  expect(await mine()).toBeUndefined();
  // Changes are told from the first look on.
  await client.got('runs.list', {});
  await pause(1000);
  await withGpuLock(uuid, async () => {
    await client.until(() => client.of('changed').some((m) => m.what === 'queue'));
    expect(await mine()).toEqual({
      gpu: uuid,
      name: null,
      holder: { run: null, what: 'this program', pid: process.pid },
      waiting: [],
    });
  });
  await client.until(() => client.of('changed').filter((m) => m.what === 'queue').length >= 2);
  expect(await mine()).toBeUndefined();
});

it('speaks over a message port as over any other line', async () => {
  const host = hostOf();
  const { port1, port2 } = new MessageChannel();
  attachPort(host.connect, port1);
  const client = new TestClient((m) => port2.postMessage(m));
  port2.on('message', (m) => client.take(m));
  expect((await client.got('app.info', {})).platform).toBe(process.platform);
  port2.close();
});
