import { type Problem, sizeText, type VerifyPlan, type VerifyResult } from '../contract/index.ts';

/** "N=140098", "rows=31 cols=1025". */
const dimsText = (problem: Pick<Problem, 'dims'>): string => sizeText(problem.dims);

const variantOf = (problem: Problem): string | undefined => problem.id.split('+')[1];

/** Size and kind of input as a reader knows them: "N=140098 (input: wide)". */
export function label(problem: Problem): string {
  const variant = variantOf(problem);
  return `${dimsText(problem)}${variant === undefined ? '' : ` (input: ${variant})`}`;
}

/** The same for a problem's id; the id itself where no such problem is planned. */
export function labelOf(problems: readonly Problem[], id: string): string {
  const found = problems.find((problem) => problem.id === id);
  return found === undefined ? id : label(found);
}

/** Multiples a vectorised or tiled kernel commonly relies on. */
const MULTIPLES = [2, 4, 8, 16, 32] as const;

interface Sides {
  readonly name: string;
  readonly wrong: readonly number[];
  readonly right: readonly number[];
}

function byThreshold({ name, wrong, right }: Sides): string | null {
  const [least, most] = [Math.min(...wrong), Math.max(...wrong)];
  const [leastRight, mostRight] = [Math.min(...right), Math.max(...right)];
  if (least > mostRight) return `only from ${name}=${least} on, right up to ${name}=${mostRight}`;
  if (most < leastRight) return `only up to ${name}=${most}, right from ${name}=${leastRight} on`;
  return null;
}

/** Fewer than three wrong sizes differ from the others in too many ways to name one. */
function byMultiple({ name, wrong, right }: Sides): string | null {
  if (wrong.length < 3) return null;
  const k = MULTIPLES.find((m) => right.every((v) => v % m === 0) && wrong.every((v) => v % m !== 0));
  return k === undefined ? null : `only where ${name} is no multiple of ${k}`;
}

/**
 * What tells the wrong problems from the right ones: a bound or a multiple of one dimension, or the kind of input; '' when nothing
 * simple does. Sizes that were not reached count as neither.
 */
export function separation(plan: VerifyPlan, result: VerifyResult, failing: ReadonlySet<string>): string {
  const checked = plan.problems.filter((problem) => result.checks.some((check) => check.problem === problem.id));
  const plain = checked.filter((problem) => variantOf(problem) === undefined);
  const wrong = plain.filter((problem) => failing.has(problem.id));
  const right = plain.filter((problem) => !failing.has(problem.id));
  if (right.length === 0) return '';
  if (wrong.length === 0) {
    const inputs = checked.filter((problem) => failing.has(problem.id)).map(variantOf);
    return `only with the input ${inputs.length === 1 ? '' : 'kinds '}${inputs.join(', ')}`;
  }
  const sides = Object.keys((plain[0] as Problem).dims).map((name) => ({
    name,
    wrong: wrong.map((problem) => problem.dims[name] as number),
    right: right.map((problem) => problem.dims[name] as number),
  }));
  const found = [...sides.map(byThreshold), ...sides.map(byMultiple)].find((text) => text !== null);
  if (found !== undefined) return found;
  return right.length <= 2 ? `among plain inputs right only at ${right.map(dimsText).join(' and ')}` : '';
}

/** "wrong at 12 of 13 sizes and inputs, only where N is no multiple of 4". */
export function scopeText(plan: VerifyPlan, result: VerifyResult, failing: ReadonlySet<string>): string {
  const where = separation(plan, result, failing);
  return `wrong at ${failing.size} of ${plan.problems.length} sizes and inputs${where === '' ? '' : `, ${where}`}`;
}
