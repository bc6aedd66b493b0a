import {
  type AppError,
  type DraftParam,
  type DraftView,
  type Dtype,
  err,
  FORMAT,
  type Generator,
  ok,
  type Param,
  type Result,
  type Task,
} from '../../contract/index.ts';
import { checkTask } from './check.ts';
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
  missingError,
  type Plan,
  pointee,
  scalarValue,
} from './draft-check.ts';
import { type Fault, faultAt } from './draft-fault.ts';
import { placesOf } from './draft-issues.ts';
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

/** The wrapper to optimize, or why it is not known which. */
function chooseWrapper(all: readonly WrapperDefinition[], wanted: string | undefined): WrapperDefinition | Fault {
  const names = all.map((wrapper) => wrapper.name).join(', ');
  const [first] = all;
  if (first === undefined) {
    const what = 'the source defines no extern "C" void function';
    const remedy =
      'Add one that launches the kernel: extern "C" void NAME(const float* A, float* B, int N) { kernel<<<…>>>(A, B, N); }';
    const message = 'The source defines no extern "C" void function.';
    return faultAt('source', null, what, remedy, { code: 'input.task', message });
  }
  if (wanted !== undefined) {
    const found = all.find((wrapper) => wrapper.name === wanted);
    const what = `the source defines no extern "C" void function "${wanted}"`;
    const message = `The source defines no extern "C" void function "${wanted}".`;
    return found ?? faultAt('wrapper', null, what, `It has: ${names}.`, { message });
  }
  if (all.length === 1) return first;
  const what = `the source defines ${all.length} extern "C" void functions: ${names}`;
  return faultAt('wrapper', null, what, 'Choose the one that is to be optimized.', {
    missing: true,
    message: `The source defines ${all.length} extern "C" void functions: ${names}.`,
    remedy: `Say which one is to be optimized: --wrapper ${first.name}.`,
  });
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

function taskOf(plan: Plan): Task {
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

function checkId(id: string): Fault[] {
  if (/^[A-Za-z][A-Za-z0-9_]*$/.test(id)) return [];
  const rule = 'An id is a letter, then letters, digits and "_"';
  const what = `"${id}" cannot be the id of a task`;
  return [faultAt('id', null, what, `${rule}.`, { message: `${what}.`, remedy: `${rule}: --id my_kernel.` })];
}

/** A source with its options as far as they go, and what is wrong, in the order in which a command line tells it. */
interface Examined {
  readonly wrappers: readonly WrapperDefinition[];
  readonly plan: Plan | null;
  readonly faults: readonly Fault[];
  /** The first fault as a command line says it: all that is missing is one. */
  readonly error: AppError | null;
}

function examine(source: string, options: DraftOptions): Examined {
  const wrappers = wrappersIn(source);
  const refused = (faults: readonly Fault[]): Examined => ({
    wrappers,
    plan: null,
    faults,
    error: faults[0]?.typed ?? null,
  });
  const wrapper = chooseWrapper(wrappers, options.wrapper);
  if ('field' in wrapper) return refused([wrapper]);
  const dtype = wrapper.params.some((param) => isPointer(param) && pointee(param) === bf16) ? 'bf16' : 'fp32';
  const types = checkTypes(wrapper, dtype);
  if (types.length > 0) return refused(types);
  const { dims, sizes, faults: unread } = parseSizes(options.sizes);
  const plan = { wrapper, options, dtype, dims, sizes } as const;
  const missing = checkComplete(plan);
  const groups = [
    checkId(options.id ?? wrapper.name),
    unread,
    checkNamed(plan),
    missing,
    // Without dimensions no expression can be right.
    dims.length === 0 ? [] : checkExpressions(plan),
  ];
  const first = groups.find((faults) => faults.length > 0);
  const error = first === missing ? missingError(plan, missing) : (first?.[0]?.typed ?? null);
  return { wrappers, plan, faults: groups.flat(), error };
}

/** The task of a plan without faults. What is still wrong with it, such as a value at one of its sizes, comes as faults. */
function made(source: string, plan: Plan): { readonly draft: Result<TaskDraft>; readonly faults: readonly Fault[] } {
  const { dtype, wrapper } = plan;
  const raw = taskOf(plan);
  const json = `${JSON.stringify(raw, null, 2)}\n`;
  const parsed = parseTask(json, 'task.json');
  if (!parsed.ok) return { draft: parsed, faults: placesOf(checkTask(raw), wrapper.params, parsed.error) };
  const task = parsed.value;
  const checked = checkWrapper(source, originName(task, dtype), paramTypes(task, dtype));
  if (!checked.ok) {
    const remedy = `Declare it as: ${signature(task, dtype, originName(task, dtype))} { … }`;
    const draft = err('input.task', checked.error.message, { remedy });
    return { draft, faults: [faultAt('source', null, checked.error.message, remedy)] };
  }
  const files = { 'task.json': json, [`origin.${dtype}.cu`]: source, 'reference.h': referenceForm(task, dtype) };
  return { draft: ok({ task, dtype, files }), faults: [] };
}

/**
 * Makes a task from a CUDA source with an `extern "C"` wrapper: task.json with defaults that hold for any kernel, the source as its
 * origin, and reference.h as a form that does not compile until the definition is written into it (referenceForm).
 * @returns `input.task` where the source is no such thing, `usage` where options are missing or wrong: all that is missing in one
 * message, with what to type. What comes back passes parseTask, and the source passes the check that loading a task makes.
 */
export function draftTask(source: string, options: DraftOptions): Result<TaskDraft> {
  const { plan, error } = examine(source, options);
  if (error !== null || plan === null) return { ok: false, error: error as AppError };
  return made(source, plan).draft;
}

/** A parameter of the wrapper as far as source and options say what it is. */
function understood(param: DeclaredParam, plan: Plan): DraftParam {
  const { name, type } = param;
  if (!isPointer(param)) {
    const expression = scalarValue(param, plan) || null;
    return { name, type, role: 'scalar', expression, mayRead: false, range: null };
  }
  const role = isConst(param) ? 'in' : isRead(param, plan) ? 'inout' : 'out';
  const range = isRead(param, plan) && isInt(param) ? (given(plan.options.ints, name) ?? '') : null;
  return { name, type, role, expression: countOf(param, plan) || null, mayRead: !isConst(param), range };
}

/** The same for a form: what is understood so far, every fault at its field, and the files once there is none. */
export function viewDraft(source: string, options: DraftOptions): DraftView {
  const { wrappers, plan, faults: found } = examine(source, options);
  const task = plan !== null && found.length === 0 ? made(source, plan) : null;
  const faults = [...found, ...(task?.faults ?? [])].map(({ typed: _, ...fault }) => fault);
  return {
    wrappers: wrappers.map(({ name }) => name),
    wrapper: plan?.wrapper.name ?? null,
    dtype: plan?.dtype ?? null,
    dims: plan?.dims ?? [],
    parameters: plan === null ? [] : plan.wrapper.params.map((param) => understood(param, plan)),
    faults,
    files: task?.draft.ok ? task.draft.value.files : null,
  };
}
