import { withoutSecrets } from '../base/redact.ts';
import {
  AppFailure,
  confirmedFigures,
  type Dtype,
  type Evaluation,
  err,
  isValidOutcome,
  type Outcome,
  type RunEvent,
  resultFigures,
  sanitizedFact,
  sanitizedOf,
  sanitizedOfFact,
  type VersionRow,
} from '../contract/index.ts';
import type { SqlValue } from './db/connection.ts';
import type { Database, Tx } from './db/database.ts';
import { drivers } from './lease.ts';

/**
 * One row per version of a kernel: the origin of each run that measures it, and every attempt. Rows are made and changed in the
 * transaction of the event they follow from, so that list and events cannot disagree; note, pin and bin are the user's.
 */

/** Columns in the order in which rows are read; texts and numbers as they are stored. */
const columns =
  'run, round, attempt, task, dtype, kind, label, outcome, reason, verified, score, score_lo, score_hi, score_level, p_min, bottleneck, launch_bound, max_ulp, registers, gpu, at, parent, note, pinned, deleted_at, sanitized';

type Cells = [
  run: string,
  round: number,
  attempt: number,
  task: string,
  dtype: Dtype,
  kind: string,
  label: string,
  outcome: string | null,
  reason: string,
  verified: number,
  score: number | null,
  scoreLo: number | null,
  scoreHi: number | null,
  scoreLevel: number | null,
  pMin: number | null,
  bottleneck: string | null,
  launchBound: number | null,
  maxUlp: number | null,
  registers: number | null,
  gpu: string | null,
  at: string,
  parent: string | null,
  note: string,
  pinned: number,
  deletedAt: string | null,
  sanitized: string | null,
];

/** "RUN:origin" of round 0, else "RUN:r1.a0". */
export const versionId = (run: string, round: number, attempt: number): string =>
  round === 0 ? `${run}:origin` : `${run}:r${round}.a${attempt}`;

/** The parts of an id. Throws `usage` for what is none. */
export function partsOfVersion(id: string): { run: string; round: number; attempt: number } {
  const found = /^([A-Za-z0-9-]+):(?:origin|r(\d+)\.a(\d+))$/.exec(id);
  if (!found?.[1])
    throw new AppFailure(
      err('usage', `"${id}" names no version.`, { remedy: 'Versions are named RUN:origin or RUN:r1.a0.' }).error,
    );
  return { run: found[1], round: Number(found[2] ?? 0), attempt: Number(found[3] ?? 0) };
}

function toRow(cells: Cells): VersionRow {
  const [run, round, attempt, task, dtype, kind, label, outcome, reason, verified, value, lo, hi, level] = cells;
  const [, , , , , , , , , , , , , , pMin, bottleneck, launchBound, maxUlp, registers, gpu, at, parent, note] = cells;
  // Rows that older programs wrote hold the figures of races and of impossible times too.
  const right = outcome !== null && isValidOutcome(outcome as Outcome);
  const measured = value !== null && lo !== null && hi !== null && level !== null;
  const score = right && measured ? { value, lo, hi, level } : null;
  return {
    id: versionId(run, round, attempt),
    run,
    task,
    dtype,
    kind,
    round,
    attempt,
    label,
    outcome,
    reason,
    verified: verified === 1,
    score,
    pMin: right ? pMin : null,
    sanitized: sanitizedOfFact(cells[25]) ?? sanitizedOf({ outcome, reason }),
    bottleneck,
    launchBound: launchBound === null ? null : launchBound === 1,
    maxUlp,
    registers,
    gpu,
    at,
    parent,
    note,
    pinned: cells[23] === 1,
    deletedAt: cells[24],
  };
}

/**
 * Rows as one JSON text: SQLite makes it several times faster than the driver makes rows of 25 columns. It writes numbers with 15
 * significant digits.
 */
async function select(db: Database, rest: string, params: readonly SqlValue[] = []): Promise<VersionRow[]> {
  const found = await db.get<{ rows: string }>(
    `SELECT json_group_array(json_array(${columns})) AS rows FROM (SELECT ${columns} FROM versions ${rest})`,
    params,
  );
  return (JSON.parse(found?.rows ?? '[]') as Cells[]).map(toRow);
}

/** What an evaluation leaves in its row. Figures of a first sample, and of what is not right, are none. */
function figuresOf(e: Evaluation): [string, SqlValue][] {
  const result = resultFigures(e);
  const score = result?.score ?? null;
  const verdict = e.profile?.verdict ?? null;
  const sanitized = sanitizedOf(e);
  return [
    ['outcome', e.outcome],
    ['reason', e.reason],
    ['verified', e.verified ? 1 : 0],
    ['score', score?.value ?? null],
    ['score_lo', score?.lo ?? null],
    ['score_hi', score?.hi ?? null],
    ['score_level', score?.level ?? null],
    ['p_min', result?.pMin ?? null],
    ['bottleneck', verdict?.bottleneck ?? null],
    ['launch_bound', verdict === null || verdict.bottleneck === null ? null : verdict.launchBound ? 1 : 0],
    ['max_ulp', e.error?.maxUlp ?? null],
    ['registers', e.build?.registers ?? null],
    ['sanitized', sanitized === null ? null : sanitizedFact(sanitized)],
    ['gpu', e.gpu?.name ?? e.machine?.gpu?.name ?? null],
  ];
}

const nextRev = '(SELECT coalesce(max(rev), 0) + 1 FROM versions)';

async function update(
  tx: Tx,
  run: string,
  at: { round: number; attempt: number },
  columns: readonly (readonly [string, SqlValue])[],
): Promise<number> {
  const sets = [...columns.map(([name]) => `${name} = ?`), `rev = ${nextRev}`].join(', ');
  return tx.run(`UPDATE versions SET ${sets} WHERE run = ? AND round = ? AND attempt = ?`, [
    ...columns.map(([, value]) => value),
    run,
    at.round,
    at.attempt,
  ]);
}

interface RunParts {
  /** The version that the first candidate was made from. */
  readonly parent: string | null;
  /** Name of the source that the user had evaluated; null: the run measures its origin. */
  readonly candidate: string | null;
}

async function runParts(tx: Tx, run: string): Promise<RunParts> {
  const row = await tx.get<{ options: string }>('SELECT options FROM runs WHERE id = ?', [run]);
  const { parent, candidate } = JSON.parse(row?.options ?? '{}') as {
    parent?: unknown;
    candidate?: { label?: unknown } | null;
  };
  return {
    parent: typeof parent === 'string' ? parent : null,
    candidate: typeof candidate?.label === 'string' ? candidate.label : null,
  };
}

/** The version that an attempt is made from: the one before it in its round, else the best so far, else the origin. */
async function parentOf(tx: Tx, run: string, round: number, attempt: number): Promise<string | null> {
  const before = await tx.get<{ attempt: number }>(
    `SELECT attempt FROM versions WHERE run = ? AND round = ? AND attempt < ? AND outcome IS NOT NULL
     AND outcome <> 'bad-reply' ORDER BY attempt DESC LIMIT 1`,
    [run, round, attempt],
  );
  if (before) return versionId(run, round, before.attempt);
  const given = (await runParts(tx, run)).parent;
  if (given !== null && round === 1) return given;
  const best = await tx.get<{ round: number; attempt: number }>(
    "SELECT round, attempt FROM versions WHERE run = ? AND round < ? AND (outcome = 'accepted' OR round = 0) ORDER BY round DESC, attempt DESC LIMIT 1",
    [run, round],
  );
  return best ? versionId(run, best.round, best.attempt) : null;
}

async function insert(
  tx: Tx,
  run: string,
  { round, attempt, base }: { round: number; attempt: number; base?: 'origin' },
  label: string,
  at: string,
): Promise<void> {
  const parent =
    round === 0 ? null : base === 'origin' ? versionId(run, 0, 0) : await parentOf(tx, run, round, attempt);
  await tx.run(
    `INSERT INTO versions (run, round, attempt, task, dtype, kind, label, at, parent, rev)
     SELECT id, ?, ?, task, dtype, kind, ?, ?, ?, ${nextRev} FROM runs WHERE id = ? ON CONFLICT DO NOTHING`,
    [round, attempt, label, at, parent, run],
  );
}

/**
 * Origin and best on another machine. The best keeps the outcome that made it the best, unless it did not hold. Told late, after a later
 * round made another best, it leaves the run's score alone.
 */
async function noteRemeasured(tx: Tx, run: string, e: Extract<RunEvent, { type: 'remeasured' }>): Promise<void> {
  await update(tx, run, { round: 0, attempt: 0 }, figuresOf(e.origin));
  if (e.best === null) return;
  const { round, attempt, evaluation } = e.best;
  const held = e.bestRound === round;
  const cells = figuresOf(evaluation);
  const keep = held && evaluation.outcome !== 'accepted' ? verdictColumns : [];
  await update(
    tx,
    run,
    { round, attempt },
    cells.filter(([name]) => !keep.includes(name)),
  );
  if (!held) await noteOtherBase(tx, run, e.position, versionId(run, round, attempt));
  await tx.run(
    `UPDATE runs SET score = ?1 WHERE id = ?2
     AND NOT EXISTS (SELECT 1 FROM versions WHERE run = ?2 AND round > ?3 AND outcome = 'accepted')`,
    [held ? (confirmedFigures(evaluation)?.score?.value ?? null) : 1, run, round],
  );
}

/** A version whose row was there before its best was taken back, and before its Coder was asked: it is made from the origin then. */
async function noteOtherBase(tx: Tx, run: string, position: string, withdrawn: string): Promise<void> {
  const coder = /^r(\d+)\.a(\d+)\.coder$/.exec(position);
  if (coder === null) return;
  await tx.run(
    `UPDATE versions SET parent = ?, rev = ${nextRev} WHERE run = ? AND round = ? AND attempt = ? AND parent = ?`,
    [versionId(run, 0, 0), run, Number(coder[1]), Number(coder[2]), withdrawn],
  );
}

const verdictColumns: readonly string[] = ['outcome', 'reason', 'sanitized'];

/** Takes one durable event into rows; called in the event's own transaction, once per event. */
export async function noteVersion(tx: Tx, run: string, event: RunEvent, at: string): Promise<void> {
  switch (event.type) {
    case 'run-started':
      // A single evaluation measures its origin only beside the candidate: that is no version of its own.
      if ((await runParts(tx, run)).candidate === null) await insert(tx, run, { round: 0, attempt: 0 }, 'origin', at);
      return;
    case 'baseline':
      await update(tx, run, { round: 0, attempt: 0 }, figuresOf(event.evaluation));
      await tx.run('UPDATE runs SET score = 1 WHERE id = ?', [run]);
      return;
    case 'attempt-started':
      // A source that the user evaluated keeps its name; the agents' versions are called by round and attempt.
      return insert(tx, run, event, (await runParts(tx, run)).candidate ?? `r${event.round}.a${event.attempt}`, at);
    case 'evaluated':
      await update(tx, run, event, figuresOf(event.evaluation));
      return;
    case 'remeasured':
      return noteRemeasured(tx, run, event);
    case 'bad-reply':
      if (event.agent !== 'debug')
        await update(tx, run, event, [
          ['outcome', 'bad-reply'],
          ['reason', `${event.agent}: ${event.reason}`],
        ]);
      return;
    case 'round-ended':
      if (event.accepted)
        await tx.run(
          `UPDATE runs SET score = (SELECT score FROM versions WHERE run = ?1 AND round = ?2 AND outcome = 'accepted'
           ORDER BY attempt DESC LIMIT 1) WHERE id = ?1`,
          [run, event.round],
        );
      return;
    case 'run-ended':
    case 'resumed':
      // Lists tell those without an outcome differently then.
      await tx.run(`UPDATE versions SET rev = ${nextRev} WHERE run = ? AND outcome IS NULL`, [run]);
      return;
    default:
      return;
  }
}

/** Says of rows without an outcome whether one is still to come: while their run is driven, or waits. */
async function withRunState(db: Database, rows: VersionRow[]): Promise<VersionRow[]> {
  const open = [...new Set(rows.filter((v) => v.outcome === null).map((v) => v.run))];
  if (open.length === 0) return rows;
  const driven = await drivers(db);
  const runs = await db.all<{ id: string; status: string }>(
    "SELECT id, status FROM runs WHERE status IN ('parked', 'running') AND id IN (SELECT value FROM json_each(?))",
    [JSON.stringify(open)],
  );
  const live = new Set(runs.filter((r) => r.status === 'parked' || driven.has(r.id)).map((r) => r.id));
  return rows.map((v) => (v.outcome === null && !live.has(v.run) ? { ...v, unmeasured: true } : v));
}

/** All versions, newest first; `deleted`: those in the bin instead. */
export const listVersions = async (db: Database, deleted = false): Promise<VersionRow[]> =>
  withRunState(
    db,
    await select(
      db,
      `WHERE deleted_at IS ${deleted ? 'NOT NULL' : 'NULL'} ORDER BY at DESC, run DESC, round DESC, attempt DESC`,
    ),
  );

/** Runs that measured the origin of a task, newest first. */
export async function measuredOrigins(db: Database, task: string, dtype: string): Promise<string[]> {
  const rows = await db.all<{ run: string }>(
    'SELECT run FROM versions WHERE task = ? AND dtype = ? AND round = 0 AND outcome IS NOT NULL ORDER BY at DESC',
    [task, dtype],
  );
  return rows.map((r) => r.run);
}

const absent = (id: string): AppFailure =>
  new AppFailure(err('store.not-found', `There is no version ${id} in the history.`).error);

/** Throws `store.not-found`, `usage`. */
export async function findVersion(db: Database, id: string): Promise<VersionRow> {
  const { run, round, attempt } = partsOfVersion(id);
  const found = await select(db, 'WHERE run = ? AND round = ? AND attempt = ?', [run, round, attempt]);
  const [row] = await withRunState(db, found);
  if (!row) throw absent(id);
  return row;
}

export interface VersionEdit {
  readonly note?: string;
  readonly pinned?: boolean;
  /** true: into the bin; false: out of it again. Nothing of the run's history goes. */
  readonly deleted?: boolean;
}

/** Note, pin, bin. Throws `store.not-found`. */
export async function editVersion(db: Database, id: string, edit: VersionEdit): Promise<VersionRow> {
  const parts = partsOfVersion(id);
  const columns: [string, SqlValue][] = [];
  if (edit.note !== undefined) columns.push(['note', withoutSecrets(edit.note).replaceAll('\0', '')]);
  if (edit.pinned !== undefined) columns.push(['pinned', edit.pinned ? 1 : 0]);
  if (edit.deleted !== undefined) columns.push(['deleted_at', edit.deleted ? new Date().toISOString() : null]);
  const changed = await db.transaction((tx) => update(tx, parts.run, parts, columns));
  if (changed === 0) throw absent(id);
  return findVersion(db, id);
}
