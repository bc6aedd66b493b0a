import { AsyncLocalStorage } from 'node:async_hooks';
import { type BigIntStats, statSync } from 'node:fs';
import { AppFailure, err } from '../../contract/index.ts';
import type { Connection, Row, SqlValue } from './connection.ts';

/** What a function inside a transaction may do. */
export interface Tx {
  run(sql: string, params?: readonly SqlValue[]): Promise<number>;
  all<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T[]>;
  get<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T | undefined>;
}

/**
 * The history's database. Writes are functions in one queue on their own connection: statements of two callers never mix in
 * one transaction, so a write that was acknowledged cannot vanish in somebody else's rollback. Reads use a second connection
 * and see committed data only.
 */
export class Database {
  readonly file: string;
  readonly #writer: Connection;
  readonly #reader: Connection;
  readonly #inside = new AsyncLocalStorage<true>();
  readonly #inode: bigint;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(file: string, writer: Connection, reader: Connection, inode: bigint) {
    this.file = file;
    this.#writer = writer;
    this.#reader = reader;
    this.#inode = inode;
  }

  /** Runs `fn` alone in a write transaction: all of it is stored, or nothing when it throws. Not to be nested. */
  transaction<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    if (this.#inside.getStore()) return Promise.reject(new Error('transaction inside a transaction'));
    if (this.#closed) return Promise.reject(new Error('history is closed'));
    const turn = this.#queue.then(() => this.#inside.run(true, () => this.#transact(fn)));
    this.#queue = turn.catch(() => {});
    return turn;
  }

  async #transact<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    this.#refuseReplacedFile();
    let open = true;
    const use = <A extends unknown[], R>(f: (...args: A) => Promise<R>) => {
      return (...args: A): Promise<R> => (open ? f(...args) : Promise.reject(new Error('transaction already ended')));
    };
    const w = this.#writer;
    const tx = {
      run: use((sql: string, params?: readonly SqlValue[]) => w.run(sql, params)),
      all: use((sql: string, params?: readonly SqlValue[]) => w.all(sql, params)),
      get: use((sql: string, params?: readonly SqlValue[]) => w.get(sql, params)),
    } as Tx;
    await w.run('BEGIN IMMEDIATE');
    try {
      const value = await fn(tx);
      open = false;
      await w.run('COMMIT');
      return value;
    } catch (error) {
      open = false;
      // SQLite may have rolled back by itself (disk full); then this fails and the first error is the one to tell.
      await w.run('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  /** Someone may have set the file aside or deleted it while we hold it open: writes would go to a file nobody reads. */
  #refuseReplacedFile(): void {
    // Asked for at once: a trip to another thread takes longer than the look itself.
    let now: BigIntStats | null = null;
    try {
      now = statSync(this.file, { bigint: true });
    } catch {}
    if (now && now.ino === this.#inode) return;
    throw new AppFailure(
      err('store.corrupt', 'The history file was moved away or replaced while this program was using it.', {
        remedy: 'Start CUDAMaster again. The run can be resumed if its history is still there.',
        detail: this.file,
      }).error,
    );
  }

  all<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T[]> {
    return this.#reader.all<T>(sql, params);
  }

  get<T = Row>(sql: string, params?: readonly SqlValue[]): Promise<T | undefined> {
    return this.#reader.get<T>(sql, params);
  }

  /** Changes whenever any other connection, in this process or another, has committed. */
  async dataVersion(): Promise<number> {
    return Number((await this.#reader.get<{ data_version: number }>('PRAGMA data_version'))?.data_version ?? -1);
  }

  /** Waits for queued transactions, then closes. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#queue;
    await this.#reader.close();
    await this.#writer.run('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => {});
    await this.#writer.close();
  }
}
