import { toAppError } from '../main/base/fault.ts';
import { writeOutput } from '../main/base/files.ts';
import { type ExportFile, err, type Result, type VersionRow } from '../main/contract/index.ts';
import type { ShellClient } from './client.ts';

/** The run that a screen shows: "#/run/ID", "#/profile/ID…", or a version "#/kernel/ID:r1.a0"; null: none. */
export function shownRun(url: string): string | null {
  const hash = url.slice(url.indexOf('#') + 1);
  const found = url.includes('#') ? /^\/(?:run|profile|kernel)\/([^/?]+)/.exec(hash)?.[1] : undefined;
  if (found === undefined) return null;
  let name = found;
  try {
    name = decodeURIComponent(found);
  } catch {
    return null;
  }
  const id = name.split(':')[0] ?? '';
  return /^\d{6}-\d{4}-[a-z0-9]{4}$/.test(id) ? id : null;
}

/** The accepted version that came last, of a run or (null) of the whole history; the loop's best is the last that it accepted. */
export function winnerOf(versions: readonly VersionRow[], run: string | null): Result<VersionRow> {
  const accepted = versions.filter((v) => v.outcome === 'accepted' && v.round > 0 && (run === null || v.run === run));
  const [last] = [...accepted].sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : b.attempt - a.attempt));
  if (last) return { ok: true, value: last };
  return err(
    'candidate.not-accepted',
    run === null ? 'No version was accepted yet.' : `No version of run ${run} was accepted.`,
    {
      remedy: 'The screen History exports any other version, the origin as well.',
    },
  );
}

/** The bundle of the winner: of the run that is shown, else of the newest run with one. */
export async function exportWinner(
  client: ShellClient,
  url: string,
): Promise<Result<ExportFile & { readonly version: string }>> {
  const versions = await client.call('versions.list', {});
  if (!versions.ok) return versions;
  const winner = winnerOf(versions.value, shownRun(url));
  if (!winner.ok) return winner;
  const file = await client.call('versions.export', { version: winner.value.id });
  return file.ok ? { ok: true, value: { ...file.value, version: winner.value.id } } : file;
}

/** Writes it where the user says, whole or not at all. */
export async function saveWinner(path: string, file: ExportFile): Promise<Result<string>> {
  try {
    await writeOutput(path, Buffer.from(file.base64, 'base64'));
    return { ok: true, value: path };
  } catch (fault) {
    return { ok: false, error: toAppError(fault) };
  }
}
