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
import type { SessionOutcome } from './session/index.ts';

export type RunSession = (plan: SessionPlan, context: SessionContext) => Promise<SessionOutcome>;

export interface SessionStepContext {
  readonly tools: ToolPaths;
  readonly folder: JobFolder;
  readonly containment: Containment;
  readonly gate: Gate;
  readonly runSession: RunSession;
  readonly rootSeed: string;
  readonly position: string;
  readonly lockDir?: string;
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
 * drawn here, from the run's root, the job's position and the step: it is in no plan and no cache key.
 */
export async function runSessionStep(step: SessionStep, context: SessionStepContext): Promise<SessionRun> {
  const scratch = await context.folder.stepFolder('s', filesFor(step, context.folder));
  const session = makeContext(step, scratch, context);
  let waited = 0;
  let wallMs = 0;
  const inner = async (): Promise<SessionOutcome> => {
    if (context.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    const began = performance.now();
    try {
      return await context.runSession(step.plan, session.context);
    } finally {
      wallMs = performance.now() - began;
      // Whatever the session left running would disturb the next one, which may already hold the lock.
      await session.killAll();
    }
  };
  const uuid = context.tools.machine.gpu?.uuid ?? null;
  const locked = (): Promise<SessionOutcome> =>
    uuid === null
      ? inner()
      : withGpuLock(uuid, inner, {
          signal: context.signal,
          dir: context.lockDir,
          onWait: (holder) => {
            waited++;
            context.note(`waiting for the GPU${holder === null ? '' : ` (process ${holder} uses it)`}`);
          },
        });
  const outcome = await (isTimed(step.plan) ? context.gate.measure(locked) : locked());
  if (context.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
  if (waited > 0) context.note('has the GPU');
  const result: StepResult = {
    id: step.id,
    status: outcome.status,
    reason: reasonOf(outcome, context.tools),
    exitCode: null,
    signal: null,
    wallMs,
    cached: false,
    command: `session ${step.plan.mode}`,
    stdout: '',
    stderr: '',
    session: outcome.result,
  };
  return { result, scratch };
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

/** Sessions whose figures a compiler beside them would spoil. */
const isTimed = (plan: SessionPlan): boolean => plan.mode !== 'verify' && plan.mode !== 'sanitize';

interface Session {
  readonly context: SessionContext;
  killAll(): Promise<void>;
}

function makeContext(step: SessionStep, scratch: string, context: SessionStepContext): Session {
  // What builds made is trusted by later processes of the session (judge, origin): no candidate may touch it.
  const protect = readdirSync(scratch).filter((name) => name !== tmpName);
  const handles = new Set<ChildHandle>();
  const { tools } = context;
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
      start,
    },
    killAll: async () => {
      for (const handle of handles) handle.kill();
      await Promise.all([...handles].map((handle) => handle.exited));
    },
  };
}
