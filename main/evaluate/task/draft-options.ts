import { err, type Result, type Size } from '../../contract/index.ts';
import { namesIn, parseExpr } from './expr.ts';

/** What a draft needs besides the source; parameters and dimensions by their C names, expressions over dimensions. */
export interface DraftOptions {
  /** C name; needed when the source has several extern "C" void functions. */
  readonly wrapper?: string;
  /** Default: the wrapper's name. */
  readonly id?: string;
  readonly title?: string;
  /** Mathematical definition told to the agents. */
  readonly prompt?: string;
  /** Pointer parameter → number of its elements. */
  readonly counts: Readonly<Record<string, string>>;
  /** Scalar parameter → its value; default for int and long: the dimension of its own name. */
  readonly values: Readonly<Record<string, string>>;
  /** Pointers that are read and written. */
  readonly inout: readonly string[];
  /** int pointer that is read → "LO:HI", HI exclusive. */
  readonly ints: Readonly<Record<string, string>>;
  /** "N=1024,M=64", at least one; each names all dimensions. */
  readonly sizes: readonly string[];
  /** Least floating-point operations of a call. */
  readonly flops?: string;
}

/** Own property of a record of options: a parameter may be named `constructor`. */
export const given = (record: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.hasOwn(record, name) ? record[name]?.trim().split(/\s+/).join(' ') : undefined;

const identifier = /^[A-Za-z_]\w*$/;
const sizeRemedy = 'Write every dimension with a whole number: --size N=1024,M=64.';

function parseSize(text: string): Result<Size> {
  const refuse = (what: string) => err('usage', `--size ${text}: ${what}.`, { remedy: sizeRemedy });
  const size = new Map<string, number>();
  for (const part of text.split(',')) {
    const [name = '', value, more] = part.split('=').map((word) => word.trim());
    if (value === undefined || more !== undefined) return refuse(`"${part.trim()}" is not of the form NAME=NUMBER`);
    if (!identifier.test(name)) return refuse(`"${name}" cannot be the name of a dimension`);
    if (size.has(name)) return refuse(`${name} is there twice`);
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!Number.isSafeInteger(number)) return refuse(`${name} is "${value}", not a whole number`);
    size.set(name, number);
  }
  return { ok: true, value: Object.fromEntries(size) };
}

/** Sizes with the dimensions in the first one's order; every other size must have the same. */
export function parseSizes(texts: readonly string[]): Result<{ dims: string[]; sizes: Size[] }> {
  const sizes: Size[] = [];
  let dims: string[] = [];
  for (const text of texts) {
    const parsed = parseSize(text);
    if (!parsed.ok) return parsed;
    const size = parsed.value;
    if (sizes.length === 0) dims = Object.keys(size);
    const refuse = (what: string) =>
      err('usage', `--size ${text}: ${what}.`, { remedy: `Every size needs ${dims.map((d) => `${d}=…`).join(',')}.` });
    const missing = dims.filter((name) => !Object.hasOwn(size, name));
    if (missing.length > 0) return refuse(`dimension ${missing.join(', ')} is missing`);
    const unknown = Object.keys(size).filter((name) => !dims.includes(name));
    if (unknown.length > 0) return refuse(`dimension ${unknown.join(', ')} is not in the first size`);
    if (sizes.some((other) => dims.every((name) => other[name] === size[name]))) return refuse('it is there twice');
    sizes.push(Object.fromEntries(dims.map((name) => [name, size[name] as number])));
  }
  if (sizes.length === 0)
    return err('usage', 'A task needs at least one size, and its sizes name the dimensions.', { remedy: sizeRemedy });
  return { ok: true, value: { dims, sizes } };
}

/** Why a text is no expression over the dimensions, naming the option; null when it is one. */
export function exprFault(option: string, text: string, dims: readonly string[]): string | null {
  if (text.length === 0) return `${option}: the expression is empty`;
  if (text.length > 400) return `${option}: an expression has at most 400 characters, this one ${text.length}`;
  const parsed = parseExpr(text);
  if (!parsed.ok) return `${option}: ${parsed.error.message}`;
  const unknown = namesIn(parsed.value).filter((name) => !dims.includes(name));
  if (unknown.length === 0) return null;
  return `${option}: ${unknown.join(', ')} is no dimension (${dims.join(', ')} ${dims.length === 1 ? 'is' : 'are'})`;
}
