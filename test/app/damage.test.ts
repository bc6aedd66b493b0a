/** A damaged row of one run: that run says so by name, everything else goes on. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { AppEvent, OptimizeParams } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import { type Executor, type Result, unwrap } from '../../main/contract/index.ts';
import { defaults } from '../../main/evaluate/defaults.ts';
import { createHost } from '../../main/host/index.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { inProcess } from '../cli/program.ts';
import { TestClient } from '../host/client.ts';
import type { ModelServer } from '../llm/server.ts';
import { machine, resultFor, root, startModel } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });
// How finely intervals are resampled is not what is tested here.
Object.assign(defaults.accept, { resamples: 200 });

const executor: Executor = { name: 'local', execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }) };
const host = createHost({
  root,
  openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
});
const { services } = host;
const ctx = { emit: () => {} };
let server: ModelServer;
let home = '';
/** Two like runs; the one with the higher figure, whichever that is (seeds are drawn anew), gets damaged. */
let sound = '';
let hurt = '';
const newestFirst: string[] = [];

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'cm-damage-'));
  vi.stubEnv('CUDAMASTER_HOME', home);
  server = await startModel();
  const wanted: OptimizeParams = {
    ...{ task: 'dot_product', dtype: 'fp32', executor: 'local', provider: 'custom', model: 'm' },
    ...{ baseUrl: server.baseUrl, rounds: 1, debugAttempts: 1 },
  };
  for (let i = 0; i < 2; i++) newestFirst.unshift(unwrap(await services.optimize(wanted, ctx)).id);
  const accepted = unwrap(await services.history({}, ctx)).filter((v) => v.outcome === 'accepted' && v.round > 0);
  hurt = accepted.sort((a, b) => (b.score?.value ?? 0) - (a.score?.value ?? 0))[0]?.run ?? '';
  sound = newestFirst.find((id) => id !== hurt) ?? '';
}, 120_000);
afterAll(async () => {
  await host.close();
  await server.close();
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

/** Damages the history by SQL, for one test. */
async function spoil(sql: string, undo: string): Promise<void> {
  const file = join(home, 'data', 'history.db');
  const change = async (text: string) => {
    const c = await Connection.open(file, { busyMs: 10_000 });
    await c.exec(text);
    await c.close();
  };
  const kept = await (async () => {
    const c = await Connection.open(file, { busyMs: 10_000 });
    const [row] = await c.all<{ text: string }>(undo);
    await c.close();
    return row?.text ?? '';
  })();
  await change(sql);
  onTestFinished(async () => {
    const c = await Connection.open(file, { busyMs: 10_000 });
    await c.run(sql.replace(/= '[^']*' WHERE/, '= ? WHERE'), [kept]);
    await c.close();
  });
}
const damaged = (result: Result<unknown>): unknown[] =>
  result.ok ? ['ok'] : [result.error.code, result.error.message.split(':')[0]];
const named = () => ['store.corrupt', `Run ${hurt} is damaged in the history`];

it('its configuration: lists go on, the run is named, and can be put away', async () => {
  await spoil(
    `UPDATE runs SET config = '{"task":' WHERE id = '${hurt}'`,
    `SELECT config AS text FROM runs WHERE id = '${hurt}'`,
  );
  const ran = await inProcess('show', hurt, '--json');
  expect([ran.code, ran.last]).toMatchObject([
    7,
    { ok: false, error: { code: 'store.corrupt', remedy: expect.stringContaining(`cudamaster delete ${hurt}`) } },
  ]);
  for (const asked of [
    services.show({ run: newestFirst[0] === hurt ? 'last' : hurt }, ctx),
    services.resume({ run: hurt }, ctx),
    services.record({ run: hurt, out: join(home, 'x.cudamaster') }, ctx),
    services.exportVersion({ version: hurt, out: join(home, 'x.zip') }, ctx),
  ])
    expect(damaged(await asked)).toEqual(named());
  expect(unwrap(await services.runs({}, ctx)).map((r) => [r.id, r.provider])).toEqual(
    newestFirst.map((id) => [id, id === hurt ? 'damaged' : 'custom']),
  );
  expect(unwrap(await services.history({}, ctx)).map((v) => v.run)).toContain(sound);
  const spent = unwrap(await services.spend({}, ctx));
  expect(spent.run.map((r) => r.key).sort()).toEqual([sound, hurt].sort());
  expect(unwrap(await services.show({ run: sound }, ctx)).status).toBe('done');
  expect(unwrap(await services.binRun({ run: hurt, deleted: true }, ctx)).versions.length).toBeGreaterThan(0);
  expect(unwrap(await services.purge({ dryRun: true }, ctx)).bin).toMatchObject([{ run: hurt, kept: null }]);
  unwrap(await services.binRun({ run: hurt, deleted: false }, ctx));
  // The screens of other runs, and of the task, do not ask the damaged one.
  const client: TestClient = new TestClient((m) => line.receive(m));
  const line = host.connect((m) => client.take(m));
  expect((await client.got('runs.list', {})).map((r) => r.id)).toEqual(newestFirst);
  expect((await client.got('tasks.get', { task: 'dot_product', dtype: 'fp32' })).baseline?.run).toBe(sound);
  expect(damaged(await client.call('runs.get', { run: hurt }))).toEqual(named());
  line.close();
});

it('an event, and a step: what needs it names run and part; a bench takes the next best version', async () => {
  const where = `WHERE run = '${hurt}' AND type = 'scheme'`;
  await spoil(`UPDATE events SET body = '{}' ${where}`, `SELECT body AS text FROM events ${where}`);
  const shown = await services.show({ run: hurt }, ctx);
  expect(damaged(shown)).toEqual(named());
  expect(shown.ok ? '' : shown.error.message).toMatch(/: event \d+ cannot be read\.$/);
  const said: AppEvent[] = [];
  const params = {
    ...({
      sizes: ['published'],
      profile: false,
      library: false,
      executor: 'bundle',
      arch: 'sm_90',
      fromHistory: true,
    } as const),
    ...({ tasks: ['dot_product'], dtypes: ['fp32'], out: join(home, 'bench') } as const),
  };
  unwrap(await services.bench(params, { emit: (e) => void said.push(e) }));
  expect(said).toContainEqual(expect.objectContaining({ type: 'notice', message: expect.stringContaining(hurt) }));
  expect(readFileSync(join(home, 'bench', 'bench.json'), 'utf8')).toContain(`${sound} r1.a`);

  const step = `WHERE run = '${hurt}' AND position = 'r1.planner'`;
  await spoil(`UPDATE steps SET body = 'gone' ${step}`, `SELECT body AS text FROM steps ${step}`);
  const recorded = await services.record({ run: hurt, out: join(home, 'x.cudamaster') }, ctx);
  expect(damaged(recorded)).toEqual(named());
  expect(recorded.ok ? '' : recorded.error.message).toContain('step r1.planner');
});
