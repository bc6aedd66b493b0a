import type { Outcome, Problem, TimeResult } from '../contract/index.ts';
import { bound } from './bootstrap.ts';
import { defaults } from './defaults.ts';
import { type Bootstrapped, bootstrapped, type Figures, type FiguresInput, figuresOf } from './figures.ts';
import { tableOf } from './samples.ts';
import { centre, mean, studentUpper, variance } from './stats.ts';

export interface Decision {
  readonly outcome: Extract<
    Outcome,
    'accepted' | 'trade-off' | 'not-faster' | 'interference' | 'suspect' | 'environment'
  >;
  readonly reason: string;
  readonly figures: Figures | null;
}

const times = (x: number): string => `${x.toFixed(x < 10 ? 3 : 2)}x`;
const us = (ns: number): string => `${(ns / 1000).toFixed(2)} us`;
const percent = (p: number): string => `${(100 * (1 - p)).toFixed(p < 0.005 ? 2 : 1)} %`;

/**
 * One-sided error probability for the n-th candidate of a run: as if n had been planned (Bonferroni). How many will come is not known, so over
 * a whole run the probabilities add up to alpha (1 + 1/2 + … + 1/n): 3.1 % at most for 12 candidates of which none is better. That bound is
 * for R = 1; the margin above it leaves less (docs/results/self-comparison-h200.md).
 */
export const alphaFor = (tries: number): number => defaults.accept.alpha / Math.max(1, tries);

/**
 * Decides on a candidate from its confirming sample alone. Checks in order: enough valid samples, origin
 * undisturbed, times physically possible, R above the margin, wrapper time not worse, no size clearly slower.
 */
export function decide(input: FiguresInput, tries: number): Decision {
  const span = bootstrapped(input, 'span');
  const wrapper = bootstrapped(input, 'wrapper');
  if (span === null || wrapper === null) return tooFew(input.time, null);
  const figures = figuresOf(input, span, wrapper);
  if (span.spread.processes < defaults.accept.minProcesses) return tooFew(input.time, figures);
  const at = (outcome: Decision['outcome'], reason: string): Decision => ({ outcome, reason, figures });
  const disturbed = interference(input);
  if (disturbed.outcome !== 'undisturbed') return at(disturbed.outcome, disturbed.reason);
  const impossible = belowFloor(input, figures);
  if (impossible !== null) return at('suspect', impossible);
  const alpha = alphaFor(tries);
  const { margin } = defaults.accept;
  const lower = bound(span.spread, span.at.ratio, 'lower', alpha, span.least[span.at.ratio]);
  const point = Math.exp(span.spread.point[span.at.ratio] as number);
  const ratio = `R = ${times(point)} against the best, lower ${percent(alpha)} bound ${times(lower)}`;
  if (!(lower > margin)) return at('not-faster', `${ratio}: not above ${margin}`);
  // What speaks against a candidate is judged at the level of one test: the correction for many candidates makes acceptance harder, and would
  // make these guards blind.
  const guard = defaults.accept.alpha;
  const slowerWrapper = upperOf(wrapper, wrapper.at.ratio, guard);
  if (slowerWrapper < 1)
    return at(
      'not-faster',
      `${ratio}, but callers wait longer: wrapper time ratio at most ${times(slowerWrapper)} of the best's speed`,
    );
  const slow = slowSize(input.problems, span, guard);
  if (slow !== null) return at('trade-off', `${ratio}, but ${slow}`);
  return at('accepted', `${ratio} > ${margin}; P = ${times(figures.score?.value ?? Number.NaN)} over origin`);
}

const upperOf = (b: Bootstrapped, position: number, alpha: number): number =>
  bound(b.spread, position, 'upper', alpha, b.least[position]);

function tooFew(time: TimeResult, figures: Figures | null): Decision {
  const foreign = time.incidents.find((i) => i.kind === 'foreign-work');
  const why = foreign ? `other programs used the GPU (${foreign.message})` : `${time.voided} calls were void`;
  return { outcome: 'environment', reason: `too few valid samples: ${why}`, figures };
}

/** A size that is below the allowed share of the best's speed beyond noise; all sizes together keep the level. */
function slowSize(problems: readonly Problem[], span: Bootstrapped, alpha: number): string | null {
  const { worstSize } = defaults.accept;
  for (const [i, problem] of problems.entries()) {
    const upper = upperOf(span, span.at.versusBest + i, alpha / problems.length);
    if (upper < worstSize)
      return `size ${problem.id} runs at ${times(upper)} of the best's speed at most, below ${worstSize}`;
  }
  return null;
}

function belowFloor(input: FiguresInput, figures: Figures): string | null {
  const { floorShare } = defaults.accept;
  for (const [i, size] of figures.sizes.entries()) {
    const floor = input.floors[i] ?? null;
    const own = size.candidateSpanNs?.value;
    if (floor === null || own === undefined) continue;
    if (own + input.time.timerStepNs < floorShare * floor)
      return `size ${size.problem} took ${us(own)}, below ${floorShare} of the ${us(floor)} that this GPU needs at least`;
  }
  return null;
}

interface Groups {
  readonly full: number[];
  readonly solo: number[];
}

/** Lower bound of log(full/solo) of two groups of process means: pooled variance, Student. null with too few processes. */
function slowdown(groups: Groups, alpha: number): { point: number; lower: number } | null {
  const { full, solo } = groups;
  const df = full.length + solo.length - 2;
  if (full.length < 1 || solo.length < 1 || df < 1) return null;
  const pooled = ((full.length - 1) * variance(full) + (solo.length - 1) * variance(solo)) / df;
  const point = mean(full) - mean(solo);
  return { point, lower: point - studentUpper(alpha, df) * Math.sqrt(pooled * (1 / full.length + 1 / solo.length)) };
}

/** Origin's log times by process: centre per size, in processes of one kind. */
function originTimes(input: FiguresInput, kind: 'full' | 'solo'): Map<number, number>[] {
  const table = tableOf(input.time.samples, {
    kind,
    quantity: 'span',
    arms: ['O'],
    problems: input.problems.length,
    minBlocks: defaults.accept.minBlocks,
  });
  return table.problems.map((cells) => new Map(cells.map((cell) => [cell.process, centre([...cell.logs]) as number])));
}

type Disturbance =
  | { readonly outcome: 'undisturbed' }
  | { readonly outcome: 'interference' | 'environment'; readonly reason: string };

/**
 * Origin beside the candidate against origin alone. Slower by more than the margin beyond noise, weighted over sizes or at any one
 * size (levels shared), means that the candidate disturbs what it is compared with. Without valid times of origin alone nothing is proven.
 */
function interference(input: FiguresInput): Disturbance {
  const full = originTimes(input, 'full');
  const solo = originTimes(input, 'solo');
  const total = input.weights.reduce((a, b) => a + b, 0);
  const weighted = (sizes: Map<number, number>[]): number[] =>
    [...(sizes[0]?.keys() ?? [])]
      .filter((process) => sizes.every((size) => size.has(process)))
      .map((process) =>
        sizes.reduce((sum, size, i) => sum + ((input.weights[i] as number) / total) * (size.get(process) as number), 0),
      );
  const limit = Math.log(defaults.accept.interferenceMargin);
  const alpha = defaults.accept.alpha / (1 + input.problems.length);
  const tests: [string, Groups][] = [
    ['over all sizes', { full: weighted(full), solo: weighted(solo) }],
    ...input.problems.map((problem, i): [string, Groups] => [
      `at size ${problem.id}`,
      { full: [...(full[i]?.values() ?? [])], solo: [...(solo[i]?.values() ?? [])] },
    ]),
  ];
  for (const [where, groups] of tests) {
    const found = slowdown(groups, alpha);
    if (found === null)
      return {
        outcome: 'environment',
        reason: `whether the candidate disturbs the origin is not known: too few valid times of the origin alone ${where} (${input.time.voided} calls were void)`,
      };
    if (found.lower > limit)
      return {
        outcome: 'interference',
        reason: `origin is ${times(Math.exp(found.point))} as slow beside the candidate as alone ${where} (at least ${times(Math.exp(found.lower))})`,
      };
  }
  return { outcome: 'undisturbed' };
}
