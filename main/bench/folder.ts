import { constants, existsSync } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { systemCode } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { withFileLock } from '../base/flock.ts';
import { sha256Hex } from '../base/hash.ts';
import { ensureDir } from '../base/paths.ts';
import {
  type AppError,
  AppFailure,
  type Bench,
  type BenchCell,
  type BenchResult,
  type BenchStage,
  benchResultSchema,
  benchSchema,
  err,
  FORMAT,
} from '../contract/index.ts';
import { sweepPartial } from '../jobs/bundle-folder.ts';

/**
 * A bench on disk: bench.json (what is measured), sources/ (candidates), results/CELL.json (one file per finished cell), bundles/STAGE/
 * (jobs for another machine), report.*. Every file appears whole or not at all, so a bench that was killed has all it had finished.
 */
export class BenchFolder {
  readonly dir: string;

  /** `existing`: the folder is there and only read; it may lie where nothing can be written. */
  constructor(dir: string, existing = false) {
    this.dir = existing ? dir : ensureDir(dir);
  }

  /** Why nothing can be written here; null: it can. */
  notWritable(): AppError | null {
    try {
      for (const part of [this.dir, join(this.dir, 'results')]) if (existsSync(part)) ensureDir(part);
      return null;
    } catch (fault) {
      if (fault instanceof AppFailure && fault.error.code === 'env.not-writable') return fault.error;
      throw fault;
    }
  }

  bundles = (stage: BenchStage): string => join(this.dir, 'bundles', stage);
  private resultPath = (cell: string): string => join(this.dir, 'results', `${cell}.json`);
  private sourcePath = (hash: string): string => join(this.dir, 'sources', `${hash}.cu`);

  async create(bench: Bench, sources: ReadonlyMap<string, string>): Promise<void> {
    if ((await readText(join(this.dir, 'bench.json'))) !== null)
      throw new AppFailure(
        err('usage', `${this.dir} holds a bench already.`, {
          remedy: `Go on with it: cudamaster bench resume ${this.dir}. Or choose another folder.`,
        }).error,
      );
    for (const [hash, text] of sources) await writeFileAtomic(this.sourcePath(hash), text, 0o644);
    await writeFileAtomic(join(this.dir, 'bench.json'), `${JSON.stringify(bench, null, 1)}\n`, 0o644);
  }

  /** Throws AppFailure `store.not-found`, `format.newer`, `format.invalid`. */
  async bench(): Promise<Bench> {
    const file = join(this.dir, 'bench.json');
    const text = await readText(file);
    if (text === null)
      throw new AppFailure(
        err('store.not-found', `There is no bench in ${this.dir}.`, { remedy: 'Begin one with `cudamaster bench`.' })
          .error,
      );
    return parse(file, text, benchSchema);
  }

  /** Text of a candidate; null = missing, or another text than was chosen. */
  async source(hash: string): Promise<string | null> {
    const text = await readText(this.sourcePath(hash));
    return text !== null && sha256Hex(text) === hash ? text : null;
  }

  /** What a cell gave; null = not run yet. A file that was damaged counts as not run. */
  async result(cell: BenchCell): Promise<BenchResult | null> {
    const file = this.resultPath(cell.id);
    const text = await readText(file);
    if (text === null) return null;
    try {
      const found = parse(file, text, benchResultSchema);
      // A file that was renamed tells of another cell.
      return found.cell === cell.id ? found : null;
    } catch (fault) {
      if (fault instanceof AppFailure && fault.error.code === 'format.newer') throw fault;
      return null;
    }
  }

  /** All results there are, by cell. */
  async results(cells: readonly BenchCell[]): Promise<ReadonlyMap<string, BenchResult>> {
    const out = new Map<string, BenchResult>();
    for (const cell of cells) {
      const found = await this.result(cell);
      if (found) out.set(cell.id, found);
    }
    return out;
  }

  /** Throws AppFailure `input.bundle` for what could not be read again: figures beyond all numbers, made of times that no GPU needs. */
  async writeResult(result: BenchResult): Promise<void> {
    const text = JSON.stringify(result);
    const again = benchResultSchema.safeParse(JSON.parse(text));
    if (!again.success)
      throw new AppFailure(
        err('input.bundle', `The result of ${result.cell} gives figures that are no numbers.`, {
          remedy: 'Run its bundle once more.',
          detail: z.prettifyError(again.error).slice(0, 500),
        }).error,
      );
    await writeFileAtomic(this.resultPath(result.cell), `${text}\n`, 0o644);
  }

  write = (name: string, text: string): Promise<void> => writeFileAtomic(join(this.dir, name), text, 0o644);

  /** Runs `fn` as the only driver of this bench; a second one is refused (`store.lease`). */
  async drive<T>(fn: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const stop = new AbortController();
    let holder: number | null = null;
    let refused = false;
    const both = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const alone = async (): Promise<T> => {
      // What a writer that was killed left half-written: nobody else writes here now.
      for (const sub of ['', 'results', 'sources']) await sweepPartial(join(this.dir, sub), async () => true);
      return fn();
    };
    try {
      return await withFileLock(join(this.dir, 'driver.lock'), alone, {
        signal: both,
        onWait: (wait) => {
          refused = true;
          holder = wait.holder;
          stop.abort();
        },
      });
    } catch (fault) {
      if (!refused) throw fault;
      throw new AppFailure(
        err('store.lease', `Another process${holder === null ? '' : ` (${holder})`} drives this bench.`, {
          remedy: 'Wait for it, or stop it; what it has finished is kept.',
        }).error,
      );
    }
  }
}

/** Benches under a folder, newest last (their names begin with the time). */
export async function listBenches(root: string): Promise<string[]> {
  const names = await readdir(root).catch(() => []);
  return names.sort();
}

/** A file's text; null: it is not there. A pipe would be waited for without end. Throws AppFailure `input.file`. */
async function readText(path: string): Promise<string | null> {
  const unreadable = (why: string): AppFailure =>
    new AppFailure(
      err('input.file', `${path} cannot be read: ${why}.`, {
        remedy: 'Check its permissions, or move it out of the bench: what it held is then measured or taken in again.',
      }).error,
    );
  try {
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    try {
      if (!(await file.stat()).isFile()) throw unreadable('it is no file');
      return await file.readFile('utf8');
    } finally {
      await file.close();
    }
  } catch (fault) {
    if (fault instanceof AppFailure) throw fault;
    const code = systemCode(fault);
    if (code === 'ENOENT') return null;
    throw unreadable(code ?? String(fault));
  }
}

const damaged = (file: string, why: string): AppFailure =>
  new AppFailure(
    err('format.invalid', `${file}${why}`, {
      remedy: 'Restore it from a copy, or begin another bench; results that lie beside it are kept.',
    }).error,
  );

function parse<T>(file: string, text: string, schema: z.ZodType<T>): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw damaged(file, ' is no JSON.');
  }
  const version = (value as { version?: unknown } | null)?.version;
  if (typeof version === 'number' && version > FORMAT.bench)
    throw new AppFailure(
      err('format.newer', `${file} has format bench ${version}; this program knows it up to ${FORMAT.bench}.`, {
        remedy: 'Update CUDAMaster.',
      }).error,
    );
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw damaged(file, `: ${z.prettifyError(parsed.error).slice(0, 500)}`);
}
