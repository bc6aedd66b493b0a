import { Prng } from '../../base/random.ts';
import { AppFailure, type Dtype, type Generator, type Param, type Size, type Task } from '../../contract/index.ts';
import { checkBounds, checkCounts, checkLimit, checkProblem, checkTexts } from './check-limits.ts';
import { namesIn, parseExpr, reservedNames } from './expr.ts';
import { drawSize } from './problems.ts';
import { allocatedBytes, bufferParams, bytesOf, flopsOf, resolveProblem, storageOf, weightOf } from './resolve.ts';

/** One thing wrong with a task file: where, and what was expected there. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

type Report = (path: string, message: string) => void;

const identifier = /^[A-Za-z_]\w*$/;
const largeBytes = 8e9;

const repeated = (names: readonly string[]): string[] => names.filter((name, index) => names.indexOf(name) !== index);

function checkNames(task: Task, report: Report): void {
  task.dims.forEach((name, index) => {
    if (!identifier.test(name)) report(`dims[${index}]`, `expected a C identifier, found "${name}"`);
    if (reservedNames.includes(name)) report(`dims[${index}]`, `"${name}" is the name of a function in expressions`);
  });
  for (const name of repeated(task.dims)) report('dims', `"${name}" appears twice`);
  for (const dtype of repeated(task.dtypes)) report('dtypes', `"${dtype}" appears twice`);
  task.wrapper.params.forEach((param, index) => {
    if (!identifier.test(param.name))
      report(`wrapper.params[${index}].name`, `expected a C identifier, found "${param.name}"`);
  });
  for (const name of repeated(task.wrapper.params.map((param) => param.name)))
    report('wrapper.params', `two parameters are named "${name}"`);
  for (const dtype of task.dtypes) {
    const name = task.wrapper.name[dtype];
    if (name === undefined) report(`wrapper.name.${dtype}`, 'expected the C name of the wrapper');
    else if (!identifier.test(name)) report(`wrapper.name.${dtype}`, `expected a C identifier, found "${name}"`);
  }
  for (const dtype of Object.keys(task.wrapper.name))
    if (!task.dtypes.includes(dtype as Dtype)) report(`wrapper.name.${dtype}`, `"${dtype}" is not in dtypes`);
}

/** Parses an expression and compares its names with those allowed there. */
function checkExpr(text: string, path: string, known: readonly string[], report: Report): void {
  const parsed = parseExpr(text);
  if (!parsed.ok) {
    report(path, parsed.error.message);
    return;
  }
  for (const name of namesIn(parsed.value))
    if (!known.includes(name))
      report(path, `expression "${text}": unknown name "${name}", expected one of ${known.join(', ')}`);
}

function checkGenerator(g: Generator, param: Param, path: string, task: Task, report: Report): void {
  const kind = g.kind === 'ell' ? g.entries.kind : g.kind;
  const integral = kind === 'int' || kind === 'offsets' || kind === 'rows';
  const isInt = param.role !== 'scalar' && param.elem === 'int';
  if (isInt !== integral)
    report(
      `${path}.kind`,
      `expected ${isInt ? 'int, offsets, rows or ell of int for an int buffer' : 'a generator of real numbers'}, found "${g.kind}"`,
    );
  if (g.kind === 'int') {
    checkExpr(g.lo, `${path}.lo`, task.dims, report);
    checkExpr(g.hi, `${path}.hi`, task.dims, report);
  } else if (g.kind === 'offsets') {
    checkExpr(g.rows, `${path}.rows`, task.dims, report);
    checkExpr(g.nnz, `${path}.nnz`, task.dims, report);
  } else if (g.kind === 'share') {
    checkExpr(g.count, `${path}.count`, task.dims, report);
  } else if (g.kind === 'rows') {
    checkExpr(g.rows, `${path}.rows`, task.dims, report);
    checkExpr(g.nnz, `${path}.nnz`, task.dims, report);
  } else if (g.kind === 'ell') {
    checkExpr(g.rows, `${path}.rows`, task.dims, report);
    checkExpr(g.nnz, `${path}.nnz`, task.dims, report);
    checkExpr(g.width, `${path}.width`, task.dims, report);
    checkGenerator(g.entries, param, `${path}.entries`, task, report);
  } else if ((g.kind === 'uniform' || (g.kind === 'levels' && g.levels > 1)) && !(g.lo < g.hi)) {
    report(path, `expected lo < hi, found ${g.lo} and ${g.hi}`);
  } else if (g.kind === 'wide' && !(g.loExp < g.hiExp && g.loExp >= -126 && g.hiExp <= 127)) {
    report(path, `expected -126 <= loExp < hiExp <= 127, found ${g.loExp} and ${g.hiExp}`);
  }
  checkBounds(g, param, path, task, report);
}

function checkParams(task: Task, report: Report): void {
  task.wrapper.params.forEach((param, index) => {
    const path = `wrapper.params[${index}]`;
    if (param.role === 'scalar') checkExpr(param.value, `${path}.value`, task.dims, report);
    else checkExpr(param.count, `${path}.count`, task.dims, report);
    if (param.role === 'in' || param.role === 'inout')
      checkGenerator(param.generator, param, `${path}.generator`, task, report);
  });
  if (!task.wrapper.params.some((param) => param.role === 'out' || param.role === 'inout'))
    report('wrapper.params', 'expected at least one parameter of role out or inout');
}

function checkVerifyInputs(task: Task, report: Report): void {
  for (const id of repeated(task.verifyInputs.map((input) => input.id)))
    report('verifyInputs', `two inputs are named "${id}"`);
  task.verifyInputs.forEach((input, index) => {
    const path = `verifyInputs[${index}]`;
    if (!/^[a-z0-9][a-z0-9-]*$/.test(input.id))
      report(`${path}.id`, `expected lower-case letters, digits and "-", found "${input.id}"`);
    if (Object.keys(input.generators).length === 0) report(`${path}.generators`, 'expected at least one generator');
    for (const [name, generator] of Object.entries(input.generators)) {
      const param = task.wrapper.params.find((p) => p.name === name);
      if (!param || param.role === 'scalar' || param.role === 'out')
        report(`${path}.generators.${name}`, `"${name}" is not a parameter of role in or inout`);
      else checkGenerator(generator, param, `${path}.generators.${name}`, task, report);
    }
  });
}

function checkTolerance(task: Task, report: Report): void {
  for (const dtype of Object.keys(task.tolerance))
    if (!task.dtypes.includes(dtype as Dtype)) report(`tolerance.${dtype}`, `"${dtype}" is not in dtypes`);
  const outputs = bufferParams(task).filter((param) => param.role !== 'in');
  for (const dtype of task.dtypes) {
    const list = task.tolerance[dtype] ?? [];
    for (const output of outputs) {
      const count = list.filter((tolerance) => tolerance.output === output.name).length;
      if (count !== 1) report(`tolerance.${dtype}`, `expected one entry for output "${output.name}", found ${count}`);
    }
    list.forEach((tolerance, index) => {
      const path = `tolerance.${dtype}[${index}]`;
      const param = outputs.find((output) => output.name === tolerance.output);
      if (!param) {
        report(
          `${path}.output`,
          `"${tolerance.output}" is not an output, expected one of ${outputs.map((o) => o.name).join(', ')}`,
        );
        return;
      }
      const storage = storageOf(param.elem, dtype);
      const fits = { f32: 'fp32', bf16: 'bf16', i32: 'exact' }[storage];
      const rounding = tolerance.rounding === 'T' ? dtype : tolerance.rounding;
      if (rounding !== 'exact' && rounding !== fits)
        report(
          `${path}.rounding`,
          `output "${param.name}" is stored as ${storage}, expected "${fits}", found "${tolerance.rounding}"`,
        );
      checkLimit(tolerance, path, report);
    });
  }
}

function checkSizes(task: Task, report: Report): void {
  const sets = [
    ['sizes.published', task.sizes.published],
    ['sizes.large', task.sizes.large],
    ['sizes.verify.always', task.sizes.verify.always],
  ] as const;
  for (const [path, list] of sets)
    list.forEach((size, index) => {
      for (const name of Object.keys(size))
        if (!task.dims.includes(name)) report(`${path}[${index}].${name}`, `"${name}" is not in dims`);
      for (const name of task.dims)
        if (!Number.isSafeInteger(size[name]) || (size[name] as number) < 0)
          report(`${path}[${index}].${name}`, `expected a whole number, found ${size[name]}`);
    });
  if (task.sizes.published.length === 0) report('sizes.published', 'expected at least one size');
}

function checkRules(task: Task, report: Report): void {
  const path = 'sizes.verify.dims';
  const rules = task.sizes.verify.dims;
  for (const name of Object.keys(rules))
    if (!task.dims.includes(name)) report(`${path}.${name}`, `"${name}" is not in dims`);
  const known = task.dims.filter((name) => rules[name] && !('expr' in (rules[name] as object)));
  for (const name of task.dims) {
    const rule = rules[name];
    if (!rule) report(`${path}.${name}`, 'expected a rule (min and max, oneOf, or expr) for this dimension');
    else if ('expr' in rule) {
      checkExpr(rule.expr, `${path}.${name}.expr`, known, report);
      known.push(name);
    } else if ('oneOf' in rule) {
      if (rule.oneOf.some((value) => !Number.isSafeInteger(value) || value < 0))
        report(`${path}.${name}.oneOf`, 'expected whole numbers');
    } else {
      const first = Math.ceil(rule.min / rule.multipleOf) * rule.multipleOf;
      if (rule.min < 0 || first > rule.max)
        report(
          `${path}.${name}`,
          `expected 0 <= min <= max with a multiple of ${rule.multipleOf} between, found ${rule.min} and ${rule.max}`,
        );
    }
  }
}

/** Evaluates one size in every way it will be used; a failure is an issue at the place the failure names. */
function checkAtSize(task: Task, dtype: Dtype, size: Size, path: string, report: Report): void {
  try {
    const problem = resolveProblem(task, dtype, size, 'check');
    for (const input of task.verifyInputs) resolveProblem(task, dtype, size, 'check', input.id);
    weightOf(task, dtype, size);
    const figures = { flops: flopsOf(task, dtype, problem), bytes: bytesOf(task, dtype, problem) };
    checkProblem(problem, figures, path, report);
    const bytes = allocatedBytes(problem);
    if (path.startsWith('sizes.large') && bytes > largeBytes)
      report(path, `expected at most 8 GB of buffers, found ${(bytes / 1e9).toFixed(2)} GB (${dtype})`);
  } catch (cause) {
    if (!(cause instanceof AppFailure)) throw cause;
    report(path, cause.error.message);
  }
}

/** Values of expressions at every listed size and at sizes drawn by the rules. */
function checkValues(task: Task, report: Report): void {
  const prng = new Prng(`check:${task.id}`);
  const drawn: [string, Size][] = [];
  try {
    for (let i = 0; i < 16; i++) drawn.push(['sizes.verify.dims', drawSize(task, task.sizes.verify.dims, prng)]);
  } catch (cause) {
    if (!(cause instanceof AppFailure)) throw cause;
    report('sizes.verify.dims', cause.error.message);
  }
  const listed = (path: string, sizes: readonly Size[]): [string, Size][] =>
    sizes.map((size, index) => [`${path}[${index}]`, size]);
  const all = [
    ...listed('sizes.published', task.sizes.published),
    ...listed('sizes.large', task.sizes.large),
    ...listed('sizes.verify.always', task.sizes.verify.always),
    ...drawn,
  ];
  for (const dtype of task.dtypes) for (const [path, size] of all) checkAtSize(task, dtype, size, path, report);
}

/**
 * Everything about a task that its schema cannot say: names, expressions, generators, sizes, tolerances fit together.
 * @returns the issues, none when the task can be used at every size that it lists or can draw.
 */
export function checkTask(task: Task): Issue[] {
  const issues: Issue[] = [];
  const report: Report = (path, message) => {
    if (!issues.some((issue) => issue.path === path && issue.message === message)) issues.push({ path, message });
  };
  checkNames(task, report);
  checkCounts(task, report);
  checkTexts(task, report);
  checkParams(task, report);
  checkVerifyInputs(task, report);
  checkTolerance(task, report);
  checkSizes(task, report);
  checkRules(task, report);
  checkExpr(task.weight, 'weight', task.dims, report);
  checkExpr(task.flops, 'flops', task.dims, report);
  checkExpr(task.bytes.read, 'bytes.read', task.dims, report);
  checkExpr(task.bytes.write, 'bytes.write', task.dims, report);
  if (issues.length === 0) checkValues(task, report); // evaluation needs a consistent file
  return issues;
}
