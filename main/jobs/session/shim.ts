import type { Dtype, Param, Task } from '../../contract/index.ts';

/**
 * The typed half of a call: the runner knows arguments only as a row of unions, the wrapper has a C signature.
 * Also the compile lines of the harness, so that every caller and every test builds the same programs
 * (kernels/harness/PROTOCOL.md, "Compile lines").
 */

/** Letter of a parameter in the shim's signature, as in kernels/harness/problem.h. */
type Letter = 'p' | 'i' | 'l' | 'f' | 'h';

const elementType = { float: 'float', bf16: 'cm_bf16', int: 'int' } as const;
const scalarType = { i: 'int', l: 'long', f: 'float', h: 'cm_bf16' } as const;

function letterOf(param: Param, dtype: Dtype): Letter {
  if (param.role !== 'scalar') return 'p';
  if (param.ctype === 'T') return dtype === 'bf16' ? 'h' : 'f';
  return ({ int: 'i', long: 'l', float: 'f' } as const)[param.ctype];
}

function typeOf(param: Param, dtype: Dtype): string {
  if (param.role === 'scalar') return scalarType[letterOf(param, dtype) as keyof typeof scalarType];
  const elem = param.elem === 'T' ? (dtype === 'bf16' ? 'bf16' : 'float') : param.elem;
  return `${param.role === 'in' ? 'const ' : ''}${elementType[elem]}*`;
}

function argumentOf(param: Param, dtype: Dtype, index: number): string {
  const letter = letterOf(param, dtype);
  if (letter === 'p') return `static_cast<${typeOf(param, dtype)}>(a[${index}].p)`;
  return letter === 'h' ? `cm_bf16{a[${index}].h}` : `a[${index}].${letter}`;
}

/**
 * C++ source of a task's shim for one dtype. It needs no CUDA header: device pointers are pointers, and a bf16 scalar is passed
 * as a two-byte struct exactly as `__nv_bfloat16` is. Parameter names do not enter the source.
 */
export function shimSource(task: Pick<Task, 'wrapper'>, dtype: Dtype): string {
  const { params } = task.wrapper;
  const types = params.map((param) => typeOf(param, dtype));
  const values = params.map((param, index) => argumentOf(param, dtype, index));
  const signature = params.map((param) => letterOf(param, dtype)).join('');
  return `// Generated: calls a wrapper of this task with generic arguments (kernels/harness/arms.h).
struct cm_bf16 { unsigned short bits; };
union CallArg { void* p; int i; long l; float f; unsigned short h; };
using Wrapper = void (*)(${types.join(', ')});

extern "C" {
extern const char cm_shim_signature[];
const char cm_shim_signature[] = "${signature}";
void cm_shim_call(void* wrapper, [[maybe_unused]] const CallArg* a) {
  reinterpret_cast<Wrapper>(wrapper)(${values.join(', ')});
}
}
`;
}

/** Linker version script that exports these C symbols and hides everything else (inline statics, kernels, helpers). */
export function versionScript(...symbols: readonly string[]): string {
  for (const symbol of symbols)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(symbol)) throw new Error(`not a C symbol: ${JSON.stringify(symbol)}`);
  return `{\n  global: ${symbols.join('; ')};\n  local: *;\n};\n`;
}

/** `gpu`: nvcc for `{arch}`. `host`: a C++ compiler, host memory as device; for tests without a GPU. */
export type Variant = 'gpu' | 'host';

/** What a build step needs: tool, arguments (with `{arch}`, `{toolkit}` left symbolic), file made. */
export interface CompileLine {
  readonly tool: 'nvcc' | 'cxx';
  readonly args: string[];
  readonly output: string;
}

/** Where a program finds libcudart, and with it libcupti, at run time. */
const rpath = '-Xlinker=-rpath={toolkit}/lib64';

/** Host arithmetic must be that of the source: no contraction to FMA. */
const exact = '-ffp-contract=off';

/** The runner: one program per architecture (gpu) or for the host. */
export function runnerCompileArgs(
  variant: Variant,
  files: { readonly source: string; readonly output: string } = { source: 'runner.cu', output: 'runner' },
): CompileLine {
  const { source, output } = files;
  const args =
    variant === 'gpu'
      ? ['-O2', '-std=c++17', '-arch={arch}', '-cudart=shared', `-Xcompiler=${exact},-pthread`, rpath]
      : ['-O2', '-std=c++17', '-DCM_HOST', exact, '-pthread', '-x', 'c++'];
  return { tool: variant === 'gpu' ? 'nvcc' : 'cxx', args: [...args, source, '-o', output, '-ldl'], output };
}

/** The judge of a task; `reference.h` lies beside `judge.cpp` or in `include`. `task`: an identifier that `hello` repeats. */
export function judgeCompileArgs(
  options: {
    readonly task?: string;
    readonly source?: string;
    readonly output?: string;
    readonly include?: string;
  } = {},
): CompileLine {
  const { task = 'unnamed', source = 'judge.cpp', output = 'judge', include } = options;
  const search = include === undefined ? [] : ['-I', include];
  return {
    tool: 'cxx',
    args: ['-O3', '-std=c++17', exact, `-DCM_TASK=${task}`, ...search, '-pthread', source, '-o', output],
    output,
  };
}

/** The shim: a host library in both variants. */
export function shimCompileArgs(
  files: { readonly source: string; readonly output: string } = { source: 'shim.cpp', output: 'shim.so' },
): CompileLine {
  const { source, output } = files;
  return { tool: 'cxx', args: ['-O2', '-std=c++17', '-shared', '-fPIC', source, '-o', output], output };
}

export interface ArmFiles {
  readonly source: string;
  readonly versionScript: string;
  readonly output: string;
}

/**
 * A version under test as a shared library that exports its wrapper only. `-fno-gnu-unique`: the loader would otherwise merge
 * inline statics of all libraries of the process, RTLD_LOCAL or not. The CUDA runtime is shared with the runner, which therefore
 * sees launch errors. `extra`: arguments from the Compiler agent's allow-list; ours that could be given twice yield to them.
 */
export function armCompileArgs(variant: Variant, files: ArmFiles, extra: readonly string[] = []): CompileLine {
  const given = (pattern: RegExp): boolean => extra.some((arg) => pattern.test(arg));
  const common = [...(given(/^-?-O\d$/) ? [] : ['-O3']), ...(given(/^-?-std=/) ? [] : ['-std=c++17'])];
  const gpu = [
    '-arch={arch}',
    ...(given(/^-?-(lineinfo|generate-line-info)$/) ? [] : ['-lineinfo']),
    ...(given(/^-Xptxas=-v$/) ? [] : ['-Xptxas=-v']),
    '-cudart=shared',
    '-shared',
    '-Xcompiler=-fPIC,-fno-gnu-unique',
    `-Xlinker=--version-script=${files.versionScript}`,
    rpath,
  ];
  const host = ['-shared', '-fPIC', '-fno-gnu-unique', `-Wl,--version-script=${files.versionScript}`, '-x', 'c++'];
  const own = variant === 'gpu' ? gpu : host;
  return {
    tool: variant === 'gpu' ? 'nvcc' : 'cxx',
    args: [...extra, ...common, ...own, files.source, '-o', files.output],
    output: files.output,
  };
}
