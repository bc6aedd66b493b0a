/** What ncu says when it cannot profile, by its text: exit codes do not tell (reports B18-B25). First match wins. */
export interface ProfileFault {
  readonly reason: string;
  readonly remedy: string;
}

const faults: readonly (ProfileFault & { readonly pattern: RegExp })[] = [
  {
    pattern: /ERR_NVGPUCTRPERM|permission to access NVIDIA GPU Performance Counters/i,
    reason: 'this user may not read the GPU performance counters (ERR_NVGPUCTRPERM)',
    remedy:
      'Linux: set the driver option NVreg_RestrictProfilingToAdminUsers=0 and reload the driver, or give the container CAP_SYS_ADMIN; Windows: NVIDIA Control Panel, Developer, Manage GPU Performance Counters. Timing goes on without it.',
  },
  {
    pattern: /NVPA_STATUS_INSUFFICIENT_PRIVILEGE|InsufficientPrivilege/i,
    reason: 'profiling permission is not granted (insufficient privilege)',
    remedy:
      'Under WSL2 Windows governs the counters: allow them in the Windows driver panel, or profile with ncu on Windows. Timing goes on without it.',
  },
  {
    pattern: /driver resource was unavailable|concurrently collecting profiling data/i,
    reason: 'another tool holds the profiling hardware',
    remedy:
      'Stop the other profiler (DCGM: `dcgmi profile --pause`; nv-hostengine, ncu or nsys of another user) and run again.',
  },
  {
    pattern: /lock file .*nsight-compute-lock/i,
    reason: 'ncu could not open its lock file',
    remedy: 'Remove the stale /tmp/nsight-compute-lock of the other user, or give ncu a private TMPDIR.',
  },
  {
    pattern: /driver is not compatible with Nsight Compute/i,
    reason: 'this ncu does not fit the driver',
    remedy:
      'Install the ncu that belongs to the driver, or update the driver; `cudamaster doctor` lists both versions.',
  },
  {
    pattern: /Failed to prepare kernel for profiling|Unknown Error on device/i,
    reason: 'ncu failed to prepare the kernel for profiling',
    remedy: 'Try another installed ncu: the versions of ncu, driver and GPU may not fit.',
  },
  {
    pattern: /Failed to find metric|does not exist.*metric|metric.*not (?:found|supported)/i,
    reason: 'this ncu or GPU does not know a requested metric',
    remedy: 'Update ncu; the metric ids asked for are those of ncu 2025.',
  },
  {
    pattern: /bad allocation|out of memory|Backing up device memory/i,
    reason: 'replaying the kernel needed more memory than there was',
    remedy: 'Profile a smaller size, or free memory of the GPU and the host.',
  },
  {
    pattern: /No kernels were profiled/i,
    reason: 'ncu ran but saw no kernel to profile',
    remedy: 'The call may have failed before its first launch, or launched nothing: see the log.',
  },
];

/** The first fault named in ncu's text, or null. */
export function faultIn(text: string): ProfileFault | null {
  const found = faults.find((fault) => fault.pattern.test(text));
  return found === undefined ? null : { reason: found.reason, remedy: found.remedy };
}
