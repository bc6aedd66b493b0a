import { redact } from '../base/redact.ts';
import type { Estimate } from '../contract/index.ts';

/** Folders of a user or a machine have no place in a report that is passed on; the toolkit's own under /usr may stay. */
const paths = /(?<![\w.])(?:\/(?!usr\/)[\w.@~+-]+(?:\/[\w.@~+-]+)+|[A-Za-z]:\\[^\s"']+)/g;

/** Characters that act on whoever shows the text: controls, and those that turn its direction. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
const acting = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g;

/**
 * Text of models and tools is shown as it stands: it makes no tag, link, picture or code block. Brackets that lead to no link (intervals)
 * stay readable.
 */
const inert = (text: string): string =>
  text
    .replaceAll(/[\\`]/g, '\\$&')
    .replaceAll(/\](?=[([:])/g, '\\]')
    .replaceAll('<', '&lt;');

/** Free text of a run as one paragraph: no keys, no paths, no control characters, no markup. Not to be applied twice. */
export const paragraph = (text: string): string =>
  inert(redact(text).replaceAll(paths, '[path]').replaceAll(acting, ' ')).trim();

/** Text inside a table. */
export const cell = (text: string): string => paragraph(text).replaceAll('|', '\\|');

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  `| ${head.join(' | ')} |`,
  `|${head.map(() => '---').join('|')}|`,
  ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
];

/** A block of code; its fence is longer than any inside it. */
export function code(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${redact(text)}\n${fence}`;
}

/** Four significant digits without an exponent. */
const significant = (x: number): string => {
  const digits = x === 0 ? 0 : Math.floor(Math.log10(Math.abs(x))) + 1;
  return x.toFixed(Math.min(6, Math.max(0, 4 - digits)));
};

const unitOf = (ns: number): readonly [number, string] =>
  ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];

/** Nanoseconds in the unit that suits them. */
export function time(ns: number): string {
  const [factor, unit] = unitOf(ns);
  return `${significant(ns / factor)} ${unit}`;
}

/** "12.41 [12.38, 12.45] µs"; missing is said, never 0. */
export function estimate(e: Estimate | null): string {
  if (e === null) return 'not measured';
  const [factor, unit] = unitOf(e.value);
  const [value, lo, hi] = [e.value, e.lo, e.hi].map((x) => significant(x / factor));
  return `${value} [${lo}, ${hi}] ${unit}`;
}

/** "1.842× [1.830, 1.860]" */
export const ratio = (e: Estimate | null): string =>
  e === null ? 'not measured' : `${e.value.toFixed(3)}× [${e.lo.toFixed(3)}, ${e.hi.toFixed(3)}]`;

export const number = (x: number | null, unit: string): string =>
  x === null ? 'not available' : `${Number.isInteger(x) ? x : significant(x)}${unit}`;
