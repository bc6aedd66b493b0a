import { readdirSync, readFileSync } from 'node:fs';
import { execaSync } from 'execa';

/** What /proc/PID/stat says about a process. */
export interface ProcStat {
  readonly pid: number;
  readonly state: string;
  readonly ppid: number;
  readonly pgrp: number;
  readonly session: number;
  /** Clock ticks since boot. */
  readonly start: string;
}

/** Parses a line of /proc/PID/stat; the command name may hold spaces and brackets, so fields count from the last ')'. */
export function parseStat(text: string): ProcStat | null {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < 0) return null;
  const rest = text.slice(close + 2).split(' ');
  const start = rest[19];
  if (start === undefined) return null;
  return {
    pid: Number(text.slice(0, open)),
    state: rest[0] ?? '?',
    ppid: Number(rest[1]),
    pgrp: Number(rest[2]),
    session: Number(rest[3]),
    start,
  };
}

/** Reads one process; null when it is gone or there is no /proc. */
export function readStat(pid: number): ProcStat | null {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return null;
  }
}

/** Every process that /proc shows. Empty where there is no /proc. */
export function allProcesses(): ProcStat[] {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return [];
  }
  const out: ProcStat[] = [];
  for (const name of names) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat) out.push(stat);
  }
  return out;
}

/** Zombies hold nothing and cannot be killed: for us they are gone. */
export const isAlive = (p: ProcStat): boolean => p.state !== 'Z' && p.state !== 'X';

let bootId: string | null = null;
function boot(): string {
  if (bootId === null) {
    try {
      bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
    } catch {
      bootId = 'noboot';
    }
  }
  return bootId;
}

/**
 * Identifies a process beyond its number, which the system reuses: Linux "BOOT:TICKS" from /proc/PID/stat, macOS `ps -o lstart`.
 * null = no such process, or the platform cannot tell.
 */
export function startTimeOf(pid: number): string | null {
  if (!Number.isInteger(pid) || pid <= 0) return null;
  if (process.platform === 'linux') {
    const stat = readStat(pid);
    return stat && isAlive(stat) ? `${boot()}:${stat.start}` : null;
  }
  if (process.platform === 'win32') return null;
  const ps = execaSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    reject: false,
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
    extendEnv: false,
  });
  const text = typeof ps.stdout === 'string' ? ps.stdout.trim() : '';
  return ps.exitCode === 0 && text !== '' ? text : null;
}

/** True when a process with this number exists (ours or not). */
export function pidExists(pid: number): boolean {
  const stat = process.platform === 'linux' ? readStat(pid) : null;
  if (process.platform === 'linux') return stat !== null && isAlive(stat);
  try {
    process.kill(pid, 0);
    return true;
  } catch (fault) {
    return (fault as { code?: string }).code === 'EPERM';
  }
}

function childrenOf(pid: number): number[] | null {
  try {
    const out: number[] = [];
    for (const task of readdirSync(`/proc/${pid}/task`))
      for (const word of readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
        if (word !== '') out.push(Number(word));
    return out;
  } catch {
    return null;
  }
}

let listsChildren: boolean | null = null;
/** Some kernels (CONFIG_PROC_CHILDREN off, gVisor) do not list children. */
function kernelListsChildren(): boolean {
  listsChildren ??= childrenOf(process.pid) !== null;
  return listsChildren;
}

/**
 * Live descendants of a process, itself included, by parenthood. Cheap where the kernel lists children: reads only the tree's own entries.
 * The walk ends after `maxMs`: a fork bomb grows faster than it can be read, and the caller must get on with killing it.
 */
export function treeOf(pid: number, maxMs = 200): ProcStat[] {
  if (!kernelListsChildren()) return treeWithin(allProcesses(), pid);
  const out: ProcStat[] = [];
  const queue = [pid];
  const seen = new Set<number>();
  const until = performance.now() + maxMs;
  while (queue.length > 0 && performance.now() < until) {
    const next = queue.pop() as number;
    if (seen.has(next)) continue;
    seen.add(next);
    const stat = readStat(next);
    if (!stat) continue;
    if (isAlive(stat)) out.push(stat);
    queue.push(...(childrenOf(next) ?? []));
  }
  return out;
}

/** The same from a list of processes. */
export function treeWithin(all: readonly ProcStat[], pid: number): ProcStat[] {
  const below = new Map<number, ProcStat[]>();
  for (const p of all) below.set(p.ppid, [...(below.get(p.ppid) ?? []), p]);
  const out: ProcStat[] = [];
  const queue = all.filter((p) => p.pid === pid);
  while (queue.length > 0) {
    const next = queue.pop() as ProcStat;
    if (isAlive(next)) out.push(next);
    queue.push(...(below.get(next.pid) ?? []).filter((p) => p.pid !== next.pid));
  }
  return out;
}

/** Live members of a process group or of the session of the same number (what our detached children lead). */
export function groupMembers(group: number): ProcStat[] {
  return allProcesses().filter((p) => isAlive(p) && (p.pgrp === group || p.session === group));
}

/** Resident memory of a process, KiB; 0 when it just went away. Read as text in kB: page sizes differ between machines. */
export function residentKiB(pid: number): number {
  try {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return found ? Number(found[1]) : 0;
  } catch {
    return 0;
  }
}
