import { coord, escapeXml } from '../profile/svg.ts';
import { power } from './words.ts';

export const INK = 'var(--ink, #1a1a1a)';
export const PAPER_GROUND = 'var(--paper, #ffffff)';
export const RULE = 'var(--rule, #bbbbbb)';
export const LOW = 'var(--low, #b9cde4)';
export const HIGH = 'var(--high, #b3541e)';
export const MARK = 'var(--mark, #7a1f5c)';
export const BOLD = 'font-weight="600"';

export interface Axis {
  readonly from: number;
  readonly to: number;
  at(value: number): number;
}

/** Whole decades around the values. */
export function decades(values: readonly number[], low: number, high: number): Axis {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return { from, to, at: (value) => low + ((high - low) * (Math.log10(value) - from)) / (to - from) };
}

/** At most nine decades, evenly apart, 1 among them where the axis holds it: more labels would overlap. */
export function ticks({ from, to }: Pick<Axis, 'from' | 'to'>): number[] {
  const step = Math.ceil((to - from) / 8);
  const start = from <= 0 && to >= 0 ? -step * Math.floor(-from / step) : from;
  const out: number[] = [];
  for (let exponent = start; exponent <= to; exponent += step) out.push(10 ** exponent);
  return out;
}

/** A decade as it is written on an axis. */
export function decade(value: number): string {
  const exponent = Math.round(Math.log10(value));
  return exponent >= -3 && exponent <= 3 ? String(Number(value.toPrecision(1))) : power(exponent);
}

export interface Look {
  readonly shape: 'circle' | 'square';
  /** Told apart without colour: an outline, not filled. */
  readonly hollow: boolean;
  readonly label: string;
  /** Default: that of its shape. */
  readonly colour?: string;
}

/** A mark of a picture; its label is read by a pointer that rests on it. */
export function mark(
  { shape, hollow, label, colour = shape === 'circle' ? HIGH : MARK }: Look,
  x: number,
  y: number,
): string {
  const title = label === '' ? '' : `<title>${escapeXml(label)}</title>`;
  const look = hollow
    ? `fill="${PAPER_GROUND}" stroke="${colour}" stroke-width="2"`
    : `fill="${colour}" fill-opacity="0.85" stroke="${INK}" stroke-width="0.5"`;
  return shape === 'circle'
    ? `<circle cx="${coord(x)}" cy="${coord(y)}" r="4" ${look}>${title}</circle>`
    : `<rect x="${coord(x - 3.5)}" y="${coord(y - 3.5)}" width="7" height="7" ${look}>${title}</rect>`;
}
