import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { VerifyPlan } from '../../main/contract/index.ts';
import { verifyResultSchema } from '../../main/contract/index.ts';
import { asked, context, fakePeer, fakes, problem, programs, scratch, script, session, trace } from './support.ts';

const plan = (extra: Partial<VerifyPlan> = {}): VerifyPlan => ({
  mode: 'verify',
  ...programs,
  arm: { id: 'C', lib: 'candidate.so', symbol: 'f_optimized' },
  problems: [problem('verify/0'), problem('verify/1')],
  seeds: 2,
  ...extra,
});

describe('verify', () => {
  it('runs every seed and the first one again, on the same buffers, and leaves nothing behind', async () => {
    using at = scratch();
    fakes(at);
    const ctx = context(at);
    const { status, result } = await session(plan(), ctx);
    expect(status).toBe('ok');
    expect(verifyResultSchema.safeParse(result).error).toBeUndefined();
    expect(result.incidents).toEqual([]);
    expect(result.checks.map((c) => c.problem)).toEqual([...Array(3).fill('verify/0'), ...Array(3).fill('verify/1')]);
    const [first, second, again] = result.checks;
    expect(first?.seed).not.toBe(second?.seed);
    expect(again?.seed).toBe(first?.seed);
    expect(first?.firstCallNs).toBeGreaterThan(0);
    expect(second?.firstCallNs).toBeNull();
    expect(result.checks.every((c) => c.outputs[0]?.output === 'y')).toBe(true); // the dump was there when it was judged
    const commands = trace(at).filter((t) => t[0] === 'runner');
    expect(commands.filter((t) => t[2] === 'problem')).toHaveLength(2);
    expect(commands.filter((t) => t[2] === 'call').map((t) => t[4])).toEqual(
      [...Array(2)].flatMap(() => ['plain', 'plain', 'gated']),
    );
    expect(readdirSync(at.path).sort()).toEqual(['judge', 'runner', 'trace.log']);
    expect(ctx.notes.at(-1)).toBe('verify 2/2 verify/1');
    expect(ctx.started.map((s) => [s.argv[0], s.options.sandbox, s.options.gpu, s.options.niceness])).toEqual([
      ['./judge', false, false, 19],
      ['./runner', true, true, undefined],
    ]);
  });

  it('draws new seeds each time, from the session seed alone', async () => {
    const seeds = async (seed: string) => {
      using at = scratch();
      fakes(at);
      return (await session(plan(), context(at, { seed }))).result.checks.map((c) => c.seed);
    };
    const a = await seeds('11');
    expect(await seeds('11')).toEqual(a);
    expect(await seeds('12')).not.toEqual(a);
  });

  it('reports what the judge found', async () => {
    using at = scratch();
    fakes(at, {}, { wrongAll: [2] });
    const { status, result } = await session(plan(), context(at));
    expect(status).toBe('ok');
    expect(result.checks.map((c) => c.outputs[0]?.bad)).toEqual([0, 3, 0, 0, 0, 0]);
  });

  it.each([
    ['crash', /SIGSEGV.*"call"/],
    ['exit', /exited with code 0 during "call"/],
  ])('a %s becomes an incident, and later problems get a fresh process', async (what, message) => {
    using at = scratch();
    fakes(at, { on: { call: { at: 2, do: what, stderr: 'last words\n' } } });
    const { status, result } = await session(
      plan({ problems: ['a', 'b', 'c', 'd'].map((id) => problem(id)) }),
      context(at),
    );
    expect(status).toBe('ok');
    // The fake misbehaves at each process's second call: three processes in all (two restarts), then it is given up.
    expect(result.incidents.map((i) => [i.kind, i.problem])).toEqual([
      ['crash', 'a'],
      ['crash', 'b'],
      ['crash', 'c'],
    ]);
    expect(result.incidents[0]?.message).toMatch(message);
    expect(result.incidents[0]?.detail).toContain('last words');
    expect(result.checks.map((c) => c.problem)).toEqual(['a', 'b', 'c']);
    expect(
      new Set(
        trace(at)
          .filter((t) => t[0] === 'runner')
          .map((t) => t[1]),
      ).size,
    ).toBe(3);
  });

  it('ends a hang by the limit, sees that the GPU answers, and says timeout', async () => {
    using at = scratch();
    fakes(at, { on: { 'call C': { do: 'hang' } } });
    const limits = { wallMs: 2_400, memoryMiB: 2048, outputBytes: 1 << 20 };
    const { status, result } = await session(plan({ problems: [problem('a')] }), context(at, { limits }));
    expect(status).toBe('ok');
    expect(result.incidents.map((i) => i.kind)).toEqual(['timeout']);
    const runners = trace(at).filter((t) => t[0] === 'runner');
    expect(runners.filter((t) => t[2] === 'hello')).toHaveLength(2);
  });

  it('a GPU that does not answer after a hang is the environment', async () => {
    using at = scratch();
    fakes(at);
    // The first process hangs in its call; every later one is refused by the GPU.
    script(
      at,
      'runner',
      `const fs = require('node:fs');
       const again = fs.existsSync('once');
       fs.writeFileSync('once', '');
       const on = again ? { hello: { do: 'refuse', reply: { error: 'cuda', message: 'cudaErrorUnknown: x' } } } : { call: { do: 'hang' } };
       require(${JSON.stringify(fakePeer)}).runner({ on });`,
    );
    const limits = { wallMs: 2_400, memoryMiB: 2048, outputBytes: 1 << 20 };
    const { status, reason, result } = await session(plan({ problems: [problem('a')] }), context(at, { limits }));
    expect(status).toBe('environment');
    expect(reason?.code).toBe('env.gpu-lost');
    expect(result.incidents.map((i) => i.kind)).toEqual(['timeout']);
  });

  it.each(['garbage', 'nonce', 'nojson', 'twice'])(
    '%s on the channel is a protocol incident, not a result',
    async (what) => {
      using at = scratch();
      fakes(at, { on: { call: { at: 1, do: what } } });
      const { status, result } = await session(plan({ problems: [problem('a')] }), context(at));
      expect(status).toBe('ok');
      expect(result.incidents.map((i) => i.kind)).toEqual(['protocol']);
      expect(result.checks.filter((c) => c.seed === '')).toEqual([]);
    },
  );

  it('ignores what the process prints', async () => {
    using at = scratch();
    fakes(
      at,
      { on: { call: { at: 1, do: 'print', print: '{"ok":true,"wrapperNs":1}\nPASS\n' } } },
      { wrongAll: [1, 2, 3] },
    );
    const { result } = await session(plan({ problems: [problem('a')] }), context(at));
    expect(result.checks.map((c) => c.outputs[0]?.bad)).toEqual([3, 3, 3]);
  });

  it.each([
    ['cuda-error', { cuda: 'cudaErrorIllegalAddress: an illegal memory access was encountered' }],
    ['threads-left', { threads: [3, 4], newThreads: ['runner'] }],
    ['late-activity', { late: 2, spanNs: 5, acts: [{ kind: 'kernel', name: 'k', n: 1, ns: 5 }] }],
    ['no-activity', {}],
  ] as [string, object][])('reports %s', async (kind, reply) => {
    using at = scratch();
    fakes(at, { on: { call: { do: 'reply', reply } } });
    const { status, result } = await session(plan({ problems: [problem('a')] }), context(at));
    expect(status).toBe('ok');
    expect(result.incidents.map((i) => i.kind)).toContain(kind);
    expect(result.incidents.every((i) => i.arm === 'C' && i.problem === 'a')).toBe(true);
  });

  it('a call in place may have nothing to do: its values are compared', async () => {
    using at = scratch();
    fakes(at, { on: { call: { do: 'reply', reply: {} } } });
    const plain = problem('a');
    const inPlace = {
      ...plain,
      buffers: plain.buffers.map((b) => (b.role === 'out' ? { ...(plain.buffers[0] as typeof b), name: b.name } : b)),
    };
    const changed = {
      ...inPlace,
      buffers: inPlace.buffers.map((b, i) => (i === 1 ? { ...b, role: 'inout' as const } : b)),
    };
    const { result } = await session(plan({ problems: [changed] }), context(at));
    expect(result.incidents.map((i) => i.kind)).not.toContain('no-activity');
  });

  it("threads that bear the driver's names are the driver's", async () => {
    using at = scratch();
    const acts = [{ kind: 'kernel', name: 'k', n: 1, ns: 5 }];
    fakes(at, {
      on: {
        call: {
          do: 'reply',
          reply: { threads: [3, 5], newThreads: ['cuda-EvtHandlr', 'cuda00001400006'], spanNs: 5, acts },
        },
      },
    });
    const { result } = await session(plan({ problems: [problem('a')] }), context(at));
    expect(result.incidents).toEqual([]);
  });

  it('does not go on in a poisoned process', async () => {
    using at = scratch();
    fakes(at, { on: { call: { at: 1, do: 'reply', reply: { cuda: 'cudaErrorIllegalAddress: x' } } } });
    const { result } = await session(plan({ problems: [problem('a')] }), context(at));
    expect(result.incidents.map((i) => i.kind)).toEqual(['cuda-error']);
    expect(trace(at).filter((t) => t[2] === 'call')).toHaveLength(1);
    expect(trace(at).filter((t) => t[2] === 'dump')).toHaveLength(0);
  });

  it('reports guards and changed inputs by name', async () => {
    using at = scratch();
    const found = {
      guards: [{ buf: 'y', side: 'after', offset: 4 }],
      inputs: [{ buf: 'x', mismatches: 64, first: 0 }],
    };
    fakes(at, { on: { check: { do: 'reply', reply: found } } });
    const { result } = await session(plan({ problems: [problem('a')] }), context(at));
    expect(result.incidents.map((i) => [i.kind, i.message])).toEqual([
      ['guard', expect.stringMatching(/buffer y: after it, at byte offset 4 \(seen 3 times\)/)],
      ['input-changed', expect.stringMatching(/64 elements of input x, the first at index 0/)],
    ]);
  });

  it('a candidate that cannot be loaded is an incident', async () => {
    using at = scratch();
    fakes(at, { on: { load: { do: 'refuse', reply: { error: 'load', message: 'undefined symbol: foo' } } } });
    const { status, result } = await session(plan(), context(at));
    expect(status).toBe('ok');
    expect(result.incidents).toEqual([expect.objectContaining({ kind: 'load', message: 'undefined symbol: foo' })]);
    expect(trace(at).filter((t) => t[2] === 'load')).toHaveLength(1);
  });

  it.each([
    [
      'runner',
      { hello: { do: 'refuse', reply: { error: 'cuda', message: 'cudaErrorInsufficientDriver: too old' } } },
      'env.driver-too-old',
    ],
    [
      'runner',
      { hello: { do: 'refuse', reply: { error: 'cuda', message: 'cudaErrorNoDevice: none' } } },
      'env.gpu-missing',
    ],
    ['runner', { hello: { do: 'exit' } }, 'env.killed'],
    ['runner', { call: { do: 'kill' } }, 'env.killed'],
    ['runner', { call: { do: 'reply', reply: { cuda: 'cudaErrorECCUncorrectable: x' } } }, 'env.gpu-lost'],
    [
      'runner',
      { problem: { do: 'refuse', reply: { error: 'memory', message: 'cudaErrorMemoryAllocation' } } },
      'env.gpu-memory',
    ],
    ['runner', { cupti: { do: 'refuse', reply: { error: 'cupti', message: 'no libcupti' } } }, 'env.cupti-missing'],
    [
      'runner',
      { dump: { do: 'refuse', reply: { error: 'io', message: 'd: No space left on device' } } },
      'env.disk-full',
    ],
    ['judge', { all: { do: 'crash' } }, 'env.killed'],
    ['judge', { hello: { do: 'garbage' } }, 'env.killed'],
  ] as const)('%s %j is a fault of the machine', async (who, on, code) => {
    using at = scratch();
    fakes(at, who === 'runner' ? { on } : {}, who === 'judge' ? { on } : {});
    const { status, reason } = await session(plan({ problems: [problem('a')] }), context(at));
    expect([status, reason?.code]).toEqual(['environment', code]);
  });

  it('a program that cannot be started is a fault of the machine', async () => {
    using at = scratch();
    const { status, reason } = await session(plan(), context(at));
    expect([status, reason?.code]).toEqual(['environment', 'env.killed']);
  });

  it('a scratch path too long for a socket is said', async () => {
    using at = scratch();
    const deep = join(at.path, 'x'.repeat(100));
    mkdirSync(deep);
    const { status, reason } = await session(plan(), context({ ...at, path: deep }));
    expect([status, reason?.code]).toEqual(['environment', 'env.not-writable']);
  });

  it('ends with its time limit', async () => {
    using at = scratch();
    fakes(at, {}, { on: { all: { do: 'hang' } } });
    const limits = { wallMs: 800, memoryMiB: 2048, outputBytes: 1 << 20 };
    const began = performance.now();
    const { status, reason } = await session(plan(), context(at, { limits }));
    expect([status, reason?.code]).toEqual(['timeout', 'limit.time']);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(readdirSync(at.path).sort()).toEqual(['judge', 'runner', 'trace.log']);
  });

  it('can be cancelled, and kills its processes', async () => {
    using at = scratch();
    fakes(at, { on: { call: { do: 'hang' } } });
    const abort = new AbortController();
    const ctx = context(at, { signal: abort.signal });
    const running = session(plan(), ctx);
    void asked(at, 'call').then(() => abort.abort());
    const { status, reason } = await running;
    expect([status, reason?.code]).toEqual(['killed', 'cancelled']);
    const pids = new Set(trace(at).map((t) => t[1]));
    expect(pids.size).toBe(2);
    for (const pid of pids) expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  it.each(['./judge', './runner'])(
    'does not end before what it killed is gone: the GPU would be given on while it is torn down (%s)',
    async (slow) => {
      using at = scratch();
      fakes(at, { on: { call: { do: 'hang' } } });
      const abort = new AbortController();
      const ctx = context(at, { signal: abort.signal });
      let alive = 0;
      const running = session(plan(), {
        ...ctx,
        start: (argv, options) => {
          const child = ctx.start(argv, options);
          alive += 1;
          // One of them takes a while, as a process does that holds much memory or a GPU.
          const exited = child.exited.then(async (exit) => {
            if (argv[0] === slow) await new Promise((resolve) => setTimeout(resolve, 400));
            alive -= 1;
            return exit;
          });
          return { ...child, exited };
        },
      });
      void asked(at, 'call').then(() => abort.abort());
      const { status } = await running;
      expect([status, ctx.started.length, alive]).toEqual(['killed', 2, 0]);
    },
  );
});
