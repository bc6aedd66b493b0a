/**
 * Figures as text, the same on every screen: fixed significant digits, units aligned, missing is an en dash and never zero.
 * Spaces between number and unit are no-break spaces.
 */
import type { Estimate } from '../../main/contract/evaluation.ts';
import type { MetricValue } from '../../main/contract/profile.ts';

export const MISSING = '–';
const NBSP = ' ';
const MINUS = '−';

/** A task's category in words; `user` is what the user made. */
export const categoryName = (category: string | null): string =>
  category === 'user' ? 'your own' : (category ?? 'other').replaceAll('-', ' ');

const signed = (text: string): string => (text.startsWith('-') ? `${MINUS}${text.slice(1)}` : text);

/** Thousands by thin groups: 12345.6 → "12,345.6". */
const grouped = (text: string): string => {
  const [whole = '', fraction] = text.split('.');
  const groups = whole.replace(/\B(?=(\d{3})+(?!\d))/g, ',');
  return fraction === undefined ? groups : `${groups}.${fraction}`;
};

/** `digits` significant digits without an exponent, thousands grouped; integers above that keep all digits. */
export function number(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined || Number.isNaN(x)) return MISSING;
  if (!Number.isFinite(x)) return x > 0 ? '∞' : `${MINUS}∞`;
  if (x === 0) return '0';
  const magnitude = Math.abs(x);
  if (magnitude < 1e-4 || magnitude >= 1e15) return signed(x.toExponential(Math.max(0, digits - 1)));
  const before = Math.floor(Math.log10(magnitude)) + 1;
  return signed(grouped(x.toFixed(Math.min(8, Math.max(0, digits - before)))));
}

const trimmed = (text: string): string => text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');

/** A round number on an axis, without trailing zeros: "0.5", "10", "1,000". */
export const tick = (x: number): string => (x === 0 ? '0' : trimmed(number(x, 6)));

/** A count: all its digits, grouped. */
export const count = (x: number | null | undefined): string =>
  x === null || x === undefined || !Number.isFinite(x) ? MISSING : signed(grouped(Math.round(x).toString()));

export const timeUnits = ['ns', 'µs', 'ms', 's'] as const;
export type TimeUnit = (typeof timeUnits)[number];
const nsPer: Record<TimeUnit, number> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** The unit in which a time of `ns` has one to three digits before the point. */
export function timeUnit(ns: number): TimeUnit {
  const magnitude = Math.abs(ns);
  if (magnitude < 1e3) return 'ns';
  if (magnitude < 1e6) return 'µs';
  return magnitude < 1e9 ? 'ms' : 's';
}

/** One unit for a column of times that may differ by orders: that of the middle between least and most. Without times: µs. */
export function columnUnit(times: readonly (number | null | undefined)[]): TimeUnit {
  const known = times.filter((ns): ns is number => typeof ns === 'number' && ns > 0 && Number.isFinite(ns));
  return known.length === 0 ? 'µs' : timeUnit(Math.sqrt(Math.min(...known) * Math.max(...known)));
}

/** The number of a time alone, where the heading has the unit: 12345 ns in µs → "12.35". */
export const timeIn = (ns: number | null | undefined, unit: TimeUnit): string =>
  ns === null || ns === undefined || !Number.isFinite(ns) ? MISSING : number(ns / nsPer[unit]);

/** 12345 ns → "12.35 µs". `unit` keeps a column in one unit. */
export function time(ns: number | null | undefined, unit?: TimeUnit): string {
  if (ns === null || ns === undefined || !Number.isFinite(ns)) return MISSING;
  const chosen = unit ?? timeUnit(ns);
  return `${number(ns / nsPer[chosen])}${NBSP}${chosen}`;
}

/** "12.41 µs [12.38, 12.45]" */
export function timeEstimate(e: Estimate | null | undefined, unit?: TimeUnit): string {
  if (!e) return MISSING;
  const chosen = unit ?? timeUnit(e.value);
  const bare = (ns: number) => number(ns / nsPer[chosen]);
  return `${bare(e.value)}${NBSP}${chosen} [${bare(e.lo)}, ${bare(e.hi)}]`;
}

/** A ratio such as a speed-up: "1.842×", "1,274×". */
export const ratio = (x: number | null | undefined): string => {
  const text = number(x);
  return text === MISSING ? text : `${text}×`;
};

/** "1.842× [1.830, 1.860]" */
export const ratioEstimate = (e: Estimate | null | undefined): string =>
  e ? `${ratio(e.value)} [${number(e.lo)}, ${number(e.hi)}]` : MISSING;

/** Half the width of an interval against its value, the wider side: "±2.5 %". Tables show it; the whole interval is the cell's tooltip. */
export function spread(e: Estimate | null | undefined): string {
  if (!e || e.value === 0) return '';
  const half = Math.max(e.hi - e.value, e.value - e.lo) / Math.abs(e.value);
  return `±${half >= 0.1 ? Math.round(100 * half) : (100 * half).toFixed(half < 0.001 ? 2 : 1)}${NBSP}%`;
}

/** "99 %" of a level 0.99. */
export const level = (x: number): string => `${Number((100 * x).toFixed(2))}${NBSP}%`;

/** A share 0…1 as per cent with `places` decimals. */
export const percent = (share: number | null | undefined, places = 1): string =>
  share === null || share === undefined || !Number.isFinite(share)
    ? MISSING
    : `${signed((100 * share).toFixed(places))}${NBSP}%`;

const byteUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;
/** 1536 → "1.5 KiB". Whole bytes stay whole. */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined || !Number.isFinite(n)) return MISSING;
  let value = n;
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text = unit === 0 ? count(value) : number(value, Math.abs(value) >= 100 ? 4 : 3).replace(/(\.\d*?)0+$/, '$1');
  return `${text.replace(/\.$/, '')}${NBSP}${byteUnits[unit]}`;
}

const siSteps: readonly (readonly [number, string])[] = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];
/** With an SI prefix: 3.35e12, "B/s" → "3.350 TB/s". */
export function si(x: number | null | undefined, unit: string): string {
  if (x === null || x === undefined || !Number.isFinite(x)) return MISSING;
  const step = siSteps.find(([size]) => Math.abs(x) >= size);
  return step ? `${number(x / step[0])}${NBSP}${step[1]}${unit}` : `${number(x)}${NBSP}${unit}`;
}

/** US dollars: cents for sums, more places for small amounts. null is "unknown", never $0. */
export function money(usd: number | null | undefined): string {
  if (usd === null || usd === undefined || !Number.isFinite(usd)) return 'unknown';
  if (usd === 0) return '$0.00';
  return Math.abs(usd) < 0.1 ? `$${usd.toFixed(4)}` : `$${grouped(usd.toFixed(2))}`;
}

/** A metric as ncu gave it, in a unit people read; not available with its reason in `title`. */
export function metric(value: MetricValue): { readonly text: string; readonly title: string } {
  if (!value.available) return { text: 'not available', title: value.reason };
  const { value: x, unit } = value;
  if (unit === '%') return { text: `${number(x, 3)}${NBSP}%`, title: `${x} %` };
  if (unit === 'ns' || unit === 'nsecond') return { text: time(x), title: `${x} ns` };
  if (unit === 'byte') return { text: bytes(x), title: `${x} bytes` };
  if (/^(byte\/s|byte\/second|flop\/s)$/.test(unit))
    return { text: si(x, unit.startsWith('byte') ? 'B/s' : 'FLOP/s'), title: `${x} ${unit}` };
  // ncu prints two decimals: digits that it did not give are not made up.
  const figure = Number.isInteger(x) ? count(x) : trimmed(number(x));
  return { text: unit === '' || unit === '1' ? figure : `${figure}${NBSP}${unit}`, title: `${x} ${unit}`.trim() };
}

/** How long something took or takes: "45 ms", "2.4 s", "12 s", "3 min 05 s", "2 h 07 min". */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms) || ms < 0) return MISSING;
  const s = ms / 1000;
  if (ms < 1000) return `${Math.round(ms)}${NBSP}ms`;
  if (s < 10) return `${s.toFixed(1)}${NBSP}s`;
  if (s < 60) return `${Math.round(s)}${NBSP}s`;
  const pad = (n: number) => String(n).padStart(2, '0');
  const whole = Math.round(s);
  if (whole < 3600) return `${Math.floor(whole / 60)}${NBSP}min${NBSP}${pad(whole % 60)}${NBSP}s`;
  return `${Math.floor(whole / 3600)}${NBSP}h${NBSP}${pad(Math.floor((whole % 3600) / 60))}${NBSP}min`;
}

/** "2026-11-29 17:55:49" in the reader's time zone; `title` attributes carry the ISO text. */
export function stamp(iso: string | null | undefined): string {
  if (!iso) return MISSING;
  const d = new Date(iso);
  if (Number.isNaN(d.getTime())) return MISSING;
  const pad = (n: number) => String(n).padStart(2, '0');
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** "just now", "5 min ago", "3 h ago", else the date. `now` is injectable for tests. */
export function ago(iso: string | null | undefined, now = Date.now()): string {
  if (!iso) return MISSING;
  const past = now - new Date(iso).getTime();
  if (Number.isNaN(past)) return MISSING;
  if (past < 60_000) return 'just now';
  if (past < 3_600_000) return `${Math.floor(past / 60_000)} min ago`;
  if (past < 86_400_000) return `${Math.floor(past / 3_600_000)} h ago`;
  return stamp(iso).slice(0, 10);
}

/** "rows=1024 cols=2048" */
export const dims = (size: Readonly<Record<string, number>>): string =>
  Object.entries(size)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

/** A sum with a hole is no sum: "1,234" or "≥ 1,234 (2 unknown)". */
export const partial = (text: string, unknown: number): string =>
  unknown === 0 ? text : `≥${NBSP}${text} (${unknown} unknown)`;
