import type { ChildExit, ChildHandle } from '../../base/process.ts';
import { type Arm, type GpuInfo, gpuInfoSchema, type Problem } from '../../contract/index.ts';
import type { StartOptions } from '../context.ts';
import { CandidateFault, candidateFault, EnvironmentFault, environmentOf, type Where } from './classify.ts';
import { type Launch, type Peer, PeerSeries, StartFault, startPeer } from './peer.ts';
import { elementBytes, problemText } from './problem-text.ts';
import {
  type CallReply,
  type CheckReply,
  type ClocksReply,
  callReply,
  checkReply,
  clocksReply,
  optionalNumber,
  type Peaks,
  peaksReply,
  requiredNumber,
} from './replies.ts';
import { type Scope, Stopped } from './scope.ts';
import { PeerFault, type Reply } from './wire.ts';

export type Quantity = 'plain' | 'wrapper' | 'span' | 'gated' | 'event' | 'profile';
export type Flush = 'none' | 'read' | 'write';

/** Time limits of requests, ms. Those of calls are generous for honest code (100 ms at most) and end a hang soon. */
export interface RunnerLimits {
  readonly callMs: number;
  readonly setupMs: number;
}
export const defaultLimits: RunnerLimits = { callMs: 20_000, setupMs: 60_000 };

export interface RunnerFiles {
  readonly runner: string;
  readonly shim: string;
}

/** Prefix of the command line (a profiler, a sanitizer) and how the process is contained. */
export interface Wrapping {
  readonly before: readonly string[];
  readonly options?: Partial<Omit<StartOptions, 'wallMs'>>;
  readonly limits?: Partial<RunnerLimits>;
  /** Gets the process as soon as it exists (its output is wanted even if it never connects). */
  readonly onStart?: (child: ChildHandle) => void;
}

/** A runner process: typed commands, each rejecting with PeerFault only. Requests are pipelined as they are called. */
export class Runner {
  readonly gpu: GpuInfo | null;
  /** As the runner sees itself (its own PID namespace). */
  readonly pid: number;
  private readonly scope: Scope;
  private readonly peer: Peer;
  private readonly limits: RunnerLimits;
  private tainted = false;

  constructor(scope: Scope, peer: Peer, limits: RunnerLimits, gpu: GpuInfo | null, pid: number) {
    this.scope = scope;
    this.peer = peer;
    this.limits = limits;
    this.gpu = gpu;
    this.pid = pid;
  }

  /** Process id as the broker sees it: the launcher's (bubblewrap, ncu) or the runner's own. */
  get outerPid(): number | null {
    return this.peer.child.pid;
  }

  /** From here on failures are laid at the door of the loaded code, whichever arm it is. */
  async load(arm: Arm): Promise<void> {
    this.tainted = true;
    await this.ask('load', `${arm.id} ${arm.lib} ${arm.symbol}`, this.limits.setupMs);
  }

  async problem(problem: Problem, layout: 'guarded' | 'exact' = 'guarded'): Promise<void> {
    await this.ask('problem', problemText(problem, layout), this.limits.setupMs);
  }

  /** Timer step seen so far, ns; null when none was seen. */
  async cupti(on: boolean): Promise<number | null> {
    const { json } = await this.ask('cupti', on ? 'on' : 'off', this.limits.setupMs);
    const step = optionalNumber(json, 'step');
    return step !== null && step > 0 ? step : null;
  }

  prepare(seed: string, flush: Flush): Promise<void> {
    return pipelined(this.ask('prepare', `${seed} ${flush}`, this.limits.setupMs).then(() => undefined));
  }

  /** Takes device memory for the life of the process, so that what is allocated and loaded later lies elsewhere. */
  async pad(bytes: number): Promise<void> {
    await this.ask('pad', String(bytes), this.limits.setupMs);
  }

  call(arm: string, quantity: Quantity): Promise<CallReply> {
    return pipelined(this.ask('call', `${arm} ${quantity}`, this.limits.callMs).then(callReply));
  }

  /** Raw elements at the positions. */
  gather(problem: Problem, buffer: number, positions: BigUint64Array): Promise<Buffer> {
    const spec = problem.buffers[buffer];
    const bytes = positions.length * (spec ? elementBytes[spec.elem] : 0);
    const blob = Buffer.from(positions.buffer, positions.byteOffset, positions.byteLength);
    return pipelined(
      this.ask('gather', String(buffer), this.limits.setupMs, blob).then((reply) => {
        if (reply.blob.length === bytes) return reply.blob;
        throw new PeerFault('protocol', 'gather', 'a gather of the wrong length');
      }),
    );
  }

  dump(buffer: number, path: string): Promise<void> {
    return pipelined(this.ask('dump', `${buffer} ${path}`, 2 * this.limits.setupMs).then(() => undefined));
  }

  check(seed: string): Promise<CheckReply> {
    return pipelined(this.ask('check', seed, this.limits.setupMs).then(checkReply));
  }

  async peaks(): Promise<Peaks> {
    return peaksReply(await this.ask('peaks', '', 2 * this.limits.setupMs));
  }

  /** Total of all calls, ms. */
  async burst(arm: string, warmups: number, calls: number): Promise<number> {
    const limit = this.limits.callMs * 3;
    const { json } = await this.ask('burst', `${arm} ${warmups} ${calls}`, limit);
    const cuda = typeof json.cuda === 'string' ? json.cuda : null;
    if (cuda) throw new PeerFault('refused', 'burst', cuda, 'cuda');
    return requiredNumber(json, 'totalMs', 'burst');
  }

  async clocks(): Promise<ClocksReply> {
    return clocksReply(await this.ask('clocks', '', this.limits.setupMs));
  }

  quit(graceMs?: number): Promise<ChildExit | null> {
    return this.peer.quit(graceMs);
  }

  /** Ends this run of the program; what started it lives on and may start the next. */
  leave(): Promise<void> {
    return this.peer.leave();
  }

  /** Kills it; null = it is still there (stuck in the driver). */
  end(): Promise<ChildExit | null> {
    return this.peer.end();
  }

  kill(): void {
    this.peer.kill();
  }

  /**
   * Ends the process after a failure and says whose fault it was: Stopped, CandidateFault or EnvironmentFault to throw.
   * Other errors than PeerFault come back as they are. `where` names arm and problem of the call under way.
   */
  async faultOf(cause: unknown, where: Where): Promise<unknown> {
    if (!(cause instanceof PeerFault)) {
      await this.end();
      return cause;
    }
    const ended = cause.kind === 'closed' ? await this.peer.ending(3_000) : null;
    const exit = ended ?? (await this.end());
    await this.end();
    if (this.scope.stopped) return new Stopped(this.scope.stopped);
    if (exit === null)
      return new EnvironmentFault(
        'env.gpu-lost',
        'A process that hung in a GPU call cannot be killed: the driver does not let go of it.',
        'Look into the kernel log for Xid messages; reset the GPU or restart the machine.',
      );
    const fault = this.tainted ? candidateFault(cause, exit, where) : environmentOf(cause, exit, 'runner');
    if (fault instanceof CandidateFault && fault.hung) this.scope.gpuInDoubt = true;
    return fault;
  }

  private ask(command: string, tail: string, limitMs: number, blob?: Buffer): Promise<Reply> {
    return this.peer.request(command, tail, limitMs, blob);
  }
}

/**
 * Starts a runner, lets it initialise the GPU and load the shim. No candidate is in it yet, so every failure is an EnvironmentFault.
 */
export async function startRunner(scope: Scope, files: RunnerFiles, wrapping?: Wrapping): Promise<Runner> {
  const peer = await starting(scope, () => startPeer(scope, ...commandOf(files, wrapping)));
  return greeted(scope, peer, files, wrapping);
}

/** A launcher that runs the runner again and again (ncu's application replay), one after the other. */
export interface Runners {
  /** The next run, as `startRunner` gives one; null: the launcher has ended by itself. */
  next(): Promise<Runner | null>;
  /** How it ended; null: it has not. */
  exit(): ChildExit | null;
  /** Kills the launcher with all it started; waits until they are gone. */
  end(): Promise<void>;
}

/** Starts such a launcher. Failures as those of `startRunner`. */
export async function startRunners(scope: Scope, files: RunnerFiles, wrapping: Wrapping): Promise<Runners> {
  const peers = await starting(scope, () => PeerSeries.start(scope, ...commandOf(files, wrapping)));
  const launcher = { ...peers.child };
  scope.add(launcher);
  return {
    next: async () => {
      const peer = await starting(scope, () => peers.next());
      return peer && greeted(scope, peer, files, wrapping);
    },
    exit: () => peers.exit,
    end: async () => {
      await peers.end();
      scope.drop(launcher);
    },
  };
}

const commandOf = (files: RunnerFiles, wrapping?: Wrapping): Launch => [
  (socket) => [...(wrapping?.before ?? []), `./${files.runner}`, socket],
  { sandbox: true, gpu: true, ...wrapping?.options },
  wrapping?.onStart,
];

/** A start, its failure told as what it is: no candidate has had a part in it. */
async function starting<T>(scope: Scope, start: () => Promise<T>): Promise<T> {
  if (scope.stopped) throw new Stopped(scope.stopped);
  try {
    return await start();
  } catch (cause) {
    if (scope.stopped) throw new Stopped(scope.stopped);
    throw cause instanceof StartFault ? environmentOf(cause.fault, cause.exit, 'runner') : cause;
  }
}

async function greeted(scope: Scope, peer: Peer, files: RunnerFiles, wrapping?: Wrapping): Promise<Runner> {
  const limits = { ...defaultLimits, ...wrapping?.limits };
  limits.callMs = Math.min(limits.callMs, scope.ctx.limits.wallMs / 3);
  try {
    const { json } = await peer.request('hello', '', limits.setupMs);
    const gpu = json.gpu === null ? null : gpuInfoSchema.safeParse(json.gpu);
    if (gpu && !gpu.success)
      throw new PeerFault('protocol', 'hello', `the runner describes no GPU: ${gpu.error.message}`);
    await peer.request('shim', files.shim, limits.setupMs);
    scope.gpuInDoubt = false;
    return new Runner(scope, peer, limits, gpu ? gpu.data : null, optionalNumber(json, 'pid') ?? 0);
  } catch (cause) {
    const ended = cause instanceof PeerFault && cause.kind === 'closed' ? await peer.ending(3_000) : null;
    const exit = ended ?? (await peer.end());
    if (scope.stopped) throw new Stopped(scope.stopped);
    throw cause instanceof PeerFault ? environmentOf(cause, exit, 'runner') : cause;
  }
}

/** A promise that may be looked at later: its failure is reported then, and every later request fails with it too. */
function pipelined<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
