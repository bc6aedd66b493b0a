import {
  type Dtype,
  err,
  FORMAT,
  type Generator,
  ok,
  type Param,
  type Result,
  type Task,
} from '../../contract/index.ts';
import {
  bf16,
  checkComplete,
  checkExpressions,
  checkNamed,
  checkTypes,
  countOf,
  isConst,
  isInt,
  isPointer,
  isRead,
  type Plan,
  pointee,
  scalarValue,
} from './draft-check.ts';
import { type DraftOptions, given, parseSizes } from './draft-options.ts';
import { referenceForm } from './draft-reference.ts';
import { verifyRule } from './draft-sizes.ts';
import { type DeclaredParam, type WrapperDefinition, wrappersIn } from './draft-source.ts';
import { parseTask } from './load.ts';
import type { BufferParam } from './resolve.ts';
import { checkWrapper, originName, paramTypes, signature } from './signature.ts';

export type { DraftOptions } from './draft-options.ts';

/** A new task made from a source. */
export interface TaskDraft {
  readonly task: Task;
  readonly dtype: Dtype;
  /** File name → text: task.json, origin.<dtype>.cu, reference.h. */
  readonly files: Readonly<Record<string, string>>;
}

function chooseWrapper(source: string, wanted: string | undefined): Result<WrapperDefinition> {
  const all = wrappersIn(source);
  const names = all.map((wrapper) => wrapper.name).join(', ');
  if (all.length === 0)
    return err('input.task', 'The source defines no extern "C" void function.', {
      remedy:
        'Add one that launches the kernel: extern "C" void NAME(const float* A, float* B, int N) { kernel<<<…>>>(A, B, N); }',
    });
  if (wanted !== undefined) {
    const found = all.find((wrapper) => wrapper.name === wanted);
    if (found) return ok(found);
    return err('usage', `The source defines no extern "C" void function "${wanted}".`, { remedy: `It has: ${names}.` });
  }
  if (all.length > 1)
    return err('usage', `The source defines ${all.length} extern "C" void functions: ${names}.`, {
      remedy: `Say which one is to be optimized: --wrapper ${all[0]?.name}.`,
    });
  return ok(all[0] as WrapperDefinition);
}

function generatorOf(param: DeclaredParam, options: DraftOptions): Generator {
  if (!isInt(param)) return { kind: 'uniform', lo: -1, hi: 1 };
  const [lo = '', hi = ''] = (given(options.ints, param.name) as string).split(':').map((end) => end.trim());
  return { kind: 'int', lo, hi };
}

function paramOf(param: DeclaredParam, plan: Plan): Param {
  const { name } = param;
  if (!isPointer(param)) {
    const ctype = param.type === bf16 ? 'T' : (param.type as 'int' | 'long' | 'float');
    return { role: 'scalar', name, ctype, value: scalarValue(param, plan) as string };
  }
  const real = pointee(param) === 'float' && plan.dtype === 'bf16' ? 'float' : 'T';
  const buffer = { name, elem: isInt(param) ? 'int' : real, count: countOf(param, plan) as string } as const;
  if (!isRead(param, plan)) return { role: 'out', ...buffer };
  return { role: isConst(param) ? 'in' : 'inout', ...buffer, generator: generatorOf(param, plan.options) };
}

/** `2*(N+1)*sizeof(T) + M*4`: a sum over buffers, equal counts taken together. "0" of none. */
function sumOf(params: readonly BufferParam[], bytes: boolean): string {
  const terms = new Map<string, number>();
  for (const param of params) {
    const size = param.elem === 'T' ? 'sizeof(T)' : '4';
    const count = /^\w+$/.test(param.count) ? param.count : `(${param.count})`;
    const term = bytes ? `${count}*${size}` : count;
    terms.set(term, (terms.get(term) ?? 0) + 1);
  }
  const all = [...terms].map(([term, times]) => (times === 1 ? term : `${times}*${term}`));
  return all.length === 0 ? '0' : all.join(' + ');
}

/** Sets of inputs that find what uniform ones do not; none where nothing real is read. */
function specialInputs(buffers: readonly BufferParam[]): Task['verifyInputs'] {
  const real = buffers.filter((param) => param.role !== 'out' && param.elem !== 'int');
  if (real.length === 0) return [];
  const all = (generator: Generator) => Object.fromEntries(real.map((param) => [param.name, generator]));
  return [
    {
      id: 'wide',
      why: 'Exponents from -20 to 19: results of every magnitude, where an error limit that does not follow the terms fails, and a narrower format overflows or loses terms.',
      generators: all({ kind: 'wide', loExp: -20, hiExp: 20 }),
    },
    {
      id: 'offset',
      why: 'All values near 100: sums grow steadily and differences cancel, where an accumulator that is too narrow loses digits.',
      generators: all({ kind: 'uniform', lo: 100, hi: 101 }),
    },
  ];
}

function toleranceOf(param: BufferParam): NonNullable<Task['tolerance'][Dtype]>[number] {
  if (param.elem === 'int')
    return {
      output: param.name,
      c: 0,
      rms: 0.9,
      rounding: 'exact',
      evidence: 'Integers: bit equality is demanded. Not measured, a default.',
    };
  return {
    output: param.name,
    c: 8,
    rms: 0.9,
    rounding: param.elem === 'T' ? 'T' : 'fp32',
    evidence:
      'Not measured, a default. To judge it, verify the origin: its worst error as a share of the limit should stay well below 1 (below a quarter, say), and versions known to be wrong should come out far above 1. Where a right version comes near 1, scale or n in reference.h are too small, or c is; where a wrong one stays below 1, they are too large.',
  };
}

const list = (params: readonly BufferParam[]): string =>
  params.map((param) => `${param.name} (${param.count} elements)`).join(', ');

/** What can be told the agents without a definition of the user's. */
function defaultPrompt(wrapper: string, buffers: readonly BufferParam[]): string {
  const inputs = buffers.filter((param) => param.role === 'in');
  const both = buffers.filter((param) => param.role === 'inout');
  const outputs = buffers.filter((param) => param.role === 'out');
  return [
    `Compute what the given source's ${wrapper} computes: the source is the definition, up to the order of floating-point operations.`,
    ...(inputs.length > 0 ? [`Inputs: ${list(inputs)}.`] : []),
    ...(both.length > 0 ? [`Read and overwritten: ${list(both)}.`] : []),
    ...(outputs.length > 0
      ? [`Outputs: ${list(outputs)}; every element is written in every call, whatever it held before.`]
      : []),
    'All buffers lie in device memory, are aligned to 256 bytes and do not overlap; sizes need not be multiples of anything.',
  ].join(' ');
}

function taskOf(plan: Plan): Omit<Task, 'version'> & { version: number } {
  const { wrapper, options, dtype } = plan;
  const params = wrapper.params.map((param) => paramOf(param, plan));
  const buffers = params.filter((param): param is BufferParam => param.role !== 'scalar');
  const id = options.id ?? wrapper.name;
  return {
    version: FORMAT.task,
    id,
    title: options.title?.trim() || id,
    category: 'user',
    prompt: options.prompt?.trim() || defaultPrompt(wrapper.name, buffers),
    dtypes: [dtype],
    dims: [...plan.dims],
    wrapper: { name: { [dtype]: wrapper.name }, params },
    sizes: { published: [...plan.sizes], large: [], verify: verifyRule(params, plan.dims, plan.sizes, dtype) },
    verifyInputs: specialInputs(buffers),
    weight: sumOf(buffers, false),
    flops: (options.flops as string).trim(),
    bytes: {
      read: sumOf(
        buffers.filter((param) => param.role !== 'out'),
        true,
      ),
      write: sumOf(
        buffers.filter((param) => param.role !== 'in'),
        true,
      ),
    },
    streaming: false,
    persist: 'Nothing needs to persist; a device workspace may. No part of inputs or outputs may survive a call.',
    tolerance: { [dtype]: buffers.filter((param) => param.role !== 'in').map(toleranceOf) },
    deviations: [],
  };
}

function planOf(source: string, options: DraftOptions): Result<Plan> {
  const wrapper = chooseWrapper(source, options.wrapper);
  if (!wrapper.ok) return wrapper;
  const dtype = wrapper.value.params.some((param) => isPointer(param) && pointee(param) === bf16) ? 'bf16' : 'fp32';
  const types = checkTypes(wrapper.value, dtype);
  if (!types.ok) return types;
  const id = options.id ?? wrapper.value.name;
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(id))
    return err('usage', `"${id}" cannot be the id of a task.`, {
      remedy: 'An id is a letter, then letters, digits and "_": --id my_kernel.',
    });
  const sizes = parseSizes(options.sizes);
  if (!sizes.ok) return sizes;
  const plan = { wrapper: wrapper.value, options, dtype, ...sizes.value } as const;
  for (const check of [checkNamed, checkComplete, checkExpressions]) {
    const checked = check(plan);
    if (!checked.ok) return checked;
  }
  return ok(plan);
}

/**
 * Makes a task from a CUDA source with an `extern "C"` wrapper: task.json with defaults that hold for any kernel, the source as its
 * origin, and reference.h as a form that does not compile until the definition is written into it (referenceForm).
 * @returns `input.task` where the source is no such thing, `usage` where options are missing or wrong: all that is missing in one
 * message, with what to type. What comes back passes parseTask, and the source passes the check that loading a task makes.
 */
export function draftTask(source: string, options: DraftOptions): Result<TaskDraft> {
  const plan = planOf(source, options);
  if (!plan.ok) return plan;
  const { dtype } = plan.value;
  const json = `${JSON.stringify(taskOf(plan.value), null, 2)}\n`;
  const parsed = parseTask(json, 'task.json');
  if (!parsed.ok) return parsed;
  const task = parsed.value;
  const checked = checkWrapper(source, originName(task, dtype), paramTypes(task, dtype));
  if (!checked.ok)
    return err('input.task', checked.error.message, {
      remedy: `Declare it as: ${signature(task, dtype, originName(task, dtype))} { … }`,
    });
  const files = { 'task.json': json, [`origin.${dtype}.cu`]: source, 'reference.h': referenceForm(task, dtype) };
  return ok({ task, dtype, files });
}
