import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  fstatSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { AppFailure } from '../contract/index.ts';
import { fileFault, systemCode } from './fault.ts';
import { ensureDir } from './paths.ts';
import { pidExists, startTimeOf } from './proc.ts';
import { deathSignalPrefix, findProgram } from './program.ts';

/** Who holds the lock, as far as the lock file tells. */
export interface LockWait {
  readonly path: string;
  /** Process id of the holder; null when unknown. */
  readonly holder: number | null;
}

export interface LockOptions {
  readonly signal?: AbortSignal;
  /** Called once when the lock is taken by someone else and we begin to wait. */
  readonly onWait?: (wait: LockWait) => void;
  /** true: other shared holders may be beside us, an exclusive one never. Where there is no flock it is exclusive too. */
  readonly shared?: boolean;
  /** The file goes when the work is done. Everybody who locks it must say so: whoever waited sees that it is gone and begins anew. */
  readonly remove?: boolean;
  /** Uses the lock-file fallback even where `flock` exists (tests). */
  readonly forceFallback?: boolean;
}

const cancelled = (): AppFailure =>
  new AppFailure({ code: 'cancelled', message: 'Cancelled while waiting for a lock.' });

/**
 * Runs `fn` while holding a lock on a file (exclusive unless `shared`), across processes and users of the machine; the file stays
 * unless `remove`.
 *
 * Linux: flock(2). util-linux's `flock` locks a descriptor that it shares with us and exits; the lock then belongs to our open file
 * and ends when we close it or die, by kill -9 too. Where `flock` is missing (macOS, Windows): a second file PATH.lock made with O_EXCL
 * that names pid and start time of its holder; a holder that is gone makes it stale and it is taken over.
 * Throws AppFailure `cancelled` on abort, `env.not-writable` when the file cannot be made.
 */
export async function withFileLock<T>(path: string, fn: () => Promise<T> | T, options: LockOptions = {}): Promise<T> {
  if (options.signal?.aborted) throw cancelled();
  const flock =
    options.forceFallback || process.platform === 'win32'
      ? null
      : findProgram('flock', '/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin', '/').path;
  const release = flock ? await lockByFlock(flock, path, options) : await lockByFile(path, options);
  try {
    return await fn();
  } finally {
    release();
  }
}

/** Opens the lock file without O_CREAT first: on sticky folders the kernel refuses O_CREAT on another user's file (fs.protected_regular). */
function openShared(path: string): number {
  for (let attempt = 0; attempt < 3; attempt++) {
    for (const flags of ['r+', 'r'])
      try {
        return openSync(path, flags);
      } catch (fault) {
        if (systemCode(fault) === 'ENOENT') break;
        if (flags === 'r') throw fileFault(fault, path, 'Opening');
      }
    try {
      ensureParent(path);
      const made = openSync(path, 'wx+', 0o666);
      try {
        chmodSync(path, 0o666); // other users of the machine take turns on the same file, whatever our umask
      } catch {
        // Not decisive: then only this user's processes share it.
      }
      return made;
    } catch (fault) {
      if (systemCode(fault) !== 'EEXIST') throw fileFault(fault, path, 'Making');
    }
  }
  throw new AppFailure({ code: 'env.not-writable', message: `The lock file ${path} comes and goes.` });
}

function ensureParent(path: string): void {
  const folder = dirname(path);
  if (!['/tmp', '/var/tmp', '/var/lock', '/run/lock', '/dev/shm'].includes(folder)) ensureDir(folder);
}

async function lockByFlock(flock: string, path: string, options: LockOptions): Promise<() => void> {
  const kind = options.shared === true ? '-s' : '-x';
  for (;;) {
    const fd = openShared(path);
    try {
      if (!(await flockOnce(flock, fd, ['-n', kind], options.signal))) {
        options.onWait?.({ path, holder: readHolder(path) });
        if (!(await flockOnce(flock, fd, [kind], options.signal))) throw cancelled();
      }
      if (options.remove === true && !isNamed(path, fd)) {
        // The one before us has removed it: our lock is on a file that nobody else will ever find.
        closeSync(fd);
        continue;
      }
      noteHolder(fd);
    } catch (fault) {
      closeSync(fd);
      throw fault;
    }
    return () => {
      // While the lock is held: afterwards the name may be the next one's file.
      if (options.remove === true) rmSync(path, { force: true });
      closeSync(fd);
    };
  }
}

/** The name still leads to the file that we have open. */
function isNamed(path: string, fd: number): boolean {
  try {
    const named = statSync(path, { bigint: true });
    const ours = fstatSync(fd, { bigint: true });
    return named.ino === ours.ino && named.dev === ours.dev;
  } catch {
    return false;
  }
}

/** true = locked. With -n, false = someone else holds it. Throws when aborted or when flock itself fails. */
async function flockOnce(flock: string, fd: number, flags: string[], signal?: AbortSignal): Promise<boolean> {
  if (signal?.aborted) throw cancelled(); // whoever was told of the wait may have given up
  const [file = flock, ...args] = [...deathSignalPrefix(), flock, ...flags, '0'];
  // node's own spawn: execa does not hand a descriptor of ours to a child.
  const child = spawn(file, args, {
    env: { LC_ALL: 'C' },
    stdio: [fd, 'ignore', 'pipe'],
    detached: true, // a Ctrl-C in the terminal is for us to answer, not for flock
  });
  const stop = (): void => {
    child.kill('SIGKILL');
  };
  signal?.addEventListener('abort', stop, { once: true });
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
  });
  const ended = await new Promise<number | string>((done) => {
    child.once('error', (fault) => done(fault.message));
    child.once('close', (code, by) => done(code ?? String(by)));
  });
  signal?.removeEventListener('abort', stop);
  if (signal?.aborted) throw cancelled();
  if (ended === 0) return true;
  if (ended === 1 && flags.includes('-n')) return false;
  throw new AppFailure({
    code: 'internal',
    message: 'Taking a file lock failed.',
    remedy: 'Keep CUDAMASTER_HOME and temporary files on a file system that supports locks.',
    detail: `${flock} on descriptor of a lock file: ended with ${ended}: ${stderr}`,
  });
}

function noteHolder(fd: number): void {
  try {
    writeSync(fd, `${String(process.pid).padEnd(12)}\n`, 0);
  } catch {
    // Opened read-only (another user's file): the lock holds all the same, only the waiting message has no name.
  }
}

function readHolder(path: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(path, 'utf8'), 10);
    return Number.isInteger(pid) && pid > 0 ? pid : null;
  } catch {
    return null;
  }
}

interface Owner {
  readonly pid: number;
  readonly start: string | null;
  readonly host: string;
}

async function lockByFile(path: string, options: LockOptions): Promise<() => void> {
  const lock = `${path}.lock`;
  const mine: Owner = { pid: process.pid, start: startTimeOf(process.pid), host: hostname() };
  const text = JSON.stringify(mine);
  let told = false;
  ensureParent(path);
  for (;;) {
    if (options.signal?.aborted) throw cancelled();
    try {
      writeFileSync(lock, text, { flag: 'wx' });
      return () => rmSync(lock, { force: true });
    } catch (fault) {
      if (systemCode(fault) !== 'EEXIST') throw fileFault(fault, lock, 'Making');
    }
    const owner = readOwner(lock);
    if (isLeft(lock, owner)) {
      removeStale(lock);
      continue;
    }
    if (!told) options.onWait?.({ path, holder: owner?.pid ?? null });
    told = true;
    await new Promise((done) => setTimeout(done, 50));
  }
}

function readOwner(lock: string): Owner | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as Owner;
  } catch {
    return null; // being written, or just removed
  }
}

function isStale(owner: Owner): boolean {
  if (owner.host !== hostname()) return false; // a shared disk: we cannot see that machine's processes
  if (!pidExists(owner.pid)) return true;
  const start = startTimeOf(owner.pid);
  return owner.start !== null && start !== null && start !== owner.start;
}

/** Its holder is gone, or died between making the file and naming itself: nobody needs seconds for that. */
const isLeft = (lock: string, owner: Owner | null): boolean => (owner ? isStale(owner) : ageMs(lock) > 5000);

/** Only one of several waiters may remove a stale file, or the second would remove the first one's new lock. */
function removeStale(lock: string): void {
  const turn = `${lock}.stale`;
  try {
    writeFileSync(turn, '', { flag: 'wx' });
  } catch {
    if (isLeft(lock, readOwner(lock)) && ageMs(turn) > 5000) rmSync(turn, { force: true });
    return;
  }
  try {
    if (isLeft(lock, readOwner(lock))) rmSync(lock, { force: true });
  } finally {
    rmSync(turn, { force: true });
  }
}

function ageMs(path: string): number {
  try {
    return Date.now() - statSync(path).mtimeMs;
  } catch {
    return 0;
  }
}
