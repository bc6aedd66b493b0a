import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type IdleGpu, whenIdle } from '../../main/app/idle.ts';
import type { AppEvent } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import { startTimeOf } from '../../main/base/proc.ts';
import {
  AppFailure,
  type Executor,
  err,
  type JobBundle,
  type JobProgress,
  type Result,
} from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { ContentFiles } from '../../main/store/content.ts';
import { openDatabase } from '../../main/store/db/open.ts';
import { Store } from '../../main/store/index.ts';
import { Lease } from '../../main/store/lease.ts';
import { RecentEvents } from '../../main/store/recent.ts';
import { prepareResume } from '../../main/store/resume.ts';
import { RunLogStore } from '../../main/store/runLog.ts';
import { TransientBus } from '../../main/store/transient.ts';
import { gpuUsers, parseUsers } from '../../main/toolchain/gpu-users.ts';
import { type GpuUser, thisMachine } from '../../main/toolchain/index.ts';
import type { ModelServer } from '../llm/server.ts';
import { jobRequest, newRun } from '../store/samples.ts';
import { machine, resultFor, root, startModel } from './lab.ts';

vi.setConfig({ testTimeout: 180_000 });

let server: ModelServer;
beforeAll(async () => {
  server = await startModel();
});
afterAll(() => server.close());

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-idle-'));
  process.env.CUDAMASTER_HOME = home;
  const mine = home;
  onTestFinished(() => rmSync(mine, { recursive: true, force: true }));
});

const strangers: GpuUser[] = [{ pid: 4711, name: '/usr/bin/python3' }];

/** An engine whose GPU is used by strangers as `users` says. */
function engine(users: () => readonly GpuUser[] | null, limitMs = 60_000) {
  const executed: string[] = [];
  const executor: Executor = {
    name: 'local',
    execute: async (bundle, { position }) => {
      executed.push(position);
      return { kind: 'done', result: resultFor(bundle) };
    },
  };
  const gpu: IdleGpu = { limitMs, everyMs: 5, users: async () => users() };
  const { services } = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor, gpu }),
  });
  const events: AppEvent[] = [];
  const ctx = { emit: (e: AppEvent) => void events.push(e) };
  const waits = () =>
    events.flatMap((e) =>
      e.type === 'transient' && e.event.type === 'progress' && e.event.step === 'idle-gpu' ? [e.event.note] : [],
    );
  return { services, executed, ctx, waits };
}

function got<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

/** A run that was paused after its baseline. A new run asks nobody whether the GPU is idle. */
async function pausedRun(): Promise<string> {
  const lab = engine(() => {
    throw new Error('a new run must not wait');
  });
  const shouldPause = () => lab.executed.length > 0;
  const { baseUrl } = server;
  const params = {
    task: 'dot_product',
    dtype: 'fp32',
    executor: 'local',
    provider: 'compatible',
    model: 'm',
    baseUrl,
    rounds: 1,
  } as const;
  const report = got(await lab.services.optimize(params, { ...lab.ctx, shouldPause }));
  expect(report.status).toBe('paused');
  return report.id;
}

describe('a resumed run', () => {
  it('waits until nobody else computes on the GPU, says for whom, and goes on', async () => {
    const run = await pausedRun();
    let looks = 0;
    const lab = engine(() => (++looks <= 3 ? strangers : []));
    const report = got(await lab.services.resume({ run }, lab.ctx));
    expect([report.status, lab.executed]).toEqual(['done', ['r1.a0.eval', 'r1.a1.eval']]);
    // Before the first job alone: who comes later voids samples.
    expect(looks).toBe(4);
    expect(lab.waits()[0]).toMatch(/^python3 \(process 4711\) uses the GPU; 0 s of at most 60 s$/);
  });

  it('does not wait where nobody can say who uses the GPU', async () => {
    const run = await pausedRun();
    const lab = engine(() => null);
    expect(got(await lab.services.resume({ run }, lab.ctx)).status).toBe('done');
    expect(lab.waits()).toEqual([]);
  });

  it('can be cancelled while it waits', async () => {
    const run = await pausedRun();
    const cancel = new AbortController();
    let looks = 0;
    const lab = engine(() => {
      if (++looks === 3) cancel.abort();
      return strangers;
    });
    const report = got(await lab.services.resume({ run }, { ...lab.ctx, signal: cancel.signal }));
    expect([report.status, report.error?.code, lab.executed]).toEqual(['cancelled', 'cancelled', []]);
  });

  it('stops with the cause when that lasts too long, and goes on later', async () => {
    const run = await pausedRun();
    const busy = engine(() => strangers, 20);
    const report = got(await busy.services.resume({ run }, busy.ctx));
    expect([report.status, report.error?.code, busy.executed]).toEqual(['failed', 'env.gpu-busy', []]);
    expect(report.error?.message).toContain('python3 (process 4711) uses the GPU');
    expect(report.error?.remedy).toContain(`cudamaster resume ${run}`);
    const idle = engine(() => []);
    expect(got(await idle.services.resume({ run }, idle.ctx)).status).toBe('done');
  });
});

/** A process group as a drive leaves it behind. */
function sleeper(): ChildProcess & { readonly pid: number } {
  const child = spawn('/bin/sleep', ['300'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child as ChildProcess & { readonly pid: number };
}

describe('what a former drive left behind and could not be ended', () => {
  it('stays noted until a resume finds it gone', async () => {
    const store = await Store.open(home);
    const { id, log, release } = await store.begin(newRun());
    const { pid } = sleeper();
    const startTime = startTimeOf(pid) ?? '';
    log.processStarted('r0.baseline', pid, startTime);
    await log.event('e', { type: 'round-started', round: 1 });
    await release();
    const run = await store.find(id);
    await store.close();
    const { db } = await openDatabase(join(home, 'history.db'));
    const content = new ContentFiles(join(home, 'content'));
    const resume = async (end?: () => Promise<'stuck'>) => {
      const lease = await Lease.acquire(db, id);
      const report = await prepareResume({ db, content, lease, end }, run, null, false);
      await lease.release();
      return report;
    };
    expect(await resume(async () => 'stuck')).toMatchObject({ killed: 0, left: [{ pid, startTime }] });
    expect(await resume()).toMatchObject({ killed: 1, left: [] });
    expect(await resume()).toMatchObject({ killed: 0, left: [] });
    await db.close();
  });

  it('stays noted when the step it was started for, waiting for it, fails', async () => {
    const store = await Store.open(home);
    const { id, log, release } = await store.begin(newRun());
    const { pid } = sleeper();
    log.processStarted('r1.a0.eval', pid, startTimeOf(pid) ?? '');
    await log.event('e', { type: 'round-started', round: 1 });
    await release();
    const run = await store.find(id);
    await store.close();
    const { db } = await openDatabase(join(home, 'history.db'));
    const content = new ContentFiles(join(home, 'content'));
    const lease = await Lease.acquire(db, id);
    await prepareResume({ db, content, lease, end: async () => 'stuck' }, run, null, false);
    const parts = { db, content, lease, bus: new TransientBus(), recent: new RecentEvents() };
    const busy = async () => {
      throw new AppFailure(err('env.gpu-busy', 'The GPU stays busy.').error);
    };
    await expect(new RunLogStore(parts).step('r1.a0.eval', jobRequest, busy)).rejects.toThrow();
    expect((await prepareResume({ db, content, lease }, run, null, false)).killed).toBe(1);
    await lease.release();
    await db.close();
  });

  it('is waited for before the first job', async () => {
    const child = sleeper();
    const left = [{ pid: child.pid, startTime: startTimeOf(child.pid) ?? '' }];
    const executed: string[] = [];
    const notes: JobProgress[] = [];
    const inner: Executor = {
      name: 'local',
      execute: async (_bundle, { position }) => {
        executed.push(position);
        return { kind: 'parked', waiting: { for: 'bundle', path: '', how: '' } };
      },
    };
    const executor = whenIdle(inner, { limitMs: 120_000, everyMs: 5, users: async () => [] }, left, 'run');
    const options = { rootSeed: 'ab', position: 'r1.a0.eval', onProgress: (p: JobProgress) => void notes.push(p) };
    const done = executor.execute({} as JobBundle, options);
    while (notes.length < 3) await pause(5);
    expect(executed).toEqual([]);
    expect(notes[0]?.note).toContain(`process group ${child.pid} of this run's former drive does not end`);
    child.kill('SIGKILL');
    await done;
    expect(executed).toEqual(['r1.a0.eval']);
  });
});

describe('who computes on a GPU', () => {
  it('is read from what nvidia-smi lists for it', () => {
    const text = [
      '4711, GPU-aaaa, /usr/bin/python3',
      '4712, GPU-bbbb, other',
      '4713, GPU-aaaa, name, with comma',
      'No running processes found',
      '',
    ].join('\n');
    expect(parseUsers(text, 'GPU-aaaa')).toEqual([
      { pid: 4711, name: '/usr/bin/python3' },
      { pid: 4713, name: 'name, with comma' },
    ]);
  });

  it('is asked of the nvidia-smi of this machine; one that fails, and a MIG slice, leave it open', async () => {
    const bin = join(home, 'bin');
    mkdirSync(bin);
    const smi = (script: string) => {
      writeFileSync(join(bin, 'nvidia-smi'), `#!/bin/sh\n${script}\n`);
      chmodSync(join(bin, 'nvidia-smi'), 0o755);
      return thisMachine({ PATH: `${bin}:/usr/bin:/bin`, HOME: home });
    };
    const list = smi('case "$1" in --query-compute-apps=*) echo "12, GPU-a, /x/app" ;; *) exit 1 ;; esac');
    expect(await gpuUsers(list, 'GPU-a')).toEqual([{ pid: 12, name: '/x/app' }]);
    expect(await gpuUsers(list, 'GPU-b')).toEqual([]);
    expect(await gpuUsers(list, 'MIG-a')).toBeNull();
    expect(await gpuUsers(smi('exit 9'), 'GPU-a')).toBeNull();
  });
});
