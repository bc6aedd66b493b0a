import { expect, test } from 'vitest';
import type { VersionDetail } from '../../main/contract/api.ts';
import type { Estimate, Evaluation, SizeFigures } from '../../main/contract/evaluation.ts';
import {
  argumentMarks,
  compareTimes,
  environmentLines,
  incomparable,
  pairMetrics,
  pairNumerics,
  pairSizes,
  ratioOf,
  verdictOf,
} from '../../renderer/screens/compare/model.ts';
import { manyVersions } from '../e2e/many-versions.ts';
import { evaluation } from '../e2e/profiled-run.ts';

const time = (value: number, by = 0.01): Estimate => ({
  value,
  lo: value * (1 - by),
  hi: value * (1 + by),
  level: 0.95,
});

const machine = {
  host: 'a',
  gpu: { name: 'NVIDIA H200', uuid: 'GPU-1', cc: '9.0' },
  driver: '580.1',
  toolkit: '13.0',
  nvcc: '13.0.88',
  hostCompiler: 'g++ 13',
  ncu: null,
  containment: 'bubblewrap' as const,
};

function version(round: number, e: Evaluation | null, over: Partial<VersionDetail> = {}): VersionDetail {
  const [row] = manyVersions(1);
  if (row === undefined) throw new Error('no version');
  const detail = {
    source: '',
    compileArgs: [],
    scheme: '',
    fix: null,
    baseline: null,
    measuredAt: null,
    nvccCommand: null,
    report: null,
    reportReason: null,
  };
  return { ...row, ...detail, round, evaluation: e, machine: e === null ? null : machine, ...over };
}

const withSizes = (sizes: Partial<SizeFigures>[]): Evaluation => {
  const made = evaluation(2, null);
  const [first] = made.figures?.sizes ?? [];
  if (made.figures === null || first === undefined) throw new Error('no figures');
  return { ...made, figures: { ...made.figures, sizes: sizes.map((s) => ({ ...first, ...s })) } };
};

test('overlapping intervals are not told apart', () => {
  expect(compareTimes(time(100), time(101))).toBe('same');
  expect(compareTimes(time(100), time(50))).toBe('b');
  expect(compareTimes(time(50), time(100))).toBe('a');
  expect(compareTimes(null, time(1))).toBe('unknown');
  const ratio = ratioOf(time(100), time(50));
  expect(ratio?.value).toBe(2);
  expect(ratio?.lo).toBeCloseTo(99 / 50.5);
  expect(ratio?.hi).toBeCloseTo(101 / 49.5);
  expect(ratioOf(null, time(1))).toBeNull();
});

test('sizes are paired by their dimensions; an origin is timed by its own span', () => {
  const a = version(0, withSizes([{ dims: { n: 1 }, originSpanNs: time(100), candidateSpanNs: null, weight: 1 }]));
  const b = version(
    1,
    withSizes([
      { dims: { n: 2 }, candidateSpanNs: time(7), weight: 1 },
      { dims: { n: 1 }, candidateSpanNs: time(10), weight: 1 },
    ]),
  );
  const pairs = pairSizes(a, b, 'span');
  expect(pairs.map((p) => [p.size, p.a?.value ?? null, p.b?.value ?? null, p.faster])).toEqual([
    ['n=1', 100, 10, 'b'],
    ['n=2', null, 7, 'unknown'],
  ]);
  // The two disagree about the share of n=1: neither is shown.
  expect(pairs[0]?.weight).toBeNull();
  expect(verdictOf(pairs)).toBe('B is faster at 1 of 1 sizes; 1 without times of both.');
});

test('a first sample is no figure', () => {
  const e = withSizes([{}]);
  const first = { ...e, figures: e.figures && { ...e.figures, phase: 'nominate' as const } };
  expect(pairSizes(version(1, first), version(1, null), 'span')).toEqual([]);
  expect(verdictOf([])).toBe('No size has confirmed times of both versions.');
});

test('another GPU, driver or toolkit makes times incomparable; what is unknown does not', () => {
  const a = version(1, evaluation(2, null, { gpu: null }));
  const same = environmentLines(a, version(1, evaluation(3, null, { gpu: null })));
  expect(incomparable(same)).toEqual([]);
  const b = version(1, evaluation(3, null, { gpu: null }), {
    machine: { ...machine, driver: '590.2', hostCompiler: 'clang' },
  });
  const lines = environmentLines(a, b);
  expect(incomparable(lines)).toEqual(['Driver']);
  expect(lines.find((l) => l.name === 'Host compiler')).toMatchObject({ differs: true, decisive: false });
  expect(incomparable(environmentLines(a, version(1, null, { gpu: null })))).toEqual([]);
});

test('metrics that one side lacks stay "not available", with the reason', () => {
  const profile = (value: number | null, unit = '%') =>
    ({
      status: 'complete',
      ncuVersion: null,
      problem: null,
      launches: [
        {
          index: 0,
          kernel: 'k',
          grid: [],
          block: [],
          cc: '9.0',
          metrics: { other: { available: true, value: 5, unit: '' } },
        },
      ],
      verdict: {
        bottleneck: 'compute',
        launchBound: false,
        why: '',
        thresholds: { compute: 30, dram: 30, memory: 30 },
        launch: 0,
      },
      filtered: [
        {
          id: 'm',
          label: 'Metric',
          meaning: 'what it means',
          value: value === null ? { available: false, reason: 'no such counter' } : { available: true, value, unit },
        },
      ],
    }) as Evaluation['profile'];
  const of = (p: Evaluation['profile']) => version(1, evaluation(2, p));
  const both = pairMetrics(of(profile(10)), of(profile(30)), new Map([['other', { label: 'Other', meaning: '' }]]));
  expect(both.map((p) => [p.label, p.difference, p.told])).toEqual([
    ['Metric', 20, true],
    ['Other', 0, false],
  ]);
  const [missing] = pairMetrics(of(profile(10)), of(profile(null)), new Map());
  expect(missing).toMatchObject({ difference: null, b: { available: false, reason: 'no such counter' } });
  expect(pairMetrics(of(profile(10)), of(profile(10, 'byte')), new Map())[0]?.difference).toBeNull();
  expect(pairMetrics(of(profile(10)), of(null), new Map())[0]?.b).toEqual({
    available: false,
    reason: 'no profile was taken',
  });
});

test('errors are paired by size and kind of input', () => {
  const numerics = (size: string, max: number) => ({
    problem: 'verify/0',
    size,
    kind: 'usual',
    candidate: { maxUlp: max, rmsUlp: 1 },
    origin: null,
  });
  const a = version(1, evaluation(2, null, { numerics: [numerics('n=1', 3)] }));
  const b = version(1, evaluation(2, null, { numerics: [numerics('n=1', 4), numerics('n=9', 5)] }));
  expect(pairNumerics(a, b).map((p) => [p.size, p.a?.maxUlp ?? null, p.b?.maxUlp ?? null])).toEqual([
    ['n=1', 3, 4],
    ['n=9', null, 5],
  ]);
  expect(pairNumerics(version(1, null), version(1, null))).toEqual([]);
});

test('compile arguments that one alone has are marked', () => {
  expect(argumentMarks(['-O3', '-DK=4'], ['-O3'])).toEqual({
    a: [
      ['-O3', false],
      ['-DK=4', true],
    ],
    b: [['-O3', false]],
  });
});
