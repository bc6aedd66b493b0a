import type { Comparison, Problem, VerifyPlan, VerifyResult } from '../contract/index.ts';
import type { Failure } from './compare-digest.ts';
import { middle } from './stats.ts';

type Check = VerifyResult['checks'][number];
type Element = Comparison['first'][number];

/**
 * Calls of one problem in their order: same buffers, other contents each time, and the first contents again at the end
 * (main/jobs/session/verify.ts).
 */
interface Calls {
  readonly problem: Problem;
  readonly checks: readonly Check[];
  readonly bad: readonly boolean[];
}

/** Calls of the problems with at least one wrong result. */
function failingCalls(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): Calls[] {
  const wrong = new Set(failures.map((f) => f.check));
  return plan.problems.flatMap((problem) => {
    const checks = result.checks.filter((check) => check.problem === problem.id);
    const bad = checks.map((check) => wrong.has(check));
    return bad.includes(true) ? [{ problem, checks, bad }] : [];
  });
}

const isRight = (calls: Calls): boolean[] => calls.bad.map((bad) => !bad);

/** Pairs of wrong elements at one index in two calls. */
function common(a: Check, b: Check): [Element, Element][] {
  return a.outputs.flatMap((output) => {
    const other = b.outputs.find((o) => o.output === output.output)?.first ?? [];
    return output.first.flatMap((e): [Element, Element][] => {
      const found = other.find((o) => o.index === e.index);
      return found === undefined ? [] : [[e, found]];
    });
  });
}

/** Elements that had the same wrong value for different contents, and all that could be compared so. */
function repeatedValues(calls: Calls): { same: number; all: number } {
  const wrong = calls.checks.filter((_, i) => calls.bad[i]);
  const pairs = wrong.flatMap((a, i) =>
    wrong.slice(i + 1).flatMap((b) => (a.seed === b.seed ? [] : common(a, b).filter(([x, y]) => x.want !== y.want))),
  );
  const same = pairs.filter(([x, y]) => typeof x.got === 'number' && x.got === y.got).length;
  return { same, all: pairs.length };
}

/** Wrong calls with other than the first contents below which their number may be chance. */
const ENOUGH = 6;

/**
 * Right for the first contents whenever they come, wrong for other contents at the same addresses: the answer was kept, not computed.
 * Told by later calls that all give one value for different contents, or by nearly all of them being mostly wrong. Some later results
 * may be right by luck: an answer from the wrong contents can lie within the limit.
 */
export function looksKept(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): boolean {
  const calls = failingCalls(plan, result, failures);
  if (calls.length === 0 || plan.seeds < 2) return false;
  const isFirst = (c: Calls, i: number): boolean => c.checks[i]?.seed === c.checks[0]?.seed;
  if (calls.some((c) => c.bad.some((bad, i) => bad && isFirst(c, i)))) return false;
  const values = calls.map(repeatedValues);
  const all = values.reduce((n, v) => n + v.all, 0);
  if (all >= 2 && values.every((v) => v.same === v.all)) return true;
  const others = calls.flatMap((c) => c.bad.filter((_, i) => !isFirst(c, i)));
  const wrong = calls.flatMap((c) => c.checks.filter((_, i) => c.bad[i]));
  const share = middle(wrong.map((check) => Math.max(...check.outputs.map((o) => o.bad / Math.max(1, o.compared)))));
  return wrong.length >= ENOUGH && wrong.length >= 0.8 * others.length && share > 0.5;
}

/** Only the first call of a size is wrong, at every failing size: what it should do shows in the call after it. */
export function onlyFirstWrong(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): boolean {
  const calls = failingCalls(plan, result, failures);
  return calls.length >= 2 && calls.every((c) => c.bad.length >= 3 && isRight(c).slice(1).every(Boolean));
}

/** Right at first, wrong ever after, the first contents included: the calls depend on what earlier ones left behind. */
export function wrongAfterFirst(plan: VerifyPlan, result: VerifyResult, failures: readonly Failure[]): boolean {
  const calls = failingCalls(plan, result, failures);
  const later = calls.filter((c) => c.bad.length >= 3 && !c.bad[0]);
  return later.length >= 2 && calls.every((c) => c.bad.slice(1).every(Boolean));
}

/** Two results of one problem with the same contents at one index; null = the value was right. */
export interface Unrepeatable {
  readonly problem: Problem;
  readonly output: string;
  readonly index: number;
  readonly compared: number;
  readonly got: readonly [number | string, number | string | null];
  readonly want: number | string;
}

/** Share of a value that another order of a sum may change even where the value itself is far off. */
const ORDER = 2 ** -12;

/** Two honest results lie within their limits of the truth, so within twice the limit of each other. */
function differ(a: Element, b: Element): boolean {
  if (typeof a.got !== 'number' || typeof b.got !== 'number') return a.got !== b.got;
  const apart = Math.abs(a.got - b.got);
  const byOrder = a.limit === 0 ? 0 : ORDER * Math.max(Math.abs(a.got), Math.abs(b.got)); // exact outputs know no order
  return apart > 2 * a.limit && apart > byOrder;
}

/** The list of first wrong elements is bounded: what lies behind its end is unknown. */
const knownRight = (c: Comparison, index: number): boolean =>
  c.bad === c.first.length || index < (c.first.at(-1)?.index ?? 0);

const farOff = (e: Element): boolean =>
  typeof e.got !== 'number' || typeof e.want !== 'number' || Math.abs(e.got - e.want) > 3 * e.limit;

function unlike(problem: Problem, a: Comparison, b: Comparison): Unrepeatable | null {
  const at = { problem, output: a.output, compared: a.compared };
  for (const e of a.first) {
    const other = b.first.find((o) => o.index === e.index);
    if (other !== undefined && differ(e, other))
      return { ...at, index: e.index, got: [e.got, other.got], want: e.want };
    if (other === undefined && knownRight(b, e.index) && farOff(e))
      return { ...at, index: e.index, got: [e.got, null], want: e.want };
  }
  return null;
}

/** First element whose value differs by more than rounding between two calls with the same contents; null = none seen. */
export function unrepeatable(
  plan: VerifyPlan,
  result: VerifyResult,
  failures: readonly Failure[],
): Unrepeatable | null {
  for (const { problem, checks } of failingCalls(plan, result, failures)) {
    const pairs = checks.flatMap((a, i) => checks.slice(i + 1).flatMap((b) => (a.seed === b.seed ? [{ a, b }] : [])));
    for (const { a, b } of pairs)
      for (const x of a.outputs) {
        const y = b.outputs.find((o) => o.output === x.output);
        const found = y === undefined ? null : (unlike(problem, x, y) ?? unlike(problem, y, x));
        if (found !== null) return found;
      }
  }
  return null;
}
