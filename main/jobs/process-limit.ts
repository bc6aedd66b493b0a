import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pidExists, treeOf } from '../base/proc.ts';
import type { ChildHandle } from '../base/process.ts';
import { run } from '../base/spawn.ts';
import { type SandboxFacts, sandboxArgv } from './sandbox.ts';

/**
 * Processes and threads of one sandbox. CUDA, nvcc and ncu need some dozens, a judge one per processor. Several hundred busy tasks
 * on a few processors would keep us from even ending them, so the limit grows with the processors.
 */
export const maxTasks = 64 + 4 * availableParallelism();

/**
 * How the number of tasks is limited here: by a cgroup (root), by RLIMIT_NPROC counted in the sandbox's own user namespace
 * (Linux 5.14 and later, not for root), or, failing both, by looking.
 */
export type ProcessLimit =
  | { readonly kind: 'cgroup'; readonly parent: string }
  | { readonly kind: 'rlimit'; readonly prefix: readonly string[] }
  | { readonly kind: 'watch' };

export async function processLimit(facts: SandboxFacts): Promise<ProcessLimit> {
  if (process.getuid?.() === 0) {
    const parent = pidsController();
    return parent ? { kind: 'cgroup', parent } : { kind: 'watch' };
  }
  const prlimit = '/usr/bin/prlimit';
  if (!existsSync(prlimit) || !existsSync('/usr/bin/timeout')) return { kind: 'watch' };
  const prefix = [prlimit, `--nproc=${maxTasks}`, '--'];
  // On older kernels the limit counts all processes of the user, and a program here could not fork: try one that does.
  const options = {
    scratch: '/tmp',
    tmp: '/tmp',
    cwd: '/',
    protect: [],
    hide: [],
    aliases: [],
    gpu: false,
    profiling: false,
  };
  const tried = await run(sandboxArgv([...prefix, '/usr/bin/timeout', '5', '/usr/bin/true'], options, facts), {
    cwd: '/',
    env: {},
    wallMs: 10_000,
    memoryMiB: null,
    outputBytes: 4096,
  });
  return tried.exitCode === 0 ? { kind: 'rlimit', prefix } : { kind: 'watch' };
}

/** Folder in which a pids cgroup can be made: the pids hierarchy of version 1, or our own group of version 2 with pids enabled for children. */
function pidsController(): string | null {
  const candidates = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'];
  for (const root of candidates) {
    const probe = join(root, `cudamaster-${process.pid}-probe`);
    try {
      mkdirSync(probe);
    } catch {
      continue;
    }
    const usable = existsSync(join(probe, 'pids.max'));
    try {
      rmdirSync(probe);
    } catch {
      // An empty group that stays is harmless.
    }
    if (!usable) continue;
    sweepGroups(root);
    return root;
  }
  return null;
}

/** Removes the empty groups of programs that were killed. */
function sweepGroups(root: string): void {
  for (const name of readdirSync(root)) {
    const pid = Number(/^cudamaster-(\d+)-/.exec(name)?.[1] ?? 0);
    if (pid > 0 && !pidExists(pid)) removeGroup(join(root, name), 0);
  }
}

let groups = 0;

export interface Limited {
  readonly handle: ChildHandle;
  /** Ends the limiting; call it when the tree is gone. */
  readonly end: () => void;
}

/**
 * Starts a tree under the limit. With a cgroup it is forked inside: were it moved there after its start, a fork bomb on a busy machine
 * would have children outside by then, which no limit holds (27,000 of them once).
 */
export function startLimited(start: () => ChildHandle, limit: ProcessLimit): Limited {
  if (process.platform !== 'linux' || limit.kind === 'rlimit') return { handle: start(), end: () => undefined };
  const inside = limit.kind === 'cgroup' ? startInGroup(start, limit.parent) : null;
  if (inside) return inside;
  const handle = start();
  return { handle, end: handle.pid === null ? () => undefined : watch(handle) };
}

/** Our process enters a new group for the moment of the fork, which is synchronous, and goes back. null = not possible, nothing was started. */
function startInGroup(start: () => ChildHandle, parent: string): Limited | null {
  const group = join(parent, `cudamaster-${process.pid}-${groups++}`);
  const home = ownGroup(parent);
  if (home === null) return null;
  try {
    mkdirSync(group);
    // For that moment our own threads count too.
    writeFileSync(join(group, 'pids.max'), String(maxTasks + threadsOf(process.pid)));
    writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
  } catch {
    removeGroup(group);
    return null;
  }
  let handle: ChildHandle;
  try {
    handle = start();
  } catch (fault) {
    setTimeout(() => removeGroup(group), 0).unref(); // after we have left it
    throw fault;
  } finally {
    writeFileSync(join(home, 'cgroup.procs'), String(process.pid));
  }
  try {
    writeFileSync(join(group, 'pids.max'), String(maxTasks));
  } catch {
    // The slightly higher limit holds.
  }
  return { handle, end: () => removeGroup(group) };
}

/** The group that this process is in, below `parent`'s mount; null when it cannot be told for sure (a container that hides it). */
function ownGroup(parent: string): string | null {
  try {
    const [, path] =
      /^\d+:(?:pids|):(\/.*)$/m.exec(preferPids(readFileSync('/proc/self/cgroup', 'utf8'), parent)) ?? [];
    if (path === undefined) return null;
    const folder = join(parent, path);
    const members = readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n');
    return members.includes(String(process.pid)) ? folder : null;
  } catch {
    return null;
  }
}

/** Of /proc/self/cgroup the line of the hierarchy mounted at `parent`: that of the pids controller (version 1), or the unified one. */
const preferPids = (text: string, parent: string): string =>
  text.split('\n').find((line) => (parent.endsWith('/pids') ? /^\d+:pids:/ : /^0::/).test(line)) ?? '';

function removeGroup(group: string, tries = 20): void {
  try {
    rmdirSync(group);
  } catch (fault) {
    if ((fault as { code?: string }).code !== 'EBUSY' || tries === 0) return;
    // The kernel needs a moment after the last member's death.
    setTimeout(() => removeGroup(group, tries - 1), 20).unref();
  }
}

function watch(handle: ChildHandle): () => void {
  const timer = setInterval(() => {
    if (handle.pid === null || countTasks(handle.pid) <= maxTasks) return;
    // bwrap first: with it the kernel ends the whole pid namespace at once, while handle.kill() would walk a growing tree.
    try {
      process.kill(handle.pid, 'SIGKILL');
    } catch {
      // Ended meanwhile.
    }
    handle.kill();
  }, 100);
  return () => clearInterval(timer);
}

/** Live processes and threads of a tree. */
function countTasks(pid: number): number {
  let count = 0;
  for (const member of treeOf(pid)) {
    count += threadsOf(member.pid);
    if (count > maxTasks) return count;
  }
  return count;
}

function threadsOf(pid: number): number {
  try {
    return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 1);
  } catch {
    return 0;
  }
}
