import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { writeFileAtomic } from '../base/files.ts';
import { holdsSecret } from '../base/redact.ts';
import type { Adaptation, AdaptationMemory } from './adapt.ts';

const version = 1;
const entrySchema = z.object({
  /** Address and model: memoryKey(). */
  key: z.string(),
  /** When it was learnt (ISO). */
  at: z.string(),
  lengthField: z.enum(['max_tokens', 'max_completion_tokens']),
  lengthCap: z.number().int().positive().nullable(),
  dropped: z.array(z.string()),
  tried: z.array(z.string()),
});
const fileSchema = z.object({ version: z.literal(version), entries: z.array(entrySchema) });
type Entry = z.infer<typeof entrySchema>;

/** Servers learn new parameters: what was refused is tried again after this time. */
const forgetAfterMs = 90 * 86_400_000;

const toEntry = (key: string, a: Adaptation, at: string): Entry => ({
  key,
  at,
  lengthField: a.lengthField,
  lengthCap: a.lengthCap,
  dropped: [...a.dropped],
  tried: [...a.tried],
});
const toAdaptation = (e: Entry): Adaptation => ({
  lengthField: e.lengthField,
  lengthCap: e.lengthCap,
  dropped: new Set(e.dropped),
  tried: new Set(e.tried),
});

/** A file that is missing, damaged or of another version holds nothing: it only saves a refused request or two. */
async function readEntries(file: string, now: number): Promise<Entry[]> {
  try {
    const parsed = fileSchema.safeParse(JSON.parse(await readFile(file, 'utf8')));
    if (!parsed.success) return [];
    return parsed.data.entries.filter((e) => now - Date.parse(e.at) < forgetAfterMs);
  } catch {
    return [];
  }
}

/**
 * What servers were found not to accept, kept in `file` (addresses, model names and parameters, no keys). A file that cannot be written
 * costs nothing but the memory of it.
 */
export async function adaptationFile(file: string, now: () => number = Date.now): Promise<AdaptationMemory> {
  const known = new Map((await readEntries(file, now())).map((e) => [e.key, toAdaptation(e)]));
  return {
    get: (key) => known.get(key),
    async set(key, adaptation) {
      known.set(key, adaptation);
      // Another process may have learnt something since.
      const others = (await readEntries(file, now())).filter((e) => e.key !== key);
      const entries = [...others, toEntry(key, adaptation, new Date(now()).toISOString())];
      const text = `${JSON.stringify({ version, entries }, null, 2)}\n`;
      if (!holdsSecret(text)) await writeFileAtomic(file, text).catch(() => {});
    },
  };
}
