import { mkdir } from 'node:fs/promises';
import type { ChildExit, ChildHandle } from '../../base/process.ts';
import { deriveSeed } from '../../base/random.ts';
import type { ProfilePlan, ProfileResult } from '../../contract/index.ts';
import { CandidateFault, EnvironmentFault, type Reason } from './classify.ts';
import { classifyNcu, hasLaunches, unknownNcuFault } from './classify-ncu.ts';
import { startRunner } from './runner.ts';
import { type Scope, Stopped } from './scope.ts';
import { LOG_CAP, pause, readCapped, runTool } from './tool.ts';
import { failOnCudaError } from './verify.ts';

/** Kernel replay runs a launch many times and saves its memory in between. */
const PROFILE_CALL_MS = 180_000;
/** ncu writes its report after the target ended. */
const REPORT_MS = 60_000;
/** Waits before another try when something else holds the counters, ms. */
const BUSY_WAITS = [2_000, 6_000];
/** Cap on an imported page, bytes. */
const PAGE_CAP = 64 * 1024 * 1024;

export const emptyProfile = (): ProfileResult => ({
  mode: 'profile',
  ncuVersion: null,
  rawCsv: '',
  sourceCsv: '',
  log: '',
  exitCode: null,
  incidents: [],
});

/**
 * Profiles one call with Nsight Compute: a first call outside the range warms up, the second is bracketed by the profiler API. ncu writes a
 * report that is then imported, so that nothing the target prints can mix with the figures; its messages go to a file of their own.
 * Throws EnvironmentFault (env.ncu-*) when ncu cannot; the log stays in the result.
 */
export async function profile(plan: ProfilePlan, scope: Scope, out: ProfileResult): Promise<void> {
  const { ncu, machine } = scope.ctx.tools;
  if (!ncu)
    throw new EnvironmentFault(
      'env.ncu-missing',
      'Nsight Compute (ncu) was not found.',
      'Install it (package cuda-nsight-compute or the stand-alone installer). Timing works without.',
    );
  out.ncuVersion = machine.ncu;
  for (let attempt = 0; ; attempt++) {
    const reason = await profileOnce(plan, scope, ncu, out);
    if (!reason) return;
    const wait = BUSY_WAITS[attempt];
    if (reason.code !== 'env.ncu-busy' || wait === undefined)
      throw new EnvironmentFault(reason.code, reason.message, reason.remedy);
    scope.ctx.progress('profile: the counters are in use, trying again');
    await pause(scope, wait);
  }
}

/** One try. Returns why there is no profile; null when there is one, or when the candidate itself failed (then an incident says so). */
async function profileOnce(plan: ProfilePlan, scope: Scope, ncu: string, out: ProfileResult): Promise<Reason | null> {
  const report = scope.newFile('ncu');
  const logFile = scope.newFile('ncu-log');
  const home = scope.newFile('ncu-tmp');
  await mkdir(scope.path(home), { recursive: true });
  const env = { TMPDIR: scope.path(home), HOME: scope.path(home), LC_ALL: 'C' };
  let exit: ChildExit | null = null;
  try {
    scope.ctx.progress(`profile ${plan.problem.id}`);
    const target = await profileTarget(plan, scope, [...ncuArgs(plan, ncu, report), '--log-file', logFile], env);
    exit = target.exit;
    out.exitCode = exit?.exitCode ?? null;
    out.log = await readCapped(scope, logFile, LOG_CAP);
    // The log file belongs to ncu; what it printed elsewhere (it could not open the file, or did not start) counts only without it.
    const said = out.log !== '' ? out.log : `${exit?.stdout ?? ''}\n${exit?.stderr ?? ''}`;
    if (out.log === '') out.log = said.trim().slice(0, LOG_CAP);
    out.rawCsv = await importPage(scope, ncu, report, ['raw'], env);
    if (hasLaunches(out.rawCsv)) {
      if (plan.source) out.sourceCsv = await importSource(scope, ncu, report, env);
      if (target.fault) out.incidents.push(target.fault.incident);
      return null;
    }
    const reason = classifyNcu(said);
    if (reason && !(reason.code === 'env.ncu-empty' && target.fault)) return reason;
    if (target.fault) {
      out.incidents.push(target.fault.incident);
      return null;
    }
    if (target.environment) throw target.environment;
    return unknownNcuFault(said, out.exitCode);
  } finally {
    await Promise.all([report, `${report}.ncu-rep`, logFile, home].map((name) => scope.remove(name)));
  }
}

function ncuArgs(plan: ProfilePlan, ncu: string, report: string): string[] {
  const sections = plan.source ? [...new Set([...plan.sections, 'SourceCounters'])] : plan.sections;
  return [
    ncu,
    '--profile-from-start',
    'off',
    '--clock-control',
    'none',
    '--target-processes',
    'all',
    ...(plan.metrics.length > 0 ? ['--metrics', plan.metrics.join(',')] : []),
    ...sections.flatMap((s) => ['--section', s]),
    ...(plan.source ? ['--import-source', 'yes'] : []),
    '--force-overwrite',
    '--export',
    report,
  ];
}

interface Target {
  readonly exit: ChildExit | null;
  readonly fault: CandidateFault | null;
  readonly environment: EnvironmentFault | null;
}

/** Drives the runner under ncu. Failures come back: ncu's log may explain them better. */
async function profileTarget(
  plan: ProfilePlan,
  scope: Scope,
  before: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Target> {
  let child: ChildHandle | null = null;
  const ending = async (): Promise<ChildExit | null> => (child ? child.exited : null);
  try {
    const runner = await startRunner(scope, plan, {
      before,
      options: { env, profiling: true },
      limits: { callMs: PROFILE_CALL_MS, setupMs: 120_000 },
      onStart: (started) => {
        child = started;
      },
    });
    const where = { arm: plan.arm.id, problem: plan.problem.id };
    try {
      await runner.load(plan.arm);
      await runner.problem(plan.problem);
      for (const [i, quantity] of (['plain', 'profile'] as const).entries()) {
        await runner.prepare(deriveSeed(scope.ctx.seed, 'profile', i), 'none');
        failOnCudaError(await runner.call(plan.arm.id, quantity), where);
      }
      return { exit: await runner.quit(REPORT_MS), fault: null, environment: null };
    } catch (cause) {
      throw await runner.faultOf(cause, where);
    }
  } catch (cause) {
    if (cause instanceof Stopped) throw cause;
    if (cause instanceof CandidateFault) return { exit: await ending(), fault: cause, environment: null };
    if (cause instanceof EnvironmentFault) return { exit: await ending(), fault: null, environment: cause };
    throw cause;
  }
}

type Env = Readonly<Record<string, string>>;

/** The source page: source and machine code side by side, or whatever this release of ncu prints by default. */
async function importSource(scope: Scope, ncu: string, report: string, env: Env): Promise<string> {
  const both = await importPage(scope, ncu, report, ['source', '--print-source', 'cuda,sass'], env);
  return both !== '' ? both : importPage(scope, ncu, report, ['source'], env);
}

/** One page of the report (its name and options) as CSV in base units. '' when ncu gives none (no report, option unknown). */
async function importPage(
  scope: Scope,
  ncu: string,
  report: string,
  page: readonly string[],
  env: Env,
): Promise<string> {
  const argv = [ncu, '--import', `${report}.ncu-rep`, '--csv', '--print-units', 'base', '--page', ...page];
  const options = { sandbox: true, gpu: false, profiling: false, env } as const;
  const exit = await runTool(scope, argv, options);
  if (exit.exitCode !== 0) return '';
  // Standard output is capped with its middle cut, which no table survives: a page near the cap goes through a file instead.
  if (Buffer.byteLength(exit.stdout) < scope.ctx.limits.outputBytes) return exit.stdout;
  const file = scope.newFile('ncu-page');
  await runTool(scope, [...argv, '--log-file', file], options);
  const text = await readCapped(scope, file, PAGE_CAP);
  await scope.remove(file);
  return text;
}
