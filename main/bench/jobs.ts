import { ownTasksDir } from '../base/paths.ts';
import { deriveRoot } from '../base/random.ts';
import {
  AppFailure,
  type Bench,
  type BenchCandidate,
  type BenchCell,
  type BenchResult,
  err,
  type JobBundle,
  type JobResult,
  type TimeResult,
  unwrap,
} from '../contract/index.ts';
import { interpretEvaluation, interpretProfileOnly } from '../evaluate/interpret.ts';
import { type EvaluationInput, planEvaluation, stepIds, type Version } from '../evaluate/plan.ts';
import { type LoadedTask, loadTask } from '../evaluate/task/index.ts';
import type { BenchFolder } from './folder.ts';

/** A cell with its job. */
export interface PlannedCell {
  readonly cell: BenchCell;
  readonly input: EvaluationInput;
  readonly bundle: JobBundle;
}

/** Makes cells' jobs from the task files under the resource root; a task is read once. */
export class Planner {
  private readonly root: string;
  private readonly bench: Bench;
  private readonly folder: BenchFolder;
  private readonly tasks = new Map<string, LoadedTask>();

  constructor(root: string, bench: Bench, folder: BenchFolder) {
    this.root = root;
    this.bench = bench;
    this.folder = folder;
  }

  task(id: string): LoadedTask {
    const known = this.tasks.get(id) ?? unwrap(loadTask(this.root, id, ownTasksDir()));
    this.tasks.set(id, known);
    return known;
  }

  candidateOf(cell: BenchCell): BenchCandidate | null {
    if (cell.version === 'origin') return null;
    return this.bench.candidates.find((c) => c.task === cell.task && c.dtype === cell.dtype) ?? null;
  }

  /** The same bench and the same task files give the same job. Throws AppFailure `input.*`. */
  async plan(cell: BenchCell): Promise<PlannedCell> {
    const { config, rootSeed } = this.bench;
    const profile = cell.stage === 'profile';
    const input: EvaluationInput = {
      task: this.task(cell.task),
      dtype: cell.dtype,
      candidate: await this.version(cell),
      best: null,
      sizeSet: cell.sizes,
      profile: profile ? 'filtered' : 'none',
      arch: config.arch,
      tries: 1,
      planSeed: deriveRoot(rootSeed, 'plan', cell.task, cell.dtype),
      label: `bench ${cell.id}`,
      library: config.library && !profile,
      amount: cell.sizes === 'large' ? 'suiteLarge' : 'suite',
      ...(profile ? { only: 'profile' as const } : {}),
      ...(config.variant === undefined ? {} : { variant: config.variant }),
    };
    return { cell, input, bundle: unwrap(planEvaluation(input)) };
  }

  private async version(cell: BenchCell): Promise<Version | null> {
    const candidate = this.candidateOf(cell);
    if (cell.version === 'origin') return null;
    if (candidate?.refused !== undefined)
      throw new AppFailure(
        err('candidate.rejected', `${candidate.label} is refused by the screen: ${candidate.refused}`, {
          remedy: 'Mend it and measure it in a bench of its own.',
        }).error,
      );
    const source = candidate && (await this.folder.source(candidate.source));
    if (candidate && source !== null) return { source, compileArgs: candidate.compileArgs };
    throw new AppFailure(
      err('input.file', `The source of ${cell.id} is missing in ${this.folder.dir}.`, {
        remedy: 'Begin the bench again with its candidates.',
      }).error,
    );
  }
}

/** The time session of a job, for the launches that a profile must show. */
export const timed = (result: JobResult | null): TimeResult | null => {
  const session = result?.steps.find((step) => step.id === stepIds.confirm)?.session;
  return session?.mode === 'time' ? session : null;
};

/** What a job's result means for its cell. `measured`: the result of the same task, type and sizes where it was timed. */
export function resultOf(
  { cell, input, bundle }: PlannedCell,
  jobHash: string,
  result: JobResult,
  measured: JobResult | null,
): BenchResult {
  const profile = cell.stage === 'profile';
  return {
    format: 'cudamaster-bench-cell',
    version: 1,
    cell: cell.id,
    jobHash,
    finishedAt: new Date().toISOString(),
    fault: null,
    result,
    evaluation: profile ? null : interpretEvaluation(input, bundle, result),
    profile: profile ? interpretProfileOnly(input, bundle, result, timed(measured)) : null,
  };
}
