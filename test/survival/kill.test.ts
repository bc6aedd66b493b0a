import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundled, root } from './bundle.ts';
import { driveRecorded, recordingOf } from './drive.ts';
import { executedIn, type History, readHistory } from './history.ts';

/** What a killed process leaves is the same on a disk and in memory (only power cuts differ), but there no commit waits for a disk. */
function inMemory(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize > 128 * 1024 * 1024 ? '/dev/shm' : tmpdir();
  } catch {
    return tmpdir();
  }
}

let victim = '';
const work = { memory: '', disk: '' };
beforeAll(async () => {
  work.memory = mkdtempSync(join(inMemory(), 'cm-kill-'));
  work.disk = mkdtempSync(join(tmpdir(), 'cm-kill-'));
  victim = await bundled('victim');
});
afterAll(() => {
  for (const dir of Object.values(work)) rmSync(dir, { recursive: true, force: true });
  rmSync(victim, { force: true });
});

/** Hundreds of processes that live for a moment: their collector needs no threads, and little to do. */
const cheap = ['--single-threaded-gc', '--max-semi-space-size=32'];

interface Ended {
  readonly folder: string;
  readonly signal: string | null;
  readonly out: string;
  readonly said: string;
}

/** Runs the victim in a folder of its own. `killAfterMs`: the parent kills it then, wherever it is. */
function start(name: string, when: string, at: number, where = work.memory, killAfterMs?: number): Promise<Ended> {
  const folder = mkdtempSync(join(where, `${when}-${at}-`));
  const child = spawn(process.execPath, [...cheap, victim, root, folder, name, when, String(at)], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: join(work.disk, 'compiled') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let said = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    said += d;
  });
  if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  return new Promise((resolve) => child.on('close', (_code, signal) => resolve({ folder, signal, out, said })));
}

/** Resumes what a killed process left, in this process, and compares with a run that nobody killed. */
async function resumeAndCompare(name: string, left: Ended, whole: History, wanted: string[]): Promise<void> {
  const before = executedIn(left.folder);
  await driveRecorded(root, left.folder, recordingOf(root, name));
  const history = await readHistory(left.folder);
  const keys = (h: History) => h.events.map((e) => e.key).join(' ');
  expect(keys(history)).toBe(keys(whole));
  expect(history.events).toEqual(whole.events);
  expect(history.steps).toEqual(whole.steps);
  expect(history.contents).toEqual(whole.contents);
  expect(history.sources).toEqual(whole.sources);
  expect([history.status, history.leases]).toEqual(['done', history.resumed > 0 ? 0 : history.leases]);
  expect(history.seqs).toEqual(history.seqs.map((_, i) => i + 1));
  // No step lost, and of what had begun only the last, open one may be done again.
  const again = executedIn(left.folder).slice(before.length);
  expect([...before, ...again].filter((p, i, all) => all.indexOf(p) === i)).toEqual(wanted);
  const repeated = again.filter((p) => before.includes(p));
  expect(before.slice(-1)).toEqual(expect.arrayContaining(repeated));
  const reopened = Object.entries(history.reopened);
  expect(reopened.length).toBeLessThanOrEqual(1);
  for (const [position, times] of reopened) {
    expect(times).toBe(2);
    if (repeated.length > 0) expect(repeated).toEqual([position]);
    // A paid request whose answer never came is booked as cost unknown, once; a job costs nothing.
    const kind = history.steps.find((s) => s.position === position)?.kind;
    expect(history.unanswered).toBe(kind === 'chat' ? 1 : 0);
  }
  if (reopened.length === 0) expect([repeated, history.unanswered]).toEqual([[], 0]);
  rmSync(left.folder, { recursive: true, force: true });
}

/** Runs `work` over items, `width` at a time; the resumes of this process go between the children. */
async function each<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const one = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: width }, one));
}

describe.each(['dot_product-fp32.json', 'debug-from-wrong.json'])('kill -9 in %s', (name) => {
  it('at every commit of the history, and before every end of a step: resume ends with the same history', async () => {
    const reference = await start(name, 'never', 0);
    expect([reference.signal, reference.said]).toEqual([null, '']);
    const commits = reference.out;
    const whole = await readHistory(reference.folder);
    const wanted = executedIn(reference.folder);
    expect(whole.status).toBe('done');
    expect([...commits].filter((c) => c === 's')).toHaveLength(whole.steps.length);
    // Every durable event and every step's begin and end is a commit of its own.
    expect(commits.length).toBeGreaterThanOrEqual(whole.events.length + 2 * whole.steps.length);
    // Before a commit the disk holds what it did after the one before; only where a step ends something happened outside in between.
    const points = [...commits].flatMap((kind, i) => [
      ...(kind === 's' ? [['before', i + 1] as const] : []),
      ['after', i + 1] as const,
    ]);
    await each(points, 2, async ([when, at]) => {
      const left = await start(name, when, at);
      expect([left.signal, left.said], `${when} commit ${at}`).toEqual(['SIGKILL', '']);
      await resumeAndCompare(name, left, whole, wanted);
    });
    console.log(
      `${name}: killed at ${points.length} points (${commits.length} commits, ${whole.events.length} events), all resumed`,
    );
  }, 300_000);
});

it('kill -9 from outside at moments of its own: resume ends with the same history', async () => {
  const name = 'debug-from-wrong.json';
  const began = performance.now();
  const reference = await start(name, 'never', 0, work.disk);
  const took = performance.now() - began;
  const whole = await readHistory(reference.folder);
  const moments = Array.from({ length: 8 }, (_, i) => (took * (i + 4)) / 12);
  let killed = 0;
  await each(moments, 2, async (ms) => {
    const left = await start(name, 'never', 0, work.disk, ms);
    if (left.signal === 'SIGKILL') killed++;
    await resumeAndCompare(name, left, whole, executedIn(reference.folder));
  });
  expect(killed).toBeGreaterThan(0);
}, 120_000);
