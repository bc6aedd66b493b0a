import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const { $comment: _, ...rows } = JSON.parse(readFileSync(join(root, 'test/bug-reports.json'), 'utf8')) as Record<
  string,
  { about: string; test: string }
>;

/** Titles of tests and of their groups in a file: `it('…'`, `describe("…"`, `it.each(…)('…'`. */
const titlesIn = (text: string): string[] =>
  [
    ...text.matchAll(
      /(?:^|[\s.)])(?:it|test|describe)?[^\n(]*\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`([^`]*)`)/g,
    ),
  ].map((m) => m[1] ?? m[2] ?? m[3] ?? '');

it('every problem report of the list has a row', () => {
  const missing = [4, 10, 15, 17, 24, 29, 33, 38, 39, 40, 48];
  const ids = Array.from({ length: 52 }, (_, i) => i + 1)
    .filter((n) => !missing.includes(n))
    .map((n) => `B${String(n).padStart(2, '0')}`);
  expect(Object.keys(rows).sort()).toEqual(ids);
});

it.each(Object.entries(rows))('%s has a test whose name begins with it', (id, { about, test }) => {
  expect(about.length).toBeGreaterThan(8);
  expect(existsSync(join(root, test)), test).toBe(true);
  const titles = titlesIn(readFileSync(join(root, test), 'utf8'));
  expect(titles.filter((title) => new RegExp(`^${id}[: ]`).test(title)).length, `${id} in ${test}`).toBeGreaterThan(0);
});
