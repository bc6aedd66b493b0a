import { z } from 'zod';
import {
  AppFailure,
  err,
  type RunConfig,
  type RunEvent,
  type RunStatus,
  runConfigSchema,
  runEventSchema,
  runStatusSchema,
} from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import { readJson, readPartNow } from './damage.ts';
import type { Row } from './db/connection.ts';
import type { Database, Tx } from './db/database.ts';
import type { RecentEvents } from './recent.ts';
import { withoutKnownSecrets } from './secrets.ts';
import { noteVersion } from './versions.ts';

/** What kind of work a run was. All are kept in the same history and shown alike. */
export const runKinds = ['optimize', 'evaluate', 'profile', 'replay', 'demo'] as const;
export type RunKind = (typeof runKinds)[number];

/** GPU, driver, toolkit and harness with which a run measures. null = not known (a bundle not yet run). */
export const environmentSchema = z.object({
  gpu: z.string().nullable(),
  driver: z.string().nullable(),
  toolkit: z.string().nullable(),
  harness: z.string().nullable(),
});
export type Environment = z.infer<typeof environmentSchema>;

export interface RunRecord {
  readonly id: string;
  readonly kind: RunKind;
  readonly status: RunStatus;
  readonly config: RunConfig;
  /** What a resume needs beyond the configuration (endpoint, name of the key's variable …). No secrets. */
  readonly options: Record<string, unknown>;
  readonly rootSeed: string;
  readonly originHash: string;
  readonly taskHash: string;
  readonly programVersion: string;
  readonly environment: Environment | null;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly resumes: number;
  /** Score of the best version so far; null before the first measurement. */
  readonly score: number | null;
}

export type NewRun = Pick<
  RunRecord,
  'kind' | 'config' | 'options' | 'rootSeed' | 'originHash' | 'taskHash' | 'programVersion' | 'environment'
>;

/** A durable event as it is stored and shown. */
export type StoredEvent = RunEvent & { readonly seq: number; readonly at: string };

const letters = 'abcdefghjkmnpqrstuvwxyz23456789';

/** Sortable by time, short enough to type: "260719-1432-k7qf". */
function newRunId(now = new Date()): string {
  const t = now.toISOString();
  const tail = Array.from(crypto.getRandomValues(new Uint8Array(4)), (b) => letters[b % letters.length]).join('');
  return `${t.slice(2, 4)}${t.slice(5, 7)}${t.slice(8, 10)}-${t.slice(11, 13)}${t.slice(14, 16)}-${tail}`;
}

/** Writes the row of a new run; its events follow through a RunLogStore. */
export async function createRun(db: Database, run: NewRun): Promise<string> {
  const id = newRunId();
  const now = new Date().toISOString();
  await db.transaction((tx) =>
    tx.run(
      `INSERT INTO runs (id, kind, status, task, dtype, config, options, root_seed, origin_hash, task_hash, program_version,
       environment, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
      [
        id,
        run.kind,
        'running',
        run.config.task,
        run.config.dtype,
        JSON.stringify(withoutKnownSecrets(run.config)),
        JSON.stringify(withoutKnownSecrets(run.options)),
        run.rootSeed,
        run.originHash,
        run.taskHash,
        run.programVersion,
        run.environment ? JSON.stringify(run.environment) : null,
        now,
        now,
      ],
    ),
  );
  return id;
}

const runKindSchema = z.enum(runKinds);

function fields(row: Row): RunRecord {
  return {
    id: String(row.id),
    kind: runKindSchema.parse(row.kind),
    status: runStatusSchema.parse(row.status),
    config: runConfigSchema.parse(JSON.parse(String(row.config))),
    options: JSON.parse(String(row.options)),
    rootSeed: String(row.root_seed),
    originHash: String(row.origin_hash),
    taskHash: String(row.task_hash),
    programVersion: String(row.program_version),
    environment: row.environment === null ? null : environmentSchema.parse(JSON.parse(String(row.environment))),
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
    resumes: Number(row.resumes),
    score: row.score === null ? null : Number(row.score),
  };
}

/** Throws `store.corrupt` with the run's name. */
const toRecord = (row: Row): RunRecord => readPartNow(String(row.id), 'its configuration', () => fields(row));

/** Runs, newest first. */
export async function listRuns(db: Database, limit = 100): Promise<RunRecord[]> {
  return (await db.all('SELECT * FROM runs ORDER BY created_at DESC, id DESC LIMIT ?', [limit])).map(toRecord);
}

/** What a list shows of a run. */
export interface RunHead extends Pick<RunRecord, 'id' | 'kind' | 'status' | 'createdAt' | 'updatedAt' | 'score'> {
  readonly task: string;
  readonly dtype: RunConfig['dtype'];
  readonly provider: string;
  readonly model: string;
}

export const headOf = ({ id, kind, status, createdAt, updatedAt, score, config }: RunRecord): RunHead => {
  const { task, dtype, provider, model } = config;
  return { id, kind, status, createdAt, updatedAt, score, task, dtype, provider, model };
};

type HeadCells = [
  string,
  RunKind,
  RunStatus,
  string,
  string,
  string | null,
  string,
  RunConfig['dtype'],
  string,
  string,
];

/**
 * Heads of runs, newest first, as one JSON text: for thousands of them many times faster than rows with their configuration, which was
 * checked when it was written. One that is damaged since is in the list as well, with "damaged" for its provider.
 */
export async function listHeads(db: Database, limit: number): Promise<RunHead[]> {
  const found = await db.get<{ rows: string }>(
    `SELECT json_group_array(json_array(id, kind, status, created_at, updated_at, score, task, dtype, provider, model)) AS rows FROM
       (SELECT id, kind, status, created_at, updated_at, iif(score IS NULL, NULL, printf('%!.17g', score)) AS score, task, dtype,
          iif(json_valid(config), json_extract(config, '$.provider'), 'damaged') AS provider,
          iif(json_valid(config), json_extract(config, '$.model'), '') AS model
        FROM runs ORDER BY created_at DESC, id DESC LIMIT ?)`,
    [limit],
  );
  return (JSON.parse(found?.rows ?? '[]') as HeadCells[]).map(
    ([id, kind, status, createdAt, updatedAt, score, task, dtype, provider, model]) => ({
      id,
      kind,
      status,
      createdAt,
      updatedAt,
      score: score === null ? null : Number(score),
      task,
      dtype,
      provider,
      model,
    }),
  );
}

/** The whole id of a run that is named by its id, a unique beginning or end of it, or "last". Throws store.not-found. */
export async function findRunId(db: Database, name: string): Promise<string> {
  if (name === '')
    throw new AppFailure(
      err('store.not-found', 'The name of the run is empty.', {
        remedy: '`cudamaster runs` lists them; "last" names the newest.',
      }).error,
    );
  const rows =
    name === 'last'
      ? await db.all<{ id: string }>('SELECT id FROM runs ORDER BY created_at DESC, id DESC LIMIT 1')
      : await db.all<{ id: string }>('SELECT id FROM runs WHERE id = ?', [name]);
  if (rows[0]) return rows[0].id;
  if (name === 'last')
    throw new AppFailure(err('store.not-found', 'The history holds no run yet.', { detail: db.file }).error);
  const near =
    name.length < 3
      ? []
      : await db.all<{ id: string }>('SELECT id FROM runs WHERE substr(id, 1, ?) = ? OR substr(id, -?) = ? LIMIT 2', [
          name.length,
          name,
          name.length,
          name,
        ]);
  if (near.length === 1 && near[0]) return near[0].id;
  throw new AppFailure(
    err(
      'store.not-found',
      near.length > 1 ? `More than one run is called ${name}.` : `There is no run ${name} in the history.`,
      {
        remedy: '`cudamaster runs` lists them; "last" names the newest.',
        detail: db.file,
      },
    ).error,
  );
}

/** Finds a run by its id, a unique beginning or end of it, or "last". Throws store.not-found, store.corrupt. */
export async function findRun(db: Database, name: string): Promise<RunRecord> {
  const id = await findRunId(db, name);
  const row = await db.get('SELECT * FROM runs WHERE id = ?', [id]);
  if (row) return toRecord(row);
  throw new AppFailure(err('store.not-found', `Run ${id} is no longer in the history.`).error);
}

/** Durable events after sequence number `after`, in order; `type`: those of one kind only. `recent`: events that need not be read. */
export async function readEvents(
  db: Database,
  content: ContentFiles,
  run: string,
  after = 0,
  type: string | null = null,
  recent?: RecentEvents,
): Promise<StoredEvent[]> {
  const rows = await db.all<{ seq: number; at: string; body: string | null; content: string | null }>(
    'SELECT seq, at, body, content FROM events WHERE run = ?1 AND seq > ?2 AND (?3 IS NULL OR type = ?3) ORDER BY seq',
    [run, after, type],
  );
  const out: StoredEvent[] = [];
  for (const row of rows) {
    const event =
      recent?.get(run, row.seq) ??
      (await readJson(content, run, `event ${row.seq}`, row, (value) => runEventSchema.parse(value)));
    out.push({ seq: row.seq, at: row.at, ...event });
  }
  return out;
}

/** Status that an event puts its run into; undefined = no change. */
function statusAfter(event: RunEvent): RunStatus | undefined {
  if (event.type === 'run-started' || event.type === 'resumed') return 'running';
  if (event.type === 'parked') return 'parked';
  if (event.type === 'run-ended') return event.status;
  return undefined;
}

/** These may come again after a resume; elsewhere a key stands for one thing that happens once. */
const perResume: readonly RunEvent['type'][] = ['parked', 'run-ended', 'limit'];

/** Appends an event in a transaction, once per key; gives back its number, or null if it was there. The text was packed before. */
export async function appendEvent(
  tx: Tx,
  run: string,
  key: string,
  event: RunEvent,
  packed: { body: string | null; content: string | null },
): Promise<number | null> {
  const at = new Date().toISOString();
  const row = await tx.get<{ next_seq: number; resumes: number }>('SELECT next_seq, resumes FROM runs WHERE id = ?', [
    run,
  ]);
  if (!row) throw new AppFailure(err('store.not-found', `Run ${run} is no longer in the history.`).error);
  const fullKey = perResume.includes(event.type) && row.resumes > 0 ? `${key}#${row.resumes}` : key;
  const added = await tx.run(
    'INSERT INTO events (run, seq, key, type, at, body, content) VALUES (?,?,?,?,?,?,?) ON CONFLICT (run, key) DO NOTHING',
    [run, row.next_seq, fullKey, event.type, at, packed.body, packed.content],
  );
  if (added > 0) {
    await tx.run('UPDATE runs SET next_seq = next_seq + 1, updated_at = ? WHERE id = ?', [at, run]);
    await noteVersion(tx, run, event, at);
  }
  const status = statusAfter(event);
  if (status) await tx.run('UPDATE runs SET status = ? WHERE id = ?', [status, run]);
  return added > 0 ? row.next_seq : null;
}

export interface OpenStep {
  readonly position: string;
  readonly kind: 'chat' | 'job' | 'approval';
  readonly state: 'open' | 'parked';
}

export async function openStep(db: Database, run: string): Promise<OpenStep | null> {
  const row = await db.get<{ position: string; kind: OpenStep['kind']; state: 'open' | 'parked' }>(
    "SELECT position, kind, state FROM steps WHERE run = ? AND state <> 'done' ORDER BY ordinal LIMIT 1",
    [run],
  );
  return row ?? null;
}

export async function updateConfig(db: Database, run: string, config: RunConfig): Promise<void> {
  await db.transaction((tx) =>
    tx.run('UPDATE runs SET config = ? WHERE id = ?', [JSON.stringify(withoutKnownSecrets(config)), run]),
  );
}

/** Removes a run with all it holds; its files go with the next collection. */
export async function deleteRun(db: Database, run: string): Promise<void> {
  await db.transaction((tx) => tx.run('DELETE FROM runs WHERE id = ?', [run]));
}
