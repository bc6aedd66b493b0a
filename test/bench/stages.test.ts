import { describe, expect, it } from 'vitest';
import { stageRows } from '../../main/bench/stages.ts';
import type { JobResult, StepResult } from '../../main/contract/index.ts';

const step = (id: string, beganAt: number | undefined, wallMs: number): StepResult => ({
  id,
  status: 'ok',
  exitCode: 0,
  signal: null,
  cached: false,
  command: '',
  stdout: '',
  stderr: '',
  wallMs,
  ...(beganAt === undefined ? {} : { beganAt }),
});
const rowsOf = (...steps: StepResult[]) =>
  stageRows([{ stage: 'published', result: { steps } as unknown as JobResult }]);

describe('what the time went into', () => {
  it('counts time by the clock once, pauses not at all', () => {
    const rows = rowsOf(
      step('build-a', 1_000, 4_000),
      step('build-b', 2_000, 1_000), // inside the first
      step('build-c', 4_000, 2_000), // overlaps its end by one second
      step('build-d', 90_000, 500), // another day
    );
    expect(rows).toMatchObject([{ stage: 'published', kind: 'build', steps: 4, busyS: 7.5, elapsedS: 5.5 }]);
  });

  it('ends a stage of several kinds with a row of all its steps', () => {
    const rows = rowsOf(step('build-a', 0, 3_000), step('verify', 2_000, 4_000), step('time-confirm', 10_000, 1_000));
    expect(rows.map((row) => [row.kind, row.steps, row.elapsedS])).toEqual([
      ['build', 1, 3],
      ['verify', 1, 4],
      ['time', 1, 1],
      ['all', 3, 7],
    ]);
  });

  it('has no time by the clock where a step does not say when it began', () => {
    const rows = rowsOf(step('build-a', 0, 3_000), step('build-b', undefined, 1_000));
    expect(rows).toMatchObject([{ busyS: 4, elapsedS: null }]);
  });

  it('leaves out what was not run', () => {
    expect(rowsOf({ ...step('build-a', 0, 0), status: 'skipped' })).toEqual([]);
  });
});
