import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from './db/database.ts';

/** Age that protects a file, ms: it may be younger than the row that will tell of it. */
const graceMs = 3600 * 1000;

const ageOf = async (path: string): Promise<number> =>
  stat(path).then(
    (found) => Date.now() - found.mtimeMs,
    () => 0,
  );

/**
 * Deletes the reports of Nsight Compute (`RUNS/ID/reports/`) whose run is no longer in the history, and what killed writers left
 * half-written; gives back the number of files deleted. Links are removed, never followed.
 */
export async function collectReports(db: Database, runs: string, grace = graceMs): Promise<number> {
  let deleted = 0;
  for (const run of await readdir(runs).catch(() => [])) {
    const folder = join(runs, run, 'reports');
    const files = await readdir(folder, { withFileTypes: true }).catch(() => []);
    if (files.length === 0) continue;
    const known = (await db.get('SELECT 1 FROM runs WHERE id = ?', [run])) !== undefined;
    for (const file of files) {
      const wanted = known && !file.name.endsWith('.tmp');
      const path = join(folder, file.name);
      if (wanted || file.isDirectory() || (await ageOf(path)) < grace) continue;
      await rm(path, { force: true });
      deleted++;
    }
    if (!known) await rmdir(folder).catch(() => undefined);
  }
  return deleted;
}
