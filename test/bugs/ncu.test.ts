/** Reports about Nsight Compute, met inside a run: profiling is an extra, so the run goes on with timing and says why there is no profile. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Profile } from '../../main/contract/index.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { verdict } from '../../main/profile/table2.ts';
import { doctor } from '../../main/toolchain/doctor.ts';
import { counterPermission } from '../../main/toolchain/ncu.ts';
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

  it('B21: counters held by another tool: tried again for a bounded time, the likely holder is named', async () => {
    const dir = tempFolder();
    const text =
      '==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.';
    const ran = await optimizeWith({ ncu: fakeNcu(dir, text, { exit: 1 }) });
    const baseline = ran.events.find((e) => e.type === 'baseline');
    const profile = baseline?.type === 'baseline' ? baseline.evaluation.profile : null;
    expect([profile?.status, ran.exitCode]).toEqual(['unavailable', 0]);
    expect(`${profile?.reason} ${profile?.remedy}`).toMatch(
      /Another tool holds.*nv-hostengine.*dcgmi profile --pause/s,
    );
    expect(starts(dir).filter((s) => s.args.includes('./runner'))).toHaveLength(2 * 3);
  }, 60_000);

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

  it('B25: memory that does not suffice for replay ends the profile, not the run', async () => {
    const text =
      '==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n==ERROR== Unhandled C++ exception: bad allocation';
    expect(await runsWithoutProfile(fakeNcu(tempFolder(), text, { exit: 1 }))).toContain('out of memory');
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
