import { freemem } from 'node:os';
import type { Comparison, Problem } from '../../contract/index.ts';
import type { Judge } from './judge.ts';
import { bufferBytes, outputsOf } from './problem-text.ts';
import type { Runner } from './runner.ts';
import type { Scope } from './scope.ts';

const FLOOR_BYTES = 256 * 1024 * 1024;
const CEILING_BYTES = 2 * 1024 * 1024 * 1024;
/** Of the memory that is free, since written files stay in the page cache until the judge has read them. */
const FREE_SHARE = 1 / 16;

/** Bytes of dumped outputs that wait for the judge, held below a cap so that neither disk nor page cache fills up. */
export class DumpBudget {
  private readonly cap: number;
  private held = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(memoryMiB: number) {
    const ceiling = Math.max(CEILING_BYTES, freemem() * FREE_SHARE);
    this.cap = Math.min(ceiling, Math.max(FLOOR_BYTES, (memoryMiB * 1024 * 1024) / 4));
  }

  /** Whether `bytes` more fit now. A single dump larger than the cap is let through alone. */
  fits(bytes: number): boolean {
    return this.held === 0 || this.held + bytes <= this.cap;
  }

  async take(bytes: number): Promise<void> {
    while (!this.fits(bytes)) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.held += bytes;
  }

  give(bytes: number): void {
    this.held -= bytes;
    for (const wake of this.waiting.splice(0)) wake();
  }
}

/** Outputs of one call, written to scratch and not yet compared. */
export interface Dumped {
  readonly problem: Problem;
  readonly seed: string;
  readonly files: readonly { readonly buffer: number; readonly path: string }[];
  readonly bytes: number;
}

export const outputBytes = (problem: Problem): number =>
  outputsOf(problem).reduce((sum, i) => sum + bufferBytes(problem.buffers[i] as Problem['buffers'][number]), 0);

/** Sends the dump requests of all outputs at once; resolves when they are written. The caller holds the budget. */
export async function dumpOutputs(scope: Scope, runner: Runner, problem: Problem, seed: string): Promise<Dumped> {
  const files = outputsOf(problem).map((buffer) => ({ buffer, path: scope.newFile('d') }));
  await Promise.all(files.map((f) => runner.dump(f.buffer, f.path)));
  return { problem, seed, files, bytes: outputBytes(problem) };
}

/** Has the judge compare a dumped call, then removes the files and gives back their budget, whatever happens. */
export async function judgeDump(scope: Scope, judge: Judge, budget: DumpBudget, dump: Dumped): Promise<Comparison[]> {
  try {
    return await Promise.all(dump.files.map((f) => judge.all(dump.problem, dump.seed, f.buffer, f.path)));
  } finally {
    await Promise.all(dump.files.map((f) => scope.remove(f.path)));
    budget.give(dump.bytes);
  }
}
