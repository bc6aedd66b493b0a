import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { environmentOf } from '../../main/app/machine.ts';
import type { Executor, ProfileResult, StepResult } from '../../main/contract/index.ts';
import { createHost, type Host } from '../../main/host/index.ts';
import { keepReport } from '../../main/jobs/report.ts';
import { Store } from '../../main/store/index.ts';
import { TestClient } from '../host/client.ts';
import { candidate, machine, resultFor, root } from './lab.ts';

vi.setConfig({ testTimeout: 120_000 });

let home = '';
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-report-'));
  process.env.CUDAMASTER_HOME = home;
  const mine = home;
  onTestFinished(() => rmSync(mine, { recursive: true, force: true }));
});

const bytes = 'a report, as ncu makes them: \0 binary';
const profiled = (report?: ProfileResult['report']): ProfileResult => ({
  mode: 'profile',
  ncuVersion: '2025.3.1',
  rawCsv: readFileSync(join(root, 'test/fixtures/ncu/gemm_full_raw.csv'), 'utf8'),
  sourceCsv: '',
  log: '',
  exitCode: 0,
  incidents: [],
  ...(report === undefined ? {} : { report }),
});

/** A laboratory with ncu: its report goes where the run asks for it. `ncu` false: there is none. */
function clientOf(ncu = true): TestClient {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle, { reportFile }) => {
      const result = resultFor(bundle);
      const made = join(home, 'made-by-ncu');
      writeFileSync(made, bytes);
      const report = reportFile === undefined ? undefined : await keepReport(made, reportFile);
      const steps = result.steps.map((step): StepResult => {
        if (step.id !== 'profile' || !ncu || step.status === 'skipped') return step;
        const { reason: _, ...rest } = step;
        return { ...rest, status: 'ok', session: profiled(report) };
      });
      return { kind: 'done', result: { ...result, steps } };
    },
  };
  const host: Host = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  });
  onTestFinished(() => host.close());
  const client: TestClient = new TestClient((m) => line.receive(m));
  const line = host.connect((m) => client.take(m));
  return client;
}

/** Evaluates a source as its own run; the id of the version. */
async function evaluated(client: TestClient, lab: string): Promise<string> {
  const params = { task: 'dot_product', dtype: 'fp32', executor: 'local', label: 'mine' } as const;
  const { run } = await client.got('runs.evaluate', { ...params, source: candidate(lab) });
  client.subscribe(run, run);
  await client.settled(run);
  return `${run}:r1.a0`;
}
const placeOf = async (client: TestClient, version: string) => {
  const { report, reportReason } = await client.got('versions.get', { version });
  return [report, reportReason];
};

it('a version has the path of its report as long as it is the one that was kept; exports do not hold it', async () => {
  const client = clientOf();
  const id = await evaluated(client, '1.5');
  const [run = ''] = id.split(':');
  const path = join(home, 'data', 'runs', run, 'reports', 'r1.a0.eval.ncu-rep');
  expect(await placeOf(client, id)).toEqual([path, null]);
  expect(readFileSync(path, 'utf8')).toBe(bytes);
  // Stored are its name and hash alone.
  const store = await Store.open(join(home, 'data'));
  const { job } = await store.step(run, 'r1.a0.eval');
  await store.close();
  const text = JSON.stringify(job);
  expect([text.includes(basename(path)), text.includes(home), text.includes('as ncu makes them')]).toEqual([
    true,
    false,
    false,
  ]);
  const zip = Buffer.from((await client.got('versions.export', { version: id })).base64, 'base64');
  expect([zip.includes('report.md'), zip.includes('.ncu-rep')]).toEqual([true, false]);

  writeFileSync(path, 'something else');
  expect(await placeOf(client, id)).toEqual([null, expect.stringContaining('not the one that was kept')]);
  rmSync(path);
  symlinkSync('/etc/hostname', path);
  expect(await placeOf(client, id)).toEqual([null, expect.stringContaining('not the one that was kept')]);
  rmSync(path);
  expect(await placeOf(client, id)).toEqual([null, expect.stringContaining('no longer in the folder of its run')]);
});

it('where there is none, the reason is told', async () => {
  const client = clientOf(false);
  const reasonOf = async (version: string): Promise<string> => {
    const [report, reason] = await placeOf(client, version);
    expect(report).toBeNull();
    return String(reason);
  };
  expect(await reasonOf(await evaluated(client, '1.5'))).toBe(
    'This version was not profiled. no ncu in the laboratory',
  );
  expect(await reasonOf(await evaluated(client, 'wrong'))).toMatch(/^This version was not profiled\./);
  const { run } = await client.got('runs.replay', { recording: 'debug-from-wrong' });
  client.subscribe(run, run);
  await client.settled(run);
  expect(await reasonOf(`${run}:origin`)).toContain('recordings hold no reports');
  expect(readdirSync(join(home, 'data', 'runs', run))).not.toContain('reports');
});

it('an evaluation whose report cannot be kept has its figures all the same', async () => {
  const client = clientOf();
  const blocked = join(home, 'data', 'runs');
  mkdirSync(join(home, 'data'), { recursive: true });
  // The run's folder is found out only when it begins: a file where all of them should be.
  writeFileSync(blocked, '');
  const params = { task: 'dot_product', dtype: 'fp32', executor: 'local', label: 'mine' } as const;
  const { run } = await client.got('runs.evaluate', { ...params, source: candidate('1.5') });
  client.subscribe(run, run);
  await client.settled(run);
  const version = await client.got('versions.get', { version: `${run}:r1.a0` });
  expect([version.outcome, version.report, version.reportReason]).toEqual([
    'accepted',
    null,
    expect.stringContaining('folder cannot be written'),
  ]);
});

it('reports of a deleted run go with the next collection; those of others and young ones stay', async () => {
  const client = clientOf();
  const [gone = '', kept = ''] = [await evaluated(client, '1.5'), await evaluated(client, '1.6')].map(
    (id) => id.split(':')[0],
  );
  const reports = (run: string): string => join(home, 'data', 'runs', run, 'reports');
  writeFileSync(join(reports(kept), '.4194305-abc.tmp'), 'half-written');
  const store = await Store.open(join(home, 'data'));
  onTestFinished(() => store.close());
  await store.remove(gone);
  expect(readdirSync(reports(gone))).toEqual(['r1.a0.eval.ncu-rep']);
  const old = new Date(Date.now() - 2 * 3600 * 1000);
  for (const [run, file] of [
    [gone, 'r1.a0.eval.ncu-rep'],
    [kept, 'r1.a0.eval.ncu-rep'],
    [kept, '.4194305-abc.tmp'],
  ] as const)
    utimesSync(join(reports(run), file), old, old);
  expect(await store.collect()).toBeGreaterThanOrEqual(2);
  expect(readdirSync(join(home, 'data', 'runs', gone))).not.toContain('reports');
  expect(readdirSync(reports(kept))).toEqual(['r1.a0.eval.ncu-rep']);
  expect((await placeOf(client, `${kept}:r1.a0`))[1]).toBeNull();
});
