/** What a first sample shows is no result: it nominates, and the Planner is told. None of its figures leave the program. */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { EvaluationReport, ServiceContext } from '../../main/app/index.ts';
import { answerEvaluation, answerRun, contextOf } from '../../main/cli/answers.ts';
import { type JobBundle, type JobResult, type Result, unwrap } from '../../main/contract/index.ts';
import { Store } from '../../main/store/index.ts';
import { commandLine } from './command-line.ts';
import { candidate, resultFor, root, startModel } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-first-'));
  process.env.CUDAMASTER_HOME = home;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

async function evaluated(json: boolean, speed: string, resultOf: (bundle: JobBundle) => JobResult = resultFor) {
  const line = commandLine(json, resultOf);
  const source = join(home, 'mine.cu');
  writeFileSync(source, candidate(speed));
  const ctx: ServiceContext = contextOf(line.session);
  const result: Result<EvaluationReport> = await line.session.host.services.evaluate(
    { kind: 'evaluate', task: 'dot_product', dtype: 'fp32', source, executor: 'local' },
    ctx,
  );
  return { ...line, report: unwrap(result), result, ctx };
}

test.each([true, false])('eval (json: %s) and show tell the outcome of a first sample, and no figure', async (json) => {
  const { session, report, result, text, ctx } = await evaluated(json, '0.87');
  expect(report.evaluation).toMatchObject({ outcome: 'not-faster', figures: { phase: 'nominate' } });
  answerEvaluation(session, result);
  const shown = await session.host.services.show({ run: report.id }, ctx);
  answerRun(session, shown);
  expect(text()).toContain('not above the bar');
  expect(text()).not.toMatch(/nominate"|"hint"|0\.8[67]\d/);
  expect(report.summary.rounds[0]).toMatchObject({ score: null, accepted: false });
  expect(report.state.rounds[0]?.score).toBeNull();
  if (json) expect(JSON.parse(text().trim().split('\n').at(-2) as string).figures).toBeNull();
});

test('confirmed figures are told, as JSON and as text', async () => {
  const json = await evaluated(true, '1.5');
  answerEvaluation(json.session, json.result);
  expect(JSON.parse(json.text().trim().split('\n').at(-1) as string).figures.phase).toBe('confirm');
  expect(json.report.summary.rounds[0]?.score).toBeCloseTo(1.5, 1);
  const text = await evaluated(false, '1.5');
  answerEvaluation(text.session, text.result);
  expect(text.text()).toMatch(/P = 1\.\d{3}×/);
});

test('a race is no result, however fast: no score of the round, none in the history, none in the line of progress', async () => {
  const racing = (bundle: JobBundle): JobResult => {
    const result = resultFor(bundle);
    for (const { session } of result.steps)
      if (session?.mode === 'sanitize')
        session.incidents.push({ kind: 'sanitizer', arm: 'C', message: 'racecheck: 1 error' });
    return result;
  };
  const { report, text } = await evaluated(false, '7', racing);
  expect(report.evaluation).toMatchObject({ outcome: 'race', figures: { phase: 'confirm' } });
  expect(report.summary.rounds[0]).toMatchObject({ score: null, accepted: false });
  expect(text()).toContain('RACE');
  expect(text()).not.toMatch(/P = [67]/);
  const store = await Store.open(join(home, 'data'));
  const row = (await store.versions()).find((v) => v.id === `${report.id}:r1.a0`);
  await store.close();
  expect(row).toMatchObject({ outcome: 'race', score: null, pMin: null });
});

test('in a run the Planner knows what the first sample of a round showed; who reads the run does not', async () => {
  const model = await startModel();
  try {
    const { session, text } = commandLine(true);
    const result = await session.host.services.optimize(
      {
        task: 'dot_product',
        dtype: 'fp32',
        executor: 'local',
        provider: 'compatible',
        model: 'm',
        baseUrl: model.baseUrl,
      },
      contextOf(session),
    );
    const report = unwrap(result);
    answerRun(session, result);
    // Round 2 is at 1.2 over the origin, the best at 1.5.
    expect(report.summary.rounds.map(({ accepted, score }) => [accepted, score !== null])).toEqual([
      [true, true],
      [false, false],
      [true, true],
    ]);
    const planner = model.seen.map(({ body }) => JSON.stringify(body)).filter((body) => body.includes('lab-scheme-2'));
    expect(planner.some((body) => body.includes('first sample: R = 0.800x against the best, not nominated'))).toBe(
      true,
    );
    expect(text()).toContain('not above the bar');
    expect(text()).not.toMatch(/"phase":"nominate"|"hint"|0\.800x/);
  } finally {
    await model.close();
  }
});

test('whatever shows, exports or keeps figures asks confirmedFigures for them', () => {
  const files = globSync('{renderer,electron,main/{cli,export,app,store}}/**/*.{ts,tsx}', { cwd: root });
  expect(files.length).toBeGreaterThan(150);
  const read = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      // Whether there are any may be asked; what they are may not.
      .filter((line) => /\??\.figures\b(?! === null)|\{ (?:\w+, )*figures\b.*\} =/.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  // Of a baseline, which has no first sample.
  expect(read).toEqual([expect.stringMatching(/^renderer\/screens\/kernel\/model\.ts: const figures = baseline\?/)]);
});
