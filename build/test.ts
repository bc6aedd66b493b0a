/**
 * `npm test`: types, lint, import table, bundle, then every test; ends with one line `N passed, N failed, N skipped`.
 * Each non-test check counts as one test. With CI=true a skipped test fails unless test/allowed-skips.json names it with a reason.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules/.bin', name);

interface Tally {
  passed: number;
  failed: number;
  skipped: number;
}
const tally: Tally = { passed: 0, failed: 0, skipped: 0 };

function check(title: string, argv: readonly string[]): void {
  const started = Date.now();
  const child = spawnSync(argv[0] as string, argv.slice(1), { cwd: root, encoding: 'utf8', maxBuffer: 1 << 26 });
  const good = child.status === 0;
  tally[good ? 'passed' : 'failed'] += 1;
  console.log(`${good ? 'ok  ' : 'FAIL'} ${title} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
  if (!good) console.log(`${child.stdout}${child.stderr}${child.error?.message ?? ''}`);
}

interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message?: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/** Reason of an allowed skip: by its full name, or by a beginning that is written with a `*` at its end. */
function allowedReason(allowed: Record<string, string>, name: string): string | undefined {
  const group = Object.keys(allowed).find((key) => key.endsWith('*') && name.startsWith(key.slice(0, -1)));
  return allowed[name] ?? (group === undefined ? undefined : allowed[group]);
}

function unitTests(extra: readonly string[]): void {
  const folder = mkdtempSync(join(tmpdir(), 'cm-test-'));
  const file = join(folder, 'report.json');
  const child = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile=${file}`,
      ...extra,
    ],
    { cwd: root, stdio: 'inherit' },
  );
  const allowed = JSON.parse(readFileSync(join(root, 'test/allowed-skips.json'), 'utf8')) as Record<string, string>;
  let report: VitestReport;
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  } catch {
    tally.failed += 1;
    console.log('FAIL vitest wrote no report');
    return;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const failedBefore = tally.failed;
  for (const suite of report.testResults) {
    for (const result of suite.assertionResults) {
      if (result.status === 'passed') tally.passed += 1;
      else if (result.status === 'failed') tally.failed += 1;
      else {
        tally.skipped += 1;
        const reason = allowedReason(allowed, result.fullName);
        console.log(`skip ${result.fullName}: ${reason ?? 'not in test/allowed-skips.json'}`);
        if (process.env.CI === 'true' && reason === undefined) tally.failed += 1;
      }
    }
    if (suite.status === 'failed' && suite.assertionResults.every((r) => r.status !== 'failed')) tally.failed += 1;
  }
  if (child.status !== 0 && tally.failed === failedBefore) tally.failed += 1;
}

check('types', [bin('tsc'), '-p', 'tsconfig.json']);
check('types of the screens', [bin('tsc'), '-p', 'renderer/tsconfig.json']);
check('format and lint', [bin('biome'), 'check', '.']);
check('import table', [process.execPath, 'build/check-imports.ts']);
check('bundle', [process.execPath, 'build/bundle.ts', '--quiet']);
unitTests(process.argv.slice(2));
console.log(`\n${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`);
process.exitCode = tally.failed === 0 ? 0 : 1;
