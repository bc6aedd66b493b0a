import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tooLargeHere, trialProblems } from '../../main/app/own-trial.ts';
import { unwrap } from '../../main/contract/index.ts';
import { allocatedBytes, loadTask, loadTaskFrom } from '../../main/evaluate/task/index.ts';
import { inProcess } from '../cli/program.ts';
import { tools } from '../session/support.ts';
import { root } from './lab.ts';

const source = `#include <cuda_runtime.h>
__global__ void scale_kernel(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i];
}
extern "C" void scale(int n, float a, const float* x, float* y) {
  scale_kernel<<<(n + 255) / 256, 256>>>(n, a, x, y);
}
`;
const referenceOf = (body: string): string => `#include <csignal>
namespace task {
struct Reference {
  explicit Reference(const cm::Problem& p) : p_(p), x_(p.in("x")) {}
  cm::Ref at(int, int64_t i) const { ${body} }
  const cm::Problem& p_;
  cm::View x_;
};
}
`;

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-trial-'));
  process.env.CUDAMASTER_HOME = home;
  writeFileSync(join(home, 'scale.cu'), source);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

const errorOf = (last: Record<string, unknown>) => (last as { error: { code: string; message: string } }).error;

describe('adding a task calls its reference', { timeout: 300_000 }, () => {
  it('and refuses one that crashes before anything is copied', async () => {
    const made = join(home, 'made');
    const draft = ['--size', 'n=1024', '--value', 'a=2.5', '--flops', 'n', '--out', made];
    const drafted = await inProcess('tasks', 'new', join(home, 'scale.cu'), ...draft, '--json');
    expect(drafted.code, drafted.err + drafted.out).toBe(0);
    // What else can be wrong: test/session/reference.test.ts. Here it goes through the sandbox, which reports signals in its own way.
    writeFileSync(join(made, 'reference.h'), referenceOf('std::raise(SIGSEGV); return {x_[i], 1.0, 1.0};'));
    const { code, last, err, out } = await inProcess('tasks', 'add', made, '--json');
    expect(code).toBe(2);
    expect(errorOf(last)).toMatchObject({
      code: 'input.task',
      message: `${join(made, 'reference.h')} was called (fp32), and at n=1 it ended with SIGSEGV.`,
    });
    expect(err + out).toContain(
      'reference.h is called in the sandbox, at up to two small sizes for each type; the original is not run',
    );
    const { tasks } = (await inProcess('tasks', '--json')).last as { tasks: unknown[] };
    expect(tasks).toHaveLength(100);
  });

  it('at the smallest size of a verification, and at one that has values enough', () => {
    const sizes = trialProblems(unwrap(loadTask(root, 'softmax')), 'bf16').map(allocatedBytes);
    expect(sizes).toHaveLength(2);
    expect(sizes[0]).toBeLessThan(sizes[1] as number);
  });

  it('says which sizes the GPU of this machine cannot hold', () => {
    const dir = join(home, 'vast');
    mkdirSync(dir);
    const shipped = join(root, 'kernels/mskernelbench/vector_add');
    const task = JSON.parse(readFileSync(join(shipped, 'task.json'), 'utf8'));
    for (const name of ['origin.fp32.cu', 'origin.bf16.cu', 'reference.h'])
      writeFileSync(join(dir, name), readFileSync(join(shipped, name)));
    task.sizes.published.push({ N: 2_000_000_000 });
    writeFileSync(join(dir, 'task.json'), JSON.stringify(task));
    const loaded = unwrap(loadTaskFrom(dir));
    const gpu = { name: 'NVIDIA GeForce RTX 4090', uuid: 'GPU-1', cc: '8.9' };
    const here = { ...tools, machine: { ...tools.machine, gpu }, gpuMemoryMiB: 22_000 };
    expect(tooLargeHere(loaded, 'fp32', here)).toEqual([
      'Size N=2000000000 (fp32) needs 24.0 GB; NVIDIA GeForce RTX 4090 has 23.1 GB: it cannot be run here.',
    ]);
    expect(tooLargeHere(loaded, 'bf16', here)).toEqual([]);
    expect(tooLargeHere(loaded, 'fp32', { ...here, gpuMemoryMiB: null })).toEqual([]);
    expect(tooLargeHere(loaded, 'fp32', tools)).toEqual([]);
  });
});
