import type { Dtype, Task } from '../../contract/index.ts';
import { type BufferParam, bufferParams, storageOf } from './resolve.ts';
import { originName, signature } from './signature.ts';

/** A member of the form's struct: C++ type, name, and what the constructor initializes it with. */
interface Member {
  readonly type: string;
  readonly name: string;
  readonly from: string;
}

interface Members {
  readonly list: readonly Member[];
  /** Member of a dimension, or of an input buffer. */
  readonly dim: (name: string) => string;
  readonly view: (name: string) => string;
}

const isInput = (param: BufferParam): boolean => param.role !== 'out';
const isOutput = (param: BufferParam): boolean => param.role !== 'in';

/** Dimensions, inputs, and scalars that are more than a dimension's value. */
function membersOf(task: Task): Members {
  const inputs = bufferParams(task).filter(isInput);
  const view = (name: string): string => `${name}_`;
  // A dimension may be named as a buffer is.
  const dim = (name: string): string => (inputs.some((input) => input.name === name) ? `${name}_dim_` : `${name}_`);
  const scalars = task.wrapper.params.flatMap((param, index): Member[] => {
    if (param.role !== 'scalar') return [];
    const isDim = task.dims.includes(param.name);
    if (isDim && param.value === param.name) return [];
    const whole = param.ctype === 'int' || param.ctype === 'long';
    const from = whole ? `int64_t(p.scalar(${index}))` : `p.scalar(${index})`;
    return [{ type: whole ? 'int64_t' : 'double', name: `${param.name}${isDim ? '_arg_' : '_'}`, from }];
  });
  const list = [
    ...task.dims.map((name) => ({ type: 'int64_t', name: dim(name), from: `p.dim("${name}")` })),
    ...scalars,
    ...inputs.map(({ name }) => ({ type: 'cm::View', name: view(name), from: `p.in("${name}")` })),
  ];
  return { list, dim, view };
}

/** Body for one output, as if it were the sum of the inputs of its own length, or else of all that the first input holds. */
function exampleFor(output: BufferParam, task: Task, dtype: Dtype, members: Members): string[] {
  const inputs = bufferParams(task).filter(isInput);
  if (storageOf(output.elem, dtype) === 'i32') {
    const first = inputs.find((input) => input.elem === 'int' && input.count === output.count);
    const value = first ? `double(${members.view(first.name)}.i(i))` : 'double(i)';
    return [`return {${value}, 0.0, 1.0};`];
  }
  const reals = inputs.filter((input) => input.elem !== 'int');
  const alike = reals.filter((input) => input.count === output.count);
  if (alike.length > 0) {
    const sum = alike.map((input) => `${members.view(input.name)}[i]`).join(' + ');
    return [`const double value = ${sum};`, 'return {value, std::fabs(value), 1.0};'];
  }
  const [first] = reals;
  if (!first) return ['const double value = double(i);', 'return {value, std::fabs(value), 1.0};'];
  const view = members.view(first.name);
  return [
    'cm::Sum sum, squares;',
    `for (int64_t k = 0; k < ${view}.size(); k++) {`,
    `  const double term = ${view}[k];`,
    '  sum.add(term);',
    '  squares.add(term * term);',
    '}',
    'const double value = sum.value();',
    `return {value, std::sqrt(value * value + squares.value()), double(${view}.size())};`,
  ];
}

/** A body of at() that compiles for the very signature, to be replaced by the definition. */
function exampleBody(task: Task, dtype: Dtype, members: Members): string[] {
  const outputs = bufferParams(task).filter(isOutput);
  return outputs.flatMap((output, index) => {
    const body = exampleFor(output, task, dtype, members);
    if (index === outputs.length - 1) return body;
    return [`if (output == ${index}) {  // ${output.name}`, ...body.map((line) => `  ${line}`), '}'];
  });
}

const storedAs = { f32: 'fp32', bf16: 'bf16', i32: 'int' } as const;

function description(task: Task, dtype: Dtype, members: Members): string[] {
  const outputs = bufferParams(task).filter(isOutput);
  const held = members.list.map((member) => `${member.name} = ${member.from}`);
  return [
    signature(task, dtype, originName(task, dtype)),
    '',
    'at(output, i) answers for element i of an output:',
    ...outputs.map(
      (param, index) =>
        `  output ${index}: ${param.name}, ${param.count} elements of ${storedAs[storageOf(param.elem, dtype)]}` +
        (param.role === 'inout' ? '; its view holds what the buffer held before the call' : ''),
    ),
    'It may use these members (a View gives value [i] as stored, as a double, and .i(i) of an int buffer):',
    ...held.map((line) => `  ${line}`),
    'What many elements share (sums of rows, a maximum) belongs in the constructor: at() is called for every element, from several',
    'threads at once.',
    '',
    'at() returns {value, scale, n}:',
    '  value  the mathematical definition, computed in double: never what the source under test does in float.',
    '  scale  M, the size of what is rounded on the way: |value| for one operation; for a sum the root of value^2 plus the sum of the',
    '         squared terms; 0 where nothing may be rounded at all (copies, maxima, indices).',
    '  n      how many numbers are added one after the other; 1 where there is no sum.',
    'A result y is right where |y - value| <= UOUT*|value| + C*UACC*sqrt(n)*M + 2^-126. C is "c" of the tolerance in task.json, UOUT the',
    'rounding of the stored output (fp32 2^-24, bf16 2^-8, int 0: bit equality with scale 0), UACC 2^-24, that of fp32.',
    '',
    'Example for this signature; its definition is an invented one:',
    '',
    ...exampleBody(task, dtype, members).map((line) => `  ${line}`),
  ];
}

/** Where the form says what has to be written; the compiler repeats this sentence until it is. */
function demand(task: Task): string {
  const outputs = bufferParams(task).filter(isOutput);
  const names = outputs.map((output, index) => `${output.name} (output ${index})`).join(' and of ');
  return (
    `reference.h of task ${task.id} is not filled in: replace this line by code that returns {value, scale, n} of element i of ${names}, ` +
    'computed in double from the definition; the comment above has an example'
  );
}

/**
 * reference.h of a drafted task: a form with everything fetched that a reference needs, and one `#error` where the definition has to be
 * written. As long as that line stands, the judge does not compile and says what is missing.
 */
export function referenceForm(task: Task, dtype: Dtype): string {
  const members = membersOf(task);
  const initializers = members.list.map(({ name, from }) => `${name}(${from})`).join(',\n        ');
  return `// Reference of ${task.id}: a form to fill in. What it says is what every version of the kernel is compared with.
#pragma once

#include "reference_api.h"

namespace task {

${['/**', ...description(task, dtype, members).map((line) => ` * ${line}`.trimEnd()), ' */'].join('\n')}
struct Reference {
  explicit Reference(const cm::Problem& p)
      : ${initializers} {}

  cm::Ref at(int output, int64_t i) const {
#error "${demand(task)}"
  }

 private:
${members.list.map(({ type, name }) => `  ${type} ${name};`).join('\n')}
};

}  // namespace task
`;
}
