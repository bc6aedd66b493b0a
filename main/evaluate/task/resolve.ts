import type {
  AppError,
  ArgSpec,
  BufferSpec,
  Dtype,
  Elem,
  Generator,
  Param,
  Problem,
  ResolvedElement,
  ResolvedGenerator,
  Size,
  Storage,
  Task,
} from '../../contract/index.ts';
import { AppFailure, type Result, sizeText } from '../../contract/index.ts';
import { evalExpr, evalInteger, type Scope } from './expr.ts';

/** Unit roundoff u = 2^-p of a format with p significant bits: rounding to nearest errs by at most u|r|. */
export const unitRoundoff = { fp32: 2 ** -24, bf16: 2 ** -8 } as const;

export type BufferParam = Exclude<Param, { role: 'scalar' }>;

/** Parameters that are buffers, in order: a buffer's place here is its ordinal for generators and the harness. */
export const bufferParams = (task: Task): BufferParam[] =>
  task.wrapper.params.filter((param): param is BufferParam => param.role !== 'scalar');

/** How an element of a parameter is stored. */
export function storageOf(elem: Elem, dtype: Dtype): Storage {
  if (elem === 'int') return 'i32';
  if (elem === 'float') return 'f32';
  if (elem === 'bf16') return 'bf16';
  return dtype === 'fp32' ? 'f32' : 'bf16';
}

/** Bytes of one stored element. */
export const storageBytes = (storage: Storage): number => (storage === 'bf16' ? 2 : 4);

const scopeOf = (size: Size, dtype: Dtype): Scope => ({ dims: size, sizeofT: dtype === 'fp32' ? 4 : 2 });

/** Unwraps a value computed for a field; the failure names field and size. */
function field<T>(result: Result<T>, path: string, task: Task, size: Size): T {
  if (result.ok) return result.value;
  throw new AppFailure(at(result.error, path, task, size));
}

const at = (error: AppError, path: string, task: Task, size: Size): AppError => ({
  ...error,
  message: `task ${task.id}, ${path} at ${sizeText(size)}: ${error.message}`,
});

const invalid = (path: string, task: Task, size: Size, what: string): never => {
  throw new AppFailure(at({ code: 'input.task', message: what }, path, task, size));
};

function resolveGenerator(g: Generator, path: string, task: Task, size: Size, scope: Scope): ResolvedGenerator {
  const count = (name: string, text: string): number => field(evalInteger(text, scope), `${path}.${name}`, task, size);
  if (g.kind === 'int') {
    const [lo, hi] = [count('lo', g.lo), count('hi', g.hi)];
    if (!(lo < hi)) invalid(path, task, size, `expected lo < hi, found ${lo} and ${hi}`);
    if (lo < -(2 ** 31) || hi > 2 ** 31) invalid(path, task, size, 'expected values of 32 bits');
    return { kind: 'int', lo, hi };
  }
  if (g.kind === 'offsets') {
    const [rows, nnz] = [count('rows', g.rows), count('nnz', g.nnz)];
    if (rows < 1 || nnz < 0 || nnz >= 2 ** 31)
      invalid(path, task, size, `expected rows >= 1 and 0 <= nnz < 2^31, found ${rows} and ${nnz}`);
    return { kind: 'offsets', rows, nnz, style: g.style, every: g.every };
  }
  if (g.kind === 'share') {
    const parts = count('count', g.count);
    if (parts < 1) invalid(path, task, size, `expected a count of at least 1, found ${parts}`);
    return { kind: 'uniform', lo: 0, hi: 2 / parts };
  }
  if (g.kind === 'rows') {
    const [rows, nnz] = [count('rows', g.rows), count('nnz', g.nnz)];
    if (rows < 1 || rows > 2 ** 31 || nnz < 0)
      invalid(path, task, size, `expected 1 <= rows <= 2^31 and nnz >= 0, found ${rows} and ${nnz}`);
    return { kind: 'rows', rows, nnz, style: g.style, every: g.every, order: g.order };
  }
  if (g.kind === 'ell') {
    const [rows, nnz, width] = [count('rows', g.rows), count('nnz', g.nnz), count('width', g.width)];
    if (rows < 1 || width < 1 || nnz < 0 || nnz > rows * width)
      invalid(path, task, size, `expected 0 <= nnz <= rows * width, found ${nnz}, ${rows} and ${width}`);
    const entries = resolveGenerator(g.entries, `${path}.entries`, task, size, scope) as ResolvedElement;
    return { kind: 'ell', rows, nnz, width, style: g.style, every: g.every, entries };
  }
  return g;
}

function resolveBuffer(
  param: BufferParam,
  generator: Generator | null,
  path: string,
  task: Task,
  size: Size,
  dtype: Dtype,
): BufferSpec {
  const scope = scopeOf(size, dtype);
  const count = field(evalInteger(param.count, scope), `${path}.count`, task, size);
  if (count < 0) invalid(`${path}.count`, task, size, `expected a count of at least 0, found ${count}`);
  const spec = { name: param.name, role: param.role, elem: storageOf(param.elem, dtype), count };
  if (!generator) return spec;
  const resolved = resolveGenerator(generator, `${path}.generator`, task, size, scope);
  if (resolved.kind === 'offsets' && count !== resolved.rows + 1)
    invalid(`${path}.count`, task, size, `expected rows + 1 = ${resolved.rows + 1} offsets, found ${count}`);
  if (resolved.kind === 'rows' && count !== resolved.nnz)
    invalid(`${path}.count`, task, size, `expected nnz = ${resolved.nnz} indices, found ${count}`);
  if (resolved.kind === 'ell' && count !== resolved.rows * resolved.width)
    invalid(`${path}.count`, task, size, `expected rows * width = ${resolved.rows * resolved.width}, found ${count}`);
  return { ...spec, generator: resolved };
}

const scalarKinds = { int: 'int', long: 'long', float: 'float' } as const;

function resolveScalar(
  param: Extract<Param, { role: 'scalar' }>,
  path: string,
  task: Task,
  size: Size,
  dtype: Dtype,
): ArgSpec {
  const kind = param.ctype === 'T' ? (dtype === 'fp32' ? 'float' : 'bf16') : scalarKinds[param.ctype];
  const evaluate = kind === 'int' || kind === 'long' ? evalInteger : evalExpr;
  const value = field(evaluate(param.value, scopeOf(size, dtype)), `${path}.value`, task, size);
  if (kind === 'int' && (value < -(2 ** 31) || value >= 2 ** 31))
    invalid(`${path}.value`, task, size, `expected an int of 32 bits, found ${value}`);
  return { kind, value };
}

/**
 * One size of a task as numbers: everything that runner and judge need besides the seed.
 * @param id e.g. "published/2"; a variant adds "+name".
 * @param variant id of one of the task's verifyInputs, whose generators replace the default ones.
 * @throws AppFailure `input.task`, naming field and size: only for sizes that loadTask has not already checked.
 */
export function resolveProblem(task: Task, dtype: Dtype, size: Size, id: string, variant?: string): Problem {
  const overrides = variant === undefined ? undefined : task.verifyInputs.find((input) => input.id === variant);
  if (variant !== undefined && !overrides) invalid('verifyInputs', task, size, `no input named "${variant}"`);
  const buffers: BufferSpec[] = [];
  const args: ArgSpec[] = [];
  task.wrapper.params.forEach((param, index) => {
    const path = `wrapper.params[${index}]`;
    if (param.role === 'scalar') {
      args.push(resolveScalar(param, path, task, size, dtype));
      return;
    }
    const generator = param.role === 'out' ? null : (overrides?.generators[param.name] ?? param.generator);
    args.push({ kind: 'buf', index: buffers.length });
    buffers.push(resolveBuffer(param, generator, path, task, size, dtype));
  });
  return {
    id: variant === undefined ? id : `${id}+${variant}`,
    dims: Object.fromEntries(task.dims.map((name) => [name, size[name] as number])),
    dimOrder: [...task.dims],
    buffers,
    args,
    limits: limitsOf(task, dtype, buffers),
  };
}

/**
 * Bound on the RMS of error over limit for an output of `count` elements. The mean square of few elements scatters (one
 * correctly rounded element may use its whole limit), so the task's bound is widened by 4/√count, at most to 1, which binds nothing.
 */
export const rmsBound = (rms: number, count: number): number =>
  Math.min(1, rms * (1 + 4 / Math.sqrt(Math.max(1, count))));

function limitsOf(task: Task, dtype: Dtype, buffers: readonly BufferSpec[]): Problem['limits'] {
  return (task.tolerance[dtype] ?? []).map((tolerance) => {
    const rounding = tolerance.rounding === 'T' ? dtype : tolerance.rounding;
    return {
      buffer: buffers.findIndex((buffer) => buffer.name === tolerance.output),
      c: tolerance.c,
      rms: rmsBound(tolerance.rms, buffers.find((buffer) => buffer.name === tolerance.output)?.count ?? 0),
      uOut: rounding === 'exact' ? 0 : unitRoundoff[rounding],
      uAcc: unitRoundoff.fp32, // every task accumulates in fp32
    };
  });
}

/** Bytes of all buffers of a problem. */
export const allocatedBytes = (problem: Problem): number =>
  problem.buffers.reduce((sum, buffer) => sum + buffer.count * storageBytes(buffer.elem), 0);

/** Figures of one size. */
function figure(task: Task, dtype: Dtype, size: Size, path: string, text: string): number {
  const value = field(evalExpr(text, scopeOf(size, dtype)), path, task, size);
  if (value < 0) invalid(path, task, size, `expected at least 0, found ${value}`);
  return value;
}

/** T(N) of a size: its weight in P, not normalised; above 0. */
export function weightOf(task: Task, dtype: Dtype, size: Size): number {
  const weight = figure(task, dtype, size, 'weight', task.weight);
  return weight > 0 ? weight : invalid('weight', task, size, 'expected more than 0');
}

/** T(N) of each problem (same order, not normalised). */
export const weightsOf = (task: Task, dtype: Dtype, problems: readonly Problem[]): number[] =>
  problems.map((problem) => weightOf(task, dtype, problem.dims));

/** Floating-point operations that the definition needs at a problem's size. */
export const flopsOf = (task: Task, dtype: Dtype, problem: Problem): number =>
  figure(task, dtype, problem.dims, 'flops', task.flops);

/** Least bytes that any version must read and write at a problem's size. */
export const bytesOf = (task: Task, dtype: Dtype, problem: Problem): { read: number; write: number } => ({
  read: figure(task, dtype, problem.dims, 'bytes.read', task.bytes.read),
  write: figure(task, dtype, problem.dims, 'bytes.write', task.bytes.write),
});
