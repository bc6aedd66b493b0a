/** Application replay: every pass is another run of the program. The ncu is a fake that runs the target as often as the real one would. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pidExists } from '../../main/base/proc.ts';
import { type ProfilePlan, profileResultSchema, profileSchema } from '../../main/contract/index.ts';
import { pagesOf } from '../../main/evaluate/profile-pages.ts';
import { profileStages, verdictMetricIds } from '../../main/profile/collect.ts';
import { interpretProfile } from '../../main/profile/interpret.ts';
import { fakeNcu, GEMM, ncuRuns, type World } from './ncu-world.ts';
import { context, fakes, problem, programs, type Scratch, scratch, session, tools, trace } from './support.ts';

const plan = (extra: Partial<ProfilePlan> = {}): ProfilePlan => ({
  mode: 'profile',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  problem: problem('large/0'),
  metrics: verdictMetricIds(),
  sections: [],
  source: true,
  maxLaunches: 1024,
  keepLaunches: 48,
  stages: profileStages(),
  ...extra,
});

const BAD_ALLOCATION =
  '==WARNING== Backing up device memory in system memory. Kernel replay might be slow.\n==ERROR== Unhandled C++ exception: bad allocation';

function profiling(at: Scratch, world: World, extra: Parameters<typeof context>[1] = {}) {
  const ncu = fakeNcu(at, world);
  const limits = { wallMs: 60_000, memoryMiB: 2048, outputBytes: 1 << 20 };
  return context(at, { limits, ...extra, tools: { ...tools, ncu, machine: { ...tools.machine, ncu: '2025.3.1' } } });
}

const collections = (at: Scratch) =>
  ncuRuns(at.path)
    .map(({ args }) => args)
    .filter((args) => !args.includes('--import'));
const modes = (at: Scratch) =>
  collections(at).map((args) => (args.includes('--replay-mode') ? 'application' : 'kernel'));

/** Requests of each run of the program, in order of the runs: command and arguments. */
function runsOf(at: Scratch): string[][] {
  const runs = new Map<string, string[]>();
  for (const [, pid = '', ...request] of trace(at)) runs.set(pid, [...(runs.get(pid) ?? []), withoutNames(request)]);
  return [...runs.values()];
}
const withoutNames = (request: readonly string[]): string => request.join(' ');

describe('application replay', () => {
  it('takes over where kernel replay has not the memory, stays for the second stage, and is told of everywhere', async () => {
    using at = scratch();
    fakes(at);
    const ctx = profiling(at, { launches: [{ kernel: GEMM }], runs: [{ log: BAD_ALLOCATION, exit: 1 }] });
    const { status, result } = await session(plan(), ctx);
    expect(status).toBe('ok');
    expect(profileResultSchema.safeParse(result).error).toBeUndefined();
    expect(modes(at)).toEqual(['kernel', 'application', 'application']);
    expect(result).toMatchObject({ replay: 'application', incidents: [] });
    expect(result.stages).toMatchObject([
      { stage: 'verdict', replay: 'application', launches: 1, passes: 3 },
      { stage: 'evidence', replay: 'application', launches: 1, passes: 3 },
    ]);
    expect(result.stages?.some((stage) => stage.note !== undefined)).toBe(false);
    expect(result.log).toContain('bad allocation');
    expect(ctx.notes.join('\n')).toMatch(/kernel replay has not the memory, trying application replay \(every pass/);
    expect(ctx.notes).toContain('profile: application replay, run 3 of the program');
    const profile = interpretProfile(result, { problem: 'large/0', activities: null, pages: pagesOf(result) });
    expect(profileSchema.parse(profile)).toMatchObject({ status: 'complete', replay: 'application' });
  });

  it('keeps the options of kernel replay', async () => {
    using at = scratch();
    fakes(at);
    const launches = [{ kernel: GEMM, metrics: { 'gpu__time_duration.sum': '7' } }, { kernel: GEMM }];
    await session(plan(), profiling(at, { launches, runs: [{ log: BAD_ALLOCATION, exit: 1 }] }));
    const [kernel, first, second] = collections(at);
    const plain = (args: readonly string[] = []) => args.filter((arg) => !/^(?:s|ncu-log)-[0-9a-f]{12}$/.test(arg));
    expect(plain(first)).toEqual(plain(kernel).toSpliced(6, 0, '--replay-mode', 'application'));
    expect(second?.join(' ')).toMatch(
      /^--profile-from-start off --clock-control none --target-processes all --replay-mode application /,
    );
    expect(second?.join(' ')).toMatch(/--kernel-name gemm_naive_kernel --launch-skip 1 --launch-count 1/);
  });

  it('gives every run of the program the same requests and the same seeds, in a process of its own', async () => {
    using at = scratch();
    fakes(at);
    const world = { launches: [{ kernel: GEMM }], runs: [{ log: BAD_ALLOCATION, exit: 1 }], application: { runs: 5 } };
    const { status } = await session(plan(), profiling(at, world));
    expect(status).toBe('ok');
    const runs = runsOf(at);
    // One by kernel replay, five for each stage.
    expect(runs).toHaveLength(11);
    for (const run of runs) expect(run).toEqual(runs[0]);
    expect(runs[0]?.map((request) => request.split(' ')[0])).toEqual([
      'hello',
      'shim',
      'load',
      'problem',
      'prepare',
      'call',
      'prepare',
      'call',
      'quit',
    ]);
  });

  it('takes over where kernel replay comes to no end, and the candidate is not blamed', async () => {
    using at = scratch();
    fakes(at, { on: { call: { at: 2, do: 'stall', under: 'kernel' } } });
    const limits = { wallMs: 45_000, memoryMiB: 2048, outputBytes: 1 << 20 };
    const ctx = profiling(at, { launches: [{ kernel: GEMM }] }, { limits });
    const { status, result } = await session(plan(), ctx);
    expect([status, result.replay, result.incidents]).toEqual(['ok', 'application', []]);
    expect(modes(at)).toEqual(['kernel', 'application', 'application']);
    expect(ctx.notes.join('\n')).toContain('kernel replay comes to no end');
  }, 60_000);

  it('takes over where ncu was stopped at the memory limit', async () => {
    using at = scratch();
    fakes(at);
    const limits = { wallMs: 60_000, memoryMiB: 600, outputBytes: 1 << 20 };
    const ctx = profiling(at, { launches: [{ kernel: GEMM }], runs: [{ eatsMiB: 800 }] }, { limits });
    const { status, result } = await session(plan(), ctx);
    expect([status, result.replay, result.incidents]).toEqual(['ok', 'application', []]);
  });

  it('is tried once: when it gives nothing either, both are told', async () => {
    using at = scratch();
    fakes(at);
    const application = { log: '==ERROR== Failed to match kernels across passes', exit: 1 };
    const world = { launches: [{ kernel: GEMM }], runs: [{ log: BAD_ALLOCATION, exit: 1 }], application };
    const { status, reason, result } = await session(plan(), profiling(at, world));
    expect([status, reason?.code, result.replay]).toEqual(['environment', 'env.ncu-memory', undefined]);
    expect(reason?.message).toMatch(/bad allocation By application replay: ncu failed: Failed to match kernels/);
    expect(modes(at)).toEqual(['kernel', 'application']);
    expect(result.incidents).toEqual([]);
  });

  it('ends with the session, however often ncu would run the program', async () => {
    using at = scratch();
    fakes(at);
    const ended = new AbortController();
    const world = {
      launches: [{ kernel: GEMM }],
      runs: [{ log: BAD_ALLOCATION, exit: 1 }],
      application: { runs: Number.MAX_SAFE_INTEGER },
    };
    const ctx = profiling(at, world, { signal: ended.signal });
    const progress = (note: string) => {
      if (note.includes('run 4 of')) ended.abort();
    };
    const { status } = await session(plan(), { ...ctx, progress });
    expect(status).toBe('killed');
    for (const [, pid] of trace(at)) expect(pidExists(Number(pid))).toBe(false);
    expect(readdirSync(at.path).sort()).toEqual(['judge', 'ncu', 'ncu-args.log', 'runner', 'trace.log']);
  });

  it('is not asked for where kernel replay does', async () => {
    using at = scratch();
    fakes(at);
    const { result } = await session(plan(), profiling(at, { launches: [{ kernel: GEMM }] }));
    expect(modes(at)).toEqual(['kernel', 'kernel']);
    expect([result.replay, result.stages?.map((stage) => stage.replay)]).toEqual([undefined, [undefined, undefined]]);
    expect(readFileSync(`${at.path}/ncu-args.log`, 'utf8')).not.toContain('replay-mode');
  });
});
