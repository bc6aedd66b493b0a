import { AppFailure, err, FORMAT } from '../../contract/index.ts';
import type { Connection } from './connection.ts';

/** What a step does beyond its SQL, in the same transaction. */
export type Fill = (c: Connection) => Promise<void>;

/**
 * Numbered steps of the history's schema; `user_version` counts those done. Never edit one that was released: add one.
 * Seeds, times and everything that may pass 2^53 are text. `body` holds JSON up to 16 KB; longer text lies in a file named by
 * its hash (`content`).
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE content (hash TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    status TEXT NOT NULL,
    task TEXT NOT NULL,
    dtype TEXT NOT NULL,
    config TEXT NOT NULL,
    options TEXT NOT NULL,
    root_seed TEXT NOT NULL,
    origin_hash TEXT NOT NULL,
    task_hash TEXT NOT NULL,
    program_version TEXT NOT NULL,
    environment TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    next_seq INTEGER NOT NULL DEFAULT 1,
    resumes INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    key TEXT NOT NULL,
    type TEXT NOT NULL,
    at TEXT NOT NULL,
    body TEXT,
    content TEXT REFERENCES content(hash),
    PRIMARY KEY (run, seq),
    UNIQUE (run, key),
    CHECK ((body IS NULL) <> (content IS NULL))
  ) WITHOUT ROWID;
  CREATE TABLE steps (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    kind TEXT NOT NULL,
    agent TEXT,
    request_hash TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'parked', 'done')),
    opened INTEGER NOT NULL DEFAULT 1,
    opened_at TEXT NOT NULL,
    done_at TEXT,
    body TEXT,
    content TEXT REFERENCES content(hash),
    PRIMARY KEY (run, position),
    CHECK (state <> 'done' OR (body IS NULL) <> (content IS NULL))
  ) WITHOUT ROWID;
  CREATE TABLE processes (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    position TEXT NOT NULL,
    place TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start_time TEXT NOT NULL,
    PRIMARY KEY (run, place, pid, start_time)
  ) WITHOUT ROWID;
  CREATE TABLE leases (
    run TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    token TEXT NOT NULL,
    host TEXT NOT NULL,
    place TEXT NOT NULL,
    pid INTEGER NOT NULL,
    start_time TEXT NOT NULL,
    heartbeat_at TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE machine_changes (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    what TEXT NOT NULL,
    position TEXT,
    PRIMARY KEY (run, ordinal)
  ) WITHOUT ROWID;
  CREATE INDEX events_content ON events(content) WHERE content IS NOT NULL;
  CREATE INDEX steps_content ON steps(content) WHERE content IS NOT NULL;
  CREATE INDEX runs_created ON runs(created_at);
  `,
  // Versions as the history lists them; what a model was asked; the score of a run's best. Step 4 fills them from the events (fillVersions).
  `
  ALTER TABLE runs ADD COLUMN score REAL;
  ALTER TABLE steps ADD COLUMN request TEXT;
  ALTER TABLE steps ADD COLUMN request_content TEXT REFERENCES content(hash);
  CREATE TABLE versions (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    round INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    task TEXT NOT NULL,
    dtype TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    outcome TEXT,
    reason TEXT NOT NULL DEFAULT '',
    verified INTEGER NOT NULL DEFAULT 0,
    score REAL,
    score_lo REAL,
    score_hi REAL,
    score_level REAL,
    p_min REAL,
    bottleneck TEXT,
    launch_bound INTEGER,
    max_ulp REAL,
    registers INTEGER,
    gpu TEXT,
    at TEXT NOT NULL,
    parent TEXT,
    note TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted_at TEXT,
    rev INTEGER NOT NULL,
    PRIMARY KEY (run, round, attempt)
  ) WITHOUT ROWID;
  CREATE INDEX versions_at ON versions(at);
  CREATE INDEX versions_rev ON versions(rev);
  CREATE INDEX versions_task ON versions(task, dtype, round);
  CREATE INDEX runs_updated ON runs(updated_at);
  CREATE INDEX steps_request ON steps(request_content) WHERE request_content IS NOT NULL;
  `,
  // Nothing in the tables: runs may hold the event "remeasured", which programs before it cannot read.
  '',
  // Whether the sanitizer has looked at a version (`sanitizedFact`): filled from the events again, as the whole list of versions is.
  'ALTER TABLE versions ADD COLUMN sanitized TEXT;',
];
/** The step whose `fill` runs after its SQL; it writes rows as they are after the last step. */
const filled = 3;

/** Number of the history format that this program writes. */
export const historyVersion = migrations.length;
if (historyVersion !== FORMAT.history) throw new Error('FORMAT.history must count the migrations');

export async function readVersion(c: Connection): Promise<number> {
  return Number((await c.get<{ user_version: number }>('PRAGMA user_version'))?.user_version ?? 0);
}

/** Refuses a history that a later program wrote; it is not touched. */
export function refuseNewer(version: number, file: string): void {
  if (version <= historyVersion) return;
  throw new AppFailure(
    err(
      'format.newer',
      `The history was written by a newer CUDAMaster (history format ${version}, this one reads up to ${historyVersion}).`,
      {
        remedy: 'Use the newer CUDAMaster, or set CUDAMASTER_HOME to another folder for this one.',
        detail: file,
      },
    ).error,
  );
}

/** Brings the schema up to date; each step in its own transaction, so a failure leaves the version before it. */
export async function migrate(c: Connection, fill: Fill): Promise<void> {
  for (let next = await readVersion(c); next < historyVersion; next++) {
    await c.run('BEGIN IMMEDIATE');
    try {
      // Another process may have migrated while we waited for the lock.
      const seen = await readVersion(c);
      refuseNewer(seen, c.file);
      if (seen === next) {
        await c.exec(migrations[next] ?? '');
        if (next === filled) await fill(c);
        await c.run(`PRAGMA user_version = ${next + 1}`);
      }
      await c.run('COMMIT');
    } catch (error) {
      await c.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }
}
