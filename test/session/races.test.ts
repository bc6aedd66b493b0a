import { describe, expect, it } from 'vitest';
import { type SanitizePlan, sanitizeResultSchema } from '../../main/contract/index.ts';
import { sanitizeFinding } from '../../main/evaluate/findings.ts';
import { runSession } from '../../main/jobs/session/index.ts';
import { context, fakes, problem, programs, scratch, trace } from './support.ts';

const plan = (extra: Partial<SanitizePlan> = {}): SanitizePlan => ({
  mode: 'sanitize',
  ...programs,
  arm: { id: 'C', lib: 'c.so', symbol: 'f' },
  tools: [],
  problems: [problem('sanitize/0', 64), problem('sanitize/1', 4096), problem('sanitize/2', 512)],
  races: { calls: 3 },
  ...extra,
});

async function run(at: Parameters<typeof context>[0], change: Partial<SanitizePlan> = {}) {
  const ran = await runSession(plan(change), context(at));
  if (ran.result?.mode !== 'sanitize') throw new Error(JSON.stringify(ran));
  return { ...ran, result: ran.result };
}

describe('repeated calls', () => {
  it('of the two largest sizes, alone and beside a process that is busy with short and with long calls', async () => {
    using at = scratch();
    fakes(at);
    const { status, result } = await run(at);
    expect(status).toBe('ok');
    expect(sanitizeResultSchema.safeParse(result).error).toBeUndefined();
    expect(result.races).toEqual(
      ['alone', 'short calls', 'long calls'].flatMap((load) =>
        ['sanitize/1', 'sanitize/2'].map((id) => ({ problem: id, load, calls: 3, wrong: 0, outputs: [] })),
      ),
    );
    const steps = trace(at);
    const bursts = steps.filter((t) => t[2] === 'burst');
    expect(new Set(bursts.map((t) => t[1])).size).toBe(2);
    const calls = steps.filter((t) => t[2] === 'call');
    // One process makes every call, guards around its outputs, new contents each time.
    expect(new Set(calls.map((t) => t[1])).size).toBe(1);
    expect(calls).toHaveLength(18);
    const prepared = steps.filter((t) => t[2] === 'prepare' && t[1] === calls[0]?.[1]).map((t) => t[3]);
    expect(new Set(prepared).size).toBe(18);
    expect(result.incidents).toEqual([]);
  });

  it('one wrong call is a race, with what was wrong and where', async () => {
    using at = scratch();
    fakes(at, {}, { wrongAll: [9] });
    const { result } = await run(at);
    expect(result.races?.map((r) => r.wrong)).toEqual([0, 0, 1, 0, 0, 0]);
    expect(sanitizeFinding(plan(), result)).toMatchObject({
      outcome: 'race',
      reason: expect.stringMatching(/wrong in 1 of 18 repeated calls, most often beside short calls.*N=4096/),
      digest: expect.stringMatching(/output y: [\s\S]*Blocks run in any order/),
    });
  });

  it('all right is no finding; a candidate that crashes is its own fault', async () => {
    using clean = scratch();
    fakes(clean);
    expect(sanitizeFinding(plan(), (await run(clean)).result)).toBeNull();
    using at = scratch();
    fakes(at, { on: { 'call C': { at: 2, do: 'crash' } } });
    const { result } = await run(at);
    expect(result.incidents).toEqual([expect.objectContaining({ kind: 'crash', arm: 'C', problem: 'sanitize/1' })]);
    expect(sanitizeFinding(plan(), result)?.outcome).toBe('runtime-error');
  });

  it('without the tools of the sanitizer the repeated calls still count, and the lack is said', async () => {
    using at = scratch();
    fakes(at, {}, { wrongAll: [1] });
    const { status, reason, result } = await run(at, { tools: ['memcheck'] });
    expect([status, reason?.code]).toEqual(['environment', 'env.sanitizer-missing']);
    expect(sanitizeFinding(plan(), result)?.outcome).toBe('race');
  });

  it('a plan made before they were is carried out as it was', async () => {
    using at = scratch();
    fakes(at);
    expect((await run(at, { races: undefined })).result.races).toBeUndefined();
  });
});
