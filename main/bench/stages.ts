import type { BenchStage, JobResult, StepResult } from '../contract/index.ts';

/** What the time went into, by stage of the bench and kind of step. */
export interface StageRow {
  readonly stage: BenchStage;
  readonly kind: 'build' | 'verify' | 'time' | 'sanitize' | 'profile';
  readonly steps: number;
  readonly failed: number;
  /** Taken from the build cache, or built beside it by another job. */
  readonly cached: number;
  /** Sum over steps, s: more than the clock shows where steps ran beside each other. */
  readonly busyS: number;
  /** By the clock, s: from the first one's begin to the last one's end; null where steps do not say when they began. */
  readonly elapsedS: number | null;
  /** Time with the GPU held, s; null for builds and where it was not noted. */
  readonly gpuS: number | null;
}

const kinds: readonly StageRow['kind'][] = ['build', 'verify', 'time', 'sanitize', 'profile'];

function kindOf(step: StepResult): StageRow['kind'] | null {
  if (step.session) return kinds.find((kind) => kind === step.session?.mode) ?? null;
  if (step.id.startsWith('build-')) return 'build';
  return kinds.find((kind) => step.id.startsWith(kind)) ?? null;
}

/** Table of the stages; steps that were not run (a need was not met) are left out. */
export function stageRows(
  jobs: readonly { readonly stage: BenchStage; readonly result: JobResult | null }[],
): StageRow[] {
  const stages = [...new Set(jobs.map(({ stage }) => stage))];
  return stages.flatMap((stage) => {
    const steps = jobs.filter((job) => job.stage === stage).flatMap(({ result }) => result?.steps ?? []);
    const run = steps.filter((step) => step.status !== 'skipped');
    return kinds.flatMap((kind) => {
      const own = run.filter((step) => kindOf(step) === kind);
      return own.length === 0 ? [] : [rowOf(stage, kind, own)];
    });
  });
}

function rowOf(stage: BenchStage, kind: StageRow['kind'], steps: readonly StepResult[]): StageRow {
  const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / 1000;
  const known = steps.filter((step) => step.beganAt !== undefined);
  const begins = known.map((step) => step.beganAt as number);
  const ends = known.map((step) => (step.beganAt as number) + step.wallMs);
  const gpu = steps.flatMap((step) => step.gpuMs ?? []);
  return {
    stage,
    kind,
    steps: steps.length,
    failed: steps.filter((step) => step.status !== 'ok').length,
    cached: steps.filter((step) => step.cached).length,
    busyS: sum(steps.map((step) => step.wallMs)),
    elapsedS: known.length === steps.length ? (Math.max(...ends) - Math.min(...begins)) / 1000 : null,
    gpuS: gpu.length > 0 ? sum(gpu) : null,
  };
}
