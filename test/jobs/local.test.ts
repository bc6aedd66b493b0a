import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { withFileLock } from '../../main/base/flock.ts';
import { sweepScratch, tempDir } from '../../main/base/paths.ts';
import { allProcesses, pidExists, treeOf } from '../../main/base/proc.ts';
import type { JobResult, SessionResult, SessionStep } from '../../main/contract/index.ts';
import type { SessionContext } from '../../main/jobs/context.ts';
import { lockFile } from '../../main/jobs/gpu-lock.ts';
import { LocalExecutor, type LocalSettings } from '../../main/jobs/local.ts';
import { hostileSource } from './hostile.ts';
import { buildStep, bundleOf, folder, limits, tools } from './support.ts';

const root = folder();
afterAll(() => root[Symbol.dispose]());

const options = { rootSeed: 'abcdef', position: 'r1.a0.eval' };
const executor = (settings: LocalSettings = {}, its = tools): LocalExecutor =>
  new LocalExecutor(its, { buildCacheDir: null, lockDir: join(root.path, 'locks'), ...settings });

async function run(bundle: Parameters<LocalExecutor['execute']>[0], on = executor(), more = {}): Promise<JobResult> {
  const outcome = await on.execute(bundle, { ...options, ...more });
  if (outcome.kind !== 'done') throw new Error('parked');
  return outcome.result;
}
const ownScratch = (): string[] =>
  readdirSync(tempDir()).filter((name) => name.startsWith(`cm-${process.pid.toString(36)}-`) && !name.endsWith('.own'));

const candidate = `#include <cuda_runtime.h>
template <typename T> __global__ void twice_kernel_optimized(T* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= T(2);
}
extern "C" void twice_optimized(float* x, int n) { twice_kernel_optimized<<<(n + 255) / 256, 256>>>(x, n); }
`;
const nvccArgs = ['-arch={arch}', '-lineinfo', '-Xptxas', '-v', '-Xcompiler', '-fPIC', '-shared', '-o'];
const cuBuild = buildStep({
  id: 'candidate',
  tool: 'nvcc',
  args: [...nvccArgs, 'candidate.so', 'candidate.cu'],
  inputs: ['candidate.cu'],
  outputs: ['candidate.so'],
});

describe('builds with the real nvcc, in the sandbox', () => {
  it('compiles for sm_90, keeps ptxas’s words, answers the second time from the cache', async () => {
    const on = (): LocalExecutor => executor({ buildCacheDir: join(root.path, 'cache') });
    const bundle = bundleOf({ 'candidate.cu': candidate }, [cuBuild]);
    const first = await run(bundle, on());
    expect(first.machine.containment).toBe('bubblewrap');
    expect(first.steps[0]).toMatchObject({ id: 'candidate', status: 'ok', exitCode: 0, cached: false });
    expect(first.steps[0]?.stderr).toMatch(/Compiling entry function '\S*twice_kernel_optimized\S*' for 'sm_90'/);
    const again = await run(bundle, on());
    expect(again.steps[0]).toMatchObject({ status: 'ok', cached: true, stderr: first.steps[0]?.stderr });
    expect(again.steps[0]?.wallMs).toBeLessThan(500);
    expect(ownScratch()).toEqual([]);
  });

  it('gives the model its own error and nothing of the machine', async () => {
    const source = `#include "/etc/passwd"\n${candidate}`;
    const { steps } = await run(bundleOf({ 'candidate.cu': source }, [cuBuild]));
    expect(steps[0]).toMatchObject({ status: 'failed', exitCode: 1 });
    expect(steps[0]?.reason).toBeUndefined();
    expect(steps[0]?.stderr).toContain('candidate.cu:1:10: fatal error:');
    expect(steps[0]?.stderr).not.toMatch(/root:|\/tmp\/|\/bin\/bash/);
    const wrong = await run(bundleOf({ 'candidate.cu': candidate.replace('T(2)', 'undeclared') }, [cuBuild]));
    expect(wrong.steps[0]?.stderr).toMatch(/candidate\.cu\(4\): error: identifier "undeclared" is undefined/);
  });

  it('sees only the inputs that the step declares', async () => {
    const files = { 'candidate.cu': `#include "reference.h"\n${candidate}`, 'reference.h': 'double answer;' };
    const { steps } = await run(bundleOf(files, [cuBuild]));
    expect(steps[0]).toMatchObject({ status: 'failed' });
    expect(steps[0]?.stderr).toContain('reference.h: No such file');
  });

  it('says what is wrong with the machine, not the code: no GPU for native, no nvcc, an architecture too new', async () => {
    const bundle = bundleOf({ 'candidate.cu': candidate }, [cuBuild]);
    const native = await run({ ...bundle, job: { ...bundle.job, arch: 'native' } });
    expect(native.steps[0]).toMatchObject({ status: 'environment', reason: { code: 'env.gpu-missing' } });
    const none = await run(bundle, executor({}, { ...tools, nvcc: null }));
    expect(none.steps[0]).toMatchObject({ status: 'environment', reason: { code: 'env.toolkit-missing' } });
    const absent = await run(bundle, executor({}, { ...tools, nvcc: '/opt/gone/bin/nvcc' }));
    expect(absent.steps[0]).toMatchObject({ status: 'environment' });
    const unknown = { ...bundle, job: { ...bundle.job, arch: 'sm_999' } };
    expect((await run(unknown)).steps[0]).toMatchObject({
      status: 'environment',
      reason: { code: 'env.arch-unsupported' },
    });
    // Asked of nvcc itself, for the case that its list was not known.
    const asked = await run(unknown, executor({}, { ...tools, archs: [] }));
    expect(asked.steps[0]).toMatchObject({ status: 'environment', reason: { code: 'env.arch-unsupported' } });
  });
});

const cxxBuild = (id: string, more: Partial<Parameters<typeof buildStep>[0]> = {}): ReturnType<typeof buildStep> =>
  buildStep({ id, args: ['-std=c++17', '-o', id, `${id}.cpp`], inputs: [`${id}.cpp`], outputs: [id], ...more });

/** Keeps a real compiler busy for as long as it is let. */
const endless =
  'constexpr long f() { long s = 0; for (long i = 0; i < (1L << 60); ++i) s += i; return s; }\nconstexpr long x = f();\nint main() { return x; }\n';
const endlessArgs = [
  '-fconstexpr-loop-limit=2147483647',
  '-fconstexpr-ops-limit=9223372036854775807',
  '-c',
  '-o',
  'e.o',
  'e.cpp',
];
const endlessBuild = (more: Partial<Parameters<typeof buildStep>[0]> = {}): ReturnType<typeof buildStep> =>
  buildStep({ id: 'e', args: endlessArgs, inputs: ['e.cpp'], outputs: ['e.o'], ...more });

describe('steps', () => {
  it('runs independent builds side by side and dependent ones after', async () => {
    const slow = (id: string): string =>
      `template<int N> struct S { enum { v = S<N-1>::v + N }; }; template<> struct S<0> { enum { v = 0 }; };\nint ${id}() { return S<800>::v; }\nint main() {}`;
    const files = { 'a.cpp': slow('a'), 'b.cpp': slow('b'), 'c.cpp': 'int main() {}' };
    let running = 0;
    let most = 0;
    const order: string[] = [];
    const steps = [cxxBuild('a'), cxxBuild('b'), cxxBuild('c', { needs: ['a', 'b'] })];
    const result = await run(bundleOf(files, steps), executor({ parallelBuilds: 2 }), {
      onProgress: (p: { step: string }) => order.push(p.step),
      onProcess: (p: { pid: number }) => {
        most = Math.max(most, ++running);
        const timer = setInterval(() => {
          if (pidExists(p.pid)) return;
          clearInterval(timer);
          running--;
        }, 2);
      },
    });
    expect(result.steps.map((step) => [step.id, step.status])).toEqual([
      ['a', 'ok'],
      ['b', 'ok'],
      ['c', 'ok'],
    ]);
    expect(most).toBe(2);
    expect(order).toEqual(['a', 'b', 'c']);
  });

  it('counts as a build’s time the compiler’s, not the wait for a place', async () => {
    const slow = 'constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\nstatic_assert(f(21) > 0);\n';
    const files = { 'a.cpp': slow, 'b.cpp': `${slow}int b;`, 'c.cpp': `${slow}int c;` };
    const steps = Object.keys(files).map((name) =>
      buildStep({ id: name, args: ['-c', name, '-o', `${name}.o`], inputs: [name], outputs: [`${name}.o`] }),
    );
    const result = await run(bundleOf(files, steps), executor({ parallelBuilds: 1 }));
    expect(result.steps.map((step) => step.status)).toEqual(['ok', 'ok', 'ok']);
    const spans = result.steps.map(({ beganAt = 0, wallMs }) => ({ begin: beganAt, end: beganAt + wallMs }));
    spans.sort((a, b) => a.begin - b.begin);
    // The clock of beginnings has steps of a millisecond.
    for (const [i, span] of spans.slice(1).entries()) expect(span.begin).toBeGreaterThan((spans[i]?.end ?? 0) - 5);
  });

  it('hands outputs on to later builds, and skips what needs a failed one', async () => {
    const files = {
      'a.cpp': 'int f() { return 0; }',
      'm.cpp': 'int f(); int main() { return f(); }',
      'bad.cpp': 'int',
    };
    const object = cxxBuild('a', { args: ['-c', '-o', 'lib/a.o', 'a.cpp'], outputs: ['lib/a.o'] });
    const linked = cxxBuild('m', { needs: ['a'], args: ['-o', 'm', 'm.cpp', 'lib/a.o'], inputs: ['m.cpp', 'lib/a.o'] });
    const { steps } = await run(
      bundleOf(files, [object, linked, cxxBuild('bad'), cxxBuild('m', { id: 'n', needs: ['bad'] })]),
    );
    expect(steps.map((step) => step.status)).toEqual(['ok', 'ok', 'failed', 'skipped']);
    expect(steps[3]?.reason?.message).toContain('step bad ended with "failed"');
  });

  it('does not call a build good that left no output, or a link instead', async () => {
    const { steps } = await run(bundleOf({ 'a.cpp': 'int main() {}' }, [cxxBuild('a', { outputs: ['other'] })]));
    expect(steps[0]).toMatchObject({ status: 'failed', reason: { code: 'internal' } });
  });

  it('stops a build that hangs and one that eats memory', async () => {
    const hung = endlessBuild({ limits: { ...limits, wallMs: 1500 } });
    const result = await run(bundleOf({ 'e.cpp': endless }, [hung]));
    expect(result.steps[0]).toMatchObject({ status: 'timeout', reason: { code: 'env.killed' } });
    expect(result.steps[0]?.wallMs).toBeLessThan(8000);
    const big = cxxBuild('a', { limits: { ...limits, memoryMiB: 20 } });
    const eaten = await run(
      bundleOf({ 'a.cpp': '#include <regex>\n#include <map>\nint main() { std::regex r("a"); }' }, [big]),
    );
    expect(eaten.steps[0]).toMatchObject({ status: 'killed', reason: { code: 'env.killed' } });
    expect(eaten.steps[0]?.reason?.message).toContain('20 MiB');
  });

  it('tries a killed compiler once more, then says killed: never a code fault', async () => {
    const pids: number[] = [];
    const killer = setInterval(() => {
      const victim = pids.flatMap((pid) => treeOf(pid)).find((p) => /cc1plus/.test(commandOf(p.pid)));
      if (victim) process.kill(victim.pid, 'SIGKILL');
    }, 50);
    const { steps } = await run(bundleOf({ 'e.cpp': endless }, [endlessBuild()]), executor(), {
      onProcess: (p: { pid: number }) => pids.push(p.pid),
    });
    clearInterval(killer);
    expect(pids).toHaveLength(2);
    expect(steps[0]).toMatchObject({ status: 'killed', reason: { code: 'env.killed' } });
  });

  it('caps the words of a compiler', async () => {
    const source = `#warning much\n`.repeat(4000);
    const step = cxxBuild('a', {
      args: ['-o', 'a', 'a.cpp'],
      limits: { ...limits, outputBytes: 20_000 },
    });
    const { steps } = await run(bundleOf({ 'a.cpp': source }, [step]));
    expect(steps[0]?.status).toBe('failed');
    expect(steps[0]?.stderr.length).toBeLessThan(25_000);
    expect(steps[0]?.stderr).toContain('a.cpp:1:');
  });

  it('is cancelled at once, with nothing left', async () => {
    const cancel = new AbortController();
    const pids: number[] = [];
    setTimeout(() => cancel.abort(), 500);
    const began = performance.now();
    const going = run(bundleOf({ 'e.cpp': endless }, [endlessBuild()]), executor(), {
      signal: cancel.signal,
      onProcess: (p: { pid: number }) => pids.push(p.pid),
    });
    await expect(going).rejects.toMatchObject({ error: { code: 'cancelled' } });
    expect(performance.now() - began).toBeLessThan(3000);
    expect(pids.some((pid) => pidExists(pid))).toBe(false);
    expect(ownScratch()).toEqual([]);
  });

  it('refuses to run untrusted code without a sandbox where the settings say so', async () => {
    const bare = { ...tools, bwrap: null };
    const bundle = bundleOf({ 'a.cpp': 'int main() {}' }, [cxxBuild('a')]);
    const refused = run(bundle, executor({ requireSandbox: true }, bare));
    await expect(refused).rejects.toMatchObject({ error: { code: 'env.sandbox-missing' } });
    const result = await run(bundle, executor({}, bare));
    expect(result.machine.containment).toBe('none');
    expect(result.steps[0]?.status).toBe('ok');
  });
});

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

const session = (id: string, more: Partial<SessionStep> = {}): SessionStep => ({
  kind: 'session',
  id,
  needs: [],
  limits,
  plan: {
    mode: 'time',
    runner: 'hostile',
    judge: '',
    shim: '',
    phase: 'nominate',
    arms: [{ id: 'O', lib: '', symbol: 'f' }],
    problems: [],
    weights: [],
    processes: 1,
    soloProcesses: 0,
    blocks: { min: 2, max: 2, budgetMs: 1 },
    flush: 'none',
    gate: true,
    quantities: ['wrapper', 'span'],
    positions: 1,
    nominateAbove: 1.01,
  },
  ...more,
});
const timed = (nominated: boolean): SessionResult => ({
  mode: 'time',
  phase: 'nominate',
  gpu: null,
  samples: [],
  timerStepNs: 1,
  peaks: null,
  activities: [],
  whole: [],
  sampledChecks: 0,
  incidents: [],
  voided: 0,
  nominated,
  pointR: null,
});
const gpuTools = { ...tools, machine: { ...tools.machine, gpu: { name: 'G', uuid: 'GPU-test-1', cc: '9.0' } } };
const hostileBuild = cxxBuild('hostile', { args: ['-std=c++17', '-o', 'hostile', 'hostile.cpp'] });
const withHostile = (steps: SessionStep[], more = {}): ReturnType<typeof bundleOf> =>
  bundleOf({ 'hostile.cpp': hostileSource }, [hostileBuild, ...steps], more);
const cached: LocalSettings = { buildCacheDir: join(root.path, 'cache') };

describe('sessions', () => {
  it('draws one seed per step and position, different ones everywhere', async () => {
    const seeds: string[] = [];
    const runSession = async (_: unknown, context: SessionContext) => {
      seeds.push(context.seed);
      return { status: 'ok' as const, result: timed(true) };
    };
    const on = executor({ runSession });
    const bundle = bundleOf({}, [session('s1'), session('s2')]);
    await run(bundle, on);
    await run(bundle, on);
    await run(bundle, on, { position: 'r2.a0.eval' });
    await run(bundle, on, { rootSeed: 'fedcba' });
    expect(seeds.slice(0, 2)).toEqual(seeds.slice(2, 4));
    expect(new Set(seeds).size).toBe(6);
    expect(seeds.every((seed) => /^[0-9a-f]{64}$/.test(seed))).toBe(true);
  });

  it('confirms only what was nominated', async () => {
    for (const nominated of [true, false]) {
      const runSession = async () => ({ status: 'ok' as const, result: timed(nominated) });
      const bundle = bundleOf({}, [session('nominate'), session('confirm', { ifNominated: 'nominate' })]);
      const { steps } = await run(bundle, executor({ runSession }));
      expect(steps.map((step) => step.status)).toEqual(['ok', nominated ? 'ok' : 'skipped']);
    }
  });

  it('runs candidates contained, in a fresh folder each time, and cleans up after them', async () => {
    const seen: string[] = [];
    const runSession = async (_: unknown, context: SessionContext) => {
      const start = (args: string[], sandbox = true) =>
        context.start(['./hostile', ...args], { sandbox, gpu: true, wallMs: 20_000 });
      seen.push((await start(['read', 'left-behind']).exited).stdout);
      seen.push((await start(['write', 'left-behind']).exited).stdout);
      seen.push((await start(['write', 'hostile']).exited).stdout);
      seen.push((await start(['read', '/root']).exited).stdout);
      start(['sleep']); // forgotten: the executor ends it
      return { status: 'ok' as const };
    };
    const began = performance.now();
    const result = await run(withHostile([session('one'), session('two')]), executor({ ...cached, runSession }));
    expect(result.steps.map((step) => step.status)).toEqual(['ok', 'ok', 'ok']);
    const each = [/^errno No such file/, /^did/, /^errno (Text file busy|Read-only)/, /^errno/];
    expect(seen).toHaveLength(8);
    seen.forEach((text, i) => {
      expect(text).toMatch(each[i % 4] as RegExp);
    });
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(ownScratch()).toEqual([]);
  });

  it('keeps text outputs: capped, no links followed, nothing binary', async () => {
    const runSession = async (_: unknown, context: SessionContext) => {
      writeFileSync(join(context.scratch, 'log.txt'), 'x'.repeat(5000));
      writeFileSync(join(context.scratch, 'data.bin'), Buffer.from([1, 0, 2]));
      const link = context.start(['./hostile', 'symlink', '/etc/passwd', 'link.txt'], {
        sandbox: true,
        gpu: false,
        wallMs: 9000,
      });
      await link.exited;
      return { status: 'ok' as const };
    };
    const keep = ['log.txt', 'data.bin', 'link.txt', 'absent.txt', 'hostile.cpp'];
    const result = await run(
      withHostile([session('s')], { keep }),
      executor({ ...cached, runSession, keepBytes: 1000 }),
    );
    expect(Object.keys(result.outputs).sort()).toEqual(['hostile.cpp', 'log.txt']);
    expect(result.outputs['log.txt']).toMatch(/^x{1000}\n\[cut: 5000 bytes/);
  });

  it('takes turns on a GPU with every other process of the machine', async () => {
    const lockDir = join(root.path, 'locks');
    const notes: string[] = [];
    let held = true;
    const runSession = async () => {
      expect(held).toBe(false);
      return { status: 'ok' as const };
    };
    let going: Promise<JobResult> | null = null;
    await withFileLock(lockFile('GPU-test-1', lockDir), async () => {
      going = run(bundleOf({}, [session('s')]), executor({ runSession }, gpuTools), {
        onProgress: (p: { note?: string }) => notes.push(p.note ?? ''),
      });
      await new Promise((done) => setTimeout(done, 700));
      held = false;
    });
    expect((await (going as unknown as Promise<JobResult>)).steps[0]?.status).toBe('ok');
    expect(notes.some((note) => note.includes(`waiting for the GPU (process ${process.pid}`))).toBe(true);
  });

  it('gives up waiting for a GPU when cancelled', async () => {
    const cancel = new AbortController();
    await withFileLock(lockFile('GPU-test-1', join(root.path, 'locks')), async () => {
      setTimeout(() => cancel.abort(), 300);
      const going = run(bundleOf({}, [session('s')]), executor({}, gpuTools), { signal: cancel.signal });
      await expect(going).rejects.toMatchObject({ error: { code: 'cancelled' } });
    });
  });

  it('removes its folder when a session throws, and says what was thrown', async () => {
    const runSession = async () => {
      throw new Error('a bug in the broker');
    };
    await expect(run(bundleOf({}, [session('s')]), executor({ runSession }))).rejects.toThrow('a bug in the broker');
    expect(ownScratch()).toEqual([]);
  });
});

describe('kill -9 of the program', () => {
  it('takes the compiler along; the scratch folder is swept later', async () => {
    const home = join(root.path, 'home');
    mkdirSync(home);
    const at = (path: string): string => JSON.stringify(join(import.meta.dirname, path));
    const script = `
      import { LocalExecutor } from ${at('../../main/jobs/local.ts')};
      import { bundleOf, buildStep, tools } from ${at('./support.ts')};
      const bundle = bundleOf({ 'e.cpp': ${JSON.stringify(endless)} }, [buildStep(${JSON.stringify(endlessBuild())})]);
      await new LocalExecutor(tools, { buildCacheDir: null }).execute(bundle, {
        rootSeed: 'ab', position: 'p', onProcess: (p) => console.log(p.pid) });`;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<number>((done) => child.stdout.on('data', (chunk) => done(Number(String(chunk)))));
    await expect
      .poll(() => treeOf(pid).some((p) => commandOf(p.pid).includes('cc1plus')), { timeout: 20_000 })
      .toBe(true);
    const members = treeOf(pid).map((p) => p.pid);
    const mark = readdirSync(tempDir()).filter((name) => name.startsWith(`cm-${(child.pid ?? 0).toString(36)}-`));
    expect(mark.length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    const alive = (): number => allProcesses().filter((p) => p.state !== 'Z' && members.includes(p.pid)).length;
    await expect.poll(alive, { timeout: 5000 }).toBe(0);
    await expect.poll(() => pidExists(child.pid ?? 0)).toBe(false);
    sweepScratch();
    for (const name of mark) expect(existsSync(join(tempDir(), name))).toBe(false);
  });
});
