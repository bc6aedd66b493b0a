import type { ChildExit } from '../../base/process.ts';
import type { ErrorCode, Incident } from '../../contract/index.ts';
import type { PeerFault } from './wire.ts';

/** Why a step has no (full) result. The codes are those of contract/errors.ts. */
export interface Reason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy?: string;
}

/** The machine, not the candidate, is at fault: ends the session with status `environment`. */
export class EnvironmentFault extends Error {
  readonly reason: Reason;
  constructor(code: ErrorCode, message: string, remedy?: string) {
    super(message);
    this.name = 'EnvironmentFault';
    this.reason = { code, message, remedy };
  }
}

/** The candidate's process failed; what is reported of it. */
export class CandidateFault extends Error {
  readonly incident: Incident;
  /** The process did not answer in time and had to be killed: the GPU has to be looked at before going on. */
  readonly hung: boolean;
  constructor(incident: Incident, hung: boolean) {
    super(incident.message);
    this.name = 'CandidateFault';
    this.incident = incident;
    this.hung = hung;
  }
}

const signalNames: Readonly<Record<number, string>> = {
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
  24: 'SIGXCPU',
  31: 'SIGSYS',
};

/** Signal that ended a process, also when a launcher (bubblewrap, ncu) turned it into exit code 128 + n. */
export function endingSignal(exit: ChildExit): string | null {
  if (exit.signal) return exit.signal;
  return exit.exitCode !== null && exit.exitCode > 128 ? (signalNames[exit.exitCode - 128] ?? null) : null;
}

/** "ended with SIGSEGV", "exited with code 0" … */
export function describeExit(exit: ChildExit): string {
  if (exit.startError) return `could not be started: ${exit.startError}`;
  if (exit.ended === 'memory') return 'was ended at its memory limit';
  if (exit.ended === 'timeout') return 'was ended at its time limit';
  const signal = endingSignal(exit);
  if (signal) return `ended with ${signal}`;
  return exit.exitCode === null ? 'ended' : `exited with code ${exit.exitCode}`;
}

/** Last lines of what a process printed, for the detail of an incident. Never parsed. */
export function outputTail(exit: ChildExit | null, lines = 12): string | undefined {
  const printed = [exit?.stderr ?? '', exit?.stdout ?? ''].map((s) => s.trim()).filter((s) => s !== '');
  if (printed.length === 0) return undefined;
  return printed.map((s) => s.split('\n').slice(-lines).join('\n').slice(-2000)).join('\n');
}

/** CUDA errors that say the machine is at fault whatever the candidate did. */
const machineErrors: ReadonlyArray<readonly [RegExp, ErrorCode, string]> = [
  [
    /cudaErrorInsufficientDriver|cudaErrorSystemDriverMismatch|cudaErrorCompatNotSupportedOnDevice/,
    'env.driver-too-old',
    'Install a driver that supports this CUDA toolkit, or choose an older toolkit.',
  ],
  [/cudaErrorNoDevice/, 'env.gpu-missing', 'Check with nvidia-smi that this process may see the GPU.'],
  [
    /cudaErrorDevicesUnavailable|cudaErrorDeviceNotLicensed|cudaErrorMpsConnectionFailed/,
    'env.gpu-busy',
    'Another process holds the GPU exclusively, or its compute mode forbids a second one. End it, or set the mode to default.',
  ],
  [
    /cudaErrorECCUncorrectable|cudaErrorNvlinkUncorrectable|cudaErrorSystemNotReady/,
    'env.gpu-lost',
    'Look into the kernel log for Xid messages; reset the GPU or restart the machine.',
  ],
  [
    /cudaErrorNoKernelImageForDevice|cudaErrorUnsupportedPtxVersion/,
    'env.arch-unsupported',
    'The program was built for another GPU architecture than the one that runs it.',
  ],
];

/** The machine's fault behind a CUDA error text ("cudaErrorName: …"), or null when a candidate can cause it. */
export function machineFaultOf(cudaText: string): EnvironmentFault | null {
  for (const [pattern, code, remedy] of machineErrors)
    if (pattern.test(cudaText)) return new EnvironmentFault(code, `The GPU refused to work: ${cudaText}`, remedy);
  return null;
}

export interface Where {
  readonly arm?: string;
  readonly problem?: string;
}

/** Failure of a process that holds no candidate (or none yet): always the machine's or ours. */
export function environmentOf(fault: PeerFault, exit: ChildExit | null, role: 'runner' | 'judge'): EnvironmentFault {
  const doing = fault.command === '' ? 'starting' : fault.command;
  if (fault.kind === 'refused') return refusedByMachine(fault, role);
  if (exit?.startError?.startsWith('ESANDBOX'))
    return new EnvironmentFault(
      'env.sandbox-missing',
      `The sandbox could not be made: ${exit.startError}`,
      'Run "cudamaster doctor"; it says what bubblewrap lacks.',
    );
  if (exit?.startError)
    return new EnvironmentFault(
      'env.killed',
      `The ${role} ${describeExit(exit)}.`,
      'Build it again (clear the cache).',
    );
  const end = fault.kind === 'closed' && exit ? describeExit(exit) : fault.message;
  const tail = outputTail(exit, 4);
  const code = role === 'runner' && fault.kind === 'timeout' ? 'env.gpu-lost' : 'env.killed';
  return new EnvironmentFault(
    code,
    `The ${role} failed at "${doing}" without any candidate in it: ${end}.${tail ? ` It printed: ${tail}` : ''}`,
    code === 'env.gpu-lost'
      ? 'The GPU does not answer. Look at nvidia-smi and the kernel log; a reset or restart may be needed.'
      : 'See whether the system ended it (out of memory), then try again.',
  );
}

function refusedByMachine(fault: PeerFault, role: string): EnvironmentFault {
  const said = `${role}, ${fault.command}: ${fault.message}`;
  if (fault.code === 'cuda') {
    const machine = machineFaultOf(fault.message);
    if (machine) return machine;
    if (/MemoryAllocation/.test(fault.message)) return gpuMemory(said);
    return new EnvironmentFault(
      'env.gpu-lost',
      `The GPU refused to work: ${said}`,
      'Look at nvidia-smi and the kernel log.',
    );
  }
  if (fault.code === 'memory') return gpuMemory(said);
  if (fault.code === 'cupti')
    return new EnvironmentFault(
      'env.cupti-missing',
      `GPU activity cannot be recorded: ${said}`,
      'CUPTI comes with the toolkit (libcupti); another profiler that is attached also blocks it.',
    );
  if (fault.code === 'io')
    return new EnvironmentFault(
      /No space|ENOSPC/i.test(fault.message) ? 'env.disk-full' : 'env.not-writable',
      `A scratch file could not be used: ${said}`,
      'Free space in the scratch folder, or set CUDAMASTER_HOME to a folder on another disk.',
    );
  return new EnvironmentFault('internal', `The harness refused a request: ${said}`);
}

const gpuMemory = (said: string): EnvironmentFault =>
  new EnvironmentFault(
    'env.gpu-memory',
    `Not enough GPU memory for this size: ${said}`,
    'End other programs that use the GPU, or choose smaller sizes.',
  );

/**
 * Failure of a process with a candidate in it. Errors only the machine can cause stay the machine's; a SIGKILL that neither we nor
 * the memory limit sent is the kernel's out-of-memory killer.
 */
export function candidateFault(
  fault: PeerFault,
  exit: ChildExit | null,
  where: Where,
): CandidateFault | EnvironmentFault {
  const incident = (kind: Incident['kind'], message: string): Incident => ({
    kind,
    ...where,
    message,
    detail: outputTail(exit),
  });
  if (fault.kind === 'timeout')
    return new CandidateFault(incident('timeout', `${fault.message}; the process was killed`), true);
  if (fault.kind === 'protocol') return new CandidateFault(incident('protocol', fault.message), false);
  if (fault.kind === 'closed') {
    if (exit && exit.ended === null && endingSignal(exit) === 'SIGKILL')
      return new EnvironmentFault(
        'env.killed',
        `The system killed the process during "${fault.command}" (SIGKILL, probably out of memory).`,
        'Close other programs, or choose smaller sizes.',
      );
    const end = exit ? describeExit(exit) : 'did not end though its connection closed';
    return new CandidateFault(incident('crash', `the process ${end} during "${fault.command}"`), exit === null);
  }
  if (fault.code === 'load') return new CandidateFault(incident('load', fault.message), false);
  if (fault.code === 'cuda')
    return (
      machineFaultOf(fault.message) ??
      (fault.command === 'problem' && /MemoryAllocation/.test(fault.message)
        ? gpuMemory(fault.message)
        : new CandidateFault(incident('cuda-error', fault.message), false))
    );
  return refusedByMachine(fault, 'runner');
}
