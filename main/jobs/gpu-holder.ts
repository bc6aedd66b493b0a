import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pidExists } from '../base/proc.ts';
import { lockFolder } from './gpu-lock.ts';

export interface GpuHolder {
  readonly uuid: string;
  /** Process that holds the GPU; null: not known. */
  readonly pid: number | null;
}

/** Inode → process, of every flock on this machine; null where the system does not list them. */
function flocks(): Map<number, number> | null {
  let text: string;
  try {
    text = readFileSync('/proc/locks', 'utf8');
  } catch {
    return null;
  }
  const out = new Map<number, number>();
  for (const line of text.split('\n')) {
    const found = /^\d+: FLOCK\s+\S+\s+\S+\s+(-?\d+) [0-9a-f]+:[0-9a-f]+:(\d+) /.exec(line);
    if (found) out.set(Number(found[2]), Number(found[1]));
  }
  return out;
}

const alive = (pid: number): number | null => (pid > 0 && pidExists(pid) ? pid : null);

/** The process that noted itself in a lock file when it took the lock. */
function noted(file: string): number | null {
  try {
    return alive(Number.parseInt(readFileSync(file, 'utf8'), 10));
  } catch {
    return null;
  }
}

/**
 * GPUs whose lock somebody holds now. Only looks: taking the lock to try would keep others out for a moment. Where the system does not
 * list locks, a living process that noted itself counts as holder of its own lock file's fallback (PATH.lock).
 */
export function gpuHolders(dir?: string): GpuHolder[] {
  let folder: string;
  try {
    folder = lockFolder(dir);
  } catch {
    return [];
  }
  const locks = flocks();
  const names = readdirSync(folder);
  const out: GpuHolder[] = [];
  for (const name of names) {
    const uuid = /^gpu-(.+)\.lock$/.exec(name)?.[1];
    if (uuid === undefined || uuid.endsWith('.lock')) continue;
    const file = join(folder, name);
    const by = locks?.get(statSync(file, { throwIfNoEntry: false })?.ino ?? -1);
    if (by !== undefined) out.push({ uuid, pid: noted(file) ?? alive(by) });
    else if (locks === null && names.includes(`${name}.lock`)) out.push({ uuid, pid: noted(file) });
  }
  return out;
}
