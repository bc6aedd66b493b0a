import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import sqlite3 from 'sqlite3';
import { AppFailure, type ErrorCode, err } from '../../contract/index.ts';

export type SqlValue = string | number | null;
export type Row = Record<string, SqlValue>;

/** What went wrong with the history file, in the user's words. Keys: primary result codes of SQLite. */
const faults: Record<string, { code: ErrorCode; message: string; remedy: string }> = {
  SQLITE_BUSY: {
    code: 'store.busy',
    message: 'Another copy of CUDAMaster is using the history and did not let go in time.',
    remedy: 'Wait for it to finish a step, or close it, then repeat the command. Nothing was changed.',
  },
  SQLITE_FULL: {
    code: 'env.disk-full',
    message: 'The disk that holds the history is full.',
    remedy: 'Free some space, or set CUDAMASTER_HOME to a folder on another disk.',
  },
  SQLITE_READONLY: {
    code: 'env.not-writable',
    message: 'The history cannot be written.',
    remedy: 'Make the folder writable, or set CUDAMASTER_HOME to one that is.',
  },
  SQLITE_IOERR: {
    code: 'env.not-writable',
    message: 'The disk that holds the history could not be read or written.',
    remedy: 'Look at the disk (its kernel messages, its network), or set CUDAMASTER_HOME to a folder on another one.',
  },
  SQLITE_CORRUPT: {
    code: 'store.corrupt',
    message: 'The history file is damaged.',
    remedy: 'Start CUDAMaster again: it sets the damaged file aside and goes on with the newest good backup.',
  },
};
const sameAs: Record<string, string> = {
  SQLITE_LOCKED: 'SQLITE_BUSY',
  SQLITE_CANTOPEN: 'SQLITE_READONLY',
  SQLITE_PERM: 'SQLITE_READONLY',
  SQLITE_NOTADB: 'SQLITE_CORRUPT',
};

/** What SQLite wants at least to begin a write: its index of the log, bytes. */
const needed = 64 * 1024;

function isFull(file: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(file));
    return bavail * bsize < needed;
  } catch {
    return false;
  }
}

/** Turns an error of the driver into an AppFailure; `file` goes into the evidence. */
export function sqlFailure(error: unknown, file: string): AppFailure {
  if (error instanceof AppFailure) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const detail = `${file}: ${error instanceof Error ? error.message : String(error)}`;
  // Where even the shared memory beside the file finds no room, SQLite knows of no full disk.
  const named = code === 'SQLITE_IOERR' && isFull(file) ? 'SQLITE_FULL' : (sameAs[code] ?? code);
  const fault = faults[named];
  if (fault) return new AppFailure(err(fault.code, fault.message, { remedy: fault.remedy, detail }).error);
  return new AppFailure(err('internal', 'The history answered with an unexpected fault.', { detail }).error);
}

/** Compiled statements kept per connection; a program uses some dozens, texts made of parts a few more. */
const mostKept = 100;
/**
 * What `run` keeps. Anything else may give a row (a PRAGMA does), and a kept statement that waits at a row holds the file: it is compiled for the
 * one time. `all` always goes to the end of its rows.
 */
const rowless = /^\s*(?:INSERT|UPDATE|DELETE|BEGIN|COMMIT|ROLLBACK)\b(?!.*\bRETURNING\b)/is;

/**
 * One SQLite connection with promises. Statements run one after the other in the order in which they were asked for. They are compiled once and
 * kept: running one is a trip to another thread, and compiling it would be a second.
 */
export class Connection {
  readonly file: string;
  readonly #db: sqlite3.Database;
  readonly #kept = new Map<string, sqlite3.Statement>();
  #last: Promise<unknown> = Promise.resolve();

  private constructor(file: string, db: sqlite3.Database) {
    this.file = file;
    this.#db = db;
  }

  /** Opens (and creates, unless `existing`) the file. The busy timeout is set before anything touches the file. */
  static async open(file: string, options: { busyMs: number; existing?: boolean }): Promise<Connection> {
    const mode = sqlite3.OPEN_READWRITE | sqlite3.OPEN_FULLMUTEX | (options.existing ? 0 : sqlite3.OPEN_CREATE);
    const db = await new Promise<sqlite3.Database>((resolve, reject) => {
      const opened: sqlite3.Database = new sqlite3.Database(file, mode, (error) =>
        error ? reject(sqlFailure(error, file)) : resolve(opened),
      );
    });
    db.configure('busyTimeout', options.busyMs);
    db.serialize();
    return new Connection(file, db);
  }

  /** Runs one statement that gives no rows; resolves with the number of rows it changed. */
  run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    return this.#turn(async () => {
      const keep = rowless.test(sql);
      const statement = await this.#statement(sql, keep);
      return new Promise((resolve, reject) => {
        statement.run([...params], function (this: sqlite3.RunResult, error: Error | null) {
          if (error) reject(error);
          else resolve(this.changes);
        });
        if (!keep) statement.finalize();
      });
    });
  }

  all<T = Row>(sql: string, params: readonly SqlValue[] = []): Promise<T[]> {
    return this.#turn(async () => {
      const statement = await this.#statement(sql, true);
      return new Promise((resolve, reject) => {
        statement.all([...params], (error: Error | null, rows: T[]) => (error ? reject(error) : resolve(rows)));
      });
    });
  }

  async get<T = Row>(sql: string, params: readonly SqlValue[] = []): Promise<T | undefined> {
    return (await this.all<T>(sql, params))[0];
  }

  /** Runs any number of statements that are not kept. */
  exec(sql: string): Promise<void> {
    return this.#turn(
      () => new Promise((resolve, reject) => this.#db.exec(sql, (error) => (error ? reject(error) : resolve()))),
    );
  }

  close(): Promise<void> {
    return this.#turn(async () => {
      for (const statement of this.#kept.values()) statement.finalize();
      this.#kept.clear();
      await new Promise<void>((resolve, reject) => this.#db.close((error) => (error ? reject(error) : resolve())));
    });
  }

  /** After everything asked for before, whether that went well or not. */
  #turn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work).catch((error: unknown) => {
      throw sqlFailure(error, this.file);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #statement(sql: string, keep: boolean): Promise<sqlite3.Statement> {
    const kept = keep ? this.#kept.get(sql) : undefined;
    if (kept) return kept;
    const made = await new Promise<sqlite3.Statement>((resolve, reject) => {
      const statement: sqlite3.Statement = this.#db.prepare(sql, (error: Error | null) =>
        error ? reject(error) : resolve(statement),
      );
    });
    if (!keep) return made;
    const [oldest] = this.#kept;
    if (oldest && this.#kept.size >= mostKept) {
      this.#kept.delete(oldest[0]);
      oldest[1].finalize();
    }
    this.#kept.set(sql, made);
    return made;
  }
}
