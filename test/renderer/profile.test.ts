import { describe, expect, test } from 'vitest';
import {
  type Evaluation,
  emptyRunState,
  type Launch,
  type MetricValue,
  type Profile,
  type RunState,
  stateOf,
} from '../../main/contract/index.ts';
import { pipeLabel, roofLabels, rooflineModel } from '../../renderer/charts/roofline-model.ts';
import { changeText, ratioOf } from '../../renderer/screens/profile/change.ts';
import { metricMatrix, speedupMatrix } from '../../renderer/screens/profile/matrix.ts';
import { metricRows, searchMetrics } from '../../renderer/screens/profile/metrics.ts';
import { occupancy } from '../../renderer/screens/profile/occupancy.ts';
import { bars } from '../../renderer/screens/profile/speed-of-light.ts';
import { mainLaunch, splitVersion, versionsOf, whyNoProfile } from '../../renderer/screens/profile/versions.ts';
import { evaluation, profiledEvents } from '../e2e/profiled-run.ts';
import { gpu } from '../evaluate/fakes.ts';

const state: RunState = stateOf(profiledEvents());
const versions = versionsOf('run', state);
const originEvaluation = versions[0]?.evaluation as Evaluation;
const profile = originEvaluation.profile as Profile;
const launch = mainLaunch(profile) as Launch;
const other = versions[1]?.evaluation?.profile as Profile;
const some = (value: number, unit = ''): MetricValue => ({ available: true, value, unit });

describe('versions of a run', () => {
  test('origin and attempts in order, with ids and the best', () => {
    expect(versions.map(({ id }) => id)).toEqual(['run:origin', 'run:r1.a0', 'run:r2.a0', 'run:r3.a0']);
    expect(versions.filter(({ isBest }) => isBest).map(({ label }) => label)).toEqual(['r2.a0']);
    expect(versionsOf('x', emptyRunState)).toHaveLength(1);
  });
  test('names', () => {
    expect(splitVersion('261129-1755-adx3:r1.a0')).toEqual({ run: '261129-1755-adx3', label: 'r1.a0' });
    expect(splitVersion('softmax')).toBeNull();
  });
  test('why there is no profile, with a remedy', () => {
    expect(whyNoProfile(originEvaluation)).toBeNull();
    expect(whyNoProfile(null)?.reason).toContain('not evaluated');
    expect(whyNoProfile(versions[2]?.evaluation ?? null)).toEqual({
      reason: expect.stringContaining('ERR_NVGPUCTRPERM'),
      remedy: expect.stringContaining('NVreg_RestrictProfilingToAdminUsers'),
    });
    expect(whyNoProfile(versions[3]?.evaluation ?? null)?.reason).toContain('compile-error');
  });
});

describe('speed of light', () => {
  const all = bars(profile, launch, other);
  test('values, those of the other version, and the thresholds of the verdict', () => {
    const compute = all.find(({ label }) => label === 'Compute (SM)');
    expect(compute?.value).toMatchObject({ available: true, value: 60.85 });
    expect(compute?.baseline).toMatchObject({ available: true });
    expect(all.flatMap(({ threshold }) => threshold ?? [])).toEqual([30, 30, 30]);
  });
  test('what was not collected says so; nothing chosen is no missing value', () => {
    const missing = bars(other, mainLaunch(other), null).find(({ label }) => label === 'L2');
    expect(missing?.value).toMatchObject({ available: false, reason: expect.stringContaining('not collected') });
    expect(missing?.baseline).toBeNull();
  });
});

describe('metrics', () => {
  const catalogue = [
    { id: 'gpu__time_duration.sum', label: 'Duration', meaning: 'Time of the launch.', unit: 'ns' },
    { id: 'stall:wait', label: 'Wait', meaning: 'Of samples, not of launches.', unit: null },
    { id: 'no__such.metric', label: 'Absent', meaning: 'Never collected.', unit: '%' },
  ];
  const rows = metricRows(catalogue, profile, launch, other);
  const row = (id: string) => rows.find((r) => r.id === id);

  test('every metric of both launches and of the catalogue, with change', () => {
    for (const id of Object.keys(launch.metrics)) expect(row(id)).toBeDefined();
    expect(row('gpu__time_duration.sum')).toMatchObject({
      label: 'Duration',
      unit: 'ns',
      value: launch.metrics['gpu__time_duration.sum'],
    });
    expect(row('gpu__time_duration.sum')?.ratio).toBeGreaterThan(1);
    expect(row('stall:wait')).toBeUndefined();
  });
  test('missing has its reason, by what was asked', () => {
    expect(row('no__such.metric')?.value).toEqual({
      available: false,
      reason: 'not asked for: the bottleneck did not need it',
    });
    const unknown = {
      ...profile,
      stages: profile.stages?.map((stage) => ({ ...stage, unknown: ['no__such.metric'] })),
    };
    const value = metricRows(catalogue, unknown, launch, null).find((r) => r.id === 'no__such.metric');
    expect(value).toMatchObject({
      value: { available: false, reason: 'this ncu or GPU does not know it' },
      compared: null,
    });
  });
  test('those with values and meanings come first', () => {
    const rank = rows.map(({ value, meaning }) => (value.available ? 0 : 2) + (meaning === '' ? 1 : 0));
    expect(rank).toEqual(rank.toSorted((a, b) => a - b));
  });
  test('search: every word, anywhere', () => {
    expect(searchMetrics(rows, '  ')).toBe(rows);
    expect(searchMetrics(rows, 'never COLLECTED').map(({ id }) => id)).toEqual(['no__such.metric']);
    expect(searchMetrics(rows, 'time_duration.sum ns').length).toBeGreaterThan(0);
    expect(searchMetrics(rows, 'no such words here')).toEqual([]);
  });
});

describe('changes', () => {
  test('only of two positive values of one unit', () => {
    expect(ratioOf(some(3, '%'), some(2, '%'))).toBe(1.5);
    expect(ratioOf(some(3, '%'), some(2, 'ns'))).toBeNull();
    expect(ratioOf(some(3), some(0))).toBeNull();
    expect(ratioOf(some(3), { available: false, reason: '' })).toBeNull();
    expect(ratioOf(some(3), null)).toBeNull();
  });
  test('as text', () => {
    expect([
      changeText(null),
      changeText(1),
      changeText(1.25),
      changeText(0.96),
      changeText(3.2),
      changeText(0.25),
    ]).toEqual(['', '=', '+25.0 %', '−4.0 %', '×3.20', '×0.250']);
  });
});

describe('matrices', () => {
  test('metrics by version: profiled ones only, coloured against the first, missing marked', () => {
    const matrix = metricMatrix(versions, [], 'run:r1.a0');
    expect(matrix.columns.map(({ id }) => id)).toEqual(['run:origin', 'run:r1.a0']);
    expect(matrix.columns.map(({ marked }) => marked)).toEqual([false, true]);
    expect(matrix.rows.every(({ cells }) => cells[0]?.step === 0)).toBe(true);
    const duration = matrix.rows.find(({ id }) => id === 'gpu__time_duration.sum');
    expect(duration?.cells[1]?.step).toBeLessThan(0);
    const missing = matrix.rows.flatMap(({ cells }) => cells).filter((cell) => cell.missing);
    for (const cell of missing)
      expect(cell).toMatchObject({ text: '–', step: 0, spoken: expect.stringContaining('not available') });
  });
  test('speed-ups: confirmed figures with intervals', () => {
    const matrix = speedupMatrix(versions, 'run:origin');
    expect(matrix.columns.map(({ id }) => id)).toEqual(['run:r1.a0', 'run:r2.a0']);
    expect(matrix.rows.map(({ id }) => id)).toEqual(['published/1024', 'published/4096']);
    expect(matrix.rows[0]?.cells.map(({ text }) => text)).toEqual(['1.800×', '2.400×']);
    expect(matrix.rows[0]?.cells[0]?.spoken).toContain('interval');
    const nominated = evaluation(3, null);
    const first = nominated.figures && { ...nominated.figures, phase: 'nominate' as const };
    const only = versions.slice(0, 1).map((v) => ({ ...v, evaluation: { ...nominated, figures: first } }));
    expect(speedupMatrix(only, '').columns).toEqual([]);
  });
});

describe('occupancy', () => {
  const limits = (values: Record<string, number>): Launch => ({
    ...launch,
    metrics: Object.fromEntries(Object.entries(values).map(([id, value]) => [id, some(value, 'block')])),
  });
  test('of a real launch', () => {
    const found = occupancy(launch, gpu);
    expect(found.limits.map(({ id }) => id)).toEqual(['registers', 'shared', 'warps', 'blocks']);
    expect(found.limits.filter(({ limiting }) => limiting).map(({ id }) => id)).toEqual(['registers', 'warps']);
    expect(found.limiter).toBe('registers and warps (block size)');
    expect(found.achieved).toMatchObject({ available: true, unit: '%' });
  });
  test('a missing limit could be the smallest: no limiter', () => {
    const found = occupancy(limits({ launch__occupancy_limit_registers: 4, launch__occupancy_limit_warps: 8 }), null);
    expect(found.limiter).toBeNull();
    expect(found.theoretical.available).toBe(false);
  });
  test('theoretical from the limits and the GPU, where ncu did not say', () => {
    const made = limits({
      launch__occupancy_limit_registers: 3,
      launch__occupancy_limit_shared_mem: 9,
      launch__occupancy_limit_warps: 8,
      launch__occupancy_limit_blocks: 32,
      launch__block_size: 256,
    });
    expect(occupancy(made, gpu)).toMatchObject({
      limiter: 'registers',
      theoretical: { value: (100 * 3 * 8) / 64, unit: '%' },
    });
  });
});

describe('roofline', () => {
  const of = versions.map(({ id, label, evaluation: e }) => ({
    version: id,
    label,
    role: 'selected' as const,
    roofline: e?.profile?.roofline ?? null,
  }));
  const model = rooflineModel(of);

  test('roofs meet at the ridge, points lie under them', () => {
    const [slope, flat] = model.roofs;
    expect(slope?.pipe).toBeNull();
    expect(flat).toMatchObject({ label: 'FP32 peak', pipe: 'fp32' });
    expect(slope?.points[1]?.x).toBeCloseTo(60e12 / 4.2e12, 6);
    expect(slope?.points[1]).toEqual(flat?.points[0]);
    const point = model.points.find((p) => p.point.pipe === 'fp32');
    expect(point?.x).toBeCloseTo(255.8, 1);
    expect(point?.y).toBeLessThan(60e12);
  });
  test('whole decades hold everything', () => {
    for (const [low, high] of [model.x, model.y]) {
      expect(Number.isInteger(Math.log10(low))).toBe(true);
      expect(Number.isInteger(Math.log10(high))).toBe(true);
    }
    for (const p of model.points) {
      expect(p.x).toBeGreaterThan(model.x[0]);
      expect(p.x).toBeLessThan(model.x[1]);
      expect(p.y).toBeLessThan(model.y[1]);
    }
  });
  test('what cannot be drawn is said', () => {
    expect(model.absent).toContain('r2.a0: no roofline in its profile.');
    expect(rooflineModel([]).absent).toContain('The peaks of this GPU were not measured: no roofs.');
    const bare = rooflineModel([
      {
        version: 'v',
        label: 'v',
        role: 'selected',
        roofline: {
          ...(profile.roofline as NonNullable<Profile['roofline']>),
          peaks: { bytesPerS: null, flopsPerS: {} },
        },
      },
    ]);
    expect(bare.roofs).toEqual([]);
    expect(bare.points.length).toBeGreaterThan(0);
  });
  test('names of roofs: those that cannot be told apart are one, none covers another', () => {
    const roofs = [
      { label: 'FP32 peak', rate: 64.82e12, at: 90 },
      { label: 'Tensor BF16 peak', rate: 594.6e12, at: 41 },
      { label: 'Tensor FP16 peak', rate: 594.8e12, at: 40 },
      { label: 'Tensor TF32 peak', rate: 297.4e12, at: 53 },
      { label: 'FP64 peak', rate: 600e9, at: 200 },
    ];
    const labels = roofLabels(roofs, 13).map(({ text, at }) => ({ text: text.replaceAll('\u00a0', ' '), at }));
    expect(labels).toEqual([
      { text: 'Tensor FP16, BF16 peaks 594.8, 594.6 TFLOP/s', at: 32.5 },
      { text: 'Tensor TF32 peak 297.4 TFLOP/s', at: 45.5 },
      { text: 'FP32 peak 64.82 TFLOP/s', at: 82.5 },
      { text: 'FP64 peak 600.0 GFLOP/s', at: 192.5 },
    ]);
    for (let distance = 0; distance < 60; distance++) {
      const close = [0, 1, 2, 3].map((i) => ({ label: `P${i} peak`, rate: 1e12, at: 50 + i * distance }));
      const placed = roofLabels(close, 13);
      for (const [i, { at }] of placed.entries())
        if (i > 0) expect(at - (placed[i - 1]?.at ?? 0)).toBeGreaterThanOrEqual(13);
      expect(placed.map(({ text }) => text.match(/P\d/g)?.length ?? 0).reduce((a, b) => a + b)).toBe(4);
    }
    expect(roofLabels([], 13)).toEqual([]);
  });
  test('pipe names', () => {
    expect([pipeLabel('fp32'), pipeLabel('tensor-bf16')]).toEqual(['FP32', 'Tensor BF16']);
  });
});
