import type { ErrorCode } from '../../contract/index.ts';
import type { Reason } from './classify.ts';

/**
 * What ncu says when it cannot profile, by text: its exit code says little, and the target may run on to a good end.
 * First match wins. Message texts as ncu 2022 … 2025 prints them.
 */
const faults: ReadonlyArray<{
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
}> = [
  {
    pattern: /nsight-compute directory is not found|Nsight Compute is not installed/i,
    code: 'env.ncu-missing',
    message: 'This ncu is only the wrapper of an installation that is not there.',
    remedy: 'Install Nsight Compute (package cuda-nsight-compute), or set the path of the real ncu in the settings.',
  },
  {
    pattern: /ERR_NVGPUCTRPERM|Insufficient_?Privilege|permission to access NVIDIA GPU Performance Counters/i,
    code: 'env.ncu-permission',
    message: 'This user may not read the GPU performance counters.',
    remedy:
      'Linux: set the driver option NVreg_RestrictProfilingToAdminUsers=0 (a file in /etc/modprobe.d, then reload the driver), or give the container CAP_SYS_ADMIN. Windows and WSL2: allow counters for all users in the developer settings of the NVIDIA Control Panel. Timing works without.',
  },
  {
    pattern: /driver resource was unavailable|no other tool \(like DCGM\)|concurrently collecting profiling data/i,
    code: 'env.ncu-busy',
    message: 'Another tool holds the GPU performance counters.',
    // What a session says instead names who it is (counter-holders.ts).
    remedy: 'Look for nv-hostengine or dcgm-exporter (DCGM), ncu and nsys. Then profile again.',
  },
  {
    pattern: /Failed to (open|create|open\/create) lock file|nsight-compute-lock/i,
    code: 'env.ncu-lock',
    message: 'ncu could not make its lock file.',
    remedy: 'Check that the scratch folder (CUDAMASTER_HOME) is writable and its disk not full.',
  },
  {
    pattern: /Failed to find metric|metric\S* .*(does not exist|not (found|supported))/i,
    code: 'env.ncu-incompatible',
    message: 'This ncu or GPU does not know a requested metric.',
    remedy: 'Update Nsight Compute; the metric ids asked for are those of ncu 2025.',
  },
  {
    pattern:
      /not compatible with Nsight Compute|Failed to prepare kernel for profiling|Unknown Error on device|Failed to load (lib|the)|driver version is (insufficient|not supported)/i,
    code: 'env.ncu-incompatible',
    message: 'This ncu does not fit the driver or the GPU.',
    remedy: 'Install the Nsight Compute release that belongs to the driver; "cudamaster doctor" names both versions.',
  },
  {
    pattern: /bad allocation|bad_alloc|out of memory/i,
    code: 'env.ncu-memory',
    message: 'ncu ran out of memory while saving device memory for replay.',
    remedy: 'Profile a smaller size, or ask for fewer metrics.',
  },
  {
    pattern: /No kernels were profiled/i,
    code: 'env.ncu-empty',
    message: 'ncu saw no kernel between the start and the end of the profiled call.',
    remedy: 'The call may do its work by copies or sets alone, or in another process. Timing still holds.',
  },
];

/** Reason in ncu's own output why there is no profile; null when it says nothing known. */
export function classifyNcu(log: string): Reason | null {
  for (const { pattern, code, message, remedy } of faults) {
    const found = pattern.exec(log);
    if (found) return { code, message: `${message} ncu: ${lineAt(log, found.index)}`, remedy };
  }
  return null;
}

/**
 * The end of a process that ncu cannot tell of any more: it was stopped at its memory limit, or died after ncu had begun to save device
 * memory in system memory. null: neither.
 */
export function replayMemory(log: string, atLimit: boolean): Reason | null {
  const saving = /^.{0,80}Backing up device memory in system memory/m.test(log);
  if (!atLimit && !saving) return null;
  return {
    code: 'env.ncu-memory',
    message: atLimit
      ? 'ncu and the program it profiles were stopped at their memory limit.'
      : 'ncu or the program died while device memory was being saved in system memory for replay.',
    remedy: 'Profile a smaller size, or ask for fewer metrics.',
  };
}

/** The first error line ncu marked itself, for a failure that is not in the table. */
export function unknownNcuFault(log: string, exitCode: number | null): Reason {
  const marked = log.split('\n').find((line) => line.startsWith('==ERROR=='));
  return {
    code: 'env.ncu-failed',
    message: marked
      ? `ncu failed: ${marked.replace('==ERROR==', '').trim().slice(0, 300)}`
      : `ncu gave no data (${exitCode === null ? 'no exit code' : `exit code ${exitCode}`}).`,
    remedy: 'Run "cudamaster doctor"; the full output of ncu is kept with the result.',
  };
}

function lineAt(text: string, index: number): string {
  const start = text.lastIndexOf('\n', index) + 1;
  const end = text.indexOf('\n', index);
  return text
    .slice(start, end < 0 ? undefined : end)
    .trim()
    .slice(0, 300);
}

/** Whether a CSV printed by ncu holds at least one launch: the row that begins with "ID", a row of units, a row of data. */
export function hasLaunches(csv: string): boolean {
  const lines = csv.split(/\r\n|\r|\n/);
  const header = lines.findIndex((line) => line.startsWith('"ID",'));
  return header >= 0 && lines.slice(header + 1).some((line) => /^"\d+",/.test(line));
}
