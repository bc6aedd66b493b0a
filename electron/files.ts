import { basename, extname, resolve } from 'node:path';
import { toAppError } from '../main/base/fault.ts';
import { readInput } from '../main/base/input.ts';
import type { RecordingLine, Result } from '../main/contract/index.ts';
import type { ShellClient } from './client.ts';

/** A recording as one file; the same content under `.json` is taken as well. */
export const recordingExtensions = ['cudamaster', 'json'] as const;
/** A candidate's source. */
export const kernelExtensions = ['cu'] as const;
const openable: readonly string[] = [...recordingExtensions, ...kernelExtensions];
const extensionOf = (path: string): string => extname(path).slice(1).toLowerCase();

/** By its name: what it really is, its content tells when it is read. */
export const isKernelFile = (path: string): boolean =>
  (kernelExtensions as readonly string[]).includes(extensionOf(path));

/** Ours are at most 2 MB; a pretty-printed one may be larger. */
const fileLimit = 64 * 1024 * 1024;

/**
 * Files that a command line names, absolute. Switches (also Chromium's own) and everything without an extension of ours are left out:
 * `electron .` names the program itself.
 */
export function filesOf(argv: readonly string[], folder: string): string[] {
  return argv
    .slice(1)
    .filter((arg) => !arg.startsWith('-') && openable.includes(extensionOf(arg)))
    .map((arg) => resolve(folder, arg));
}

/** Takes a recording in. Opening runs nothing: it is in the list of recordings afterwards. */
export async function openRecording(client: ShellClient, path: string): Promise<Result<RecordingLine>> {
  try {
    const text = await readInput(path, { limit: fileLimit });
    return await client.call('recordings.add', { name: basename(path), text });
  } catch (fault) {
    return { ok: false, error: toAppError(fault) };
  }
}
