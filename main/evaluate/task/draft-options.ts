import type { Size } from '../../contract/index.ts';
import { type Fault, faultAt } from './draft-fault.ts';
import { namesIn, parseExpr } from './expr.ts';

export type { DraftOptions } from '../../contract/index.ts';

/** Own property of a record of options: a parameter may be named `constructor`. */
export const given = (record: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(record, name) ? record[name]?.trim().split(/\s+/).join(' ') : undefined;

const identifier = /^[A-Za-z_]\w*$/;
const sizeRemedy = 'Write every dimension with a whole number';
const typedRemedy = `${sizeRemedy}: --size N=1024,M=64.`;

/** `size` holds what could be read, also beside a fault: its names are dimensions. */
interface ReadSize {
  readonly size: Size;
  readonly fault: Fault | null;
}

const refused = (index: number, text: string, what: string, remedy: string, typed: string): Fault =>
  faultAt('sizes', String(index), what, remedy, { message: `--size ${text}: ${what}.`, remedy: typed });

/** An empty field of a form is not filled in yet, a text that is no number is wrong. */
function refusedNumber(index: number, text: string, name: string, value: string): Fault {
  const what = `${name} is "${value}", not a whole number`;
  if (value !== '') return refused(index, text, what, `${sizeRemedy}.`, typedRemedy);
  const message = `--size ${text}: ${what}.`;
  return faultAt('sizes', String(index), `${name} is needed`, `${sizeRemedy}.`, {
    missing: true,
    message,
    remedy: typedRemedy,
  });
}

function readSize(text: string, index: number): ReadSize {
  const size = new Map<string, number>();
  let first: Fault | null = null;
  const refuse = (what: string): void => {
    first ??= refused(index, text, what, `${sizeRemedy}.`, typedRemedy);
  };
  for (const part of text.split(',')) {
    const [name = '', value, more] = part.split('=').map((word) => word.trim());
    if (value === undefined || more !== undefined) refuse(`"${part.trim()}" is not of the form NAME=NUMBER`);
    else if (!identifier.test(name)) refuse(`"${name}" cannot be the name of a dimension`);
    else if (size.has(name)) refuse(`${name} is there twice`);
    else {
      const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      if (!Number.isSafeInteger(number)) first ??= refusedNumber(index, text, name, value);
      size.set(name, number);
    }
  }
  return { size: Object.fromEntries(size), fault: first };
}

/** Why a size does not stand beside the others; null: it does. */
function unlikeOthers(size: Size, dims: readonly string[], others: readonly Size[]): string | null {
  const missing = dims.filter((name) => !Object.hasOwn(size, name));
  if (missing.length > 0) return `dimension ${missing.join(', ')} is missing`;
  const unknown = Object.keys(size).filter((name) => !dims.includes(name));
  if (unknown.length > 0) return `dimension ${unknown.join(', ')} is not in the first size`;
  return others.some((other) => dims.every((name) => other[name] === size[name])) ? 'it is there twice' : null;
}

export interface ReadSizes {
  readonly dims: readonly string[];
  readonly sizes: readonly Size[];
  /** None: every size is whole. */
  readonly faults: readonly Fault[];
}

/** Sizes with the dimensions in the first one's order; every other size must have the same. */
export function parseSizes(texts: readonly string[]): ReadSizes {
  const sizes: Size[] = [];
  const faults: Fault[] = [];
  let dims: string[] = [];
  for (const [index, text] of texts.entries()) {
    const { size, fault } = readSize(text, index);
    if (index === 0) dims = Object.keys(size);
    const unlike = fault === null ? unlikeOthers(size, dims, sizes) : null;
    if (fault) faults.push(fault);
    else if (unlike !== null) {
      const every = `Every size needs ${dims.map((d) => `${d}=…`).join(',')}.`;
      faults.push(refused(index, text, unlike, every, every));
    } else sizes.push(Object.fromEntries(dims.map((name) => [name, size[name] as number])));
  }
  if (texts.length === 0)
    faults.push(
      faultAt('sizes', null, 'a task needs at least one size, and its sizes name the dimensions', `${sizeRemedy}.`, {
        missing: true,
        message: 'A task needs at least one size, and its sizes name the dimensions.',
        remedy: typedRemedy,
      }),
    );
  return { dims, sizes, faults };
}

/** Why a text is no expression over the dimensions; null when it is one. */
export function exprFault(text: string, dims: readonly string[]): string | null {
  if (text.length === 0) return 'the expression is empty';
  if (text.length > 400) return `an expression has at most 400 characters, this one ${text.length}`;
  const parsed = parseExpr(text);
  if (!parsed.ok) return parsed.error.message;
  const unknown = namesIn(parsed.value).filter((name) => !dims.includes(name));
  if (unknown.length === 0) return null;
  return `${unknown.join(', ')} is no dimension (${dims.join(', ')} ${dims.length === 1 ? 'is' : 'are'})`;
}
