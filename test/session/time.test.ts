import { describe, expect, it } from 'vitest';
import { type Arm, type TimePlan, timeResultSchema } from '../../main/contract/index.ts';
import { gpu, peaks } from '../evaluate/fakes.ts';
import { context, fakeJudge, fakePeer, fakes, problem, programs, scratch, script, session, trace } from './support.ts';

const arm = (id: Arm['id']): Arm => ({ id, lib: `${id}.so`, symbol: 'f' });

const plan = (extra: Partial<TimePlan> = {}): TimePlan => ({
  mode: 'time',
  ...programs,
  phase: 'nominate',
  arms: [arm('O'), arm('B'), arm('C')],
  problems: [problem('large/0', 1000), problem('large/1', 3)],
  weights: [1, 2],
  processes: 2,
  soloProcesses: 1,
  blocks: { min: 3, max: 4, budgetMs: 1000 },
  flush: 'read',
  gate: false,
  quantities: ['wrapper', 'span'],
  positions: 8,
  nominateAbove: 1.005,
  ...extra,
});

const speeds = { O: 40_000, B: 24_000, C: 16_000 };
const fast = { wrapperNs: speeds, spanNs: speeds };
/** One problem, one process: enough where something goes wrong. */
const small = (extra: Partial<TimePlan> = {}): TimePlan =>
  plan({ problems: [problem('a')], weights: [1], processes: 1, soloProcesses: 0, ...extra });

describe('time', () => {
  it('measures both quantities in every process and nominates what is faster', async () => {
    using at = scratch();
    fakes(at, { ...fast, peekAfterCall: true });
    const ctx = context(at);
    const { status, result } = await session(plan(), ctx);
    expect(status).toBe('ok');
    expect(timeResultSchema.safeParse(result).error).toBeUndefined();
    expect(result.incidents).toEqual([]);
    expect(result.samples.map((s) => `${s.process} ${s.kind} ${s.quantity} ${s.problem}`)).toEqual(
      ['0 solo', '1 full', '2 full'].flatMap((p) => ['wrapper', 'span'].flatMap((q) => [`${p} ${q} 0`, `${p} ${q} 1`])),
    );
    for (const set of result.samples) {
      expect(set.blocks).toBe(4);
      expect(Object.keys(set.arms).sort()).toEqual(set.kind === 'solo' ? ['O'] : ['B', 'C', 'O']);
      for (const values of Object.values(set.arms)) {
        expect(values).toHaveLength(8);
        expect(values.every((v) => v !== null && v > 0)).toBe(true);
      }
    }
    // spans: about 35, 19 and 11 µs
    expect(result.pointR).toBeGreaterThan(1.5);
    expect(result.nominated).toBe(true);
    expect(result.timerStepNs).toBe(32);
    expect(result.voided).toBe(0);
    expect(result.clocks?.smMHz).toHaveLength(12);
    expect(result.activities.filter((a) => a.arm === 'C')).toEqual([
      expect.objectContaining({ problem: 0, kind: 'kernel', name: 'k_C', perCall: 2, meanNs: 2000, registers: 16 }),
      expect.objectContaining({ problem: 1 }),
    ]);
    // 3 processes: per problem 2 passes of (warm-up + 8) calls an arm
    expect(result.sampledChecks).toBeGreaterThan(0);
    expect(result.whole.map((w) => `${w.problem} ${w.arm}`)).toEqual(['0 B', '0 C', '0 O', '1 B', '1 C', '1 O']);
    expect(result.whole.every((w) => w.outputs[0]?.output === 'y')).toBe(true);
    checkTrace(trace(at));
  });

  it('leaves the one process at a time, the candidate out of solo ones, and only origin before the block counts', async () => {
    using at = scratch();
    fakes(at, fast);
    await session(plan(), context(at));
    const runners = trace(at).filter((t) => t[0] === 'runner');
    const pids = [...new Set(runners.map((t) => t[1]))];
    expect(pids).toHaveLength(3);
    // Each process's lines are one uninterrupted stretch that ends with quit.
    expect(runners.map((t) => t[1]).filter((pid, i, all) => pid !== all[i - 1])).toEqual(pids);
    const loads = pids.map((pid) => runners.filter((t) => t[1] === pid && t[2] === 'load').map((t) => t[3]));
    expect(loads.map((l) => l.toSorted())).toEqual([['O'], ['B', 'C', 'O'], ['B', 'C', 'O']]);
    const first = runners.filter((t) => t[1] === pids[0]).map((t) => `${t[2]} ${t[3]}`);
    const before = first;
    expect(before.filter((c) => c.startsWith('call')).every((c) => c === 'call O')).toBe(true);
    expect(before.some((c) => c === 'call O')).toBe(true);
  });

  it('says in the log where the time of each process went', async () => {
    using at = scratch();
    fakes(at, fast);
    const notes: string[] = [];
    await session(plan(), { ...context(at), progress: (note) => notes.push(note) });
    const seconds = String.raw`\d+\.\d\d s`;
    const passes = `judge ${seconds}, wrapper times ${seconds}, recording on ${seconds}, spans ${seconds}, end ${seconds}`;
    const told = notes.filter((note) => note.includes(': start '));
    expect(told).toHaveLength(3);
    expect(told[0]).toMatch(
      new RegExp(`^time 1/3 solo: start ${seconds}, (peaks ${seconds}, )?load and count blocks ${seconds}, ${passes}$`),
    );
    expect(told[1]).toMatch(new RegExp(`^time 2/3 full: start ${seconds}, load ${seconds}, ${passes}$`));
  });

  it('does not nominate what is no faster, nor what misbehaved', async () => {
    using at = scratch();
    const same = { ...speeds, C: 26_000 };
    fakes(at, { wrapperNs: same, spanNs: same });
    const slow = await session(small(), context(at));
    expect(slow.result.pointR).toBeLessThan(1);
    expect(slow.result.nominated).toBe(false);
    fakes(at, fast, { wrongAt: [40] });
    const wrong = await session(small(), context(at));
    expect(wrong.result.incidents.map((i) => i.kind)).toEqual(['sampled-wrong']);
    if (wrong.result.incidents[0]?.arm === 'C') expect(wrong.result.nominated).toBe(false);
  });

  it('names arm, problem and element of a wrong sample', async () => {
    using at = scratch();
    fakes(at, fast, { wrongAt: [7] }); // after four calls of origin alone, the third of the pass: a warm-up of the arm drawn third
    const { result } = await session(small(), context(at));
    expect(result.incidents).toEqual([
      {
        kind: 'sampled-wrong',
        arm: trace(at).filter((t) => t[0] === 'runner' && t[2] === 'call')[6]?.[3],
        problem: 'a',
        message: expect.stringMatching(/1 of 8 sampled elements of y .*: element 5 is 0, not 1 \(limit 0.000001\)/),
      },
    ]);
    if (result.incidents[0]?.arm === 'C') expect(result.nominated).toBe(false);
  });

  it('has no opinion without a candidate or in a confirming session', async () => {
    using at = scratch();
    fakes(at, fast);
    const baseline = await session(small({ arms: [arm('O')] }), context(at));
    expect([baseline.result.pointR, baseline.result.nominated]).toEqual([null, null]);
    const confirm = await session(small({ phase: 'confirm' }), context(at));
    expect(confirm.result.pointR).toBeGreaterThan(1);
    expect(confirm.result.nominated).toBeNull();
  });

  it('voids single impossible records and counts them', async () => {
    using at = scratch();
    const acts = [{ kind: 'kernel', name: 'k_C', n: 1, ns: 1 }];
    // 1 calibration of 4 calls of O; then warm-ups O B C and blocks. C's 12th call: a span longer than the wrapper time.
    fakes(at, { ...fast, on: { 'call C': { at: 12, do: 'reply', reply: { wrapperNs: 100, spanNs: 5000, acts } } } });
    const { status, result } = await session(small({ blocks: { min: 20, max: 20, budgetMs: 1 } }), context(at));
    expect(status).toBe('ok');
    // The 12th call of C is in the wrapper pass (41 calls an arm): its wrapper time stands, nothing is void there.
    expect(result.voided).toBe(0);
    fakes(at, { ...fast, on: { 'call C': { at: 50, do: 'reply', reply: { wrapperNs: 100, spanNs: 5000, acts } } } });
    const second = await session(small({ blocks: { min: 20, max: 20, budgetMs: 1 } }), context(at));
    expect(second.result.voided).toBe(1);
    const spans = second.result.samples.find((s) => s.quantity === 'span');
    expect(spans?.arms.C?.filter((v) => v === null)).toHaveLength(1);
    expect(spans?.arms.C).toHaveLength(40);
    expect(second.result.nominated).toBe(true);
  });

  it('an arm whose records are missing while origin has its own is an incident', async () => {
    using at = scratch();
    fakes(at, { ...fast, on: { 'call C': { do: 'reply', reply: { spanNs: null } } } });
    const { status, result } = await session(small(), context(at));
    expect(status).toBe('ok');
    expect(result.incidents.map((i) => [i.kind, i.arm])).toContainEqual(['no-activity', 'C']);
    expect(result.voided).toBeGreaterThan(0);
    expect([result.pointR, result.nominated]).toEqual([null, false]);
  });

  it("missing records of origin are the machine's", async () => {
    using at = scratch();
    fakes(at, { ...fast, on: { call: { do: 'reply', reply: { spanNs: null, dropped: 3 } } } });
    const { status, reason } = await session(small(), context(at));
    expect([status, reason?.code]).toEqual(['environment', 'env.timing-void']);
  });

  it('late work is laid at the door of the call before', async () => {
    using at = scratch();
    const acts = [{ kind: 'kernel', name: 'k', n: 1, ns: 5 }];
    // The order of a block is drawn: what ran before B's 15th call, B itself among others, is told by the runner's own trace.
    fakes(at, {
      ...fast,
      on: { 'call B': { at: 15, do: 'reply', reply: { late: 3, spanNs: 20, wrapperNs: 30, acts } } },
    });
    const { result } = await session(small({ blocks: { min: 4, max: 4, budgetMs: 1 } }), context(at));
    const late = result.incidents.filter((i) => i.kind === 'late-activity');
    const calls = trace(at)
      .filter((t) => t[0] === 'runner' && t[2] === 'call')
      .map((t) => t[3]);
    const seen = calls.flatMap((called, i) => (called === 'B' ? [i] : []))[14] as number;
    expect(late.map((i) => i.arm)).toEqual([calls[seen - 1]]);
  });

  it('stragglers void the span they belong to', async () => {
    using at = scratch();
    const acts = [{ kind: 'kernel', name: 'k', n: 1, ns: 5 }];
    fakes(at, {
      ...fast,
      on: { 'call C': { at: 50, do: 'reply', reply: { stragglers: 1, spanNs: 20, wrapperNs: 30, acts } } },
    });
    const { result } = await session(small({ blocks: { min: 20, max: 20, budgetMs: 1 } }), context(at));
    expect(result.voided).toBe(1);
    const spans = result.samples.find((s) => s.quantity === 'span');
    expect(
      Object.values(spans?.arms ?? {})
        .flat()
        .filter((v) => v === null),
    ).toHaveLength(1);
  });

  it("other programs' work voids the pass and is no fault of the candidate", async () => {
    using at = scratch();
    const foreign = [{ pid: 4242, name: '/usr/bin/blender' }];
    fakes(at, { ...fast, on: { clocks: { do: 'reply', reply: { smMHz: 1000, memMHz: 2000, foreign } } } });
    const { status, reason, result } = await session(small(), context(at));
    expect([status, reason?.code]).toEqual(['environment', 'env.gpu-busy']);
    expect(result.incidents).toEqual([
      expect.objectContaining({
        kind: 'foreign-work',
        message: expect.stringContaining('/usr/bin/blender (process 4242)'),
      }),
    ]);
    expect(result.samples.flatMap((s) => Object.values(s.arms).flat()).every((v) => v === null)).toBe(true);
  });

  it.each([
    [true, true],
    [false, true],
    [null, false],
  ])(
    'says whether others on the GPU could be looked for (the driver lists ourselves: %s)',
    async (selfSeen, looked) => {
      using at = scratch();
      const clocks = { do: 'reply', reply: { smMHz: null, memMHz: null, foreign: [], selfSeen } };
      const onGpu = { hello: { do: 'reply', reply: { gpu } }, peaks: { do: 'reply', reply: { peaks } } };
      fakes(at, { ...fast, on: { clocks, ...onGpu } });
      const { status, reason, result } = await session(small(), context(at));
      expect([status, result.incidents, result.foreignLooked], JSON.stringify(reason)).toEqual(['ok', [], looked]);
      // Without a GPU there is nobody to look for.
      fakes(at, { ...fast, on: { clocks } });
      expect((await session(small(), context(at))).result.foreignLooked).toBeUndefined();
    },
  );

  it.each([
    ['crash', 'crash'],
    ['exit', 'crash'],
    ['garbage', 'protocol'],
    ['nonce', 'protocol'],
  ])('a %s in a timed call ends the session with an incident', async (what, kind) => {
    using at = scratch();
    fakes(at, { ...fast, on: { 'call C': { at: 5, do: what } } });
    const { status, result } = await session(small(), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([expect.objectContaining({ kind, arm: 'C', problem: 'a' })]);
    expect(result.nominated).toBe(false);
  });

  it('does not nominate on half a measurement', async () => {
    using at = scratch();
    // Origin dies in the second process, after the first one has shown a fast candidate.
    script(
      at,
      'runner',
      `const fs = require('node:fs');
       const again = fs.existsSync('once');
       fs.writeFileSync('once', '');
       const behaviour = { ...${JSON.stringify(fast)}, on: again ? { 'call O': { at: 9, do: 'crash' } } : {} };
       require(${JSON.stringify(fakePeer)}).runner(behaviour);`,
    );
    fakeJudge(at);
    const { status, result } = await session(small({ processes: 2 }), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([expect.objectContaining({ kind: 'crash', arm: 'O' })]);
    expect(result.pointR).toBeGreaterThan(1);
    expect(result.nominated).toBe(false);
  });

  it('a wrong judgement of a whole call is in the result', async () => {
    using at = scratch();
    fakes(at, fast, { wrongAll: [2] });
    const { result } = await session(small(), context(at));
    expect(result.whole.map((w) => w.outputs[0]?.bad).sort()).toEqual([0, 0, 3]);
  });
});

/** What the design binds, seen from inside the processes. */
function checkTrace(lines: string[][]): void {
  expect(lines.some((t) => t[2] === 'early')).toBe(false); // positions are named after the call, nothing is sent ahead
  let content = '';
  let pass: { pid: string; arms: string[] } | null = null;
  const passes: string[][] = [];
  for (const [role, pid, command, ...args] of lines) {
    if (role !== 'runner') continue;
    if (command === 'problem') {
      pass = { pid: pid as string, arms: [] };
      passes.push(pass.arms);
    }
    if (command === 'prepare') {
      expect(args[0]).not.toBe(content);
      content = args[0] as string;
    }
    if (command === 'call') pass?.arms.push(args[0] as string);
  }
  const full = passes.filter((p) => p.includes('C'));
  expect(full).toHaveLength(8);
  for (const arms of full) {
    expect(arms.slice(0, 3).toSorted()).toEqual(['B', 'C', 'O']);
    for (let i = 3; i < arms.length; i += 6) {
      const there = arms.slice(i, i + 3);
      expect(there.toSorted()).toEqual(['B', 'C', 'O']);
      expect(arms.slice(i + 3, i + 6)).toEqual(there.toReversed());
    }
  }
}
