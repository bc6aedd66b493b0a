import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { profileLines } from '../../main/cli/figures.ts';
import {
  type Evaluation,
  type Launch,
  type MetricValue,
  type ProfileResult,
  profileSchema,
} from '../../main/contract/index.ts';
import { kernelBaseName } from '../../main/contract/kernel-name.ts';
import { interpretProfile } from '../../main/profile/interpret.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { evidenceView, filteredView, fullView, profileMetricIds, verdict } from '../../main/profile/table2.ts';

const fixture = (name: string): string => readFileSync(new URL(`../fixtures/ncu/${name}`, import.meta.url), 'utf8');
const raw = parseRaw(fixture('gemm_full_raw.csv')).launches;

const ids = {
  compute: 'sm__throughput.avg.pct_of_peak_sustained_elapsed',
  memory: 'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
  dram: 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
  waves: 'launch__waves_per_multiprocessor',
  time: 'gpu__time_duration.sum',
};
function launch(index: number, values: Partial<Record<keyof typeof ids, number>>): Launch {
  const metrics: Record<string, MetricValue> = {};
  for (const [key, value] of Object.entries(values))
    metrics[ids[key as keyof typeof ids]] = { available: true, value, unit: '%' };
  return { index, kernel: `k${index}(int)`, grid: [1], block: [1], cc: '9.0', metrics };
}
const label = (values: Partial<Record<keyof typeof ids, number>>) =>
  verdict([launch(0, { waves: 4, time: 1, ...values })]);

test('every metric asked of ncu exists in its full raw page, with a number', () => {
  const metrics = raw[0]?.metrics ?? {};
  expect(profileMetricIds().filter((id) => !metrics[id]?.available)).toEqual([]);
  expect(profileMetricIds()).toEqual(expect.arrayContaining(Object.values(ids)));
});

describe('Table 2', () => {
  test.each([
    [{ compute: 31, memory: 5, dram: 5 }, 'compute'],
    [{ compute: 31, memory: 90, dram: 90 }, 'compute'], // the paper's label stays
    [{ compute: 30, memory: 31, dram: 5 }, 'memory-bandwidth'],
    [{ compute: 30, memory: 30, dram: 31 }, 'memory-bandwidth'],
    [{ compute: 30, memory: 30, dram: 30 }, 'memory-latency'], // above θ, not at it
  ])('%j → %s', (values, want) => {
    expect(label(values).bottleneck).toBe(want);
  });

  test.each(['compute', 'memory', 'dram'] as const)('%s missing: no verdict, never zero', (key) => {
    const values = { compute: 50, memory: 50, dram: 50 };
    const { [key]: _, ...rest } = values;
    const found = label(rest);
    expect(found.bottleneck).toBeNull();
    expect(found.why).toMatch(/missing/);
  });

  test('a grid below one wave is launch bound beside its label', () => {
    expect(label({ compute: 1, memory: 1, dram: 1, waves: 0.97 })).toMatchObject({
      bottleneck: 'memory-latency',
      launchBound: true,
    });
    expect(label({ compute: 1, memory: 1, dram: 1, waves: 1 }).launchBound).toBe(false);
  });

  test('the launch with most time decides', () => {
    const launches = [
      launch(0, { time: 10, compute: 90, memory: 1, dram: 1 }),
      launch(1, { time: 70, compute: 1, memory: 80, dram: 80 }),
      launch(2, { time: 20, compute: 1, memory: 1, dram: 1 }),
    ];
    expect(verdict(launches)).toMatchObject({ launch: 1, bottleneck: 'memory-bandwidth' });
    const { [ids.time]: _, ...rest } = (launches[2] as Launch).metrics;
    expect(verdict([launches[0], launches[1], { ...launches[2], metrics: rest }] as Launch[]).bottleneck).toBeNull();
    expect(verdict([]).bottleneck).toBeNull();
  });

  test('passed on: the metrics of the bottleneck; of both sides when memory is the higher one', () => {
    const labels = (values: Parameters<typeof label>[0]) => {
      const launches = [launch(0, { waves: 4, time: 1, ...values })];
      return filteredView(launches, verdict(launches)).map((m) => m.label);
    };
    const compute = ['Compute (SM) Throughput', 'Issue Slots Busy', 'Executed Ipc Active', 'SM Busy'];
    const bandwidth = ['DRAM Throughput', 'Memory Throughput', 'Max Bandwidth', 'Mem Pipes Busy'];
    expect(labels({ compute: 80, memory: 40, dram: 1 })).toEqual(compute);
    expect(labels({ compute: 80, memory: 90, dram: 1 })).toEqual([...compute, ...bandwidth]);
    expect(labels({ compute: 2, memory: 40, dram: 1 })).toEqual(bandwidth);
    expect(labels({ compute: 2, memory: 4, dram: 1 })).toEqual([
      'L1/TEX Hit Rate',
      'L2 Hit Rate',
      'Executed Ipc Elapsed',
      'Mem Busy',
    ]);
    expect(labels({ memory: 4, dram: 1 })).toEqual([]);
  });

  test('real outputs', () => {
    const gemm = verdict(raw);
    expect(gemm).toMatchObject({ bottleneck: 'compute', launchBound: false, launch: 0 });
    expect(filteredView(raw, gemm)).toHaveLength(8);
    expect(filteredView(raw, gemm).every((m) => m.value.available && m.meaning.length > 20)).toBe(true);
    expect(evidenceView(raw, gemm).map((m) => m.label)).toContain('Global Load Bytes Per Sector');
    expect(fullView(raw, gemm).length).toBe(profileMetricIds().length);
    const dot = parseRaw(fixture('dot_details.csv')).launches;
    expect(verdict(dot)).toMatchObject({ bottleneck: 'memory-latency', launchBound: true });
    expect(filteredView(dot, verdict(dot)).every((m) => m.value.available)).toBe(true);
  });
});

test.each([
  ['gemm_naive_kernel(const float *, const float *, float *, int)', 'gemm_naive_kernel'],
  ['void ns::gemm<int (4), (anonymous namespace)::A<float>>(const T2 *, int)', 'gemm'],
  ['_Z17gemm_naive_kernelPKfS0_Pfi', 'gemm_naive_kernel'],
  ['_ZN2ns4gemmILi4EfEEvPKT0_i', 'gemm'],
  ['_ZN12_GLOBAL__N_18k_kernelEPf', 'k_kernel'],
  [
    '_ZN3cub17CUB_300000_900_NS6detail6reduce18DeviceReduceKernelINS2_10policy_hubIfjEEPfS6_EEvT0_T1_',
    'DeviceReduceKernel',
  ],
  ['_Z6reduceILi256EEvPKfPf', 'reduce'],
  ['plain_kernel', 'plain_kernel'],
])('bare name of %s', (name, want) => {
  expect(kernelBaseName(name)).toBe(want);
});

describe('ProfileResult → Profile', () => {
  const result = (over: Partial<ProfileResult>): ProfileResult => ({
    mode: 'profile',
    ncuVersion: '2025.3.1',
    rawCsv: fixture('gemm_full_raw.csv'),
    sourceCsv: '',
    log: '',
    exitCode: 0,
    incidents: [],
    ...over,
  });
  const kernel = (name: string, perCall: number) => ({
    arm: 'C',
    problem: 0,
    kind: 'kernel' as const,
    name,
    perCall,
    meanNs: 1,
  });
  const context = (activities: ReturnType<typeof kernel>[] | null) => ({ problem: 'large/0', activities });

  test('launches match: complete', () => {
    const profile = interpretProfile(result({}), context([kernel('_Z17gemm_naive_kernelPKfS0_Pfi', 1)]));
    expect(profile).toMatchObject({ status: 'complete', problem: 'large/0', ncuVersion: '2025.3.1' });
    expect(profile.verdict?.bottleneck).toBe('compute');
    expect(profile.filtered).toHaveLength(8);
    expect(profile).not.toHaveProperty('remark');
  });

  test('nothing to compare with: complete, and said so in every text', () => {
    const profile = interpretProfile(result({}), context(null));
    expect(profileSchema.parse(profile)).toMatchObject({
      status: 'complete',
      remark: expect.stringMatching(/^launches not compared with a timing/),
    });
    expect(profile.verdict?.bottleneck).toBe('compute');
    const lines = profileLines({ profile } as Evaluation).join('\n');
    expect(lines).toContain('remark: launches not compared with a timing');
    const failed = { ...context(null), fault: { message: 'No counters.' } };
    expect(interpretProfile(result({ rawCsv: '' }), failed)).not.toHaveProperty('remark');
  });

  test.each([
    [[kernel('gemm_naive_kernel', 2)]],
    [[kernel('gemm_naive_kernel', 1), kernel('second_kernel(int)', 1)]],
    [[kernel('other', 1)]],
    [[kernel('gemm_naive_kernel', 0.5)]],
    [[]],
  ])('launches differ: incomplete, no verdict (%#)', (activities) => {
    const profile = interpretProfile(result({}), context(activities));
    expect(profile.status).toBe('incomplete');
    expect(profile.reason).toMatch(/CUPTI saw/);
    expect(profile.verdict?.bottleneck).toBeNull();
    expect(profile.filtered).toEqual([]);
    expect(profile.launches).toHaveLength(1);
  });

  test("unavailable, whatever the exit code: the step's own reason is passed on", () => {
    const fault = { message: 'This user may not read the GPU performance counters.', remedy: 'Ask for them.' };
    const profile = interpretProfile(result({ rawCsv: '==ERROR== ERR_NVGPUCTRPERM\n', exitCode: 0 }), {
      ...context(null),
      fault,
    });
    expect(profile).toMatchObject({ status: 'unavailable', verdict: null, launches: [], reason: fault.message });
    expect(profile.remedy).toBe(fault.remedy);
  });

  test('a warning does not void rows that are there', () => {
    const profile = interpretProfile(
      result({ log: 'Backing up device memory in system memory. Kernel replay might be slow.' }),
      context(null),
    );
    expect(profile.status).toBe('complete');
  });

  test('nothing known: says how ncu ended', () => {
    const profile = interpretProfile(result({ rawCsv: '', exitCode: 9 }), context(null));
    expect(profile.reason).toMatch(/code 9/);
  });
});
