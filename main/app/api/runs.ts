import { readFile } from 'node:fs/promises';
import { agentNames, type RunRow, type RunSnapshot } from '../../contract/index.ts';
import { stateOf } from '../../optimizer/index.ts';
import { headOf, type RunHead, type Store } from '../../store/index.ts';
import { withStart } from '../report.ts';
import type { ApiContext, Handlers } from './context.ts';

type Drivers = Awaited<ReturnType<Store['drivers']>>;

/** A run as lists show it. One that says "running" while nobody drives it was interrupted. */
export function runRow(run: RunHead, drivers: Drivers): RunRow {
  const driver = drivers.get(run.id);
  const { task, dtype, provider, model } = run;
  return {
    id: run.id,
    kind: run.kind,
    status: run.status === 'running' && !driver ? 'interrupted' : run.status,
    task,
    dtype,
    provider,
    model,
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
    score: run.score,
    drivenBy: driver ? (driver.here ? 'here' : 'elsewhere') : null,
  };
}

async function snapshot(store: Store, name: string): Promise<RunSnapshot> {
  const run = await store.find(name);
  const drivers = await store.drivers();
  const events = await store.events(run.id);
  return {
    row: runRow(headOf(run), drivers),
    seq: events.at(-1)?.seq ?? 0,
    state: stateOf(withStart(run, events)),
    times: events.map((e) => [e.seq, e.at] as const),
  };
}

type Methods = 'runs.list' | 'runs.get' | 'runs.steps' | 'runs.step' | 'runs.prompt';

export const runMethods = (api: ApiContext): Handlers<Methods> => ({
  'runs.list': async ({ limit = 1000 }) => {
    const store = await api.store();
    const runs = await store.heads(limit);
    const drivers = await store.drivers();
    return runs.map((run) => runRow(run, drivers));
  },
  'runs.get': async ({ run }) => snapshot(await api.store(), run),
  'runs.steps': async ({ run }) => {
    const store = await api.store();
    return store.steps((await store.find(run)).id);
  },
  'runs.step': async ({ run, position }) => {
    const store = await api.store();
    return store.step((await store.find(run)).id, position);
  },
  'runs.prompt': async ({ run }) => {
    const store = await api.store();
    const { id } = await store.find(run);
    const open = await store.openStep(id);
    if (open?.kind !== 'chat' || open.state !== 'parked') return null;
    const { waiting } = stateOf(await store.events(id));
    if (waiting?.for !== 'answer') return null;
    const step = await store.step(id, open.position);
    const text = await readFile(waiting.path, 'utf8');
    return { position: open.position, agent: step.agent ?? agentNames[0], text, path: waiting.path };
  },
});
