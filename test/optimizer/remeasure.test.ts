import { describe, expect, it } from 'vitest';
import type { Evaluation, RunEvent } from '../../main/contract/index.ts';
import { type Evaluator, optimize, stateOf, summarize } from '../../main/optimizer/index.ts';
import { roundEnd } from '../../renderer/screens/run/timeline-model.ts';
import {
  byVerdict,
  Crash,
  candidate,
  evaluation,
  loopConfig,
  loopDeps,
  MemoryLog,
  originSource,
  scripted,
  scriptedEvaluator,
} from './support.ts';

const onOther = (e: Evaluation): Evaluation => ({ ...e, gpu: e.gpu && { ...e.gpu, name: 'Other GPU', cc: '8.9' } });

/** Every measurement taken anew is of another GPU, on which the best turns out as `best` says. */
function elsewhere(best: Evaluation): Evaluator {
  const evaluator = scriptedEvaluator((source) => source.includes('verdict: thread'));
  return {
    ...evaluator,
    interpret: (request, bundle, result) =>
      request.label.endsWith('.remeasure.best')
        ? onOther(best)
        : request.label.endsWith('.remeasure.origin')
          ? onOther(evaluation('valid', null))
          : evaluator.interpret(request, bundle, result),
  };
}

/** Drives a run of `verdicts` whose machine is another one from the step at `at` on. */
async function drive(
  at: string,
  best: Evaluation,
  verdicts: Record<string, string> = { 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 0.9' },
) {
  const log = new MemoryLog();
  const provider = scripted(byVerdict(verdicts));
  const outcome = await optimize(
    loopConfig({ rounds: 2 }),
    loopDeps(log, provider, {
      evaluator: elsewhere(best),
      remeasureBefore: (position) => (position === at ? 'gpu A → B' : null),
    }),
  );
  const events = log.events.map((e) => e.event);
  const asked = (position: string) => provider.asked.find((a) => a.position === position)?.request.messages ?? [];
  const prompt = (position: string) =>
    asked(position)
      .map((m) => m.content)
      .join('\n');
  return { log, outcome, state: stateOf(events), summary: summarize('r', events), prompt };
}

const accepted = (score: number) => evaluation('accepted', score);
const firstSample = (): Evaluation => {
  const e = evaluation('not-faster', 0.9);
  return { ...e, figures: e.figures && { ...e.figures, phase: 'nominate' } };
};

it.each([
  ['race', null],
  ['suspect', null],
  ['trade-off', 4],
  ['not-faster', 4],
] as const)('a round that an older program ended with %s and P = 4 has the score %s', (outcome, score) => {
  const ended: RunEvent = { type: 'round-ended', round: 1, accepted: false, outcome, score: 4 };
  expect(stateOf([ended]).rounds[0]?.score).toBe(score);
});

it.each([
  ['holds', evaluation('accepted', 1.2), 1.2, 'best'],
  ['holds with a size that is slower', evaluation('trade-off', 1.3), 1.3, 'best'],
  ['is wrong', evaluation('wrong-result', null), null, 'withdrawn'],
  ['is slower', evaluation('not-faster', 0.8), 0.8, 'withdrawn'],
])('the round of a best that %s on another machine has the P of that machine', async (_, best, score, end) => {
  const { state, summary } = await drive('r2.planner', best);
  const [first, second] = state.rounds;
  expect([first?.score, summary.rounds[0]?.score]).toEqual([score, score]);
  expect([first && roundEnd(first), second && roundEnd(second)]).toEqual([end, 'none']);
});

describe('a run that goes on on another machine', () => {
  it('measures origin and best again before the Planner is asked, who is told of this machine', async () => {
    const { log, outcome, state, summary, prompt } = await drive('r2.planner', accepted(1.2));
    const from = log.executed.indexOf('r2.planner.remeasure.origin');
    expect(log.executed.slice(from, from + 3)).toEqual([
      'r2.planner.remeasure.origin',
      'r2.planner.remeasure.best',
      'r2.planner',
    ]);
    expect(prompt('r1.planner')).toContain('Test GPU');
    for (const step of ['r2.planner', 'r2.a0.coder']) {
      expect(prompt(step)).toContain('Other GPU');
      expect(prompt(step)).not.toContain('Test GPU');
    }
    expect(prompt('r2.a0.compiler')).toContain('sm_89');
    expect([outcome.best?.round, outcome.best?.score]).toEqual([1, 1.2]);
    expect(state.best).toMatchObject({ round: 1, attempt: 0, evaluation: { gpu: { name: 'Other GPU' } } });
    expect(summary.best.score).toBe(1.2);
    expect(state.baseline?.gpu?.name).toBe('Other GPU');
    expect([state.baselineBy, state.rounds[0]?.attempts[0]?.measuredBy]).toEqual([
      'r2.planner.remeasure.origin',
      'r2.planner.remeasure.best',
    ]);
    expect(state.rounds[0]?.attempts[0]).toMatchObject({
      outcome: 'accepted',
      evaluation: { gpu: { name: 'Other GPU' } },
    });
  });

  it.each([
    ['wrong', evaluation('wrong-result', null, '3 elements are wrong'), 'wrong-result'],
    ['slower than the original', evaluation('not-faster', 0.8), 'not-faster'],
    ['not faster in a first sample', firstSample(), 'not-faster'],
  ])(
    'has the origin for its best again where the best is %s there: in the loop and in the record',
    async (_, best, why) => {
      const { log, outcome, state, summary, prompt } = await drive('r2.planner', best);
      expect([outcome.best?.round, outcome.best?.score]).toEqual([0, 1]);
      expect(state.best).toMatchObject({ round: 0, source: originSource, evaluation: { gpu: { name: 'Other GPU' } } });
      expect(summary.best.score).toBe(1);
      expect(state.rounds[0]?.attempts[0]?.outcome).toBe(why);
      expect(log.of('notice').map((n) => n.message)).toEqual([
        expect.stringContaining('does not hold on this machine'),
      ]);
      // Later agents work on the original, and the Planner is told what became of the scheme.
      expect(prompt('r2.a0.coder')).not.toContain('verdict: accepted 1.5');
      expect(prompt('r2.planner')).toContain('on the machine of now');
      expect(log.of('attempt-started').map((a) => a.base)).toEqual([undefined, 'origin']);
    },
  );

  it('keeps a best that is right and not clearly slower, with what was measured now', async () => {
    const { outcome, state, summary } = await drive('r2.planner', evaluation('trade-off', 1.3));
    expect([outcome.best?.round, outcome.best?.score, summary.best.score]).toEqual([1, 1.3, 1.3]);
    expect(state.rounds[0]?.attempts[0]?.outcome).toBe('accepted');
  });

  it('in the middle of a round it measures before the next step, and the Coder starts from what is the best then', async () => {
    const { log, prompt, state } = await drive('r2.a0.coder', evaluation('wrong-result', null));
    const from = log.executed.indexOf('r2.planner');
    expect(log.executed.slice(from, from + 4)).toEqual([
      'r2.planner',
      'r2.a0.coder.remeasure.origin',
      'r2.a0.coder.remeasure.best',
      'r2.a0.coder',
    ]);
    expect(prompt('r2.a0.coder')).toContain('Other GPU');
    expect(prompt('r2.a0.coder')).not.toContain('verdict: accepted 1.5');
    expect(state.best?.round).toBe(0);
  });

  it.each(['r2.a0.compiler', 'r2.a1.debug'])('before %s as well', async (at) => {
    const { log, prompt } = await drive(at, accepted(1.4), {
      'r1.a0': 'accepted 1.5',
      'r2.a0': 'wrong-result',
      'r2.a1': 'not-faster 0.9',
    });
    const from = log.executed.indexOf(`${at}.remeasure.origin`);
    expect(log.executed.slice(from + 1, from + 3)).toEqual([`${at}.remeasure.best`, at]);
    expect(prompt(at)).toContain(at.endsWith('.debug') ? 'Other GPU' : 'sm_89');
  });

  it('measures nothing for a candidate that the screen refuses', async () => {
    const { log } = await drive('r2.a0.eval', accepted(1.4), {
      'r1.a0': 'accepted 1.5',
      'r2.a0': 'thread',
      'r2.a1': 'not-faster 0.9',
    });
    expect(log.executed.filter((p) => p.includes('remeasure'))).toEqual([]);
  });

  it('tells a second change before the same step as well: another drive, other figures', async () => {
    const first = new MemoryLog();
    let what = 'gpu A → B';
    let now = accepted(1.2);
    const run = (log: MemoryLog, crash: number) => {
      log.writesLeft = crash;
      return optimize(
        loopConfig({ rounds: 2 }),
        loopDeps(log, scripted(byVerdict({ 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 0.9' })), {
          evaluator: { ...elsewhere(now), interpret: (...args) => elsewhere(now).interpret(...args) },
          remeasureBefore: (position) => (position === 'r2.planner' ? what : null),
        }),
      );
    };
    await run(first, Number.POSITIVE_INFINITY);
    const after = first.events.findIndex((e) => e.event.type === 'remeasured');
    const log = first.copy();
    log.events.splice(after + 1);
    for (const position of [...log.steps.keys()]) if (position.startsWith('r2.')) log.steps.delete(position);
    what = 'gpu A → B; gpu B → C';
    now = accepted(1.1);
    await run(log, Number.POSITIVE_INFINITY);
    expect(log.of('remeasured').map((e) => e.best?.evaluation.figures?.score?.value)).toEqual([1.2, 1.1]);
    expect(stateOf(log.events.map((e) => e.event)).best?.evaluation.figures?.score?.value).toBe(1.1);
  });

  it('after a crash at every single write it ends the same, and nothing answered is done twice', async () => {
    const run = (log: MemoryLog, drive: string) =>
      optimize(
        loopConfig({ rounds: 2 }),
        loopDeps(log, scripted(byVerdict({ 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 0.9' })), {
          evaluator: elsewhere(evaluation('wrong-result', null)),
          remeasureBefore: (position) => (position === 'r2.planner' ? 'gpu A → B' : null),
          drive,
        }),
      );
    const whole = new MemoryLog();
    const wanted = await run(whole, 'd0');
    for (let writes = 1; ; writes++) {
      const log = new MemoryLog();
      log.writesLeft = writes;
      await run(log, 'd0').catch((fault) => {
        if (!(fault instanceof Crash)) throw fault;
      });
      if (log.writesLeft >= 0) break;
      const found = log.copy();
      expect(await run(found, 'd1')).toEqual(wanted);
      expect(found.events).toEqual(whole.events);
      expect([...log.executed, ...found.executed]).toEqual(whole.executed);
    }
  });

  it('a later best stands when the event is told late, as on the resume of a run by a program that wrote none', async () => {
    const { log } = await drive('r2.planner', evaluation('wrong-result', null), {
      'r1.a0': 'accepted 1.5',
      'r2.a0': 'accepted 1.1',
    });
    const events = log.events.map((e) => e.event);
    const late = [...events.filter((e) => e.type !== 'remeasured'), ...log.of('remeasured')];
    expect(stateOf(late).best).toMatchObject({ round: 2, source: candidate('accepted 1.1') });
    expect(summarize('r', late).best.score).toBe(1.1);
  });
});
