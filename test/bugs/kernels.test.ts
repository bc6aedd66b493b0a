/** Reports about generated kernels: failing, or passing wrongly. The candidate's process is a fake one; broker, judgement and loop are real. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pidExists } from '../../main/base/proc.ts';
import { unwrap, type VerifyPlan } from '../../main/contract/index.ts';
import { decide } from '../../main/evaluate/accept.ts';
import { screen, withExternC } from '../../main/evaluate/screen/index.ts';
import { loadTask } from '../../main/evaluate/task/index.ts';
import { comparisonPassed } from '../../main/jobs/verified.ts';
import { candidate, root } from '../app/lab.ts';
import { comparison, problem as fakeProblem, figuresInput, timeResult } from '../evaluate/fakes.ts';
import { baseTime, simulate } from '../evaluate/noise.ts';
import { context, fakes, problem, programs, scratch, script, session, tools, trace } from '../session/support.ts';
import { askedToDebug, fakeCompiler, optimizeWith, tempFolder } from './engine.ts';

const plan: VerifyPlan = {
  mode: 'verify',
  ...programs,
  arm: { id: 'C', lib: 'candidate.so', symbol: 'f_optimized' },
  problems: [problem('verify/0')],
  seeds: 2,
};

/** The first evaluation of a run whose candidate behaves so, and what the Debug agent was told of it. */
async function judged(runner: object, judge: object = {}) {
  const ran = await optimizeWith({ peers: { runner, judge } });
  expect([ran.report.status, ran.exitCode]).toEqual(['done', 0]);
  const event = ran.events.find((e) => e.type === 'evaluated');
  if (event?.type !== 'evaluated') throw new Error('nothing was evaluated');
  return { evaluation: event.evaluation, told: askedToDebug(ran)[0]?.split('# What went wrong')[1] ?? '', ran };
}

describe('kernels that fail', () => {
  it('B41: a kernel that never ends is ended with its process, and the GPU is asked before anything else runs', async () => {
    using at = scratch();
    fakes(at, { on: { 'call C': { do: 'hang' } } });
    // A call may take a third of it; the rest must do for the process that asks the GPU, on a busy machine too.
    const limits = { wallMs: 15_000, memoryMiB: 2048, outputBytes: 1 << 20 };
    const { result } = await session(plan, context(at, { limits }));
    expect(result.incidents.map((i) => [i.kind, i.arm])).toEqual([['timeout', 'C']]);
    for (const [, pid] of trace(at)) expect(pidExists(Number(pid))).toBe(false);
    const runners = trace(at).filter((t) => t[0] === 'runner');
    expect(runners.filter((t) => t[2] === 'hello')).toHaveLength(2);
  }, 60_000);

  it('B42: an illegal address stays with its author: first error told, next process fresh', async () => {
    const message = 'cudaErrorIllegalAddress: an illegal memory access was encountered';
    const { evaluation, told, ran } = await judged({ on: { 'call C': { do: 'reply', reply: { cuda: message } } } });
    expect([evaluation.outcome, evaluation.verified]).toEqual(['runtime-error', false]);
    expect(told).toContain(message);
    expect(told).toContain('outside its buffers');
    // The origin measured before it, and every later attempt was begun and judged by itself.
    expect(ran.events.filter((e) => e.type === 'evaluated').length).toBeGreaterThan(1);
  });

  it('B42: compute-sanitizer, where it is, looks at the call again and says where the access is', async () => {
    using at = scratch();
    const cuda = 'cudaErrorIllegalAddress: an illegal memory access was encountered';
    fakes(at, { on: { 'call C': { do: 'reply', reply: { cuda } } } });
    script(
      at,
      'sanitizer',
      `const args = process.argv.slice(2);
       const at = args.indexOf('./runner');
       require('node:child_process').spawn(args[at], args.slice(at + 1), { stdio: 'inherit' }).on('exit', () => {
         require('node:fs').writeFileSync(args[args.indexOf('--log-file') + 1], '========= Invalid __global__ write of size 4 bytes\\n=========     at k(float *, int)+0x70 in candidate.cu:7\\n========= \\n========= ERROR SUMMARY: 1 error\\n');
         process.exit(Number(args[args.indexOf('--error-exitcode') + 1]));
       });`,
    );
    const ctx = context(at, { tools: { ...tools, sanitizer: join(at.path, 'sanitizer') } });
    const { status, result } = await session(plan, ctx);
    expect([status, result.incidents.map((i) => i.kind)]).toEqual(['ok', ['cuda-error']]);
    expect(result.incidents[0]?.message).toContain(cuda);
    expect(result.incidents[0]?.detail).toMatch(/memcheck: 1 error\nInvalid __global__ write.*\n.*candidate\.cu:7/);
    const memchecks = ctx.started.filter(({ argv }) => argv.includes('memcheck'));
    expect(memchecks).toHaveLength(1);
    expect(memchecks[0]?.options.sandbox).toBe(true);
  });

  it('B42: without a sanitizer, or with one that does not work, the first error stands as it is', async () => {
    for (const sanitizer of [null, '/nonexistent/compute-sanitizer']) {
      using at = scratch();
      fakes(at, { on: { 'call C': { do: 'reply', reply: { cuda: 'cudaErrorIllegalAddress: x' } } } });
      const { status, result } = await session(plan, context(at, { tools: { ...tools, sanitizer } }));
      expect([status, result.incidents.map((i) => [i.kind, i.detail])]).toEqual(['ok', [['cuda-error', undefined]]]);
    }
  });

  it('B43: the model is told registers, the limit of the GPU, and the threads that leaves room for', async () => {
    const cuda = 'cudaErrorLaunchOutOfResources: too many resources requested for launch';
    const gpu = { name: 'G', uuid: 'GPU-0', cc: '9.0', regsPerSm: 65_536 };
    const others = ['sms', 'l2Bytes', 'memoryBytes', 'smClockMHz', 'memClockMHz', 'maxThreadsPerSm', 'sharedPerSm'];
    const rest = [...others, 'sharedPerBlockOptin', 'driver', 'runtime'].map((name) => [name, 1] as const);
    const hello = { do: 'reply', reply: { pid: 1, gpu: { ...gpu, ...Object.fromEntries(rest) } } };
    const peers = { runner: { on: { hello, 'call C': { do: 'reply', reply: { cuda } } } } };
    const bin = tempFolder();
    const ptxas = [
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'",
      'ptxas info    : Used 162 registers, used 1 barriers, 64 bytes smem',
    ];
    const nvcc = fakeCompiler(bin, 'nvcc', ptxas.map((line) => `echo "${line}" >&2`).join('\n'), peers);
    const ran = await optimizeWith({ nvcc, cxx: fakeCompiler(bin, 'g++', '', peers), peers });
    const told = askedToDebug(ran)[0]?.split('# What went wrong')[1] ?? '';
    expect(told).toMatch(
      /162 registers a thread and 64 bytes.*65536 registers of a multiprocessor.* 384 threads a block/,
    );
  });

  it('B43: a launch that asks for too much fails as such and tells the model why', async () => {
    const message = 'cudaErrorLaunchOutOfResources: too many resources requested for launch';
    const { evaluation, told } = await judged({ on: { 'call C': { do: 'reply', reply: { cuda: message } } } });
    expect(evaluation.outcome).toBe('runtime-error');
    expect(told).toMatch(/too many resources requested for launch[\s\S]*more registers or shared memory/);
  });

  it('B43: a launch that nobody checked did no GPU work: it is refused, however fast', async () => {
    const { evaluation } = await judged({ on: { 'call C': { do: 'reply', reply: {} } } });
    expect([evaluation.outcome, evaluation.figures]).toEqual(['cheat', null]);
    expect(evaluation.reason).toContain('no GPU work');
  });

  it('B44: a missing, renamed or mangled wrapper is named with what was expected, before anything is built', () => {
    const { task } = unwrap(loadTask(root, 'dot_product'));
    const good = candidate('1');
    const why = (source: string) =>
      screen(source, task, 'fp32')
        .rejections.map((r) => r.why)
        .join('\n');
    expect(why(good)).toBe('');
    const expected = 'dot_product_optimized(float';
    expect(why(good.replace('extern "C" ', ''))).toMatch(/lacks extern "C"; nothing else is wrong/);
    const renamed = why(good.replace('void dot_product_optimized(', 'void dot_product_fast('));
    expect(renamed).toMatch(/no definition of dot_product_optimized was found; expected: .*; found dot_product_fast/);
    expect(renamed).toContain(expected);
    // The only gap is filled, wherever the definition begins; anything more stays the model's to mend.
    const bare = good.replace('extern "C" ', '');
    const mended = withExternC(bare, task, 'fp32');
    expect(mended).toBe(good);
    expect(withExternC(good, task, 'fp32')).toBeNull();
    expect(withExternC(`${bare}\n#include <thread>\n`, task, 'fp32')).toBeNull();
    const split = bare.replace('void dot_product_optimized', '  void\ndot_product_optimized');
    expect(withExternC(split, task, 'fp32')).toBe(split.replace('  void\n', '  extern "C" void\n'));
    const comment = bare.replace('void dot_product_optimized', '/* one\n two */ void dot_product_optimized');
    expect(withExternC(comment, task, 'fp32')).toBeNull(); // would stand in the comment
    const changed = why(good.replace(/(dot_product_optimized\(float\* loss, const float\* X), const float\* Y/, '$1'));
    expect(changed).toMatch(/takes \(.*\), expected \(.*\)/);
  });
});

describe('kernels that pass wrongly', () => {
  it('B45: a NaN is a failure, never a wildcard, and is counted and located', async () => {
    const limits = fakeProblem('a');
    expect(comparisonPassed(comparison(), limits)).toBe(true);
    for (const over of [{ nonFinite: 1 }, { bad: 1 }, { rms: Number.NaN }])
      expect(comparisonPassed(comparison(over), limits)).toBe(false);
    const { evaluation, told } = await judged({}, { wrongAll: Array.from({ length: 200 }, (_, i) => i + 1) });
    expect(evaluation.outcome).toBe('wrong-result');
    expect(told).toMatch(/nan/i);
  });

  it('B46: zeros, changed inputs and work on another stream are refused', async () => {
    const of = (reply: object) => judged({ on: { check: { do: 'reply', reply } } });
    const changed = await of({ guards: [], inputs: [{ buf: 'x', mismatches: 64, first: 0 }] });
    expect([changed.evaluation.outcome, changed.told.includes('changed 64 elements of input x')]).toEqual([
      'cheat',
      true,
    ]);
    const acts = [
      { kind: 'kernel', name: 'k', n: 1, ns: 5, grid: [1, 1, 1], block: [32, 1, 1], regs: 1, shs: 0, shd: 0 },
    ];
    const stream = await judged({ on: { 'call C': { do: 'reply', reply: { unjoined: 1, spanNs: 5, acts } } } });
    expect(stream.evaluation.outcome).toBe('cheat');
    expect(stream.evaluation.reason).toContain('another stream');
  });

  it('B46: limits follow the size of the true values: zeros fail where these are tiny', () => {
    // Made by the real judges of all tasks; test/mutations makes every row anew.
    const page = readFileSync(join(root, 'docs/mutations.md'), 'utf8').split('\n');
    const titles = (page.find((l) => l.startsWith('| task |')) ?? '').split('|').map((c) => c.trim());
    const zero = titles.findIndex((t) => /all zero|^zero/.test(t));
    expect(zero).toBeGreaterThan(0);
    const softmax = page.filter((l) => l.startsWith('| softmax |')).map((l) => l.split('|').map((c) => c.trim()));
    expect(softmax.map((cells) => cells[zero])).toEqual(['elements', 'elements']);
  });

  it('B47: faster than the GPU can be is suspect; inside the noise nothing is improved', () => {
    const noise = {
      processes: 3,
      solo: 2,
      problems: 2,
      blocks: 16,
      call: 0.01,
      tail: 0.03,
      drift: 0.003,
      process: 0.002,
      step: 32,
    };
    const run = (slower: number) =>
      timeResult(simulate(noise, (arm, i) => baseTime(i) * (arm === 'O' ? 3 : arm === 'B' ? 1 : slower), 'b47'));
    expect(decide(figuresInput(run(0.5), 2), 1).outcome).toBe('accepted');
    const roof = { ...figuresInput(run(0.5), 2), floors: [baseTime(0), baseTime(1)] };
    expect(decide(roof, 1).outcome).toBe('suspect');
    for (const slower of [1, 0.996]) expect(decide(figuresInput(run(slower), 2), 1).outcome).toBe('not-faster');
  });
});
