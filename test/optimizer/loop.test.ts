import { describe, expect, it } from 'vitest';
import { type Bill, type ChatProvider, err, type RunConfig } from '../../main/contract/index.ts';
import { externCAdded, type LoopDeps, optimize, stateOf, summarize } from '../../main/optimizer/index.ts';
import {
  byVerdict,
  Crash,
  candidate,
  durable,
  evaluation,
  fence,
  jobResult,
  loopConfig,
  loopDeps,
  MemoryLog,
  originSource,
  runsJobs,
  scripted,
  scriptedEvaluator,
} from './support.ts';

const userText = (p: ReturnType<typeof scripted>, position: string): string =>
  p.asked.find((a) => a.position === position)?.request.messages[1]?.content ?? '';

async function drive(
  verdicts: Record<string, string>,
  change: Partial<RunConfig> = {},
  deps: Partial<LoopDeps> = {},
  provider = scripted(byVerdict(verdicts)),
) {
  const log = new MemoryLog();
  const outcome = await optimize(loopConfig(change), loopDeps(log, provider, deps));
  return {
    log,
    outcome,
    provider,
    summary: summarize(
      'r',
      log.events.map((e) => e.event),
    ),
  };
}

describe('branches of the loop', () => {
  it('accepts, goes on from the new best, and tells the Planner what became of each scheme', async () => {
    const { log, outcome, provider, summary } = await drive({
      'r1.a0': 'accepted 1.5',
      'r2.a0': 'not-faster 1.5',
      'r3.a0': 'trade-off 1.7',
    });
    expect(outcome.status).toBe('done');
    expect(outcome.best).toMatchObject({ round: 1, score: 1.5, compileArgs: ['-O3', '-use_fast_math'] });
    expect(log.executed).toEqual([
      'r0.baseline',
      'r1.planner',
      'r1.a0.coder',
      'r1.a0.compiler',
      'r1.a0.eval',
      'r2.planner',
      'r2.a0.coder',
      'r2.a0.compiler',
      'r2.a0.eval',
      'r3.planner',
      'r3.a0.coder',
      'r3.a0.compiler',
      'r3.a0.eval',
    ]);
    expect(userText(provider, 'r1.planner')).toContain('This is the first round.');
    const third = userText(provider, 'r3.planner');
    expect(third).toContain('Round 1: GOOD');
    expect(third).toContain('Round 2: correct but not better (not-faster)');
    expect(third).toContain('Weighted speed-up over the original 1.500x.');
    expect(third).toContain(candidate('accepted 1.5').trim());
    expect(summary.rounds.map((r) => r.accepted)).toEqual([true, false, false]);
    expect(summary.best).toMatchObject({ verified: true, score: 1.5 });
    expect(summary.best.ci?.[0]).toBeCloseTo(1.485);
    expect(summary.tokens).toEqual({ prompt: 9000, completion: 1800 });
    expect(summary.costUsd).toBeCloseTo(0.09);
  });

  it('debugs an invalid candidate from its digest, and never a valid one', async () => {
    const { log, outcome, provider } = await drive(
      { 'r1.a0': 'wrong-result', 'r1.a1': 'compile-error', 'r1.a2': 'accepted 1.2' },
      { rounds: 1 },
    );
    expect(outcome.best?.score).toBe(1.2);
    expect(outcome.best?.attempt).toBe(2);
    expect(log.executed.slice(1)).toEqual([
      'r1.planner',
      'r1.a0.coder',
      'r1.a0.compiler',
      'r1.a0.eval',
      'r1.a1.debug',
      'r1.a1.coder',
      'r1.a1.compiler',
      'r1.a1.eval',
      'r1.a2.debug',
      'r1.a2.coder',
      'r1.a2.compiler',
      'r1.a2.eval',
    ]);
    expect(userText(provider, 'r1.a1.debug')).toContain('digest of wrong-result');
    const coder = userText(provider, 'r1.a1.coder');
    expect(coder).toContain('Root cause: found at r1.a1.debug.');
    expect(coder).toContain('verdict: wrong-result');
    const second = userText(provider, 'r1.a2.debug');
    expect(second).toContain('Fixes already tried');
    expect(second).toContain('compile-error');
    expect(userText(provider, 'r1.a2.compiler')).toContain('did not compile');
  });

  it('gives up after D fixes; the round ends as invalid with the reason', async () => {
    const { outcome, summary, provider } = await drive(
      { 'r1.a0': 'race', 'r1.a1': 'race', 'r1.a2': 'timeout', 'r2.a0': 'not-faster 1.0' },
      { rounds: 2, debugAttempts: 2 },
    );
    expect(outcome.status).toBe('done');
    expect(outcome.best).toMatchObject({ round: 0, score: 1, source: originSource });
    expect(summary.rounds[0]?.attempts.map((a) => a.outcome)).toEqual(['race', 'race', 'timeout']);
    expect(userText(provider, 'r2.planner')).toContain('INVALID (timeout)');
    expect(summary.best).toEqual({ verified: true, score: 1, pMin: 1, geomean: 1, ci: null, numerics: null });
  });

  it('the user’s constraints reach all four agents; the Coder learns how earlier candidates failed', async () => {
    const notes = 'At most 64 registers per thread, no cuBLAS.';
    const { provider } = await drive(
      { 'r1.a0': 'race', 'r1.a1': 'wrong-result', 'r2.a0': 'accepted 1.5' },
      { rounds: 2, debugAttempts: 1, notes },
    );
    for (const position of ['r1.planner', 'r1.a0.coder', 'r1.a0.compiler', 'r1.a1.debug', 'r1.a1.coder', 'r2.planner'])
      expect(userText(provider, position), position).toContain(notes);
    expect(userText(provider, 'r1.a0.coder')).not.toContain('earlier candidates of this run failed');
    expect(userText(provider, 'r2.a0.coder')).toMatch(
      /earlier candidates of this run failed\n\n- Round 1, wrong-result: /,
    );
  });

  it('a wrapper that lacks only extern "C" gets it before the Compiler sees it, and that is a notice', async () => {
    const evaluator = scriptedEvaluator();
    const linking: typeof evaluator = { ...evaluator, linked: (source) => `${source}\n// linked` };
    const { log, provider, outcome } = await drive(
      { 'r1.a0': 'accepted 1.5' },
      { rounds: 1, debugAttempts: 0 },
      { evaluator: linking },
    );
    expect(userText(provider, 'r1.a0.compiler')).toContain('// linked');
    expect(log.of('source')[0]?.source).toMatch(/\n\/\/ linked$/);
    expect(outcome.best?.source).toMatch(/\n\/\/ linked$/);
    expect(log.of('notice')).toContainEqual({ type: 'notice', position: 'r1.a0.coder', message: externCAdded });
  });

  it('what a prompt leaves out is a notice of the run', async () => {
    const reason = 'element '.repeat(2500);
    const evaluator = scriptedEvaluator();
    const long: typeof evaluator = {
      ...evaluator,
      interpret: (...args) => {
        const e = evaluator.interpret(...args);
        return e.outcome === 'race' ? { ...e, digest: reason } : e;
      },
    };
    const { log } = await drive({ 'r1.a0': 'race' }, { rounds: 1, debugAttempts: 1 }, { evaluator: long });
    expect(log.of('notice')).toContainEqual({
      type: 'notice',
      position: 'r1.a1.debug',
      message: expect.stringMatching(/^\d+ characters were left out of the middle of the evidence for length\.$/),
    });
  });

  it('origin’s errors of the baseline stand beside those of every candidate', async () => {
    const row = (maxUlp: number) => ({
      problem: 'verify/0',
      size: 'N=10',
      kind: 'uniform',
      candidate: null,
      origin: { maxUlp, rmsUlp: 0.5 },
    });
    const evaluator = scriptedEvaluator();
    const given: unknown[] = [];
    const noting: typeof evaluator = {
      ...evaluator,
      interpret: (request, ...rest) => {
        if (request.candidate !== null) given.push(request.originNumerics);
        const numerics = request.candidate === null ? [row(2)] : null;
        return { ...evaluator.interpret(request, ...rest), numerics };
      },
    };
    await drive({ 'r1.a0': 'race', 'r1.a1': 'accepted 1.5' }, { rounds: 1 }, { evaluator: noting });
    expect(given.length).toBeGreaterThan(0);
    for (const numerics of given) expect(numerics).toEqual([row(2)]);
  });

  it('D = 0 means no debugging', async () => {
    const { log } = await drive({ 'r1.a0': 'wrong-result' }, { rounds: 1, debugAttempts: 0 });
    expect(log.executed.at(-1)).toBe('r1.a0.eval');
  });

  it('screen rejection costs no job and goes to Debug', async () => {
    const { log } = await drive(
      { 'r1.a0': 'thread', 'r1.a1': 'accepted 1.1' },
      { rounds: 1 },
      {
        evaluator: scriptedEvaluator((source) => source.includes('verdict: thread')),
      },
    );
    expect(log.executed).not.toContain('r1.a0.eval');
    expect(log.executed).toContain('r1.a1.debug');
    expect(log.of('evaluated')[0]?.evaluation.outcome).toBe('screen-rejected');
  });

  it('starts from a wrong candidate of the user: no Planner in round 1, Debug first', async () => {
    const { log, provider, outcome } = await drive(
      { 'r1.a1': 'accepted 1.4', 'r2.a0': 'not-faster 1.4' },
      { rounds: 2, startFromWrong: { label: 'race in the last block', source: candidate('race'), compileArgs: [] } },
    );
    expect(log.executed.slice(0, 3)).toEqual(['r0.baseline', 'r1.a0.eval', 'r1.a1.debug']);
    expect(log.of('scheme')[0]).toMatchObject({
      by: 'user',
      scheme: expect.stringContaining('race in the last block'),
    });
    expect(log.of('source')[0]?.source).toBe(candidate('race'));
    expect(outcome.best?.score).toBe(1.4);
    expect(userText(provider, 'r2.planner')).toContain('a source given by the user');
  });

  it('measures origin and best again before the first evaluation on another machine', async () => {
    const { log, outcome } = await drive(
      { 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 1.4' },
      { rounds: 2 },
      { remeasureBefore: (position) => (position === 'r2.a0.eval' ? 'driver 580 → 581' : null) },
    );
    expect(log.executed.filter((p) => p.includes('remeasure'))).toEqual([
      'r2.a0.eval.remeasure.origin',
      'r2.a0.eval.remeasure.best',
    ]);
    expect(log.of('changed')[0]?.what).toContain('driver 580 → 581');
    expect(outcome.best?.round).toBe(1);
  });

  it('a failing original ends the run: nothing could be compared', async () => {
    const log = new MemoryLog();
    const evaluator = scriptedEvaluator();
    const outcome = await optimize(
      loopConfig(),
      loopDeps(log, scripted(byVerdict({})), {
        evaluator: { ...evaluator, interpret: () => evaluation('wrong-result', null, '3 bad') },
      }),
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'input.task' } });
    expect(log.executed).toEqual(['r0.baseline']);
  });
});

describe('replies that cannot be used', () => {
  const withCoder = (
    answers: Record<string, string | { text: string; finish: 'length' }>,
    verdicts: Record<string, string>,
  ) => {
    const rest = byVerdict(verdicts);
    return scripted((position) => answers[position] ?? rest(position));
  };

  it('no code: an invalid attempt; the Coder is told, Debug is not asked', async () => {
    const provider = withCoder({ 'r1.a0.coder': 'I cannot do that.' }, { 'r1.a1': 'accepted 1.3' });
    const { log, outcome, summary } = await drive({}, { rounds: 1 }, {}, provider);
    expect(log.executed).not.toContain('r1.a1.debug');
    expect(userText(provider, 'r1.a1.coder')).toContain('It could not be used: the reply holds no code block');
    expect(summary.rounds[0]?.attempts.map((a) => a.outcome)).toEqual(['bad-reply', 'accepted']);
    expect(outcome.best?.score).toBe(1.3);
  });

  it('a bad reply after a fix keeps the fix', async () => {
    const provider = withCoder({ 'r1.a1.coder': 'hm' }, { 'r1.a0': 'race', 'r1.a2': 'accepted 1.3' });
    await drive({}, { rounds: 1 }, {}, provider);
    const text = userText(provider, 'r1.a2.coder');
    expect(text).toContain('Root cause: found at r1.a1.debug.');
    expect(text).toContain('It could not be used');
    expect(provider.asked.map((a) => a.position)).not.toContain('r1.a2.debug');
  });

  it('after a usable reply the trouble is over: the next failure goes to Debug', async () => {
    const provider = withCoder({ 'r1.a0.coder': 'hm' }, { 'r1.a1': 'race', 'r1.a2': 'accepted 1.3' });
    const { log } = await drive({}, { rounds: 1 }, {}, provider);
    expect(log.executed).toContain('r1.a2.debug');
    expect(userText(provider, 'r1.a2.coder')).not.toContain('It could not be used');
  });

  it('a cut reply is completed once by the rest', async () => {
    const whole = fence(candidate('accepted 1.6'));
    const provider = withCoder(
      { 'r1.a0.coder': { text: whole.slice(0, 300), finish: 'length' }, 'r1.a0.coder.more': whole.slice(300) },
      {},
    );
    const { log, outcome } = await drive({}, { rounds: 1 }, {}, provider);
    expect(outcome.best?.source).toBe(candidate('accepted 1.6'));
    expect(log.executed).toContain('r1.a0.coder.more');
    const more = provider.asked.find((a) => a.position === 'r1.a0.coder.more')?.request;
    expect(more?.messages.map((m) => m.role)).toEqual(['system', 'user', 'assistant', 'user']);
  });

  it('cut twice: never compiled', async () => {
    const whole = fence(candidate('accepted 1.6'));
    const provider = withCoder(
      {
        'r1.a0.coder': { text: whole.slice(0, 200), finish: 'length' },
        'r1.a0.coder.more': { text: whole.slice(200, 250), finish: 'length' },
      },
      { 'r1.a1': 'not-faster 1.0' },
    );
    const { log } = await drive({}, { rounds: 1 }, {}, provider);
    expect(log.of('bad-reply')[0]).toMatchObject({
      agent: 'coder',
      attempt: 0,
      reason: expect.stringContaining('cut off'),
    });
    expect(log.executed).not.toContain('r1.a0.eval');
  });

  it('no scheme: the round ends without a candidate and the next Planner learns it', async () => {
    const provider = withCoder({ 'r1.planner': '<think>endless' }, { 'r2.a0': 'accepted 1.1' });
    const { summary } = await drive({}, { rounds: 2 }, {}, provider);
    expect(summary.rounds[0]).toMatchObject({ accepted: false, score: null });
    expect(summary.rounds[1]?.accepted).toBe(true);
    expect(userText(provider, 'r2.planner')).toContain('no candidate');
  });

  it('refused options are named, the others used; an unusable Compiler reply means defaults', async () => {
    const provider = withCoder(
      {
        'r1.a0.compiler': '{"arguments": ["-O3", "-I/etc", "-rdc=true", "--fmad=false"]}',
        'r2.a0.compiler': 'No idea.',
      },
      { 'r1.a0': 'not-faster 1', 'r2.a0': 'not-faster 1' },
    );
    const { log } = await drive({}, { rounds: 2 }, {}, provider);
    expect(log.of('source').map((s) => s.compileArgs)).toEqual([
      ['-O3', '--fmad=false'],
      ['-O3', '-std=c++17'],
    ]);
    const notices = log.of('notice').map((n) => n.message);
    expect(notices[0]).toMatch(/-I\/etc.*-rdc=true/);
    expect(notices[1]).toContain('No compiler options');
    expect(userText(provider, 'r2.a0.compiler')).toContain('-rdc=true');
  });

  it('a silent Debug agent leaves the digest as the guide', async () => {
    const provider = withCoder({ 'r1.a1.debug': '   ' }, { 'r1.a0': 'race', 'r1.a1': 'accepted 2' });
    const { log, summary } = await drive({}, { rounds: 1 }, {}, provider);
    expect(log.of('fix')[0]?.fix).toContain('digest of race');
    expect(summary.rounds[0]?.attempts).toHaveLength(2);
  });
});

describe('stops', () => {
  it('environment: never to a model, not stored, repeated on resume', async () => {
    const log = new MemoryLog();
    const provider = scripted(byVerdict({ 'r1.a0': 'accepted 1.5' }));
    let broken = true;
    const executor = runsJobs((position) =>
      position === 'r1.a0.eval' && broken ? jobResult('environment') : undefined,
    );
    const first = await optimize(loopConfig({ rounds: 1 }), loopDeps(log, provider, { executor }));
    expect(first).toMatchObject({
      status: 'failed',
      error: { code: 'env.gpu-lost', message: 'The GPU fell off the bus.', remedy: 'Reset it.' },
    });
    expect(log.steps.has('r1.a0.eval')).toBe(false);
    expect(provider.asked.some((a) => a.position.endsWith('.debug'))).toBe(false);
    expect(stateOf(log.events.map((e) => e.event))).toMatchObject({
      status: 'failed',
      error: { code: 'env.gpu-lost' },
    });
    broken = false;
    const asked = provider.asked.length;
    const second = await optimize(loopConfig({ rounds: 1 }), loopDeps(log, provider, { executor, drive: 'd1' }));
    expect(second.status).toBe('done');
    expect(second.best?.score).toBe(1.5);
    expect(provider.asked).toHaveLength(asked);
  });

  const stricter = (reason: string): Partial<LoopDeps> => {
    const evaluator = scriptedEvaluator();
    return {
      evaluator: {
        ...evaluator,
        interpret: (request, ...rest) =>
          request.label.endsWith('r1.a0') && reason !== ''
            ? evaluation('environment', null, reason)
            : evaluator.interpret(request, ...rest),
      },
    };
  };

  it('a kept result in which this program finds no verdict is measured again by the next resume', async () => {
    const log = new MemoryLog();
    const provider = scripted(byVerdict({ 'r1.a0': 'accepted 1.5' }));
    const discarded: string[] = [];
    const executor = {
      ...runsJobs(),
      discard: async (_: unknown, at: { position: string }) => void discarded.push(at.position),
    };
    const drive = (name: string, reason: string) =>
      optimize(loopConfig({ rounds: 1 }), loopDeps(log, provider, { executor, drive: name, ...stricter(reason) }));
    expect((await drive('d0', '')).status).toBe('done');
    const before = log.executed.length;
    const stopped = await drive('d1', 'too few times');
    expect([stopped.status, stopped.error?.message]).toEqual(['failed', 'too few times']);
    expect(stopped.error?.remedy).toContain('the evaluation is done again, nothing else is');
    expect(log.of('changed').at(-1)?.what).toContain('too few times');
    expect([log.steps.has('r1.a0.eval'), discarded]).toEqual([false, ['r1.a0.eval']]);
    expect(await drive('d2', '')).toMatchObject({ status: 'done', best: { score: 1.5 } });
    expect(log.executed.slice(before)).toEqual(['r1.a0.eval']);
    // Measured anew, and still without a verdict: a result that lies in a bundle is not taken once more.
    log.steps.delete('r1.a0.eval');
    await drive('d3', 'too few times');
    expect([log.steps.has('r1.a0.eval'), discarded]).toEqual([false, ['r1.a0.eval', 'r1.a0.eval']]);
  });

  it('of a recording it is kept, and the error promises no new measurement', async () => {
    const log = new MemoryLog();
    const provider = scripted(byVerdict({ 'r1.a0': 'accepted 1.5' }));
    const executor = { ...runsJobs(), name: 'recording' as const };
    const drive = (reason: string) =>
      optimize(loopConfig({ rounds: 1 }), loopDeps(log, provider, { executor, ...stricter(reason) }));
    await drive('');
    for (let i = 0; i < 2; i++) {
      const { error } = await drive('too few times');
      expect(error?.remedy).toMatch(/^A recording holds this one measurement/);
      expect(log.steps.has('r1.a0.eval')).toBe(true);
    }
  });

  it('a provider error stops the run with its code; lost requests are booked as of unknown cost', async () => {
    const log = new MemoryLog();
    const provider: ChatProvider = {
      name: 'p',
      async chat(_r, o) {
        o.onUnanswered?.();
        o.onUnanswered?.();
        return err('provider.unreachable', 'broke twice');
      },
    };
    const outcome = await optimize(loopConfig(), loopDeps(log, provider));
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'provider.unreachable' } });
    expect(log.of('usage')).toEqual(
      Array(2).fill({ type: 'usage', agent: 'planner', promptTokens: null, completionTokens: null, costUsd: null }),
    );
    expect(
      summarize(
        'r',
        log.events.map((e) => e.event),
      ),
    ).toMatchObject({ costUsd: null, tokens: { prompt: null } });
  });

  it.each([
    ['money', { maxUsd: 0.025 }, 'limit.money'],
    ['tokens', { maxTokens: 3000 }, 'limit.tokens'],
    ['time', { maxMinutes: 1.5 }, 'limit.time'],
  ] as const)('limit on %s: stops before the step, resumable with a higher one', async (which, limit, code) => {
    const verdicts = { 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 1', 'r3.a0': 'not-faster 1' };
    const { log, outcome, provider } = await drive(verdicts, limit);
    expect(outcome).toMatchObject({ status: 'paused', error: { code } });
    expect(log.of('limit')).toEqual([{ type: 'limit', which, message: expect.any(String) }]);
    const before = log.executed.length;
    expect(before).toBeLessThan(13);
    const resumed = await optimize(loopConfig(), loopDeps(log, provider, { drive: 'd1' }));
    expect(resumed.status).toBe('done');
    expect(log.executed).toHaveLength(13);
  });

  it.each([
    [
      'tokens',
      { maxTokens: 13_000 },
      '13000 of 13000 tokens are used, and 2 requests of unknown length, of which 2 led',
    ],
    ['money', { maxUsd: 0.5 }, '$0.5000 of $0.5 are spent, and 2 requests of unknown cost, of which 2 led'],
  ] as const)(
    'requests without a reply count under a limit on %s, in this drive and in later ones',
    async (which, limit, said) => {
      const withheld: Bill = { usage: { promptTokens: 9000, completionTokens: 4000 }, costUsd: 0.5 };
      const log = new MemoryLog();
      let asked = 0;
      let refuses = true;
      const answers = scripted(byVerdict({ 'r1.a0': 'accepted 1.5' }));
      const provider: ChatProvider = {
        name: 'p',
        async chat(request, o) {
          asked++;
          if (asked > 1) return answers.chat(request, o);
          o.onUnanswered?.();
          o.onUnanswered?.();
          o.onUnanswered?.(withheld);
          return refuses ? err('provider.refused', 'withheld') : answers.chat(request, o);
        },
      };
      const config = loopConfig({ rounds: 1, ...limit });
      const first = await optimize(config, loopDeps(log, provider));
      expect(first.error?.code).toBe('provider.refused');
      expect(log.of('usage').map((u) => [u.promptTokens, u.completionTokens, u.costUsd])).toEqual([
        [null, null, null],
        [null, null, null],
        [9000, 4000, 0.5],
      ]);
      expect(log.of('notice').map((n) => n.message)).toEqual(
        Array(2).fill(expect.stringMatching(/led to no reply and may have been charged: the (money|token) limit/)),
      );
      const unknown: Bill = { usage: { promptTokens: null, completionTokens: null }, costUsd: null };
      const unanswered = new Map([['r1.planner', [unknown, unknown, withheld]]]);
      const second = await optimize(config, loopDeps(log, provider, { drive: 'd1', unanswered }));
      expect([second.status, second.error?.code, asked]).toEqual(['paused', `limit.${which}`, 1]);
      expect(log.of('limit')).toEqual([{ type: 'limit', which, message: expect.stringContaining(said) }]);
      // Retried within one request of the loop: the limit holds before the next one.
      asked = 0;
      refuses = false;
      const other = new MemoryLog();
      const third = await optimize(config, loopDeps(other, provider));
      expect([third.status, third.error?.code, asked]).toEqual(['paused', `limit.${which}`, 1]);
    },
  );

  it('unknown cost is said under a money limit and does not count as zero in the total', async () => {
    const verdicts = byVerdict({ 'r1.a0': 'accepted 1.5' });
    const provider = scripted((p) => ({
      text: verdicts(p),
      costUsd: null,
      usage: { promptTokens: null, completionTokens: null },
    }));
    const { log, summary, outcome } = await drive({}, { rounds: 1, maxUsd: 1, maxTokens: 10 }, {}, provider);
    expect(outcome.status).toBe('done');
    expect(summary.costUsd).toBeNull();
    expect(summary.tokens).toEqual({ prompt: null, completion: null });
    expect(log.of('notice').some((n) => n.message.includes('cost of this reply is unknown'))).toBe(true);
  });

  it('pause after the current step, then resume', async () => {
    const verdicts = { 'r1.a0': 'accepted 1.5' };
    let pause = false;
    const provider = scripted((p) => {
      if (p === 'r1.a0.coder') pause = true;
      return byVerdict(verdicts)(p);
    });
    const { log, outcome } = await drive({}, { rounds: 1 }, { shouldPause: () => pause }, provider);
    expect(outcome).toMatchObject({ status: 'paused', error: null });
    expect(log.executed.at(-1)).toBe('r1.a0.coder');
    pause = false;
    expect((await optimize(loopConfig({ rounds: 1 }), loopDeps(log, provider, { drive: 'd1' }))).status).toBe('done');
  });

  it('cancel during a job: nothing of it is kept', async () => {
    const control = new AbortController();
    const executor = runsJobs((p) => {
      if (p === 'r1.a0.eval') control.abort();
      return undefined;
    });
    const { log, outcome } = await drive(
      { 'r1.a0': 'accepted 9' },
      { rounds: 1 },
      { executor, signal: control.signal },
    );
    expect(outcome).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } });
    expect(log.steps.has('r1.a0.eval')).toBe(false);
    expect(outcome.best?.round).toBe(0);
    expect(log.of('run-ended').at(-1)?.status).toBe('cancelled');
  });

  it('a provider warning becomes a notice', async () => {
    const verdicts = byVerdict({ 'r1.a0': 'accepted 1.5' });
    const provider = scripted((p) => ({ text: verdicts(p), warnings: p === 'r1.planner' ? ['prompt seems cut'] : [] }));
    const { log } = await drive({}, { rounds: 1 }, {}, provider);
    expect(log.of('notice')).toEqual([{ type: 'notice', position: 'r1.planner', message: 'prompt seems cut' }]);
  });

  it('a prompt that cannot fit stops with context-length before anything is sent', async () => {
    const { outcome, provider } = await drive({}, { contextTokens: 2000 });
    expect(outcome.error?.code).toBe('provider.context-length');
    expect(provider.asked).toHaveLength(0);
  });
});

describe('re-entrance', () => {
  const verdicts = {
    'r1.a0': 'wrong-result',
    'r1.a1': 'accepted 1.5',
    'r2.a0': 'race',
    'r2.a1': 'race',
    'r3.a0': 'accepted 1.8',
  };
  const change = { debugAttempts: 1 };
  const whole = fence(candidate('race'));
  const answers = (position: string) => {
    // One cut reply, so that the continuation is among the steps.
    if (position === 'r2.a0.coder') return { text: whole.slice(0, 250), finish: 'length' as const };
    if (position === 'r2.a0.coder.more') return whole.slice(250);
    return byVerdict(verdicts)(position);
  };
  const finished = async () => {
    const log = new MemoryLog();
    const outcome = await optimize(loopConfig(change), loopDeps(log, scripted(answers)));
    return { log, outcome };
  };

  it('over a finished history: the same end, nobody called, nothing written', async () => {
    const { log, outcome } = await finished();
    const before = durable(log);
    const silent: ChatProvider = { name: 'none', chat: () => Promise.reject(new Error('called')) };
    const executor = { name: 'local' as const, execute: () => Promise.reject(new Error('called')) };
    const again = await optimize(loopConfig(change), loopDeps(log, silent, { executor, drive: 'd9' }));
    expect(again).toEqual(outcome);
    expect(durable(log)).toBe(before);
  });

  it('after a crash at every single write: the same end, each answered step asked once', async () => {
    const reference = await finished();
    let points = 0;
    for (let writes = 1; ; writes++) {
      const log = new MemoryLog();
      log.writesLeft = writes;
      const provider = scripted(answers);
      await optimize(loopConfig(change), loopDeps(log, provider)).catch((fault) => {
        if (!(fault instanceof Crash)) throw fault;
      });
      if (log.writesLeft >= 0) break;
      points++;
      // What the crashed drive could still write is what was there; the next process finds that.
      const found = log.copy();
      const outcome = await optimize(loopConfig(change), loopDeps(found, provider, { drive: 'd1' }));
      expect(outcome).toEqual(reference.outcome);
      expect(found.events).toEqual(reference.log.events);
      const times = new Map<string, number>();
      for (const a of provider.asked) times.set(a.position, (times.get(a.position) ?? 0) + 1);
      const repeated = [...times].filter(([, n]) => n > 1).map(([p]) => p);
      expect(repeated.length, `crash after write ${writes}: ${repeated}`).toBeLessThanOrEqual(1);
      for (const p of repeated) expect([...log.open]).toContain(p);
    }
    expect(points).toBeGreaterThan(60);
  });

  it('parked at each step in turn, the run ends the same', async () => {
    const reference = await finished();
    const log = new MemoryLog();
    const seen = new Set<string>();
    const parkOnce = (position: string) => {
      if (seen.has(position)) return false;
      seen.add(position);
      return true;
    };
    const provider = scripted((p) => (parkOnce(p) ? 'park' : answers(p)));
    const executor = runsJobs((p) => (parkOnce(p) ? 'park' : undefined));
    let parked = 0;
    for (let n = 0; n < 100; n++) {
      const outcome = await optimize(loopConfig(change), loopDeps(log, provider, { executor, drive: `d${n}` }));
      if (outcome.status === 'done') {
        expect(outcome).toEqual(reference.outcome);
        break;
      }
      expect(outcome.status).toBe('parked');
      expect(outcome.waiting).not.toBeNull();
      expect(stateOf(log.events.map((e) => e.event)).status).toBe('parked');
      parked++;
    }
    expect(parked).toBe(reference.log.executed.length);
    expect(log.executed).toEqual(reference.log.executed);
  });

  it('cancelled before any step, then resumed: the same end', async () => {
    const reference = await finished();
    for (const stopAt of reference.log.executed) {
      const log = new MemoryLog();
      const control = new AbortController();
      const at = (position: string) => {
        if (position === stopAt) control.abort();
      };
      const provider = scripted((p) => {
        at(p);
        return answers(p);
      });
      const executor = runsJobs((p) => {
        at(p);
        return undefined;
      });
      const first = await optimize(loopConfig(change), loopDeps(log, provider, { executor, signal: control.signal }));
      // A chat that was answered before the cancel arrived is kept; the end is reached only if it was the last step.
      expect(['cancelled', 'done']).toContain(first.status);
      const second = await optimize(loopConfig(change), loopDeps(log, provider, { drive: 'd1' }));
      expect(second).toEqual(reference.outcome);
    }
  });
});
