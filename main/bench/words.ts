import type { Estimate } from '../contract/index.ts';
import type { Cell } from '../profile/html.ts';
import type { Entry, ProfileEntry } from './report.ts';

/** A figure that was not measured: never a zero. */
export const NONE = '–';
export const figure = (text: string): Cell => ({ figure: text });

/** "12.3×": three digits; just above 1 one more, so that a small difference is not read as none. */
export const times = (x: number): string => {
  if (x > 0 && x < 1) return `${x.toPrecision(3)}×`;
  return `${x.toFixed(x >= 100 ? 0 : x >= 10 ? 1 : x < 1.01 && x !== 1 ? 3 : 2)}×`;
};

/**
 * How sure a figure is: "±0.4 %" by the farther end of its interval, or both ends where that is more than a tenth. Intervals are
 * symmetric in the logarithm: of a wide one, half its width would promise a lower end that it does not have.
 */
export function margin(e: Estimate, text: (x: number) => string, unit = ''): string {
  const far = Math.max(e.hi / e.value - 1, 1 - e.lo / e.value);
  return far <= 0.1 ? `±${(100 * far).toPrecision(2)} %` : `${text(e.lo)} to ${text(e.hi)}${unit}`;
}

/** "12.30 µs" with its margin. */
export function span(e: Estimate | null): Cell {
  if (e === null) return figure(NONE);
  const [factor, unit] =
    e.value >= 1e9 ? [1e9, 's'] : e.value >= 1e6 ? [1e6, 'ms'] : e.value >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  const digits = (x: number, count: number): string => {
    const scaled = x / factor;
    return scaled >= 10 ** count ? scaled.toFixed(0) : scaled.toPrecision(count);
  };
  return { figure: `${digits(e.value, 4)} ${unit}`, margin: margin(e, (x) => digits(x, 3), ` ${unit}`) };
}

export const ratio = (e: Estimate | null): Cell =>
  e === null ? figure(NONE) : { figure: times(e.value), margin: margin(e, times) };

export const number = (x: number | null, text: (x: number) => string): Cell => figure(x === null ? NONE : text(x));
export const seconds = (s: number | null): Cell => number(s, (x) => x.toFixed(1));

/** A percentage without its unit: one decimal, or as many as show that it is not zero. */
export const percent = (x: number): string =>
  x === 0 ? '0' : x < 0.1 ? String(Number(x.toPrecision(1))) : x.toFixed(1);

const RAISED: Readonly<Record<string, string>> = {
  '-': '⁻',
  ...Object.fromEntries([...'⁰¹²³⁴⁵⁶⁷⁸⁹'].map((digit, i) => [String(i), digit])),
};

/** "10⁵" */
export const power = (exponent: number): string => `10${[...String(exponent)].map((c) => RAISED[c] ?? c).join('')}`;

/** Three digits; very large and very small ones as "1.88·10⁷". */
export function ulps(x: number): string {
  if (x === 0 || (x >= 0.001 && x < 1e5)) return String(Number(x.toPrecision(3)));
  const exponent = Math.floor(Math.log10(x));
  return `${Number((x / 10 ** exponent).toPrecision(3))}·${power(exponent)}`;
}

/** By its interval alone: faster or slower when that lies on one side of 1. */
export type Verdict = 'faster' | 'slower' | 'open';
export const verdictOf = (e: Estimate): Verdict => (e.lo > 1 ? 'faster' : e.hi < 1 ? 'slower' : 'open');

export const verdictWords: Readonly<Record<Verdict, string>> = {
  faster: 'faster',
  slower: 'slower',
  open: 'not told apart',
};

/** Middle of the values; null of none. */
export function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}

/** Tasks in the order of the alphabet, capitals among the others, and each once. */
export const tasksOf = (entries: readonly Pick<Entry, 'task'>[]): string[] =>
  [...new Set(entries.map((e) => e.task))].sort((a, b) => byName(a, b));

export const byName = (a: string, b: string): number => {
  const [low, high] = [a.toLowerCase(), b.toLowerCase()];
  return low < high ? -1 : low > high ? 1 : a < b ? -1 : a > b ? 1 : 0;
};

/** Where a page describes a task. */
export const placeOf = (task: string): string => `task-${task}`;
export const taskCell = (task: string): Cell => ({ text: task, to: placeOf(task) });

/** Letter of a machine in the order of the report: A, B … Z, A1 …; of none a dash. */
export const letter = (machine: number): string =>
  machine < 0 ? NONE : `${String.fromCharCode(65 + (machine % 26))}${machine >= 26 ? Math.floor(machine / 26) : ''}`;

/**
 * Where a profile stands under the roof: at the pipe with most operations of which this GPU's peak was measured. In FP32 code the compiler
 * moves constants by packed FP16 instructions, which ncu counts as arithmetic; they have no roof here.
 */
export const pointOf = ({
  roofline,
}: ProfileEntry): NonNullable<ProfileEntry['roofline']>['points'][number] | undefined =>
  roofline?.points.find(({ ofCeiling }) => ofCeiling.available) ?? roofline?.points[0];

export const list = (names: readonly string[]): string => names.join(', ');
