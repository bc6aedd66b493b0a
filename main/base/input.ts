import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { AppFailure, err } from '../contract/index.ts';
import { systemCode } from './fault.ts';

export interface InputOptions {
  /** Longest content that is taken, bytes. */
  readonly limit: number;
  readonly signal?: AbortSignal;
}

const chunkBytes = 64 * 1024;
const pollMs = 20;

const reasons: Record<string, string> = {
  ENOENT: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'no permission',
  ELOOP: 'its links lead in a circle',
};

const unreadable = (path: string, why: string): AppFailure =>
  new AppFailure(
    err('input.file', `${path === '' ? 'A file without a name' : path} cannot be read: ${why}.`, {
      remedy: 'Check the name and the permissions of the file.',
    }).error,
  );

/**
 * The text of a file that the user named, without a byte-order mark. Pipes and /dev/stdin work as well. Opened so that nothing can hang:
 * a pipe to which nobody writes is empty, a slow one can be cancelled, one that never ends stops at the limit.
 * Throws AppFailure `input.file`, `cancelled`.
 */
export async function readInput(path: string, options: InputOptions): Promise<string> {
  let file: FileHandle;
  try {
    file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (fault) {
    throw unreadable(path, reasons[systemCode(fault) ?? ''] ?? systemCode(fault) ?? String(fault));
  }
  try {
    return (await readAll(file, path, options)).toString('utf8').replace(/^\uFEFF/, '');
  } finally {
    await file.close();
  }
}

async function readAll(file: FileHandle, path: string, { limit, signal }: InputOptions): Promise<Buffer> {
  const tooLarge = () => unreadable(path, `it is too large (at most ${limit} bytes)`);
  // Devices and pipes say 0: they are counted as they come.
  if ((await file.stat()).size > limit) throw tooLarge();
  const parts: Buffer[] = [];
  for (let total = 0; ; ) {
    if (signal?.aborted) throw new AppFailure(err('cancelled', 'Cancelled.').error);
    const part = await readPart(file, path);
    if (part === null) {
      await pause(pollMs);
      continue;
    }
    if (part.length === 0) return Buffer.concat(parts);
    total += part.length;
    if (total > limit) throw tooLarge();
    parts.push(part);
  }
}

/** null = nothing there yet, but somebody holds the other end. */
async function readPart(file: FileHandle, path: string): Promise<Buffer | null> {
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(chunkBytes), 0, chunkBytes, null);
    return buffer.subarray(0, bytesRead);
  } catch (fault) {
    if (systemCode(fault) === 'EAGAIN') return null;
    throw unreadable(path, reasons[systemCode(fault) ?? ''] ?? systemCode(fault) ?? String(fault));
  }
}

/**
 * The text of a regular file, or of one that a link leads to; null: there is none. Whatever else may lie there under its name (a pipe, a
 * device) is refused before a byte is read of it, so that nothing waits and nothing is taken away.
 * Throws AppFailure `input.file`.
 */
export function readRegular(path: string, { limit }: Pick<InputOptions, 'limit'>): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (fault) {
    const code = systemCode(fault);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    // A socket, or a device that nobody drives.
    if (code === 'ENXIO' || code === 'ENODEV') throw unreadable(path, noFile);
    throw unreadable(path, reasons[code ?? ''] ?? code ?? String(fault));
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw unreadable(path, kindOf(found));
    if (found.size > limit) throw unreadable(path, `it is too large (at most ${limit} bytes)`);
    return readFileSync(file, 'utf8');
  } catch (fault) {
    if (fault instanceof AppFailure) throw fault;
    throw unreadable(path, systemCode(fault) ?? String(fault));
  } finally {
    closeSync(file);
  }
}

const noFile = 'it is no regular file';

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'it is a folder';
  if (found.isFIFO()) return `${noFile} but a pipe`;
  if (found.isCharacterDevice() || found.isBlockDevice()) return `${noFile} but a device`;
  return noFile;
}
