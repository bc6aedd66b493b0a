import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Evaluation, RunEvent } from '../../main/contract/index.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { Store } from '../../main/store/index.ts';
import { evaluation } from '../optimizer/support.ts';
import { config, newRun, tempFolder } from './samples.ts';

/** A history that the program wrote before versions had a table (format 1): one replay, its long contents beside it. */
function oldHistory(): string {
  const folder = tempFolder();
  execFileSync('tar', ['xzf', join(import.meta.dirname, '../fixtures/history-1.tgz'), '-C', folder]);
  return folder;
}

describe('a history of format 1', () => {
  it('is opened, its versions filled from the events, and a copy of it kept as it was', async () => {
    const folder = oldHistory();
    const store = await Store.open(folder);
    const [run] = await store.runs();
    const versions = await store.versions();
    expect(versions.map((v) => [v.round, v.attempt, v.outcome, v.verified, v.label, v.kind])).toEqual([
      [1, 1, 'accepted', true, 'r1.a1', 'replay'],
      [1, 0, 'wrong-result', false, 'r1.a0', 'replay'],
      [0, 0, 'valid', true, 'origin', 'replay'],
    ]);
    const [best, wrong, origin] = versions;
    expect(best?.score?.value).toBeCloseTo(40.42, 1);
    expect(best?.score?.lo).toBeLessThan(best?.score?.value ?? 0);
    expect(run?.score).toBeCloseTo(best?.score?.value ?? 0, 10);
    expect([best?.parent, wrong?.parent, origin?.parent]).toEqual([`${run?.id}:r1.a0`, `${run?.id}:origin`, null]);
    expect(best?.gpu).toContain('H200');
    expect(best?.registers).toBeGreaterThan(0);
    expect([wrong?.score, origin?.score]).toEqual([null, null]);
    const steps = await store.steps(run?.id ?? '');
    expect(steps.map((s) => s.state)).toEqual(steps.map(() => 'done'));
    // What models were asked was not kept then: said as such, not as empty.
    expect((await store.step(run?.id ?? '', 'r1.a1.coder')).request).toBeNull();
    await store.close();
    const backup = readdirSync(folder).find((n) => n.startsWith('history.db.backup-'));
    const before = await Connection.open(join(folder, backup ?? ''), { busyMs: 1000, existing: true });
    expect(await before.get('PRAGMA user_version')).toEqual({ user_version: 1 });
    await before.close();
    const again = await Store.open(folder);
    expect(await again.versions()).toEqual(versions);
    await again.close();
  });

  it('opens although a long content is missing: that version says so', async () => {
    const folder = oldHistory();
    rmSync(join(folder, 'content'), { recursive: true });
    const store = await Store.open(folder);
    const versions = await store.versions();
    expect(versions).toHaveLength(3);
    const lost = versions.filter((v) => v.outcome === null);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.every((v) => v.reason === 'Its evaluation is missing in the history.' && v.score === null)).toBe(true);
    await store.close();
  });
});

it('a history of format 3 is told again by its events: sanitized or not known, and what the user wrote stays', async () => {
  const folder = tempFolder();
  const store = await Store.open(folder);
  const driven = await store.begin(newRun());
  const why = 'compute-sanitizer was not found.';
  const told: Partial<Evaluation>[] = [
    { sanitized: { state: 'yes', why: '' } },
    { sanitized: { state: 'no', why }, reason: `R = 2x (not sanitized: ${why})` },
    { reason: 'R = 2x (1 of 20 sanitizer runs did not end in time)' },
    { reason: 'R = 2x' },
    { outcome: 'race', reason: 'racecheck' },
  ];
  for (const [attempt, more] of told.entries()) {
    await driven.log.event(`s${attempt}`, { type: 'attempt-started', round: 1, attempt });
    const e = { ...evaluation('accepted', 2), ...more };
    await driven.log.event(`e${attempt}`, { type: 'evaluated', round: 1, attempt, evaluation: e });
  }
  await driven.release();
  await store.editVersion(`${driven.id}:r1.a0`, { note: 'mine', pinned: true });
  const versions = await store.versions();
  await store.close();
  expect(versions.map((v) => v.sanitized).reverse()).toEqual([
    { state: 'yes', why: '' },
    { state: 'no', why },
    { state: 'partly', why: '1 of 20 sanitizer runs did not end in time' },
    null,
    null,
  ]);
  const db = await Connection.open(join(folder, 'history.db'), { busyMs: 1000, existing: true });
  await db.exec('ALTER TABLE versions DROP COLUMN sanitized; PRAGMA user_version = 3');
  await db.close();
  const again = await Store.open(folder);
  expect(await again.versions()).toEqual(versions);
  expect(versions.at(-1)).toMatchObject({ note: 'mine', pinned: true });
  await again.close();
});

describe('the list of versions', () => {
  it('gives 10,000 rows in at most 100 ms, and tells at once that it changed', async () => {
    const folder = tempFolder();
    const store = await Store.open(folder);
    const ids: string[] = [];
    for (let i = 0; i < 100; i++) {
      const driven = await store.begin(newRun());
      await driven.release();
      ids.push(driven.id);
    }
    const db = await Connection.open(join(folder, 'history.db'), { busyMs: 1000, existing: true });
    await db.run('BEGIN');
    const sql = `INSERT INTO versions (run, round, attempt, task, dtype, kind, label, outcome, reason, verified, score, score_lo,
      score_hi, score_level, p_min, bottleneck, launch_bound, max_ulp, registers, gpu, at, parent, note, rev)
      VALUES (?, ?, ?, 'dot_product', 'fp32', 'optimize', ?, 'accepted', ?, 1, 1.5, 1.4, 1.6, 0.99, 1.2, 'memory-bandwidth', 0, 2.5,
      32, 'NVIDIA H200', ?, ?, '', ?)`;
    const reason = 'R = 1.052x against the best, lower 99.67 % bound 1.028x > 1.01; P = 128.39x over origin';
    for (let i = 0; i < 10_000; i++) {
      const run = ids[i % 100] ?? '';
      const round = 1 + (Math.floor(i / 100) % 50);
      const attempt = Math.floor(i / 5000);
      await db.run(sql, [
        run,
        round,
        attempt,
        `r${round}.a${attempt}`,
        reason,
        new Date(i * 1000).toISOString(),
        `${run}:origin`,
        i,
      ]);
    }
    await db.run('COMMIT');
    await store.versions();
    const walls: number[] = [];
    const works: number[] = [];
    for (let i = 0; i < 24; i++) {
      const began = performance.now();
      const before = process.cpuUsage();
      expect(await store.versions()).toHaveLength(10_000);
      const { user, system } = process.cpuUsage(before);
      walls.push(performance.now() - began);
      works.push((user + system) / 1000);
    }
    const text = (times: number[]) => times.map((t) => t.toFixed(0)).join(', ');
    console.log(`10,000 versions listed: ${text(walls)} ms, of which processor ${text(works)} ms`);
    // Processor time, the best of many: how busy the machine is with other things is not ours.
    expect(Math.min(...works)).toBeLessThan(100);

    const marks = await store.marks();
    const version = await store.dataVersion();
    const id = `${ids[0]}:r1.a0`;
    await store.editVersion(id, { note: 'seen' });
    expect(await store.dataVersion()).not.toBe(version);
    const after = await store.marks();
    expect([after.runs, after.versions === marks.versions]).toEqual([marks.runs, false]);
    await store.editVersion(id, { deleted: true });
    expect(await store.versions()).toHaveLength(9999);
    expect((await store.versions(true)).map((v) => [v.id, v.note])).toEqual([[id, 'seen']]);
    await db.close();
    await store.close();
  });
});

it('a race or an impossible time has no score, although an older program kept one in its row', async () => {
  const folder = tempFolder();
  const store = await Store.open(folder);
  const driven = await store.begin(newRun());
  const outcomes = ['race', 'suspect', 'trade-off', 'not-faster', 'accepted'] as const;
  for (const [attempt, outcome] of outcomes.entries()) {
    await driven.log.event(`s${attempt}`, { type: 'attempt-started', round: 1, attempt });
    await driven.log.event(`e${attempt}`, { type: 'evaluated', round: 1, attempt, evaluation: evaluation(outcome, 2) });
  }
  await driven.release();
  const db = await Connection.open(join(folder, 'history.db'), { busyMs: 1000, existing: true });
  await db.run('UPDATE versions SET score = 9, score_lo = 8, score_hi = 10, score_level = 0.99, p_min = 7');
  await db.close();
  const rows = new Map((await store.versions()).map((v) => [v.outcome, [v.score?.value ?? null, v.pMin]]));
  expect(Object.fromEntries(rows)).toEqual({
    race: [null, null],
    suspect: [null, null],
    'trade-off': [9, 7],
    'not-faster': [9, 7],
    accepted: [9, 7],
  });
  await store.close();
});

describe('versions measured again on another machine', () => {
  const accepted = (round: number, score: number): RunEvent[] => [
    { type: 'attempt-started', round, attempt: 0 },
    { type: 'evaluated', round, attempt: 0, evaluation: evaluation('accepted', score) },
    { type: 'round-ended', round, accepted: true, outcome: 'accepted', score },
  ];
  const remeasured = (best: Evaluation, bestRound: number): RunEvent => ({
    type: 'remeasured',
    position: 'r3.planner',
    origin: { ...evaluation('valid', null), gpu: null },
    best: { round: 2, attempt: 0, evaluation: best },
    bestRound,
  });

  async function told(...more: RunEvent[]) {
    const store = await Store.open(tempFolder());
    const driven = await store.begin(newRun());
    const events: RunEvent[] = [
      { type: 'run-started', rootSeed: 'ab', config, originSource: 'o', programVersion: '0.1.0' },
      { type: 'baseline', evaluation: evaluation('valid', null) },
      ...accepted(1, 1.5),
      ...accepted(2, 1.8),
      ...more,
    ];
    for (const [i, event] of events.entries()) await driven.log.event(`e${i}`, event);
    await driven.release();
    const rows = new Map((await store.versions()).map((v) => [v.label, v]));
    const { score } = await store.find(driven.id);
    await store.close();
    return { rows, score };
  }

  it('a best that holds has the figures of this machine, in its row and for its run', async () => {
    const { rows, score } = await told(remeasured(evaluation('trade-off', 1.3), 2));
    expect(score).toBe(1.3);
    expect(rows.get('r2.a0')).toMatchObject({ outcome: 'accepted', score: { value: 1.3 } });
    expect(rows.get('r1.a0')).toMatchObject({ outcome: 'accepted', score: { value: 1.5 } });
    expect(rows.get('origin')?.gpu).not.toBe(rows.get('r1.a0')?.gpu);
  });

  it('one that does not hold is told so, its run has P = 1, and the next version is made from the origin', async () => {
    const wrong = evaluation('wrong-result', null, '3 bad');
    const next: RunEvent = { type: 'attempt-started', round: 3, attempt: 0, base: 'origin' };
    const { rows, score } = await told(remeasured(wrong, 0), next);
    expect(score).toBe(1);
    expect(rows.get('r2.a0')).toMatchObject({ outcome: 'wrong-result', reason: '3 bad', score: null, verified: false });
    expect(rows.get('r3.a0')?.parent).toMatch(/:origin$/);
  });

  it.each([
    ['r3.a0.coder', 0, 'origin'],
    ['r3.a0.coder', 2, 'r2.a0'],
    ['r3.a0.compiler', 0, 'r2.a0'],
  ])(
    'at %s, with the best of round %i from there on, the version begun before is made from %s',
    async (at, best, from) => {
      const begun: RunEvent = { type: 'attempt-started', round: 3, attempt: 0 };
      const measured = remeasured(evaluation(best === 0 ? 'wrong-result' : 'accepted', best === 0 ? null : 1.2), best);
      const { rows } = await told(begun, { ...measured, position: at } as RunEvent);
      expect(rows.get('r3.a0')?.parent).toMatch(new RegExp(`:${from}$`));
    },
  );

  it('told late, it leaves the score of a later best', async () => {
    const { score } = await told(...accepted(3, 2), remeasured(evaluation('wrong-result', null), 0));
    expect(score).toBe(2);
  });
});

describe('a version without an outcome', () => {
  it('is under way while its run is driven or waits, and not measured once that ended or was interrupted', async () => {
    const store = await Store.open(tempFolder());
    const driven = await store.begin(newRun());
    const start: RunEvent = { type: 'run-started', rootSeed: 'ab', config, originSource: 'o', programVersion: '0.1.0' };
    const found = async () => (await store.versions()).map((v) => [v.label, v.outcome, v.unmeasured]);
    const mark = async () => (await store.marks()).versions;
    await driven.log.event('e1', start);
    expect(await found()).toEqual([['origin', null, undefined]]);
    await driven.log.event('e2', { type: 'parked', waitingFor: 'bundle', path: 'p', how: 'h' });
    await driven.release();
    expect(await found()).toEqual([['origin', null, undefined]]);
    const again = await store.resume(await store.find(driven.id), null, false);
    const before = await mark();
    await again.log.event('e3', { type: 'run-ended', status: 'failed', error: null });
    expect(await found()).toEqual([['origin', null, true]]);
    // Whoever shows the list is told that it changed.
    expect(await mark()).not.toBe(before);
    await again.release();
    const third = await store.resume(await store.find(driven.id), null, false);
    expect(await found()).toEqual([['origin', null, undefined]]);
    await third.release();
    expect(await found()).toEqual([['origin', null, true]]);
    expect((await store.version(`${driven.id}:origin`)).unmeasured).toBe(true);
    await store.close();
  });
});
