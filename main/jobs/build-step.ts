import { realpathSync } from 'node:fs';
import { lstat, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { deferred } from '../base/deferred.ts';
import type { ChildExit, ChildHandle } from '../base/process.ts';
import { AppFailure, type BuildStep, type Job, type StepResult, type ToolPaths } from '../contract/index.ts';
import type { BuildCache } from './build-cache.ts';
import { buildKey } from './build-cache.ts';
import { classifyBuild, type Verdict } from './classify.ts';
import { type Containment, candidateEnv, tmpName } from './containment.ts';
import { filterDiagnostics } from './diagnostics.ts';
import type { Gate } from './gate.ts';
import type { JobFolder } from './job-folder.ts';
import { aliasPath } from './sandbox.ts';
import { archOf, buildArgv } from './substitute.ts';

export interface BuildContext {
  readonly job: Job;
  readonly tools: ToolPaths;
  readonly folder: JobFolder;
  readonly containment: Containment;
  /** null: never cached. */
  readonly cache: BuildCache | null;
  /** Builds under way by key, so that several jobs which need the same program wait for one compiler. */
  readonly building: Map<string, Promise<unknown>>;
  readonly gate: Gate;
  /** true: builds said to be trusted are contained too (the job itself came from elsewhere). */
  readonly containAll: boolean;
  readonly signal?: AbortSignal;
  /** Told of each process, before it can have ended. */
  readonly started: (handle: ChildHandle) => void;
}

const empty = { exitCode: null, signal: null, cached: false, command: '', stdout: '', stderr: '' };

/**
 * Runs one build: from the cache if its tools, arguments and inputs are the same, else in a folder that holds its declared inputs
 * and nothing more (an input not declared is not there, so the cache key is complete). A compiler that the system killed is tried
 * once more with nothing beside it.
 */
export async function runBuild(step: BuildStep, context: BuildContext): Promise<StepResult> {
  const refused = (why: Built): StepResult => ({ ...stopwatch()(), ...why, id: step.id });
  const { job, tools, folder } = context;
  const absent = step.inputs.filter((name) => folder.hash(name) === null);
  if (absent.length > 0)
    return refused({
      ...empty,
      status: 'failed',
      reason: { code: 'input.bundle', message: `No such input: ${absent.join(', ')}` },
    });
  const symbolic = buildArgv(step, job, tools, '{scratch}');
  if (!symbolic.ok) {
    const { code, message, remedy } = symbolic.error;
    return refused({
      ...empty,
      status: code === 'usage' ? 'failed' : 'environment',
      reason: { code, message, remedy },
    });
  }
  const key = keyOf(step, symbolic.value, context);
  return oneAtATime(context.cache ? key : null, context.building, async () => {
    const own = stopwatch();
    const built = await buildOrFetch(step, symbolic.value, key, context);
    return { ...own(), ...built, id: step.id };
  });
}

/** Runs `fn` when no other build with this key is under way: the second finds the first one's result in the cache. */
async function oneAtATime<T>(
  key: string | null,
  building: Map<string, Promise<unknown>>,
  fn: () => Promise<T>,
): Promise<T> {
  if (key === null) return fn();
  // Looked at again after each wait: when the first one failed, one of those that waited goes on.
  for (let other = building.get(key); other; other = building.get(key)) await other;
  const mine = deferred<void>();
  building.set(key, mine.promise);
  try {
    return await fn();
  } finally {
    building.delete(key);
    mine.resolve();
  }
}

/** Without times of its own: those of the whole step. */
type Built = Omit<StepResult, 'id' | 'wallMs'> & Partial<Pick<StepResult, 'wallMs'>>;

type Times = Pick<StepResult, 'wallMs' | 'beganAt'>;

/** Runs from now on; tells when it began and how long it has run. */
function stopwatch(): () => Times {
  const beganAt = Date.now();
  const began = performance.now();
  return () => ({ wallMs: performance.now() - began, beganAt });
}

async function buildOrFetch(
  step: BuildStep,
  symbolic: readonly string[],
  key: string | null,
  context: BuildContext,
): Promise<Built> {
  const { folder } = context;
  const work = await folder.stepFolder('b', step.inputs);
  const cached = key && context.cache ? await context.cache.fetch(key, work) : null;
  if (cached) {
    const fault = await adoptAll(step, work, folder);
    if (fault === null) return { ...empty, ...cached, status: 'ok', exitCode: 0, cached: true };
  }
  const path = context.containment.buildPath(work, isContained(step, context));
  const argv = symbolic.map((arg) => arg.replaceAll('{scratch}', path));
  const command = argv.join(' ');
  const { exit, verdict, times } = await compile(step, argv, work, command, context);
  if (exit.ended === 'abort' || exit.ended === 'kill') throw cancelled();
  const said = isContained(step, context)
    ? filtered(exit, work, context)
    : { stdout: exit.stdout, stderr: exit.stderr };
  const result = { ...empty, ...times, ...verdict, exitCode: exit.exitCode, signal: exit.signal, command, ...said };
  if (verdict.status !== 'ok') return result;
  const unmade = await missing(step, work);
  if (unmade.length > 0)
    return {
      ...result,
      status: 'failed',
      reason: { code: 'internal', message: `The build ended well but did not make ${unmade.join(', ')}.` },
    };
  if (key && context.cache) await context.cache.store(key, work, step.outputs, { ...said, command });
  await adoptAll(step, work, folder);
  return result;
}

const isContained = (step: BuildStep, context: BuildContext): boolean => step.untrusted || context.containAll;

const cancelled = (): AppFailure => new AppFailure({ code: 'cancelled', message: 'Cancelled.' });

/** How a compilation ended. Its times are the compiler's: waiting for a place among other builds is no work. */
interface Compiled {
  readonly exit: ChildExit;
  readonly verdict: Verdict;
  readonly times: Times;
}

async function compile(
  step: BuildStep,
  argv: readonly string[],
  work: string,
  command: string,
  context: BuildContext,
): Promise<Compiled> {
  for (const name of step.outputs) await mkdir(dirname(join(work, name)), { recursive: true });
  const once = async (): Promise<Compiled> => {
    if (context.signal?.aborted) throw cancelled();
    const times = stopwatch();
    const handle = context.containment.start(argv, {
      scratch: work,
      sandbox: isContained(step, context),
      gpu: false,
      profiling: false,
      protect: [],
      build: true,
      env: isContained(step, context) ? candidateEnv(context.tools, join(work, tmpName)) : context.tools.env,
      wallMs: step.limits.wallMs,
      memoryMiB: step.limits.memoryMiB,
      outputBytes: step.limits.outputBytes,
      signal: context.signal,
    });
    context.started(handle);
    const exit = await handle.exited;
    return { exit, verdict: classifyBuild(exit, step, command), times: times() };
  };
  const first = await context.gate.build(once);
  const byOthers = first.verdict.status === 'killed' && first.exit.ended === null;
  return byOthers ? context.gate.build(once, true) : first;
}

/** null = not cacheable: versions of the tools are unknown, so a changed compiler would not be noticed. */
function keyOf(step: BuildStep, argv: readonly string[], context: BuildContext): string | null {
  const { tools, job, folder } = context;
  const { nvcc, toolkit, hostCompiler } = tools.machine;
  const nvccVersion = nvcc ?? toolkit;
  if ((step.tool === 'nvcc' && nvccVersion === null) || hostCompiler === null) return null;
  return buildKey({
    tool: step.tool,
    toolPath: argv[0] ?? '',
    nvccVersion: step.tool === 'nvcc' ? (nvccVersion ?? '') : '',
    hostCompiler,
    args: [...argv.slice(1), `arch=${archOf(job, tools) ?? 'none'}`],
    inputs: step.inputs.map((name) => [name, folder.hash(name) ?? ''] as const),
    outputs: step.outputs,
  });
}

/** Outputs that are not there as regular files: a link could name anything. */
async function missing(step: BuildStep, work: string): Promise<string[]> {
  const out: string[] = [];
  for (const name of step.outputs) if (!(await lstat(join(work, name)).catch(() => null))?.isFile()) out.push(name);
  return out;
}

async function adoptAll(step: BuildStep, work: string, folder: JobFolder): Promise<string | null> {
  for (const name of step.outputs) {
    const fault = await folder.adopt(work, name);
    if (fault) return fault;
  }
  return null;
}

function filtered(
  exit: ChildExit,
  work: string,
  { tools, containment }: BuildContext,
): { stdout: string; stderr: string } {
  const system = ['/usr/include', '/usr/lib', '/usr/lib64', '/usr/bin', '/usr/libexec', '/lib', '/lib64'];
  // The sandbox's /tmp is its own; without one it is everybody's, and only our folder in it may be named.
  if (containment.level !== 'none') system.push('/tmp');
  const dirs = [tools.toolkit, tools.cxx, tools.nvcc, ...tools.includeDirs, ...tools.libDirs].filter(
    (dir) => dir !== null,
  );
  const scope = { own: [work, aliasPath], system: [...system, ...dirs, ...dirs.map(real)] };
  return { stdout: filterDiagnostics(exit.stdout, scope), stderr: filterDiagnostics(exit.stderr, scope) };
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
