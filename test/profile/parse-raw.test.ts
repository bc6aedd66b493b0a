import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { metricValue, parseRaw } from '../../main/profile/parse-raw.ts';
import { baseUnit } from '../../main/profile/units.ts';

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const value = (text: string, unit = '') => metricValue(text, unit);

describe('real output of ncu 2025.3.1 on an H200', () => {
  test('wide form: one launch, all metrics, base units, thousands separators', () => {
    const { shape, launches, messages } = parseRaw(fixture('gemm_full_raw.csv'));
    expect(shape).toBe('wide');
    expect(launches).toHaveLength(1);
    const [launch] = launches;
    expect(launch?.kernel).toBe('gemm_naive_kernel(const float *, const float *, float *, int)');
    expect(launch?.grid).toEqual([64, 64, 1]);
    expect(launch?.block).toEqual([16, 16, 1]);
    expect(launch?.cc).toBe('9.0');
    expect(Object.keys(launch?.metrics ?? {})).toHaveLength(2227);
    expect(launch?.metrics['gpu__time_duration.sum']).toEqual({ available: true, value: 421088, unit: 'ns' });
    expect(launch?.metrics['dram__bytes.sum.per_second']).toEqual({
      available: true,
      value: 19934645489.78,
      unit: 'byte/s',
    });
    expect(messages.some((line) => line.includes('Unable to access the following 6 metrics'))).toBe(true);
  });

  test('wide form: empty, "nan", "no data" and text stay not available, with the reason', () => {
    const metrics = parseRaw(fixture('gemm_full_raw.csv')).launches[0]?.metrics ?? {};
    expect(metrics['FBSP.TriageCompute.dramc__throughput.avg.pct_of_peak_sustained_elapsed']).toEqual({
      available: false,
      reason: 'ncu left the cell empty',
    });
    expect(metrics.sass__inst_executed_register_spilling_mem_local).toEqual({
      available: false,
      reason: 'ncu reports "no data"',
    });
    expect(metrics.launch__func_cache_config?.available).toBe(false);
    const numbers = Object.values(metrics).filter((m) => m.available && !Number.isFinite(m.value));
    expect(numbers).toEqual([]);
  });

  test.each([
    ['dot_details.csv', 'dot_naive_kernel(const float *, const float *, float *, int)', 5.84, 0.86, 488096],
    ['gemm_basic.csv', 'gemm_naive_kernel(const float *, const float *, float *, int)', 92.04, 61.33, 419648],
    ['gemm_detailed.csv', 'gemm_naive_kernel(const float *, const float *, float *, int)', 91.15, 60.73, 422400],
    ['gemm_full.csv', 'gemm_naive_kernel(const float *, const float *, float *, int)', 91.88, 61.22, 421664],
  ])('long form %s: labels become metric ids', (file, kernel, memory, compute, ns) => {
    const { shape, launches } = parseRaw(fixture(file));
    expect(shape).toBe('long');
    expect(launches.map((launch) => launch.kernel)).toEqual([kernel]);
    const metrics = launches[0]?.metrics ?? {};
    // "Memory Throughput" stands in two sections: the percentage and the rate must not be mixed up.
    expect(metrics['gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed']).toEqual({
      available: true,
      value: memory,
      unit: '%',
    });
    expect(metrics['sm__throughput.avg.pct_of_peak_sustained_elapsed']).toMatchObject({ value: compute });
    expect(metrics['gpu__time_duration.sum']).toMatchObject({ value: ns, unit: 'ns' });
  });

  test('the source page is no launch table', () => {
    expect(parseRaw(fixture('src_cuda_sass.csv'))).toMatchObject({ shape: 'none', launches: [] });
  });
});

describe('noise around and between rows', () => {
  const noisy = [
    'program says "hello, world"',
    '"ID" is not a header',
    '==WARNING== Section files cannot be deployed under HOME',
    '"ID","Process ID","Kernel Name","Block Size","Grid Size","CC","gpu__time_duration.sum","sm__throughput.avg.pct_of_peak_sustained_elapsed"',
    '"","","","","","","us","%"',
    'progress 50 %',
    '"0","7","a(int)","(32, 1, 1)","(2, 1, 1)","8.9","1,012.5","n/a"',
    '"a line", "of the program"',
    '"unbalanced',
    '"1","7","b(int)","(32, 1, 1)","(4, 1, 1)","8.9","3","(!) nan"',
    '==PROF== Disconnected from process 7',
  ].join('\r\n');

  test('only rows of the table are kept, units are brought to base', () => {
    const { launches } = parseRaw(noisy);
    expect(launches.map((l) => [l.index, l.kernel, l.grid[0]])).toEqual([
      [0, 'a(int)', 2],
      [1, 'b(int)', 4],
    ]);
    expect(launches[0]?.metrics['gpu__time_duration.sum']).toEqual({ available: true, value: 1012500, unit: 'ns' });
    expect(launches[0]?.metrics['sm__throughput.avg.pct_of_peak_sustained_elapsed']).toEqual({
      available: false,
      reason: 'ncu reports "n/a"',
    });
    expect(launches[1]?.metrics['sm__throughput.avg.pct_of_peak_sustained_elapsed']).toEqual({
      available: false,
      reason: 'ncu reports "nan"',
    });
  });

  test.each(['', '==ERROR== ERR_NVGPUCTRPERM', 'Killed\n'])('no table: no launches (%j)', (text) => {
    expect(parseRaw(text)).toMatchObject({ shape: 'none', launches: [] });
  });

  test('metrics asked for by id on the details page keep their id', () => {
    const { launches } = parseRaw(
      [
        '"ID","Kernel Name","Block Size","Grid Size","CC","Section Name","Metric Name","Metric Unit","Metric Value"',
        '"0","k(int)","(1, 1, 1)","(1, 1, 1)","8.0","Command line profiler metrics","dram__bytes.sum.per_second","Gbyte/s","1.5"',
      ].join('\n'),
    );
    expect(launches[0]?.metrics['dram__bytes.sum.per_second']).toEqual({
      available: true,
      value: 1.5e9,
      unit: 'byte/s',
    });
  });
});

test('numbers as ncu writes them, and nothing else', () => {
  expect(value('1,048,576')).toEqual({ available: true, value: 1048576, unit: '' });
  expect(value('-0.25')).toEqual({ available: true, value: -0.25, unit: '' });
  expect(value('0')).toEqual({ available: true, value: 0, unit: '' });
  expect(value('1,2').available).toBe(false); // a decimal comma must not become 12
  expect(value('1.234,56').available).toBe(false);
  expect(value('(64, 64, 1)').available).toBe(false);
});

test('units', () => {
  expect(baseUnit('Gbyte/s')).toEqual({ factor: 1e9, unit: 'byte/s' });
  expect(baseUnit('Gbyte/second')).toEqual({ factor: 1e9, unit: 'byte/s' });
  expect(baseUnit('msecond')).toEqual({ factor: 1e6, unit: 'ns' });
  expect(baseUnit('Mhz')).toEqual({ factor: 1e6, unit: 'hz' });
  expect(baseUnit('Kbyte/block')).toEqual({ factor: 1e3, unit: 'byte/block' });
  expect(baseUnit('inst/cycle')).toEqual({ factor: 1, unit: 'inst/cycle' });
  expect(baseUnit('register/thread')).toEqual({ factor: 1, unit: 'register/thread' });
});
