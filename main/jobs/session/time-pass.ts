import { deriveRoot, deriveSeed, Prng } from '../../base/random.ts';
import type { ArmId, Problem, SampleSet } from '../../contract/index.ts';
import { dumpOutputs, outputBytes } from './dumps.ts';
import { foreignOf } from './foreign.ts';
import { addCallIncidents, addLate } from './incidents.ts';
import { drawPositions } from './positions.ts';
import { outputsOf } from './problem-text.ts';
import type { CallReply } from './replies.ts';
import type { Runner } from './runner.ts';
import type { TimeRoom } from './time.ts';
import { blockOrder, type ProcessKind } from './time-order.ts';
import { sampleOf } from './time-valid.ts';
import { pause } from './tool.ts';
import { failOnCudaError } from './verify.ts';

/** One pass: all problems, one quantity, one process. */
export interface Pass {
  readonly process: number;
  readonly kind: ProcessKind;
  readonly quantity: SampleSet['quantity'];
  readonly arms: readonly ArmId[];
}

interface TimedCall {
  readonly arm: ArmId;
  readonly seed: string;
  /** false: a warm-up, checked like the others but not sampled. */
  readonly timed: boolean;
  /** false: nobody looks at its results (TimePlan.checkedBlocks). */
  readonly checked?: boolean;
}

/** Raw outputs of a call at the drawn positions, under way. */
interface Evidence {
  readonly call: TimedCall;
  readonly parts: readonly { buffer: number; positions: BigUint64Array; raw: Promise<Buffer> }[];
}

/** Runs a pass. Samples are void (null) as a whole when another program used the GPU before or after it. */
export async function runPass(room: TimeRoom, runner: Runner, pass: Pass): Promise<void> {
  const before = await lookAround(room, runner);
  const sets: SampleSet[] = [];
  for (const [index, problem] of room.plan.problems.entries()) {
    room.scope.ctx.progress(
      `time ${pass.process + 1}/${room.processes} ${pass.kind} ${pass.quantity} ${index + 1}/${room.plan.problems.length} ${problem.id}`,
    );
    sets.push(await runProblem(room, runner, pass, index, problem));
  }
  const after = await lookAround(room, runner);
  if (before || after) for (const set of sets) voidSet(room, set);
  room.out.samples.push(...sets);
}

/** A process of ours that has just ended may linger in the driver's list for a moment. The GPU is held meanwhile, so short waits. */
const LINGER_MS = 300;
const LOOK_MS = 10;

/** Notes the clocks and says whether other programs are on the GPU. */
async function lookAround(room: TimeRoom, runner: Runner): Promise<boolean> {
  let reply = await runner.clocks();
  const until = performance.now() + LINGER_MS;
  while (reply.foreign.length > 0 && performance.now() < until) {
    await pause(room.scope, LOOK_MS);
    reply = await runner.clocks();
  }
  if (reply.smMHz !== null) room.clocks.smMHz.push(reply.smMHz);
  if (reply.memMHz !== null) room.clocks.memMHz.push(reply.memMHz);
  if (runner.gpu !== null) room.looked = room.looked !== false && reply.looked;
  const foreign = foreignOf(runner, reply);
  if (foreign.length > 0)
    room.incidents.add({
      kind: 'foreign-work',
      message: `other programs use the GPU: ${foreign.map((p) => `${p.name === '' ? 'unknown' : p.name} (process ${p.pid})`).join(', ')}`,
    });
  return foreign.length > 0;
}

function voidSet(room: TimeRoom, set: SampleSet): void {
  for (const values of Object.values(set.arms)) {
    room.voids.addForeign(values.filter((v) => v !== null).length);
    values.fill(null);
  }
}

/** Warm-up of every arm, then the blocks. Each call in the list sees other contents than the one before it. */
function callsOf(room: TimeRoom, pass: Pass, problem: number): TimedCall[] {
  const seedOf = (...labels: (string | number)[]): string =>
    deriveSeed(room.scope.ctx.seed, 'time', pass.process, pass.quantity, problem, ...labels);
  // Kernels are loaded at their first call: the order of the warm-ups decides where their code lies.
  const random = new Prng(deriveRoot(room.scope.ctx.seed, 'order', pass.process, pass.quantity, problem));
  const drawn = (): ArmId[] => random.shuffle([...pass.arms]);
  const calls: TimedCall[] = drawn().map((arm, i) => ({ arm, seed: seedOf('warm', i), timed: false }));
  const { checkedBlocks = Number.POSITIVE_INFINITY } = room.plan;
  for (let block = 0; block < (room.blocks?.[problem] as number); block++)
    for (const slot of blockOrder(drawn()))
      calls.push({ arm: slot.arm, seed: seedOf(block, slot.content), timed: true, checked: block < checkedBlocks });
  return calls;
}

/**
 * The calls of one problem. Requests are pipelined so that the GPU does not wait for us: with a call's answer in hand, its positions are
 * drawn and asked for, and in the same breath the next call is prepared and made; the positions' values are looked at one call later.
 */
async function runProblem(
  room: TimeRoom,
  runner: Runner,
  pass: Pass,
  index: number,
  problem: Problem,
): Promise<SampleSet> {
  const calls = callsOf(room, pass, index);
  const set: SampleSet = {
    process: pass.process,
    kind: pass.kind,
    problem: index,
    quantity: pass.quantity,
    blocks: room.blocks?.[index] as number,
    arms: Object.fromEntries(pass.arms.map((arm) => [arm, []])),
  };
  room.where = { problem: problem.id };
  await runner.problem(problem);
  let next = issue(room, runner, pass.quantity, calls[0] as TimedCall);
  let evidence: Evidence | null = null;
  for (const [i, call] of calls.entries()) {
    room.where = { arm: call.arm, problem: problem.id };
    await next.prepared;
    const reply = await next.called;
    failOnCudaError(reply, room.where);
    const asked = call.checked === false ? null : gatherAfter(room, runner, problem, call);
    if (call.timed && pass.kind === 'full' && room.whole.takes(call.arm, index))
      await dumpWhole(room, runner, problem, index, call);
    const following = calls[i + 1];
    if (following) next = issue(room, runner, pass.quantity, following);
    if (evidence) await judgeEvidence(room, problem, evidence);
    evidence = asked;
    record(room, pass, index, set, call, reply, calls[i - 1] ?? call);
  }
  if (evidence) await judgeEvidence(room, problem, evidence);
  room.judge.throwIfFailed();
  return set;
}

/** Sends preparation and call in one breath. */
export function issue(room: TimeRoom, runner: Runner, quantity: SampleSet['quantity'], call: TimedCall) {
  return {
    prepared: runner.prepare(call.seed, room.plan.flush),
    called: runner.call(call.arm, quantity === 'span' && room.plan.gate ? 'gated' : quantity),
  };
}

/** Draws positions of every output and asks for their values. */
export function gatherAfter(room: TimeRoom, runner: Runner, problem: Problem, call: TimedCall): Evidence {
  const parts = outputsOf(problem).map((buffer) => {
    const length = problem.buffers[buffer]?.count as number;
    const positions = drawPositions(room.random, length, room.plan.positions);
    return { buffer, positions, raw: runner.gather(problem, buffer, positions) };
  });
  return { call, parts };
}

/** Hands the values to the judge without waiting for its opinion. */
export async function judgeEvidence(room: TimeRoom, problem: Problem, evidence: Evidence): Promise<void> {
  const { arm, seed } = evidence.call;
  for (const { buffer, positions, raw } of evidence.parts) {
    const values = await raw;
    room.judge.later(
      room.judge.at(problem, seed, buffer, positions, values).then((verdict) => {
        room.out.sampledChecks += verdict.compared;
        if (verdict.bad === 0) return;
        const name = problem.buffers[buffer]?.name ?? '?';
        room.incidents.add({
          kind: 'sampled-wrong',
          arm,
          problem: problem.id,
          message: `${verdict.bad} of ${verdict.compared} sampled elements of ${name} are wrong after a timed call${verdict.first ? `: ${verdict.first}` : ''}`,
        });
      }),
    );
  }
}

/** Writes the outputs of the call just made; they are judged after the process has ended, unless space is short. */
async function dumpWhole(
  room: TimeRoom,
  runner: Runner,
  problem: Problem,
  index: number,
  call: TimedCall,
): Promise<void> {
  const bytes = outputBytes(problem);
  if (!room.budget.fits(bytes)) {
    room.judgeDumps();
    await room.judge.drain();
  }
  await room.budget.take(bytes);
  room.dumps.push({ arm: call.arm, problem: index, dump: await dumpOutputs(room.scope, runner, problem, call.seed) });
}

function record(
  room: TimeRoom,
  pass: Pass,
  index: number,
  set: SampleSet,
  call: TimedCall,
  reply: CallReply,
  before: TimedCall,
): void {
  const problem = room.plan.problems[index]?.id;
  addCallIncidents(reply, { arm: call.arm, problem }, room.incidents);
  addLate(reply, { arm: before.arm, problem }, room.incidents);
  if (reply.stragglers > 0 && before.timed && before !== call) voidLast(room, set, before.arm);
  if (!call.timed) return;
  const sample = sampleOf(reply, pass.quantity, room.stepNs ?? 0);
  set.arms[call.arm]?.push(sample);
  room.voids.add(call.arm, sample === null);
  if (pass.quantity === 'span') room.activities.add(call.arm, index, reply.acts);
}

/** The span of the call before lacked records that came late. */
function voidLast(room: TimeRoom, set: SampleSet, arm: ArmId): void {
  const values = set.arms[arm];
  if (!values || values.length === 0 || values.at(-1) === null) return;
  values[values.length - 1] = null;
  room.voids.addVoid(arm);
}
