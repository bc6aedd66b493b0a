import { type AppError, type Dtype, err, type Size } from '../../contract/index.ts';
import { type Fault, faultAt } from './draft-fault.ts';
import { type DraftOptions, exprFault, given } from './draft-options.ts';
import type { DeclaredParam, WrapperDefinition } from './draft-source.ts';

export const bf16 = '__nv_bfloat16';
const scalarTypes: readonly string[] = ['int', 'long', 'float', bf16];
const mostParams = 64;
const pointees: readonly string[] = ['float', bf16, 'int'];

export const isPointer = (param: DeclaredParam): boolean => param.type.endsWith('*');
export const isConst = (param: DeclaredParam): boolean => param.type.startsWith('const ');
export const pointee = (param: DeclaredParam): string => param.type.replace(/^const /, '').slice(0, -1);
const isWhole = (param: DeclaredParam): boolean => param.type === 'int' || param.type === 'long';

/** Roles and expressions of a wrapper's parameters as far as source and options say them. */
export interface Plan {
  readonly wrapper: WrapperDefinition;
  readonly options: DraftOptions;
  readonly dtype: Dtype;
  readonly dims: readonly string[];
  readonly sizes: readonly Size[];
}

export const isRead = (param: DeclaredParam, plan: Plan): boolean =>
  isPointer(param) && (isConst(param) || plan.options.inout.includes(param.name));
export const isInt = (param: DeclaredParam): boolean => pointee(param) === 'int';

export const countOf = (param: DeclaredParam, plan: Plan): string | undefined =>
  given(plan.options.counts, param.name) ?? (plan.dims.length === 1 ? plan.dims[0] : undefined);

export function scalarValue(param: DeclaredParam, plan: Plan): string | undefined {
  const own = isWhole(param) && plan.dims.includes(param.name) ? param.name : undefined;
  return given(plan.options.values, param.name) ?? own;
}

/** Refuses parameters that a task cannot describe, all at once. */
export function checkTypes(wrapper: WrapperDefinition, dtype: Dtype): Fault[] {
  const refuse = (message: string, remedy: string): Fault[] => [
    faultAt('source', null, message, remedy, { code: 'input.task', message: `${message}.` }),
  ];
  const faults = wrapper.params.flatMap((param, index) => {
    if (param.name === '') return [`parameter ${index + 1}, "${param.text}", has no name that can be read`];
    if (isPointer(param) ? !pointees.includes(pointee(param)) : !scalarTypes.includes(param.type))
      return [`${param.name} is ${param.type}`];
    if (param.type === bf16 && dtype === 'fp32') return [`${param.name} is ${bf16}, but no pointer is (make it float)`];
    return [];
  });
  if (wrapper.params.length > mostParams)
    return refuse(`${wrapper.name} has ${wrapper.params.length} parameters`, `A task describes at most ${mostParams}.`);
  if (faults.length > 0)
    return refuse(
      `${wrapper.name}: ${faults.join('; ')}`,
      `Supported are pointers to float, ${bf16} and int (const where they are only read), and the scalars int, long, float and ${bf16}: change the wrapper's parameters, and convert inside it.`,
    );
  if (!wrapper.params.some((param) => isPointer(param) && !isConst(param)))
    return refuse(`${wrapper.name} writes nothing: every pointer is const`, 'Results go to pointers without const.');
  return [];
}

/** Names in options that the wrapper has no parameter of that kind for. */
export function checkNamed(plan: Plan): Fault[] {
  const { wrapper, options } = plan;
  const kinds: [
    'counts' | 'values' | 'inout' | 'ints',
    readonly string[],
    string,
    (param: DeclaredParam) => boolean,
  ][] = [
    ['counts', Object.keys(options.counts), 'pointer', isPointer],
    ['values', Object.keys(options.values), 'scalar', (param) => !isPointer(param)],
    ['inout', options.inout, 'pointer without const', (param) => isPointer(param) && !isConst(param)],
    ['ints', Object.keys(options.ints), 'int pointer that is read', (param) => isRead(param, plan) && isInt(param)],
  ];
  return kinds.flatMap(([field, names, kind, fits]) => {
    const fitting = wrapper.params.filter(fits).map((param) => param.name);
    const remedy = fitting.length > 0 ? `It has: ${fitting.join(', ')}.` : 'It has none at all.';
    return names
      .filter((name) => !fitting.includes(name))
      .map((name) => faultAt(field, name, `${wrapper.name} has no ${kind} of that name`, remedy));
  });
}

const flopsNeeded =
  'the least number of floating-point operations of a call, for the physical floor and the roofline (a lower bound is right, more is not; 0 for a kernel that only moves data)';

/** What the source cannot tell and the options do not. */
export function checkComplete(plan: Plan): Fault[] {
  const { wrapper, options } = plan;
  const over = plan.dims.length > 0 ? `An expression over ${plan.dims.join(', ')}` : 'An expression over dimensions';
  const lacks = (field: Fault['field'], name: string | null, what: string, remedy: string): Fault =>
    faultAt(field, name, what, remedy, { missing: true });
  const counts = wrapper.params
    .filter((param) => isPointer(param) && countOf(param, plan) === undefined)
    .map(({ name }) => lacks('counts', name, `the number of elements of ${name} is needed`, `${over}.`));
  const values = wrapper.params
    .filter((param) => !isPointer(param) && scalarValue(param, plan) === undefined)
    .map((param) =>
      lacks(
        'values',
        param.name,
        `the value of ${param.name} is needed`,
        isWhole(param) ? `${over}. An integer that is a size is a dimension: name it as one.` : `${over}, as 0.5.`,
      ),
    );
  const ints = wrapper.params
    .filter((param) => isRead(param, plan) && isInt(param) && given(options.ints, param.name) === undefined)
    .map(({ name }) =>
      lacks('ints', name, `the range of the integers in ${name} is needed`, 'Least value, and the first beyond.'),
    );
  if (options.flops !== undefined) return [...counts, ...values, ...ints];
  return [...counts, ...values, ...ints, lacks('flops', null, `${flopsNeeded} is needed`, `${over}.`)];
}

/** Everything that checkComplete found in one message, with the options to type. */
export function missingError(plan: Plan, faults: readonly Fault[]): AppError {
  const { wrapper, dims } = plan;
  const lacking: { readonly what: string; readonly option: string }[] = [];
  const names = (field: Fault['field']): string[] =>
    faults.filter((fault) => fault.field === field).map((fault) => fault.name ?? '');
  const typeOf = (name: string) => wrapper.params.find((param) => param.name === name);
  const wholes = names('values').filter((name) => isWhole(typeOf(name) as DeclaredParam));
  const groups: [Fault['field'], string, (name: string) => string][] = [
    ['counts', 'the number of elements of', (name) => `--count ${name}=…`],
    ['values', 'the value of', (name) => `--value ${name}=${wholes.includes(name) ? '…' : '0.5'}`],
    ['ints', 'the range of the integers in', (name) => `--int ${name}=0:…`],
  ];
  for (const [field, what, option] of groups) {
    const missing = names(field);
    if (missing.length > 0)
      lacking.push({ what: `${what} ${missing.join(', ')}`, option: missing.map(option).join(' ') });
  }
  if (names('flops').length > 0) lacking.push({ what: flopsNeeded, option: '--flops …' });
  const orSize = wholes.length > 0 ? ' An integer that is a size is a dimension: name it in every --size instead.' : '';
  return err('usage', `${wrapper.name}: missing is ${lacking.map((lack) => lack.what).join('; ')}.`, {
    remedy: `Add, with expressions over ${dims.join(', ')} in place of the dots: ${lacking.map((lack) => lack.option).join(' ')}.${orSize}`,
  }).error;
}

export function checkExpressions(plan: Plan): Fault[] {
  const { options, dims } = plan;
  const remedy = `Expressions know ${dims.join(', ')}, numbers, + - * / % ( ), min, max, floor, ceil, sqrt, log2, pow and sizeof(T).`;
  const check = (field: Fault['field'], name: string | null, text: string): Fault[] => {
    const fault = exprFault(text, dims);
    return fault === null ? [] : [faultAt(field, name, fault, remedy)];
  };
  const all = (field: 'counts' | 'values'): Fault[] =>
    Object.keys(options[field]).flatMap((name) => check(field, name, given(options[field], name) as string));
  const range = (name: string): Fault[] => {
    const ends = (given(options.ints, name) as string).split(':');
    if (ends.length === 2) return ends.flatMap((end) => check('ints', name, end.trim())).slice(0, 1);
    return [
      faultAt(
        'ints',
        name,
        `expected LO:HI, found "${options.ints[name]}"`,
        `For indices below ${dims[0]}: 0:${dims[0]}`,
        {
          remedy: `For indices below ${dims[0]}: --int ${name}=0:${dims[0]}`,
        },
      ),
    ];
  };
  return [
    ...(options.flops === undefined ? [] : check('flops', null, options.flops.trim())),
    ...all('counts'),
    ...all('values'),
    ...Object.keys(options.ints).flatMap(range),
  ];
}
