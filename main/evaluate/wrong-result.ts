import type { Comparison, Dtype, Outcome, VerifyPlan, VerifyResult } from '../contract/index.ts';
import { looksKept, onlyFirstWrong, type Unrepeatable, unrepeatable, wrongAfterFirst } from './call-pattern.ts';
import { type Failure, positionsOf, verifyDigest, writtenNonFinite } from './compare-digest.ts';
import { formatText, hasSmallErrors, lowPrecision } from './precision.ts';
import { middle } from './stats.ts';
import { label, scopeText } from './where.ts';

/** What wrong results mean: outcome, one line with numbers, and what the Debug agent is told. */
export interface WrongResult {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly digest: string;
  /** The fault lies in what one call leaves to the next: it may be the cause of a later crash. */
  readonly deferred: boolean;
}

const numberText = (value: number | string): string =>
  typeof value === 'number' ? String(Number(value.toPrecision(6))) : value;
const times = (value: number): string => `${Number(value.toPrecision(3))} times the limit`;

type Element = Comparison['first'][number];

const valueText = (e: Element): string => `got ${numberText(e.got)}, expected ${numberText(e.want)}`;

function relativeText(e: Element | undefined): string {
  if (typeof e?.got !== 'number' || typeof e.want !== 'number' || e.want === 0) return '';
  return `, relative error ${(Math.abs(e.got - e.want) / Math.abs(e.want)).toExponential(1)}`;
}

/** The failing output that shows most: of a failure, the one with the largest share of wrong elements. */
const worstOutput = (failure: Failure): Comparison =>
  failure.outputs.reduce((a, b) => (b.bad / Math.max(1, b.compared) > a.bad / Math.max(1, a.compared) ? b : a));

const elements = (failure: Failure): number => failure.problem.buffers.reduce((sum, buffer) => sum + buffer.count, 0);

/** What one comparison shows, the plainest fault first. Every branch names what it saw, with numbers. */
function faultText(c: Comparison): string {
  const e = c.first[0];
  const of = (n: number): string => `${n} of ${c.compared} elements`;
  const positions = positionsOf(c) === '' ? '' : `, ${positionsOf(c)}`;
  if (c.compared > 0 && c.poisonLeft === c.compared) return `${c.output}: nothing was written (${of(c.poisonLeft)})`;
  if (c.poisonLeft > 0) return `${c.output}: ${of(c.poisonLeft)} never written${positions}`;
  if (c.compared === 1 && e && (c.allZero || typeof e.got !== 'number'))
    return `${c.output} is ${numberText(e.got)}, expected ${numberText(e.want)}`;
  if (c.allZero && c.bad > 0)
    return `${c.output} is all zero (${of(c.bad)} wrong${e ? `; [${e.index}] expected ${numberText(e.want)}` : ''})`;
  if (writtenNonFinite(c) > 0) {
    const odd = c.first.find((x) => typeof x.got !== 'number');
    const at = odd ? `, the first at index ${odd.index} (${valueText(odd)})` : '';
    return `${c.output}: ${of(writtenNonFinite(c))} NaN or infinite${at}`;
  }
  if (c.bad === 0)
    return `${c.output}: no element over its limit, but the RMS of error over limit is ${c.rms?.toPrecision(3)} (allowed ${c.rmsLimit ?? 'less'})`;
  const size = c.worst === null ? '' : times(c.worst);
  if (c.compared === 1 && e) return `${c.output} off by ${size} (${valueText(e)}${relativeText(e)})`;
  const example = e ? `; [${e.index}] ${valueText(e)}` : '';
  return `${c.output}: ${of(c.bad)} wrong${positions}, off by up to ${size}${example}`;
}

/** The failure a reader sees: the one with the largest share of wrong elements, the first of equals. */
const shownFailure = (failures: readonly Failure[]): Failure => {
  const share = (f: Failure): number => worstOutput(f).bad / Math.max(1, worstOutput(f).compared);
  return failures.reduce((a, b) => (share(b) > share(a) ? b : a));
};

/** Errors of a reduction at plain inputs: elements of the problem, |got - want|. */
const errorSizes = (failures: readonly Failure[]): { size: number; label: string; error: number }[] =>
  failures.flatMap((f) => {
    const e = worstOutput(f).first[0];
    return f.problem.id.includes('+') || typeof e?.got !== 'number' || typeof e.want !== 'number'
      ? []
      : [{ size: elements(f), label: label(f.problem), error: Math.abs(e.got - e.want) }];
  });

/**
 * Rounding grows with the number of terms, missing or doubled terms do not: over sizes that differ by at least this factor a growth with
 * its square root (16) is told from none.
 */
const SPREAD = 256;

/** For a wrong reduction: whether the error grows with the size, and what the smallest failing size shows. */
function reductionText(failures: readonly Failure[], shown: Failure): string {
  const c = worstOutput(shown);
  if (c.compared !== 1 || c.bad === 0 || c.allZero || c.nonFinite > 0) return '';
  const smallest = failures.reduce((a, b) => (elements(b) < elements(a) ? b : a));
  const e = worstOutput(smallest).first[0];
  const example =
    smallest.problem === shown.problem || e === undefined ? '' : `; at ${label(smallest.problem)} ${valueText(e)}`;
  return `${constantText(failures)}${example}`;
}

function constantText(failures: readonly Failure[]): string {
  const errors = errorSizes(failures).sort((a, b) => a.size - b.size);
  const [least, most] = [errors[0], errors.at(-1)];
  if (!least || !most || most.size < SPREAD * least.size) return '';
  const small = medianOf(errors.filter((e) => e.size <= 16 * least.size));
  const large = medianOf(errors.filter((e) => e.size >= most.size / 16));
  if (large > 4 * small || small > 4 * large) return '';
  return `; errors of one size, about ${numberText(Number(large.toPrecision(2)))}, from ${least.label} to ${most.label}: a few terms missing or added`;
}

const medianOf = (errors: readonly { error: number }[]): number => middle(errors.map((e) => e.error));

function unrepeatableText(u: Unrepeatable): string {
  const [a, b] = u.got;
  const element = u.compared === 1 ? u.output : `${u.output}[${u.index}]`;
  const values = b === null ? `${numberText(a)} and a right value` : `${numberText(a)} and ${numberText(b)}`;
  return `not repeatable: two calls with the same contents gave ${element} = ${values} at ${label(u.problem)} (expected ${numberText(u.want)})`;
}

type Verdict = Omit<WrongResult, 'digest'> & { readonly hint: string };

/** Faults that show in the order of the calls, not in one call. */
function callVerdict(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[], at: string): Verdict | null {
  if (looksKept(plan, result, failures))
    return {
      outcome: 'cheat',
      deferred: true,
      reason: `right for the first contents, wrong for later ones at the same addresses: a result was kept from an earlier call (${at})`,
      hint: 'The first call at a size is right, later calls with other contents are not: nothing derived from input content may be kept between calls.',
    };
  if (onlyFirstWrong(plan, result, failures))
    return {
      outcome: 'wrong-result',
      deferred: true,
      reason: `only the first call at a size is wrong, later ones at the same addresses are right: the work is left to the next call, or relies on what an earlier one wrote (${at})`,
      hint: 'Every call must do all of its own work, and must not rely on anything that an earlier call wrote (workspace that is not initialised, arguments that were remembered).',
    };
  if (wrongAfterFirst(plan, result, failures))
    return {
      outcome: 'wrong-result',
      deferred: true,
      reason: `the first call at a size is right, all later ones are wrong, even with the first contents again: an earlier call's state is not reset (${at})`,
      hint: 'Counters and workspace that a call uses must be back at their initial values when it ends, or be set at its beginning.',
    };
  return null;
}

function verdict(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[], dtype: Dtype): Verdict {
  const shown = shownFailure(failures);
  const scope = scopeText(plan, result, new Set(failures.map((f) => f.problem.id)));
  const fault = `${faultText(worstOutput(shown))} at ${label(shown.problem)}`;
  const byCalls = callVerdict(plan, result, failures, `${fault}; ${scope}`);
  if (byCalls !== null) return byCalls;
  const low = lowPrecision(failures, dtype);
  if (low !== null) {
    const typical = low.typical === null ? '' : `, typical relative error ${low.typical.toExponential(1)}`;
    return {
      outcome: 'precision',
      deferred: false,
      reason: `errors as lower precision gives, without structure${typical}: typical of ${formatText(low, dtype)}; ${fault}; ${scope}`,
      hint: `Errors are small, spread and bounded${typical}: lower precision inside, typical of ${formatText(low, dtype)}. Keep fp32 products and sums.`,
    };
  }
  const twice = unrepeatable(plan, result, failures);
  if (twice !== null)
    return {
      outcome: 'race',
      deferred: false,
      reason: `${unrepeatableText(twice)}: a race, or data read before it is written; ${scope}`,
      hint: `The results are ${unrepeatableText(twice)}. Look for a missing barrier, unprotected updates, or memory that is read before it is written.`,
    };
  const small = hasSmallErrors(failures, dtype)
    ? 'The errors are small: lower precision inside, or a few terms that are left out.'
    : constantText(failures).slice(2);
  return {
    outcome: 'wrong-result',
    deferred: false,
    reason: `${fault}${reductionText(failures, shown)}; ${scope}`,
    hint: small,
  };
}

/** Names the fault behind comparisons that did not pass. `failures` must not be empty. */
export function wrongResult(
  plan: VerifyPlan,
  result: VerifyResult,
  failures: readonly Failure[],
  dtype: Dtype,
): WrongResult {
  const { hint, ...found } = verdict(plan, result, failures, dtype);
  const digest = verifyDigest(plan, result, failures);
  return { ...found, digest: hint === '' ? digest : `${digest}\n${hint}` };
}
