/** What this machine offers to a sandbox; found by sandbox-facts.ts, plain data here so that the argument list is a pure function. */
export interface SandboxFacts {
  readonly bwrap: string;
  /** Folders and files bound read-only at their own path: system libraries and headers, toolkit, compilers, profilers. */
  readonly readOnly: readonly string[];
  /** Links to make at the root: /lib → usr/lib where the system merged them. */
  readonly links: readonly { readonly at: string; readonly target: string }[];
  /** /dev/nvidia*, /dev/dxg. */
  readonly gpuDevices: readonly string[];
  /** Folders of the driver's libraries. */
  readonly gpuDirs: readonly string[];
  /** Entries of /proc that must be bound read-only again: a root user without capabilities may still write /proc/sys/kernel/core_pattern. */
  readonly procReadOnly: readonly string[];
  /** What this bwrap understands and this kernel allows (found by trying). */
  readonly features: { readonly size: boolean; readonly disableUserns: boolean };
  /** true: GPU counters are for administrators only and we are root: a profiler needs CAP_SYS_ADMIN of the machine itself. */
  readonly countersNeedAdmin: boolean;
}

export interface SandboxOptions {
  /** Writable, same path inside and outside. Nothing else is writable, apart from /tmp (which is `tmp`) and a small /dev/shm. */
  readonly scratch: string;
  /** Folder inside scratch that becomes the private /tmp. */
  readonly tmp: string;
  readonly cwd: string;
  /** Entries of scratch that the process may read but not change: programs and libraries that later processes trust. */
  readonly protect: readonly string[];
  /** Entries of scratch that the process may not even read. */
  readonly hide: readonly string[];
  /** Second paths below aliasPath, the same for every job: compilers embed source paths, and cached builds outlive their scratch. */
  readonly aliases: readonly { readonly from: string; readonly at: string; readonly writable: boolean }[];
  readonly gpu: boolean;
  readonly profiling: boolean;
}

/** Where the folder of a build, and the sources of a session, are seen inside the sandbox. */
export const aliasPath = '/cm/build';

const shmBytes = 64 * 1024 * 1024;

/**
 * argv that runs `argv` contained by bubblewrap: own user, pid, network, ipc and uts namespaces, no capabilities, no terminal,
 * dies with its parent, sees system libraries, toolkit and its scratch folder and nothing else of the disk.
 * The environment is the caller's business (spawn.ts inherits nothing).
 */
export function sandboxArgv(argv: readonly string[], options: SandboxOptions, facts: SandboxFacts): string[] {
  // Not --as-pid-1: bwrap's own init reaps orphans, and a program that is PID 1 ignores signals it has no handler for.
  const out = [
    facts.bwrap,
    '--die-with-parent',
    '--new-session',
    ...namespaces(options, facts),
    '--hostname',
    'sandbox',
  ];
  for (const path of facts.readOnly) out.push('--ro-bind', path, path);
  for (const link of facts.links) out.push('--symlink', link.target, link.at);
  out.push('--proc', '/proc');
  for (const path of facts.procReadOnly) out.push('--ro-bind', path, path);
  out.push('--dev', '/dev');
  if (facts.features.size) out.push('--size', String(shmBytes));
  out.push('--tmpfs', '/dev/shm');
  if (options.gpu) out.push(...gpuArgs(facts));
  out.push('--bind', options.tmp, '/tmp', ...scratchArgs(options));
  out.push('--remount-ro', '/dev', '--remount-ro', '/', '--chdir', options.cwd, '--', ...argv);
  return out;
}

function namespaces(options: SandboxOptions, facts: SandboxFacts): string[] {
  if (options.profiling && facts.countersNeedAdmin) {
    // In a user namespace CAP_SYS_ADMIN would not count for the driver, so this one process tree keeps the machine's.
    const rest = ['--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts', '--unshare-cgroup-try'];
    return [...rest, '--cap-drop', 'ALL', '--cap-add', 'CAP_SYS_ADMIN'];
  }
  const nested = facts.features.disableUserns ? ['--unshare-user', '--disable-userns'] : [];
  return ['--unshare-all', ...nested, '--cap-drop', 'ALL'];
}

function gpuArgs(facts: SandboxFacts): string[] {
  const out: string[] = [];
  for (const device of facts.gpuDevices) out.push('--dev-bind', device, device);
  for (const dir of facts.gpuDirs) out.push('--ro-bind', dir, dir);
  // NVML and the driver read the PCI topology here.
  out.push('--ro-bind', '/sys', '/sys');
  return out;
}

function scratchArgs(options: SandboxOptions): string[] {
  const out = ['--bind', options.scratch, options.scratch];
  for (const name of options.protect) {
    const path = `${options.scratch}/${name}`;
    out.push('--ro-bind', path, path);
  }
  // A device on a mount without devices: neither readable nor executable.
  for (const name of options.hide) out.push('--ro-bind', '/dev/null', `${options.scratch}/${name}`);
  for (const { from, at, writable } of options.aliases) out.push(writable ? '--bind' : '--ro-bind', from, at);
  return out;
}
