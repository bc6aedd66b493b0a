import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AppFailure, type Dtype, type Problem, problemSchema, type Task, unwrap } from '../../main/contract/index.ts';
import {
  allocatedBytes,
  bytesOf,
  checkSize,
  flopsOf,
  loadTask,
  parseTask,
  problemsOf,
  resolveProblem,
  sanitizeProblems,
  taskIds,
  verifyProblems,
  weightsOf,
} from '../../main/evaluate/task/index.ts';
import { rmsBound } from '../../main/evaluate/task/resolve.ts';

const root = join(import.meta.dirname, '../..');
const load = (id: string): Task => unwrap(loadTask(root, id)).task;
const all: [string, Dtype][] = taskIds(root).flatMap((id) => [
  [id, 'fp32'] as [string, Dtype],
  [id, 'bf16'] as [string, Dtype],
]);

describe('resolveProblem', () => {
  it('turns a size into numbers: golden', () => {
    const problem = resolveProblem(load('spmv_csr'), 'bf16', { rows: 100, cols: 30, nnz: 999 }, 'verify/3', 'empty');
    const uniform = { kind: 'uniform', lo: -1, hi: 1 };
    expect(problem).toEqual({
      id: 'verify/3+empty',
      dims: { rows: 100, cols: 30, nnz: 999 },
      dimOrder: ['rows', 'cols', 'nnz'],
      buffers: [
        { name: 'values', role: 'in', elem: 'bf16', count: 999, generator: uniform },
        { name: 'col_indices', role: 'in', elem: 'i32', count: 999, generator: { kind: 'int', lo: 0, hi: 30 } },
        {
          name: 'row_offsets',
          role: 'in',
          elem: 'i32',
          count: 101,
          generator: { kind: 'offsets', rows: 100, nnz: 999, style: 'skewed', every: 16 },
        },
        { name: 'x', role: 'in', elem: 'bf16', count: 30, generator: uniform },
        { name: 'y', role: 'out', elem: 'bf16', count: 100 },
      ],
      args: [
        { kind: 'int', value: 100 },
        { kind: 'buf', index: 0 },
        { kind: 'buf', index: 1 },
        { kind: 'buf', index: 2 },
        { kind: 'buf', index: 3 },
        { kind: 'buf', index: 4 },
      ],
      limits: [
        {
          buffer: 4,
          c: load('spmv_csr').tolerance.bf16?.[0]?.c,
          rms: expect.any(Number),
          uOut: 2 ** -8,
          uAcc: 2 ** -24,
        },
      ],
    });
  });

  it('knows what stays float in bf16, and what must be exact', () => {
    const dot = resolveProblem(load('dot_product'), 'bf16', { N: 8 }, 'x');
    expect(dot.buffers.map((b) => b.elem)).toEqual(['f32', 'bf16', 'bf16']);
    expect(dot.limits[0]).toMatchObject({ buffer: 0, uOut: 2 ** -24, rms: 1 });
    const transpose = resolveProblem(load('matrix_transpose'), 'bf16', { M: 2, N: 3 }, 'x');
    expect(transpose.limits[0]).toMatchObject({ buffer: 1, c: 0, uOut: 0 });
  });

  it('passes scalars as their C types', () => {
    const task = structuredClone(load('dot_product'));
    task.wrapper.params.push(
      { role: 'scalar', name: 'a', ctype: 'T', value: '1/4' },
      { role: 'scalar', name: 'b', ctype: 'long', value: 'N*N' },
    );
    expect(resolveProblem(task, 'bf16', { N: 100000 }, 'x').args.slice(-2)).toEqual([
      { kind: 'bf16', value: 0.25 },
      { kind: 'long', value: 1e10 },
    ]);
    expect(resolveProblem(task, 'fp32', { N: 1 }, 'x').args.at(-2)).toEqual({ kind: 'float', value: 0.25 });
  });

  it('names field and size when a size cannot be had', () => {
    const fails = () => resolveProblem(load('dot_product'), 'fp32', { N: 2 ** 31 }, 'x');
    expect(fails).toThrow(AppFailure);
    expect(fails).toThrow(/task dot_product, wrapper\.params\[3\]\.value at N=2147483648: expected an int of 32 bits/);
    expect(() => resolveProblem(load('dot_product'), 'fp32', { N: 4 }, 'x', 'nonsense')).toThrow(
      /no input named "nonsense"/,
    );
  });

  it('widens the RMS bound where few elements are averaged', () => {
    expect(rmsBound(0.6, 1)).toBe(1);
    expect(rmsBound(0.6, 1e6)).toBeCloseTo(0.6024, 6);
  });
});

describe.each(all)('%s %s', (id, dtype) => {
  const task = load(id);

  it('resolves every size and input to what the session accepts', () => {
    const problems = [
      ...problemsOf(task, dtype, 'published'),
      ...problemsOf(task, dtype, 'large'),
      ...verifyProblems(task, dtype, 'ab'),
      ...sanitizeProblems(task, dtype, 'ab'),
    ];
    for (const problem of problems) expect(problemSchema.parse(problem)).toEqual(problem);
    expect(problems.map((p) => p.id)).toContain('published/0');
    expect(problems.map((p) => p.id)).toContain('large/0');
  });

  it('draws ragged sizes within the rules, the same for the same seed', () => {
    const { count, dims, always } = task.sizes.verify;
    const seen = new Set<string>();
    for (let seed = 0; seed < 20; seed++) {
      const problems = verifyProblems(task, dtype, `5eed${seed}`);
      expect(verifyProblems(task, dtype, `5eed${seed}`)).toEqual(problems);
      expect(problems).toHaveLength(count + always.length + task.verifyInputs.length);
      expect(problems.slice(count, count + always.length).map((p) => p.dims)).toEqual(always);
      expect(new Set(problems.map((p) => p.id)).size).toBe(problems.length);
      for (const problem of problems.slice(0, count))
        for (const [name, rule] of Object.entries(dims)) {
          if (!('min' in rule)) continue;
          const value = problem.dims[name] as number;
          expect(value >= rule.min && value <= rule.max && value % rule.multipleOf === 0, `${name}=${value}`).toBe(
            true,
          );
          seen.add(`${name}=${value}`);
        }
    }
    const wide = Object.values(dims).some((rule) => 'min' in rule && rule.max - rule.min > 100 * rule.multipleOf);
    if (wide) expect(seen.size).toBeGreaterThan(20);
    const inputs = verifyProblems(task, dtype, '1').flatMap((p) => p.id.split('+')[1] ?? []);
    expect(inputs).toEqual(task.verifyInputs.map((input) => input.id));
  });

  it('gives the sanitizer small problems', () => {
    for (let seed = 0; seed < 20; seed++)
      for (const problem of sanitizeProblems(task, dtype, `${seed}`))
        expect(allocatedBytes(problem)).toBeLessThanOrEqual(1 << 20);
  });

  it('needs no more bytes than its buffers hold', () => {
    const held = (problem: Problem, roles: string[]): number =>
      allocatedBytes({ ...problem, buffers: problem.buffers.filter((buffer) => roles.includes(buffer.role)) });
    for (const problem of [...problemsOf(task, dtype, 'published'), ...problemsOf(task, dtype, 'large')]) {
      const { read, write } = bytesOf(task, dtype, problem);
      expect(read).toBeLessThanOrEqual(held(problem, ['in', 'inout']));
      expect(write).toBeLessThanOrEqual(held(problem, ['out', 'inout']));
      expect(write).toBeGreaterThan(0);
      expect(flopsOf(task, dtype, problem)).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('figures', () => {
  it('are the published weights', () => {
    const softmax = load('softmax');
    expect(weightsOf(softmax, 'fp32', problemsOf(softmax, 'fp32', 'published')).slice(0, 4)).toEqual([
      4096, 16384, 65536, 262144,
    ]);
    const spmv = load('spmv_csr');
    expect(weightsOf(spmv, 'bf16', problemsOf(spmv, 'bf16', 'published'))).toEqual([
      20971, 41943, 83886, 167772, 335544, 671088,
    ]);
    expect(problemsOf(load('matrix_transpose'), 'fp32', 'published')).toHaveLength(25);
  });

  it('count bytes by type', () => {
    const task = load('spmv_csr');
    const size = { rows: 10, cols: 4, nnz: 100 };
    expect(bytesOf(task, 'fp32', resolveProblem(task, 'fp32', size, 'x'))).toEqual({ read: 800 + 44 + 16, write: 40 });
    expect(bytesOf(task, 'bf16', resolveProblem(task, 'bf16', size, 'x'))).toEqual({ read: 600 + 44 + 8, write: 20 });
  });
});

describe('tasks that are not ours', () => {
  /** A user's task: one dtype, an inout buffer, derived and listed dimensions. */
  const file = {
    version: 1,
    id: 'axpy_rows',
    title: 'Rows',
    category: 'user',
    prompt: 'y += a x',
    dtypes: ['fp32'],
    dims: ['B', 'R', 'K'],
    wrapper: {
      name: { fp32: 'axpy_rows' },
      params: [
        { role: 'inout', name: 'y', elem: 'float', count: 'B*R', generator: { kind: 'uniform', lo: 0, hi: 1 } },
        { role: 'in', name: 'x', elem: 'float', count: 'B*R', generator: { kind: 'zeros' } },
        { role: 'out', name: 'best', elem: 'int', count: 'B' },
        { role: 'scalar', name: 'n', ctype: 'long', value: 'B*R' },
      ],
    },
    sizes: {
      published: [{ B: 2, R: 64, K: 128 }],
      large: [],
      verify: {
        count: 2,
        dims: { B: { oneOf: [1, 3, 8] }, K: { expr: 'B*R' }, R: { min: 8, max: 100000, multipleOf: 8 } },
      },
    },
    verifyInputs: [{ id: 'ties', why: 'ties', generators: { x: { kind: 'levels', lo: 0, hi: 1, levels: 2 } } }],
    weight: 'B*R',
    flops: '2*B*R',
    bytes: { read: '2*B*R*sizeof(T)', write: 'B*R*sizeof(T) + B*sizeof(int)' },
    streaming: true,
    persist: 'nothing',
    tolerance: {
      fp32: [
        { output: 'y', c: 1, rms: 0.5, rounding: 'fp32', evidence: 'x' },
        { output: 'best', c: 0, rms: 1, rounding: 'exact', evidence: 'x' },
      ],
    },
    deviations: [],
  };

  it('are resolved by the same code', () => {
    const task = unwrap(parseTask(JSON.stringify(file), 'mine/task.json'));
    for (const problem of verifyProblems(task, 'fp32', 'cd')) {
      const { B, R, K } = problem.dims as { B: number; R: number; K: number };
      expect([1, 3, 8]).toContain(B);
      expect(R % 8).toBe(0);
      expect(K).toBe(B * R);
      expect(problem.limits.map((l) => [l.buffer, l.uOut])).toEqual([
        [0, 2 ** -24],
        [2, 0],
      ]);
    }
    for (const problem of sanitizeProblems(task, 'fp32', 'cd'))
      expect(problem.dims.R as number).toBeGreaterThanOrEqual(8);
  });
});

describe('checkSize', () => {
  const task = load('softmax');
  it.each([
    [{ N: 4 }, /dimension "C" is missing/],
    [{ N: 4, C: 4, K: 1 }, /unknown dimension "K"/],
    [{ N: 4.5, C: 4 }, /N = 4\.5 is not a whole number/],
  ])('refuses %j', (size, message) => expect(() => checkSize(task, size as never)).toThrow(message));
  it('accepts a full one', () => expect(checkSize(task, { N: 4, C: 5 })).toEqual({ N: 4, C: 5 }));
});
