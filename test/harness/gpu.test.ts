import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildArm, buildShim, cuda, judgeProgram, newFolder, runnerProgram } from './build.ts';
import { Program } from './client.ts';

const seed = '00000000000000c3';
const symbol = 'scale_sum_optimized';
const n = 3_000_001;

const version = (body: string): string => `
#include <cuda_runtime.h>
#include <unistd.h>
#include <thread>
__global__ void scale_kernel_optimized(const float* x, float* y, float a, int n) {
  for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x) y[i] = a * x[i];
}
__global__ void sum_kernel_optimized(const float* x, float* s, int n) {
  __shared__ double part[256];
  double t = 0;
  for (int i = threadIdx.x; i < n; i += 256) t += x[i];
  part[threadIdx.x] = t;
  __syncthreads();
  for (int w = 128; w > 0; w >>= 1) {
    if (threadIdx.x < w) part[threadIdx.x] += part[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) *s = float(part[0]);
}
static void work(const float* x, float* y, float* s, float a, int n, cudaStream_t st) {
  scale_kernel_optimized<<<1024, 256, 0, st>>>(x, y, a, n);
  sum_kernel_optimized<<<1, 256, 0, st>>>(x, s, n);
}
extern "C" void ${symbol}(const float* x, float* y, float* s, float a, int n, long m) {
  ${body}
}
`;
const side =
  'static cudaStream_t st = [] { cudaStream_t t; cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking); return t; }();';
const versions = {
  honest: version('work(x, y, s, a, n, 0);'),
  badLaunch: version('scale_kernel_optimized<<<1, 4096>>>(x, y, a, n);'),
  side: version(`${side} work(x, y, s, a, n, st);`),
  late: version(`${side} work(x, y, s, a, n, st);
    std::thread([=] { usleep(30000); sum_kernel_optimized<<<1, 256, 0, st>>>(x, s, n); cudaStreamSynchronize(st); }).detach();`),
  wild: version('scale_kernel_optimized<<<1, 256>>>((const float*)8, y, a, n);'),
};

const problem = [
  'guarded',
  `dims N=${n}`,
  `buf x in f32 ${n} 0 uniform -1 1`,
  `buf y out f32 ${n} 1`,
  'buf s out f32 1 2',
  ...['buf 0', 'buf 1', 'buf 2', 'float 3', `int ${n}`, `long ${n}`].map((a) => `arg ${a}`),
  `tol 1 0 0.9 ${2 ** -24} ${2 ** -24}`,
  `tol 2 4 0.9 ${2 ** -24} ${2 ** -24}`,
].join('\n');

describe.skipIf(cuda === null)('GPU runner', () => {
  const dir = newFolder();
  let gpu = false;
  const open: Program[] = [];
  const start = async (): Promise<Program> => {
    const p = await Program.start(runnerProgram('gpu'), dir);
    open.push(p);
    return p;
  };
  const ready = async (...arms: (keyof typeof versions)[]): Promise<Program> => {
    const p = await start();
    await p.ok('hello');
    await p.ok('shim', 'shim-fp32.so');
    for (const arm of arms) await p.ok('load', `${arm} ${arm}.so ${symbol}`);
    await p.ok('problem', problem);
    return p;
  };
  beforeAll(async () => {
    runnerProgram('gpu');
    const { json } = await (await start()).ask('hello');
    gpu = json.ok;
    if (!gpu) {
      buildArm(dir, 'late', versions.late, symbol, 'gpu'); // must compile here too
      return;
    }
    buildShim(dir);
    for (const [name, source] of Object.entries(versions)) buildArm(dir, name, source, symbol, 'gpu');
  }, 600_000);
  afterAll(async () => {
    for (const p of open) await p.quit();
  });

  it('describes the GPU, or says by CUDA error name that there is none', async () => {
    const p = await start();
    const { json } = await p.ask('hello');
    if (gpu) {
      expect(json.gpu).toMatchObject({ name: expect.any(String), uuid: expect.stringMatching(/^GPU-[0-9a-f-]{36}$/) });
      return;
    }
    expect(json).toMatchObject({ ok: false, error: 'cuda', message: expect.stringMatching(/^cudaError\w+: /) });
    expect((await p.ask('prepare', `${seed} none`)).json).toMatchObject({ ok: false, error: 'usage' });
    expect((await p.ask('cupti', 'on')).json).toMatchObject({ ok: false, error: 'usage' });
  });

  it('passes its self-test', { timeout: 120_000 }, async ({ skip }) => {
    if (!gpu) skip('no GPU');
    const p = await start();
    await p.ok('hello');
    const { json } = await p.ok('selftest');
    expect(json.checks.filter((c: { ok: boolean }) => !c.ok)).toEqual([]);
    expect(json.passed).toBe(true);
  });

  it('runs versions, sees their work, errors and late work', { timeout: 120_000 }, async ({ skip }) => {
    if (!gpu) skip('no GPU');
    const judge = await Program.start(judgeProgram(), dir);
    open.push(judge);
    await judge.ok('problem', problem);
    const p = await ready('honest', 'side', 'badLaunch', 'late');
    for (const quantity of ['plain', 'wrapper']) {
      await p.ok('prepare', `${seed} read`);
      expect((await p.ok('call', `honest ${quantity}`)).json).toMatchObject({ cuda: null, newThreads: [] });
    }
    await p.ok('cupti', 'on');
    for (const arm of ['honest', 'side']) {
      await p.ok('prepare', `${seed} write`);
      const { json } = await p.ok('call', `${arm} span`);
      expect(json).toMatchObject({ cuda: null, late: 0, stragglers: 0, invalid: 0, dropped: 0, newThreads: [] });
      expect(json.acts.map((a: { name: string; n: number }) => [a.name.split('(')[0], a.n])).toEqual([
        ['scale_kernel_optimized', 1],
        ['sum_kernel_optimized', 1],
      ]);
      expect(json.spanNs).toBeGreaterThan(1000);
      expect(json.spanNs).toBeLessThan(json.wrapperNs);
      await p.ok('dump', '1 y.bin');
      await p.ok('dump', '2 s.bin');
      expect((await judge.ok('all', `${seed} 1 y.bin`)).json.comparison).toMatchObject({ bad: 0, compared: n });
      expect((await judge.ok('all', `${seed} 2 s.bin`)).json.comparison).toMatchObject({ bad: 0 });
      expect((await p.ok('check', seed)).json).toMatchObject({ guards: [], inputs: [] });
    }
    await p.ok('prepare', `${seed} read`);
    const bad = (await p.ok('call', 'badLaunch span')).json;
    expect(bad.cuda).toMatch(/^cudaErrorInvalidConfiguration: /);
    await p.ok('prepare', `${seed} read`);
    expect((await p.ok('call', 'late span')).json.threads[1]).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await p.ok('prepare', `${seed} read`);
    expect((await p.ok('call', 'honest span')).json).toMatchObject({ late: 1, cuda: null });
    expect((await p.ok('burst', 'honest 3 50')).json.totalMs).toBeGreaterThan(0);
    const peaks = (await p.ok('peaks')).json.peaks;
    expect(Object.values(peaks).every((v) => typeof v === 'number' && v > 0)).toBe(true);
    expect((await p.ok('clocks')).json.smMHz).toBeGreaterThan(0);
  });

  it('reports an illegal address once', { timeout: 60_000 }, async ({ skip }) => {
    if (!gpu) skip('no GPU');
    const p = await ready('wild');
    await p.ok('prepare', `${seed} none`);
    expect((await p.ok('call', 'wild wrapper')).json.cuda).toMatch(/^cudaErrorIllegalAddress: /);
    expect((await p.ask('prepare', `${seed} none`)).json).toMatchObject({ ok: false, error: 'cuda' });
  });
});
