/** A suite that needs no GPU: two tasks of the repository in FP32 whose versions are host code, under a resource root of their own. */
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '../..');

interface HostTask {
  readonly id: string;
  readonly sizes: readonly Record<string, number>[];
  readonly origin: string;
  readonly library?: string;
}

const dot = (name: string, sums: number): string => `
extern "C" void ${name}(float* loss, const float* X, const float* Y, const int N) {
  float sums[${sums}] = {};
  for (int i = 0; i < N; ++i) sums[i % ${sums}] += X[i] * Y[i];
  float sum = 0;
  for (float s : sums) sum += s;
  *loss = sum;
}
`;
const add = (name: string, shift = ''): string => `
extern "C" void ${name}(const float* A, const float* B, float* C, int N) {
  for (int i = 0; i < N; ++i) C[i] = A[i] + B[i]${shift};
}
`;
export const hostTasks: readonly HostTask[] = [
  {
    id: 'dot_product',
    sizes: [{ N: 4096 }, { N: 70000 }],
    origin: dot('dot_product', 1),
    library: dot('dot_product_library', 8),
  },
  {
    id: 'vector_add',
    sizes: [{ N: 4096 }],
    origin: add('vector_add'),
    library: `#include <no_such_library.h>\n${add('vector_add_library')}`,
  },
];
/** A candidate for dot_product on the host. */
export const hostCandidate = dot('dot_product_optimized', 4);
/** A library that computes something else. */
export const wrongLibrary = add('vector_add_library', ' + 1');

/** Makes the resource root; gives back its path and a way to remove it. */
export function hostSuite(): { readonly root: string; remove(): void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'cm-suite-')));
  mkdirSync(join(root, 'kernels/mskernelbench'), { recursive: true });
  symlinkSync(join(repository, 'kernels/harness'), join(root, 'kernels/harness'));
  for (const { id, sizes, origin, library } of hostTasks) {
    const from = join(repository, 'kernels/mskernelbench', id);
    const to = join(root, 'kernels/mskernelbench', id);
    mkdirSync(to);
    cpSync(join(from, 'reference.h'), join(to, 'reference.h'));
    const task = JSON.parse(readFileSync(join(from, 'task.json'), 'utf8'));
    task.dtypes = ['fp32'];
    task.wrapper.name = { fp32: task.wrapper.name.fp32 };
    task.tolerance = { fp32: task.tolerance.fp32 };
    task.sizes.published = sizes;
    task.sizes.large = sizes.slice(-1);
    writeFileSync(join(to, 'task.json'), JSON.stringify(task));
    writeFileSync(join(to, 'origin.fp32.cu'), origin);
    if (library !== undefined) writeFileSync(join(to, 'library.cu'), library);
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}
