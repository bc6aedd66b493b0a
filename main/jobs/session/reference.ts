import { constants } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { type Comparison, comparisonSchema, type Problem, sizeText } from '../../contract/index.ts';
import type { SessionContext } from '../context.ts';
import { describeExit, EnvironmentFault, environmentOf, outputTail } from './classify.ts';
import { type Peer, StartFault, startPeer } from './peer.ts';
import { bufferBytes, outputsOf, problemText } from './problem-text.ts';
import { Scope, Stopped } from './scope.ts';
import { PeerFault } from './wire.ts';

/** A reference that is not done with the smallest size after this would not get through a verification. */
const CALL_MS = 60_000;

/** What a reference that a user wrote did when it was asked for every element of every output. */
export interface ReferenceTrial {
  /** What is wrong with it; null: nothing that one can see from outside. */
  readonly fault: string | null;
  /** What may be meant and looks as if it were not. */
  readonly doubts: readonly string[];
}

export interface TrialPlan {
  readonly judge: string;
  /** Smallest first: a failure of the first one is the reference's own; later ones that take too long are left out. */
  readonly problems: readonly Problem[];
  /** Tests: the time one request may take, ms. */
  readonly callMs?: number;
}

/** The reference's fault, said in words for the person who wrote it. */
class ReferenceFault extends Error {}

/** What one output looked like over all sizes that were tried. */
interface Seen {
  /** Elements, and those that are NaN. */
  count: number;
  nan: number;
  /** Sizes at which zeros, or the reference's own rounded values, would not do. */
  zerosMiss: boolean;
}

/**
 * Calls a task's reference: the judge that holds it is started in the sandbox, evaluates every output at a few small sizes and compares
 * with that, as it does in a verification, the reference's own rounded values (which must pass) and zeros (which must not). No GPU, no
 * candidate, no original. Throws EnvironmentFault where the machine is at fault, Stopped when it is cancelled.
 */
export async function tryReference(plan: TrialPlan, ctx: SessionContext): Promise<ReferenceTrial> {
  const scope = new Scope(ctx);
  const seen = new Map<string, Seen>();
  const callMs = plan.callMs ?? CALL_MS;
  let sizes = 0;
  try {
    const peer = await begin(plan, scope, callMs);
    for (const [index, problem] of plan.problems.entries()) {
      try {
        await tryProblem(peer, scope, problem, seen, callMs);
        sizes++;
      } catch (cause) {
        const tooSlow = cause instanceof PeerFault && cause.kind === 'timeout' && index > 0;
        if (!tooSlow) throw await laid(cause, peer, scope, `at ${sizeText(problem.dims)}`);
        await peer.end();
        return verdict(seen, sizes);
      }
    }
    await peer.quit();
    return verdict(seen, sizes);
  } catch (cause) {
    if (scope.stopped === 'deadline' && sizes > 0) return verdict(seen, sizes);
    if (scope.stopped === 'deadline') return { fault: 'it did not end within the time there is', doubts: [] };
    if (scope.stopped) throw new Stopped(scope.stopped);
    if (cause instanceof ReferenceFault) return { fault: cause.message, doubts: [] };
    throw cause;
  } finally {
    await scope.close();
  }
}

async function begin({ judge }: TrialPlan, scope: Scope, callMs: number): Promise<Peer> {
  let peer: Peer;
  try {
    peer = await startPeer(scope, (socket) => [`./${judge}`, socket], { sandbox: true, gpu: false, niceness: 19 });
  } catch (cause) {
    if (scope.stopped || !(cause instanceof StartFault)) throw cause;
    if (cause.exit === null || cause.exit.startError) throw environmentOf(cause.fault, cause.exit, 'judge');
    throw new ReferenceFault(`before it was asked anything, it ${describeExit(cause.exit)}${printed(cause.exit)}`);
  }
  try {
    await peer.request('hello', '', callMs);
    return peer;
  } catch (cause) {
    throw await laid(cause, peer, scope, 'before it was asked anything');
  }
}

/** A failure laid at the door of the reference, or of the machine; anything else comes back as it is. The judge is gone then. */
async function laid(cause: unknown, peer: Peer, scope: Scope, where: string): Promise<unknown> {
  if (!(cause instanceof PeerFault)) {
    await peer.end();
    return cause;
  }
  const exit = cause.kind === 'closed' ? await peer.ending(3_000) : null;
  const ended = exit ?? (await peer.end());
  if (scope.stopped) return new Stopped(scope.stopped);
  if (exit?.startError || (cause.kind === 'refused' && cause.code === 'io')) return environmentOf(cause, exit, 'judge');
  if (cause.kind === 'refused') return new ReferenceFault(`${where} it failed: ${cause.message}`);
  if (cause.kind === 'timeout') return new ReferenceFault(`${where} it gave no answer: ${cause.message}`);
  if (exit?.ended === 'memory')
    return new ReferenceFault(`${where} it took more than ${scope.ctx.limits.memoryMiB} MiB of memory`);
  return new ReferenceFault(`${where} it ${exit ? describeExit(exit) : `failed: ${cause.message}`}${printed(ended)}`);
}

function printed(exit: Parameters<typeof outputTail>[0]): string {
  const tail = outputTail(exit, 4);
  return tail === undefined ? '' : `; it printed: ${tail}`;
}

async function tryProblem(
  peer: Peer,
  scope: Scope,
  problem: Problem,
  seen: Map<string, Seen>,
  callMs: number,
): Promise<void> {
  const contents = scope.ctx.seed.slice(0, 16);
  const compare = async (index: number, file: string): Promise<Comparison> => {
    const { json } = await peer.request('all', `${contents} ${index} ${file}`, callMs);
    const parsed = comparisonSchema.safeParse(json.comparison);
    if (parsed.success) return parsed.data;
    throw new EnvironmentFault('internal', `The judge's comparison cannot be read: ${parsed.error.message}`);
  };
  await peer.request('problem', problemText(problem, 'guarded'), callMs);
  for (const index of outputsOf(problem)) {
    const buffer = problem.buffers[index] as Problem['buffers'][number];
    const answers = scope.newFile('r');
    await peer.request('reference', `${contents} ${index} ${answers}`, callMs);
    const values = await written(scope.path(answers), bufferBytes(buffer));
    const own = await compare(index, answers);
    if (own.bad > 0) throw new ReferenceFault(missed(own, problem));
    // Made before the judge knows its name, so that no link can lie there.
    const nothing = scope.newFile('z');
    await writeFile(scope.path(nothing), Buffer.alloc(bufferBytes(buffer)), { flag: 'wx' });
    const zeros = await compare(index, nothing);
    for (const file of [answers, nothing]) await scope.remove(file);
    const before = seen.get(buffer.name) ?? { count: 0, nan: 0, zerosMiss: false };
    const within = zeros.bad === 0 && (zeros.rms === null || zeros.rms <= (zeros.rmsLimit ?? 1));
    seen.set(buffer.name, {
      count: before.count + buffer.count,
      nan: before.nan + nans(values, buffer.elem),
      zerosMiss: before.zerosMiss || !within,
    });
  }
}

/** What the judge wrote: it holds a user's code, which may have put a pipe or a link there. */
async function written(path: string, bytes: number): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0));
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size !== bytes) throw new ReferenceFault('it changed the file of its own answers');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

/** The reference's own values, rounded to the stored type, are the best answer there is: a limit that refuses them is none. */
function missed({ output, bad, compared, first }: Comparison, problem: Problem): string {
  const one = first[0];
  const shown = one ? `: element ${one.index} is ${one.got}, from ${one.want}, with the limit ${one.limit}` : '';
  return `at ${sizeText(problem.dims)} its own values of "${output}", rounded to the stored type, miss its limit in ${bad} of ${compared} elements${shown}; scale and n must be numbers, and equal questions must get equal answers`;
}

/** Elements that are NaN. */
function nans(values: Buffer, elem: Problem['buffers'][number]['elem']): number {
  if (elem === 'i32') return 0;
  const wide = elem === 'f32';
  let found = 0;
  for (let at = 0; at < values.length; at += wide ? 4 : 2) {
    const bits = wide ? values.readUInt32LE(at) : values.readUInt16LE(at) * 0x10000;
    if ((bits & 0x7fffffff) > 0x7f800000) found++;
  }
  return found;
}

/** Of one size with fewer elements than this zeros or NaN may well be right: the first element of a ReLU, the variance of one value. */
const fewElements = 64;

function verdict(seen: ReadonlyMap<string, Seen>, sizes: number): ReferenceTrial {
  const names = (test: (one: Seen) => boolean): string[] =>
    [...seen].filter(([, one]) => test(one)).map(([name]) => `"${name}"`);
  const elements = [...seen.values()].reduce((sum, { count }) => sum + count, 0);
  const sure = sizes > 1 || elements >= fewElements;
  const told = (why: string, wrong: boolean): ReferenceTrial =>
    wrong && sure ? { fault: why, doubts: [] } : { fault: null, doubts: [why] };
  const nothing = names(({ count, nan }) => nan === count);
  if (nothing.length > 0)
    return told(`every element of ${nothing.join(' and ')} is NaN: then nothing but NaN is right`, true);
  const zeros = names(({ zerosMiss }) => !zerosMiss);
  if (zeros.length === 0) return { fault: null, doubts: [] };
  const why = `zeros are within the limit in every element of ${zeros.join(' and ')}, so a kernel that computes nothing would be found right there`;
  return told(why, zeros.length === seen.size);
}
