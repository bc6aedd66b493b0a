import { deriveSeed } from '../../base/random.ts';
import type { Problem, VerifyPlan, VerifyResult } from '../../contract/index.ts';
import { CandidateFault, machineFaultOf, type Where } from './classify.ts';
import { DumpBudget, dumpOutputs, judgeDump, outputBytes } from './dumps.ts';
import { addCallIncidents, addCheckIncidents, addLate, Incidents } from './incidents.ts';
import { type Judge, startJudge } from './judge.ts';
import type { CallReply } from './replies.ts';
import { type Quantity, type Runner, startRunner } from './runner.ts';
import { explainFault } from './sanitize.ts';
import type { Scope } from './scope.ts';

/** How many fresh processes a candidate that crashes gets, to learn which sizes fail. */
const RESTARTS = 2;

export const emptyVerify = (): VerifyResult => ({ mode: 'verify', gpu: null, checks: [], incidents: [] });

interface Room {
  readonly plan: VerifyPlan;
  readonly scope: Scope;
  readonly judge: Judge;
  readonly budget: DumpBudget;
  readonly incidents: Incidents;
  readonly out: VerifyResult;
  /** Results by the number of their call: the judge's answers and the removal of files come in any order. */
  readonly checks: VerifyResult['checks'];
  calls: number;
}

/**
 * Compares every output of every problem with the reference for several seeds. Calls of one problem use the same
 * buffers and addresses with different contents; the first contents come again at the end, in a call whose GPU activity is recorded.
 * A call that fails ends its process; the problems after it get a fresh one, at most twice.
 */
export async function verify(plan: VerifyPlan, scope: Scope, out: VerifyResult): Promise<void> {
  const incidents = new Incidents();
  const judge = await startJudge(scope, plan);
  const budget = new DumpBudget(scope.ctx.limits.memoryMiB);
  const room: Room = { plan, scope, judge, budget, incidents, out, checks: [], calls: 0 };
  try {
    await verifyAll(room);
    await explained(room);
    await scope.gpuDone();
    await judge.drain();
    await judge.quit();
  } finally {
    out.checks.push(...room.checks.filter((check) => check !== undefined));
    out.incidents.push(...incidents.list());
  }
}

async function verifyAll(room: Room): Promise<void> {
  const { plan, scope } = room;
  let runner: Runner | null = null;
  let failures = 0;
  for (const [index, problem] of plan.problems.entries()) {
    scope.ctx.progress(`verify ${index + 1}/${plan.problems.length} ${problem.id}`);
    try {
      runner ??= await startWithArm(room);
      await verifyProblem(room, runner, problem);
    } catch (cause) {
      const fault = runner ? await runner.faultOf(cause, { arm: plan.arm.id, problem: problem.id }) : cause;
      runner = null;
      if (!(fault instanceof CandidateFault)) throw fault;
      room.incidents.add(fault.incident);
      failures += fault.hung ? 2 : 1; // a hang has cost its whole time limit
      if (fault.incident.kind === 'load' || failures > RESTARTS) return;
    }
  }
  await runner?.quit();
}

/** Errors of an access, which CUDA reports without saying where. */
const ACCESS = /IllegalAddress|MisalignedAddress|HardwareStackError|InvalidPc|InvalidAddressSpace|LaunchFailure/;

/** The first such error, looked at again by compute-sanitizer where there is one. */
async function explained({ plan, scope, incidents }: Room): Promise<void> {
  const incident = incidents.find(({ kind, message }) => kind === 'cuda-error' && ACCESS.test(message));
  const problem = plan.problems.find(({ id }) => id === incident?.problem);
  if (!incident || !problem) return;
  const detail = await explainFault(plan, problem, scope);
  if (detail !== null) incidents.explain(incident, detail);
}

async function startWithArm(room: Room): Promise<Runner> {
  const { plan, scope, out } = room;
  const runner = await startRunner(scope, plan);
  out.gpu ??= runner.gpu;
  try {
    await runner.load(plan.arm);
    return runner;
  } catch (cause) {
    throw await runner.faultOf(cause, { arm: plan.arm.id });
  }
}

async function verifyProblem(room: Room, runner: Runner, problem: Problem): Promise<void> {
  await runner.problem(problem);
  const seeds = Array.from({ length: room.plan.seeds }, (_, i) =>
    deriveSeed(room.scope.ctx.seed, 'verify', problem.id, i),
  );
  for (const [i, seed] of seeds.entries()) await verifyCall(room, runner, problem, seed, 'plain', i === 0);
  await runner.cupti(true);
  await verifyCall(room, runner, problem, seeds[0] as string, 'gated', false);
  await runner.cupti(false);
}

async function verifyCall(
  room: Room,
  runner: Runner,
  problem: Problem,
  seed: string,
  quantity: Quantity,
  first: boolean,
): Promise<void> {
  const { scope, judge, budget, incidents } = room;
  const where: Where = { arm: room.plan.arm.id, problem: problem.id };
  const prepared = runner.prepare(seed, 'none');
  const called = runner.call(where.arm as string, quantity);
  await prepared;
  const reply = await called;
  failOnCudaError(reply, where);
  addCallIncidents(reply, where, incidents);
  if (quantity === 'gated') addActivityIncidents(reply, problem, where, incidents);
  await budget.take(outputBytes(problem));
  const checked = runner.check(seed);
  const dumped = await dumpOutputs(scope, runner, problem, seed);
  addCheckIncidents(await checked, problem, where, incidents);
  judge.throwIfFailed();
  const number = room.calls++;
  judge.later(
    judgeDump(scope, judge, budget, dumped).then((outputs) => {
      room.checks[number] = { problem: problem.id, seed, outputs, firstCallNs: first ? reply.wrapperNs : null };
    }),
  );
}

/** A CUDA error left by a call ends the process: what follows in a poisoned context says nothing. */
export function failOnCudaError(reply: CallReply, where: Where): void {
  if (reply.cuda === null) return;
  throw machineFaultOf(reply.cuda) ?? new CandidateFault({ kind: 'cuda-error', ...where, message: reply.cuda }, false);
}

/**
 * A call that writes an output of its own must do something on the GPU. One that only changes its inputs in place may have nothing to
 * do (sorting one element); its values are compared like all others.
 */
function addActivityIncidents(reply: CallReply, problem: Problem, where: Where, incidents: Incidents): void {
  addLate(reply, where, incidents);
  const writes = problem.buffers.some((buffer) => buffer.role === 'out');
  if (writes && reply.acts.length === 0 && reply.dropped === 0)
    incidents.add({
      kind: 'no-activity',
      ...where,
      message: 'the call did nothing on the GPU: no kernel, copy or set was recorded',
    });
}
