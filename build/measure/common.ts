/** What the measuring programs share: the root of the repository, tools, an executor. */
import { resolve } from 'node:path';
import { setResourceRoot } from '../../main/base/paths.ts';
import { newRootSeed } from '../../main/base/random.ts';
import { type Dtype, type ExecuteOutcome, type JobBundle, type JobResult, unwrap } from '../../main/contract/index.ts';
import type { EvaluationInput } from '../../main/evaluate/plan.ts';
import { candidateName, type LoadedTask, loadTask, originName } from '../../main/evaluate/task/index.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { resolveTools } from '../../main/toolchain/index.ts';

/** argv: ROOT then options `--name value`. */
export function options(): { root: string; option(name: string, otherwise: string): string } {
  const [root, ...rest] = process.argv.slice(2);
  if (!root) throw new Error('first argument: the root of the repository (kernels/ lies there)');
  setResourceRoot(resolve(root));
  const option = (name: string, otherwise: string): string => {
    const at = rest.indexOf(`--${name}`);
    return at < 0 ? otherwise : (rest[at + 1] ?? otherwise);
  };
  return { root: resolve(root), option };
}

export const task = (root: string, id: string): LoadedTask => unwrap(loadTask(root, id));

/** An evaluation against origin at the published sizes, without a profile. null: origin alone. */
export const evaluationInput = (
  loaded: LoadedTask,
  dtype: Dtype,
  source: string | null,
  label: string,
): EvaluationInput => ({
  task: loaded,
  dtype,
  candidate: source === null ? null : { source, compileArgs: [] },
  best: null,
  sizeSet: 'published',
  profile: 'none',
  arch: 'native',
  tries: 1,
  planSeed: newRootSeed(),
  label,
});

export async function localExecutor(): Promise<LocalExecutor> {
  return new LocalExecutor(unwrap(await resolveTools({ require: 'gpu' })));
}

/** Runs a job here; a step that failed for reasons of the environment ends the program. */
export async function execute(
  executor: LocalExecutor,
  bundle: JobBundle,
  rootSeed: string,
  position: string,
): Promise<JobResult> {
  const outcome: ExecuteOutcome = await executor.execute(bundle, { rootSeed, position });
  if (outcome.kind !== 'done') throw new Error('the local executor parked');
  const bad = outcome.result.steps.find((s) => s.status === 'environment');
  if (bad) throw new Error(`${position} ${bad.id}: ${bad.reason?.code} ${bad.reason?.message}\n${bad.stderr}`);
  return outcome.result;
}

/** Origin's source under a candidate's names. */
export function asCandidate(loaded: LoadedTask, dtype: Dtype): string {
  return loaded.origin[dtype]
    .replace(/\b\w+_kernel\w*\b/g, (name) => `${name}_kernel_optimized`)
    .replace(new RegExp(`\\b${originName(loaded.task, dtype)}\\b(?=\\s*\\()`, 'g'), candidateName(loaded.task, dtype));
}
