/** Reports about Nsight Compute, met inside a run: profiling is an extra, so the run goes on with timing and says why there is no profile. */
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { profileLines } from '../../main/cli/figures.ts';
import type { Profile, ProfilePlan } from '../../main/contract/index.ts';
import { busyReason, counterHolders } from '../../main/jobs/session/counter-holders.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { verdict } from '../../main/profile/table2.ts';
import { doctor } from '../../main/toolchain/doctor.ts';
import { counterPermission } from '../../main/toolchain/ncu.ts';
import { GEMM, fakeNcu as worldNcu } from '../session/ncu-world.ts';
import {
  context,
  tools as noTools,
  problem,
  programs,
  scratch,
  session,
  fakes as sessionFakes,
} from '../session/support.ts';
import { describedMachine, readDescribed } from '../toolchain/described.ts';
import { askedToDebug, optimizeWith, tempFolder, tool } from './engine.ts';

/**
 * An ncu that says `text` into its log file (or on stderr when it was given none) and ends with `exit`. As the real one it starts the target
 * first, if `target`: the program goes on, and may end well.
 */
const fakeNcu = (dir: string, text: string, { exit = 0, target = true, before = '' } = {}): string =>
  tool(
    dir,
    'ncu',
    `#!${process.execPath}
const fs = require('node:fs'); const cp = require('node:child_process');
const args = process.argv.slice(2);
fs.appendFileSync(${JSON.stringify(join(dir, 'starts'))}, JSON.stringify({ args, tmp: process.env.TMPDIR }) + '\\n');
${before}
const at = args.indexOf('./runner');
if (args.includes('--import')) { console.log('==ERROR== Failed to open file'); process.exit(1); }
const log = args.includes('--log-file') ? args[args.indexOf('--log-file') + 1] : null;
const done = () => { const text = ${JSON.stringify(`${text}\n`)}; if (log) fs.writeFileSync(log, text); else process.stderr.write(text); process.exit(${exit}); };
if (at < 0 || !${target}) done();
else cp.spawn(args[at], args.slice(at + 1), { stdio: 'inherit' }).on('exit', done);`,
  );

const starts = (dir: string): { args: string[]; tmp: string }[] =>
  existsSync(join(dir, 'starts'))
    ? readFileSync(join(dir, 'starts'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : [];

const profilePlan: ProfilePlan = {
  mode: 'profile',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  problem: problem('large/0'),
  metrics: ['gpu__time_duration.sum'],
  sections: [],
  source: false,
};

/** A whole run with such an ncu: it ends well, with figures, and every profile says why it is none. Gives back that reason. */
async function runsWithoutProfile(ncu: string | null): Promise<string> {
  const ran = await optimizeWith({ ncu });
  expect([ran.report.status, ran.exitCode]).toEqual(['done', 0]);
  expect(ran.report.summary.rounds[0]?.accepted).toBe(true);
  expect(askedToDebug(ran)).toEqual([]);
  const profiles = ran.events.flatMap((e): (Profile | null)[] =>
    e.type === 'baseline' || e.type === 'evaluated' ? [e.evaluation.profile] : [],
  );
  expect(profiles.length).toBeGreaterThan(1);
  const reasons = profiles.map((p) => {
    expect(p?.status).toBe('unavailable');
    expect(p?.verdict).toBeNull();
    return `${p?.reason} ${p?.remedy ?? ''}`;
  });
  // No metric is made up for the Planner: it is told that there is no profile.
  const planner = ran.prompts.findLast((p) => p.includes('You plan the optimization')) ?? '';
  expect(planner).toMatch(/not available|no profile/i);
  return reasons[0] ?? '';
}

describe('ncu that cannot profile', () => {
  it('B09: a wrapper that finds no nsight-compute folder: compiling and timing go on', async () => {
    const dir = tempFolder();
    const text =
      'ERROR : nsight-compute directory is not found under /x/../ or /opt/nvidia. Nsight Compute is not installed on your system.';
    expect(await runsWithoutProfile(fakeNcu(dir, text, { exit: 1, target: false }))).toContain('only the wrapper');
    expect(await runsWithoutProfile(null)).toContain('Nsight Compute (ncu) was not found');
  });

  it('B18: ERR_NVGPUCTRPERM is recognised by its text though ncu and target end well, and the remedy is named', async () => {
    const text =
      '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.';
    const told = await runsWithoutProfile(fakeNcu(tempFolder(), text));
    expect(told).toContain('may not read the GPU performance counters');
    expect(told).toContain('NVreg_RestrictProfilingToAdminUsers=0');
    expect(told).toContain('CAP_SYS_ADMIN');
  });

  it('B19: "No kernels were profiled" is never zeros; child processes are looked at', async () => {
    const dir = tempFolder();
    const told = await runsWithoutProfile(fakeNcu(dir, '==WARNING== No kernels were profiled.'));
    expect(told).toContain('saw no kernel');
    for (const { args } of starts(dir))
      if (args.includes('./runner')) expect(args.join(' ')).toContain('--target-processes all');
  });

  it.each([
    'Cuda driver is not compatible with Nsight Compute.',
    'Failed to prepare kernel for profiling',
    'Unknown Error on device 0.',
  ])('B20: %s', async (text) => {
    const told = await runsWithoutProfile(fakeNcu(tempFolder(), `==ERROR== ${text}`, { exit: 1 }));
    expect(told).toContain('does not fit the driver or the GPU');
    for (const version of ['ncu 2025.3.1', 'driver 580.1', 'NVIDIA H200']) expect(told).toContain(version);
  });

  it('B20: another installed ncu is tried before giving up', async () => {
    const old = tempFolder();
    const other = tempFolder();
    const first = fakeNcu(old, '==ERROR== Cuda driver is not compatible with Nsight Compute.', { exit: 1 });
    const second = fakeNcu(other, '==WARNING== No kernels were profiled.');
    const ran = await optimizeWith({ ncu: first, otherNcus: [{ path: second, version: '2024.1' }] });
    expect(ran.exitCode).toBe(0);
    expect(starts(other).length).toBeGreaterThan(0);
    const baseline = ran.events.find((e) => e.type === 'baseline');
    expect(baseline?.type === 'baseline' && baseline.evaluation.profile?.reason).toContain('saw no kernel');
  });

  const BUSY =
    '==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.';

  /** A program of this name that waits until the test ends, a secret among its arguments and in its environment. */
  async function running(name: string): Promise<number> {
    const path = join(tempFolder(), name);
    copyFileSync('/bin/sleep', path);
    chmodSync(path, 0o755);
    const child = spawn(path, ['600.4321'], { stdio: 'ignore', env: { SECRET: 'cm-planted' } });
    onTestFinished(() => void child.kill('SIGKILL'));
    await new Promise((done, failed) => child.on('spawn', done).on('error', failed));
    return child.pid as number;
  }

  it('B21: counters held by another tool: tried again for a bounded time, the likely holder is looked up and named', async () => {
    const dir = tempFolder();
    const pid = await running('nv-hostengine');
    const ran = await optimizeWith({ ncu: fakeNcu(dir, BUSY, { exit: 1 }) });
    const baseline = ran.events.find((e) => e.type === 'baseline');
    const profile = baseline?.type === 'baseline' ? baseline.evaluation.profile : null;
    expect([profile?.status, ran.exitCode]).toEqual(['unavailable', 0]);
    expect(`${profile?.reason} ${profile?.remedy}`).toMatch(
      /Another tool holds.*nv-hostengine.*dcgmi profile --pause/s,
    );
    expect(profile?.remedy).toContain(`nv-hostengine (process ${pid}, `);
    expect(starts(dir).filter((s) => s.args.includes('./runner'))).toHaveLength(2 * 3);
    expect(askedToDebug(ran)).toEqual([]);
    // Nothing else of that process is told, and no model hears of it at all.
    expect(JSON.stringify(ran.events)).not.toMatch(/600\.4321|cm-planted/);
    for (const prompt of ran.prompts) expect(prompt).not.toMatch(/nv-hostengine|process \d+/);
  }, 60_000);

  it('B21: each try is told as progress with its holder, and can be cancelled', async () => {
    using at = scratch();
    sessionFakes(at);
    const pid = await running('dcgm-exporter');
    const ended = new AbortController();
    const notes: string[] = [];
    const ncu = fakeNcu(at.path, BUSY, { exit: 1 });
    const ctx = context(at, { tools: { ...noTools, ncu }, signal: ended.signal });
    const progress = (note: string): void => {
      notes.push(note);
      if (note.includes('trying again')) ended.abort();
    };
    const { status, result } = await session(profilePlan, { ...ctx, progress });
    expect([status, result.rawCsv]).toEqual(['killed', '']);
    const [told, ...more] = notes.filter((note) => note.includes('in use'));
    expect(told).toContain(`dcgm-exporter (process ${pid}, `);
    expect(told).toContain('trying again in 2 s (1 of 2)');
    expect(more).toEqual([]);
    expect(starts(at.path).filter(({ args }) => args.includes('./runner'))).toHaveLength(1);
  });

  it('B21: DCGM is offered to be paused only where it is; unseen holders are said to be unseen', () => {
    const reason = { code: 'env.ncu-busy', message: 'm', remedy: 'r' } as const;
    const holder = (name: string, dcgm: boolean) => ({ name, pid: 7, user: null, dcgm });
    const remedy = (...args: [Parameters<typeof busyReason>[1], boolean]) => busyReason(reason, ...args).remedy;
    expect(remedy([holder('nsys', false)], false)).toMatch(
      /^Likely held by nsys \(process 7\)\. End the other profiler/,
    );
    expect(remedy([holder('nsys', false)], false)).not.toContain('dcgmi profile --pause');
    expect(remedy([holder('dcgm-exporter', true)], false)).toContain('dcgmi profile --pause');
    expect(remedy([], true)).toMatch(/No usual holder .*another container.*dcgmi profile --pause/);
    expect(remedy([], false)).not.toContain('dcgmi profile --pause');
    const many = Array.from({ length: 9 }, (_, pid) => ({ ...holder('ncu', false), pid }));
    expect(remedy(many, false)).toContain('ncu (process 3), 5 more.');
    // Names come from a list of ours, whatever a process calls itself.
    const proc = tempFolder();
    for (const [pid, comm] of [
      ['11', 'nv-hostengine'],
      ['12', 'nv-nsight-cu-cl'],
      ['13', 'ncursed'],
      ['14', 'bash'],
      ['self', 'ncu'],
    ] as const) {
      mkdirSync(join(proc, pid));
      writeFileSync(join(proc, pid, 'comm'), `${comm}\n`);
    }
    const found = counterHolders(proc).map(({ name, pid, dcgm }) => [name, pid, dcgm]);
    expect(found).toEqual([
      ['nv-hostengine', 11, true],
      ['nv-nsight-cu-cli', 12, false],
    ]);
    expect(counterHolders(join(proc, 'absent'))).toEqual([]);
  });

  it("B22: ncu's lock file is made in a folder of ours, not in everybody's /tmp", async () => {
    const dir = tempFolder();
    const text =
      '==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write permissions on this file.';
    const told = await runsWithoutProfile(fakeNcu(dir, text, { exit: 1 }));
    expect(told).toContain('could not make its lock file');
    for (const { tmp } of starts(dir)) {
      expect(tmp).not.toBe('/tmp');
      expect(tmp).toMatch(/ncu|\.tmp/);
    }
  });

  it('B23: WSL2: Windows governs the counters; that is said by doctor and when ncu is refused', async () => {
    const text = '==ERROR== NVPA_STATUS_INSUFFICIENT_PRIVILEGE (Profiling permission not granted)';
    const told = await runsWithoutProfile(fakeNcu(tempFolder(), text, { exit: 1 }));
    expect(told).toContain('WSL2');
    const wsl = describedMachine(readDescribed('wsl2'));
    expect((await counterPermission(wsl, true)).cause).toContain('Windows governs the counters');
    const counters = (await doctor({ machine: wsl })).checks.find((c) => c.id === 'counters');
    expect(counters?.remedy).toMatch(/Manage GPU Performance Counters.*ncu on Windows.*timing only/);
  });

  const BAD_ALLOCATION =
    '==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n==ERROR== Unhandled C++ exception: bad allocation';

  it('B25: memory that does not suffice for any replay ends the profile, not the run', async () => {
    const dir = tempFolder();
    const told = await runsWithoutProfile(fakeNcu(dir, BAD_ALLOCATION, { exit: 1 }));
    expect(told).toContain('out of memory');
    expect(told).toContain('By application replay: ');
    const modes = starts(dir).map(({ args }) => args.join(' ').includes('--replay-mode application'));
    // Two profiles (the original and the candidate), each tried once by either replay.
    expect(modes).toEqual([false, true, false, true]);
    for (const { args } of starts(dir)) expect(args.join(' ')).toMatch(/--launch-count \d+/);
  });

  it('B25: where kernel replay has no memory application replay makes the profile, and everything that shows it says so', async () => {
    const dir = tempFolder();
    const world = { launches: [{ kernel: GEMM }], runs: [{ log: BAD_ALLOCATION, exit: 1 }] };
    const ran = await optimizeWith({ ncu: worldNcu({ path: dir }, world) });
    expect([ran.report.status, ran.exitCode, askedToDebug(ran)]).toEqual(['done', 0, []]);
    const baseline = ran.events.find((e) => e.type === 'baseline');
    const evaluation = baseline?.type === 'baseline' ? baseline.evaluation : null;
    const profile = evaluation?.profile ?? null;
    expect(profile?.replay).toBe('application');
    expect(profile?.stages?.map((stage) => stage.replay)).toEqual(['application', 'application']);
    expect(evaluation && profileLines(evaluation).join('\n')).toContain(
      'application replay (every pass is another run of the program)',
    );
    expect(ran.prompts.find((p) => p.includes('You plan the optimization'))).toMatch(/several runs of the program/);
  });
});

describe('what ncu prints', () => {
  const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');

  it("B26: warnings and the program's own lines before and inside the table are not taken for it", () => {
    const clean = fixture('gemm_full_raw.csv');
    const noise = [
      '==WARNING== Could not deploy stock section files to "/root/Documents/NVIDIA Nsight Compute": read-only.',
      'result: 1.0, 2.0, 3.0',
      '"a", "quoted", line',
      'ID,not,quoted',
    ];
    const lines = clean.split('\n');
    const at = lines.findIndex((l) => l.startsWith('"ID",'));
    const mixed = [...noise, ...lines.slice(0, at + 1), ...noise, ...lines.slice(at + 1), ...noise].join('\n');
    expect(parseRaw(mixed).launches).toEqual(parseRaw(clean).launches);
  });

  it('B27: both shapes of the CSV are read, with the empty cells of the units row', () => {
    expect(parseRaw(fixture('gemm_full_raw.csv'))).toMatchObject({ shape: 'wide', launches: [{ block: [16, 16, 1] }] });
    expect(parseRaw(fixture('gemm_full.csv'))).toMatchObject({ shape: 'long', launches: [{ block: [16, 16, 1] }] });
    const crlf = fixture('gemm_full_raw.csv').replaceAll('\n', '\r\n');
    expect(parseRaw(crlf).launches).toEqual(parseRaw(fixture('gemm_full_raw.csv')).launches);
  });

  it.each(['n/a', '(!) nan', 'no data', ''])(
    'B28: a metric that reads %j stays missing: no zero, and no verdict without it',
    (cell) => {
      const [launch] = parseRaw(fixture('gemm_full_raw.csv')).launches;
      if (!launch) throw new Error('no launch');
      const id = 'sm__throughput.avg.pct_of_peak_sustained_elapsed';
      expect(verdict([launch]).bottleneck).not.toBeNull();
      const lines = fixture('gemm_full_raw.csv').split('\n');
      const head = lines.findIndex((l) => l.startsWith('"ID",'));
      const column = (lines[head] ?? '').split('","').findIndex((c) => c.replaceAll('"', '') === id);
      const row = lines[head + 2] ?? '';
      const cells = row.slice(1, -1).split('","');
      cells[column] = cell;
      lines[head + 2] = `"${cells.join('","')}"`;
      const [without] = parseRaw(lines.join('\n')).launches;
      expect(without?.metrics[id]).toMatchObject({ available: false, reason: expect.any(String) });
      expect(without && verdict([without]).bottleneck).toBeNull();
    },
  );
});
