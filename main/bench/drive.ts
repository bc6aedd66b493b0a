import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { toAppError } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { readInput } from '../base/input.ts';
import {
  type AppError,
  AppFailure,
  type Bench,
  type BenchCell,
  type BenchResult,
  type BenchStage,
  benchStages,
  type ExecuteOutcome,
  type Executor,
  err,
} from '../contract/index.ts';
import { rejected } from '../evaluate/evaluator.ts';
import { BundleExecutor } from '../jobs/bundle.ts';
import { jobHash } from '../jobs/bundle-hash.ts';
import type { BenchFolder } from './folder.ts';
import { type PlannedCell, Planner, resultOf } from './jobs.ts';

/** How far a bench is. */
export interface BenchProgress {
  readonly stage: BenchStage;
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** From what has been measured in this process; null: nothing yet to judge by. */
  readonly leftMs: number | null;
  /** The job and step that said something last. */
  readonly note: string;
}

/** How a bench stands after a drive. */
export interface BenchStand {
  readonly done: number;
  readonly failed: readonly { readonly cell: string; readonly error: AppError }[];
  /** Cells without a result that counts. */
  readonly missing: readonly string[];
  /** Of them, those with a result of another job: the task, the harness or the plan has changed since. The report shows and names them. */
  readonly outdated: readonly string[];
  /** Done, but without figures: the machine was at fault (a busy GPU, void samples). A resume tries them again. */
  readonly spoilt: readonly string[];
  /** Folders that a worker has to run, with how many bundles of each have no result. */
  readonly waiting: readonly { readonly folder: string; readonly bundles: number }[];
}

export interface DriveOptions {
  readonly root: string;
  readonly folder: BenchFolder;
  readonly bench: Bench;
  /** Runs the jobs here; null: bundles are written, and results taken in. */
  readonly executor: Executor | null;
  readonly programVersion: string;
  /** Folder with copies of results (`worker --results`). */
  readonly results?: string;
  /** Nothing is run, taken in or written: only how the bench stands. */
  readonly readOnly?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress: (progress: BenchProgress) => void;
}

/**
 * Runs every cell that has no result yet, or hands it to a worker. Cells of a stage run beside each other as the executor allows; what is
 * finished is written at once. Throws AppFailure `cancelled` (what was finished is kept), `store.lease` when another process drives it.
 */
export const driveBench = (options: DriveOptions): Promise<BenchStand> =>
  options.readOnly === true
    ? new Drive(options).run()
    : options.folder.drive(() => new Drive(options).run(), options.signal);

class Drive {
  private readonly o: DriveOptions;
  private readonly planner: Planner;
  private readonly failed = new Map<string, AppError>();
  private readonly missing: string[] = [];
  private readonly outdated = new Set<string>();
  private readonly spoilt: string[] = [];
  private readonly waiting = new Map<string, number>();
  private done = 0;

  constructor(options: DriveOptions) {
    this.o = options;
    this.planner = new Planner(options.root, options.bench, options.folder);
  }

  async run(): Promise<BenchStand> {
    // A misspelt folder is told even when nothing is left to take from it.
    await this.copies();
    for (const stage of benchStages) {
      const cells = this.o.bench.cells.filter((cell) => cell.stage === stage);
      if (cells.length > 0) await this.stage(stage, cells);
    }
    return {
      done: this.done,
      failed: [...this.failed].map(([cell, error]) => ({ cell, error })),
      missing: this.missing,
      outdated: [...this.outdated],
      spoilt: this.spoilt,
      waiting: [...this.waiting].map(([folder, bundles]) => ({ folder, bundles })),
    };
  }

  private async stage(stage: BenchStage, cells: readonly BenchCell[]): Promise<void> {
    const open: PlannedCell[] = [];
    for (const cell of cells) {
      const found = await this.o.folder.result(cell);
      const planned = await this.planned(cell, found);
      if (planned === null) continue;
      // A result of another job (the task's files have changed since) says nothing about this one.
      const same = found?.result && found.jobHash === jobHash(planned.bundle.job);
      // What the machine spoilt (a busy GPU, void samples) is measured again, or looked for again where a worker may have done so.
      const spoilt = found !== null && isSpoilt(found);
      if (same && !spoilt) this.done++;
      else open.push(planned);
      if (found?.result && !same) this.outdated.add(cell.id);
    }
    if (this.o.readOnly === true) this.missing.push(...open.map(({ cell }) => cell.id));
    if (open.length === 0 || this.o.readOnly === true) return;
    const clock = new Clock(open.length);
    const tell = (note: string): void =>
      this.o.onProgress({
        stage,
        done: this.done,
        failed: this.failed.size,
        total: this.o.bench.cells.length,
        leftMs: clock.leftMs(),
        note,
      });
    tell('');
    const one = async (planned: PlannedCell): Promise<void> => {
      if (await this.cell(planned, tell)) clock.finished();
      tell('');
    };
    // One after the other where nothing runs, so that a folder of bundles is written in order.
    if (this.o.executor === null) for (const planned of open) await one(planned);
    else await Promise.all(open.map(one));
    if (this.o.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'The bench was cancelled.' });
  }

  /**
   * null: the cell cannot be run, its task or source is gone or its candidate was refused. A result from before stays and is told; the
   * others go on.
   */
  private async planned(cell: BenchCell, found: BenchResult | null): Promise<PlannedCell | null> {
    try {
      return await this.planner.plan(cell);
    } catch (fault) {
      if (!(fault instanceof AppFailure) || !/^(input\.|candidate\.rejected$)/.test(fault.error.code)) throw fault;
      this.failed.set(cell.id, fault.error);
      if (found?.result) this.outdated.add(cell.id);
      else if (this.o.readOnly !== true) await this.o.folder.writeResult(refusedOf(cell, fault.error));
      return null;
    }
  }

  /** true: the cell has a result. */
  private async cell(planned: PlannedCell, tell: (note: string) => void): Promise<boolean> {
    const { cell, bundle } = planned;
    const hash = jobHash(bundle.job);
    const at = { rootSeed: this.o.bench.rootSeed, position: cell.id };
    const executor = this.o.executor ?? this.bundles(planned);
    const execute = (): Promise<ExecuteOutcome> =>
      executor.execute(bundle, {
        ...at,
        signal: this.o.signal,
        onProgress: ({ step, note }) => tell(`${cell.task} ${cell.dtype} ${step}${note ? `: ${note}` : ''}`),
      });
    try {
      let outcome = await execute();
      // Only where the bundle has no result of its own: a copy that was damaged on its way must not take the place of a good one.
      if (outcome.kind === 'parked' && executor instanceof BundleExecutor)
        if (await this.takeCopy(executor.folderOf(bundle, at))) outcome = await execute();
      if (outcome.kind === 'parked') {
        this.missing.push(cell.id);
        const folder = this.o.folder.bundles(cell.stage);
        this.waiting.set(folder, (this.waiting.get(folder) ?? 0) + 1);
        return false;
      }
      const measured = await this.measured(cell);
      let result = resultOf(planned, hash, outcome.result, measured);
      if (
        isSpoilt(result) &&
        executor instanceof BundleExecutor &&
        (await this.takeCopy(executor.folderOf(bundle, at)))
      ) {
        const again = await execute();
        if (again.kind === 'done') result = resultOf(planned, hash, again.result, measured);
      }
      if (isSpoilt(result)) this.spoilt.push(cell.id);
      await this.o.folder.writeResult(result);
      this.outdated.delete(cell.id);
      this.done++;
      return true;
    } catch (fault) {
      const error = toAppError(fault);
      if (error.code === 'cancelled') return false;
      if (error.code === 'internal' && !(fault instanceof AppFailure)) throw fault;
      // Nothing more can be kept, not even why; what the worker found lies where it was, for the next time.
      if (error.code === 'env.disk-full' || error.code === 'env.not-writable') throw fault;
      this.failed.set(cell.id, error);
      // A result that cannot be used would be found again for ever; one of a newer program is for that program.
      if (executor instanceof BundleExecutor && error.code === 'input.bundle')
        await BundleExecutor.setAside(executor.folderOf(bundle, at));
      await this.o.folder.writeResult(faultOf(cell, hash, error));
      this.outdated.delete(cell.id);
      return false;
    }
  }

  /** Bundles of a stage lie together and share their contents: one folder to carry away. */
  private bundles({ cell }: PlannedCell): BundleExecutor {
    return new BundleExecutor({
      root: this.o.folder.bundles(cell.stage),
      programVersion: this.o.programVersion,
      resumeCommand: `cudamaster bench resume ${this.o.folder.dir}`,
      shared: true,
    });
  }

  /**
   * A copy that a worker wrote elsewhere, put where the bundle's own result would lie; it is checked there like any other. false: there is
   * none. Throws AppFailure `input.file` where two differ: nothing says which one is meant.
   */
  private async takeCopy(folder: string): Promise<boolean> {
    const copies = (await this.copies()).get(`${basename(folder)}.json`) ?? [];
    const texts = new Map<string, string>();
    for (const path of copies) {
      const text = await readInput(path, { limit: mostOfResult, signal: this.o.signal });
      if (!texts.has(text)) texts.set(text, path);
    }
    const [first] = texts.keys();
    if (first === undefined) return false;
    if (texts.size > 1)
      throw new AppFailure(
        err('input.file', `There are different results for one job: ${[...texts.values()].join(' and ')}.`, {
          remedy: 'Leave the one that counts in the folder.',
        }).error,
      );
    await writeFileAtomic(join(folder, 'result.json'), first, 0o644);
    return true;
  }

  private found: Promise<Copies> | null = null;
  private copies(): Promise<Copies> {
    this.found ??= findFiles(this.o.results);
    return this.found;
  }

  private async measured(cell: BenchCell): Promise<BenchResult['result']> {
    if (cell.stage !== 'profile') return null;
    const twin = this.o.bench.cells.find(
      (c) => c.stage === cell.sizes && c.task === cell.task && c.dtype === cell.dtype,
    );
    return twin ? ((await this.o.folder.result(twin))?.result ?? null) : null;
  }
}

const isSpoilt = ({ evaluation }: BenchResult): boolean => evaluation?.outcome === 'environment';

const faultOf = (cell: BenchCell, hash: string, fault: AppError): BenchResult => ({
  format: 'cudamaster-bench-cell',
  version: 1,
  cell: cell.id,
  jobHash: hash,
  finishedAt: new Date().toISOString(),
  fault,
  result: null,
  evaluation: null,
  profile: null,
});

/** What the screen refused is a result like any other that an evaluation gives; of a profile there is none. */
function refusedOf(cell: BenchCell, fault: AppError): BenchResult {
  const without = faultOf(cell, '', fault);
  if (fault.code !== 'candidate.rejected' || cell.stage === 'profile') return without;
  return { ...without, evaluation: rejected({ reason: fault.message, digest: fault.message }) };
}

/** As much as a bundle's result may hold, bytes. */
const mostOfResult = 256 * 2 ** 20;

/** Paths by bare name, in order. */
type Copies = ReadonlyMap<string, readonly string[]>;

/** Files under a folder by their bare name. Throws AppFailure `input.file` when the folder is not there. */
async function findFiles(dir: string | undefined): Promise<Copies> {
  const out = new Map<string, string[]>();
  if (dir === undefined) return out;
  const entries = await readdir(dir, { recursive: true, withFileTypes: true }).catch((fault: { code?: string }) => {
    throw new AppFailure(
      err('input.file', `The folder of results ${dir} cannot be read (${fault.code}).`, {
        remedy: 'Name the folder that `cudamaster worker --results` wrote to.',
      }).error,
    );
  });
  const files = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name));
  for (const path of files.sort()) out.set(basename(path), [...(out.get(basename(path)) ?? []), path]);
  return out;
}

/**
 * Time left, from the pace of cells finished in this process. The first ones end late, when the builds of all are done: pace is counted
 * from the first one that ended.
 */
class Clock {
  private left: number;
  private first: number | null = null;
  private count = 0;

  constructor(cells: number) {
    this.left = cells;
  }

  finished(): void {
    this.left--;
    if (this.first === null) this.first = performance.now();
    else this.count++;
  }

  leftMs(): number | null {
    if (this.first === null || this.count < 2) return null;
    return ((performance.now() - this.first) / this.count) * this.left;
  }
}
