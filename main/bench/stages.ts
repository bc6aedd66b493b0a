import type { BenchStage, JobResult, StepResult } from '../contract/index.ts';

type Kind = 'build' | 'verify' | 'time' | 'sanitize' | 'profile';

/** What the time went into, by stage of the bench and kind of step. */
export interface StageRow {
  readonly stage: BenchStage;
  /** all: every step of the stage. */
  readonly kind: Kind | 'all';
  readonly steps: number;
  readonly failed: number;
  /** Taken from the build cache, or built beside it by another job. */
  readonly cached: number;
  /** Sum over steps, s: more than the clock shows where steps ran beside each other. */
  readonly busyS: number;
  /**
   * By the clock, s: how long at least one of them was under way. Pauses do not count, nor does it matter over how many machines or
   * occasions they were spread. null where steps do not say when they began.
   */
  readonly elapsedS: number | null;
  /** Time with the GPU held, s; null for builds and where it was not noted. */
  readonly gpuS: number | null;
}

const kinds: readonly Kind[] = ['build', 'verify', 'time', 'sanitize', 'profile'];

function kindOf(step: StepResult): Kind | null {
  if (step.session) return kinds.find((kind) => kind === step.session?.mode) ?? null;
  if (step.id.startsWith('build-')) return 'build';
  return kinds.find((kind) => step.id.startsWith(kind)) ?? null;
}

/** Table of the stages, each ended by a row of all its steps; steps that were not run (a need was not met) are left out. */
export function stageRows(
  jobs: readonly { readonly stage: BenchStage; readonly result: JobResult | null }[],
): StageRow[] {
  const stages = [...new Set(jobs.map(({ stage }) => stage))];
  return stages.flatMap((stage) => {
    const steps = jobs.filter((job) => job.stage === stage).flatMap(({ result }) => result?.steps ?? []);
    const run = steps.filter((step) => step.status !== 'skipped');
    const rows = kinds.flatMap((kind) => {
      const own = run.filter((step) => kindOf(step) === kind);
      return own.length === 0 ? [] : [rowOf(stage, kind, own)];
    });
    return rows.length > 1 ? [...rows, rowOf(stage, 'all', run)] : rows;
  });
}

function rowOf(stage: BenchStage, kind: StageRow['kind'], steps: readonly StepResult[]): StageRow {
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / 1000;
  const known = steps.filter((step) => step.beganAt !== undefined);
  const spans = known.map((step) => [step.beganAt as number, (step.beganAt as number) + step.wallMs] as const);
  const gpu = steps.flatMap((step) => step.gpuMs ?? []);
  return {
    stage,
    kind,
    steps: steps.length,
    failed: steps.filter((step) => step.status !== 'ok').length,
    cached: steps.filter((step) => step.cached).length,
    busyS: sum(steps.map((step) => step.wallMs)),
    elapsedS: known.length === steps.length ? covered(spans) / 1000 : null,
    gpuS: gpu.length > 0 ? sum(gpu) : null,
  };
}

/** Length of the union of intervals [begin, end]. */
function covered(intervals: readonly (readonly [number, number])[]): number {
  let sum = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [begin, end] of [...intervals].sort((a, b) => a[0] - b[0])) {
    sum += Math.max(0, end - Math.max(begin, reached));
    reached = Math.max(reached, end);
  }
  return sum;
}
