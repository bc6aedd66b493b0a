import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { environmentOf } from '../../main/app/machine.ts';
import { depthLines } from '../../main/cli/profile.ts';
import type { Executor, ProfileResult, Result, StepResult } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { packText } from '../../main/jobs/session/ncu-pages.ts';
import { candidate, machine, resultFor, root } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-profile-'));
  process.env.CUDAMASTER_HOME = home;
  const mine = home;
  onTestFinished(() => rmSync(mine, { recursive: true, force: true }));
});

const fixture = (name: string): string => readFileSync(join(root, 'test/fixtures/ncu', name), 'utf8');
const stage = { metrics: ['a'], sections: [], unknown: [], launches: 1, passes: 3, collectMs: 2100, importMs: 0 };
/** Real output of ncu on an H200, as the two stages keep it. */
const profiled: ProfileResult = {
  mode: 'profile',
  ncuVersion: '2025.3.1',
  rawCsv: fixture('gemm_full_raw.csv'),
  sourceCsv: '',
  detailGz: packText(fixture('gemm_full_raw.csv')),
  sourceGz: packText(fixture('src_cuda_sass.csv')),
  log: '',
  exitCode: 0,
  incidents: [],
  stages: [
    { stage: 'verdict', launch: null, ...stage },
    { stage: 'evidence', launch: 0, ...stage, sections: ['SourceCounters'] },
  ],
};

/** The engine with a laboratory that has ncu (the real output above), or none. */
function services(session: ProfileResult | null) {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => {
      const result = resultFor(bundle);
      const steps = result.steps.map((step): StepResult => {
        if (step.id !== 'profile' || session === null) return step;
        const { reason: _, ...rest } = step;
        return { ...rest, status: 'ok', session };
      });
      // The laboratory's timing names no launches: nothing to compare with, as where CUPTI was not asked.
      for (const step of steps) if (step.session?.mode === 'time') step.session.activities = activities;
      return { kind: 'done', result: { ...result, steps } };
    },
  };
  return createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  }).services;
}
const activities = ['O', 'C'].flatMap((arm) =>
  [0, 1, 2, 3, 4, 5, 6, 7].map((problem) => ({
    arm,
    problem,
    kind: 'kernel' as const,
    name: '_Z17gemm_naive_kernelPKfS0_Pfi',
    perCall: 1,
    meanNs: 1,
  })),
);
const ctx = { emit: () => undefined };
function got<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}
const wanted = { task: 'dot_product', dtype: 'fp32', executor: 'local' } as const;

it('profiles, says everything in text and JSON, and writes the page; the history gives it again', async () => {
  const engine = services(profiled);
  const file = join(home, 'page.html');
  const report = got(await engine.profile({ ...wanted, html: file }, ctx));
  const profile = report.evaluation?.profile;
  expect(profile).toMatchObject({ status: 'complete', verdict: { bottleneck: 'compute' } });
  expect(profile?.roofline?.peaks?.flopsPerS.fp32).toBe(60e12);
  expect(report.text.filtered?.tokens).toBeGreaterThan(200);
  expect(report.html).toBe(file);
  const page = readFileSync(file, 'utf8');
  expect(page).toContain('Profile of dot_product fp32, origin');
  expect(page.match(/<svg /g)).toHaveLength(3);
  const lines = depthLines(report).join('\n');
  expect(lines).toMatch(/FP32 +256 flop\/byte +5\.1 Tflop\/s +8\.5 % of the measured arithmetic roof/);
  expect(lines).toContain('peaks measured here: memory 4.2 TB/s; fp32 60 Tflop/s; other pipes not measured');
  expect(lines).toContain('Finer bottlenecks: 3 found');
  expect(lines).toContain('Hottest source lines, of 50341 samples');
  expect(lines).toMatch(/^ +7 +100\.0 % ± 0\.0 % +Long Scoreboard 55\.3 % +__global__/m);
  expect(lines).toMatch(/^ +0x7f35557a\w+ +line 7 +\d/m);
  expect(lines).toContain('evidence: 1 metrics and SourceCounters, 1 launches, 3 passes, 2.1 s and 0.0 s to read');
  expect(lines).toMatch(/text for agents, filtered: \d+ characters, about \d+ tokens/);

  const again = join(home, 'again.html');
  const stored = got(await engine.storedProfile({ version: 'last', html: again }, ctx));
  expect(stored.evaluation?.profile).toEqual(profile);
  expect(readFileSync(again, 'utf8')).toContain(`${report.id}:origin`);
});

it('a source of the user is the version that is shown again', async () => {
  const engine = services(profiled);
  const source = join(home, 'mine.cu');
  writeFileSync(source, candidate('1.5'));
  const report = got(await engine.profile({ ...wanted, source }, ctx));
  expect(report.html).toBeNull();
  const stored = got(await engine.storedProfile({ version: report.id }, ctx));
  expect(stored.evaluation?.profile?.verdict?.bottleneck).toBe('compute');
});

it('without ncu there is timing alone, said so', async () => {
  const report = got(await services(null).profile(wanted, ctx));
  expect(report.evaluation).toMatchObject({ outcome: 'valid', profile: { status: 'unavailable' } });
  expect(report.evaluation?.profile?.reason).toContain('no ncu');
  expect(report.evaluation?.figures?.sizes.length).toBeGreaterThan(0);
  expect(report.text).toEqual({ filtered: null, full: null });
});

it('a page that cannot be written is told before anything runs', async () => {
  const result = await services(profiled).profile({ ...wanted, html: join(home, 'none', 'page.html') }, ctx);
  expect(result).toMatchObject({ ok: false, error: { code: 'usage' } });
  const runs = got(await services(profiled).runs({}, ctx));
  expect(runs).toEqual([]);
});
