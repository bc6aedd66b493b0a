import { appendFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { dataDir, ensureDir } from './paths.ts';
import { redact, redactDeep } from './redact.ts';

export type Level = 'debug' | 'info' | 'warn' | 'error';
const order: readonly Level[] = ['debug', 'info', 'warn', 'error'];

export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export interface LoggerOptions {
  /** Least level written. */
  readonly level?: Level;
  /** File to append to; default dataDir()/logs/cudamaster.log; null = none. */
  readonly file?: string | null;
  /** Also called with each line, for a console. */
  readonly echo?: (level: Level, line: string) => void;
}

/** One old file is kept beside the current one. */
const rotateBytes = 5 * 1024 * 1024;

/**
 * A logger of JSON lines {time, level, pid, message, …fields}, redacted before anything is written. Logging never throws: a full disk must
 * not end a run.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const least = order.indexOf(options.level ?? 'info');
  let file = options.file;
  const write = (level: Level, message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    if (order.indexOf(level) < least) return;
    const clean = redact(message);
    options.echo?.(level, clean);
    if (file === null) return;
    try {
      file ??= join(ensureDir(join(dataDir(), 'logs')), 'cudamaster.log');
      const entry = {
        time: new Date().toISOString(),
        level,
        pid: process.pid,
        message: clean,
        ...redactDeep(plain(fields)),
      };
      rotate(file);
      appendFileSync(file, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    } catch {
      // Nowhere to say it.
    }
  };
  return {
    debug: (message, fields) => write('debug', message, fields),
    info: (message, fields) => write('info', message, fields),
    warn: (message, fields) => write('warn', message, fields),
    error: (message, fields) => write('error', message, fields),
  };
}

/** Errors have no enumerable members and would be logged as {}. */
function plain(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : value,
    ]),
  );
}

function rotate(file: string): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > rotateBytes) renameSync(file, `${file}.1`);
}
