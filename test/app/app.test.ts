import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AppEvent, RunReport } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import { startTimeOf } from '../../main/base/proc.ts';
import {
  type Executor,
  type JobBundle,
  type Machine,
  type Result,
  recordingSchema,
  runSummarySchema,
  type VersionVerdict,
} from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { Store } from '../../main/store/index.ts';
import type { ModelServer } from '../llm/server.ts';
import { candidate, machine, resultFor, root, startModel } from './lab.ts';

// Engine processes are started and killed: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 180_000 });

let server: ModelServer;
let slow: ModelServer;
beforeAll(async () => {
  server = await startModel();
  slow = await startModel(400);
});
afterAll(async () => {
  await server.close();
  await slow.close();
});

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-app-'));
  process.env.CUDAMASTER_HOME = home;
  const mine = home;
  onTestFinished(() => rmSync(mine, { recursive: true, force: true }));
});

/**
 * The engine with the laboratory in the place of the GPU. `machines`: the machine of each job, in order; the last one stays. `now`: what
 * the candidate of a job turns out to be ("wrong", "1.2"), whatever it says of itself.
 */
function engine(options: { root?: string; machines?: Machine[]; now?: (position: string) => string | null } = {}) {
  const executed: string[] = [];
  const machines = [...(options.machines ?? [machine])];
  const executor: Executor = {
    name: 'local',
    execute: async (bundle, { position }) => {
      executed.push(position);
      const where = machines.length > 1 ? machines.shift() : machines[0];
      const lab = options.now?.(position) ?? null;
      return { kind: 'done', result: resultFor(lab === null ? bundle : asLab(bundle, lab), where) };
    },
  };
  const { services } = createHost({
    root: options.root ?? root,
    openPlace: async () => ({ environment: environmentOf(machines[0] ?? machine), executor: () => executor }),
  });
  const events: AppEvent[] = [];
  return { services, executed, events, ctx: { emit: (e: AppEvent) => events.push(e) } };
}

function asLab(bundle: JobBundle, lab: string): JobBundle {
  const of = bundle.job.files['candidate.cu'];
  if (of === undefined) return bundle;
  return { ...bundle, contents: new Map([...bundle.contents, [of, candidate(lab)]]) };
}

const wanted = (baseUrl: string) =>
  ({ task: 'dot_product', dtype: 'fp32', executor: 'local', provider: 'compatible', model: 'm', baseUrl }) as const;

function got<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** Events without what must differ: order, time, seeds of one run. */
async function course(report: RunReport): Promise<unknown[]> {
  const store = await Store.open(join(home, 'data'));
  const events = await store.events(report.id);
  await store.close();
  return events
    .filter((e) => !(e.type === 'usage' && e.promptTokens === null) && e.type !== 'resumed')
    .map((e) => {
      if (e.type === 'evaluated') return [e.type, e.round, e.attempt, e.evaluation.outcome];
      if (e.type === 'baseline') return [e.type, e.evaluation.outcome];
      if (e.type === 'round-ended') return [e.type, e.round, e.accepted];
      if (e.type === 'run-started') return [e.type, e.config];
      return { ...e, seq: 0, at: '' };
    });
}

/** A driver process: see driver.ts. */
function drive(op: 'optimize' | 'resume', params: object, hangAt = '') {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'driver.ts'), op, JSON.stringify(params), hangAt], {
    env: { ...process.env, CUDAMASTER_HOME: home },
  });
  let out = '';
  let errors = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    errors += d;
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let over = false;
  const ended = new Promise<number | null>((r) =>
    child.on('close', (code) => {
      over = true;
      r(code);
    }),
  );
  // As long as the process may still say it: how long that takes is the machine's affair, and the test's limit bounds it.
  const line = async (start: string): Promise<string> => {
    for (;;) {
      const last = over;
      const found = out
        .split('\n')
        .slice(0, -1)
        .find((l) => l.startsWith(start));
      if (found) return found.slice(start.length);
      if (last) throw new Error(`no "${start}": ${out} ${errors}`);
      await pause(25);
    }
  };
  const executed = () =>
    out
      .split('\n')
      .filter((l) => l.startsWith('execute '))
      .map((l) => l.slice(8));
  const report = async (): Promise<RunReport> => got<RunReport>(JSON.parse(await line('result ')));
  return { child: child as ChildProcess, ended, line, executed, report };
}

describe('a run', () => {
  it('goes through the real loop, is kept, recorded and replayed with the same outcome', async () => {
    const lab = engine();
    const report = got(await lab.services.optimize(wanted(server.baseUrl), lab.ctx));
    expect(report.status).toBe('done');
    expect(runSummarySchema.parse(report.summary)).toEqual(report.summary);
    expect(report.summary.rounds.map((r) => [r.attempts.map((a) => a.outcome), r.accepted])).toEqual([
      [['wrong-result', 'accepted'], true],
      [['not-faster'], false],
      [['accepted'], true],
    ]);
    expect(report.summary.costUsd).toBeNull();
    expect(readFileSync(report.files.best ?? '', 'utf8')).toContain('lab: 2.0');
    expect(existsSync(join(report.files.folder, 'r1.a0.cu'))).toBe(true);

    const file = join(home, 'recording.json');
    got(await lab.services.record({ run: 'last', out: file }, lab.ctx));
    const recording = recordingSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(recording.steps).toHaveLength(17);
    const before = lab.executed.length;
    const again = got(await lab.services.replay({ file, strict: true }, lab.ctx));
    expect(again.summary).toEqual({ ...report.summary, run: again.id });
    expect(lab.executed).toHaveLength(before);
    const left = (await course(report)).slice(1);
    expect((await course(again)).slice(1)).toEqual(left);
    const shown = got(await lab.services.show({ run: report.id }, lab.ctx));
    expect(shown.summary).toEqual(report.summary);
    expect(got(await lab.services.runs({}, lab.ctx)).map((r) => [r.id, r.kind, r.status])).toEqual([
      [again.id, 'replay', 'done'],
      [report.id, 'optimize', 'done'],
    ]);

    // What the program asks differently now is told, or fails when nothing may differ.
    const other = recording.steps.map((s) =>
      s.position === 'r1.a0.coder' ? { ...s, requestHash: '0'.repeat(64) } : s,
    );
    writeFileSync(file, JSON.stringify({ ...recording, steps: other }));
    const changed = got(await lab.services.replay({ file }, lab.ctx));
    expect(changed.status).toBe('done');
    expect(changed.state.changes.map((c) => c.position)).toEqual(['r1.a0.coder']);
    const strict = got(await lab.services.replay({ file, strict: true }, lab.ctx));
    expect([strict.status, strict.error?.code]).toEqual(['failed', 'replay.diverged']);

    // The requests are those of then, but rules or statistics find something else: told as well, although no later request quotes it.
    const { verdicts = [] } = recording;
    expect(verdicts.map((v) => v.version)).toEqual(['r0', 'r1.a0', 'r1.a1', 'r2.a0', 'r3.a0']);
    const last = verdicts.at(-1) as VersionVerdict;
    const forged = { ...last, outcome: 'suspect' as const, score: { value: 9, lo: 8, hi: 10 } };
    writeFileSync(file, JSON.stringify({ ...recording, verdicts: [...verdicts.slice(0, -1), forged] }));
    const found = got(await lab.services.replay({ file }, lab.ctx));
    expect([found.status, found.state.changes]).toEqual([
      'done',
      [
        {
          position: 'r3.a0.verdict',
          what: expect.stringMatching(/recorded was "suspect"; P is .* recorded was 9\.0000 \[/),
        },
      ],
    ]);
    const held = got(await lab.services.replay({ file, strict: true }, lab.ctx));
    expect([held.status, held.error?.code, held.error?.message]).toEqual([
      'failed',
      'replay.diverged',
      expect.stringContaining('At r3.a0 the verdict is'),
    ]);
  });

  it('plays the shipped demo in a folder of its own', async () => {
    const lab = engine();
    got(await lab.services.optimize(wanted(server.baseUrl), lab.ctx));
    const fake = join(home, 'root');
    mkdirSync(join(fake, 'test', 'recordings'), { recursive: true });
    for (const name of ['kernels', 'prompts']) symlinkSync(join(root, name), join(fake, name));
    cpSync(join(root, 'package.json'), join(fake, 'package.json'));
    got(await lab.services.record({ run: 'last', out: join(fake, 'test/recordings/demo.json') }, lab.ctx));
    writeFileSync(join(fake, 'test/recordings/index.json'), JSON.stringify({ version: 1, demo: 'demo.json' }));
    delete process.env.CUDAMASTER_HOME;
    const began = performance.now();
    const shown = engine({ root: fake });
    const report = got(await shown.services.demo({}, shown.ctx));
    expect(performance.now() - began).toBeLessThan(20_000);
    expect([report.kind, report.status, report.summary.best.verified]).toEqual(['demo', 'done', true]);
    expect(report.files.history.startsWith(home)).toBe(false);
    expect(shown.executed).toEqual([]);
    rmSync(join(report.files.history, '..'), { recursive: true });
  });

  it('is measured again before the next step when jobs come back from another machine', async () => {
    const updated = { ...machine, driver: '581.0' };
    const lab = engine({ machines: [machine, machine, updated] });
    const report = got(await lab.services.optimize(wanted(server.baseUrl), lab.ctx));
    expect(report.status).toBe('done');
    expect(lab.executed).toEqual([
      'r0.baseline',
      'r1.a0.eval',
      'r1.a1.eval',
      'r2.planner.remeasure.origin',
      'r2.planner.remeasure.best',
      'r2.a0.eval',
      'r3.a0.eval',
    ]);
    const file = join(home, 'moved.json');
    got(await lab.services.record({ run: report.id, out: file }, lab.ctx));
    const again = got(await lab.services.replay({ file, strict: true }, lab.ctx));
    expect(again.summary).toEqual({ ...report.summary, run: again.id });
  });

  it('that goes on on another machine tells what its best is there: summary, list, history, files and export', async () => {
    const first = engine();
    const shouldPause = () => first.executed.includes('r1.a1.eval');
    const params = { ...wanted(server.baseUrl), rounds: 2, debugAttempts: 1 };
    const paused = got(await first.services.optimize(params, { ...first.ctx, shouldPause }));
    expect([paused.status, paused.summary.best.score?.toFixed(1)]).toEqual(['paused', '1.5']);
    expect(existsSync(paused.files.best ?? '')).toBe(true);

    const other: Machine = { ...machine, gpu: { name: 'Other GPU', uuid: 'GPU-other', cc: '8.9' } };
    const lab = engine({ machines: [other], now: () => 'wrong' });
    const report = got(await lab.services.resume({ run: paused.id }, lab.ctx));
    expect(report.status).toBe('done');
    expect(lab.executed.slice(0, 3)).toEqual([
      'r2.planner.remeasure.origin',
      'r2.planner.remeasure.best',
      'r2.a0.eval',
    ]);
    expect([report.summary.best.score, report.files.best]).toEqual([1, null]);
    expect(existsSync(join(report.files.folder, 'best.cu'))).toBe(false);
    expect(report.state.baseline?.machine?.gpu?.name).toBe('Other GPU');
    expect(got(await lab.services.runs({}, lab.ctx))[0]?.score).toBe(1);
    const store = await Store.open(join(home, 'data'));
    const rows = await store.versions();
    await store.close();
    expect(rows.map((v) => [v.label, v.outcome, v.parent?.split(':')[1] ?? null])).toEqual([
      ['r2.a1', 'wrong-result', 'r2.a0'],
      ['r2.a0', 'wrong-result', 'origin'],
      ['r1.a1', 'wrong-result', 'r1.a0'],
      ['r1.a0', 'wrong-result', 'origin'],
      ['origin', 'valid', null],
    ]);
    const out = join(home, 'best.zip');
    const refused = await lab.services.exportVersion({ version: report.id, out }, lab.ctx);
    expect(refused.ok ? '' : refused.error.code).toBe('candidate.not-accepted');
  });

  it('stops at a token limit, and goes on when it is raised', async () => {
    const lab = engine();
    const first = got(await lab.services.optimize({ ...wanted(server.baseUrl), maxTokens: 3000 }, lab.ctx));
    expect([first.status, first.error?.code]).toEqual(['paused', 'limit.tokens']);
    const second = got(await lab.services.resume({ run: first.id, maxTokens: 1_000_000 }, lab.ctx));
    expect(second.status).toBe('done');
    expect(new Set(lab.executed).size).toBe(lab.executed.length);
  });

  it('keeps no key: not in the history, files, recording or what children see', async () => {
    const key = 'cm-planted-key-0123456789';
    process.env.CM_TEST_API_KEY = key;
    onTestFinished(() => void delete process.env.CM_TEST_API_KEY);
    const lab = engine();
    const params = { ...wanted(server.baseUrl), keyEnv: 'CM_TEST_API_KEY', notes: `my key is ${key}`, rounds: 1 };
    const report = got(await lab.services.optimize(params, lab.ctx));
    expect(report.status).toBe('done');
    expect(server.seen.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    got(await lab.services.record({ run: report.id, out: join(home, 'r.json') }, lab.ctx));
    const { execFileSync } = await import('node:child_process');
    const found = execFileSync('sh', ['-c', 'grep -rlaF -- "$1" "$2" || true', 'sh', key, home], { encoding: 'utf8' });
    expect(found).toBe('');
    expect(JSON.stringify(lab.events)).not.toContain(key);
  });
});

describe('an evaluation', () => {
  it('is one job, kept like a run, and shown', async () => {
    const lab = engine();
    const source = join(home, 'mine.cu');
    writeFileSync(source, candidate('1.5'));
    const params = { kind: 'evaluate', task: 'dot_product', dtype: 'fp32', source, executor: 'local' } as const;
    const report = got(await lab.services.evaluate(params, lab.ctx));
    expect(report.evaluation?.outcome).toBe('accepted');
    expect(report.summary.best.score).toBeCloseTo(1.5, 1);
    expect(lab.executed).toEqual(['r1.a0.eval']);
    const shown = got(await lab.services.show({ run: report.id }, lab.ctx));
    expect(shown.summary.rounds[0]?.scheme).toBe('mine.cu');

    writeFileSync(source, '#include <cstdlib>\nint main() { system("ls"); }\n');
    const bad = got(await lab.services.evaluate(params, lab.ctx));
    expect(bad.evaluation?.outcome).toBe('screen-rejected');
    expect(lab.executed).toHaveLength(1);

    // Without extern "C", and nothing else amiss: it is added, told, and kept with the version.
    writeFileSync(source, candidate('1.5').replace('extern "C" ', ''));
    const bare = got(await lab.services.evaluate(params, lab.ctx));
    expect(bare.evaluation?.outcome).toBe('accepted');
    expect(bare.state.rounds[0]?.attempts[0]?.source).toBe(candidate('1.5'));
    expect(JSON.stringify(lab.events)).toContain('was added to the wrapper');
    const flags = await lab.services.evaluate({ ...params, compileArgs: ['-I/etc'] }, lab.ctx);
    expect(flags.ok ? '' : flags.error.code).toBe('usage');
    const profile = got(
      await lab.services.evaluate({ kind: 'profile', task: 'dot_product', dtype: 'bf16', executor: 'local' }, lab.ctx),
    );
    expect(profile.evaluation?.profile?.status).toBe('unavailable');
  });
});

describe('a crash', () => {
  it.each([
    ['in a job', 'r1.a1.eval'],
    ['in the first job', 'r0.baseline'],
  ])('%s: kill -9, resume, and only that step is done again', async (_where, at) => {
    const whole = engine();
    const reference = got(await whole.services.optimize(wanted(server.baseUrl), whole.ctx));
    const first = drive('optimize', wanted(server.baseUrl), at);
    const run = await first.line('run ');
    const child = Number(await first.line('child '));
    const refused = drive('resume', { run });
    expect(JSON.parse(await refused.line('result ')).error.code).toBe('store.lease');
    first.child.kill('SIGKILL');
    await first.ended;
    expect(got(await whole.services.runs({}, whole.ctx))[0]?.status).toBe('interrupted');

    const second = drive('resume', { run });
    const report = await second.report();
    expect(report.status).toBe('done');
    expect(startTimeOf(child)).toBeNull(); // a zombie that nobody reaped yet counts as gone
    const jobs = [...first.executed(), ...second.executed()];
    expect(jobs.filter((j) => j === at)).toHaveLength(2);
    expect(new Set(jobs).size).toBe(jobs.length - 1);
    expect(await course(report)).toEqual(await course(reference));
  });

  it('while a model is asked: its cost is booked as unknown and the request sent once more', async () => {
    const asked = slow.seen.length;
    const first = drive('optimize', wanted(slow.baseUrl));
    const run = await first.line('run ');
    await first.line('execute r0.baseline');
    while (slow.seen.filter((s) => s.method === 'POST').length < 2) await pause(10);
    first.child.kill('SIGKILL');
    await first.ended;
    const lab = engine();
    const report = got(await lab.services.resume({ run }, lab.ctx));
    expect(report.status).toBe('done');
    expect(report.state.usage.unknownTokens).toBe(1);
    expect(report.summary.tokens.prompt).toBeNull();
    expect(report.state.usage.replies).toBe(13);
    expect(slow.seen.slice(asked).filter((s) => s.method === 'POST')).toHaveLength(13);
    expect(lab.executed).not.toContain('r0.baseline');
  });

  it('cancelling ends children at once, keeps what was reached, and can be resumed', async () => {
    const first = drive('optimize', wanted(server.baseUrl), 'r1.a0.eval');
    const run = await first.line('run ');
    const child = Number(await first.line('child '));
    first.child.kill('SIGTERM');
    const report = await first.report();
    await first.ended;
    expect([report.status, report.error?.code]).toEqual(['cancelled', 'cancelled']);
    expect(startTimeOf(child)).toBeNull(); // a zombie that nobody reaped yet counts as gone
    const lab = engine();
    expect(got(await lab.services.resume({ run }, lab.ctx)).status).toBe('done');
    expect(lab.executed[0]).toBe('r1.a0.eval');
  });
});
