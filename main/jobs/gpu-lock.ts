import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { deferred } from '../base/deferred.ts';
import { withFileLock } from '../base/flock.ts';
import { AppFailure } from '../contract/index.ts';

/**
 * Folder of the machine's GPU locks, shared by all users. It must be the same for everyone, so it depends on nothing of the
 * user's (TMPDIR, HOME). Sticky and world-writable: everybody may add a lock file, nobody may remove another's.
 */
export function lockFolder(dir = '/tmp/cudamaster-locks'): string {
  try {
    mkdirSync(dir, { mode: 0o1777 });
    chmodSync(dir, 0o1777); // mkdir's mode is cut by the umask
  } catch (fault) {
    if ((fault as { code?: string }).code !== 'EEXIST') throw unusable(dir, String((fault as Error).message));
  }
  const found = lstatSync(dir);
  if (!found.isDirectory()) throw unusable(dir, 'it is not a folder');
  const mine = found.uid === process.getuid?.();
  if (!mine && process.getuid?.() !== 0 && (found.mode & 0o1002) !== 0o1002)
    throw unusable(dir, `it belongs to user ${found.uid} and others may not write to it`);
  return dir;
}

const unusable = (dir: string, why: string): AppFailure =>
  new AppFailure({
    code: 'env.not-writable',
    message: `The folder for GPU locks, ${dir}, cannot be used: ${why}.`,
    remedy: `Remove it, or make it world-writable with the sticky bit (chmod 1777 ${dir}).`,
  });

/** Lock file of a GPU or MIG instance; the UUID names it, so that several indices or names of one GPU meet. */
export const lockFile = (uuid: string, dir?: string): string =>
  join(lockFolder(dir), `gpu-${uuid.replace(/[^A-Za-z0-9-]/g, '_')}.lock`);

export interface GpuLockOptions {
  readonly signal?: AbortSignal;
  /** Told once when someone else holds the GPU. */
  readonly onWait?: (holder: number | null) => void;
  /** Other folder (tests). */
  readonly dir?: string;
  /** true: beside other shared holders, for work whose figures do not matter (verification). Default: alone. */
  readonly shared?: boolean;
}

/**
 * Runs `fn` while this process holds the GPU. A second file is the door: it is held only while waiting for the first, so whoever wants
 * the GPU alone waits for those who share it now and not for ever new ones. Throws AppFailure `cancelled`, `env.not-writable`.
 */
export async function withGpuLock<T>(uuid: string, fn: () => Promise<T>, options: GpuLockOptions = {}): Promise<T> {
  const file = lockFile(uuid, options.dir);
  const { signal, shared } = options;
  let told = false;
  const onWait = (wait: { readonly holder: number | null }): void => {
    if (!told) options.onWait?.(wait.holder);
    told = true;
  };
  const work = deferred<T>();
  const entered = deferred<void>();
  const held = withFileLock(
    `${file}.door`,
    async () => {
      const inside = withFileLock(
        file,
        async () => {
          entered.resolve();
          return fn();
        },
        { signal, onWait, shared },
      );
      inside.then(work.resolve, (fault: unknown) => {
        work.reject(fault);
        entered.resolve();
      });
      await entered.promise;
    },
    { signal, onWait },
  );
  held.catch(work.reject);
  return work.promise;
}
