import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Dtype, type Problem, unwrap } from '../../main/contract/index.ts';
import { loadTask, resolveProblem, shippedTasks } from '../../main/evaluate/task/index.ts';
import { problemText } from '../../main/jobs/session/problem-text.ts';
import { judgeCompileArgs } from '../../main/jobs/session/shim.ts';
import { compile, harness, newFolder } from '../harness/build.ts';
import { Program } from '../harness/client.ts';

const root = join(import.meta.dirname, '../..');

type Inputs = Readonly<Record<string, Float64Array>>;
type Naive = (inputs: Inputs, dims: Readonly<Record<string, number>>) => Float64Array;
const buffer = (inputs: Inputs, name: string): Float64Array => inputs[name] as Float64Array;

/** The definitions, as plainly as they can be written. */
const naive: Record<string, Naive> = {
  dot_product: (inputs) => {
    const [x, y] = [buffer(inputs, 'X'), buffer(inputs, 'Y')];
    return Float64Array.of(x.reduce((sum, value, i) => sum + value * (y[i] as number), 0));
  },
  softmax: (inputs, { N = 0, C = 0 }) => {
    const x = buffer(inputs, 'input');
    const out = new Float64Array(N * C);
    for (let n = 0; n < N; n++) {
      const row = x.subarray(n * C, (n + 1) * C);
      const most = Math.max(...row);
      const sum = row.reduce((s, v) => s + Math.exp(v - most), 0);
      row.forEach((v, c) => {
        out[n * C + c] = Math.exp(v - most) / sum;
      });
    }
    return out;
  },
  matrix_transpose: (inputs, { M = 0, N = 0 }) => {
    const a = buffer(inputs, 'A');
    return Float64Array.from({ length: M * N }, (_, i) => a[(i % M) * N + Math.floor(i / M)] as number);
  },
  spmv_csr: (inputs, { rows = 0 }) => {
    const [values, columns, offsets, x] = ['values', 'col_indices', 'row_offsets', 'x'].map((name) =>
      buffer(inputs, name),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
    return Float64Array.from({ length: rows }, (_, row) => {
      let sum = 0;
      for (let k = offsets[row] as number; k < (offsets[row + 1] as number); k++)
        sum += (values[k] as number) * (x[columns[k] as number] as number);
      return sum;
    });
  },
};

const sizes: Record<string, Record<string, number>[]> = {
  dot_product: [{ N: 1 }, { N: 1000 }, { N: 70001 }],
  softmax: [
    { N: 1, C: 1 },
    { N: 7, C: 33 },
    { N: 3, C: 2500 },
  ],
  matrix_transpose: [
    { M: 1, N: 5 },
    { M: 37, N: 19 },
  ],
  spmv_csr: [
    { rows: 1, cols: 1, nnz: 1 },
    { rows: 50, cols: 9, nnz: 31 },
    { rows: 40, cols: 200, nnz: 3001 },
  ],
};

/** Elements of a raw buffer as doubles. */
function decode(bytes: Buffer, elem: 'f32' | 'bf16' | 'i32'): Float64Array {
  const width = elem === 'bf16' ? 2 : 4;
  return Float64Array.from({ length: bytes.length / width }, (_, i) => {
    if (elem === 'i32') return bytes.readInt32LE(4 * i);
    if (elem === 'f32') return bytes.readFloatLE(4 * i);
    const wide = Buffer.alloc(4);
    bytes.copy(wide, 2, 2 * i, 2 * i + 2);
    return wide.readFloatLE(0);
  });
}

describe.each(Object.keys(naive))('reference of %s', (id) => {
  const { task, dir } = unwrap(loadTask(root, id));
  const folder = newFolder();

  const compare = async (judge: Program, problem: Problem, seed: string): Promise<void> => {
    await judge.ok('problem', problemText(problem, 'guarded'));
    const read = async (command: string, index: number): Promise<Float64Array> => {
      await judge.ok(command, `${seed} ${index} data.bin`);
      return decode(readFileSync(join(folder, 'data.bin')), (problem.buffers[index] as { elem: 'f32' }).elem);
    };
    const inputs: Record<string, Float64Array> = {};
    for (const [index, spec] of problem.buffers.entries())
      if (spec.role === 'in') inputs[spec.name] = await read('input', index);
    const output = problem.buffers.findIndex((spec) => spec.role === 'out');
    const got = await read('reference', output);
    const want = (naive[id] as Naive)(inputs, problem.dims);
    expect(got.length).toBe(want.length);
    const u = problem.buffers[output]?.elem === 'bf16' ? 2 ** -8 : 2 ** -24;
    // One rounding to the stored type (flush of subnormals included) and the naive sum's own error.
    const scale = Math.max(1e-30, ...want.map(Math.abs));
    want.forEach((value, i) => {
      const limit = id === 'matrix_transpose' ? 0 : u * Math.abs(value) * 1.0001 + 1e-13 * scale + 2 ** -126;
      expect(
        Math.abs((got[i] as number) - value),
        `${problem.id} element ${i}: ${got[i]} for ${value}`,
      ).toBeLessThanOrEqual(limit);
    });
  };

  it('agrees with the plain definition in double, for every kind of input', async () => {
    const output = join(folder, 'judge');
    const line = judgeCompileArgs({ task: id, source: join(harness, 'judge.cpp'), output, include: dir });
    compile({ ...line, args: ['-I', harness, ...line.args] }, folder);
    const judge = await Program.start(output, folder);
    try {
      let seed = 0;
      for (const dtype of task.dtypes as Dtype[])
        for (const size of sizes[id] as Record<string, number>[])
          for (const variant of [undefined, ...task.verifyInputs.map((input) => input.id)])
            await compare(
              judge,
              resolveProblem(task, dtype, size, 'test', variant),
              (++seed).toString(16).padStart(16, '0'),
            );
    } finally {
      await judge.quit();
    }
  }, 120_000);

  it('lies where jobs look for it', () => expect(dir).toBe(join(root, shippedTasks, id)));
});
