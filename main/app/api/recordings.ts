import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppFailure, dtypeSchema, err, type RecordingLine } from '../../contract/index.ts';
import type { ApiContext, Handlers } from './context.ts';

const folderOf = (root: string): string => join(root, 'test', 'recordings');
/** What a line says; the rest is checked when it is replayed. */
const headSchema = z.object({
  format: z.literal('cudamaster-recording'),
  config: z.object({ task: z.string(), dtype: dtypeSchema, model: z.string() }),
  note: z.string(),
});
const lines = new Map<string, { stamp: string; line: RecordingLine }>();

/** Recordings are read once: they do not change, and are a megabyte each. */
async function lineOf(file: string, id: string): Promise<RecordingLine> {
  const { size, mtimeMs } = await stat(file);
  const stamp = `${size} ${mtimeMs}`;
  const known = lines.get(file);
  if (known?.stamp === stamp) return known.line;
  const { config, note } = headSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  const { task, dtype } = config;
  const line = { id, title: `${task} ${dtype}, ${config.model}`, task, dtype, note, bytes: size };
  lines.set(file, { stamp, line });
  return line;
}

/** The recordings that come with the program. One that cannot be read is left out: it can neither be shown nor replayed. */
async function list(root: string): Promise<RecordingLine[]> {
  const names = await readdir(folderOf(root)).catch(() => [] as string[]);
  const found: RecordingLine[] = [];
  for (const name of names.filter((n) => n.endsWith('.json') && n !== 'index.json').sort()) {
    const line = await lineOf(join(folderOf(root), name), name.slice(0, -'.json'.length)).catch(() => null);
    if (line) found.push(line);
  }
  return found;
}

/** File of a recording by its id. Throws `input.recording`. */
export async function recordingFile(root: string, id: string): Promise<string> {
  const known = await list(root);
  if (known.some((line) => line.id === id)) return join(folderOf(root), `${id}.json`);
  throw new AppFailure(
    err('input.recording', `There is no recording "${id}".`, {
      remedy: `There are: ${known.map((line) => line.id).join(', ')}.`,
    }).error,
  );
}

export const recordingMethods = (api: ApiContext): Handlers<'recordings.list'> => ({
  'recordings.list': () => list(api.app.root),
});
