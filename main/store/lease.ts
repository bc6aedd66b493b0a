import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { pidExists, startTimeOf } from '../base/proc.ts';
import { newRootSeed } from '../base/random.ts';
import { AppFailure, err } from '../contract/index.ts';
import type { Database, Tx } from './db/database.ts';

const heartbeatMs = 10_000;
/** A holder on another machine is taken for dead after this. */
const staleMs = 60_000;

export interface Place {
  readonly host: string;
  /** Process numbers mean something only inside one PID namespace (containers share a host's name and history). */
  readonly place: string;
}

export function thisPlace(): Place {
  const host = hostname();
  try {
    return { host, place: `${host} ${readlinkSync('/proc/self/ns/pid')}` };
  } catch {
    return { host, place: host };
  }
}

/** The process itself, not another one that got its number. Where the system cannot tell, the number must do. */
export function isSameProcess(pid: number, startTime: string): boolean {
  const now = startTimeOf(pid);
  if (now !== null) return now === startTime;
  return process.platform === 'win32' && pidExists(pid);
}

interface LeaseRow {
  token: string;
  host: string;
  place: string;
  pid: number;
  start_time: string;
  heartbeat_at: string;
}

/** Right to drive one run. Others may read it, and drive other runs. */
export class Lease {
  readonly run: string;
  readonly token: string;
  readonly #db: Database;
  readonly #timer: NodeJS.Timeout;

  private constructor(db: Database, run: string, token: string) {
    this.#db = db;
    this.run = run;
    this.token = token;
    this.#timer = setInterval(() => void this.#beat(), heartbeatMs);
    this.#timer.unref();
  }

  /** Throws store.lease when a living process drives the run. A dead holder's lease is taken over. */
  static async acquire(db: Database, run: string): Promise<Lease> {
    const token = newRootSeed().slice(0, 32);
    await db.transaction(async (tx) => {
      const held = await tx.get<LeaseRow>('SELECT * FROM leases WHERE run = ?', [run]);
      if (held && isHeld(held)) throw heldBy(run, held);
      const { host, place } = thisPlace();
      await tx.run(
        'INSERT OR REPLACE INTO leases (run, token, host, place, pid, start_time, heartbeat_at) VALUES (?,?,?,?,?,?,?)',
        [run, token, host, place, process.pid, startTimeOf(process.pid) ?? '', new Date().toISOString()],
      );
    });
    return new Lease(db, run, token);
  }

  /** Inside every write of the run: a driver that lost its lease (suspended laptop, clock jump) must not write on. */
  async check(tx: Tx): Promise<void> {
    const held = await tx.get<LeaseRow>('SELECT * FROM leases WHERE run = ?', [this.run]);
    if (held?.token === this.token) return;
    throw held
      ? heldBy(this.run, held)
      : new AppFailure(err('store.lease', `Run ${this.run} was released by someone else.`).error);
  }

  async #beat(): Promise<void> {
    // A failed beat shows at the next write, which checks the token.
    await this.#db
      .transaction((tx) =>
        tx.run('UPDATE leases SET heartbeat_at = ? WHERE run = ? AND token = ?', [
          new Date().toISOString(),
          this.run,
          this.token,
        ]),
      )
      .catch(() => {});
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#db.transaction((tx) =>
      tx.run('DELETE FROM leases WHERE run = ? AND token = ?', [this.run, this.token]),
    );
  }
}

function isHeld(row: LeaseRow): boolean {
  if (row.place === thisPlace().place) return isSameProcess(row.pid, row.start_time);
  return Date.now() - Date.parse(row.heartbeat_at) < staleMs;
}

/** True when a living process drives the run now. */
export async function isDriven(db: Database, run: string): Promise<boolean> {
  const held = await db.get<LeaseRow>('SELECT * FROM leases WHERE run = ?', [run]);
  return held !== undefined && isHeld(held);
}

const isHere = (row: LeaseRow): boolean => row.place === thisPlace().place && row.pid === process.pid;

function heldBy(run: string, row: LeaseRow): AppFailure {
  if (isHere(row))
    return new AppFailure(
      err('store.lease', `Run ${run} is under way in this program already.`, {
        remedy: 'Watch it, or pause or cancel it first.',
      }).error,
    );
  return new AppFailure(
    err('store.lease', `Run ${run} is being driven by another process (${row.host}, pid ${row.pid}).`, {
      remedy: `Watch it with \`cudamaster show ${run} --follow\`, or end that process first.`,
      detail: `last sign of life ${row.heartbeat_at}`,
    }).error,
  );
}

/** Runs that a living process drives now, and which: this one, or another. */
export async function drivers(db: Database): Promise<Map<string, { pid: number; host: string; here: boolean }>> {
  const rows = (await db.all('SELECT * FROM leases')) as unknown as LeaseRow[];
  const out = new Map<string, { pid: number; host: string; here: boolean }>();
  for (const row of rows as (LeaseRow & { run: string })[])
    if (isHeld(row)) out.set(row.run, { pid: row.pid, host: row.host, here: isHere(row) });
  return out;
}
