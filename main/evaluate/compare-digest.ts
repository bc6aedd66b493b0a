import type { Comparison, Problem, VerifyPlan, VerifyResult } from '../contract/index.ts';
import { comparisonPassed } from '../jobs/verified.ts';
import { label, separation } from './where.ts';

type Check = VerifyResult['checks'][number];

export interface Failure {
  readonly check: Check;
  readonly problem: Problem;
  readonly outputs: readonly Comparison[];
}

/** Checks with at least one output that did not pass, in order, with those outputs only. */
export function failuresOf(plan: VerifyPlan, result: VerifyResult): Failure[] {
  return result.checks.flatMap((check) => {
    const problem = plan.problems.find((p) => p.id === check.problem);
    if (problem === undefined) return [];
    const outputs = check.outputs.filter((output) => !comparisonPassed(output, problem));
    return outputs.length > 0 ? [{ check, problem, outputs }] : [];
  });
}

const share = (part: number, whole: number): string =>
  `${part} of ${whole} (${((100 * part) / whole).toPrecision(3)} %)`;
const number = (value: number | string): string => (typeof value === 'number' ? value.toPrecision(7) : value);
/** "one run of elements is wrong, 976 to 999 (the end)": where the wrong elements of an output lie; '' when nothing can be said. */
export function positionsOf(c: Comparison): string {
  const first = c.first[0]?.index;
  if (c.bad === 0 || first === undefined || c.lastBad === null) return '';
  const span = c.lastBad - first + 1;
  if (c.bad === c.compared) return c.compared === 1 ? '' : 'every element is wrong';
  if (c.bad === 1) return `one element is wrong, index ${first}${c.lastBad === c.compared - 1 ? ' (the last)' : ''}`;
  if (span === c.bad)
    return `one run of elements is wrong, ${first} to ${c.lastBad}${c.lastBad === c.compared - 1 ? ' (the end)' : ''}`;
  if (c.stride !== null && c.stride > 1) {
    // The judge's stride is that of at least half of the gaps; only a count that fits makes it that of all.
    const all = Math.abs((span - 1) / c.stride + 1 - c.bad) < 1;
    return `wrong ${all ? '' : 'mostly '}every ${c.stride} elements, from ${first} to ${c.lastBad}`;
  }
  return `wrong ones lie between ${first} and ${c.lastBad}`;
}

/** Elements that were written with something that is not finite; poison is not, and counts as never written. */
export const writtenNonFinite = (c: Comparison): number => Math.max(0, c.nonFinite - c.poisonLeft);

/** What the wrong elements have in common, in words that help to find the fault. */
export function patternOf(c: Comparison): string {
  const parts: string[] = [];
  if (c.bad > 0 && c.allZero) parts.push('the output is all zero');
  if (c.poisonLeft > 0)
    parts.push(
      c.poisonLeft === c.compared
        ? 'nothing was written'
        : `${share(c.poisonLeft, c.compared)} elements were never written`,
    );
  const nonFinite = writtenNonFinite(c);
  if (nonFinite > 0) parts.push(`${share(nonFinite, c.compared)} are NaN or infinite where the result is finite`);
  const positions = positionsOf(c);
  if (positions !== '') parts.push(positions);
  if (c.bad === 0 && c.rms !== null)
    parts.push(`no single element is over its limit, but the RMS of error over limit is ${c.rms.toPrecision(3)}`);
  return parts.join('; ');
}

function outputText(c: Comparison): string {
  const pattern = patternOf(c);
  const lines = [
    `  output ${c.output}: ${share(c.bad, c.compared)} elements wrong${pattern === '' ? '' : `; ${pattern}`}.`,
  ];
  if (c.worst !== null)
    lines.push(
      `    largest error ${c.worst.toPrecision(4)} times its limit${c.maxUlp === null ? '' : `, ${c.maxUlp.toPrecision(4)} ulp`}`,
    );
  for (const e of c.first.slice(0, 6))
    lines.push(
      `    [${e.index}] got ${number(e.got)}, expected ${number(e.want)}, allowed error ${e.limit.toPrecision(3)}`,
    );
  return lines.join('\n');
}

/** The Debug agent's view of a failed verification: which sizes pass, which fail and how. */
export function verifyDigest(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): string {
  const failing = new Set(failures.map((f) => f.problem.id));
  const passing = plan.problems.filter(
    (p) => !failing.has(p.id) && result.checks.some((check) => check.problem === p.id),
  );
  const shown = failures.filter((f, i) => failures.findIndex((g) => g.problem.id === f.problem.id) === i).slice(0, 4);
  const where = separation(plan, result, failing);
  const lines = [
    `Verification failed at ${failing.size} of ${plan.problems.length} sizes or kinds of input${where === '' ? '' : `: ${where}`}.`,
    ...shown.flatMap((f) => {
      const all = result.checks.filter((check) => check.problem === f.problem.id).length;
      const bad = failures.filter((g) => g.problem.id === f.problem.id).length;
      return [`- ${label(f.problem)}: ${bad} of ${all} calls wrong.`, ...f.outputs.map(outputText)];
    }),
  ];
  if (failing.size > shown.length) lines.push(`(${failing.size - shown.length} more fail.)`);
  if (passing.length > 0) lines.push(`Right at: ${passing.slice(0, 8).map(label).join('; ')}.`);
  return lines.join('\n');
}
