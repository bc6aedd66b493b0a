import type { BuildStep, ErrorCode, Job, StepResult, ToolPaths } from '../contract/index.ts';
import { archOf } from './substitute.ts';

/** The GPU refused code that was built for another one: the machine's matter, and mostly cured by building for the GPU that runs it. */
export const refusedCode = ({ status, reason }: StepResult): boolean =>
  status === 'environment' && reason?.code === ('env.arch-unsupported' satisfies ErrorCode);

/** The GPU that a session met, by its own words; else the one that the toolchain found. "sm_89"; null: neither is known. */
export function archThatRuns({ session }: StepResult, tools: ToolPaths): string | null {
  const met = session !== undefined && 'gpu' in session ? session.gpu?.cc : undefined;
  const found = /^(\d+)\.(\d+)$/.exec(met ?? tools.machine.gpu?.cc ?? '');
  return found ? `sm_${found[1]}${found[2]}` : tools.arch;
}

/** Builds before a step whose result depends on the architecture. Later ones may wait for that step. */
export const archBuilds = (job: Job, before: string): BuildStep[] =>
  job.steps
    .slice(
      0,
      job.steps.findIndex(({ id }) => id === before),
    )
    .filter((step) => step.kind === 'build')
    .filter((step) => step.args.some((arg) => arg.includes('{arch}')));

/** The job for another architecture. One that the job names more exactly (sm_90a) stays. */
export function forArch(job: Job, arch: string, tools: ToolPaths): { readonly job: Job; readonly same: boolean } {
  const built = archOf(job, tools);
  const same = built === arch || built === `${arch}a`;
  return { job: same ? job : { ...job, arch: arch as Job['arch'] }, same };
}

/** What a session says that was refused although, or because, its programs were built anew. */
export function stillRefused(result: StepResult, what: string): StepResult {
  const { reason } = result;
  return reason === undefined ? result : { ...result, reason: { ...reason, message: `${reason.message} ${what}` } };
}
