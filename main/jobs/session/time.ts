import { deriveRoot, deriveSeed, Prng } from '../../base/random.ts';
import type { ArmId, TimePlan, TimeResult } from '../../contract/index.ts';
import { Activities } from './activities.ts';
import { CandidateFault, type Where } from './classify.ts';
import { DumpBudget, type Dumped, judgeDump } from './dumps.ts';
import { Incidents } from './incidents.ts';
import { type Judge, startJudge } from './judge.ts';
import { Laps } from './laps.ts';
import { type Runner, startRunner } from './runner.ts';
import type { Scope } from './scope.ts';
import { estimateR, smallestStep } from './time-estimate.ts';
import { blockCount, type ProcessKind, processOrder } from './time-order.ts';
import { gatherAfter, issue, judgeEvidence, runPass } from './time-pass.ts';
import { VoidCount } from './time-valid.ts';
import { WholeDraw } from './time-whole.ts';
import { failOnCudaError } from './verify.ts';

/** Calls of origin from which its time is taken; the first one, cold, does not count. */
const CALIBRATION_CALLS = 4;

export const emptyTime = (plan: TimePlan): TimeResult => ({
  mode: 'time',
  phase: plan.phase,
  gpu: null,
  samples: [],
  timerStepNs: 0,
  peaks: null,
  activities: [],
  whole: [],
  sampledChecks: 0,
  incidents: [],
  voided: 0,
  nominated: null,
  pointR: null,
});

/** What the passes of a time session share. */
export class TimeRoom {
  readonly plan: TimePlan;
  readonly scope: Scope;
  readonly judge: Judge;
  readonly out: TimeResult;
  readonly incidents = new Incidents();
  readonly activities = new Activities();
  readonly voids = new VoidCount();
  readonly budget: DumpBudget;
  readonly random: Prng;
  readonly whole: WholeDraw;
  /** Whether the driver gave a list every time when others on the GPU were looked for; null: there is no GPU to look at. */
  looked: boolean | null = null;
  readonly clocks = { smMHz: [] as number[], memMHz: [] as number[] };
  /** Dumped calls that the judge has not been given yet. */
  readonly dumps: { arm: ArmId; problem: number; dump: Dumped }[] = [];
  readonly processes: number;
  /** Blocks per problem; fixed once, from origin alone. */
  blocks: number[] | null = null;
  stepNs: number | null = null;
  /** Arm and problem of the request under way, for the blame. */
  where: Where = {};

  constructor(plan: TimePlan, scope: Scope, judge: Judge, out: TimeResult) {
    this.plan = plan;
    this.scope = scope;
    this.judge = judge;
    this.out = out;
    this.processes = plan.processes + plan.soloProcesses;
    this.budget = new DumpBudget(scope.ctx.limits.memoryMiB);
    this.random = new Prng(deriveRoot(scope.ctx.seed, 'positions'));
    this.whole = new WholeDraw(new Prng(deriveRoot(scope.ctx.seed, 'whole')));
  }

  /** Gives the judge all dumps that wait; their comparisons land in the result. */
  judgeDumps(): void {
    for (const { arm, problem, dump } of this.dumps.splice(0))
      this.judge.later(
        judgeDump(this.scope, this.judge, this.budget, dump).then((outputs) => {
          this.out.whole.push({ arm, problem, outputs });
        }),
      );
  }
}

/**
 * Times the arms (ARCHITECTURE.md, "How a candidate is timed"): several processes one after another, solo ones (origin without any candidate) between them;
 * in each the passes that the plan asks for, wrapper time before spans, over all problems. Every timed call is checked at random positions, one per arm and problem whole.
 */
export async function time(plan: TimePlan, scope: Scope, out: TimeResult): Promise<void> {
  try {
    await timeArms(plan, scope, out);
  } catch (cause) {
    // A vendor's library that fails at some size is no fault of what it is compared with: everything again without it.
    const library = plan.arms.some((arm) => arm.id === 'L') && plan.arms.length > 1;
    if (!library || !(cause instanceof CandidateFault) || cause.incident.arm !== 'L') throw cause;
    Object.assign(out, emptyTime(plan));
    const others = { ...plan, arms: plan.arms.filter((arm) => arm.id !== 'L') };
    await timeArms(others, scope, out).finally(() => out.incidents.push(cause.incident));
  }
}

async function timeArms(plan: TimePlan, scope: Scope, out: TimeResult): Promise<void> {
  const judge = await startJudge(scope, plan);
  const room = new TimeRoom(plan, scope, judge, out);
  try {
    for (const [index, kind] of processOrder(plan.processes, plan.soloProcesses).entries())
      await runProcess(room, index, kind);
    await scope.gpuDone();
    await judge.drain();
    await judge.quit();
    for (const incident of room.voids.verdict()) room.incidents.add(incident);
  } finally {
    finish(room);
  }
}

function finish(room: TimeRoom): void {
  const { plan, out, incidents } = room;
  out.incidents.push(...incidents.list());
  out.activities = room.activities.list();
  out.voided = room.voids.voided;
  out.whole.sort((a, b) => a.problem - b.problem || a.arm.localeCompare(b.arm));
  if (room.clocks.smMHz.length > 0) out.clocks = room.clocks;
  if (room.looked !== null) out.foreignLooked = room.looked;
  out.timerStepNs = smallestStep(spansOf(out)) ?? room.stepNs ?? 0;
  out.pointR = hasCandidate(plan) ? estimateR(out.samples, plan.weights) : null;
}

const hasCandidate = (plan: TimePlan): boolean => plan.arms.some((arm) => arm.id === 'C');

const spansOf = (out: TimeResult): number[] =>
  out.samples
    .filter((set) => set.quantity === 'span')
    .flatMap((set) => Object.values(set.arms).flat())
    .filter((v) => v !== null);

/** Whether the candidate earns a confirming measurement: faster, nothing against it, and measured in full. */
export function nominate(plan: TimePlan, out: TimeResult): void {
  if (plan.phase !== 'nominate' || !hasCandidate(plan)) return;
  const complete =
    out.samples.length === (plan.processes + plan.soloProcesses) * plan.quantities.length * plan.problems.length;
  const spoiled = out.incidents.some((i) => i.arm === undefined || i.arm === 'C');
  out.nominated = complete && !spoiled && out.pointR !== null && out.pointR > plan.nominateAbove;
}

async function runProcess(room: TimeRoom, index: number, kind: ProcessKind): Promise<void> {
  const { plan, out } = room;
  const laps = new Laps();
  const runner = await startRunner(room.scope, plan);
  laps.lap('start');
  try {
    out.gpu ??= runner.gpu;
    room.where = {};
    if (runner.gpu && !out.peaks && (kind === 'solo' || plan.soloProcesses === 0)) {
      out.peaks = await runner.peaks();
      laps.lap('peaks');
    }
    const counted = room.blocks !== null;
    await loadArms(room, runner, index, kind);
    laps.lap(counted ? 'load' : 'load and count blocks');
    // Beside a candidate's timed calls the judge has little to do; a baseline's do not wait for it.
    if (hasCandidate(plan)) {
      await room.judge.drain();
      laps.lap('judge');
    }
    await runPasses(room, runner, index, kind, laps);
    await runner.quit();
    laps.lap('end');
    room.scope.ctx.progress(`time ${index + 1}/${room.processes} ${kind}: ${laps.text()}`);
  } catch (cause) {
    throw await runner.faultOf(cause, room.where);
  }
  room.judgeDumps();
}

/** Most memory taken to shift where code and buffers come to lie, bytes. */
const MOST_PADDING = 64 << 20;

/**
 * Before any candidate is loaded, origin's time fixes the number of blocks. Where code and buffers lie in memory changes times by up to
 * some thousandths (seen on an H200: the same source against itself, 0.04 % to one side in every process of one layout), so each process
 * draws its layout: an allocation of random size first, the arms in random order. What layout does is then between processes, where the
 * intervals look for it.
 */
async function loadArms(room: TimeRoom, runner: Runner, index: number, kind: ProcessKind): Promise<void> {
  const origin = room.plan.arms.find((arm) => arm.id === 'O');
  if (!origin) return;
  const random = new Prng(deriveRoot(room.scope.ctx.seed, 'layout', index));
  await runner.pad(random.int(0, MOST_PADDING >> 9) * 512);
  const first = room.blocks ? [] : [origin];
  const later = kind === 'solo' ? [origin] : random.shuffle([...room.plan.arms]);
  for (const arm of [...first, ...later.filter((a) => !first.includes(a))]) {
    room.where = { arm: arm.id };
    await runner.load(arm);
    if (!room.blocks) await calibrate(room, runner, origin.id);
  }
}

/** Fixes the number of blocks of every problem, from origin and the judge alone. */
async function calibrate(room: TimeRoom, runner: Runner, origin: ArmId): Promise<void> {
  const { plan } = room;
  const blocks: number[] = [];
  for (const [index, problem] of plan.problems.entries()) {
    room.where = { arm: origin, problem: problem.id };
    await runner.problem(problem);
    let cycleNs = Number.POSITIVE_INFINITY;
    let judgeNs = 0;
    for (let i = 0; i < CALIBRATION_CALLS; i++) {
      const call = { arm: origin, seed: deriveSeed(room.scope.ctx.seed, 'calibrate', index, i), timed: false };
      const start = performance.now();
      const { prepared, called } = issue(room, runner, 'wrapper', call);
      await prepared;
      failOnCudaError(await called, room.where);
      if (i > 0) cycleNs = Math.min(cycleNs, (performance.now() - start) * 1e6);
      // The judge of calls that are not all checked does not hold them up.
      if (plan.checkedBlocks !== undefined) continue;
      const checking = performance.now();
      await judgeEvidence(room, problem, gatherAfter(room, runner, problem, call));
      await room.judge.drain();
      judgeNs = (performance.now() - checking) * 1e6;
    }
    blocks.push(blockCount(cycleNs, judgeNs, plan.arms.length, plan.blocks));
    const calls = plan.processes * plan.quantities.length * 2 * (blocks[index] as number);
    for (const arm of plan.arms) room.whole.expect(arm.id, index, calls);
  }
  room.blocks = blocks;
}

async function runPasses(
  room: TimeRoom,
  runner: Runner,
  process: number,
  kind: ProcessKind,
  laps: Laps,
): Promise<void> {
  const arms: ArmId[] = kind === 'solo' ? ['O'] : room.plan.arms.map((a) => a.id);
  const { quantities } = room.plan;
  if (quantities.includes('wrapper')) {
    await runPass(room, runner, { process, kind, quantity: 'wrapper', arms });
    laps.lap('wrapper times');
  }
  if (!quantities.includes('span')) return;
  noteStep(room, await runner.cupti(true));
  laps.lap('recording on');
  await runPass(room, runner, { process, kind, quantity: 'span', arms });
  laps.lap('spans');
  noteStep(room, await runner.cupti(false));
}

function noteStep(room: TimeRoom, step: number | null): void {
  if (step !== null && (room.stepNs === null || step < room.stepNs)) room.stepNs = step;
}
