import { systemCode } from '../base/fault.ts';
import { AppFailure, err } from '../contract/index.ts';
import type { ContentFiles } from './content.ts';

const remedy = (run: string): string =>
  `Other runs are not affected. Restore the data folder from a copy, or put the run away: cudamaster delete ${run}, then cudamaster purge.`;

/**
 * Reads a stored part of a run. Whatever is wrong with it (no JSON, not what the schema says, a missing or changed file) is told as
 * `store.corrupt` with the run's name: that run is damaged, not the program, and no other run is.
 */
export async function readPart<T>(run: string, what: string, read: () => T | Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (fault) {
    throw damaged(run, what, fault);
  }
}

/** readPart() where nothing waits. */
export function readPartNow<T>(run: string, what: string, read: () => T): T {
  try {
    return read();
  } catch (fault) {
    throw damaged(run, what, fault);
  }
}

function damaged(run: string, what: string, fault: unknown): unknown {
  const known = fault instanceof AppFailure;
  // A full disk or a missing right is no damage.
  if (known && fault.error.code !== 'store.corrupt') return fault;
  if (!known && systemCode(fault) !== undefined) return fault;
  const detail = known ? `${fault.error.message} ${fault.error.detail ?? ''}`.trim() : String(fault).slice(0, 2000);
  return new AppFailure(
    err('store.corrupt', `Run ${run} is damaged in the history: ${what} cannot be read.`, {
      remedy: remedy(run),
      detail,
    }).error,
  );
}

/** A stored JSON text of a run, where it lies in its row or in a file; checked by `parse`. */
export const readJson = <T>(
  content: ContentFiles,
  run: string,
  what: string,
  packed: { body: string | null; content: string | null },
  parse: (value: unknown) => T,
): Promise<T> => readPart(run, what, async () => parse(JSON.parse(await content.unpack(packed))));
