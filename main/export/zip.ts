import { type Zippable, zipSync } from 'fflate';
import { sha256Hex } from '../base/hash.ts';

/** One date for every entry: local fields, so that no time zone enters the bytes. */
const when = (): Date => new Date(1980, 0, 1, 12, 0, 0);

/** Names that are safe wherever they are unpacked. */
const safeName = /^(?:[A-Za-z0-9_-]+\/)?[A-Za-z0-9_-][A-Za-z0-9_.-]*$/;

const unixMode = (mode: number): number => (0o100000 | mode) << 16;

/** SHA-256 of every file in the format of `sha256sum -c`, sorted by name. */
export const sums = (files: ReadonlyMap<string, string>): string =>
  [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => `${sha256Hex(text)}  ${name}\n`)
    .join('');

/**
 * ZIP of text files: fixed order, dates and modes, so that the same files give the same bytes.
 * @throws RangeError for a name that is not plain.
 */
export function zipOf(files: ReadonlyMap<string, string>): Uint8Array {
  const entries: Zippable = {};
  for (const [name, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!safeName.test(name)) throw new RangeError(`not a safe name in a ZIP: ${name}`);
    const mode = name.endsWith('.sh') ? 0o755 : 0o644;
    entries[name] = [new TextEncoder().encode(text), { mtime: when(), os: 3, attrs: unixMode(mode), level: 9 }];
  }
  return zipSync(entries);
}
