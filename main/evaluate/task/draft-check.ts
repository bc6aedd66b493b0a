import { type Dtype, err, ok, type Result, type Size } from '../../contract/index.ts';
import { type DraftOptions, exprFault, given } from './draft-options.ts';
import type { DeclaredParam, WrapperDefinition } from './draft-source.ts';

export const bf16 = '__nv_bfloat16';
const scalarTypes: readonly string[] = ['int', 'long', 'float', bf16];
const mostParams = 64;
const pointees: readonly string[] = ['float', bf16, 'int'];

export const isPointer = (param: DeclaredParam): boolean => param.type.endsWith('*');
export const isConst = (param: DeclaredParam): boolean => param.type.startsWith('const ');
export const pointee = (param: DeclaredParam): string => param.type.replace(/^const /, '').slice(0, -1);

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
  const whole = param.type === 'int' || param.type === 'long';
  return given(plan.options.values, param.name) ?? (whole && plan.dims.includes(param.name) ? param.name : undefined);
}

/** Refuses parameters that a task cannot describe, all at once. */
export function checkTypes(wrapper: WrapperDefinition, dtype: Dtype): Result<null> {
  const faults = wrapper.params.flatMap((param, index) => {
    if (param.name === '') return [`parameter ${index + 1}, "${param.text}", has no name that can be read`];
    if (isPointer(param) ? !pointees.includes(pointee(param)) : !scalarTypes.includes(param.type))
      return [`${param.name} is ${param.type}`];
    if (param.type === bf16 && dtype === 'fp32') return [`${param.name} is ${bf16}, but no pointer is (make it float)`];
    return [];
  });
  if (wrapper.params.length > mostParams)
    return err('input.task', `${wrapper.name} has ${wrapper.params.length} parameters.`, {
      remedy: `A task describes at most ${mostParams}.`,
    });
  if (faults.length > 0)
    return err('input.task', `${wrapper.name}: ${faults.join('; ')}.`, {
      remedy: `Supported are pointers to float, ${bf16} and int (const where they are only read), and the scalars int, long, float and ${bf16}: change the wrapper's parameters, and convert inside it.`,
    });
  if (!wrapper.params.some((param) => isPointer(param) && !isConst(param)))
    return err('input.task', `${wrapper.name} writes nothing: every pointer is const.`, {
      remedy: 'Results go to pointers without const.',
    });
  return ok(null);
}

/** Names in options that the wrapper has no parameter of that kind for. */
export function checkNamed(plan: Plan): Result<null> {
  const { params } = plan.wrapper;
  const kinds: [string, readonly string[], string, (param: DeclaredParam) => boolean][] = [
    ['--count', Object.keys(plan.options.counts), 'pointer', isPointer],
    ['--value', Object.keys(plan.options.values), 'scalar', (param) => !isPointer(param)],
    ['--inout', plan.options.inout, 'pointer without const', (param) => isPointer(param) && !isConst(param)],
    [
      '--int',
      Object.keys(plan.options.ints),
      'int pointer that is read',
      (param) => isRead(param, plan) && isInt(param),
    ],
  ];
  for (const [option, names, kind, fits] of kinds)
    for (const name of names) {
      const fitting = params.filter(fits).map((param) => param.name);
      if (!fitting.includes(name))
        return err('usage', `${option} ${name}: ${plan.wrapper.name} has no ${kind} of that name.`, {
          remedy: fitting.length > 0 ? `It has: ${fitting.join(', ')}.` : `It has none at all.`,
        });
    }
  return ok(null);
}

/** What the source cannot tell and the options do not: everything in one message, with the options to type. */
export function checkComplete(plan: Plan): Result<null> {
  const { wrapper, options, dims } = plan;
  const lacking: { readonly what: string; readonly option: string }[] = [];
  const lacks = (what: string, names: readonly string[], option: (name: string) => string): void => {
    if (names.length > 0) lacking.push({ what: `${what} ${names.join(', ')}`, option: names.map(option).join(' ') });
  };
  const names = (filter: (param: DeclaredParam) => boolean): string[] =>
    wrapper.params.filter(filter).map((param) => param.name);
  lacks(
    'the number of elements of',
    names((param) => isPointer(param) && countOf(param, plan) === undefined),
    (name) => `--count ${name}=…`,
  );
  const unvalued = (param: DeclaredParam): boolean => !isPointer(param) && scalarValue(param, plan) === undefined;
  lacks('the value of', names(unvalued), (name) => {
    const type = wrapper.params.find((param) => param.name === name)?.type;
    return `--value ${name}=${type === 'int' || type === 'long' ? '…' : '0.5'}`;
  });
  lacks(
    'the range of the integers in',
    names((param) => isRead(param, plan) && isInt(param) && given(options.ints, param.name) === undefined),
    (name) => `--int ${name}=0:…`,
  );
  if (options.flops === undefined)
    lacking.push({
      what: 'the least number of floating-point operations of a call, for the physical floor and the roofline (a lower bound is right, more is not; 0 for a kernel that only moves data)',
      option: '--flops …',
    });
  if (lacking.length === 0) return ok(null);
  const whole = wrapper.params.some((param) => unvalued(param) && (param.type === 'int' || param.type === 'long'));
  const orSize = whole ? ' An integer that is a size is a dimension: name it in every --size instead.' : '';
  return err('usage', `${wrapper.name}: missing is ${lacking.map((lack) => lack.what).join('; ')}.`, {
    remedy: `Add, with expressions over ${dims.join(', ')} in place of the dots: ${lacking.map((lack) => lack.option).join(' ')}.${orSize}`,
  });
}

export function checkExpressions(plan: Plan): Result<null> {
  const { options, dims } = plan;
  const all: [string, string][] = [['--flops', (options.flops ?? '').trim()]];
  for (const name of Object.keys(options.counts)) all.push([`--count ${name}`, given(options.counts, name) as string]);
  for (const name of Object.keys(options.values)) all.push([`--value ${name}`, given(options.values, name) as string]);
  for (const name of Object.keys(options.ints)) {
    const ends = (given(options.ints, name) as string).split(':');
    if (ends.length !== 2)
      return err('usage', `--int ${name}: expected LO:HI, found "${options.ints[name]}".`, {
        remedy: `For indices below ${dims[0]}: --int ${name}=0:${dims[0]}`,
      });
    for (const end of ends) all.push([`--int ${name}`, end.trim()]);
  }
  for (const [option, text] of all) {
    const fault = exprFault(option, text, dims);
    if (fault !== null)
      return err('usage', `${fault}.`, {
        remedy: `Expressions know ${dims.join(', ')}, numbers, + - * / % ( ), min, max, floor, ceil, sqrt, log2, pow and sizeof(T).`,
      });
  }
  return ok(null);
}
