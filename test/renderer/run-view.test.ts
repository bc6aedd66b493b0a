import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { StepLine, StoredRunEvent } from '../../main/contract/api.ts';
import { recordingSchema } from '../../main/contract/recording.ts';
import type { RunEvent } from '../../main/contract/run.ts';
import { stateOf } from '../../main/contract/run-state.ts';
import { placeOf, selectionOf, stepName } from '../../renderer/screens/run/positions.ts';
import {
  consentNeeded,
  defaultFields,
  mostRequests,
  restoreFields,
  sizeChoice,
  startParams,
} from '../../renderer/screens/run/start-model.ts';
import { elapsedMs, moneyLeft, newestNode, timelineOf } from '../../renderer/screens/run/timeline-model.ts';
import { emptyView, type RunNews, streamLimit, takeAll, takeNews } from '../../renderer/state/run-view.ts';

const file = join(import.meta.dirname, '../recordings/softmax-bf16.json');
const { config, rootSeed } = recordingSchema.parse(JSON.parse(readFileSync(file, 'utf8')));

/** Events as a run with this configuration tells them. */
const told: RunEvent[] = [
  { type: 'run-started', rootSeed, config, originSource: '// origin', programVersion: '0.1.0' },
  { type: 'round-started', round: 1 },
  { type: 'scheme', round: 1, scheme: '1. Limiter: latency\n2. Change: more blocks' },
  { type: 'attempt-started', round: 1, attempt: 0 },
  { type: 'usage', agent: 'coder', promptTokens: 1000, completionTokens: 200, costUsd: 0.01 },
  { type: 'usage', agent: 'compiler', promptTokens: null, completionTokens: null, costUsd: null },
  { type: 'source', round: 1, attempt: 0, source: '// mine', compileArgs: ['-O3'] },
  { type: 'bad-reply', round: 1, attempt: 0, agent: 'coder', reason: 'no code block' },
];
const news: RunNews[] = told.map((event, index) => ({
  kind: 'event',
  event: { ...event, seq: index + 1, at: '2026-11-29T18:00:00Z' } as StoredRunEvent,
}));
const token = (text: string, agent = 'coder'): RunNews => ({
  kind: 'transient',
  event: { type: 'token', agent, text },
});
const step = (position: string, more: Partial<StepLine> = {}): StepLine => ({
  position,
  kind: 'chat',
  agent: null,
  state: 'done',
  openedAt: '2026-11-29T18:00:00.000Z',
  doneAt: '2026-11-29T18:00:02.000Z',
  opened: 1,
  ...more,
});

/** Processor time since `begun`, ms: how busy the machine is does not count. */
const cpuMs = (begun: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
};

test('a view folds events exactly as the engine does, whatever the batches', () => {
  const whole = takeAll(emptyView('r'), news);
  let single = emptyView('r');
  for (const n of news) single = takeNews(single, n);
  expect(whole.state).toEqual(stateOf(told));
  expect(single.state).toEqual(whole.state);
  expect(whole.seq).toBe(told.length);
  expect(takeAll(whole, news).state).toEqual(whole.state);
});

test('tokens stream until their reply is stored, and never grow without bound', () => {
  let view = takeAll(emptyView('r'), [token('__glo'), token('bal__'), token('x', 'planner')]);
  expect(view.streaming).toEqual({ coder: '__global__', planner: 'x' });
  view = takeAll(view, [token('y'.repeat(streamLimit + 500))]);
  expect(view.streaming.coder?.length).toBe(streamLimit);
  const usage = { type: 'usage', agent: 'coder', promptTokens: 1, completionTokens: 1, costUsd: null } as const;
  view = takeNews(view, { kind: 'event', event: { ...usage, seq: 1, at: '' } as StoredRunEvent });
  expect(view.streaming).toEqual({ planner: 'x' });
  expect(takeNews(view, { kind: 'settled', error: null }).streaming).toEqual({});
});

test('200 events and 2,000 tokens are taken within 50 ms of processor', () => {
  const burst = Array.from({ length: 2000 }, () => token('some text '));
  const notices = Array.from({ length: 200 }, (_, i) => ({
    kind: 'event' as const,
    event: { type: 'notice', position: 'r1', message: `n${i}`, seq: i + 1, at: '' } as StoredRunEvent,
  }));
  const begun = process.cpuUsage();
  const view = takeAll(emptyView('r'), [...burst, ...notices]);
  expect(cpuMs(begun)).toBeLessThan(50);
  expect(view.state.notices.length).toBe(200);
});

test('the timeline shows rounds, attempts and the step that is open', () => {
  const view = takeAll(emptyView('r'), [...news.slice(0, 4), token('int i;')]);
  const nodes = timelineOf(view, [
    step('r0.baseline', { kind: 'job' }),
    step('r1.planner', { agent: 'planner' }),
    step('r1.a0.coder', { agent: 'coder', state: 'open', doneAt: null, opened: 2 }),
  ]);
  expect(nodes.map((n) => n.id)).toEqual(['r0', 'r1', 'r1.a0']);
  expect(nodes[1]?.text).toBe('1. Limiter: latency');
  expect(nodes[2]?.outcome).toBeNull();
  expect(nodes[2]?.steps[0]).toMatchObject({ state: 'open', repeated: true, now: '6 characters so far' });
  expect(newestNode(nodes)).toBe('r1.a0');
});

test('elapsed time and money left say only what is known', () => {
  expect(elapsedMs([], true, 0)).toBeNull();
  expect(elapsedMs([step('a')], false, 0)).toBe(2000);
  expect(elapsedMs([step('a', { state: 'parked', doneAt: null })], false, 0)).toBeNull();
  expect(elapsedMs([step('a')], true, Date.parse('2026-11-29T18:00:10Z'))).toBe(10_000);
  expect(moneyLeft(null, 1, 0)).toBeNull();
  expect(moneyLeft(5, 1.5, 0)).toEqual({ usd: 3.5, atMost: false });
  expect(moneyLeft(5, 1.5, 2)?.atMost).toBe(true);
  expect(moneyLeft(1, 1.5, 0)?.usd).toBe(0);
});

test('positions and selections', () => {
  expect(placeOf('r2.a1.debug')).toEqual({ round: 2, attempt: 1, step: 'debug' });
  expect(placeOf('r1.planner.2')).toEqual({ round: 1, attempt: null, step: 'planner.2' });
  expect(placeOf('odd')).toBeNull();
  expect(stepName('planner.2')).toBe('Planner, asked again (2)');
  expect(stepName('planner.remeasure.best')).toBe('Measure the best again, on another machine');
  expect(selectionOf('r2.a1')).toEqual({ kind: 'attempt', round: 2, attempt: 1 });
  expect(selectionOf('r0').kind).toBe('baseline');
  expect(selectionOf('<script>').kind).toBe('run');
});

test('the start form: numbers as people type them, faults by field, nothing sent that was left empty', () => {
  const good = { ...defaultFields, task: 'softmax', maxTokens: '1,000,000', notes: '  ' };
  const { params, errors } = startParams(good);
  expect(errors).toEqual({});
  expect(params).toMatchObject({ task: 'softmax', maxTokens: 1_000_000, rounds: 3, provider: 'manual' });
  expect(params?.notes).toBeUndefined();
  expect(params?.agents).toBeUndefined();
  const bad = { ...good, rounds: '2.5', debugAttempts: '-1', maxUsd: 'much', provider: 'openai', task: '' };
  expect(Object.keys(startParams(bad).errors).sort()).toEqual(['debugAttempts', 'maxUsd', 'model', 'rounds', 'task']);
  expect(startParams(bad).params).toBeUndefined();
  const one = { ...good, agents: { ...good.agents, debug: { provider: 'openai', model: 'm' } } };
  expect(startParams(one).params?.agents).toEqual({ debug: { provider: 'openai', model: 'm' } });
  expect(mostRequests(good)).toBe(36);
});

test('the start form offers the sizes that the task has', () => {
  const some = { published: 5, large: 1 };
  const none = { published: 5, large: 0 };
  expect(sizeChoice(some)).toEqual({
    options: [
      { value: 'published', label: 'published (5)' },
      { value: 'large', label: 'large (1)', disabled: false },
    ],
    why: null,
  });
  expect(sizeChoice(none).options[1]).toEqual({ value: 'large', label: 'large', disabled: true });
  expect(sizeChoice(none).why).toBe('This task states no large sizes.');
  expect(sizeChoice(null).options.map((o) => o.label)).toEqual(['published', 'large']);
  // Large was chosen for another task, and kept.
  const kept = { ...defaultFields, task: 'mine', sizeSet: 'large' as const };
  expect(startParams(kept, none)).toEqual({
    errors: { sizeSet: 'This task states no large sizes: choose the published ones.' },
  });
  expect(startParams(kept, some).params?.sizeSet).toBe('large');
  expect(startParams({ ...kept, sizeSet: 'published' }, none).errors).toEqual({});
});

test('consent is asked once per remote host that was not agreed to', () => {
  const provider = (name: string, remote: string | null, consented = false) =>
    ({ name, title: name, remote, consented, disclosure: 'd', baseUrl: null, keyEnv: null, keySet: null }) as const;
  const providers = [provider('a', 'api.a'), provider('b', 'api.a'), provider('c', 'api.c', true), provider('l', null)];
  const fields = {
    ...defaultFields,
    provider: 'a',
    agents: { ...defaultFields.agents, coder: { provider: 'b', model: '' } },
  };
  expect(consentNeeded(fields, providers)).toEqual([{ host: 'api.a', disclosure: 'd', providers: ['a', 'b'] }]);
  expect(consentNeeded({ ...defaultFields, provider: 'c' }, providers)).toEqual([]);
  expect(consentNeeded({ ...defaultFields, provider: 'l' }, providers)).toEqual([]);
  const own = { ...defaultFields, provider: 'l', baseUrl: 'https://gpu.example:8000/v1' };
  expect(consentNeeded(own, providers)).toEqual([{ host: 'gpu.example:8000', disclosure: null, providers: ['l'] }]);
  expect(consentNeeded(own, providers, ['gpu.example:8000'])).toEqual([]);
  for (const here of ['http://127.0.0.1:8000/v1', 'http://[::1]:1/v1', 'http://LOCALHOST/v1', 'nonsense'])
    expect(consentNeeded({ ...own, baseUrl: here }, providers)).toEqual([]);
});

test('consent is asked for a model that its server here passes on, whatever the provider is called', () => {
  const here = 'http://127.0.0.1:11434/v1';
  const line = (name: string, baseUrl: string | null) =>
    ({
      name,
      title: name,
      baseUrl,
      remote: null,
      consented: false,
      disclosure: null,
      keyEnv: null,
      keySet: null,
    }) as const;
  const providers = [line('ollama', here), line('mine', here), line('custom', null), line('manual', null)];
  const asked = (change: Partial<typeof defaultFields>) => consentNeeded({ ...defaultFields, ...change }, providers);
  const model = 'gpt-oss:120b-cloud';
  const expected = (name: string) => [{ host: 'ollama.com', disclosure: null, providers: [name] }];
  expect(asked({ provider: 'ollama', model })).toEqual(expected('ollama'));
  expect(asked({ provider: 'mine', model })).toEqual(expected('mine'));
  expect(asked({ provider: 'custom', baseUrl: here, model })).toEqual(expected('custom'));
  const coder = { provider: '', model };
  expect(
    asked({ provider: 'custom', baseUrl: here, model: 'q:8b', agents: { ...defaultFields.agents, coder } }),
  ).toEqual(expected('custom'));
  expect(asked({ provider: 'custom', baseUrl: here, model: 'q:8b' })).toEqual([]);
  expect(asked({ provider: 'manual', model })).toEqual([]);
  expect(consentNeeded({ ...defaultFields, provider: 'mine', model }, providers, ['ollama.com'])).toEqual([]);
});

test('kept fields of another shape fall back to the defaults', () => {
  expect(restoreFields(null)).toEqual(defaultFields);
  expect(restoreFields('{')).toEqual(defaultFields);
  expect(restoreFields('{"rounds": 7, "task": "softmax"}')).toMatchObject({ rounds: '3', task: 'softmax' });
});
