import type { Tx } from './db/database.ts';
import { type Environment, environmentSchema } from './runs.ts';

/** What differs between two environments; what either side does not know is no difference. */
export function environmentChanges(before: Environment | null, now: Environment | null): string[] {
  if (!before || !now) return [];
  return (['gpu', 'driver', 'toolkit', 'harness'] as const)
    .filter((k) => before[k] !== null && now[k] !== null && before[k] !== now[k])
    .map((k) => (k === 'harness' ? 'harness sources' : `${k} ${before[k]} → ${now[k]}`));
}

/** Unknown parts keep what was known before. */
function merged(before: Environment | null, now: Environment): Environment {
  return {
    gpu: now.gpu ?? before?.gpu ?? null,
    driver: now.driver ?? before?.driver ?? null,
    toolkit: now.toolkit ?? before?.toolkit ?? null,
    harness: now.harness ?? before?.harness ?? null,
  };
}

/**
 * Keeps the environment a run measures with. If it differs from the one before, and something was measured already, the change waits
 * for the next step (`remeasureBefore`). Gives back what differs.
 */
export async function noteEnvironment(tx: Tx, run: string, now: Environment): Promise<string[]> {
  const row = await tx.get<{ environment: string | null }>('SELECT environment FROM runs WHERE id = ?', [run]);
  const before = row?.environment ? environmentSchema.parse(JSON.parse(row.environment)) : null;
  const changes = environmentChanges(before, now);
  await tx.run('UPDATE runs SET environment = ? WHERE id = ?', [JSON.stringify(merged(before, now)), run]);
  const measured = await tx.get("SELECT 1 FROM steps WHERE run = ? AND kind = 'job' AND state = 'done' LIMIT 1", [run]);
  if (changes.length === 0 || !measured) return [];
  await tx.run(
    `INSERT INTO machine_changes (run, ordinal, what)
     VALUES (?1, (SELECT coalesce(max(ordinal), 0) + 1 FROM machine_changes WHERE run = ?1), ?2)`,
    [run, changes.join('; ')],
  );
  return changes;
}
