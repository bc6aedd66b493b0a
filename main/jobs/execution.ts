import type { ChildHandle } from '../base/process.ts';
import { startTimeOf } from '../base/spawn.ts';
import {
  AppFailure,
  type BuildStep,
  type ExecuteOptions,
  type Job,
  type SessionStep,
  type Step,
  type StepResult,
  type ToolPaths,
} from '../contract/index.ts';
import type { BuildCache } from './build-cache.ts';
import { runBuild } from './build-step.ts';
import { needsOf, optionalBuilds } from './bundle-hash.ts';
import type { Containment } from './containment.ts';
import type { Gate } from './gate.ts';
import type { JobFolder } from './job-folder.ts';
import { archBuilds, archThatRuns, forArch, refusedCode, stillRefused } from './rebuild.ts';
import { type RunSession, runSessionStep, type SessionRun } from './session-step.ts';
import type { Slots, Turns } from './turns.ts';
import { sessionVerified } from './verified.ts';

export interface LocalSettings {
  /** true: refuse to build or run untrusted code where no sandbox works. Default false: it runs, and the result says "none". */
  readonly requireSandbox?: boolean;
  /** true: nothing of a job is trusted, not even its harness: all builds and session processes are contained (bundles from elsewhere). */
  readonly containAll?: boolean;
  /** Builds at once; default: the number of processors. */
  readonly parallelBuilds?: number;
  /** Verifications that share the GPU at once; default 4. */
  readonly parallelVerify?: number;
  /** Folder of the build cache; default cacheDir()/builds; null: no cache. */
  readonly buildCacheDir?: string | null;
  readonly buildCacheBytes?: number;
  /** Folder of the machine-wide GPU locks; default /tmp/cudamaster-locks. */
  readonly lockDir?: string;
  /** Drives sessions; default main/jobs/session. */
  readonly runSession?: RunSession;
  /** Largest kept output, bytes. */
  readonly keepBytes?: number;
}

/** What the jobs of one executor share. */
export interface Shared {
  readonly tools: ToolPaths;
  readonly settings: LocalSettings;
  readonly gate: Gate;
  readonly turns: Turns;
  readonly slots: { readonly shared: Slots; readonly alone: Slots };
  readonly building: Map<string, Promise<unknown>>;
  readonly cache: BuildCache | null;
  readonly containment: Containment;
  readonly folder: JobFolder;
  readonly runSession: RunSession;
}

/** One job being run. */
export class Execution {
  private readonly job: Job;
  private readonly options: ExecuteOptions;
  private readonly shared: Shared;
  private readonly results = new Map<string, Promise<StepResult>>();
  private readonly sessionFolders: string[] = [];
  /** The programs have been built anew for the GPU that runs them: once is enough to learn whether that helps. */
  private rebuilt = false;
  /** What builds are made for: the job, after such a rebuild with that GPU's architecture. */
  private buildJob: Job;
  /** Ends everything when one step unwinds (a bug, or cancelled): nothing may go on in a folder that is being removed. */
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;

  constructor(job: Job, options: ExecuteOptions, shared: Shared) {
    this.job = job;
    this.buildJob = job;
    this.options = options;
    this.shared = shared;
    this.signal = options.signal ? AbortSignal.any([options.signal, this.stop.signal]) : this.stop.signal;
  }

  /** Results in the order of the job's steps. Builds start as soon as their needs are met, sessions keep their order. */
  async steps(): Promise<StepResult[]> {
    let lastSession: Promise<unknown> = Promise.resolve();
    this.job.steps.forEach((step, index) => {
      const before = step.kind === 'session' ? lastSession : Promise.resolve();
      const mine = this.step(step, index, before);
      mine.catch(() => this.stop.abort());
      if (step.kind === 'session') lastSession = mine;
      this.results.set(step.id, mine);
    });
    const settled = await Promise.allSettled(this.results.values());
    const failed = settled.filter((s) => s.status === 'rejected');
    // The first real fault, not the cancellations that it caused.
    const fault = failed.find((f) => !isCancelled(f.reason)) ?? failed[0];
    if (this.options.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    if (fault) throw fault.reason;
    // Not the promises that were settled: a build that was made anew has another result by now.
    return Promise.all(this.results.values());
  }

  /** Kept text outputs: from the last session that left them, else from the builds. */
  async outputs(): Promise<Record<string, string>> {
    const out: Record<string, string> = {};
    const cap = this.settings().keepBytes ?? 4 * 1024 * 1024;
    for (const name of this.job.keep)
      for (const folder of [...this.sessionFolders.toReversed(), null]) {
        const text = await this.shared.folder.text(folder, name, cap);
        if (text === null) continue;
        out[name] = text;
        break;
      }
    return out;
  }

  private settings = (): LocalSettings => this.shared.settings;

  private async step(step: Step, index: number, before: Promise<unknown>): Promise<StepResult> {
    const why = await this.whyNot(step);
    await before;
    if (why !== null) return skipped(step, why);
    if (this.signal.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    const note = (text?: string): void =>
      this.options.onProgress?.({ step: step.id, index, count: this.job.steps.length, note: text });
    note();
    if (step.kind === 'build') return this.build(step, this.shared.cache);
    const fit = await this.withoutUnfitArms(step);
    const run = await this.session(fit, note);
    return refusedCode(run.result) && !this.rebuilt ? this.sessionAgain(fit, run.result, note) : run.result;
  }

  private started = (handle: ChildHandle): void => {
    const startTime = handle.pid === null ? null : startTimeOf(handle.pid);
    if (handle.pid !== null && startTime !== null) this.options.onProcess?.({ pid: handle.pid, startTime });
  };

  private build(step: BuildStep, cache: BuildCache | null): Promise<StepResult> {
    const { tools, folder, containment, gate, building } = this.shared;
    const containAll = this.settings().containAll ?? false;
    const { signal, started, buildJob: job } = this;
    return runBuild(step, { job, tools, folder, containment, cache, building, gate, containAll, signal, started });
  }

  private async session(step: SessionStep, note: (text?: string) => void): Promise<SessionRun> {
    const { tools, folder, containment, gate, turns, slots, runSession } = this.shared;
    const run = await runSessionStep(step, {
      tools,
      folder,
      containment,
      gate,
      turns,
      slots,
      runSession,
      rootSeed: this.options.rootSeed,
      position: this.options.position,
      lockDir: this.settings().lockDir,
      reportFile: this.options.reportFile,
      containAll: this.settings().containAll ?? false,
      signal: this.signal,
      started: this.started,
      note,
    });
    this.sessionFolders.push(run.scratch);
    return run;
  }

  /**
   * The session once more, its programs built for the GPU that refused them. When that is not possible or does not help, the fault of
   * the environment that it was, which says what was tried.
   */
  private async sessionAgain(step: SessionStep, refused: StepResult, note: (t?: string) => void): Promise<StepResult> {
    this.rebuilt = true;
    const arch = archThatRuns(refused, this.shared.tools);
    if (arch === null) return stillRefused(refused, 'Which architecture the GPU has is not known here.');
    note(`the GPU refused the code: building once more, for ${arch}`);
    const failed = await this.rebuild(step.id, arch);
    if (failed !== null)
      return stillRefused(
        refused,
        `Building once more, for ${arch}, failed too (${failed.id}): ${failed.reason?.message ?? firstLine(failed.stderr)}`,
      );
    const { result } = await this.session(step, note);
    return refusedCode(result) ? stillRefused(result, `It was built once more, for ${arch}.`) : result;
  }

  /** Builds for `arch` what was built before this session; null, or the build that failed. What only optional arms need may fail. */
  private async rebuild(session: string, arch: string): Promise<StepResult | null> {
    const { job, same } = forArch(this.job, arch, this.shared.tools);
    this.buildJob = job;
    // The same architecture again: then it may be the cached programs that are at fault.
    const cache = same ? null : this.shared.cache;
    const optional = new Set(optionalBuilds(this.job));
    const anew = archBuilds(this.job, session).map(async (step) => {
      const before = await this.results.get(step.id);
      return before?.status === 'ok' ? this.build(step, cache) : null;
    });
    const made = (await Promise.all(anew)).filter((result) => result !== null);
    const failed = made.find(({ id, status }) => status !== 'ok' && !optional.has(id));
    if (failed) return failed;
    for (const result of made) this.results.set(result.id, Promise.resolve(result));
    return null;
  }

  /** The step without the optional arms that could not be made or were not found right. */
  private async withoutUnfitArms(step: SessionStep): Promise<SessionStep> {
    const { plan, optionalArms = [] } = step;
    if (plan.mode !== 'time') return step;
    const unfit = new Set<string>();
    for (const { arm, ifVerified } of optionalArms) {
      const verify = this.job.steps.find((s) => s.id === ifVerified);
      const result = await this.results.get(ifVerified);
      if (verify?.kind !== 'session' || !sessionVerified(verify.plan, result?.session)) unfit.add(arm);
    }
    return unfit.size === 0
      ? step
      : { ...step, plan: { ...plan, arms: plan.arms.filter((arm) => !unfit.has(arm.id)) } };
  }

  /** Why a step is not run, or null. Waits for the steps it depends on. */
  private async whyNot(step: Step): Promise<string | null> {
    for (const id of needsOf(step, this.job)) {
      const result = await this.results.get(id);
      if (result && result.status !== 'ok') return `step ${id} ended with "${result.status}"`;
    }
    if (step.kind !== 'session') return null;
    if (step.ifVerified !== undefined) {
      const result = await this.results.get(step.ifVerified);
      const verify = this.job.steps.find((s) => s.id === step.ifVerified);
      if (verify?.kind !== 'session' || !sessionVerified(verify.plan, result?.session))
        return `session ${step.ifVerified} did not find the results right`;
    }
    if (step.ifNominated === undefined) return null;
    const before = await this.results.get(step.ifNominated);
    const nominated = before?.session?.mode === 'time' ? before.session.nominated : null;
    return nominated === true ? null : `session ${step.ifNominated} did not nominate the candidate`;
  }
}

const firstLine = (text: string): string => text.trim().split('\n')[0]?.slice(0, 300) ?? '';

const isCancelled = (fault: unknown): boolean => fault instanceof AppFailure && fault.error.code === 'cancelled';

const skipped = (step: Step, why: string): StepResult => ({
  id: step.id,
  status: 'skipped',
  reason: { code: 'skipped', message: `Not run: ${why}.` },
  exitCode: null,
  signal: null,
  wallMs: 0,
  cached: false,
  command: '',
  stdout: '',
  stderr: '',
});
