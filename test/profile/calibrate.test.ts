import { describe, expect, test } from 'vitest';
import { Prng } from '../../main/base/random.ts';
import { type Calibration, calibrationSchema, type MetricValue, type Profile } from '../../main/contract/index.ts';
import {
  ADOPTION,
  calibrate,
  classCounts,
  refusal,
  type TaskProfile,
  thresholdsFor,
} from '../../main/profile/calibrate.ts';
import { histogram } from '../../main/profile/histogram.ts';
import { bootstrapInterval, otsu } from '../../main/profile/otsu.ts';
import { PAPER_THRESHOLDS, verdict } from '../../main/profile/table2.ts';

const ids = {
  compute: 'sm__throughput.avg.pct_of_peak_sustained_elapsed',
  memory: 'gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed',
  dram: 'gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed',
};
type Values = Partial<Record<keyof typeof ids, number | MetricValue>>;
type Launch = Profile['launches'][number];

function launch(index: number, values: Values, ns = 100): Launch {
  const metrics: Record<string, MetricValue> = {
    'gpu__time_duration.sum': { available: true, value: ns, unit: 'ns' },
    launch__waves_per_multiprocessor: { available: true, value: 4, unit: '' },
  };
  for (const [key, value] of Object.entries(values))
    metrics[ids[key as keyof typeof ids]] = typeof value === 'number' ? { available: true, value, unit: '%' } : value;
  return { index, kernel: 'k(int)', grid: [1], block: [1], cc: '9.0', metrics };
}
function profileOf(launches: Launch[], over: Partial<Profile> = {}): Profile {
  return {
    status: 'complete',
    ncuVersion: '2025.3.1',
    problem: 'large/0',
    launches,
    verdict: verdict(launches),
    filtered: [],
    ...over,
  };
}
const about = {
  gpu: { name: 'NVIDIA H200', uuid: 'GPU-1', cc: '9.0' },
  driver: '580.159.04',
  date: '2026-11-29T16:00:00.000Z',
  dtype: 'fp32' as const,
};
const random = (seed = 'calibrate') => {
  const prng = new Prng(seed);
  return () => prng.next();
};
const run = (tasks: readonly TaskProfile[]): Calibration => {
  const result = calibrate(tasks, about, random());
  if (!result.ok) throw new Error(result.error.message);
  return calibrationSchema.parse(JSON.parse(JSON.stringify(result.value))); // as it is stored
};

/** 32 tasks: compute in two groups (2-17 %, 50-65 %), DRAM spread evenly over 1-94 %, memory in two groups (1-16 %, 31-46 %). */
const tasks: TaskProfile[] = Array.from({ length: 32 }, (_, i) => ({
  task: `task${i}`,
  profile: profileOf([
    launch(0, {
      compute: i < 16 ? 2 + i : 34 + i,
      dram: 1 + 3 * i,
      memory: i % 2 === 0 ? 1 + i / 2 : 31 + (i - 1) / 2,
    }),
  ]),
}));

describe('proposals', () => {
  test('two groups: the cut of Otsu, adopted, with the figures that carry it', () => {
    const { compute } = run(tasks).proposals;
    expect(compute).toMatchObject({
      metric: 'compute',
      id: ids.compute,
      label: 'Compute (SM) Throughput',
      n: 32,
      missing: [],
      adopted: true,
      used: 33.5,
      cut: { threshold: 33.5, gap: [17, 50], low: 16, high: 16, tied: 1 },
    });
    const values = compute.values.map(({ value }) => value);
    expect(compute.cut).toEqual({ ...otsu(values), interval: bootstrapInterval(values, random(), ADOPTION) });
    expect(compute.why).toMatch(
      /^33\.5 % adopted: .* 16 low and 16 high values, η 0\.9\d, 95 % interval .* points wide$/,
    );
  });

  test('an even spread: the paper stays, and why is said', () => {
    const { dram } = run(tasks).proposals;
    expect(dram).toMatchObject({ adopted: false, used: 30, cut: { available: true } });
    expect(dram.why).toMatch(
      /^the paper's 30 % stays: Otsu's cut at 47\.5 % separates too little: η 0\.7\d is under 0\.8/,
    );
  });

  test('each throughput for itself', () => {
    const { thresholds, proposals } = run(tasks);
    expect(proposals.memory).toMatchObject({ adopted: true, used: 23.5 });
    expect(thresholds).toEqual({ compute: 33.5, dram: 30, memory: 23.5 });
  });

  test('same generator, same record', () => {
    expect(run(tasks)).toEqual(run(tasks));
  });

  test('groups without a gap wide enough to be sure: η passes, the interval does not', () => {
    const spread = [0, 2, 5, 8, 12, 16, 21, 27, 34, 40, 58, 66, 75, 80, 85, 89, 92, 95, 98, 100];
    const { compute } = run(
      spread.map((value, i) => ({
        task: `${i}`,
        profile: profileOf([launch(0, { compute: value, dram: 1, memory: 1 })]),
      })),
    ).proposals;
    expect(compute).toMatchObject({ n: 20, adopted: false, used: 30 });
    expect(compute.cut.available && compute.cut.eta).toBeGreaterThan(ADOPTION.eta);
    expect(compute.why).toMatch(/is uncertain: 95 % interval .* points wide, more than 10$/);
  });

  test('one task far out is no class: not adopted though η is high', () => {
    const far = tasks.map(({ task }, i) => ({
      task,
      profile: profileOf([launch(0, { compute: i === 7 ? 95 : 4 + i / 10, dram: 5, memory: i === 7 ? 95 : 5 })]),
    }));
    const { compute, dram, memory } = run(far).proposals;
    expect(compute.cut.available && compute.cut.eta).toBeGreaterThan(0.9);
    expect(compute.why).toMatch(/stays: .* is uncertain/);
    expect(memory.why).toMatch(/stays: .* has no interval: \d+ of 2000 resamples/);
    expect(dram).toMatchObject({
      adopted: false,
      cut: { available: false, reason: 'all 32 values are 5: there are no two classes' },
    });
  });
});

describe('missing', () => {
  test('a metric that a launch lacks is left out with its reason, for that throughput only; never zero', () => {
    const lost: Values[] = [
      { dram: 5, memory: 5 },
      { compute: { available: false, reason: 'ncu reports "n/a"' }, dram: 5, memory: 5 },
      { compute: { available: true, value: 40, unit: 'inst' }, dram: 5, memory: 5 },
      { compute: { available: true, value: -1, unit: '%' }, dram: 5, memory: 5 },
    ];
    const { proposals } = run([
      ...tasks,
      ...lost.map((values, i) => ({ task: `lost${i}`, profile: profileOf([launch(0, values)]) })),
    ]);
    expect(proposals.compute).toMatchObject({ n: 32, used: 33.5, cut: { low: 16 } });
    expect(proposals.compute.missing.map(({ task }) => task)).toEqual(['lost0', 'lost1', 'lost2', 'lost3']);
    expect(proposals.compute.missing.map(({ reason }) => reason)).toEqual([
      `${ids.compute} is not in ncu's output`,
      'ncu reports "n/a"',
      'the unit is "inst", not %',
      '-1 is not a percentage',
    ]);
    expect(proposals.dram).toMatchObject({ n: 36, missing: [] });
  });

  test.each<[string, Profile, RegExp]>([
    [
      'no profile',
      profileOf([], { status: 'unavailable', reason: 'ncu is missing', verdict: null }),
      /^ncu is missing$/,
    ],
    [
      'launches that differ',
      profileOf([launch(0, { compute: 9 })], { status: 'incomplete', reason: '2 launches, 1 timed' }),
      /^2 launches/,
    ],
    ['another size', profileOf([launch(0, { compute: 9 })], { problem: 'published/3' }), /profiled at published\/3/],
    ['an unknown size', profileOf([launch(0, { compute: 9 })], { problem: null }), /unknown size/],
    [
      'another kind of GPU',
      profileOf([{ ...launch(0, { compute: 9 }), cc: '8.9' }]),
      /capability 8\.9, this GPU has 9\.0/,
    ],
    [
      'no launch with most time',
      profileOf([launch(0, { compute: 9 }), { ...launch(1, { compute: 9 }), metrics: {} }]),
      /no duration/,
    ],
  ])('%s: not used', (_, profile, reason) => {
    const { proposals, verdicts, tasks: count } = run([...tasks, { task: 'odd', profile }]);
    for (const proposal of Object.values(proposals)) {
      expect(proposal.n).toBe(32);
      expect(proposal.missing).toEqual([{ task: 'odd', reason: expect.stringMatching(reason) }]);
    }
    expect(count).toBe(33);
    expect(verdicts.before.none).toBe(1);
  });

  test('too few values: not available, with how many and why', () => {
    const { proposals, thresholds } = run([
      ...tasks.slice(0, 19),
      { task: 'gone', profile: profileOf([], { status: 'unavailable', reason: 'ncu is missing', verdict: null }) },
    ]);
    expect(proposals.compute).toMatchObject({
      n: 19,
      adopted: false,
      used: 30,
      cut: {
        available: false,
        reason: '19 tasks have a value, 20 are needed; 1 without one, first gone: ncu is missing',
      },
    });
    expect(thresholds).toEqual(PAPER_THRESHOLDS);
    expect(run([]).proposals.memory.why).toBe("the paper's 30 % stays: 0 tasks have a value, 20 are needed");
  });

  test('the launch with most time stands for its task', () => {
    const three = [
      launch(3, { compute: 90, dram: 1, memory: 1 }, 10),
      launch(4, { compute: 7, dram: 2, memory: 3 }, 80),
      launch(5, { compute: 50, dram: 1, memory: 1 }, 10),
    ];
    expect(run([{ task: 'three', profile: profileOf(three) }]).proposals.compute.values).toEqual([
      { task: 'three', value: 7 },
    ]);
  });

  test('a task given twice is refused', () => {
    expect(calibrate([...tasks, tasks[3] as TaskProfile], about, random())).toMatchObject({
      ok: false,
      error: { code: 'usage', message: expect.stringContaining('task3') },
    });
  });
});

describe('adoption', () => {
  const interval = { available: true as const, low: 35, high: 45, level: 0.95, resamples: 2000 };
  test.each([
    [0.8, interval, null],
    [0.7999, interval, /η 0\.79 is under 0\.8/],
    [0.95, { ...interval, high: 45.01 }, /uncertain/],
    [0.95, { available: false as const, reason: 'because' }, /no interval: because/],
    [Number.NaN, interval, /separates too little/],
  ])('η %d, %j', (eta, given, want) => {
    const refused = refusal({ available: true, threshold: 40, eta, interval: given });
    if (want === null) expect(refused).toBeNull();
    else expect(refused).toMatch(want);
  });

  /** Share of random samples of n values whose cut is adopted. */
  function share(n: number, draw: (u: () => number) => number, samples = 80): number {
    const u = random(`share ${n}`);
    let adopted = 0;
    for (let i = 0; i < samples; i++) {
      const values = Array.from({ length: n }, () => draw(u));
      const cut = otsu(values);
      if (!cut.available || cut.eta < ADOPTION.eta) continue;
      const interval = bootstrapInterval(values, u, { level: ADOPTION.level, resamples: 200 });
      if (refusal({ ...cut, interval }) === null) adopted++;
    }
    return adopted / samples;
  }
  test('one peak is seldom taken for two, at the fewest values allowed; two peaks mostly are seen at 50', () => {
    expect(share(ADOPTION.atLeast, (u) => 100 * u())).toBeLessThanOrEqual(0.08);
    expect(share(ADOPTION.atLeast, (u) => Math.min(100, -20 * Math.log(1 - u())))).toBeLessThanOrEqual(0.08);
    expect(share(50, (u) => (u() < 0.6 ? 12 * u() : 50 + 45 * u()))).toBeGreaterThan(0.8);
  });
});

describe('classes', () => {
  test('before and after over the same launches, and who moved', () => {
    const { verdicts } = run(tasks);
    const at = (thresholds: typeof PAPER_THRESHOLDS) =>
      classCounts(tasks.map(({ profile }) => verdict(profile.launches, thresholds)));
    expect(verdicts.before).toEqual(at(PAPER_THRESHOLDS));
    expect(verdicts.after).toEqual(at({ compute: 33.5, dram: 30, memory: 23.5 }));
    expect(verdicts.before).toEqual(verdicts.after); // no value lies between the two θ
    expect(verdicts.moved).toEqual([]);
  });

  test('tasks between the two thresholds move', () => {
    // compute 20 … 35 % and 80 … 95 %: the cut at 57.5 leaves 31 … 35 %, above the paper's 30, in the low class
    const high = Array.from({ length: 32 }, (_, i) => ({
      task: `task${i}`,
      profile: profileOf([launch(0, { compute: i < 16 ? 20 + i : 64 + i, dram: 2, memory: i % 2 === 0 ? 2 : 60 })]),
    }));
    const { thresholds, verdicts } = run(high);
    expect(thresholds).toMatchObject({ compute: 57.5, dram: 30 });
    expect(verdicts.moved).toEqual(
      [11, 12, 13, 14, 15].map((i) => ({
        task: `task${i}`,
        from: 'compute',
        to: i % 2 === 0 ? 'memory-latency' : 'memory-bandwidth',
      })),
    );
    expect(verdicts.before).toEqual({
      compute: 21,
      'memory-bandwidth': 5,
      'memory-latency': 6,
      none: 0,
      launchBound: 0,
    });
    expect(verdicts.after).toEqual({
      compute: 16,
      'memory-bandwidth': 8,
      'memory-latency': 8,
      none: 0,
      launchBound: 0,
    });
  });

  test('launch bound counts beside its class; no verdict counts as none', () => {
    const small = launch(0, { compute: 1, dram: 1, memory: 1 });
    small.metrics.launch__waves_per_multiprocessor = { available: true, value: 0.1, unit: '' };
    expect(
      classCounts([verdict([small]), verdict([]), verdict([launch(0, { compute: 31, dram: 1, memory: 1 })])]),
    ).toEqual({
      compute: 1,
      'memory-bandwidth': 0,
      'memory-latency': 1,
      none: 1,
      launchBound: 1,
    });
  });
});

test('a calibration serves the GPU and driver that it was made with, no other', () => {
  const made = run(tasks);
  const here = { uuid: 'GPU-1', driver: '580.159.04' };
  expect(thresholdsFor(made, here)).toMatchObject({ thresholds: made.thresholds, calibrated: true });
  for (const [calibration, machine, why] of [
    [null, here, /not calibrated/],
    [made, { ...here, uuid: 'GPU-2' }, /is of GPU-1, this GPU is GPU-2/],
    [made, { ...here, uuid: null }, /unknown/],
    [made, { ...here, driver: '590.1' }, /calibrate again/],
  ] as const) {
    const found = thresholdsFor(calibration, machine);
    expect(found).toMatchObject({ thresholds: PAPER_THRESHOLDS, calibrated: false });
    expect(found.why).toMatch(why);
  }
});

test('a record that contradicts itself is not read', () => {
  const made = run(tasks);
  const { compute, dram } = made.proposals;
  const record = (proposals: object) =>
    calibrationSchema.safeParse({ ...made, proposals: { ...made.proposals, ...proposals } });
  expect(record({ compute: { ...compute, used: 30 } }).success).toBe(false);
  expect(record({ dram: { ...dram, n: 31 } }).success).toBe(false);
  expect(calibrationSchema.safeParse({ ...made, thresholds: { ...made.thresholds, dram: 12 } }).success).toBe(false);
  expect(record({}).success).toBe(true);
});

describe('histogram', () => {
  test('every value in one bin, by class, on random sets', () => {
    const prng = new Prng('bins');
    for (let round = 0; round < 200; round++) {
      const values = Array.from({ length: prng.int(0, 40) }, () => prng.int(0, 1050) / 10);
      const threshold = prng.int(0, 1000) / 10;
      const bins = prng.pick([1, 3, 7, 20, 100]);
      const found = histogram(values, threshold, bins);
      const total = (key: 'low' | 'high') => found.bins.reduce((sum, bin) => sum + bin[key], found.over[key]);
      expect(total('high')).toBe(values.filter((value) => value > threshold).length);
      expect(total('low')).toBe(values.length - total('high'));
      expect([found.low, found.high]).toEqual([total('low'), total('high')]);
    }
  });

  test('edges: 5 begins the second bin, 100 lies in the last, above it in none; the threshold itself is low', () => {
    const { bins, over } = histogram([0, 4.99, 5, 30, 30.1, 100, 100.2], 30);
    expect(bins).toHaveLength(20);
    expect(bins[0]).toEqual({ from: 0, to: 5, low: 2, high: 0 });
    expect(bins[1]).toEqual({ from: 5, to: 10, low: 1, high: 0 });
    expect(bins[6]).toEqual({ from: 30, to: 35, low: 1, high: 1 });
    expect(bins[19]).toEqual({ from: 95, to: 100, low: 0, high: 1 });
    expect(over).toEqual({ low: 0, high: 1 });
  });

  test.each([
    [[Number.NaN], 20],
    [[-1], 20],
    [[1], 0],
    [[1], 2.5],
  ])('%j in %d bins is a bug', (values, bins) => {
    expect(() => histogram(values, 30, bins)).toThrow(RangeError);
  });
});
