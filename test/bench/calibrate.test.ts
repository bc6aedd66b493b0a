import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrationOf } from '../../main/app/calibration-file.ts';
import { type App, createApp } from '../../main/app/index.ts';
import type { Executor } from '../../main/contract/index.ts';
import { unwrap } from '../../main/contract/index.ts';
import { interpretProfileOnly } from '../../main/evaluate/interpret.ts';
import { type EvaluationInput, planEvaluation } from '../../main/evaluate/plan.ts';
import { loadTask, taskIds } from '../../main/evaluate/task/index.ts';
import { machine, root } from '../app/lab.ts';
import { inProcess } from '../cli/program.ts';
import { benchResult, pageWith } from './lab.ts';

let home: string;
const before = process.env.CUDAMASTER_HOME;
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'cm-calibrate-')));
  process.env.CUDAMASTER_HOME = home;
});
afterAll(() => {
  process.env.CUDAMASTER_HOME = before;
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  rmSync(home, { recursive: true, force: true });
});

const tasks = taskIds(root);
/** Two thirds of the tasks use little of the SMs, the others nearly all; memory has no classes, DRAM is unknown for nobody. */
const throughputsOf = (task: string) => {
  const i = tasks.indexOf(task);
  return { compute: i % 3 === 0 ? 80 + (i % 7) : 8 + (i % 7), memory: 5 + (90 * i) / tasks.length, dram: 40 };
};
const executor: Executor = {
  name: 'local',
  execute: async (bundle, { position }) => ({
    kind: 'done',
    result: benchResult(bundle, pageWith(throughputsOf(position.split('.')[1] ?? ''))),
  }),
};
const ctx = { emit: () => {} };
const appWith = (one: Executor): App =>
  createApp({ root, openPlace: async () => ({ environment: null, executor: () => one }) });

describe('cudamaster calibrate', () => {
  it('proposes by Otsu from one launch per task, adopts what is sure, and keeps it by the GPU', async () => {
    const found = await appWith(executor).calibrate({ dtype: 'fp32', executor: 'local' }, ctx);
    if (!found.ok) throw new Error(found.error.message);
    const { calibration, files, bench } = found.value;
    expect(bench?.done).toBe(tasks.length);
    expect(calibration?.tasks).toBe(tasks.length);
    const { compute, memory, dram } = calibration?.proposals ?? {};
    expect(compute).toMatchObject({ adopted: true, n: tasks.length });
    expect(compute?.used).toBeGreaterThan(14);
    expect(compute?.used).toBeLessThan(80);
    // One broad class, and one value for all: the paper's 30 % stays.
    expect([memory?.adopted, memory?.used, dram?.adopted, dram?.used]).toEqual([false, 30, false, 30]);
    expect(files.every((file) => existsSync(file) && file.startsWith(home))).toBe(true);
    const html = files.find((file) => file.endsWith('.html'));
    expect(readFileSync(html ?? '', 'utf8')).toContain('<svg');
    expect(calibrationOf(machine.gpu?.uuid ?? '')).toEqual(calibration);
    expect(calibrationOf('GPU-another')).toBeNull();
    // The same bench again, without running anything.
    const again = await appWith({ name: 'local', execute: () => Promise.reject(new Error('nothing runs')) }).calibrate(
      { dtype: 'fp32', executor: 'local', from: bench?.folder },
      ctx,
    );
    expect(again.ok && again.value.calibration).toEqual(calibration);
  }, 120_000);

  it('adopts nothing from a part of the tasks, keeps what an earlier one found, and says how many are there', async () => {
    const out = join(home, 'part');
    const whole = await appWith(executor).calibrate({ dtype: 'fp32', executor: 'local', out }, ctx);
    const kept = calibrationOf(machine.gpu?.uuid ?? '');
    expect(whole).toMatchObject({ ok: true, value: { incomplete: null, calibration: kept } });
    const from = async () => appWith(executor).calibrate({ dtype: 'fp32', executor: 'local', from: out }, ctx);
    const remove = (ids: readonly string[]) => {
      for (const id of ids) rmSync(join(out, 'results', `profile.${id}.fp32.origin.json`));
    };
    remove(tasks.slice(30));
    const part = await from();
    if (!part.ok) throw new Error(part.error.message);
    expect(part.value).toMatchObject({
      incomplete: { there: 30, all: tasks.length, how: expect.stringContaining(`bench resume ${out}`) },
      files: [],
    });
    const { proposals, thresholds, verdicts } = part.value.calibration ?? {};
    expect(thresholds).toEqual({ compute: 30, dram: 30, memory: 30 });
    // What was found so far is shown: it would be adopted if these were all.
    expect(proposals?.compute).toMatchObject({ n: 30, adopted: false, used: 30, cut: { available: true } });
    expect(proposals?.compute.why).toBe(
      `the paper's 30 % stays: only 30 of ${tasks.length} tasks of the bench are profiled`,
    );
    expect(verdicts?.moved).toEqual([]);
    expect(calibrationOf(machine.gpu?.uuid ?? '')).toEqual(kept);
    const said = await inProcess('calibrate', '--from', out);
    expect(said.code).toBe(75);
    expect(said.out).toContain(`30 of ${tasks.length} tasks of the bench are profiled: nothing is adopted`);

    remove(tasks.slice(7, 30));
    const few = await from();
    expect(few).toMatchObject({ ok: false, error: { code: 'usage', remedy: expect.stringContaining(out) } });
    expect(!few.ok && few.error.message).toContain(`7 of ${tasks.length} tasks of the bench are profiled, 7 give`);
  }, 120_000);

  it('then judges by it on that GPU and driver, and says so; elsewhere by the paper', () => {
    const calibration = calibrationOf(machine.gpu?.uuid ?? '');
    const input: EvaluationInput = {
      task: unwrap(loadTask(root, 'dot_product')),
      dtype: 'fp32',
      candidate: null,
      best: null,
      sizeSet: 'large',
      profile: 'filtered',
      arch: 'native',
      tries: 0,
      planSeed: '00',
      label: 'x',
      only: 'profile',
      calibration,
    };
    const bundle = unwrap(planEvaluation(input));
    // Between the paper's 30 % and Otsu's threshold.
    const result = benchResult(bundle, pageWith({ compute: 35, memory: 20, dram: 20 }));
    const here = interpretProfileOnly(input, bundle, result, null).verdict;
    expect(here?.bottleneck).toBe('memory-latency');
    expect(here?.thresholds.compute).toBe(calibration?.thresholds.compute);
    expect(here?.why).toContain(`thresholds of this GPU, calibrated on ${calibration?.date}`);
    const driver = { ...result, machine: { ...result.machine, driver: '999.1' } };
    for (const other of [
      interpretProfileOnly(input, bundle, driver, null).verdict,
      interpretProfileOnly({ ...input, calibration: null }, bundle, result, null).verdict,
    ]) {
      expect(other?.bottleneck).toBe('compute');
      expect(other?.thresholds.compute).toBe(30);
      expect(other?.why).not.toContain('calibrated');
    }
  });

  it('refuses a damaged or newer file by name instead of other thresholds in silence', () => {
    const path = join(home, 'data/calibrations/GPU-x.json');
    for (const [text, code] of [
      ['{', 'store.corrupt'],
      ['{"format":"cudamaster-calibration","version":1,"calibration":{}}', 'store.corrupt'],
      ['{"format":"cudamaster-calibration","version":9}', 'format.newer'],
    ] as const) {
      writeFileSync(path, text);
      expect(() => calibrationOf('GPU-x')).toThrowError(
        expect.objectContaining({ error: expect.objectContaining({ code }) }),
      );
    }
  });

  it('waits for bundles, and makes no threshold of a part of the tasks', async () => {
    const app = createApp({ root });
    const found = await app.calibrate({ dtype: 'bf16', executor: 'bundle', out: join(home, 'away') }, ctx);
    if (!found.ok) throw new Error(found.error.message);
    expect(found.value.calibration).toBeNull();
    expect(found.value.bench?.missing).toHaveLength(tasks.length);
    expect(found.value.bench?.how).toContain(join(home, 'away/bundles/profile'));
  }, 60_000);

  it('takes profiles of several GPUs of one model together and keeps the thresholds for each; several drivers are refused', async () => {
    const uuids = ['GPU-pool-b', 'GPU-pool-a'];
    const pooled: Executor = {
      name: 'local',
      execute: async (bundle, { position }) => {
        const task = position.split('.')[1] ?? '';
        const result = benchResult(bundle, pageWith(throughputsOf(task)));
        const uuid = uuids[tasks.indexOf(task) % 2] as string;
        return {
          kind: 'done',
          result: { ...result, machine: { ...result.machine, gpu: { name: 'NVIDIA Lab', uuid, cc: '9.0' } } },
        };
      },
    };
    const out = join(home, 'pooled');
    const found = await appWith(pooled).calibrate({ dtype: 'fp32', executor: 'local', out }, ctx);
    if (!found.ok) throw new Error(found.error.message);
    expect(found.value.calibration?.pooled).toEqual(['GPU-pool-a', 'GPU-pool-b']);
    for (const uuid of uuids) {
      const kept = calibrationOf(uuid);
      expect(kept?.gpu.uuid).toBe(uuid);
      expect(kept?.thresholds).toEqual(found.value.calibration?.thresholds);
    }
    const file = join(out, 'results', `profile.${tasks[0]}.fp32.origin.json`);
    const cell = JSON.parse(readFileSync(file, 'utf8'));
    cell.result.machine.driver = '999.1';
    writeFileSync(file, JSON.stringify(cell));
    const refused = await appWith(pooled).calibrate({ dtype: 'fp32', executor: 'local', from: out }, ctx);
    expect(refused).toMatchObject({ ok: false, error: { code: 'usage' } });
    expect(!refused.ok && refused.error.message).toContain('999.1');
  }, 120_000);
});
