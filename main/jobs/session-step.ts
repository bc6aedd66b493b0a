import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildHandle } from '../base/process.ts';
import { deriveRoot } from '../base/random.ts';
import { AppFailure, type SessionPlan, type SessionStep, type StepResult, type ToolPaths } from '../contract/index.ts';
import { namesOf } from './bundle-hash.ts';
import { type Containment, gpuEnv, tmpName } from './containment.ts';
import type { SessionContext, StartOptions } from './context.ts';
import type { Gate } from './gate.ts';
import { withGpuLock } from './gpu-lock.ts';
import type { JobFolder } from './job-folder.ts';
import { keepReport } from './report.ts';
import type { SessionOutcome } from './session/index.ts';
import { borrow, type Slots, type Turns, type Use } from './turns.ts';

export type RunSession = (plan: SessionPlan, context: SessionContext) => Promise<SessionOutcome>;

export interface SessionStepContext {
  readonly tools: ToolPaths;
  readonly folder: JobFolder;
  readonly containment: Containment;
  readonly gate: Gate;
  /** Turns on the GPU among this executor's sessions, and places for sessions of each kind, judges still at work counted. */
  readonly turns: Turns;
  readonly slots: Readonly<Record<Use, Slots>>;
  readonly runSession: RunSession;
  readonly rootSeed: string;
  readonly position: string;
  readonly lockDir?: string;
  /** Where the report of a profile is kept; absent: nowhere. */
  readonly reportFile?: string;
  /** true: every process of the session is contained, the judge too (the job itself came from elsewhere). */
  readonly containAll: boolean;
  readonly signal?: AbortSignal;
  readonly started: (handle: ChildHandle) => void;
  readonly note: (note: string) => void;
}

/** Files in the session's folder after it ended, for the job's `keep`. */
export interface SessionRun {
  readonly result: StepResult;
  readonly scratch: string;
}

/**
 * Runs one session under the machine-wide lock of its GPU, in a fresh folder with the files that its plan names. Its root seed is
 * drawn here, from the run's root, the job's position and the step: it is in no plan and no cache key. The session gives the GPU back
 * as soon as its runners are gone; its judge may go on beside the next session.
 */
export async function runSessionStep(step: SessionStep, context: SessionStepContext): Promise<SessionRun> {
  const use = gpuUse(step.plan);
  return context.slots[use].run(async () => {
    const scratch = await context.folder.stepFolder('s', filesFor(step, context.folder));
    const gpu = await takeGpu(use, context);
    const session = makeContext(step, scratch, context, gpu.release);
    const beganAt = Date.now();
    const began = performance.now();
    let outcome: SessionOutcome;
    try {
      if (context.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
      outcome = await context.runSession(step.plan, session.context);
    } finally {
      // Whatever the session left running would disturb the next one, which may already hold the lock.
      await session.killAll();
      await gpu.release();
    }
    if (context.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    const result: StepResult = {
      id: step.id,
      status: outcome.status,
      reason: reasonOf(outcome, context.tools),
      exitCode: null,
      signal: null,
      wallMs: performance.now() - began,
      beganAt,
      gpuMs: gpu.heldMs(),
      cached: false,
      command: `session ${step.plan.mode}`,
      stdout: '',
      stderr: '',
      session: outcome.result,
    };
    return { result, scratch };
  });
}

interface Held {
  /** Gives the GPU back; again: nothing. */
  release(): Promise<void>;
  /** How long it was held so far, ms. */
  heldMs(): number;
}

/** Waits for this session's turn: no build beside it if it measures, its turn among our sessions, the machine-wide lock. */
async function takeGpu(use: Use, context: SessionStepContext): Promise<Held> {
  const { tools, turns, gate, signal, lockDir } = context;
  const uuid = tools.machine.gpu?.uuid ?? null;
  let waited = 0;
  const locked = (held: () => Promise<void>): Promise<void> =>
    uuid === null
      ? held()
      : withGpuLock(uuid, held, {
          signal,
          dir: lockDir,
          shared: use === 'shared',
          onWait: (holder) => {
            waited++;
            context.note(`waiting for the GPU${holder === null ? '' : ` (process ${holder} uses it)`}`);
          },
        });
  const inTurn = (held: () => Promise<void>): Promise<void> => turns.run(use, () => locked(held));
  const giveBack = await borrow((held) => (use === 'alone' ? gate.measure(() => inTurn(held)) : inTurn(held)));
  const began = performance.now();
  let ended: number | null = null;
  if (waited > 0) context.note('has the GPU');
  return {
    release: async () => {
      if (ended !== null) return;
      ended = performance.now();
      await giveBack();
    },
    heldMs: () => (ended ?? performance.now()) - began,
  };
}

/** Programs and libraries of the plan; for a profile the kernels' sources too, since ncu shows their lines. Nothing of the harness's own. */
function filesFor(step: SessionStep, folder: JobFolder): string[] {
  const named = new Set(namesOf(step));
  const sources = step.plan.mode === 'profile' ? folder.names().filter((name) => /\.cuh?$/.test(name)) : [];
  const kernels = sources.filter((name) => name !== 'runner.cu');
  return folder.names().filter((name) => named.has(name) || kernels.includes(name));
}

/** CUDA's runtime calls a machine without any driver one whose driver is too old. */
function reasonOf({ reason }: SessionOutcome, tools: ToolPaths): SessionOutcome['reason'] {
  if (reason?.code !== 'env.driver-too-old' || tools.machine.gpu !== null || tools.machine.driver !== null)
    return reason;
  return {
    code: 'env.gpu-missing',
    message: 'This machine has no NVIDIA GPU that can be used (no driver was found).',
    remedy: 'Run the job on a machine with a GPU: the bundle executor and `cudamaster worker` do that.',
  };
}

/** Sessions whose figures a compiler or another session beside them would spoil have the GPU alone. */
const gpuUse = (plan: SessionPlan): Use => (plan.mode === 'verify' || plan.mode === 'sanitize' ? 'shared' : 'alone');

interface Session {
  readonly context: SessionContext;
  killAll(): Promise<void>;
}

function makeContext(
  step: SessionStep,
  scratch: string,
  context: SessionStepContext,
  gpuDone: () => Promise<void>,
): Session {
  // What builds made is trusted by later processes of the session (judge, origin): no candidate may touch it.
  const protect = readdirSync(scratch).filter((name) => name !== tmpName);
  const handles = new Set<ChildHandle>();
  const { tools, reportFile } = context;
  const env = gpuEnv(tools, join(scratch, tmpName));
  const start = (argv: readonly string[], options: StartOptions): ChildHandle => {
    const handle = context.containment.start(argv, {
      scratch,
      sandbox: options.sandbox || context.containAll,
      gpu: options.gpu,
      profiling: options.profiling ?? (tools.ncu !== null && argv[0] === tools.ncu),
      protect,
      build: false,
      // A candidate that could read or run the judge would have the answers.
      hide: argv[0] === `./${step.plan.judge}` ? [] : [step.plan.judge].filter((name) => protect.includes(name)),
      env: { ...env, ...options.env },
      wallMs: options.wallMs,
      memoryMiB: step.limits.memoryMiB,
      outputBytes: step.limits.outputBytes,
      niceness: options.niceness,
      signal: context.signal,
    });
    handles.add(handle);
    void handle.exited.then(() => handles.delete(handle));
    context.started(handle);
    return handle;
  };
  return {
    context: {
      scratch,
      tools,
      seed: deriveRoot(context.rootSeed, context.position, step.id),
      limits: step.limits,
      signal: context.signal,
      progress: context.note,
      gpuDone,
      ...(reportFile === undefined ? {} : { keepReport: (path: string) => keepReport(path, reportFile) }),
      start,
    },
    killAll: async () => {
      for (const handle of handles) handle.kill();
      await Promise.all([...handles].map((handle) => handle.exited));
    },
  };
}
