import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious and critical faults that axe finds on a page, one line each. Its context needs `bypassCSP`. */
export async function seriousViolations(page: Page): Promise<string[]> {
  await page.evaluate(source);
  const found = (await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  )) as {
    violations: { id: string; impact: string | null; nodes: { target: unknown[]; failureSummary?: string }[] }[];
  };
  return found.violations
    .filter((v) => v.impact === 'serious' || v.impact === 'critical')
    .flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(' ')} ${n.failureSummary?.split('\n')[1] ?? ''}`));
}
