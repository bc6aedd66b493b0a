import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  Arm,
  ArmId,
  PaperPlan,
  Problem,
  ProfilePlan,
  SanitizePlan,
  TimePlan,
  VerifyPlan,
} from '../../main/contract/index.ts';
import { judgeCompileArgs, runnerCompileArgs, shimCompileArgs, shimSource } from '../../main/jobs/session/shim.ts';
import { fakeNcu, GEMM } from './ncu-world.ts';
import { context, programs, type Scratch, scratch, session, tools } from './support.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

const param = (role: 'in' | 'out', name: string) =>
  role === 'in'
    ? ({ role, name, elem: 'T', count: 'M*N', generator: { kind: 'uniform', lo: -1, hi: 1 } } as const)
    : ({ role, name, elem: 'T', count: 'M*N' } as const);
const dim = (name: string) => ({ role: 'scalar', name, ctype: 'int', value: name }) as const;
const wrapper = { name: { fp32: 'f' }, params: [param('in', 'A'), param('out', 'B'), dim('M'), dim('N')] };

const transpose = (id: string, m: number, n: number): Problem => ({
  id,
  dims: { M: m, N: n },
  dimOrder: ['M', 'N'],
  buffers: [
    { name: 'A', role: 'in', elem: 'f32', count: m * n, generator: { kind: 'uniform', lo: -1, hi: 1 } },
    { name: 'B', role: 'out', elem: 'f32', count: m * n },
  ],
  args: [
    { kind: 'buf', index: 0 },
    { kind: 'buf', index: 1 },
    { kind: 'int', value: m },
    { kind: 'int', value: n },
  ],
  limits: [{ buffer: 1, c: 0, rms: 1, uOut: 0, uAcc: 2 ** -24 }],
});

const arm = (id: ArmId, symbol: string): Arm => ({ id, lib: 'candidates.so', symbol });

/** Real runner (host memory as device), real judge of matrix_transpose, real shim, real shared library of candidates. */
let built: Scratch;
beforeAll(() => {
  built = scratch();
  const cxx = (args: readonly string[]) =>
    execFileSync('g++', args, { cwd: built.path, stdio: ['ignore', 'ignore', 'pipe'] });
  cpSync(join(root, 'kernels/harness'), built.path, { recursive: true });
  copyFileSync(join(root, 'kernels/mskernelbench/matrix_transpose/reference.h'), join(built.path, 'reference.h'));
  writeFileSync(join(built.path, 'shim.cpp'), shimSource({ wrapper }, 'fp32'));
  cxx(runnerCompileArgs('host').args);
  cxx(judgeCompileArgs({ task: 'matrix_transpose' }).args);
  cxx(shimCompileArgs().args);
  const source = join(root, 'test/session/candidates.cpp');
  cxx(['-O2', '-std=c++17', '-shared', '-fPIC', '-pthread', source, '-o', 'candidates.so']);
});
afterAll(() => built?.[Symbol.dispose]());

function bench(): Scratch {
  const at = scratch();
  mkdirSync(at.path, { recursive: true });
  for (const name of ['runner', 'judge', 'shim.so', 'candidates.so'])
    copyFileSync(join(built.path, name), join(at.path, name));
  return at;
}

const verifyPlan = (symbol: string, extra: Partial<VerifyPlan> = {}): VerifyPlan => ({
  mode: 'verify',
  ...programs,
  arm: arm('C', symbol),
  problems: [transpose('verify/0', 37, 53), transpose('verify/1', 128, 96)],
  seeds: 2,
  ...extra,
});

const timePlan = (candidate: string, extra: Partial<TimePlan> = {}): TimePlan => ({
  mode: 'time',
  ...programs,
  phase: 'nominate',
  arms: [arm('O', 'slow'), arm('C', candidate)],
  problems: [transpose('large/0', 256, 256)],
  weights: [1],
  processes: 1,
  soloProcesses: 0,
  blocks: { min: 6, max: 20, budgetMs: 200 },
  flush: 'read',
  gate: true,
  quantities: ['wrapper', 'span'],
  positions: 32,
  nominateAbove: 1.005,
  ...extra,
});

describe('application replay with the real runner', () => {
  it('every run of the program gets the same contents, in the same order, in a fresh process', async () => {
    using at = bench();
    const ncu = fakeNcu(at, {
      launches: [{ kernel: GEMM }],
      runs: [{ log: '==ERROR== Unhandled C++ exception: bad allocation', exit: 1 }],
      application: { runs: 4 },
    });
    const profile: ProfilePlan = {
      mode: 'profile',
      ...programs,
      arm: arm('C', 'telling'),
      problem: transpose('large/0', 64, 96),
      metrics: ['gpu__time_duration.sum'],
      sections: [],
      source: false,
    };
    const { status, result } = await session(profile, context(at, { tools: { ...tools, ncu } }));
    expect([status, result.replay, result.incidents]).toEqual(['ok', 'application', []]);
    const lines = readFileSync(join(at.path, 'given.log'), 'utf8').trim().split('\n');
    const [warmUp, profiled] = lines as [string, string];
    // One run by kernel replay, four by application replay: a warm-up and the profiled call each.
    expect(lines).toEqual(Array.from({ length: 5 }, () => [warmUp, profiled]).flat());
    expect([warmUp.split(' ')[0], profiled.split(' ')[0]]).toEqual(['1', '2']);
    expect(warmUp.split(' ')[1]).not.toBe(profiled.split(' ')[1]);
  });
});

describe('repeated calls with the real runner and judge', () => {
  const sanitizePlan = (symbol: string): SanitizePlan => ({
    mode: 'sanitize',
    ...programs,
    arm: arm('C', symbol),
    tools: [],
    problems: [transpose('sanitize/0', 37, 53), transpose('sanitize/1', 128, 96)],
    races: { calls: 2 },
  });
  it('an honest one is right in every call, alone and beside itself in another process', async () => {
    using at = bench();
    const { status, result } = await session(sanitizePlan('honest'), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([]);
    expect(result.races?.map((r) => [r.load, r.problem, r.calls, r.wrong])).toEqual(
      ['alone', 'short calls', 'long calls'].flatMap((load) =>
        ['sanitize/1', 'sanitize/0'].map((id) => [load, id, 2, 0]),
      ),
    );
  });
});

describe('verify with the real runner and judge', () => {
  it.each(['honest', 'blocked', 'slow'])('%s passes', async (symbol) => {
    using at = bench();
    const { status, result } = await session(verifyPlan(symbol), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([]);
    expect(result.checks).toHaveLength(6);
    for (const check of result.checks)
      expect(check.outputs).toEqual([expect.objectContaining({ output: 'B', bad: 0, poisonLeft: 0, allZero: false })]);
    expect(result.checks[0]?.outputs[0]?.compared).toBe(37 * 53);
    expect(readdirSync(at.path).sort()).toEqual(['candidates.so', 'judge', 'runner', 'shim.so']);
  });

  const bad = async (symbol: string, extra: Partial<VerifyPlan> = {}) => {
    using at = bench();
    const limits = { wallMs: 6_000, memoryMiB: 2048, outputBytes: 1 << 20 };
    const { status, result } = await session(
      verifyPlan(symbol, extra),
      context(at, symbol === 'endless' ? { limits } : {}),
    );
    expect(status).toBe('ok');
    return result;
  };
  const first = { problems: [transpose('verify/0', 37, 53)] };

  it('zeros: every check wrong and said to be all zero', async () => {
    const { checks } = await bad('zeros', first);
    expect(checks.every((c) => c.outputs[0]?.allZero && c.outputs[0].bad === 37 * 53)).toBe(true);
  });

  it('NaN everywhere is wrong everywhere', async () => {
    const { checks } = await bad('nans', first);
    expect(checks.every((c) => c.outputs[0]?.nonFinite === 37 * 53 && c.outputs[0].bad === 37 * 53)).toBe(true);
  });

  it('doing nothing leaves the poison', async () => {
    const { checks } = await bad('nothing', first);
    expect(checks.every((c) => c.outputs[0]?.poisonLeft === 37 * 53)).toBe(true);
  });

  it('one element missing is found and located', async () => {
    const { checks } = await bad('off_by_one', first);
    expect(checks.every((c) => c.outputs[0]?.bad === 1 && c.outputs[0].first[0]?.index === 37 * 53 - 1)).toBe(true);
  });

  it('a result kept from the first call is right for its contents only', async () => {
    const { checks } = await bad('cached', first);
    const [one, two, again] = checks.map((c) => c.outputs[0]?.bad as number);
    expect(one).toBe(0);
    expect(two).toBeGreaterThan(37 * 53 * 0.9);
    expect(again).toBe(0); // the first contents again: only the second seed gives it away
  });

  it.each([
    ['out_of_bounds', 'guard', /outside buffer B: after it, at byte offset/],
    ['changes_input', 'input-changed', /changed 1 elements of input A, the first at index 1/],
    ['leaves', 'crash', /exited with code 0/],
    ['leaves_quietly', 'crash', /exited with code 0/],
    ['dies', 'crash', /SIGSEGV/],
    ['claims', 'protocol', /./],
    ['endless', 'timeout', /no answer to call within/],
    ['thread_left', 'threads-left', /more host threads/],
  ])('%s → %s', async (symbol, kind, message) => {
    const { incidents } = await bad(symbol, first);
    expect(incidents.map((i) => i.kind)).toEqual([kind]);
    expect(incidents[0]).toMatchObject({ arm: 'C', problem: 'verify/0', message: expect.stringMatching(message) });
  });

  it('a missing symbol is a load incident', async () => {
    const { incidents } = await bad('no_such_function');
    expect(incidents).toEqual([
      expect.objectContaining({ kind: 'load', message: expect.stringContaining('no_such_function') }),
    ]);
  });
});

describe('time with the real runner and judge', () => {
  it('finds the faster one faster, in two processes and a solo one', async () => {
    using at = bench();
    const { status, result } = await session(timePlan('honest', { processes: 2, soloProcesses: 1 }), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([]);
    expect(result.samples).toHaveLength(6);
    expect(result.pointR).toBeGreaterThan(1.3);
    expect(result.nominated).toBe(true);
    expect(result.whole.map((w) => w.outputs[0]?.bad)).toEqual([0, 0]);
    expect(result.activities.map((a) => a.arm).sort()).toEqual(['C', 'O']);
    expect(result.timerStepNs).toBeGreaterThan(0);
  });

  it('a candidate that slackens after the verification is caught by sampled positions, and not nominated', async () => {
    using at = bench();
    const verified = await session(verifyPlan('tires'), context(at));
    expect(verified.result.incidents).toEqual([]);
    expect(verified.result.checks.every((c) => c.outputs[0]?.bad === 0)).toBe(true);
    const { status, result } = await session(timePlan('tires'), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([
      expect.objectContaining({ kind: 'sampled-wrong', arm: 'C', problem: 'large/0' }),
    ]);
    expect(result.nominated).toBe(false);
  });

  it('costs the broker little per call', async () => {
    using at = bench();
    const before = process.cpuUsage();
    const { result } = await session(
      timePlan('honest', { problems: [transpose('a', 8, 8)], blocks: { min: 200, max: 200, budgetMs: 1 } }),
      context(at),
    );
    const { user, system } = process.cpuUsage(before);
    const calls = result.samples.flatMap((s) => Object.values(s.arms).flat()).length;
    expect(calls).toBe(1600);
    // Processor time of the broker, µs: wall time would measure the other programs on this machine.
    expect((user + system) / calls).toBeLessThan(1_500);
  });

  it("runs the paper's protocol", async () => {
    using at = bench();
    const plan: PaperPlan = {
      mode: 'paper',
      ...programs,
      arms: [arm('O', 'slow'), arm('C', 'honest')],
      problems: [transpose('a', 64, 64)],
      warmups: 3,
      calls: 50,
    };
    const { status, result } = await session(plan, context(at));
    expect(status).toBe('ok');
    expect(result.rows.map((r) => [r.problem, r.arm, r.calls, r.totalMs > 0])).toEqual([
      ['a', 'O', 50, true],
      ['a', 'C', 50, true],
    ]);
  });

  it('measures the timing facts', async () => {
    using at = bench();
    const { status, result } = await session(
      { mode: 'facts', ...programs, arm: arm('O', 'honest'), problems: [transpose('a', 64, 64)], calls: 5 },
      context(at),
    );
    expect(status).toBe('ok');
    expect(result.rows.map((r) => `${r.quantity} ${r.flush} ${r.ns.length}`)).toEqual([
      ...['none', 'read', 'write'].flatMap((f) => [`event ${f} 5`, `wrapper ${f} 5`]),
      ...['none', 'read', 'write'].flatMap((f) => [`span ${f} 5`, `gated ${f} 5`]),
    ]);
  });
});
