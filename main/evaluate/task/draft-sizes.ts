import type { Dtype, Param, Size, Task } from '../../contract/index.ts';
import { evalExpr } from './expr.ts';

/** A size drawn for verification holds fewer elements in all its buffers than this. */
const verifyElements = 2 ** 21;

/** Elements of all buffers; -1 where a count has no value there (parseTask says which and why). */
function elementsAt(params: readonly Param[], size: Size, dtype: Dtype): number {
  let sum = 0;
  for (const param of params) {
    if (param.role === 'scalar') continue;
    const count = evalExpr(param.count, { dims: size, sizeofT: dtype === 'fp32' ? 4 : 2 });
    if (!count.ok) return -1;
    sum += Math.max(0, count.value);
  }
  return sum;
}

/** Most elements at the corners of the box from 1 to `most`: a count may fall with one dimension, as floor(N/M) does. */
function mostElements(params: readonly Param[], most: Size, dtype: Dtype): number {
  const ends = Object.entries(most);
  const corners = ends.length <= 8 ? 2 ** ends.length : 1;
  let elements = 0;
  for (let corner = 0; corner < corners; corner++) {
    const size = ends.map(([name, end], bit) => [name, (corner >> bit) & 1 ? Math.min(1, end) : end] as const);
    elements = Math.max(elements, elementsAt(params, Object.fromEntries(size), dtype));
  }
  return elements;
}

/**
 * Ranges of drawn sizes: every dimension from 1 (or 0, where that is published, as of a padding) to its largest published value, all
 * cut at one number so that the buffers stay below 2^21 elements (or below twice what they hold where every dimension is 1, if that
 * is more already).
 */
export function verifyRule(
  params: readonly Param[],
  dims: readonly string[],
  sizes: readonly Size[],
  dtype: Dtype,
): Task['sizes']['verify'] {
  const largest = (name: string): number => Math.max(...sizes.map((size) => size[name] as number));
  const cut = (limit: number): Size => Object.fromEntries(dims.map((name) => [name, Math.min(largest(name), limit)]));
  const allowed = Math.max(verifyElements, 2 * mostElements(params, cut(1), dtype));
  let [fits, tooMuch] = [1, Math.max(...dims.map(largest)) + 1];
  while (tooMuch - fits > 1) {
    const middle = Math.floor((fits + tooMuch) / 2);
    if (mostElements(params, cut(middle), dtype) < allowed) fits = middle;
    else tooMuch = middle;
  }
  const rule = (name: string) => {
    const min = Math.min(1, ...sizes.map((size) => size[name] as number));
    return { min, max: Math.min(largest(name), fits), multipleOf: 1 };
  };
  const ordered = [...sizes].sort((a, b) => elementsAt(params, a, dtype) - elementsAt(params, b, dtype));
  const smallest = ordered[0] as Size;
  const ones = cut(1);
  return {
    count: 3,
    dims: Object.fromEntries(dims.map((name) => [name, rule(name)])),
    always: dims.every((name) => smallest[name] === ones[name]) ? [ones] : [ones, smallest],
  };
}
