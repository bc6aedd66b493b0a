import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ProfilePlan, SanitizePlan } from '../../main/contract/index.ts';
import { profileResultSchema, sanitizeResultSchema } from '../../main/contract/index.ts';
import { classifyNcu, hasLaunches } from '../../main/jobs/session/classify-ncu.ts';
import { countErrors } from '../../main/jobs/session/sanitize.ts';
import { context, fakes, problem, programs, type Scratch, scratch, script, session, tools, trace } from './support.ts';

const fixtures = fileURLToPath(new URL('../fixtures/ncu/', import.meta.url));

const profilePlan = (extra: Partial<ProfilePlan> = {}): ProfilePlan => ({
  mode: 'profile',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  problem: problem('large/0'),
  metrics: ['sm__throughput.avg.pct_of_peak_sustained_elapsed', 'dram__throughput.avg.pct_of_peak_sustained_elapsed'],
  sections: [],
  source: false,
  ...extra,
});

/**
 * Stands in for ncu: starts the target like ncu does (options first, then the program), writes its messages to --log-file, leaves a report that
 * `--import` prints. What it says and whether it makes a report is the test's choice.
 */
function fakeNcu(at: Scratch, how: { log?: string; report?: string; exit?: number; busyFirst?: number } = {}): string {
  script(
    at,
    'ncu',
    `const fs = require('node:fs'); const cp = require('node:child_process');
     const how = ${JSON.stringify(how)};
     const args = process.argv.slice(2);
     const value = (name) => args[args.indexOf(name) + 1];
     fs.appendFileSync('ncu-args.log', JSON.stringify({ args, tmp: process.env.TMPDIR, home: process.env.HOME, lang: process.env.LC_ALL }) + '\\n');
     if (args.includes('--import')) {
       if (!fs.existsSync(value('--import'))) { console.log('==ERROR== Failed to open file'); process.exit(1); }
       process.stdout.write(fs.readFileSync(value('--import')));
       return; // not process.exit: what is in the pipe would be lost
     }
     const tries = fs.readFileSync('ncu-args.log', 'utf8').trim().split('\\n').length;
     const busy = tries <= (how.busyFirst ?? 0);
     const at = args.indexOf('./runner');
     const target = cp.spawn(args[at], args.slice(at + 1), { stdio: 'inherit' });
     target.on('exit', (code) => {
       fs.writeFileSync(value('--log-file'), busy ? '==ERROR== Profiling failed because a driver resource was unavailable.\\n' : (how.log ?? '==PROF== done\\n'));
       if (how.report && !busy) fs.copyFileSync(how.report, value('--export') + '.ncu-rep');
       process.exit(how.exit ?? code ?? 1);
     });`,
  );
  return join(at.path, 'ncu');
}

const withNcu = (at: Scratch, ncu: string | null) =>
  context(at, { tools: { ...tools, ncu, machine: { ...tools.machine, ncu: '2025.3.1' } } });
const report = join(fixtures, 'gemm_full_raw.csv');

describe('profile', () => {
  it('profiles one call after a warm-up, imports the report and keeps everything of it', async () => {
    using at = scratch();
    fakes(at, { on: { call: { do: 'print', print: '"ID","Process ID"\n"0","1"\n' } } });
    const ctx = withNcu(at, fakeNcu(at, { report }));
    const { status, result } = await session(profilePlan({ source: true }), ctx);
    expect(status).toBe('ok');
    expect(profileResultSchema.safeParse(result).error).toBeUndefined();
    expect(result.rawCsv).toBe(readFileSync(report, 'utf8'));
    expect(result).toMatchObject({ ncuVersion: '2025.3.1', exitCode: 0, log: '==PROF== done\n', incidents: [] });
    const runs = readFileSync(join(at.path, 'ncu-args.log'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(runs).toHaveLength(3);
    const first = runs[0].args.join(' ');
    expect(first).toMatch(
      /^--profile-from-start off --clock-control none --target-processes all --metrics sm__\S+,dram__\S+ /,
    );
    expect(first).toMatch(/--section SourceCounters --import-source yes .* \.\/runner s-[0-9a-f]{12}$/);
    // Both pages are read beside each other, in either order.
    const pages = [runs[1], runs[2]].map((run) => run.args.slice(2).join(' ')).sort();
    expect(pages[0]).toBe('--csv --print-units base --page raw');
    expect(pages[1]).toBe('--csv --print-units base --page source --print-source cuda,sass');
    for (const run of runs) {
      expect(run.lang).toBe('C');
      expect(run.tmp).toBe(run.home);
      expect(run.tmp.startsWith(at.path)).toBe(true);
    }
    const calls = trace(at).filter((t) => t[2] === 'call');
    expect(calls.map((t) => t[4])).toEqual(['plain', 'profile']);
    expect(ctx.started[0]?.options).toMatchObject({ sandbox: true, gpu: true, profiling: true });
    expect(readdirSync(at.path).sort()).toEqual(['judge', 'ncu', 'ncu-args.log', 'runner', 'trace.log']);
  });

  it.each([
    [
      '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0.',
      'env.ncu-permission',
    ],
    ['==WARNING== No kernels were profiled.', 'env.ncu-empty'],
    ['==ERROR== Cuda driver is not compatible with Nsight Compute.', 'env.ncu-incompatible'],
    ['==ERROR== Failed to prepare kernel for profiling', 'env.ncu-incompatible'],
    [
      '==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write permissions on this file.',
      'env.ncu-lock',
    ],
    [
      '==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n==ERROR== Unhandled C++ exception: bad allocation',
      'env.ncu-memory',
    ],
    ['==ERROR== Failed to find metric foo__bar', 'env.ncu-incompatible'],
    ['==ERROR== The flux capacitor is missing', 'env.ncu-failed'],
  ])('%s', async (log, code) => {
    using at = scratch();
    fakes(at);
    const { status, reason, result } = await session(profilePlan(), withNcu(at, fakeNcu(at, { log })));
    expect([status, reason?.code]).toEqual(['environment', code]);
    expect(reason?.remedy).toBeTruthy();
    expect(result.log).toContain(log);
    expect([result.rawCsv, result.incidents]).toEqual(['', []]);
  });

  it('tries again when the counters are in use, and gives up after a bounded time', async () => {
    using at = scratch();
    fakes(at);
    const { status, result } = await session(profilePlan(), withNcu(at, fakeNcu(at, { busyFirst: 1, report })));
    expect(status).toBe('ok');
    expect(hasLaunches(result.rawCsv)).toBe(true);
  });

  it('a candidate that crashes under ncu is an incident, not a fault of ncu', async () => {
    using at = scratch();
    fakes(at, { on: { call: { at: 2, do: 'crash' } } });
    const log = '==WARNING== No kernels were profiled.\n';
    const { status, result } = await session(profilePlan(), withNcu(at, fakeNcu(at, { log, exit: 1 })));
    expect(status).toBe('ok');
    expect(result.incidents.map((i) => i.kind)).toEqual(['crash']);
    expect(result.rawCsv).toBe('');
  });

  it('an ncu that never starts the target explains itself', async () => {
    using at = scratch();
    fakes(at);
    script(
      at,
      'ncu',
      `console.error('==ERROR== Cuda driver is not compatible with Nsight Compute.'); process.exit(1);`,
    );
    const { status, reason } = await session(profilePlan(), withNcu(at, join(at.path, 'ncu')));
    expect([status, reason?.code]).toEqual(['environment', 'env.ncu-incompatible']);
  });

  it('says so when there is no ncu', async () => {
    using at = scratch();
    fakes(at);
    const { status, reason } = await session(profilePlan(), withNcu(at, null));
    expect([status, reason?.code]).toEqual(['environment', 'env.ncu-missing']);
  });

  it('knows launches in real output of ncu, and its absence', () => {
    expect(hasLaunches(readFileSync(report, 'utf8'))).toBe(true);
    expect(hasLaunches('"ID","Kernel Name"\n"","",\n')).toBe(false);
    expect(hasLaunches('')).toBe(false);
    expect(classifyNcu(readFileSync(report, 'utf8'))).toBeNull();
  });
});

const sanitizePlan = (extra: Partial<SanitizePlan> = {}): SanitizePlan => ({
  mode: 'sanitize',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  tools: ['memcheck', 'racecheck'],
  problems: [problem('verify/0')],
  ...extra,
});

/** Stands in for compute-sanitizer; `logs` by tool. */
function fakeSanitizer(at: Scratch, logs: Record<string, string>): string {
  script(
    at,
    'sanitizer',
    `const fs = require('node:fs'); const cp = require('node:child_process');
     const logs = ${JSON.stringify(logs)};
     const args = process.argv.slice(2);
     const value = (name) => args[args.indexOf(name) + 1];
     const at = args.indexOf('./runner');
     const target = cp.spawn(args[at], args.slice(at + 1), { stdio: 'inherit' });
     target.on('exit', (code) => {
       const log = logs[value('--tool')] ?? '========= ERROR SUMMARY: 0 errors\\n';
       fs.writeFileSync(value('--log-file'), log);
       process.exit(/ [1-9]\\d* (error|hazard)/.test(log) ? Number(value('--error-exitcode')) : (code ?? 1));
     });`,
  );
  return join(at.path, 'sanitizer');
}

const withSanitizer = (at: Scratch, logs: Record<string, string>) =>
  context(at, { tools: { ...tools, sanitizer: fakeSanitizer(at, logs) } });

const memcheck = `========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at k(float *, int)+0x70 in c.cu:7
=========     by thread (0,0,0) in block (64,0,0)
=========     Address 0x7f00 is out of bounds
========= 
========= ERROR SUMMARY: 2 errors
`;

describe('sanitize', () => {
  it('runs every tool on exact allocations, each in its own process', async () => {
    using at = scratch();
    fakes(at);
    const { status, result } = await session(
      sanitizePlan({ problems: [problem('a'), problem('b')] }),
      withSanitizer(at, {}),
    );
    expect(status).toBe('ok');
    expect(sanitizeResultSchema.safeParse(result).error).toBeUndefined();
    expect(result.runs.map((r) => [r.tool, r.problem, r.exitCode, r.errors])).toEqual([
      ['memcheck', 'a', 0, 0],
      ['memcheck', 'b', 0, 0],
      ['racecheck', 'a', 0, 0],
      ['racecheck', 'b', 0, 0],
    ]);
    expect(result.incidents).toEqual([]);
    const setups = trace(at).filter((t) => t[2] === 'problem');
    expect(setups.map((t) => t[3])).toEqual(['exact', 'exact', 'exact', 'exact']);
    expect(new Set(setups.map((t) => t[1])).size).toBe(4);
  });

  it('reports errors with the first report', async () => {
    using at = scratch();
    fakes(at);
    const { result } = await session(sanitizePlan(), withSanitizer(at, { memcheck }));
    expect(result.runs.map((r) => [r.tool, r.exitCode, r.errors])).toEqual([
      ['memcheck', 99, 2],
      ['racecheck', 0, 0],
    ]);
    expect(result.incidents).toEqual([
      {
        kind: 'sanitizer',
        arm: 'C',
        problem: 'verify/0',
        message: 'memcheck: 2 errors',
        detail: expect.stringMatching(/^Invalid __global__ write of size 4 bytes\n.*c\.cu:7[\s\S]*out of bounds$/),
      },
    ]);
  });

  it('a tool that cannot work is the environment', async () => {
    using at = scratch();
    fakes(at, { on: { hello: { do: 'exit' } } });
    const logs = { memcheck: '========= Error: Unable to find injection library\n' };
    const { status, reason } = await session(sanitizePlan(), withSanitizer(at, logs));
    expect([status, reason?.code]).toEqual(['environment', 'env.sanitizer-failed']);
    expect(reason?.message).toContain('Unable to find injection library');
  });

  it('a run that ends at its time limit is neither clean nor faulty', async () => {
    using at = scratch();
    fakes(at, { on: { call: { do: 'hang' } } });
    const limits = { wallMs: 3_000, memoryMiB: 2048, outputBytes: 1 << 20 };
    const ctx = context(at, { limits, tools: { ...tools, sanitizer: fakeSanitizer(at, {}) } });
    const { status, result } = await session(sanitizePlan({ tools: ['racecheck'] }), ctx);
    expect(status).toBe('ok');
    expect(result.runs).toEqual([expect.objectContaining({ errors: null, exitCode: null })]);
    expect(result.incidents).toEqual([]);
  });

  it.each([
    ['========= ERROR SUMMARY: 0 errors', 0],
    ['========= ERROR SUMMARY: 1 error', 1],
    ['========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)', 1],
    ['========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)', 0],
    ['========= LEAK SUMMARY: 0 bytes leaked in 0 allocations\n========= ERROR SUMMARY: 4 errors', 4],
    ['========= Error: process did not start', null],
  ])('%s', (log, errors) => {
    expect(countErrors(log)).toBe(errors);
  });
});
