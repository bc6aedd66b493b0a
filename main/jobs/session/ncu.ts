import { mkdir } from 'node:fs/promises';
import type { ChildExit, ChildHandle } from '../../base/process.ts';
import { deriveSeed } from '../../base/random.ts';
import type { ProfilePlan, Replay } from '../../contract/index.ts';
import { CandidateFault, EnvironmentFault, type Reason } from './classify.ts';
import { classifyNcu, replayMemory, unknownNcuFault } from './classify-ncu.ts';
import { messagesOf, type RawTable, rawTable } from './ncu-table.ts';
import { type Runner, startRunner, startRunners, type Wrapping } from './runner.ts';
import type { Scope } from './scope.ts';
import { LOG_CAP, readCapped, runTool } from './tool.ts';
import { failOnCudaError } from './verify.ts';

/** Kernel replay runs a launch many times and saves its memory in between. */
const PROFILE_CALL_MS = 180_000;
/** ncu writes its report after the target ended. */
const REPORT_MS = 60_000;
/** Runs of the program that one application replay may take. Every section of ncu needs some fifty passes. */
const MAX_RUNS = 200;
/** Cap on an imported page, bytes. */
const PAGE_CAP = 64 * 1024 * 1024;

/** What one ncu process collects. */
export interface Collection {
  readonly metrics: readonly string[];
  readonly sections: readonly string[];
  readonly set?: string;
  /** Keep source text in the report and import the source page. */
  readonly source: boolean;
  /** One launch of the call: the nth of its kernel (`name` null: of all). */
  readonly launch: { readonly name: string | null; readonly skip: number } | null;
  readonly maxLaunches?: number;
  /** true: ncu prints the raw page itself, so that no second process imports a report. */
  readonly printed: boolean;
}

export interface Collected {
  /** Raw page as CSV in base units; `table` null: no launch in it. */
  readonly raw: string;
  readonly table: RawTable | null;
  readonly source: string;
  /** ncu's own messages. */
  readonly log: string;
  /** How the passes were made, and how many times the program ran for them. */
  readonly replay: Replay;
  readonly runs: number;
  readonly exitCode: number | null;
  /** The candidate failed under ncu. */
  readonly fault: CandidateFault | null;
  /** Why there is no launch, when it was not the candidate. */
  readonly reason: Reason | null;
  /** The report in the session's folder, there until ncu is closed; null: ncu printed the figures itself, or there is no launch. */
  readonly report: string | null;
  readonly collectMs: number;
  readonly importMs: number;
}

interface Target {
  readonly runs: number;
  readonly exit: ChildExit | null;
  readonly fault: CandidateFault | null;
  readonly environment: EnvironmentFault | null;
}

/** ncu over the runner: one home folder for all its processes of a session. */
export class Ncu {
  private readonly scope: Scope;
  private readonly plan: ProfilePlan;
  private readonly path: string;
  private readonly home: string;
  private readonly env: Readonly<Record<string, string>>;
  private readonly reports: string[] = [];

  constructor(scope: Scope, plan: ProfilePlan, path: string) {
    this.scope = scope;
    this.plan = plan;
    this.path = path;
    this.home = scope.newFile('ncu-tmp');
    const home = scope.path(this.home);
    this.env = {
      TMPDIR: home,
      HOME: home,
      LC_ALL: 'C',
      // Else every fresh HOME gets a copy of some hundred section files first.
      NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT: '1',
    };
  }

  async open(): Promise<void> {
    await mkdir(this.scope.path(this.home), { recursive: true });
  }

  async close(): Promise<void> {
    await Promise.all([this.home, ...this.reports].map((name) => this.scope.remove(name)));
  }

  /** One collection. Throws Stopped and faults of the environment that ncu's log does not explain. */
  async collect(what: Collection, replay: Replay): Promise<Collected> {
    const report = this.scope.newFile('ncu');
    if (!what.printed) this.reports.push(`${report}.ncu-rep`);
    const logFile = this.scope.newFile('ncu-log');
    try {
      const began = performance.now();
      const output = what.printed ? printArgs : ['--force-overwrite', '--export', report];
      const target = await this.target(
        [this.path, ...collectArgs(what, replay), ...output, '--log-file', logFile],
        replay,
      );
      const collected = performance.now();
      const printed = await readCapped(this.scope, logFile, what.printed ? PAGE_CAP : LOG_CAP);
      // The log file belongs to ncu; what it printed elsewhere (it could not open the file, or did not start) counts only without it.
      const said = printed !== '' ? printed : `${target.exit?.stdout ?? ''}\n${target.exit?.stderr ?? ''}`.trim();
      const [raw, source] = what.printed
        ? [printed, '']
        : await Promise.all([this.page(report, ['raw']), what.source ? this.sourcePage(report) : '']);
      const table = rawTable(raw);
      const found = {
        raw: table === null ? '' : raw,
        table,
        source: table === null ? '' : source,
        log: (what.printed && table !== null ? messagesOf(said) : said).slice(0, LOG_CAP),
        replay,
        runs: target.runs,
        exitCode: target.exit?.exitCode ?? null,
        // ncu and its target share one limit, and it is ncu that saves memory aside.
        fault: target.exit?.ended === 'memory' ? null : target.fault,
        collectMs: collected - began,
        importMs: performance.now() - collected,
      };
      const kept = what.printed || table === null ? null : this.scope.path(`${report}.ncu-rep`);
      return { ...found, reason: table === null ? whyNothing(found.log, target) : null, report: kept };
    } finally {
      await Promise.all([report, logFile].map((name) => this.scope.remove(name)));
    }
  }

  /** Runs the program under ncu. Failures come back: ncu's log may explain them better. */
  private async target(before: readonly string[], replay: Replay): Promise<Target> {
    let child: ChildHandle | null = null;
    const told = { runs: 0 };
    const wrapping: Wrapping = {
      before,
      options: { env: this.env, profiling: true },
      limits: { callMs: PROFILE_CALL_MS, setupMs: 120_000 },
      onStart: (started) => {
        child = started;
      },
    };
    const ending = async (): Promise<ChildExit | null> => (child ? (child as ChildHandle).exited : null);
    try {
      const exit = await (replay === 'application' ? this.everyRun(wrapping, told) : this.oneRun(wrapping, told));
      return { ...told, exit, fault: null, environment: null };
    } catch (cause) {
      if (cause instanceof CandidateFault) return { ...told, exit: await ending(), fault: cause, environment: null };
      if (cause instanceof EnvironmentFault) return { ...told, exit: await ending(), fault: null, environment: cause };
      throw cause;
    }
  }

  private async oneRun(wrapping: Wrapping, told: { runs: number }): Promise<ChildExit | null> {
    const runner = await startRunner(this.scope, this.plan, wrapping);
    told.runs++;
    await this.drive(runner);
    return runner.quit(REPORT_MS);
  }

  /**
   * ncu starts the program for every pass and matches the launches, so all runs must do the same: they get the same requests with the
   * same seeds, in a fresh process each.
   */
  private async everyRun(wrapping: Wrapping, told: { runs: number }): Promise<ChildExit | null> {
    const runners = await startRunners(this.scope, this.plan, wrapping);
    try {
      for (; told.runs < MAX_RUNS; told.runs++) {
        const runner = await runners.next();
        if (runner === null) return runners.exit();
        if (told.runs > 0) this.scope.ctx.progress(`profile: application replay, run ${told.runs + 1} of the program`);
        await this.drive(runner);
        await runner.leave();
      }
      throw new EnvironmentFault(
        'env.ncu-failed',
        `ncu ran the program ${MAX_RUNS} times by application replay and did not end.`,
        'Profile a smaller size, or ask for fewer metrics.',
      );
    } finally {
      await runners.end();
    }
  }

  /** A first call outside the range warms up, the second is bracketed by the profiler API. */
  private async drive(runner: Runner): Promise<void> {
    const { plan, scope } = this;
    const where = { arm: plan.arm.id, problem: plan.problem.id };
    try {
      await runner.load(plan.arm);
      await runner.problem(plan.problem);
      for (const [i, quantity] of (['plain', 'profile'] as const).entries()) {
        await runner.prepare(deriveSeed(scope.ctx.seed, 'profile', i), 'none');
        failOnCudaError(await runner.call(plan.arm.id, quantity), where);
      }
    } catch (cause) {
      throw await runner.faultOf(cause, where);
    }
  }

  /** The source page: source and machine code side by side, or whatever this release of ncu prints by default. */
  private async sourcePage(report: string): Promise<string> {
    const both = await this.page(report, ['source', '--print-source', 'cuda,sass']);
    return both !== '' ? both : this.page(report, ['source']);
  }

  /** One page of the report (its name and options) as CSV in base units. '' when ncu gives none (no report, option unknown). */
  private async page(report: string, page: readonly string[]): Promise<string> {
    const argv = [this.path, '--import', `${report}.ncu-rep`, '--csv', '--print-units', 'base', '--page', ...page];
    const options = { sandbox: true, gpu: false, profiling: false, env: this.env } as const;
    const exit = await runTool(this.scope, argv, options);
    if (exit.exitCode !== 0) return '';
    // Standard output is capped with its middle cut, which no table survives: a page near the cap goes through a file instead.
    if (Buffer.byteLength(exit.stdout) < this.scope.ctx.limits.outputBytes) return exit.stdout;
    const file = this.scope.newFile('ncu-page');
    await runTool(this.scope, [...argv, '--log-file', file], options);
    const text = await readCapped(this.scope, file, PAGE_CAP);
    await this.scope.remove(file);
    return text;
  }
}

const printArgs = ['--csv', '--print-units', 'base', '--page', 'raw'];

/**
 * Application replay takes all of these options (NVIDIA documents no exception, and its table of compatibility lists every kind of metric for
 * it); caches are emptied before every launch as for kernel replay, so that figures of different passes belong together.
 */
function collectArgs(what: Collection, replay: Replay): string[] {
  const { launch, metrics, maxLaunches } = what;
  const sections = what.source && what.set === undefined ? [...what.sections, 'SourceCounters'] : what.sections;
  return [
    '--profile-from-start',
    'off',
    '--clock-control',
    'none',
    '--target-processes',
    'all',
    ...(replay === 'application' ? ['--replay-mode', 'application'] : []),
    ...(what.set === undefined ? [] : ['--set', what.set]),
    ...(metrics.length > 0 ? ['--metrics', metrics.join(',')] : []),
    ...[...new Set(sections)].flatMap((s) => ['--section', s]),
    ...(what.source ? ['--import-source', 'yes'] : []),
    ...(launch === null || launch.name === null ? [] : ['--kernel-name', launch.name]),
    ...(launch === null ? [] : ['--launch-skip', String(launch.skip), '--launch-count', '1']),
    ...(launch === null && maxLaunches !== undefined ? ['--launch-count', String(maxLaunches)] : []),
  ];
}

function whyNothing(log: string, target: Target): Reason | null {
  const { fault, environment, exit } = target;
  const failed = fault !== null || environment !== null;
  const reason = classifyNcu(log) ?? (failed ? replayMemory(log, exit?.ended === 'memory') : null);
  if (reason && !(reason.code === 'env.ncu-empty' && fault)) return reason;
  if (fault) return null;
  if (environment) throw environment;
  return unknownNcuFault(log, exit?.exitCode ?? null);
}
