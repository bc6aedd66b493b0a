/** What a history holds, read row by row, without what must differ between two drives of the same run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, type Row } from '../../main/store/db/connection.ts';
import { executedFile } from './drive.ts';

export interface History {
  /** Durable events in order, without `resumed` and without the usage of requests that nobody answered. */
  readonly events: Row[];
  readonly seqs: number[];
  readonly resumed: number;
  readonly unanswered: number;
  readonly steps: Row[];
  /** Steps that were begun more than once, with their number of beginnings. */
  readonly reopened: Record<string, number>;
  readonly status: string;
  readonly leases: number;
  readonly contents: string[];
  /** Sources written for a person, with their text. */
  readonly sources: Record<string, string>;
}

const filesBelow = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((e) => e.isFile())
        .map((e) => join(e.parentPath, e.name))
        .sort()
    : [];

export async function readHistory(folder: string): Promise<History> {
  const c = await Connection.open(join(folder, 'history.db'), { busyMs: 5000, existing: true });
  try {
    const [run] = await c.all('SELECT id, status FROM runs');
    const rows = await c.all('SELECT seq, key, type, body, content FROM events ORDER BY seq');
    const isUnanswered = (row: Row) => String(row.key).startsWith('unanswered:');
    const steps = await c.all(
      'SELECT position, ordinal, kind, agent, request_hash, state, opened, body, content FROM steps ORDER BY ordinal',
    );
    const sources = join(folder, 'runs', String(run?.id));
    return {
      events: rows
        .filter((row) => row.type !== 'resumed' && !isUnanswered(row))
        .map(({ key, type, body, content }) => ({ key: String(key).replace(/#\d+$/, ''), type, body, content }) as Row),
      seqs: rows.map((row) => Number(row.seq)),
      resumed: rows.filter((row) => row.type === 'resumed').length,
      unanswered: rows.filter(isUnanswered).length,
      steps: steps.map(({ opened, ...row }) => row as Row),
      reopened: Object.fromEntries(
        steps.filter((s) => Number(s.opened) > 1).map((s) => [String(s.position), Number(s.opened)]),
      ),
      status: String(run?.status),
      leases: (await c.all('SELECT * FROM leases')).length,
      // A file that was being written is no content; a collection sweeps it.
      contents: filesBelow(join(folder, 'content'))
        .filter((f) => !/\.tmp$|\.collected$/.test(f))
        .map((f) => f.slice(folder.length)),
      sources: Object.fromEntries(filesBelow(sources).map((f) => [f.slice(sources.length), readFileSync(f, 'utf8')])),
    };
  } finally {
    await c.close();
  }
}

/** External actions begun so far, in order. */
export function executedIn(folder: string): string[] {
  const file = executedFile(folder);
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').filter(Boolean) : [];
}
