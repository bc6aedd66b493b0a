import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { environmentOf } from '../../main/app/machine.ts';
import type { Executor, Result } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import type { ModelServer } from '../llm/server.ts';
import { machine, resultFor, root, startModel } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });

let server: ModelServer;
beforeAll(async () => {
  server = await startModel();
});
afterAll(() => server.close());

function got<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error));
  return result.value;
}

it('a run whose schemes wait for the user is resumed by what they say, recorded with it, and replays strictly', async () => {
  const home = mkdtempSync(join(tmpdir(), 'cm-approve-'));
  process.env.CUDAMASTER_HOME = home;
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }),
  };
  const { services } = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  });
  const ctx = { emit: () => {} };
  const wanted = { task: 'dot_product', dtype: 'fp32', executor: 'local', provider: 'compatible', model: 'm' } as const;
  const first = got(
    await services.optimize({ ...wanted, baseUrl: server.baseUrl, approve: true, rounds: 2, debugAttempts: 1 }, ctx),
  );
  const run = first.id;
  expect([first.status, first.waiting?.for]).toEqual(['parked', 'approval']);
  expect(first.waiting?.how).toContain(`cudamaster resume ${run} --approve`);
  expect(readFileSync(first.waiting?.path ?? '', 'utf8')).toContain('lab-scheme-1');
  const asked = () => server.seen.filter((s) => s.method === 'POST').length;
  const before = asked();
  expect(got(await services.resume({ run }, ctx)).status).toBe('parked');
  expect(asked()).toBe(before);

  const rejected = got(await services.resume({ run, reject: true }, ctx));
  expect([rejected.status, asked()]).toEqual(['parked', before + 1]);
  const second = got(await services.resume({ run, approve: true }, ctx));
  expect(second.state.rounds[0]?.attempts.length).toBeGreaterThan(0);
  expect(second.waiting?.for).toBe('approval');
  const text = readFileSync(second.waiting?.path ?? '', 'utf8').replace('shared memory', 'registers');
  const file = join(home, 'mine.md');
  writeFileSync(file, text);
  const report = got(await services.resume({ run, scheme: file }, ctx));
  expect(report.status).toBe('done');
  expect(report.state.rounds.map((r) => [r.by, r.scheme.includes('registers')])).toEqual([
    ['planner', false],
    ['user', true],
  ]);
  // A run that is done waits for nobody's word: refused, not dropped in silence. Without one it is only reported.
  expect(await services.resume({ run, approve: true }, ctx)).toMatchObject({ ok: false, error: { code: 'usage' } });
  expect(got(await services.resume({ run }, ctx)).status).toBe('done');

  const recording = join(home, 'recording.json');
  got(await services.record({ run, out: recording }, ctx));
  expect(existsSync(recording)).toBe(true);
  const again = got(await services.replay({ file: recording, strict: true }, ctx));
  expect(again.summary).toEqual({ ...report.summary, run: again.id });
});
