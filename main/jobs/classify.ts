import type { ChildExit } from '../base/process.ts';
import type { BuildStep, ErrorCode, StepResult } from '../contract/index.ts';

type Reason = NonNullable<StepResult['reason']>;
export interface Verdict {
  readonly status: StepResult['status'];
  readonly reason?: Reason;
}

/** A message of a tool that means: this machine, not this code. */
interface EnvironmentSign {
  readonly sign: RegExp;
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
}

const environmentSigns: readonly EnvironmentSign[] = [
  {
    sign: /host_config\.h.*#error.*unsupported (?:GNU|clang|Microsoft Visual Studio) version.*/i,
    code: 'env.host-compiler',
    message: 'The host compiler is too new (or too old) for this CUDA toolkit.',
    remedy:
      'Install a host compiler that the toolkit supports, for example g++-12, or choose another toolkit; `cudamaster doctor` names the pairs that fit.',
  },
  {
    sign: /^nvcc fatal\s*: (?:Cannot find compiler|Could not set up the environment|Failed to preprocess host compiler|No supported).*/m,
    code: 'env.host-compiler',
    message: 'nvcc finds no host compiler that it can use.',
    remedy: 'Install g++ (Linux) or the Visual Studio C++ build tools (Windows).',
  },
  {
    sign: /^(?:\S*(?:g\+\+|gcc|cc1plus|cpp|as|collect2)(?:-\d+)?: )?(?:fatal )?error: (?:error trying to exec|cannot execute) .*/m,
    code: 'env.host-compiler',
    message: 'The host compiler is installed in part only: one of its programs cannot be started.',
    remedy: 'Install the whole compiler package (g++), or repair it.',
  },
  {
    sign: /(?:fatal error|catastrophic error): (?:cannot open source file "|could not open source file ")?(?:cuda_runtime|crt\/host_config|crt\/host_defines|cuda_device_runtime_api|device_launch_parameters)\.h\b.*/,
    code: 'env.toolkit-broken',
    message: 'The CUDA toolkit lacks its own headers.',
    remedy: 'Install the complete toolkit (with headers), or choose another; a runtime-only package cannot compile.',
  },
  {
    sign: /(?:libdevice\S*\.bc\b.*(?:No such file|not found|open)|error in open\s*:.*libdevice\S*|(?:^|: )cannot find -lcuda(?:rt|rt_static|devrt)\b.*)/m,
    code: 'env.toolkit-broken',
    message: 'The CUDA toolkit lacks a part that linking needs.',
    remedy: 'Install the complete toolkit; `cudamaster doctor` says which parts were found.',
  },
  {
    sign: /(?:^nvcc fatal\s*: Unsupported gpu architecture .*|Value 'sm_\w+' is not defined for option 'gpu-name'.*)/m,
    code: 'env.arch-unsupported',
    message: 'This CUDA toolkit cannot make code for the GPU.',
    remedy: 'Install a toolkit that knows the GPU, or choose another one; `cudamaster doctor` lists them.',
  },
  {
    sign: /^.*(?:No space left on device|Disk quota exceeded).*/m,
    code: 'env.disk-full',
    message: 'The disk filled up while compiling.',
    remedy: 'Free some space on the disk of the temporary folder, or set CUDAMASTER_TMP to one elsewhere.',
  },
  {
    sign: /^nvcc fatal\s*: (?:Could not open output file|Can't create temporary|Cannot create).*/m,
    code: 'env.not-writable',
    message: 'The compiler could not write its temporary files.',
    remedy: 'Set CUDAMASTER_TMP to a writable folder.',
  },
  {
    sign: /^(?:sh|\/bin\/sh): .*(?:not found|cannot execute|Permission denied|Exec format error).*/m,
    code: 'env.toolkit-broken',
    message: 'One of the programs that nvcc starts is missing or cannot be executed.',
    remedy: 'Install the complete toolkit for this kind of processor.',
  },
];

/** The compiler itself went down. Texts of nvcc's driver and of gcc's; none of them can begin a line that quotes a source file. */
const crashSigns: readonly RegExp[] = [
  /^nvcc error\s*: '.*' died due to signal \d+.*/m,
  /^'?\S*(?:cudafe\+\+|cicc|ptxas|nvlink|fatbinary)'? died due to signal \d+.*/m,
  /^Killed$/m,
  /^(?:\S*: )?(?:fatal )?error: Killed signal terminated program .*/m,
  /^(?:virtual memory exhausted|cc1plus: out of memory|.*: std::bad_alloc$).*/m,
  /(?:^|: )internal compiler error: .*/m,
  /^Segmentation fault.*/m,
];

/** Lines whose text the source chooses: they prove nothing about the machine. host_config.h is NVIDIA's own. */
const chosenBySource = /^\s*(?:\d+\s*)?\||#warning|#\s*pragma|static[_ ]assert/;
const toolWords = (text: string): string =>
  text
    .split('\n')
    // No tool says what is wrong with the machine after two thousand characters; the signs take the square of a line's length.
    .map((line) => line.slice(0, 2000))
    .filter((line) => !chosenBySource.test(line) && (!line.includes('#error') || /host_config\.h[:(]/.test(line)))
    .join('\n');

/**
 * What a finished compiler run means. `failed` = it read the code and said no; everything about the machine or the compiler's own
 * death is kept apart (never shown to a model as a fault of its code).
 */
export function classifyBuild(exit: ChildExit, step: BuildStep, command: string): Verdict {
  const seconds = (step.limits.wallMs / 1000).toFixed(0);
  if (exit.ended === 'abort' || exit.ended === 'kill')
    return { status: 'killed', reason: { code: 'cancelled', message: 'Cancelled.' } };
  if (exit.startError !== null) return cannotStart(exit.startError, step);
  if (exit.ended === 'timeout')
    return {
      status: 'timeout',
      reason: { code: 'env.killed', message: `Compiling took longer than ${seconds} s and was stopped.` },
    };
  if (exit.ended === 'memory')
    return {
      status: 'killed',
      reason: {
        code: 'env.killed',
        message: `Compiling needed more than ${step.limits.memoryMiB} MiB and was stopped.`,
      },
    };
  if (exit.signal !== null) return crashed(`The compiler was ended by ${exit.signal}.`);
  if (exit.exitCode === 0) return { status: 'ok' };
  return classifyText(exit, command);
}

function classifyText(exit: ChildExit, command: string): Verdict {
  const said = toolWords(`${exit.stderr}\n${exit.stdout}`);
  const everything = exit.stderr + exit.stdout;
  if (everything.trim() === '')
    return {
      status: 'environment',
      reason: {
        code: 'env.toolkit-broken',
        message: `The compiler ended with exit code ${exit.exitCode} and printed nothing: ${command.slice(0, 300)}`,
        remedy: 'Usual causes: no usable temporary folder (TMP, TEMP), or a damaged toolkit. Run `cudamaster doctor`.',
      },
    };
  for (const sign of crashSigns) {
    const hit = sign.exec(said);
    if (hit) return crashed(`The compiler crashed or was killed: ${hit[0].trim().slice(0, 200)}`);
  }
  for (const { sign, code, message, remedy } of environmentSigns) {
    const hit = sign.exec(said);
    if (hit)
      return {
        status: 'environment',
        reason: { code, message: `${message} (${hit[0].trim().slice(0, 300)})`, remedy },
      };
  }
  return { status: 'failed' };
}

const crashed = (message: string): Verdict => ({
  status: 'killed',
  reason: {
    code: 'env.killed',
    message,
    remedy: 'Close other programs that need memory, or compile fewer things at once.',
  },
});

function cannotStart(fault: string, step: BuildStep): Verdict {
  if (fault.startsWith('ESANDBOX'))
    return {
      status: 'environment',
      reason: {
        code: 'env.sandbox-missing',
        message: `The sandbox could not be started: ${fault.slice('ESANDBOX: '.length)}`,
        remedy: 'Run `cudamaster doctor`; bubblewrap needs user namespaces.',
      },
    };
  return {
    status: 'environment',
    reason: {
      code: step.tool === 'nvcc' ? 'env.toolkit-missing' : 'env.host-compiler',
      message: `${step.tool === 'nvcc' ? 'nvcc' : 'The C++ compiler'} could not be started: ${fault}`,
      remedy: 'Run `cudamaster doctor`; it names the compilers found and what is wrong with them.',
    },
  };
}
