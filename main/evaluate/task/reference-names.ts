import type { Task } from '../../contract/index.ts';
import { withoutComments } from './signature.ts';

/** What a reference asks its problem for, with the names there are: `in` gives inputs, `elem` any buffer, `dim` a dimension. */
function namesFor(task: Task): Readonly<Record<string, readonly string[]>> {
  const buffers = task.wrapper.params.filter((param) => param.role !== 'scalar');
  return {
    in: buffers.filter((param) => param.role !== 'out').map((param) => param.name),
    elem: buffers.map((param) => param.name),
    dim: task.dims,
  };
}

/** No C identifier that anybody writes is longer; what is further away is not looked at. */
const longestName = 300;

/**
 * Names in reference.h that the task does not have: it would compile, and fail on the GPU machine. Literals alone are seen; what is put
 * together at run time is not. Comments do not count.
 */
export function unknownNames(reference: string, task: Task): string[] {
  const known = namesFor(task);
  // Comments and literals are blanks here, at the same places: a call found in it is code, its name is read from the text itself.
  const code = withoutComments(reference);
  const out: string[] = [];
  for (const { 0: call, 1: what = '', index } of code.matchAll(/[.>](in|elem|dim)\(/g)) {
    const from = index + call.length;
    const literal = /^\s*"([^"]*)"\s*\)/.exec(reference.slice(from, from + longestName));
    const names = known[what] ?? [];
    if (literal && !names.includes(literal[1] as string))
      out.push(`${what}("${literal[1]}"): expected one of ${names.join(', ') || 'none'}`);
  }
  return out;
}
