import { expect, test } from 'vitest';
import {
  ago,
  bytes,
  columnUnit,
  count,
  duration,
  metric,
  money,
  number,
  partial,
  percent,
  ratio,
  ratioEstimate,
  si,
  spread,
  tick,
  time,
  timeEstimate,
  timeIn,
} from '../../renderer/ui/format.ts';

const plain = (text: string): string => text.replaceAll(' ', ' ');

test('numbers have the asked digits, grouped thousands and no exponent in the usual range', () => {
  expect([0, 1, 12.3456, 1234.5678, 0.00123456, 1234567.8].map((x) => number(x))).toEqual([
    '0',
    '1.000',
    '12.35',
    '1,235',
    '0.001235',
    '1,234,568',
  ]);
  expect(number(-5.5)).toBe('−5.500');
  expect(number(1e-7)).toBe('1.000e-7');
  expect(number(Infinity)).toBe('∞');
});

test('missing is a dash, never zero', () => {
  for (const text of [number(null), number(Number.NaN), count(undefined), time(null), ratio(null), percent(null)])
    expect(text).toBe('–');
  expect([bytes(null), duration(null), si(null, 'B/s'), timeEstimate(null), ratioEstimate(null), ago(null)]).toEqual(
    Array(6).fill('–'),
  );
  expect(money(null)).toBe('unknown');
});

test('times take the unit with one to three digits before the point, or that of the column', () => {
  expect([1, 999, 1500, 2_500_000, 3.2e9].map((ns) => plain(time(ns)))).toEqual([
    '1.000 ns',
    '999.0 ns',
    '1.500 µs',
    '2.500 ms',
    '3.200 s',
  ]);
  expect(plain(time(2_500_000, 'µs'))).toBe('2,500 µs');
  expect(plain(timeEstimate({ value: 12_410, lo: 12_380, hi: 12_450, level: 0.95 }))).toBe('12.41 µs [12.38, 12.45]');
});

test('ratios, shares and intervals', () => {
  expect(ratioEstimate({ value: 1274.59, lo: 1266.9, hi: 1282.6, level: 0.95 })).toBe('1,275× [1,267, 1,283]');
  expect(plain(percent(0.9934))).toBe('99.3 %');
  expect(plain(spread({ value: 100, lo: 98, hi: 101, level: 0.95 }))).toBe('±2.0 %');
  expect(spread(null)).toBe('');
  expect([0.5, 1, 10, 1000].map(tick)).toEqual(['0.5', '1', '10', '1,000']);
});

test('bytes by powers of 1024, rates by powers of 1000', () => {
  expect([0, 512, 1536, 232_448, 60 * 2 ** 20].map((n) => plain(bytes(n)))).toEqual([
    '0 B',
    '512 B',
    '1.5 KiB',
    '227 KiB',
    '60 MiB',
  ]);
  expect(plain(si(4.53e12, 'B/s'))).toBe('4.530 TB/s');
});

test('money: cents for sums, more places for small amounts, holes are said', () => {
  expect([0, 0.0123, 1.5, 1234.5].map(money)).toEqual(['$0.00', '$0.0123', '$1.50', '$1,234.50']);
  expect(plain(partial(money(1.5), 2))).toBe('≥ $1.50 (2 unknown)');
  expect(partial('7', 0)).toBe('7');
});

test('a metric that is not available shows its reason, not a number', () => {
  expect(metric({ available: false, reason: 'not collected' })).toEqual({
    text: 'not available',
    title: 'not collected',
  });
  expect(plain(metric({ available: true, value: 17.4, unit: '%' }).text)).toBe('17.4 %');
  // Digits that ncu did not give are not made up.
  expect(plain(metric({ available: true, value: 0.02, unit: 'inst' }).text)).toBe('0.02 inst');
  expect(plain(metric({ available: true, value: 1.5, unit: '' }).text)).toBe('1.5');
  expect(plain(metric({ available: true, value: 4928, unit: 'ns' }).text)).toBe('4.928 µs');
});

test('durations read like a clock', () => {
  expect([45, 2400, 59_000, 185_000, 7_620_000].map((ms) => plain(duration(ms)))).toEqual([
    '45 ms',
    '2.4 s',
    '59 s',
    '3 min 05 s',
    '2 h 07 min',
  ]);
  const now = Date.parse('2026-11-29T18:00:00Z');
  expect(ago('2026-11-29T17:55:00Z', now)).toBe('5 min ago');
  expect(ago('2026-11-29T17:59:30Z', now)).toBe('just now');
});

test('a column of times has one unit, that of the middle of its range; missing ones decide nothing', () => {
  expect(columnUnit([1668, 43_490_000])).toBe('µs');
  expect(columnUnit([544])).toBe('ns');
  expect(columnUnit([2e6, null, 9e8, undefined, Number.NaN, 0])).toBe('ms');
  expect(columnUnit([null])).toBe('µs');
  expect([timeIn(43_490_000, 'µs'), timeIn(544, 'µs'), timeIn(null, 'µs')]).toEqual(['43,490', '0.5440', '–']);
});
