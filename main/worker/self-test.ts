import { sha256Hex } from '../base/hash.ts';
import { newRootSeed } from '../base/random.ts';
import type {
  BuildStep,
  Job,
  JobBundle,
  Limits,
  Machine,
  SessionStep,
  StepResult,
  ToolPaths,
} from '../contract/index.ts';
import { exitCodeOf, FORMAT } from '../contract/index.ts';
import type { SessionContext } from '../jobs/context.ts';
import { LocalExecutor } from '../jobs/local.ts';
import type { SessionOutcome } from '../jobs/session/index.ts';
import { cudaProbe, hostProbe } from './self-test-sources.ts';
import type { WorkerIo } from './worker.ts';

interface Finding {
  readonly id: string;
  readonly ok: boolean;
  readonly text: string;
}

const limits: Limits = { wallMs: 120_000, memoryMiB: 8192, outputBytes: 1 << 20 };

/**
 * Proves on this machine what jobs rely on: both compilers work, a contained program cannot read, write or connect outside, and
 * (with a GPU) a contained CUDA program runs. Everything by doing it. Gives back the exit code: 0, or 3 when something essential fails.
 */
export async function selfTest(tools: ToolPaths, io: WorkerIo, json: boolean): Promise<number> {
  const findings: Finding[] = [];
  const add = (id: string, ok: boolean, text: string): void => {
    findings.push({ id, ok, text });
    if (json) io.out(JSON.stringify({ type: 'check', id, ok, text }));
    else io.out(`${ok ? 'ok  ' : 'FAIL'} ${id}: ${text}`);
  };
  const executor = new LocalExecutor(tools, {
    ...io.settings,
    containAll: true,
    buildCacheDir: null,
    runSession: (plan, context) => probeSession(plan.runner, context, add),
  });
  const containment = await executor.contain();
  add('sandbox', containment.level !== 'none', containment.why ?? containment.level);
  const hasGpu = tools.machine.gpu !== null;
  const outcome = await executor.execute(selfTestJob(hasGpu && tools.nvcc !== null), {
    rootSeed: newRootSeed(),
    position: 'self-test',
    signal: io.signal,
  });
  if (outcome.kind === 'done') for (const step of outcome.result.steps) describe(step, add);
  const machine = await executor.machine();
  add('gpu', hasGpu, hasGpu ? describeGpu(machine) : 'no GPU: jobs can be compiled here, not run');
  // No GPU is no fault of the sandbox or the compilers, but a worker without one is of no use.
  const good = findings.every((finding) => finding.ok);
  if (json) io.out(JSON.stringify({ ok: good, value: { findings, machine } }));
  return good ? 0 : exitCodeOf('env.toolkit-broken');
}

const describeGpu = ({ gpu, driver, toolkit }: Machine): string =>
  `${gpu?.name} (${gpu?.uuid}), compute capability ${gpu?.cc}, driver ${driver}, toolkit ${toolkit}`;

function selfTestJob(withGpu: boolean): JobBundle {
  const sources: Record<string, string> = { 'host.cpp': hostProbe, 'gpu.cu': cudaProbe };
  const build = (id: string, tool: 'nvcc' | 'cxx', args: string[], input: string): BuildStep => {
    return { kind: 'build', id, needs: [], tool, args, inputs: [input], outputs: [id], untrusted: true, limits };
  };
  const arch = withGpu ? ['-arch={arch}'] : [];
  const steps = [
    build('host-probe', 'cxx', ['-std=c++17', '-O1', '-o', 'host-probe', 'host.cpp'], 'host.cpp'),
    build('gpu-probe', 'nvcc', ['-std=c++17', ...arch, '-o', 'gpu-probe', 'gpu.cu'], 'gpu.cu'),
    probe('contained', 'host-probe'),
    ...(withGpu ? [probe('gpu-run', 'gpu-probe')] : []),
  ];
  const contents = new Map(Object.values(sources).map((text) => [sha256Hex(text), text]));
  const files = Object.fromEntries(Object.entries(sources).map(([name, text]) => [name, sha256Hex(text)]));
  const job: Job = { version: FORMAT.job, label: 'self-test', arch: 'native', files, steps, keep: [] };
  return { job, contents };
}

/** A session whose plan only names the program: probeSession runs it. */
const probe = (id: string, runner: string): SessionStep => ({
  kind: 'session',
  id,
  needs: [runner],
  limits,
  plan: {
    mode: 'verify',
    runner,
    judge: '',
    shim: '',
    arm: { id: 'O', lib: '', symbol: runner },
    problems: [],
    seeds: 1,
  },
});

type Add = (id: string, ok: boolean, text: string) => void;

/** Runs the program that the plan names as its runner. Each line it prints is "ok NAME text" or "bad NAME text". */
async function probeSession(program: string, context: SessionContext, add: Add): Promise<SessionOutcome> {
  const gpu = program === 'gpu-probe';
  const exit = await context.start([`./${program}`], { sandbox: true, gpu, wallMs: 60_000 }).exited;
  for (const line of exit.stdout.split('\n')) {
    const found = /^(ok|bad) (\S+) (.*)$/.exec(line);
    if (found) add(found[2] ?? '', found[1] === 'ok', found[3] ?? '');
  }
  if (exit.exitCode === 0) return { status: 'ok' };
  const how = exit.startError ?? `ended with ${exit.exitCode ?? exit.signal}`;
  return { status: 'failed', reason: { code: 'internal', message: `${how}: ${exit.stderr.slice(0, 500)}` } };
}

function describe(step: StepResult, add: Add): void {
  const good = step.status === 'ok';
  add(
    step.id,
    good,
    good ? `${step.wallMs.toFixed(0)} ms` : (step.reason?.message ?? `${step.status}: ${step.stderr.slice(0, 500)}`),
  );
}
