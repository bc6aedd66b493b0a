import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTimeOf } from '../../main/base/proc.ts';
import { registerSecret } from '../../main/base/redact.ts';
import { AppFailure, err, type TransientEvent } from '../../main/contract/index.ts';
import { openDatabase } from '../../main/store/db/open.ts';
import { parseRecording, recordingText, Store, type StoredEvent } from '../../main/store/index.ts';
import { chatRequest, chatResponse, codeOf, config, jobRequest, jobResult, newRun, tempFolder } from './samples.ts';

async function openStore(folder = tempFolder()): Promise<Store> {
  const store = await Store.open(folder);
  onTestFinished(() => store.close());
  return store;
}

/** Starts the driver as its own process; `line` waits for an output line that begins so. */
function drive(folder: string, run: string, hangAt = '-') {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'driver.ts'), folder, run, hangAt]);
  const lines: string[] = [];
  let errors = '';
  let rest = '';
  child.stdout.on('data', (d: Buffer) => {
    const parts = (rest + d).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  child.stderr.on('data', (d: Buffer) => {
    errors += d;
  });
  const ended = new Promise<number | null>((r) => child.on('close', r));
  onTestFinished(() => void child.kill('SIGKILL'));
  const line = async (start: string): Promise<string> => {
    for (let i = 0; i < 400; i++) {
      const found = lines.find((l) => l.startsWith(start));
      if (found) return found.slice(start.length);
      if (child.exitCode !== null && i > 5) break;
      await pause(25);
    }
    throw new Error(`no line "${start}" from the driver: ${lines.join('|')} ${errors}`);
  };
  return {
    child: child as ChildProcess,
    lines,
    ended,
    line,
    executed: () => lines.filter((l) => l.startsWith('execute ')),
  };
}

const essence = (events: StoredEvent[]) =>
  events.filter((e) => !['resumed', 'usage'].includes(e.type) && !(e.type === 'notice' && e.message === 'hanging'));

describe('events', () => {
  it('are the same for who wrote them and for another process, more of them than memory keeps', async () => {
    const folder = tempFolder();
    const store = await openStore(folder);
    const { log, id } = await store.begin(newRun());
    registerSecret('a-key-in-a-notice');
    const told: StoredEvent[] = [];
    const subscription = store.subscribe(id, 0, (event) => told.push(event));
    for (let i = 0; i < 5; i++) {
      const message = `${i} a-key-in-a-notice ${'ü'.repeat(i * 500_000)}`;
      await log.event(`n${i}`, { type: 'notice', position: 'r1', message });
      await log.event(`n${i}`, { type: 'notice', position: 'r1', message: 'the same key: not stored again' });
      subscription.look();
    }
    const other = await openStore(folder);
    const read = await other.events(id);
    expect(read.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(JSON.stringify(read)).not.toContain('a-key-in-a-notice');
    expect(await store.events(id)).toEqual(read);
    await subscription.close();
    expect(told).toEqual(read.slice(0, told.length));
  });
});

describe('steps', () => {
  it('executes once, answers from the history afterwards, and tells when the request has changed', async () => {
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    const long = 'ü'.repeat(30_000);
    let calls = 0;
    const execute = async () => {
      calls++;
      return { kind: 'done' as const, response: chatResponse(long) };
    };
    const first = await log.step('r1.planner', chatRequest('a'), execute);
    const again = await log.step('r1.planner', chatRequest('a'), execute);
    expect(calls).toBe(1);
    expect(first).toMatchObject({ kind: 'done', replayed: false });
    expect(again).toEqual({ ...first, replayed: true });
    await log.step('r1.planner', chatRequest('b'), execute);
    await log.step('r1.planner', chatRequest('b'), execute);
    expect(calls).toBe(1);
    expect((await store.events(id)).map((e) => e.type)).toEqual(['changed']);
    expect(readdirSync(join(store.folder, 'content'))).toHaveLength(1);
  });

  it('passes parking through, keeps events once per key and numbers them without gaps', async () => {
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    const waiting = { for: 'answer' as const, path: '/p', how: 'answer it' };
    expect(await log.step('p', chatRequest('a'), async () => ({ kind: 'parked', waiting }))).toEqual({
      kind: 'parked',
      waiting,
    });
    for (let i = 0; i < 3; i++) await log.event('same', { type: 'round-started', round: 1 });
    await log.event('parked', { type: 'parked', waitingFor: 'answer', path: '/p', how: 'answer it' });
    expect((await store.events(id)).map((e) => [e.seq, e.type])).toEqual([
      [1, 'round-started'],
      [2, 'parked'],
    ]);
    expect((await store.find(id)).status).toBe('parked');
  });

  it('lets nobody lose an acknowledged event when steps and events come at once', async () => {
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => log.event(`k${i}`, { type: 'round-started', round: i + 1 })),
    );
    expect((await store.events(id)).map((e) => e.seq)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  it('executes a forgotten step again, and keeps its new answer', async () => {
    const store = await openStore();
    const { log } = await store.begin(newRun());
    const answer = (text: string) => async () => ({
      kind: 'done' as const,
      response: { kind: 'job' as const, result: jobResult(text) },
    });
    await log.step('r1.a0.eval', jobRequest, answer('first'));
    await log.forget('r1.a0.eval');
    for (const replayed of [false, true])
      expect(await log.step('r1.a0.eval', jobRequest, answer('second'))).toMatchObject({
        replayed,
        response: { result: { steps: [{ stdout: 'second' }] } },
      });
  });

  it('forgets a step that was answered "no": nothing is open and no cost unknown', async () => {
    const store = await openStore();
    const first = await store.begin(newRun());
    const refused = async () => {
      throw new AppFailure(err('provider.auth', 'wrong key').error);
    };
    expect(await codeOf(first.log.step('r1.planner', chatRequest('a'), refused))).toBe('provider.auth');
    await first.log.event('end', {
      type: 'run-ended',
      status: 'failed',
      error: err('provider.auth', 'wrong key').error,
    });
    await first.release();
    const second = await store.resume(await store.find(first.id), null, true);
    expect(second.report).toMatchObject({ openStep: null, unanswered: [] });
    await second.log.event('end', { type: 'run-ended', status: 'done', error: null });
    expect((await store.events(first.id)).map((e) => e.type)).toEqual(['run-ended', 'resumed', 'run-ended']);
    expect((await store.find(first.id)).status).toBe('done');
  });
});

describe('requests without a reply', () => {
  it('are told by position, as the loop and as a resume booked them; of a damaged one nothing is known', async () => {
    const folder = tempFolder();
    const store = await openStore(folder);
    const { log, id } = await store.begin(newRun());
    const usage = (promptTokens: number | null, costUsd: number | null) =>
      ({ type: 'usage', agent: 'planner', promptTokens, completionTokens: promptTokens, costUsd }) as const;
    await log.event('r1.planner.usage', usage(1, 1));
    await log.event('r1.planner.unanswered.d0.0', usage(null, null));
    await log.event('r1.planner.unanswered.d1.0', usage(9000, 0.5));
    await log.event('unanswered:r1.a0.coder:2', usage(null, null));
    await log.event('r1.a0.debug.unanswered.d1.0', usage(7, 7));
    const { db } = await openDatabase(join(folder, 'history.db'));
    await db.transaction((tx) => tx.run("UPDATE events SET body = '{' WHERE key = 'r1.a0.debug.unanswered.d1.0'", []));
    await db.close();
    const bill = (n: number | null, costUsd: number | null) => ({
      usage: { promptTokens: n, completionTokens: n },
      costUsd,
    });
    expect([...(await store.unanswered(id))]).toEqual([
      ['r1.planner', [bill(null, null), bill(9000, 0.5)]],
      ['r1.a0.coder', [bill(null, null)]],
      ['r1.a0.debug', [bill(null, null)]],
    ]);
  });
});

describe('leases', () => {
  it('refuses a second driver of the same run only, and takes over from a dead one', async () => {
    const store = await openStore();
    const one = await store.begin(newRun());
    const two = await store.begin(newRun());
    const other = await openStore(store.folder);
    expect(await codeOf(other.resume(await other.find(one.id), null, false))).toBe('store.lease');
    await one.release();
    const taken = await other.resume(await other.find(one.id), null, false);
    expect(await codeOf(one.log.event('k', { type: 'round-started', round: 1 }))).toBe('store.lease');
    await taken.log.event('k', { type: 'round-started', round: 1 });
    await two.log.event('k', { type: 'round-started', round: 1 });
  });
});

describe('a changed machine', () => {
  const first = { gpu: 'G1', driver: '580.1', toolkit: '13.0', harness: 'h1' };
  const job = async () => ({ kind: 'done' as const, response: { kind: 'job' as const, result: jobResult('x') } });

  it('is measured anew before the next evaluation, always the same one, and again when it changes once more', async () => {
    const store = await openStore();
    const one = await store.begin(newRun({ environment: first }));
    expect(await one.log.noteEnvironment({ ...first, driver: '581' })).toEqual([]); // nothing measured yet
    await one.log.step('r0.baseline', jobRequest, job);
    expect(await one.log.remeasureBefore('r1.a0.eval')).toBeNull();
    await one.log.step('r1.a0.eval', jobRequest, job);
    await one.release();

    const two = await store.resume(await store.find(one.id), { ...first, driver: '582', toolkit: null }, false);
    expect(two.report.changes).toEqual(['driver 581 → 582']);
    expect(await two.log.remeasureBefore('r1.a0.eval')).toBeNull(); // done before the change
    expect(await two.log.remeasureBefore('r2.a0.eval')).toBe('driver 581 → 582');
    expect(await two.log.remeasureBefore('r2.a0.eval')).toBe('driver 581 → 582');
    expect(await two.log.remeasureBefore('r3.a0.eval')).toBeNull();
    await two.log.step('r2.a0.eval.remeasure.origin', jobRequest, job);
    await two.release();

    const three = await store.resume(await store.find(one.id), { ...first, driver: '582', gpu: 'G2' }, false);
    expect(await three.log.remeasureBefore('r2.a0.eval')).toBe('driver 581 → 582; gpu G1 → G2');
    const again = await three.log.step('r2.a0.eval.remeasure.origin', jobRequest, job);
    expect(again).toMatchObject({ replayed: false });
  });

  it('waits for the step after a prompt that waits for its answer', async () => {
    const store = await openStore();
    const one = await store.begin(newRun({ environment: first }));
    await one.log.step('r0.baseline', jobRequest, job);
    const waiting = { for: 'answer' as const, path: 'p', how: 'h' };
    await one.log.step('r1.planner', chatRequest('q'), async () => ({ kind: 'parked', waiting }));
    await one.release();
    const two = await store.resume(await store.find(one.id), { ...first, driver: '582' }, false);
    expect(await two.log.remeasureBefore('r1.planner')).toBeNull();
    expect(await two.log.remeasureBefore('r1.a0.coder')).toBe('driver 580.1 → 582');
  });
});

describe('kill -9 in the middle', () => {
  it.each(['r1.planner', 'r1.a0.eval'])(
    'at %s: resume repeats the open step alone and ends with the same history',
    async (at) => {
      const plain = tempFolder();
      const whole = drive(plain, 'new');
      expect(await whole.ended).toBe(0);
      const wanted = await openStore(plain);
      const wantedEvents = await wanted.events((await wanted.find('last')).id);

      const folder = tempFolder();
      const first = drive(folder, 'new', at);
      const run = await first.line('run ');
      const leftover = Number(await first.line('child '));
      // Living driver: refused. Its death frees the run.
      const refused = drive(folder, run);
      expect(await refused.ended).not.toBe(0);
      expect(refused.executed()).toEqual([]);
      first.child.kill('SIGKILL');
      await first.ended;

      const second = drive(folder, run);
      expect(await second.ended).toBe(0);
      expect(startTimeOf(leftover)).toBeNull();
      const both = [...first.executed(), ...second.executed()];
      expect(both.filter((l) => l === `execute ${at}`)).toHaveLength(2);
      expect(new Set(both).size).toBe(both.length - 1);

      const store = await openStore(folder);
      const events = await store.events(run);
      const strip = (e: StoredEvent) => ({ ...e, seq: 0, at: '', rootSeed: '' });
      expect(essence(events).map(strip)).toEqual(essence(wantedEvents).map(strip));
      const resumed = events.find((e) => e.type === 'resumed');
      expect(resumed?.type === 'resumed' && resumed.note).toContain('gpu G1 → G2');
      const unknown = events.filter((e) => e.type === 'usage');
      expect(unknown).toHaveLength(at === 'r1.planner' ? 1 : 0);
      if (unknown[0]?.type === 'usage') expect(unknown[0].costUsd).toBeNull();
      expect((await store.find(run)).status).toBe('done');
    },
  );
});

describe('subscriptions', () => {
  it('that loses its history fails for those who wait for it, and ends no process', async () => {
    const store = await Store.open(tempFolder());
    const { id } = await store.begin(newRun());
    const subscription = store.subscribe(id, 0, () => {});
    await store.close();
    // Longer than between two looks: an unhandled rejection would fail the test run here.
    await pause(400);
    await expect(subscription.settled).rejects.toThrow();
    await subscription.close();
  });

  it('give snapshot and tail of a run that another process drives, in order and once', async () => {
    const folder = tempFolder();
    const store = await openStore(folder);
    const driver = drive(folder, 'new', 'r1.a0.coder');
    const run = await driver.line('run ');
    await driver.line('child ');
    const seen: number[] = [];
    const subscription = store.subscribe(run, 1, (e) => seen.push(e.seq));
    await pause(300);
    const before = seen.length;
    expect(before).toBeGreaterThan(0);
    driver.child.kill('SIGKILL');
    await driver.ended;
    await subscription.settled;
    const rest = drive(folder, run);
    await rest.line('run ');
    const tail: number[] = [];
    const second = store.subscribe(run, seen.at(-1) ?? 0, (e) => tail.push(e.seq));
    await rest.ended;
    await second.settled;
    const all = (await store.events(run)).map((e) => e.seq);
    expect([...seen, ...tail]).toEqual(all.slice(1));
  });

  it('coalesces what is transient to 20 a second without losing text', async () => {
    const store = await openStore();
    const { log, id, release } = await store.begin(newRun());
    const got: { at: number; event: TransientEvent }[] = [];
    const subscription = store.subscribe(
      id,
      0,
      () => {},
      (event) => got.push({ at: Date.now(), event }),
    );
    const begun = Date.now();
    for (let i = 0; i < 300; i++) {
      log.transient({ type: 'token', agent: 'coder', text: `${i},` });
      log.transient({ type: 'progress', step: 'time', index: i, count: 300 });
      if (i % 10 === 0) await pause(10);
    }
    const text = () => got.map((g) => (g.event.type === 'token' ? g.event.text : '')).join('');
    for (let i = 0; i < 400 && !text().endsWith('299,'); i++) await pause(25);
    const seconds = (Date.now() - begun) / 1000;
    expect(got.length).toBeLessThanOrEqual(Math.ceil(seconds * 20) + 1);
    expect(text()).toBe(Array.from({ length: 300 }, (_, i) => `${i},`).join(''));
    expect(got.some((g) => g.event.type === 'progress' && g.event.index === 299)).toBe(true);
    expect(await store.events(id)).toEqual([]);
    await release();
    await subscription.settled;
  });
});

describe('recordings', () => {
  it('hold chat and job results by position, and no key, planted wherever', async () => {
    const key = 'cm-test-key-0123456789abcdef';
    registerSecret(key);
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    const code = 'float* p = base + sk-first_offset_of_row;';
    await log.step('r1.planner', chatRequest(`never stored: ${key}`), async () => ({
      kind: 'done',
      response: chatResponse(`// you sent Authorization: Bearer ${key}`),
    }));
    // No key that we know: what merely looks like one stays, or the candidate would be another.
    await log.step('r1.a0.coder', chatRequest('c'), async () => ({ kind: 'done', response: chatResponse(code) }));
    await log.step('r1.a0.eval', jobRequest, async () => ({
      kind: 'done',
      response: { kind: 'job', result: jobResult(`env OPENAI_API_KEY=${key} and Bearer abcdefghijklmnop1234`) },
    }));
    await log.event('n', { type: 'notice', position: 'p', message: `key ${key}` });
    const text = recordingText(await store.recording(await store.find(id), 'note'));
    expect(text).not.toContain(key);
    expect(text).not.toContain('abcdefghijklmnop1234');
    expect(text).toContain(code);
    const back = parseRecording(text, 'x.json');
    expect(back.steps.map((s) => s.position)).toEqual(['r1.planner', 'r1.a0.coder', 'r1.a0.eval']);
    expect(back.rootSeed).toBe(newRun().rootSeed);
    expect(back.config).toEqual(config);
    expect(JSON.stringify(await store.events(id))).not.toContain(key);
  });

  it('are not held up by a candidate that prints a megabyte of one word', async () => {
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    const began = performance.now();
    await log.step('r1.a0.eval', jobRequest, async () => ({
      kind: 'done',
      response: { kind: 'job', result: jobResult(`${'y'.repeat(1_000_000)} Bearer abcdefghijklmnop1234`) },
    }));
    expect(performance.now() - began).toBeLessThan(5000);
    const text = recordingText(await store.recording(await store.find(id), ''));
    expect(text).toContain('characters of one word left out');
    expect(text).not.toContain('abcdefghijklmnop1234');
  });

  it('stay below 2 MB by shortening tool logs, or are refused with the largest steps named', async () => {
    const store = await openStore();
    const { log, id } = await store.begin(newRun());
    await log.step('r1.a0.eval', jobRequest, async () => ({
      kind: 'done',
      response: { kind: 'job', result: jobResult('yes '.repeat(750_000)) },
    }));
    const text = recordingText(await store.recording(await store.find(id), ''));
    expect(text.length).toBeLessThan(20_000);
    expect(text).toContain('left out of the recording');
    await log.step('r1.planner', chatRequest('a'), async () => ({
      kind: 'done',
      response: chatResponse('z'.repeat(2_200_000)),
    }));
    const big = await store.recording(await store.find(id), '');
    expect(() => recordingText(big)).toThrow('limit is 2 MB');
  });

  it('are refused by name when newer, foreign or damaged', () => {
    const code = (text: string) => {
      try {
        parseRecording(text, 'f');
        return 'ok';
      } catch (e) {
        return (e as AppFailure).error.code;
      }
    };
    expect(code('{')).toBe('input.recording');
    expect(code('{"format":"other"}')).toBe('input.recording');
    expect(code('{"format":"cudamaster-recording","version":9}')).toBe('format.newer');
    expect(code('{"format":"cudamaster-recording","version":1}')).toBe('input.recording');
  });
});

it('collects long contents once nothing refers to them', async () => {
  const store = await openStore();
  const contents = () =>
    readdirSync(join(store.folder, 'content'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile());
  const { log, id } = await store.begin(newRun());
  const keep = await store.begin(newRun());
  const step = (text: string) => async () => ({ kind: 'done' as const, response: chatResponse(text) });
  await log.step('a', chatRequest('a'), step('1'.repeat(20_000)));
  await log.step('b', chatRequest('b'), step('2'.repeat(20_000)));
  await keep.log.step('b', chatRequest('b'), step('2'.repeat(20_000)));
  expect(contents()).toHaveLength(2);
  await store.remove(id);
  // Young files are spared: another process may be about to refer to them.
  expect(contents()).toHaveLength(2);
  expect(await store.collect(0)).toBe(1);
  expect(contents()).toHaveLength(1);
  expect(await keep.log.step('b', chatRequest('b'), step('never'))).toMatchObject({ replayed: true });
});
