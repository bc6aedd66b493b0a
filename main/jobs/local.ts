import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { cacheDir, sweepScratch } from '../base/paths.ts';
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
  type ToolPaths,
  unwrap,
} from '../contract/index.ts';
import { BuildCache } from './build-cache.ts';
import { checkBundle, jobHash } from './bundle-hash.ts';
import { Containment } from './containment.ts';
import { Execution, type LocalSettings } from './execution.ts';
import { Gate } from './gate.ts';
import { JobFolder } from './job-folder.ts';
import type { RunSession } from './session-step.ts';
import { Slots, Turns } from './turns.ts';

export type { LocalSettings } from './execution.ts';

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

/** Loaded when the first session runs: jobs that only build do not need it. */
const driveSession: RunSession = async (plan, context) =>
  (await import('./session/index.ts')).runSession(plan, context);
