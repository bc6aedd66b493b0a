import { type Dtype, type Elem, err, ok, type Param, type Result, type Task } from '../../contract/index.ts';

/** C name of an element type in a wrapper's signature. */
export function cType(elem: Elem, dtype: Dtype): string {
  if (elem === 'int') return 'int';
  if (elem === 'float') return 'float';
  if (elem === 'bf16') return '__nv_bfloat16';
  return dtype === 'fp32' ? 'float' : '__nv_bfloat16';
}

function paramType(param: Param, dtype: Dtype): string {
  if (param.role === 'scalar') return param.ctype === 'T' ? cType('T', dtype) : param.ctype;
  const type = cType(param.elem, dtype);
  return param.role === 'in' ? `const ${type}*` : `${type}*`;
}

/** Types of the wrapper's parameters in order, without top-level const: `["float*", "const float*", "int"]`. */
export const paramTypes = (task: Task, dtype: Dtype): string[] =>
  task.wrapper.params.map((param) => paramType(param, dtype));

/** C name of the origin's wrapper. */
export const originName = (task: Task, dtype: Dtype): string => task.wrapper.name[dtype] as string;

/** C name of a candidate's wrapper: the origin's with `_optimized`. */
export const candidateName = (task: Task, dtype: Dtype): string => `${originName(task, dtype)}_optimized`;

/** C name of the wrapper in library.cu: the origin's with `_library`. */
export const libraryName = (task: Task, dtype: Dtype): string => `${originName(task, dtype)}_library`;

/** `extern "C" void NAME(float* loss, const float* X, …)`: told to the agents, and used by the shim. */
export function signature(task: Task, dtype: Dtype, name: string): string {
  const params = task.wrapper.params.map((param) => `${paramType(param, dtype)} ${param.name}`);
  return `extern "C" void ${name}(${params.join(', ')})`;
}

/**
 * Comments and literals replaced by blanks of the same length, so that positions and braces stay where they are. What is not closed
 * ends with the text (a comment) or the line (a string): looking for its end again from every quote takes the square of a long run.
 */
export function withoutComments(source: string): string {
  const pattern = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\[\s\S]|[^"\\\n])*"?|'(?:\\.|[^'\\\n]){0,12}'/g;
  return source.replace(pattern, (found, at: number) => {
    if (found === '"C"' && /extern\s*$/.test(source.slice(Math.max(0, at - 16), at))) return found;
    return found.replace(/[^\n]/g, ' ');
  });
}

/** `const float * __restrict__ X` → `const float*`; `float const*` is the same type; top-level const does not count. */
export function normalizeType(declaration: string): string {
  const words = declaration
    .replace(/\b__restrict__\b|\b__restrict\b|\brestrict\b/g, ' ')
    .replace(/\*/g, ' * ')
    .trim()
    .split(/\s+/);
  const star = words.indexOf('*');
  const pointee = (star < 0 ? words : words.slice(0, star)).filter((word) => word !== 'const');
  const isConst = star >= 0 && words.slice(0, star).includes('const');
  // Without a star the parameter's own name is the last word; behind a star it is not part of the type.
  if (star < 0 && pointee.length > 1) pointee.pop();
  const stars = words.filter((word) => word === '*').length;
  const base = pointee.join(' ').replace(/^nv_bfloat16$/, '__nv_bfloat16');
  return `${isConst ? 'const ' : ''}${base}${'*'.repeat(stars)}`;
}

/**
 * Looks for the definition `void NAME(…) {` under extern "C" and compares its parameter types with the task's.
 * A text check that gives early, readable messages; the linker has the last word.
 */
export function checkWrapper(source: string, name: string, expected: readonly string[]): Result<null> {
  const text = withoutComments(source);
  const found = new RegExp(`\\bvoid\\s+${name}\\s*\\(([^()]*)\\)\\s*(?:noexcept\\s*)?\\{`).exec(text);
  if (!found) return err('input.task', `no definition of "void ${name}(…)" found`);
  const before = text.slice(0, found.index);
  if (!/extern\s+"C"\s*(?:__host__\s+)?$/.test(before) && !/extern\s+"C"\s*\{/.test(before))
    return err('input.task', `"${name}" is not declared extern "C"`);
  const list = (found[1] as string).trim();
  const types = list === '' || list === 'void' ? [] : list.split(',').map(normalizeType);
  if (types.length !== expected.length || types.some((type, index) => type !== expected[index]))
    return err('input.task', `"${name}" takes (${types.join(', ')}), expected (${expected.join(', ')})`);
  return ok(null);
}
