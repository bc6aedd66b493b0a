/** A version accepted where compute-sanitizer could not look says so beside its P, wherever it is shown as a result. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { strFromU8, unzipSync } from 'fflate';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { answerEvaluation, answerRun, contextOf } from '../../main/cli/answers.ts';
import { type JobBundle, type JobResult, unwrap } from '../../main/contract/index.ts';
import { Store } from '../../main/store/index.ts';
import { commandLine } from './command-line.ts';
import { candidate, resultFor, startModel } from './lab.ts';

vi.setConfig({ testTimeout: 60_000 });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-sanitized-'));
  process.env.CUDAMASTER_HOME = home;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const message = 'compute-sanitizer was not found.';

/** As a machine whose toolkit lacks the tool answers. */
function withoutTool(bundle: JobBundle): JobResult {
  const result = resultFor(bundle);
  const steps = result.steps.map(({ session, ...step }) =>
    session?.mode === 'sanitize'
      ? { ...step, status: 'environment' as const, reason: { code: 'env.sanitizer-missing' as const, message } }
      : { ...step, ...(session ? { session } : {}) },
  );
  return { ...result, steps };
}

async function evaluated(resultOf: (bundle: JobBundle) => JobResult) {
  const { session, text } = commandLine(false, resultOf);
  const { services } = session.host;
  const source = join(home, 'mine.cu');
  writeFileSync(source, candidate('1.5'));
  const ctx = contextOf(session);
  const result = await services.evaluate(
    { kind: 'evaluate', task: 'dot_product', dtype: 'fp32', source, executor: 'local' },
    ctx,
  );
  const report = unwrap(result);
  answerEvaluation(session, result);
  answerRun(session, await services.show({ run: report.id }, ctx));
  const out = join(home, 'version.zip');
  unwrap(await services.exportVersion({ version: `${report.id}:r1.a0`, out }, ctx));
  const files = Object.entries(unzipSync(readFileSync(out)));
  const exported = files.flatMap(([name, bytes]) => (name.endsWith('report.md') ? strFromU8(bytes) : [])).join('');
  const store = await Store.open(join(home, 'data'));
  const row = (await store.versions()).find((v) => v.id === `${report.id}:r1.a0`);
  await store.close();
  return { report, text: text(), exported, row };
}

test('missing: eval, show, summary, history and the exported report say it', async () => {
  const { report, text, exported, row } = await evaluated(withoutTool);
  const sanitized = { state: 'no', why: message };
  expect(report.evaluation).toMatchObject({ outcome: 'accepted', sanitized });
  expect(report.summary.best.sanitized).toEqual(sanitized);
  expect(row?.sanitized).toEqual(sanitized);
  // Of the evaluation, of its attempt in the run.
  expect(text.match(/P = 1\.\d+× \[[^\]]+\] \(not sanitized: compute-sanitizer was not found\.\)/g)).toHaveLength(2);
  expect(exported).toMatch(/\| score P \| sanitized \|/);
  expect(exported).toMatch(/\| no: compute-sanitizer was not found/);
  expect(exported).toMatch(/- Memory and races: not sanitized: compute-sanitizer was not found/);
});

test('there: said as well, and nothing is missing', async () => {
  const { report, text, exported, row } = await evaluated(resultFor);
  const sanitized = { state: 'yes', why: '' };
  expect(report.summary.best.sanitized).toEqual(sanitized);
  expect(row?.sanitized).toEqual(sanitized);
  expect(text).toMatch(/P = 1\.\d+× \[[^\]]+\] \(sanitized\)/);
  expect(text).not.toContain('not sanitized');
  expect(exported).toMatch(/\| score P \| sanitized \|/);
  expect(exported).not.toContain('Memory and races');
});

test('the best of a run is named with it', async () => {
  const model = await startModel();
  try {
    const { session, text } = commandLine(false, withoutTool);
    const at = { provider: 'compatible', model: 'm', baseUrl: model.baseUrl };
    const result = await session.host.services.optimize(
      { task: 'dot_product', dtype: 'fp32', executor: 'local', rounds: 1, ...at },
      contextOf(session),
    );
    answerRun(session, result);
    expect(text()).toMatch(/best: r1\.a1, P = 1\.\d+× \[[^\]]+\], not sanitized: compute-sanitizer was not found\./);
  } finally {
    await model.close();
  }
});
