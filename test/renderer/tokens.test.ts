/** Contrast of the design tokens, both themes: WCAG 2.2 AA. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const css = readFileSync(join(import.meta.dirname, '../../renderer/ui/tokens.css'), 'utf8');
const block = (selector: string): Record<string, string> => {
  const start = css.indexOf(`${selector} {`);
  const body = css.slice(start, css.indexOf('}', start));
  return Object.fromEntries([...body.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})\s*;/gi)].map((m) => [m[1], m[2]]));
};
const light = block(':root');
const dark = { ...light, ...block(':root[data-theme="dark"]') };

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((i) => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (a: string, b: string): number => {
  const [hi, lo] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number];
  return (hi + 0.05) / (lo + 0.05);
};

const grounds = ['bg', 'surface', 'raised', 'hover', 'selected'];
const code = ['keyword', 'type', 'string', 'number', 'comment', 'preproc', 'function'].map((n) => `code-${n}`);
const pairs: readonly (readonly [string, string, number])[] = [
  ...['text', 'muted', 'accent'].flatMap((fg) => grounds.map((bg) => [fg, bg, 4.5] as const)),
  ...['good', 'warn', 'bad', 'info'].flatMap((t) => [[t, `${t}-bg`, 4.5] as const, [t, 'surface', 4.5] as const]),
  ['muted', 'neutral-bg', 4.5],
  ['on-accent', 'accent', 4.5],
  ...code.flatMap((c) => [[c, 'code-bg', 4.5] as const]),
  ...['diff-add', 'diff-del', 'code-selection'].map((bg) => ['text', bg, 4.5] as const),
  // Source is highlighted within differences as well.
  ...['diff-add', 'diff-add-text', 'diff-del', 'diff-del-text'].flatMap((bg) =>
    ['keyword', 'type', 'string', 'number', 'comment', 'preproc', 'function'].map(
      (part) => [`code-${part}`, bg, 4.5] as const,
    ),
  ),
  ...[0, 1, 2, 3, 4].map((n) => ['heat-text', `heat-${n}`, 4.5] as const),
  ['border-strong', 'surface', 3],
  ['focus', 'surface', 3],
  ...[1, 2, 3].map((n) => [`series-${n}`, 'surface', 3] as const),
];

test.each([
  ['light', light],
  ['dark', dark],
])('%s: text and marks stand out from what they lie on', (_name, tokens) => {
  const weak = pairs
    .map(([fg, bg, least]) => ({ fg, bg, least, is: contrast(tokens[fg] as string, tokens[bg] as string) }))
    .filter((p) => !(p.is >= p.least))
    .map((p) => `${p.fg} on ${p.bg}: ${p.is.toFixed(2)} < ${p.least}`);
  expect(weak).toEqual([]);
});

test('the heat scale grows evenly darker, or lighter in the dark', () => {
  for (const [tokens, sign] of [
    [light, -1],
    [dark, 1],
  ] as const) {
    const steps = [0, 1, 2, 3, 4, 5].map((n) => luminance(tokens[`heat-${n}`] as string));
    for (let i = 1; i < steps.length; i++)
      expect(sign * ((steps[i] as number) - (steps[i - 1] as number))).toBeGreaterThan(0);
  }
});
