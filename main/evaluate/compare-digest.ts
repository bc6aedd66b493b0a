import type { Comparison, Dtype, Problem, VerifyPlan, VerifyResult } from '../contract/index.ts';
import { comparisonPassed } from '../jobs/verified.ts';

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
export const dimsText = (problem: Pick<Problem, 'dims'>): string =>
  Object.entries(problem.dims)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

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
  if (c.nonFinite > 0) parts.push(`${share(c.nonFinite, c.compared)} are NaN or infinite where the result is finite`);
  const first = c.first[0]?.index;
  if (c.bad > 0 && first !== undefined && c.lastBad !== null) {
    const span = c.lastBad - first + 1;
    if (c.bad === c.compared) parts.push('every element is wrong');
    else if (c.bad === 1) parts.push(`one element is wrong, index ${first}`);
    else if (span === c.bad)
      parts.push(
        `one run of elements is wrong, ${first} to ${c.lastBad}${c.lastBad === c.compared - 1 ? ' (the end)' : ''}`,
      );
    else if (c.stride !== null && c.stride > 1)
      parts.push(`wrong every ${c.stride} elements, from ${first} to ${c.lastBad}`);
    else parts.push(`wrong ones lie between ${first} and ${c.lastBad}`);
  }
  if (c.bad === 0 && c.rms !== null)
    parts.push(`no single element is over its limit, but the RMS of error over limit is ${c.rms.toPrecision(3)}`);
  return parts.join('; ');
}

function outputText(c: Comparison): string {
  const lines = [`  output ${c.output}: ${share(c.bad, c.compared)} elements wrong; ${patternOf(c)}.`];
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
  const lines = [
    `Verification failed at ${failing.size} of ${plan.problems.length} sizes or kinds of input.`,
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

const label = (problem: Problem): string => {
  const variant = problem.id.split('+')[1];
  return `${dimsText(problem)}${variant === undefined ? '' : ` (input: ${variant})`}`;
};

/** Largest relative error that rounding inputs or products to half, TF32 or bf16 makes, with room for a few in a row. */
const LOW_PRECISION = { fp32: 2 ** -6, bf16: 2 ** -5 } as const;

/**
 * Wrong by the magnitudes that lower precision gives, without any structure: all failing outputs have a good share of wrong elements
 * spread out, none missing, zero or non-finite, and errors that stay below what rounding to half, TF32 or bf16 inside makes, measured
 * against the scale of the limit (its √n·M), or against the values where results are exact.
 */
export function looksLikePrecision(failures: readonly Failure[], dtype: Dtype): boolean {
  const largest = Math.max(0, ...failures.flatMap((f) => f.outputs.map((output) => output.compared)));
  return largest >= 32 && hasSmallErrors(failures, dtype);
}

/** All errors within what lower precision makes. With few outputs (a reduction) a few missing terms look the same. */
export const hasSmallErrors = (failures: readonly Failure[], dtype: Dtype): boolean =>
  failures.length > 0 && failures.every((f) => f.outputs.every((output) => precisionOf(output, f.problem, dtype)));

function precisionOf(c: Comparison, problem: Problem, dtype: Dtype): boolean {
  if (c.allZero || c.poisonLeft > 0 || c.nonFinite > 0 || c.worst === null) return false;
  if (c.compared >= 32 && c.bad > 0 && c.bad < 0.01 * c.compared && contiguous(c)) return false;
  const index = problem.buffers.findIndex((buffer) => buffer.name === c.output);
  const limit = problem.limits.find((entry) => entry.buffer === index);
  if (limit === undefined) return false;
  const unit = limit.uOut + limit.c * limit.uAcc;
  if (unit > 0) return c.worst * unit <= LOW_PRECISION[dtype];
  return c.first.every(
    (e) =>
      typeof e.got === 'number' && typeof e.want === 'number' && Math.abs(e.got - e.want) <= 2 ** -7 * Math.abs(e.want),
  );
}

const contiguous = (c: Comparison): boolean => {
  const first = c.first[0]?.index;
  return first !== undefined && c.lastBad !== null && c.lastBad - first + 1 === c.bad;
};

/**
 * Right for the first contents and wrong for all later ones of the same size, at every failing size: the answer was kept, not
 * computed. An honest fault does not know which call came first.
 */
export function looksKept(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): boolean {
  const failing = new Set(failures.map((f) => f.problem.id));
  if (failing.size === 0 || plan.seeds < 2) return false;
  return [...failing].every((id) => {
    // Checks of a problem keep the order of its calls; the last one repeats the first contents.
    const checks = result.checks.filter((check) => check.problem === id);
    const firstSeed = checks[0]?.seed;
    const isBad = (check: Check): boolean => failures.some((f) => f.check === check);
    const other = checks.filter((check) => check.seed !== firstSeed);
    const same = checks.filter((check) => check.seed === firstSeed);
    return (
      other.length > 0 &&
      other.every((check) => isBad(check) && check.outputs.some((o) => o.bad > 0.5 * o.compared)) &&
      same.every((check) => !isBad(check))
    );
  });
}
