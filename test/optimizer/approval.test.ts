import { describe, expect, it } from 'vitest';
import type { Approval, ChatProvider, Waiting } from '../../main/contract/index.ts';
import { type LoopDeps, optimize, stateOf } from '../../main/optimizer/index.ts';
import { byVerdict, Crash, loopConfig, loopDeps, MemoryLog, scripted } from './support.ts';

const change = { rounds: 2, approve: true } as const;
const verdicts = byVerdict({ 'r1.a0': 'accepted 1.5', 'r2.a0': 'not-faster 1.5' });
/** A Planner that is asked again has another idea. */
const answers = (position: string): string => {
  const nth = /^r\d+\.planner\.(\d+)$/.exec(position)?.[1];
  return nth === undefined ? verdicts(position) : `Limiter: memory.\nChange: other idea ${nth} of ${position}.`;
};

const yes = (scheme: string | null = null): Approval => ({ kind: 'approval', verdict: 'approve', scheme });
const no: Approval = { kind: 'approval', verdict: 'reject', scheme: null };
const waits: Waiting = { for: 'approval', path: '/p/scheme.md', how: 'say yes or no' };

/** What the user says at each position; undefined: nothing yet. */
const user =
  (said: Record<string, Approval>): NonNullable<LoopDeps['approval']> =>
  async (position) =>
    said[position] ?? waits;

const whole: Record<string, Approval> = {
  'r1.approval': no,
  'r1.approval.2': yes('Mine: one thread per element.'),
  'r2.approval': yes(),
};

async function finished() {
  const log = new MemoryLog();
  const provider = scripted(answers);
  const outcome = await optimize(loopConfig(change), loopDeps(log, provider, { approval: user(whole) }));
  return { log, outcome, provider };
}

describe('approval of schemes', () => {
  it('comes before anything is paid for: approved, changed, or asked for anew with the rejected one told', async () => {
    const { log, outcome, provider } = await finished();
    expect(outcome.status).toBe('done');
    expect(log.executed).toEqual([
      'r0.baseline',
      'r1.planner',
      'r1.approval',
      'r1.planner.2',
      'r1.approval.2',
      'r1.a0.coder',
      'r1.a0.compiler',
      'r1.a0.eval',
      'r2.planner',
      'r2.approval',
      'r2.a0.coder',
      'r2.a0.compiler',
      'r2.a0.eval',
    ]);
    const asked = (position: string) =>
      provider.asked.find((a) => a.position === position)?.request.messages[1]?.content ?? '';
    expect(asked('r1.planner.2')).toContain('The user rejected this scheme');
    expect(asked('r1.planner.2')).toContain('scheme of r1.planner.');
    expect(asked('r1.a0.coder')).toContain('Mine: one thread per element.');
    expect(asked('r1.a0.coder')).not.toContain('other idea 2');
    const later = asked('r2.planner');
    expect(later).toContain('The user rejected this scheme');
    expect(later).toContain('Mine: one thread per element.');
    const { rounds, usage } = stateOf(log.events.map((e) => e.event));
    expect(rounds.map((r) => r.by)).toEqual(['user', 'planner']);
    // The rejected scheme was paid for, and is counted.
    expect(usage.replies).toBe(7);
  });

  it('parks the run, as often as it is driven, and asks nobody meanwhile', async () => {
    const log = new MemoryLog();
    const provider = scripted(answers);
    const drive = (n: number, said: Record<string, Approval>) =>
      optimize(loopConfig(change), loopDeps(log, provider, { approval: user(said), drive: `d${n}` }));
    for (const n of [0, 1]) {
      const outcome = await drive(n, {});
      expect([outcome.status, outcome.waiting]).toEqual(['parked', waits]);
      expect(provider.asked.map((a) => a.position)).toEqual(['r1.planner']);
    }
    const state = stateOf(log.events.map((e) => e.event));
    expect([state.status, state.waiting]).toEqual(['parked', waits]);
    expect(state.rounds[0]).toMatchObject({ by: 'planner', attempts: [] });
    expect(state.rounds[0]?.scheme).toContain('scheme of r1.planner');
    // Each decision is for one scheme: the next one waits again.
    expect((await drive(2, { 'r1.approval': no })).status).toBe('parked');
    expect(log.executed.at(-1)).toBe('r1.planner.2');
    expect((await drive(3, whole)).status).toBe('done');
    const reference = await finished();
    expect(log.executed).toEqual(reference.log.executed);
    expect([...log.steps.keys()]).toEqual([...reference.log.steps.keys()]);
  });

  it('survives a crash at every single write: the same end, nobody asked twice for what was answered', async () => {
    const reference = await finished();
    let points = 0;
    for (let writes = 1; ; writes++) {
      const log = new MemoryLog();
      log.writesLeft = writes;
      const provider = scripted(answers);
      await optimize(loopConfig(change), loopDeps(log, provider, { approval: user(whole) })).catch((fault) => {
        if (!(fault instanceof Crash)) throw fault;
      });
      if (log.writesLeft >= 0) break;
      points++;
      const found = log.copy();
      const outcome = await optimize(
        loopConfig(change),
        loopDeps(found, provider, { approval: user(whole), drive: 'd1' }),
      );
      expect(outcome).toEqual(reference.outcome);
      expect(found.events).toEqual(reference.log.events);
      const positions = provider.asked.map((a) => a.position);
      const repeated = positions.filter((p, i) => positions.indexOf(p) !== i);
      expect(repeated.length, `crash after write ${writes}: ${repeated}`).toBeLessThanOrEqual(1);
      for (const p of repeated) expect([...log.open]).toContain(p);
    }
    expect(points).toBeGreaterThan(40);
  });

  it('over a finished history asks neither models nor the user', async () => {
    const { log, outcome } = await finished();
    const silent: ChatProvider = { name: 'none', chat: () => Promise.reject(new Error('called')) };
    const executor = { name: 'local' as const, execute: () => Promise.reject(new Error('called')) };
    const approval = () => Promise.reject(new Error('called'));
    expect(await optimize(loopConfig(change), loopDeps(log, silent, { executor, approval, drive: 'd9' }))).toEqual(
      outcome,
    );
  });

  it('is not asked for where the run was not started so, nor for a source that the user gave', async () => {
    const approval = () => Promise.reject(new Error('asked'));
    const plain = new MemoryLog();
    const free = await optimize(loopConfig({ rounds: 2 }), loopDeps(plain, scripted(answers), { approval }));
    expect(free.status).toBe('done');
    const given = { ...change, rounds: 1, startFromWrong: { label: 'mine', source: 'verdict', compileArgs: [] } };
    const log = new MemoryLog();
    await optimize(loopConfig(given), loopDeps(log, scripted(answers), { approval }));
    expect(log.executed).not.toContain('r1.approval');
  });
});
