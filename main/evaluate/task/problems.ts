import { Prng } from '../../base/random.ts';
import {
  AppFailure,
  type Dtype,
  type Problem,
  type Size,
  type SizeSet,
  type Task,
  unwrap,
} from '../../contract/index.ts';
import { evalInteger } from './expr.ts';
import { allocatedBytes, resolveProblem } from './resolve.ts';

type Rule = Task['sizes']['verify']['dims'][string];
type Rules = Readonly<Record<string, Rule>>;

/** Problems of a size set that can be scored: "published/0" … or "large/0" …, in the task's order. */
export const problemsOf = (task: Task, dtype: Dtype, set: SizeSet): Problem[] =>
  task.sizes[set].map((size, index) => resolveProblem(task, dtype, size, `${set}/${index}`));

/** A number that satisfies a rule, both ends included. */
function drawDim(rule: Exclude<Rule, { expr: string }>, prng: Prng): number {
  if ('oneOf' in rule) return prng.pick(rule.oneOf);
  const first = Math.ceil(rule.min / rule.multipleOf);
  const last = Math.floor(rule.max / rule.multipleOf);
  return prng.int(first, last) * rule.multipleOf;
}

/**
 * Draws one size: free dimensions in the task's order, then those with an expression, which may use free ones and
 * earlier expressions. One stream gives one sequence of sizes, on every platform.
 */
export function drawSize(task: Task, rules: Rules, prng: Prng): Size {
  const drawn: Record<string, number> = {};
  for (const name of task.dims) {
    const rule = rules[name] as Rule;
    if (!('expr' in rule)) drawn[name] = drawDim(rule, prng);
  }
  for (const name of task.dims) {
    const rule = rules[name] as Rule;
    if ('expr' in rule) drawn[name] = unwrap(evalInteger(rule.expr, { dims: drawn, sizeofT: 4 }));
  }
  return Object.fromEntries(task.dims.map((name) => [name, drawn[name] as number]));
}

/**
 * What a verification runs: `count` ragged sizes drawn from the seed, the task's edge sizes, and each special input at
 * one of the drawn sizes in turn. Ids: "verify/0" …, "verify/3+ties".
 * @param seedHex drawn when the step runs; the same seed gives the same list.
 */
export function verifyProblems(task: Task, dtype: Dtype, seedHex: string): Problem[] {
  const prng = new Prng(`verify-sizes:${task.id}:${dtype}:${seedHex}`);
  const { count, dims, always } = task.sizes.verify;
  const drawn = Array.from({ length: count }, () => drawSize(task, dims, prng));
  const plain = [...drawn, ...always].map((size, index) => resolveProblem(task, dtype, size, `verify/${index}`));
  const special = task.verifyInputs.map((input, index) => {
    const which = index % drawn.length;
    return resolveProblem(task, dtype, drawn[which] as Size, `verify/${which}`, input.id);
  });
  return [...plain, ...special];
}

/** Buffers of a problem for the sanitizer, whose tools are 10 to 100 times slower, stay below this. */
const sanitizeBytes = 1 << 20;

/** Halves the upper end of a rule, never below its lower end. */
function halved(rule: Rule): Rule {
  if ('expr' in rule) return rule;
  if ('oneOf' in rule) {
    const sorted = [...rule.oneOf].sort((a, b) => a - b);
    return { oneOf: sorted.slice(0, Math.max(1, Math.floor(sorted.length / 2))) };
  }
  const least = Math.ceil(rule.min / rule.multipleOf) * rule.multipleOf;
  return { ...rule, max: Math.max(least, Math.floor(rule.max / 2)) };
}

const upperEnd = (rule: Exclude<Rule, { expr: string }>): Rule =>
  'oneOf' in rule
    ? { oneOf: [Math.max(...rule.oneOf)] }
    : { min: Math.floor(rule.max / rule.multipleOf) * rule.multipleOf, max: rule.max, multipleOf: rule.multipleOf };

/** Bytes at the upper end of every free dimension. */
function mostBytes(task: Task, dtype: Dtype, rules: Rules): number {
  const top = Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, 'expr' in rule ? rule : upperEnd(rule)]),
  );
  return allocatedBytes(resolveProblem(task, dtype, drawSize(task, top, new Prng('0')), 'sanitize/most'));
}

/** Verification ranges halved until the largest problem fits the sanitizer, or until they cannot shrink further. */
function smallRules(task: Task, dtype: Dtype): Rules {
  let rules: Rules = task.sizes.verify.dims;
  for (let step = 0; step < 64 && mostBytes(task, dtype, rules) > sanitizeBytes; step++)
    rules = Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, halved(rule)]));
  return rules;
}

/**
 * Small ragged problems for compute-sanitizer: two drawn sizes, the small edge sizes (three at most), and one special
 * input per structural generator (offsets, indices), since those decide addresses. Ids "sanitize/0" …
 */
export function sanitizeProblems(task: Task, dtype: Dtype, seedHex: string): Problem[] {
  const prng = new Prng(`sanitize-sizes:${task.id}:${dtype}:${seedHex}`);
  const rules = smallRules(task, dtype);
  const drawn = [drawSize(task, rules, prng), drawSize(task, rules, prng)];
  const edges = task.sizes.verify.always
    .filter((size) => allocatedBytes(resolveProblem(task, dtype, size, 'sanitize/edge')) <= sanitizeBytes)
    .slice(0, 3);
  const structural = task.verifyInputs.filter((input) =>
    Object.values(input.generators).some((g) => ['offsets', 'rows', 'ell', 'int'].includes(g.kind)),
  );
  return [
    ...[...drawn, ...edges].map((size, index) => resolveProblem(task, dtype, size, `sanitize/${index}`)),
    ...structural.map((input, index) =>
      resolveProblem(task, dtype, drawn[index % 2] as Size, `sanitize/${index % 2}`, input.id),
    ),
  ];
}

/** A size given by hand (`--size N=4096`): every dimension must be there, nothing else, as integers of at least 1. */
export function checkSize(task: Task, size: Size): Size {
  const refuse = (what: string): never => {
    throw new AppFailure({
      code: 'input.task',
      message: `size of task ${task.id}: ${what}`,
      remedy: `Give ${task.dims.map((name) => `${name}=…`).join(' ')}.`,
    });
  };
  for (const name of Object.keys(size)) if (!task.dims.includes(name)) refuse(`unknown dimension "${name}"`);
  for (const name of task.dims) {
    const value = size[name];
    if (value === undefined) refuse(`dimension "${name}" is missing`);
    if (!Number.isSafeInteger(value) || (value as number) < 0) refuse(`${name} = ${value} is not a whole number`);
  }
  return size;
}
