import { constants } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, open, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256File } from '../base/files.ts';
import { removeScratch, scratchDir } from '../base/paths.ts';
import type { JobBundle } from '../contract/index.ts';

/**
 * Files of one execution. `store` holds the job's files and what builds made; no candidate ever sees it. Each step works on
 * copies in a folder of its own, so a step can neither change what later steps use nor leave anything behind for them.
 */
export class JobFolder {
  readonly root: string;
  private readonly store: string;
  private count = 0;
  /** Content hashes of what is in the store. */
  private readonly hashes = new Map<string, string>();

  private constructor(root: string) {
    this.root = root;
    this.store = join(root, 'store');
  }

  static async create(bundle: JobBundle): Promise<JobFolder> {
    const folder = new JobFolder(scratchDir());
    await mkdir(folder.store, { recursive: true });
    for (const [name, hash] of Object.entries(bundle.job.files)) {
      const path = join(folder.store, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bundle.contents.get(hash) ?? '', { flag: 'wx' });
      folder.hashes.set(name, hash);
    }
    return folder;
  }

  /** Hash of a file in the store; null = there is no such file (an output of a build that was not made). */
  hash = (name: string): string | null => this.hashes.get(name) ?? null;

  /** New folder for a step with copies of the named files. The path stays short: sockets are made in it. */
  async stepFolder(prefix: 'b' | 's', names: Iterable<string>): Promise<string> {
    const folder = join(this.root, `${prefix}${this.count++}`);
    await mkdir(folder, { mode: 0o700 });
    for (const name of names) await copyTo(join(this.store, name), join(folder, name));
    return folder;
  }

  /** Every file in the store. */
  names = (): string[] => [...this.hashes.keys()];

  /** Takes a build's output into the store. Only regular files: a link could name anything. Gives back why not, or null. */
  async adopt(folder: string, name: string): Promise<string | null> {
    const from = join(folder, name);
    const info = await lstat(from).catch(() => null);
    if (!info) return `${name} was not made`;
    if (!info.isFile()) return `${name} is no regular file`;
    const to = join(this.store, name);
    await mkdir(dirname(to), { recursive: true });
    this.hashes.set(name, await sha256File(from));
    await rename(from, to);
    return null;
  }

  /** Text of a file that a step left, capped; null = absent, no regular file (links are not followed), or not text. */
  async text(folder: string | null, name: string, capBytes: number): Promise<string | null> {
    const path = join(folder ?? this.store, name);
    // O_NONBLOCK: opening a pipe that a candidate put there must not wait for a writer.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await open(path, flags).catch(() => null);
    if (!file) return null;
    try {
      const info = await file.stat();
      if (!info.isFile()) return null;
      const data = Buffer.alloc(Math.min(info.size, capBytes));
      const { bytesRead } = await file.read(data, 0, data.length, 0);
      if (data.subarray(0, bytesRead).includes(0)) return null;
      const cut = info.size > capBytes ? `\n[cut: ${info.size} bytes, the first ${capBytes} are kept]\n` : '';
      return data.subarray(0, bytesRead).toString('utf8') + cut;
    } finally {
      await file.close();
    }
  }

  /** Removes everything. Never throws. */
  async remove(): Promise<void> {
    await openUp(this.root);
    removeScratch(this.root);
  }
}

async function copyTo(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  const info = await lstat(from);
  await chmod(to, info.mode & 0o700);
}

/** A candidate may take away our right to look into its folders. */
async function openUp(folder: string): Promise<void> {
  try {
    await chmod(folder, 0o700);
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isDirectory()) await openUp(join(folder, entry.name));
  } catch {
    // removeScratch leaves what cannot be removed to a later sweep.
  }
}
