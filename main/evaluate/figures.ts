import type { ArmId, Estimate, Evaluation, Problem, SampleSet, SizeFigures, TimeResult } from '../contract/index.ts';
import { bootstrap, type Centres, estimate, type Spread } from './bootstrap.ts';
import { defaults } from './defaults.ts';
import { tableOf } from './samples.ts';

export type Figures = NonNullable<Evaluation['figures']>;

export interface FiguresInput {
  readonly time: TimeResult;
  readonly problems: readonly Problem[];
  /** Same order as problems; not normalised. */
  readonly weights: readonly number[];
  /** Least possible time of each problem, ns; null = unknown. */
  readonly floors: readonly (number | null)[];
  readonly hasBest: boolean;
  readonly hasCandidate: boolean;
  /** Hex; the bootstrap's own stream. */
  readonly seed: string;
}

/** Bootstrapped quantities of one pass, with the positions of each statistic and the timer's share of each interval. */
export interface Bootstrapped {
  readonly spread: Spread;
  readonly at: Positions;
  /** Half width that the timer's step alone gives, log, by position. */
  readonly least: Float64Array;
}

/** Positions in the statistic vector. `size` ones are followed by one entry per problem. */
interface Positions {
  readonly score: number;
  readonly ratio: number;
  readonly geomean: number;
  readonly origin: number;
  readonly best: number;
  readonly candidate: number;
  readonly speedup: number;
  readonly versusBest: number;
  readonly length: number;
}

function positions(n: number): Positions {
  const size = (k: number): number => 3 + k * n;
  return {
    score: 0,
    ratio: 1,
    geomean: 2,
    origin: size(0),
    best: size(1),
    candidate: size(2),
    speedup: size(3),
    versusBest: size(4),
    length: size(5),
  };
}

interface Roles {
  readonly o: number;
  readonly b: number | null;
  readonly c: number | null;
}

/**
 * Fills all statistics from one set of centres: R over sizes, P, geometric mean, times and ratios of each size. log S_i of an arm is
 * origin's centre over the arm's, from block-wise relative centres; 0 for origin itself.
 */
function statistics(weights: readonly number[], roles: Roles, at: Positions, c: Centres, out: Float64Array): void {
  const { values, from, width, absoluteAt } = c;
  const b = roles.b ?? roles.o;
  const k = roles.c ?? roles.o;
  let candidate = 0;
  let best = 0;
  let total = 0;
  let logs = 0;
  const n = weights.length;
  for (let i = 0; i < n; i++) {
    const w = weights[i] as number;
    const row = from + i * width;
    const origin = values[row + roles.o] as number;
    const sC = origin - (values[row + k] as number);
    const sB = origin - (values[row + b] as number);
    // e⁰ is 1, and a call that is not needed.
    candidate += k === roles.o ? w : w * Math.exp(sC);
    best += b === roles.o ? w : w * Math.exp(sB);
    total += w;
    logs += sC;
    out[at.origin + i] = values[row + absoluteAt + roles.o] as number;
    out[at.best + i] = values[row + absoluteAt + b] as number;
    out[at.candidate + i] = values[row + absoluteAt + k] as number;
    out[at.speedup + i] = sC;
    out[at.versusBest + i] = sC - sB;
  }
  out[at.score] = Math.log(candidate / total);
  out[at.ratio] = Math.log(candidate / best);
  out[at.geomean] = logs / n;
}

/**
 * What the timer's step alone leaves open, log: half a step on every time that enters. Sums over sizes weigh each size by its share.
 * A step of 0 (unknown) leaves nothing.
 */
function timerShare(
  weights: readonly number[],
  roles: Roles,
  at: Positions,
  point: Float64Array,
  stepNs: number,
): Float64Array {
  const least = new Float64Array(at.length);
  const n = weights.length;
  const half = (position: number): number => stepNs / 2 / Math.exp(point[position] as number);
  let shares = 0;
  for (let i = 0; i < n; i++) {
    const o = half(at.origin + i);
    const b = roles.b === null ? o : half(at.best + i);
    const c = roles.c === null ? o : half(at.candidate + i);
    least[at.origin + i] = o;
    least[at.best + i] = b;
    least[at.candidate + i] = c;
    least[at.speedup + i] = o + c;
    least[at.versusBest + i] = b + c;
    const share = (weights[i] as number) * Math.exp(point[at.speedup + i] as number);
    shares += share;
    least[at.score] = (least[at.score] as number) + share * (o + c);
    least[at.ratio] = (least[at.ratio] as number) + share * (b + c);
    least[at.geomean] = (least[at.geomean] as number) + (o + c) / n;
  }
  least[at.score] = (least[at.score] as number) / shares;
  least[at.ratio] = (least[at.ratio] as number) / shares;
  return least;
}

/** Bootstraps one quantity of the full processes; null when a size has too few valid blocks. */
export function bootstrapped(input: FiguresInput, quantity: SampleSet['quantity']): Bootstrapped | null {
  const arms: ArmId[] = [
    'O',
    ...(input.hasBest ? (['B'] as const) : []),
    ...(input.hasCandidate ? (['C'] as const) : []),
  ];
  const at = positions(input.problems.length);
  const roles: Roles = {
    o: 0,
    b: input.hasBest ? arms.indexOf('B') : null,
    c: input.hasCandidate ? arms.indexOf('C') : null,
  };
  const table = tableOf(input.time.samples, {
    kind: 'full',
    quantity,
    arms,
    problems: input.problems.length,
    minBlocks: defaults.accept.minBlocks,
  });
  const spread = bootstrap(table, (c, out) => statistics(input.weights, roles, at, c, out), at.length, {
    seed: `${input.seed}:${quantity}`,
    resamples: defaults.accept.resamples,
  });
  if (spread === null) return null;
  // The wrapper is timed by the host's clock, whose step of some ns is far below its noise.
  const step = quantity === 'span' ? input.time.timerStepNs : 1;
  return { spread, at, least: timerShare(input.weights, roles, at, spread.point, step) };
}

const shown = (b: Bootstrapped, position: number): Estimate =>
  estimate(b.spread, position, defaults.accept.level, b.least[position] as number);

function sizeFigures(input: FiguresInput, i: number, span: Bootstrapped, wrapper: Bootstrapped | null): SizeFigures {
  const problem = input.problems[i] as Problem;
  const { at } = span;
  const candidate = input.hasCandidate;
  return {
    problem: problem.id,
    dims: problem.dims,
    weight: input.weights[i] as number,
    originSpanNs: shown(span, at.origin + i),
    bestSpanNs: input.hasBest ? shown(span, at.best + i) : null,
    candidateSpanNs: candidate ? shown(span, at.candidate + i) : null,
    originWrapperNs: wrapper ? shown(wrapper, at.origin + i) : null,
    candidateWrapperNs: wrapper && candidate ? shown(wrapper, at.candidate + i) : null,
    speedup: candidate ? shown(span, at.speedup + i) : null,
    versusBest: candidate ? shown(span, at.versusBest + i) : null,
    wrapperVersusBest: wrapper && candidate ? shown(wrapper, at.versusBest + i) : null,
    floorNs: input.floors[i] ?? null,
  };
}

/** Everything that is shown of a timing session. */
export function figuresOf(input: FiguresInput, span: Bootstrapped, wrapper: Bootstrapped | null): Figures {
  const { time, problems, hasCandidate } = input;
  const sizes = problems.map((_, i) => sizeFigures(input, i, span, wrapper));
  const speedups = sizes.map((size) => size.speedup?.value).filter((v) => v !== undefined);
  const calls = time.samples.reduce((sum, set) => sum + Object.values(set.arms).reduce((n, a) => n + a.length, 0), 0);
  return {
    phase: hasCandidate ? time.phase : 'baseline',
    sizes,
    score: hasCandidate ? shown(span, span.at.score) : null,
    pMin: hasCandidate ? Math.min(...speedups) : null,
    geomean: hasCandidate ? Math.exp(span.spread.point[span.at.geomean] as number) : null,
    ratio: hasCandidate ? shown(span, span.at.ratio) : null,
    processes: span.spread.processes,
    calls,
    voided: time.voided,
  };
}
