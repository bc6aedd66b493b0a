import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, open, readdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppFailure, err } from '../contract/index.ts';
import { fileFault, systemCode } from './fault.ts';
import { sha256Hex } from './hash.ts';

/**
 * Writes a whole file or nothing: temporary file beside it, fsync, rename, fsync of the folder. Readers see the old content or the new.
 * Throws AppFailure `env.disk-full` or `env.not-writable`.
 */
export async function writeFileAtomic(path: string, data: string | Uint8Array, mode = 0o600): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${process.pid}-${randomBytes(6).toString('hex')}.tmp`);
  try {
    await mkdir(folder, { recursive: true });
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(data);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  } catch (fault) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw fileFault(fault, path, 'Writing');
  }
}

/**
 * Writes a file that the user named: whole or not at all. Links are followed; a device or pipe (/dev/stdout, /dev/null) is written to,
 * never replaced. Throws AppFailure `usage`, `env.disk-full`, `env.not-writable`.
 */
export async function writeOutput(path: string, data: string | Uint8Array): Promise<void> {
  if (path === '') throw new AppFailure(err('usage', 'The name of the file to write is empty.').error);
  try {
    const target = await realpath(path).catch((fault: unknown) => {
      // No disk is at fault here, but the name.
      if (['ELOOP', 'ENAMETOOLONG'].includes(systemCode(fault) ?? '')) throw fault;
      return path;
    });
    const found = await stat(target).catch(() => null);
    if (found?.isDirectory())
      throw new AppFailure(err('usage', `${path} is a folder; the name of a file is needed.`).error);
    if (found && !found.isFile()) await writeFile(target, data);
    else await writeFileAtomic(target, data, 0o644);
  } catch (fault) {
    if (fault instanceof AppFailure && fault.error.code !== 'internal') throw fault;
    const why = fault instanceof AppFailure ? fault.error.detail : String(fault);
    throw new AppFailure(
      err('usage', `${path} cannot be written.`, { remedy: 'Choose another file.', detail: why }).error,
    );
  }
}

/** Makes a rename durable. Some file systems and Windows cannot sync a folder: the rename itself is still atomic there. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    await handle.sync().finally(() => handle.close());
  } catch {
    return;
  }
}

/** SHA-256 of a file's bytes, streamed; 64 hex digits. */
export async function sha256File(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

/** Content longer than this (bytes) belongs in a ContentStore, shorter content in the database row. */
export const inlineLimit = 16 * 1024;

/** Files named by the SHA-256 of their content, two folder levels. Safe for several processes: a name never changes its content. */
export class ContentStore {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** Absolute path of a content, whether it is there or not. */
  path(hash: string): string {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw new TypeError(`not a SHA-256: ${hash}`);
    return join(this.root, hash.slice(0, 2), hash.slice(2));
  }

  /** Stores a content if it is new; gives back its hash. */
  async put(data: string | Uint8Array): Promise<string> {
    const hash = sha256Hex(data);
    if (!(await this.has(hash))) await writeFileAtomic(this.path(hash), data);
    return hash;
  }

  async has(hash: string): Promise<boolean> {
    return access(this.path(hash)).then(
      () => true,
      () => false,
    );
  }

  /** The content, checked against its name; null when it is not stored. Throws `store.corrupt` when the file was changed. */
  async get(hash: string): Promise<Buffer | null> {
    let data: Buffer;
    try {
      data = await readFile(this.path(hash));
    } catch (fault) {
      if (systemCode(fault) === 'ENOENT') return null;
      throw fileFault(fault, this.path(hash), 'Reading');
    }
    if (sha256Hex(data) === hash) return data;
    throw new AppFailure({
      code: 'store.corrupt',
      message: 'A stored file does not hold what it was saved with.',
      remedy: 'Restore it from a backup; runs that refer to it cannot show that part.',
      detail: this.path(hash),
    });
  }

  /** get() as UTF-8 text. */
  async text(hash: string): Promise<string | null> {
    return (await this.get(hash))?.toString('utf8') ?? null;
  }

  /** Removes one content; absent is fine. */
  async remove(hash: string): Promise<void> {
    await rm(this.path(hash), { force: true });
  }

  /** Removes what writers that were killed left half-written, once older than `graceMs`; gives back how many. */
  async sweepPartial(graceMs: number): Promise<number> {
    let swept = 0;
    for (const front of await readdir(this.root).catch(() => []))
      for (const name of await readdir(join(this.root, front)).catch(() => [])) {
        if (!name.endsWith('.tmp')) continue;
        const path = join(this.root, front, name);
        const found = await stat(path).catch(() => null);
        if (found === null || Date.now() - found.mtimeMs < graceMs) continue;
        await rm(path, { force: true });
        swept++;
      }
    return swept;
  }

  /** Hashes stored, with size in bytes and age in ms: a collector must spare young files whose row is not written yet. */
  async *list(): AsyncGenerator<{ hash: string; bytes: number; ageMs: number }> {
    for (const front of await readdir(this.root).catch(() => [])) {
      if (!/^[0-9a-f]{2}$/.test(front)) continue;
      for (const back of await readdir(join(this.root, front)).catch(() => [])) {
        if (!/^[0-9a-f]{62}$/.test(back)) continue;
        const found = await stat(join(this.root, front, back)).catch(() => null);
        if (found) yield { hash: front + back, bytes: found.size, ageMs: Date.now() - found.mtimeMs };
      }
    }
  }
}
