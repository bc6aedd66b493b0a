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

/** Turns an error of the driver into an AppFailure; `file` goes into the evidence. */
export function sqlFailure(error: unknown, file: string): AppFailure {
  if (error instanceof AppFailure) return error;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const detail = `${file}: ${error instanceof Error ? error.message : String(error)}`;
  const fault = faults[sameAs[code] ?? code];
  if (fault) return new AppFailure(err(fault.code, fault.message, { remedy: fault.remedy, detail }).error);
  return new AppFailure(err('internal', 'The history answered with an unexpected fault.', { detail }).error);
}

/** One SQLite connection with promises. Statements run one after the other in the order in which they were asked for. */
export class Connection {
  readonly file: string;
  readonly #db: sqlite3.Database;

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

  /** Runs one statement; resolves with the number of rows it changed. */
  run(sql: string, params: readonly SqlValue[] = []): Promise<number> {
    const { file } = this;
    return new Promise((resolve, reject) => {
      this.#db.run(sql, [...params], function (this: sqlite3.RunResult, error: Error | null) {
        if (error) reject(sqlFailure(error, file));
        else resolve(this.changes);
      });
    });
  }

  all<T = Row>(sql: string, params: readonly SqlValue[] = []): Promise<T[]> {
    return new Promise((resolve, reject) => {
      this.#db.all(sql, [...params], (error: Error | null, rows: T[]) =>
        error ? reject(sqlFailure(error, this.file)) : resolve(rows),
      );
    });
  }

  async get<T = Row>(sql: string, params: readonly SqlValue[] = []): Promise<T | undefined> {
    return (await this.all<T>(sql, params))[0];
  }

  exec(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#db.exec(sql, (error) => (error ? reject(sqlFailure(error, this.file)) : resolve()));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#db.close((error) => (error ? reject(sqlFailure(error, this.file)) : resolve()));
    });
  }
}
