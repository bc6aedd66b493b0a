import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeFileAtomic } from '../base/files.ts';
import { dataDir } from '../base/paths.ts';
import { AppFailure, type Calibration, calibrationSchema, err, FORMAT } from '../contract/index.ts';

const fileSchema = z.object({
  format: z.literal('cudamaster-calibration'),
  version: z.number().int(),
  calibration: calibrationSchema,
});

const folder = (): string => join(dataDir(), 'calibrations');
const nameOf = (uuid: string): string => uuid.replace(/[^A-Za-z0-9-]/g, '_');

/** Where the calibration of a GPU (or MIG instance) is kept, as JSON and as a page. */
export const calibrationPath = (uuid: string, kind: 'json' | 'html'): string =>
  join(folder(), `${nameOf(uuid)}.${kind}`);

/**
 * The calibration of a GPU; null: it has none, or it is not known which GPU it is. Throws AppFailure `format.newer`, `store.corrupt` with
 * the file's name: silently other thresholds would be worse than none.
 */
export function calibrationOf(uuid: string | null): Calibration | null {
  if (uuid === null) return null;
  const path = calibrationPath(uuid, 'json');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (fault) {
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw fault;
  }
  const remedy = 'Run `cudamaster calibrate` again, or remove the file.';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppFailure(err('store.corrupt', `${path} is no JSON.`, { remedy }).error);
  }
  const version = (value as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version > FORMAT.calibration)
    throw new AppFailure(
      err(
        'format.newer',
        `${path} has format calibration ${version}; this program knows it up to ${FORMAT.calibration}.`,
        {
          remedy: 'Update CUDAMaster.',
        },
      ).error,
    );
  const parsed = fileSchema.safeParse(value);
  if (parsed.success) return parsed.data.calibration;
  throw new AppFailure(
    err('store.corrupt', `${path}: ${z.prettifyError(parsed.error).slice(0, 300)}`, { remedy }).error,
  );
}

/** Keeps a calibration; gives back the files written. */
export async function keepCalibration(calibration: Calibration, html: string): Promise<string[]> {
  const { uuid } = calibration.gpu;
  const file = { format: 'cudamaster-calibration', version: FORMAT.calibration, calibration };
  const json = calibrationPath(uuid, 'json');
  const page = calibrationPath(uuid, 'html');
  await writeFileAtomic(json, `${JSON.stringify(file, null, 1)}\n`, 0o644);
  await writeFileAtomic(page, html, 0o644);
  return [json, page];
}
