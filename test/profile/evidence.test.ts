import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Finding, Launch, MetricValue } from '../../main/contract/index.ts';
import { findingSchema } from '../../main/contract/index.ts';
import data from '../../main/profile/evidence.json' with { type: 'json' };
import { evidenceMetricIds, findings, findingsOf } from '../../main/profile/evidence.ts';
import { formula } from '../../main/profile/formula.ts';
import { parseRaw } from '../../main/profile/parse-raw.ts';
import { evidenceView, profileMetricIds, verdict } from '../../main/profile/table2.ts';

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const first = (name: string): Launch => parseRaw(read(`../fixtures/ncu/${name}`)).launches[0] as Launch;
const gemm = first('gemm_full_raw.csv');
const asked = first('spmv_asked_raw.csv');
const details = first('gemm_full.csv');

const none = { available: false as const, reason: 'ncu reports "n/a"' };
type Inputs = Partial<Record<keyof typeof data.inputs, number | null>>;
/** The launch with some inputs changed (null: not available), by their names in evidence.json. */
function changed(launch: Launch, over: Inputs): Launch {
  const metrics: Record<string, MetricValue> = { ...launch.metrics };
  for (const [name, value] of Object.entries(over))
    for (const id of data.inputs[name as keyof typeof data.inputs].ids)
      metrics[id] = value === null ? none : { available: true, value: value as number, unit: '' };
  return { ...launch, metrics };
}
const finding = (launch: Launch, id: string): Finding => findingsOf(launch).find((f) => f.id === id) as Finding;
const brief = (launch: Launch): string =>
  `${findingsOf(launch)
    .map((f) => `${f.state.padEnd(14)} ${f.id}: ${f.sentence}`)
    .join('\n')}\n`;

describe('evidence.json', () => {
  test('every metric id stands in the full raw page, with a number; every label in a details page', () => {
    expect(evidenceMetricIds().filter((id) => !gemm.metrics[id]?.available)).toEqual([]);
    const labels = Object.values(data.inputs).flatMap(({ ids }) => ids.filter((id) => id.includes('/')));
    expect(labels.filter((label) => !details.metrics[label]?.available)).toEqual([]);
  });

  test('formulas are formulas of known inputs; every input is used and described; a rule has one limit', () => {
    const used = new Set<string>();
    for (const rule of data.findings) {
      const also = 'also' in rule && rule.also ? rule.also.ways : [];
      const applies = 'applies' in rule && rule.applies ? [rule.applies.formula] : [];
      for (const text of [...rule.ways.map((way) => way.formula), ...also, ...applies])
        for (const name of formula(text).names) used.add(name);
      expect('above' in rule).not.toBe('below' in rule);
      for (const text of [rule.found, rule.clear]) expect(text).toMatch(/^[^.]*(?:\.[^. ][^.]*)*\.$/);
    }
    expect([...used].sort()).toEqual(Object.keys(data.inputs).sort());
    for (const { evidence } of findingsOf(gemm))
      for (const { label, meaning } of evidence) {
        expect(label).not.toContain('__');
        expect(meaning.length).toBeGreaterThan(10);
      }
  });

  test('names more than is asked of ncu today: asking is Table 2’s alone', () => {
    expect(evidenceMetricIds().filter((id) => !profileMetricIds().includes(id)).length).toBeGreaterThan(20);
  });
});

describe('real launches', () => {
  test.each([
    ['gemm_full_raw.csv', 'findings-gemm.txt'],
    ['spmv_asked_raw.csv', 'findings-spmv.txt'],
    ['dot_details.csv', 'findings-dot.txt'],
  ])('%s', (name, golden) => {
    for (const found of findingsOf(first(name))) expect(findingSchema.parse(found)).toEqual(found);
    expect(brief(first(name))).toBe(read(`golden/${golden}`));
  });

  test('occupancy, waves and stall shares agree with figures ncu itself gives', () => {
    for (const [launch, occupancy] of [
      [gemm, 100],
      [asked, 50],
    ] as const) {
      expect(finding(launch, 'low-occupancy').value).toMatchObject({ value: occupancy });
      expect(launch.metrics.sm__maximum_warps_per_active_cycle_pct).toMatchObject({ value: occupancy });
    }
    // Stall share by the sum of all stalls, and by occupancy and instructions per cycle.
    const short = changed(gemm, { stall_wait: null });
    expect(finding(short, 'stall-long-scoreboard').value).toMatchObject({ value: expect.closeTo(52.7, 0) });
    expect(finding(gemm, 'stall-long-scoreboard').value).toMatchObject({ value: expect.closeTo(52.7, 1) });
  });

  test('beside the evidence of Table 2: same launch, same values', () => {
    const of = verdict([gemm]);
    const shown = new Map(findings([gemm], of).flatMap((f) => f.evidence.map((e) => [e.id, e] as const)));
    const common = evidenceView([gemm], of).filter((e) => shown.has(e.id));
    expect(common.length).toBeGreaterThan(12);
    for (const each of common) expect(shown.get(each.id)).toMatchObject({ label: each.label, value: each.value });
    expect(findings([], verdict([]))).toEqual([]);
  });
});

/** One change of the real launch per rule that makes it true: a rule that cannot fire is no rule. */
const firing: readonly (readonly [string, Inputs])[] = [
  ['divergence', { threadsPerInst: 20 }],
  ['predication', { threadsOnPerInst: 20 }],
  ['branch-divergence', { uniformBranches: 60 }],
  ['bank-conflicts', { sharedInst: 1000, sassSharedWavefronts: 4000, sassSharedIdeal: 1000 }],
  ['bank-conflicts', { sharedInst: 1000, sassSharedIdeal: null, bankConflicts: 30000 }],
  ['register-spills', { spillInst: 12 }],
  ['register-spills', { spillInst: null, spillRequests: 12 }],
  ['local-memory', { localLoads: 12 }],
  ['local-memory', { localLoads: 12, localStores: null }],
  ['low-occupancy', { limitShared: 2 }],
  ['register-pressure', { limitRegisters: 4 }],
  ['occupancy-gap', { occupancy: 30 }],
  ['small-grid', { waves: 0.5 }],
  ['tail-effect', { waves: 1.1 }],
  ['tail-effect', { waves: 2, gridSize: 132 * 8 * 2 + 1 }], // printed "2.00", in truth a third wave
  ['imbalance', { cyclesMax: 1e6, cyclesAvg: 5e5 }],
  ['uncoalesced', { sectorsIdeal: 2e7 }],
  ['load-sector-use', { loadBytes: 4 }],
  ['store-sector-use', { storeBytes: 4 }],
  ['stall-long-scoreboard', { stall_long_scoreboard: 30 }],
  ['stall-short-scoreboard', { stall_short_scoreboard: 30 }],
  ['stall-barrier', { stall_barrier: 30 }],
  ['stall-lg-throttle', { stall_lg_throttle: 30 }],
  ['stall-mio-throttle', { stall_mio_throttle: 30 }],
  ['stall-math-throttle', { stall_math_pipe_throttle: 30 }],
];

describe('rules', () => {
  test('all of them are tried here', () => {
    expect([...new Set(firing.map(([id]) => id))].sort()).toEqual(data.findings.map((rule) => rule.id).sort());
  });

  test.each(firing)('%s is found with %j', (id, over) => {
    const found = finding(changed(gemm, over), id);
    expect(found).toMatchObject({ state: 'found', value: { available: true } });
    expect(found.sentence).not.toMatch(/[{}]|NaN|undefined|not known/);
    expect(found.evidence.length).toBeGreaterThan(0);
  });

  test('not applicable: nothing of the kind executed', () => {
    expect(finding(changed(gemm, { loadBytes: 0 }), 'load-sector-use').state).toBe('not-applicable');
    expect(finding(changed(gemm, { sectors: 0, sectorsIdeal: 0 }), 'uncoalesced').state).toBe('not-applicable');
    expect(finding(gemm, 'bank-conflicts').state).toBe('not-applicable');
  });

  test('covered: the second condition fails, or is unknown', () => {
    const stalled = { stall_barrier: 30 };
    const busy = finding(changed(gemm, { ...stalled, issueBusy: 90 }), 'stall-barrier');
    expect(busy).toMatchObject({ state: 'clear', sentence: expect.stringContaining('cover') });
    expect(finding(changed(gemm, { ...stalled, issueBusy: null }), 'stall-barrier').state).toBe('unknown');
    expect(finding(changed(gemm, { waves: 0.3 }), 'tail-effect')).toMatchObject({
      state: 'clear',
      sentence: expect.stringContaining('no second'),
    });
  });

  test('one-sided ways', () => {
    const asSeen = { sharedInst: null, sassSharedWavefronts: null, sharedWavefronts: null };
    expect(finding(changed(gemm, { ...asSeen, bankConflicts: 0 }), 'bank-conflicts').state).toBe('clear');
    expect(finding(changed(gemm, { ...asSeen, bankConflicts: 9 }), 'bank-conflicts').state).toBe('unknown');
    expect(finding(changed(gemm, { localStores: null }), 'local-memory').state).toBe('unknown');
  });

  test('the limiter is named, ties too', () => {
    expect(finding(changed(gemm, { limitShared: 2 }), 'low-occupancy').sentence).toContain('(limit: shared memory)');
    expect(finding(gemm, 'low-occupancy').sentence).toContain('(limit: registers and the block size)');
  });

  test('ncu’s rounding: no verdict within it, a finer input decides', () => {
    // 0.03 instructions per cycle as printed are 0.025 to 0.035.
    const slow = { stall_wait: null, ipc: 0.03, stall_long_scoreboard: 32, occupancy: 5, issueBusy: 1 };
    expect(finding(changed(gemm, slow), 'stall-long-scoreboard')).toMatchObject({
      state: 'unknown',
      sentence: expect.stringContaining('too near'),
    });
    expect(finding(changed(gemm, { waves: 1, gridSize: 132 * 8 }), 'small-grid').state).toBe('clear');
    expect(finding(changed(gemm, { waves: 1, gridSize: 132 * 8 - 1 }), 'small-grid').state).toBe('found');
    expect(finding(changed(gemm, { waves: 1, gridSize: null }), 'small-grid').state).toBe('unknown');
  });
});

describe('mutations', () => {
  const allowed = (before: string): string[] =>
    before === 'not-applicable' ? [before, 'clear', 'unknown'] : [before, 'unknown'];

  test.each([
    ['gemm', gemm],
    ['spmv', asked],
  ])(
    '%s: each metric taken away leaves a verdict or makes it unknown, never turns it',
    (_, launch) => {
      const before = new Map(findingsOf(launch).map((f) => [f.id, f.state]));
      for (const name of Object.keys(data.inputs)) {
        const metrics = { ...launch.metrics };
        for (const id of data.inputs[name as keyof typeof data.inputs].ids) delete metrics[id];
        for (const cut of [{ ...launch, metrics }, changed(launch, { [name]: null })])
          for (const found of findingsOf(cut))
            expect(allowed(before.get(found.id) as string), `${name} ${found.id}`).toContain(found.state);
      }
    },
    20_000,
  );

  test('nothing known: all unknown, with a reason', () => {
    for (const found of findingsOf({ ...gemm, metrics: {} })) {
      expect(found).toMatchObject({ state: 'unknown', value: { available: false } });
      expect(found.sentence).toMatch(/^Not known: .*not in ncu's output\.$/);
    }
  });

  test('all zero, negative or huge: no exception, no verdict without a value', () => {
    for (const value of [0, -1, 1e300]) {
      const over = Object.fromEntries(Object.keys(data.inputs).map((name) => [name, value]));
      for (const found of findingsOf(changed(gemm, over))) {
        expect(findingSchema.parse(found)).toEqual(found);
        expect(found.value.available).toBe(found.state === 'found' || found.state === 'clear');
        expect(found.sentence).not.toMatch(/NaN|Infinity|undefined/);
      }
    }
  });
});

test('formula', () => {
  const value = (text: string, of: Record<string, number> = {}) => formula(text).value(of);
  expect(value('1 + 2 * 3 - 4 / 2')).toBe(5);
  expect(value('-(a - 2) * 10', { a: 5 })).toBe(-30);
  expect(value('max(min(a, 3), ceil(0.2)) / 2', { a: 9 })).toBe(1.5);
  expect(formula('a / (a + b)').names).toEqual(['a', 'b']);
  expect(value('a / b', { a: 1, b: 0 })).toBeNull();
  expect(value('a / b', { a: 0, b: 0 })).toBeNull();
  expect(value('a')).toBeNull();
  for (const wrong of ['', '1 +', '(1', '1 2', 'sin(1)', 'a $ b', 'min(1', '*'])
    expect(() => formula(wrong), wrong).toThrow();
});
