import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../../base/files.ts';
import { sha256Hex } from '../../base/hash.ts';
import { dataDir, ensureDir } from '../../base/paths.ts';
import { AppFailure, dtypeSchema, err, type RecordingLine } from '../../contract/index.ts';
import { parseRecording } from '../../store/recording.ts';
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

/** Recordings that the user brought. */
const ownFolder = (): string => join(dataDir(), 'recordings');

/** Those that come with the program, then the user's. One that cannot be read is left out: it can neither be shown nor replayed. */
async function found(root: string): Promise<{ file: string; line: RecordingLine }[]> {
  const all: { file: string; line: RecordingLine }[] = [];
  for (const folder of [folderOf(root), ownFolder()]) {
    const names = await readdir(folder).catch(() => [] as string[]);
    for (const name of names.filter((n) => n.endsWith('.json') && n !== 'index.json').sort()) {
      const file = join(folder, name);
      const line = await lineOf(file, name.slice(0, -'.json'.length)).catch(() => null);
      if (line && !all.some((other) => other.line.id === line.id)) all.push({ file, line });
    }
  }
  return all;
}

/** File of a recording by its id. Throws `input.recording`. */
export async function recordingFile(root: string, id: string): Promise<string> {
  const known = await found(root);
  const one = known.find(({ line }) => line.id === id);
  if (one) return one.file;
  throw new AppFailure(
    err('input.recording', `There is no recording "${id}".`, {
      remedy: `There are: ${known.map(({ line }) => line.id).join(', ')}.`,
    }).error,
  );
}

/** Keeps a copy under a name that says what it is; the same content twice is one. Throws `input.recording`, `format.newer`. */
async function add(name: string, text: string): Promise<RecordingLine> {
  parseRecording(text, name);
  const stem =
    name
      .replace(/\.[A-Za-z0-9]+$/, '')
      .replace(/[^A-Za-z0-9_-]+/g, '-')
      .slice(0, 60) || 'recording';
  const id = `${stem}-${sha256Hex(text).slice(0, 8)}`;
  const file = join(ensureDir(ownFolder()), `${id}.json`);
  await writeFileAtomic(file, text);
  return lineOf(file, id);
}

export const recordingMethods = (api: ApiContext): Handlers<'recordings.list' | 'recordings.add'> => ({
  'recordings.list': async () => (await found(api.app.root)).map(({ line }) => line),
  'recordings.add': ({ name, text }) => add(name, text),
});
