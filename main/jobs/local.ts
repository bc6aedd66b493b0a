import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cacheDir, sweepScratch } from '../base/paths.ts';
import type { ChildHandle } from '../base/process.ts';
import { startTimeOf } from '../base/spawn.ts';
import {
  AppFailure,
  type ExecuteOptions,
  type ExecuteOutcome,
  type Executor,
  FORMAT,
  type Job,
  type JobBundle,
  type JobResult,
  type Machine,
  type SessionStep,
  type Step,
  type StepResult,
  type ToolPaths,
  unwrap,
} from '../contract/index.ts';
import { BuildCache } from './build-cache.ts';
import { runBuild } from './build-step.ts';
import { checkBundle, jobHash, needsOf } from './bundle-hash.ts';
import { Containment } from './containment.ts';
import { Gate } from './gate.ts';
import { JobFolder } from './job-folder.ts';
import { type RunSession, runSessionStep } from './session-step.ts';
import { Slots, Turns } from './turns.ts';
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

/**
 * Runs jobs on this machine. Independent builds run in parallel, sessions under the GPU's lock: those that measure alone, those that
 * verify beside each other. One executor may run several jobs at once (their builds overlap, their sessions take turns; a judge may
 * still be at work on one session while the next has the GPU). Throws AppFailure: `cancelled` on abort, `input.bundle` for a
 * bundle that does not hold what it says, `env.*` where nothing could be run at all.
 */
export class LocalExecutor implements Executor {
  readonly name = 'local' as const;
  private readonly tools: ToolPaths;
  private readonly settings: LocalSettings;
  private readonly gate: Gate;
  private readonly turns: Turns;
  private readonly slots: { readonly shared: Slots; readonly alone: Slots };
  /** Builds under way, by their key in the cache: several jobs share the judge of a task and the runner. */
  private readonly building = new Map<string, Promise<unknown>>();
  private readonly cache: BuildCache | null;
  private containment: Promise<Containment> | null = null;

  constructor(tools: ToolPaths, settings: LocalSettings = {}) {
    this.tools = tools;
    this.settings = settings;
    this.gate = new Gate(settings.parallelBuilds ?? availableParallelism());
    const verifies = settings.parallelVerify ?? 4;
    this.turns = new Turns(verifies);
    // A judge that is slower than the GPU must not pile up sessions whose dumped outputs fill the disk.
    this.slots = { shared: new Slots(verifies + 2), alone: new Slots(3) };
    const dir = settings.buildCacheDir === undefined ? join(cacheDir(), 'builds') : settings.buildCacheDir;
    this.cache = dir === null ? null : new BuildCache(dir, settings.buildCacheBytes);
  }

  /** How candidates are contained here, and why not better. */
  contain(): Promise<Containment> {
    if (!this.containment) {
      sweepScratch();
      this.containment = Containment.create(this.tools);
    }
    return this.containment;
  }

  async machine(): Promise<Machine> {
    return { ...this.tools.machine, containment: (await this.contain()).level };
  }

  async execute(bundle: JobBundle, options: ExecuteOptions): Promise<ExecuteOutcome> {
    if (options.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    unwrap(checkBundle(bundle));
    const containment = await this.contain();
    this.refuseUncontained(bundle.job, containment);
    const startedAt = new Date().toISOString();
    const began = performance.now();
    const folder = await JobFolder.create(bundle);
    try {
      const runSession = this.settings.runSession ?? driveSession;
      const running = new Execution(bundle.job, options, {
        tools: this.tools,
        settings: this.settings,
        gate: this.gate,
        turns: this.turns,
        slots: this.slots,
        building: this.building,
        cache: this.cache,
        containment,
        folder,
        runSession,
      });
      const steps = await running.steps();
      const result: JobResult = {
        version: FORMAT.jobResult,
        jobHash: jobHash(bundle.job),
        machine: await this.machine(),
        startedAt,
        wallMs: performance.now() - began,
        steps,
        outputs: await running.outputs(),
      };
      return { kind: 'done', result };
    } finally {
      await folder.remove();
    }
  }

  private refuseUncontained(job: Job, containment: Containment): void {
    if (!this.settings.requireSandbox || containment.level !== 'none') return;
    if (!job.steps.some((step) => step.kind === 'session' || step.untrusted)) return;
    throw new AppFailure({
      code: 'env.sandbox-missing',
      message: `Candidates may only run in a sandbox, and there is none here: ${containment.why}.`,
      remedy: containment.remedy ?? 'Install bubblewrap, or allow running without a sandbox in the settings.',
    });
  }
}

interface Shared {
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

/** Loaded when the first session runs: jobs that only build do not need it. */
const driveSession: RunSession = async (plan, context) =>
  (await import('./session/index.ts')).runSession(plan, context);

/** One job being run. */
class Execution {
  private readonly job: Job;
  private readonly options: ExecuteOptions;
  private readonly shared: Shared;
  private readonly results = new Map<string, Promise<StepResult>>();
  private readonly sessionFolders: string[] = [];
  /** Ends everything when one step unwinds (a bug, or cancelled): nothing may go on in a folder that is being removed. */
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;

  constructor(job: Job, options: ExecuteOptions, shared: Shared) {
    this.job = job;
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
    return settled.map((s) => (s as PromiseFulfilledResult<StepResult>).value);
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
    const started = (handle: ChildHandle): void => {
      const startTime = handle.pid === null ? null : startTimeOf(handle.pid);
      if (handle.pid !== null && startTime !== null) this.options.onProcess?.({ pid: handle.pid, startTime });
    };
    if (step.kind === 'build') {
      const { tools, folder, containment, cache, gate, building } = this.shared;
      const containAll = this.settings().containAll ?? false;
      const { signal, job } = this;
      return runBuild(step, { job, tools, folder, containment, cache, building, gate, containAll, signal, started });
    }
    const { tools, folder, containment, gate, turns, slots, runSession } = this.shared;
    const run = await runSessionStep(await this.withoutUnfitArms(step), {
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
      started,
      note,
    });
    this.sessionFolders.push(run.scratch);
    return run.result;
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
