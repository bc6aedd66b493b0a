import { runEventSchema } from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import type { Connection } from './db/connection.ts';
import { noteVersion } from './versions.ts';

interface EventSql {
  run: string;
  at: string;
  body: string | null;
  content: string | null;
}

const told = ['run-started', 'baseline', 'attempt-started', 'evaluated', 'bad-reply', 'remeasured', 'round-ended'];

/**
 * Fills the versions of a history written before there was a list of them, or with fewer columns, from the events of its runs. An evaluation whose file is
 * missing or damaged leaves its version without figures, and says so: one bad file must not keep the whole history from opening.
 */
export async function fillVersions(c: Connection, content: ContentFiles): Promise<void> {
  const rows = await c.all<EventSql>(
    `SELECT run, at, body, content FROM events WHERE type IN (${told.map(() => '?').join(',')}) ORDER BY run, seq`,
    told,
  );
  let lost = new Set<string>();
  for (const row of rows) {
    try {
      await noteVersion(c, row.run, runEventSchema.parse(JSON.parse(await content.unpack(row))), row.at);
    } catch {
      lost = lost.add(row.run);
    }
  }
  for (const run of lost)
    await c.run(
      "UPDATE versions SET reason = 'Its evaluation is missing in the history.' WHERE run = ? AND outcome IS NULL",
      [run],
    );
}
