import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Launch, MetricValue } from '../../main/contract/index.ts';
import { rooflineSchema } from '../../main/contract/index.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import data from '../../main/profile/roofline.json' with { type: 'json' };
import { roofline, rooflineMetricIds, sessionPeaks } from '../../main/profile/roofline.ts';

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const gemm = parseRaw(fixture('gemm_full_raw.csv')).launches[0] as Launch;
const asked = parseRaw(fixture('spmv_asked_raw.csv')).launches[0] as Launch;
const peaks = { bytesPerS: 4e12, flopsPerS: { fp32: 50e12 } };

const some = (value: number, unit = ''): MetricValue => ({ available: true, value, unit });
const op = (name: string): string => `smsp__sass_thread_inst_executed_op_${name}_pred_on.sum`;
/** A launch of 1 µs and 1 MB whose counts are all zero but the given ones. */
function launch(over: Record<string, MetricValue | null> = {}): Launch {
  const zero = rooflineMetricIds().filter(
    (id) => id.startsWith('sm__ops_path') || /op_[dfh](add|mul|fma)_pred_on\.sum$/.test(id),
  );
  const metrics: Record<string, MetricValue> = Object.fromEntries(zero.map((id) => [id, some(0)]));
  Object.assign(metrics, { 'gpu__time_duration.sum': some(1000, 'ns'), 'dram__bytes.sum': some(1e6, 'byte') });
  for (const [id, value] of Object.entries(over)) {
    if (value === null) delete metrics[id];
    else metrics[id] = value;
  }
  return { index: 0, kernel: 'k(int)', grid: [1], block: [1], cc: '9.0', metrics };
}

test('ids: the raw page has all but the plain counts', () => {
  const absent = rooflineMetricIds().filter((id) => !gemm.metrics[id]?.available);
  expect(
    absent.filter((id) => !/^sm(?:sp)?__sass_thread_inst_executed_op_[dfh](add|mul|fma)_pred_on\.sum$/.test(id)),
  ).toEqual(['dram__bytes.sum']);
});

describe('a real launch: 1024³ multiply-adds in FP32', () => {
  const found = roofline(gemm, peaks);
  const [fp32, fp16] = found.points;

  test('operations agree with the arithmetic of the kernel within ncu’s rounding', () => {
    expect(rooflineSchema.parse(found)).toEqual(found);
    expect(found.missing).toEqual([]);
    expect(found.points.map((p) => p.pipe)).toEqual(['fp32', 'fp16']);
    expect(Math.abs((fp32?.flop ?? 0) - 2 * 1024 ** 3)).toBeLessThan(fp32?.plusMinus ?? 0);
    expect((fp32?.plusMinus ?? 1) / (fp32?.flop ?? 1)).toBeLessThan(1e-4);
    // The compiler's one constant load per thread, in 4 operations each.
    expect(Math.abs((fp16?.flop ?? 0) - 4 * 1048576)).toBeLessThan(fp16?.plusMinus ?? 0);
    expect(found.notes.join()).toContain('need not be arithmetic');
  });

  test('position and roof', () => {
    expect(found.bytes).toEqual(some(8394240, 'byte'));
    expect(found.duration).toEqual(some(421088, 'ns'));
    expect(fp32?.intensity).toMatchObject({ value: expect.closeTo(255.83, 2), unit: 'flop/byte' });
    expect(fp32?.rate).toMatchObject({ value: expect.closeTo(5.0998e12, -9), unit: 'flop/s' });
    expect(fp32).toMatchObject({ ceiling: some(50e12, 'flop/s'), under: 'compute' });
    expect(fp32?.ofCeiling).toMatchObject({ value: expect.closeTo(10.2, 1), unit: '%' });
    expect(fp16).toMatchObject({
      under: null,
      ceiling: { available: false, reason: expect.stringContaining('not measured') },
    });
  });

  test('bytes by rate and time are the same bytes', () => {
    const { 'dram__bytes_read.sum': _r, 'dram__bytes_write.sum': _w, ...metrics } = gemm.metrics;
    const { bytes } = roofline({ ...gemm, metrics }, peaks);
    expect(bytes).toMatchObject({ value: expect.closeTo(8394240, -1), unit: 'byte' });
  });

  test('each metric taken away: the same points, or fewer with the reason; never others', () => {
    for (const id of rooflineMetricIds()) {
      const metrics = { ...gemm.metrics, [id]: { available: false as const, reason: 'ncu reports "n/a"' } };
      const less = roofline({ ...gemm, metrics }, peaks);
      for (const point of less.points) {
        const before = found.points.find((p) => p.pipe === point.pipe);
        expect(before?.flop).toBeCloseTo(point.flop, -3);
        if (point.ofCeiling.available && before?.ofCeiling.available)
          expect(point.ofCeiling.value).toBeCloseTo(before.ofCeiling.value, 3);
      }
      for (const { pipe } of found.points)
        expect(less.points.some((p) => p.pipe === pipe) || less.missing.some((m) => m.pipe === pipe), id).toBe(true);
    }
  });
});

describe('rules', () => {
  test('weights: a multiply-add is two, packed halves twice that, tensor counts are operations', () => {
    const flops = Object.fromEntries(
      roofline(
        launch({
          [op('fadd')]: some(1),
          [op('fmul')]: some(10),
          [op('ffma')]: some(100),
          [op('dadd')]: some(1),
          [op('dfma')]: some(1),
          [op('hadd')]: some(1),
          [op('hfma')]: some(10),
          'sm__ops_path_tensor_src_fp16.sum': some(5000),
        }),
        peaks,
      ).points.map((p) => [p.pipe, p.flop]),
    );
    expect(flops).toEqual({ fp32: 211, fp64: 3, fp16: 42, 'tensor-fp16': 5000 });
  });

  test('under the slope, at most the slope', () => {
    const [point] = roofline(launch({ [op('ffma')]: some(0.5e6) }), peaks).points; // 1 flop/byte
    expect(point).toMatchObject({
      under: 'bandwidth',
      ceiling: some(4e12, 'flop/s'),
      ofCeiling: some(25, '%'),
      plusMinus: 0,
    });
  });

  test('a missing operation leaves the pipe without a point', () => {
    const { points, missing } = roofline(
      launch({ [op('ffma')]: null, [op('ffma').replace('smsp', 'sm')]: null, [op('fadd')]: some(9) }),
      peaks,
    );
    expect(points).toEqual([]);
    expect(missing).toEqual([{ pipe: 'fp32', reason: expect.stringContaining('ffma') }]);
  });

  test.each([
    ['gpu__time_duration.sum', null, 'rate'],
    ['gpu__time_duration.sum', some(0, 'ns'), 'rate'],
    ['gpu__time_duration.sum', some(1000, ''), 'rate'], // no units row: of any scale
    ['dram__bytes.sum', null, 'intensity'],
    ['dram__bytes.sum', some(0, 'byte'), 'intensity'],
    ['dram__bytes.sum', some(-1, 'byte'), 'intensity'],
    ['dram__bytes.sum', some(1, 'Kibyte'), 'intensity'],
  ] as const)('%s is %j: no %s, no share of the roof', (id, value, field) => {
    const [point] = roofline(launch({ [op('ffma')]: some(1e6), [id]: value }), peaks).points;
    expect(point?.[field].available).toBe(false);
    expect(point?.ofCeiling.available).toBe(false);
  });

  test('peaks not measured, or of another GPU', () => {
    const at = (of: Parameters<typeof roofline>[1]) => roofline(launch({ [op('ffma')]: some(20e6) }), of);
    for (const of of [
      sessionPeaks(null),
      { bytesPerS: 0, flopsPerS: { fp32: 1 } },
      { bytesPerS: 1, flopsPerS: { fp32: 0 } },
    ])
      expect(at(of).points[0]).toMatchObject({ under: null, ceiling: { available: false } });
    expect(at({ bytesPerS: 1e12, flopsPerS: { fp32: 30e12 } }).notes.join()).toContain('above its roof');
    expect(
      sessionPeaks({ readBytesPerS: 4, writeBytesPerS: 3, copyBytesPerS: 5, fp32FlopsPerS: 7, emptySpanNs: 1 }),
    ).toEqual({ bytesPerS: 5, flopsPerS: { fp32: 7 } });
    const more = { fp64: 3, 'tensor-bf16': 90 };
    expect(
      sessionPeaks({
        readBytesPerS: 4,
        writeBytesPerS: 3,
        copyBytesPerS: 5,
        fp32FlopsPerS: 7,
        emptySpanNs: 1,
        pipeFlopsPerS: more,
      }).flopsPerS,
    ).toEqual({ fp32: 7, ...more });
    // Pipes measured by the harness are pipes that the roofline knows.
    const known = data.pipes.map(({ id }) => id);
    const source = readFileSync(new URL('../../kernels/harness/peaks_pipes_cuda.h', import.meta.url), 'utf8');
    const measured = [...source.matchAll(/\.number\("([\w-]+)"/g)].map(([, id]) => id as string);
    expect(measured).toHaveLength(5);
    expect(measured.filter((id) => !known.includes(id))).toEqual([]);
  });

  test('nothing executed is not nothing known', () => {
    expect(roofline(launch(), peaks).notes.join()).toContain('no floating-point operation');
    const of = roofline(asked, peaks); // what is asked of ncu today
    expect(of.points).toEqual([]);
    expect(of.missing.length).toBe(8);
    expect(of.notes.join()).not.toContain('no floating-point operation');
  });
});
