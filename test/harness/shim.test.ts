import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { armCompileArgs, shimSource, versionScript } from '../../main/jobs/session/shim.ts';
import { buildArm, buildShim, cuda, exampleTask, newFolder, runnerProgram } from './build.ts';
import { candidates, symbol } from './candidates.ts';
import { Program, positionsBlob } from './client.ts';
import { values } from './model.ts';

const exported = (dir: string, lib: string): string[] =>
  execFileSync('nm', ['-D', '--defined-only', join(dir, lib)], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => line.split(' ')[2] ?? [])
    .sort();

/**
 * Kernels, inline statics and a helper under names that the other version uses too. The wrapper runs on the host alone here
 * (pointers of the host runner), so that this works without a GPU.
 */
const cudaVersion = (by: number): string => `
#include <cuda_bf16.h>
#include <cuda_runtime.h>
struct Box { static inline int calls = 0; };
inline int& hidden() { static int v = 0; return v; }
__device__ float workspace[256];
__global__ void scale_kernel_optimized(const __nv_bfloat16* x, __nv_bfloat16* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __float2bfloat16(${by} * __bfloat162float(x[i]) + workspace[i & 255]);
}
extern "C" void ${symbol}(const __nv_bfloat16* x, __nv_bfloat16* y, float* s, __nv_bfloat16 a, int n, long m) {
  Box::calls += ${by}; hidden() += ${by};
  if (n < 0) scale_kernel_optimized<<<1, 256>>>(x, y, n);
  y[0] = a; y[1] = __float2bfloat16(float(n)); y[2] = __float2bfloat16(float(m));
  s[0] = float(Box::calls); s[1] = float(hidden());
}
`;
const bf16Problem = [
  'guarded',
  'buf x in bf16 8 0 uniform -1 1',
  'buf y out bf16 8 1',
  'buf s out f32 2 2',
  ...['buf 0', 'buf 1', 'buf 2', 'bf16 -2.5', 'int 7', 'long 9'].map((arg) => `arg ${arg}`),
].join('\n');

describe('shim', () => {
  it('names types per dtype and no parameter', () => {
    const [fp32, bf16] = [shimSource(exampleTask, 'fp32'), shimSource(exampleTask, 'bf16')];
    expect(fp32).toContain('void (*)(const float*, float*, float*, float, int, long)');
    expect(fp32).toContain('"pppfil"');
    expect(bf16).toContain('void (*)(const cm_bf16*, cm_bf16*, float*, cm_bf16, int, long)');
    expect(bf16).toContain('"ppphil"');
  });

  it('compiles, exporting its two symbols among others of no consequence', () => {
    const dir = newFolder();
    for (const dtype of ['fp32', 'bf16'] as const)
      expect(exported(dir, buildShim(dir, dtype))).toEqual(
        expect.arrayContaining(['cm_shim_call', 'cm_shim_signature']),
      );
  });

  it('refuses a version script for what is no symbol', () => {
    expect(versionScript('f_optimized')).toContain('global: f_optimized;');
    expect(() => versionScript('f; } ; global: *')).toThrow('not a C symbol');
  });
});

describe('versions', () => {
  it('on the host export the wrapper only', () => {
    const dir = newFolder();
    expect(exported(dir, buildArm(dir, 'a', candidates.counter(1), symbol))).toEqual([symbol]);
  });

  it('yield to arguments given by the Compiler agent, and give none twice', () => {
    const files = { source: 'c.cu', versionScript: 'c.map', output: 'c.so' };
    const { args } = armCompileArgs('gpu', files, ['-O2', '-std=c++20', '-lineinfo']);
    for (const option of [/^-O/, /^-std=/, /^-lineinfo/, /^-arch/])
      expect(args.filter((a) => option.test(a))).toHaveLength(1);
  });

  it('built by nvcc export the wrapper only, keep their state apart, get bf16 scalars', {
    skip: cuda === null,
    timeout: 240_000,
  }, async () => {
    const dir = newFolder();
    const libs = [1, 10].map((by) => buildArm(dir, `by${by}`, cudaVersion(by), symbol, 'gpu'));
    for (const lib of libs) expect(exported(dir, lib)).toEqual([symbol]);
    const needed = execFileSync('readelf', ['-d', join(dir, libs[0] ?? '')], { encoding: 'utf8' });
    expect(needed).toMatch(/NEEDED.*libcudart\.so/);
    expect(needed).toMatch(/RUNPATH.*cuda.*lib64/);
    const p = await Program.start(runnerProgram('host'), dir);
    await p.ok('hello');
    await p.ok('shim', buildShim(dir, 'bf16'));
    for (const lib of libs) await p.ok('load', `${lib} ${lib} ${symbol}`);
    await p.ok('problem', bf16Problem);
    for (const lib of [...libs, ...libs, libs[0]]) await p.ok('call', `${lib} plain`);
    const y = await p.ok('gather', '1', positionsBlob([0, 1, 2]));
    expect(values(y.blob, 'bf16')).toEqual([-2.5, 7, 9]);
    const s = await p.ok('gather', '2', positionsBlob([0, 1]));
    expect(values(s.blob, 'f32')).toEqual([3, 3]);
    await p.quit();
  });
});
