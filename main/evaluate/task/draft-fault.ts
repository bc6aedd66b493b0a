import type { AppError, DraftFault, DraftField } from '../../contract/index.ts';

/**
 * A fault of a draft. A form shows `message` and `remedy` at the field; `typed` is the same for a command line, where the option has to
 * be named and the remedy is what to type.
 */
export interface Fault extends DraftFault {
  readonly typed: AppError;
}

const options: Readonly<Record<DraftField, string>> = {
  wrapper: '--wrapper',
  id: '--id',
  title: '--title',
  prompt: '--describe',
  counts: '--count',
  values: '--value',
  inout: '--inout',
  ints: '--int',
  sizes: '--size',
  flops: '--flops',
  source: 'source',
  task: 'task.json',
};

/** A sentence begins with a capital, unless with a name out of the source. */
const sentence = (what: string): string =>
  `${what.replace(/^(?:an|dimension|expected|it|the) /, (word) => word.slice(0, 1).toUpperCase() + word.slice(1))}.`;

/**
 * @param what without a full stop; the command line says `--option name: what.` unless `typed` has words of its own.
 */
export function faultAt(
  field: DraftField,
  name: string | null,
  what: string,
  remedy: string,
  typed: Partial<AppError> & { readonly missing?: boolean } = {},
): Fault {
  const { missing = false, ...words } = typed;
  const option = name === null ? options[field] : `${options[field]} ${name}`;
  return {
    field,
    name,
    message: sentence(what),
    remedy,
    missing,
    typed: { code: 'usage', message: `${option}: ${what}.`, remedy, ...words },
  };
}
