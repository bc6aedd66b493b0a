import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Limits, type Problem, type SessionResult, type Task, unwrap } from '../../main/contract/index.ts';
import {
  allocatedBytes,
  candidateName,
  type LoadedTask,
  loadTask,
  originName,
  resolveProblem,
  sanitizeProblems,
} from '../../main/evaluate/task/index.ts';
import { judgeCompileArgs, shimCompileArgs, shimSource } from '../../main/jobs/session/shim.ts';
import { buildArm, compile, harness, runnerProgram } from '../harness/build.ts';
import { context, programs, scratch, session } from '../session/support.ts';

const root = join(import.meta.dirname, '../..');
const candidates = join(root, 'test/candidates');

interface Entry {
  readonly file: string;
  readonly task: string;
  readonly expect: string[];
}
const entries: Entry[] = JSON.parse(readFileSync(join(candidates, 'host/index.json'), 'utf8'));

/** Programs that a task's sessions need, made once per task. */
const built = new Map<string, { dir: ReturnType<typeof scratch>; loaded: LoadedTask }>();
function programsOf(id: string): { dir: ReturnType<typeof scratch>; loaded: LoadedTask } {
  const known = built.get(id);
  if (known) return known;
  const dir = scratch();
  const loaded = unwrap(loadTask(root, id));
  const judge = judgeCompileArgs({
    task: id,
    source: join(harness, 'judge.cpp'),
    output: 'judge',
    include: loaded.dir,
  });
  compile({ ...judge, args: ['-I', harness, ...judge.args] }, dir.path);
  writeFileSync(join(dir.path, 'shim.cpp'), shimSource(loaded.task, 'fp32'));
  compile(shimCompileArgs(), dir.path);
  copyFileSync(runnerProgram('host'), join(dir.path, 'runner'));
  built.set(id, { dir, loaded });
  return { dir, loaded };
}

async function verify(
  entry: Entry,
  problems: readonly Problem[],
  limits: Limits,
): Promise<Extract<SessionResult, { mode: 'verify' }>> {
  const { dir, loaded } = programsOf(entry.task);
  const name = entry.file.replace(/\W/g, '_');
  const symbol = entry.file.endsWith('origin.cpp')
    ? originName(loaded.task, 'fp32')
    : candidateName(loaded.task, 'fp32');
  const lib = buildArm(dir.path, name, readFileSync(join(candidates, entry.file), 'utf8'), symbol);
  const plan = {
    mode: 'verify' as const,
    ...programs,
    arm: { id: 'C' as const, lib, symbol },
    problems: [...problems],
    seeds: 2,
  };
  return (await session(plan, context(dir, { limits }))).result;
}

/** Sizes drawn small, and every special input of the task at the larger of them. */
function smallProblems(task: Task): Problem[] {
  const small = sanitizeProblems(task, 'fp32', 'f00d').filter((problem) => !problem.id.includes('+'));
  const largest = small.reduce((a, b) => (allocatedBytes(b) > allocatedBytes(a) ? b : a));
  return [
    ...small,
    ...task.verifyInputs.map((input) => resolveProblem(task, 'fp32', largest.dims, 'special', input.id)),
  ];
}

const limits: Limits = { wallMs: 60_000, memoryMiB: 4096, outputBytes: 1 << 20 };
const valid = entries.filter((entry) => entry.expect.includes('valid'));
const invalid = entries.filter((entry) => !entry.expect.includes('valid'));

describe('candidates on the host runner', () => {
  it.each(valid)(
    '$file passes, at small sizes, with every kind of input',
    async (entry) => {
      const { task } = programsOf(entry.task).loaded;
      const problems = smallProblems(task);
      expect(problems.length).toBeGreaterThan(task.verifyInputs.length);
      const result = await verify(entry, problems, limits);
      expect(result.incidents).toEqual([]);
      expect(new Set(result.checks.map((check) => check.problem))).toEqual(
        new Set(problems.map((problem) => problem.id)),
      );
      for (const check of result.checks)
        for (const output of check.outputs) {
          expect(output, check.problem).toMatchObject({ bad: 0, nonFinite: 0, poisonLeft: 0 });
          expect(output.rms ?? 0, check.problem).toBeLessThanOrEqual(1);
        }
    },
    180_000,
  );

  it.each(invalid)(
    '$file is seen',
    async (entry) => {
      const problems = smallProblems(programsOf(entry.task).loaded.task).slice(0, 4);
      const timeout = entry.expect.includes('timeout');
      const result = await verify(entry, problems, timeout ? { ...limits, wallMs: 4000 } : limits);
      const kinds = new Set(result.incidents.map((incident) => incident.kind as string));
      const wrong = result.checks.some((check) => check.outputs.some((output) => output.bad > 0));
      const signs: Record<string, boolean> = {
        'wrong-result': wrong,
        // A result kept from an earlier call is right for the first contents and wrong for the later ones.
        cheat:
          wrong ||
          ['input-changed', 'threads-left', 'late-activity', 'sampled-wrong', 'no-activity'].some((kind) =>
            kinds.has(kind),
          ),
        'memory-error': kinds.has('guard'),
        'runtime-error': kinds.has('crash') || kinds.has('protocol'),
        timeout: kinds.has('timeout'),
      };
      expect(
        entry.expect.some((outcome) => signs[outcome]),
        `${JSON.stringify(result.incidents)} wrong: ${wrong}`,
      ).toBe(true);
    },
    120_000,
  );
});
