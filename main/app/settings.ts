import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { systemCode } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { AppFailure, err, FORMAT, providerPresetSchema } from '../contract/index.ts';

/**
 * config/settings.json. Holds references to keys, never keys. A field that nobody knows is refused: a misspelt "localOnly" must not be
 * taken for none.
 */
export const settingsSchema = z.strictObject({
  /** Absent where a person wrote the file. */
  version: z.number().int().default(FORMAT.settings),
  /** Blocks every connection to another machine. */
  localOnly: z.boolean().default(false),
  /** Remote hosts to which the user agreed that prompts go. */
  knownRemotes: z.array(z.string()).default([]),
  /** The user's own providers: names for addresses. */
  endpoints: z.array(providerPresetSchema).default([]),
  /** Tools to be used instead of those found. */
  tools: z
    .strictObject({ nvcc: z.string().optional(), ncu: z.string().optional(), gpuUuid: z.string().optional() })
    .default({}),
  /** Refuse to run candidates where no sandbox works. */
  requireSandbox: z.boolean().default(false),
});
export type Settings = z.infer<typeof settingsSchema>;

export const settingsFile = (dir: string): string => join(dir, 'settings.json');

/** Reads the settings; defaults where there is no file. Throws AppFailure format.newer, format.invalid. */
export async function readSettings(dir: string): Promise<Settings> {
  const file = settingsFile(dir);
  const broken = (why: string) =>
    new AppFailure(
      err('format.invalid', `The settings file cannot be used: ${why}`, {
        remedy: 'Correct it, or delete it to go back to the defaults.',
        detail: file,
      }).error,
    );
  const text = await readFile(file, 'utf8').catch((fault: unknown) => {
    const code = systemCode(fault);
    // Only a missing file means "no settings": one that cannot be read may forbid what the defaults allow (localOnly).
    if (code === 'ENOENT') return null;
    throw broken(`it cannot be read (${code}).`);
  });
  if (text === null) return settingsSchema.parse({ version: FORMAT.settings });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw broken(String(error));
  }
  const version = (data as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version > FORMAT.settings)
    throw new AppFailure(
      err(
        'format.newer',
        `The settings were written by a newer CUDAMaster (format ${version}, this one reads up to ${FORMAT.settings}).`,
        {
          remedy: 'Use the newer CUDAMaster, or set CUDAMASTER_HOME to another folder for this one.',
          detail: file,
        },
      ).error,
    );
  const parsed = settingsSchema.safeParse(data);
  if (!parsed.success) throw broken(z.prettifyError(parsed.error));
  return parsed.data;
}

export const writeSettings = (dir: string, settings: Settings): Promise<void> =>
  writeFileAtomic(settingsFile(dir), `${JSON.stringify(settings, null, 2)}\n`);
