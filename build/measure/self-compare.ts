/**
 * Self-comparisons: origin's source as candidate, through nomination and (where nominated) confirmation, so that every acceptance is a
 * false one. One JSON line per comparison on stdout, none left out, none repeated; a summary last.
 * Usage: node dist/self-compare.js ROOT [--count 400] [--tasks spmv_csr:fp32,dot_product:fp32] [--confirm-all 0] [--minutes 9]
 * `--confirm-all N`: after those, N more in which the confirming sample is taken whether nominated or not (coverage of its intervals).
 */
import { newRootSeed } from '../../main/base/random.ts';
import type { Dtype, Estimate, JobBundle, SessionStep, Step, TimeResult } from '../../main/contract/index.ts';
import { unwrap } from '../../main/contract/index.ts';
import { decide } from '../../main/evaluate/accept.ts';
import { bootstrapped, type FiguresInput, figuresOf } from '../../main/evaluate/figures.ts';
import { planEvaluation, scoredProblems, stepIds } from '../../main/evaluate/plan.ts';
import { asCandidate, evaluationInput, execute, localExecutor, options, task } from './common.ts';

const { root, option } = options();
const count = Number(option('count', '400'));
const confirmAll = Number(option('confirm-all', '0'));
const deadline = Date.now() + Number(option('minutes', '9')) * 60_000;
const pairs = option('tasks', 'spmv_csr:fp32,dot_product:fp32')
  .split(',')
  .map((p) => p.split(':') as [string, Dtype]);
const executor = await localExecutor();

/** Builds and timing only: that origin is right is proven elsewhere, once. */
function timingOnly(bundle: JobBundle, forced: boolean): JobBundle {
  const steps = bundle.job.steps.flatMap((step): Step[] => {
    if (step.kind === 'build') return [step];
    if (step.plan.mode !== 'time') return [];
    const { ifVerified: _, ...rest } = step;
    const own: SessionStep = { ...rest, needs: step.needs.filter((id) => id !== stepIds.verify) };
    if (forced) delete own.ifNominated;
    return [own];
  });
  const builds = steps.filter((s) => s.kind === 'build').map((s) => s.id);
  return {
    ...bundle,
    job: { ...bundle.job, steps: steps.map((s) => (s.kind === 'build' ? s : { ...s, needs: [...builds] })) },
  };
}

interface Row {
  readonly i: number;
  readonly task: string;
  readonly dtype: Dtype;
  readonly forced: boolean;
  readonly nominated: boolean;
  readonly pointR: number | null;
  readonly outcome: string;
  readonly reason: string;
  /** Two-sided intervals of R, level as in the figures: first look, confirming sample. */
  readonly nominate: Estimate | null;
  readonly confirm: Estimate | null;
  readonly wallMs: number;
}

const rows: Row[] = [];
for (let i = 0; i < count + confirmAll && Date.now() < deadline; i++) {
  const [id, dtype] = pairs[i % pairs.length] as [string, Dtype];
  const row = await compare(i, id, dtype, i >= count);
  rows.push(row);
  console.log(JSON.stringify(row));
}
summary();

async function compare(i: number, id: string, dtype: Dtype, forced: boolean): Promise<Row> {
  const started = performance.now();
  const loaded = task(root, id);
  const input = evaluationInput(loaded, dtype, asCandidate(loaded, dtype), `self ${i}`);
  const bundle = timingOnly(unwrap(planEvaluation(input)), forced);
  const result = await execute(executor, bundle, newRootSeed(), `self-${i}`);
  const session = (name: string): TimeResult | null => {
    const found = result.steps.find((s) => s.id === name)?.session;
    return found?.mode === 'time' ? found : null;
  };
  const first = session(stepIds.nominate);
  const second = session(stepIds.confirm);
  const asInput = (time: TimeResult): FiguresInput => {
    const { problems, weights } = scoredProblems(input);
    return {
      time,
      problems,
      weights,
      floors: problems.map(() => null),
      hasBest: false,
      hasCandidate: true,
      seed: input.planSeed,
    };
  };
  const ratio = (time: TimeResult | null): Estimate | null => {
    if (time === null) return null;
    const span = bootstrapped(asInput(time), 'span');
    return span === null ? null : figuresOf(asInput(time), span, bootstrapped(asInput(time), 'wrapper')).ratio;
  };
  const decision = second === null ? null : decide(asInput(second), 1);
  return {
    i,
    task: id,
    dtype,
    forced,
    nominated: first?.nominated === true,
    pointR: first?.pointR ?? null,
    outcome: decision?.outcome ?? 'not-faster',
    reason: decision?.reason ?? 'not nominated',
    nominate: ratio(first),
    confirm: ratio(second),
    wallMs: Math.round(performance.now() - started),
  };
}

function summary(): void {
  const whole = rows.filter((r) => !r.forced);
  const accepted = whole.filter((r) => r.outcome === 'accepted');
  const covered = (pick: (r: Row) => Estimate | null, of: readonly Row[]): string => {
    const intervals = of.map(pick).filter((x) => x !== null);
    const hits = intervals.filter((x) => x.lo <= 1 && 1 <= x.hi).length;
    return intervals.length === 0 ? 'none' : `${hits}/${intervals.length}`;
  };
  const level = rows.map((r) => r.nominate ?? r.confirm).find((x) => x !== null)?.level ?? null;
  console.log(
    JSON.stringify({
      summary: true,
      comparisons: whole.length,
      asked: count,
      nominated: whole.filter((r) => r.nominated).length,
      accepted: accepted.length,
      goal: 'at most 4 of 400 accepted',
      met: whole.length >= count && accepted.length <= 4,
      level,
      coverageNominate: covered((r) => r.nominate, rows),
      coverageConfirmForced: covered(
        (r) => r.confirm,
        rows.filter((r) => r.forced),
      ),
      outcomes: countBy(whole.map((r) => r.outcome)),
      forcedOutcomes: countBy(rows.filter((r) => r.forced).map((r) => r.outcome)),
    }),
  );
}

function countBy(values: readonly string[]): Record<string, number> {
  const out: Record<string, number> = {};
  for (const v of values) out[v] = (out[v] ?? 0) + 1;
  return out;
}
