import { type Comparison, comparisonSchema, type Problem } from '../../contract/index.ts';
import { EnvironmentFault, environmentOf } from './classify.ts';
import { type Peer, StartFault, startPeer } from './peer.ts';
import { problemText } from './problem-text.ts';
import { type Scope, Stopped } from './scope.ts';
import { PeerFault, type Reply } from './wire.ts';

/** A whole large output against a host reference in double may take minutes on few cores; the session's own limit still holds. */
const ALL_MS = 600_000;
const REQUEST_MS = 120_000;

export interface SampleVerdict {
  readonly compared: number;
  readonly bad: number;
  /** First wrong element in words, when bad > 0. */
  readonly first: string | null;
}

/**
 * The judge: never holds candidate code, so all its failures are EnvironmentFaults. Requests are answered in order and may be pipelined;
 * the problem in force is sent along only when it changes.
 */
export class Judge {
  private readonly scope: Scope;
  private readonly peer: Peer;
  private current: Problem | null = null;
  private readonly work = new Set<Promise<unknown>>();
  private failed: unknown = null;

  constructor(scope: Scope, peer: Peer) {
    this.scope = scope;
    this.peer = peer;
  }

  /** Compares sampled raw elements of a buffer. */
  at(problem: Problem, seed: string, buffer: number, positions: BigUint64Array, raw: Buffer): Promise<SampleVerdict> {
    const head = Buffer.from(positions.buffer, positions.byteOffset, positions.byteLength);
    return this.ask(problem, 'at', `${seed} ${buffer}`, REQUEST_MS, Buffer.concat([head, raw])).then(sampleVerdict);
  }

  /** Compares a whole dumped buffer. */
  all(problem: Problem, seed: string, buffer: number, path: string): Promise<Comparison> {
    return this.ask(problem, 'all', `${seed} ${buffer} ${path}`, ALL_MS).then(({ json }) => {
      const parsed = comparisonSchema.safeParse(json.comparison);
      if (parsed.success) return parsed.data;
      throw new EnvironmentFault('internal', `The judge's comparison cannot be read: ${parsed.error.message}`);
    });
  }

  /** Runs something that uses the judge without waiting for it; its failure is thrown by `drain`. */
  later(work: Promise<unknown>): void {
    const tracked = work
      .catch((cause: unknown) => {
        this.failed ??= cause;
      })
      .finally(() => this.work.delete(tracked));
    this.work.add(tracked);
  }

  /** Waits for everything given to `later`. Throws the first failure. */
  async drain(): Promise<void> {
    while (this.work.size > 0) await Promise.all([...this.work]);
    if (this.failed) throw this.failed;
  }

  /** Throws the first failure seen so far, without waiting. */
  throwIfFailed(): void {
    if (this.failed) throw this.failed;
  }

  async quit(): Promise<void> {
    await this.peer.quit();
  }

  private async ask(problem: Problem, command: string, tail: string, limitMs: number, blob?: Buffer): Promise<Reply> {
    try {
      if (this.current !== problem) {
        this.current = problem;
        void this.peer.request('problem', problemText(problem, 'guarded'), REQUEST_MS).catch((cause: unknown) => {
          this.failed ??= cause instanceof PeerFault ? environmentOf(cause, null, 'judge') : cause;
        });
      }
      return await this.peer.request(command, tail, limitMs, blob);
    } catch (cause) {
      if (!(cause instanceof PeerFault)) throw cause;
      if (this.scope.stopped) throw new Stopped(this.scope.stopped);
      throw environmentOf(cause, cause.kind === 'closed' ? await this.peer.ending(3_000) : null, 'judge');
    }
  }
}

function sampleVerdict({ json }: Reply): SampleVerdict {
  const count = (key: string): number => {
    const value = json[key];
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    throw new EnvironmentFault('internal', `The judge's answer lacks "${key}".`);
  };
  const first = Array.isArray(json.first) ? (json.first[0] as Record<string, unknown> | undefined) : undefined;
  return {
    compared: count('compared'),
    bad: count('bad'),
    first: first
      ? `element ${String(first.index)} is ${String(first.got)}, not ${String(first.want)} (limit ${String(first.limit)})`
      : null,
  };
}

/**
 * Starts the judge beside the candidate's process: no sandbox where all of it is our own code, lowest priority so that it disturbs no timing.
 */
export async function startJudge(
  scope: Scope,
  { judge: file, judgeContained = false }: { readonly judge: string; readonly judgeContained?: boolean },
): Promise<Judge> {
  if (scope.stopped) throw new Stopped(scope.stopped);
  let peer: Peer;
  try {
    peer = await startPeer(scope, (socket) => [`./${file}`, socket], {
      sandbox: judgeContained,
      gpu: false,
      niceness: 19,
    });
  } catch (cause) {
    if (scope.stopped) throw new Stopped(scope.stopped);
    throw cause instanceof StartFault ? environmentOf(cause.fault, cause.exit, 'judge') : cause;
  }
  try {
    await peer.request('hello', '', REQUEST_MS);
    return new Judge(scope, peer);
  } catch (cause) {
    const exit = await peer.end();
    if (scope.stopped) throw new Stopped(scope.stopped);
    throw cause instanceof PeerFault ? environmentOf(cause, exit, 'judge') : cause;
  }
}
