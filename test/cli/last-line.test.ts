import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { type JobResult, type RunSummary, runSummarySchema } from '../../main/contract/index.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { resultFor } from '../app/lab.ts';
import { inProcess } from './program.ts';

// The last line of --json says all that a program must know to go on: why a run stopped, or what it waits for and where that lies.
vi.setConfig({ testTimeout: 180_000 });

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'cm-last-'));
  vi.stubEnv('CUDAMASTER_HOME', home);
  vi.stubEnv('CUDA_VISIBLE_DEVICES', '');
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(home, { recursive: true, force: true });
  });
});

async function work(folder: string, change: (result: JobResult) => JobResult = (r) => r): Promise<void> {
  const { request, bundle } = await readBundle(folder);
  await writeResult(folder, request, change(resultFor(bundle)), 'lab');
}

type Ran = Awaited<ReturnType<typeof inProcess>>;
const summaryOf = (ran: Ran): RunSummary => runSummarySchema.strict().parse(ran.last);

const optimize = (...more: string[]): Promise<Ran> =>
  inProcess('optimize', 'dot_product', '--executor', 'bundle', '--rounds', '1', '--json', ...more);

it('of a parked run names the bundle, then the prompt, and how to go on', async () => {
  const begun = await optimize('--provider', 'manual');
  const first = summaryOf(begun);
  expect([begun.code, first.status, first.error, first.waiting?.for]).toEqual([75, 'parked', null, 'bundle']);
  expect(existsSync(first.waiting?.path ?? '')).toBe(true);
  const listed = await inProcess('history', '--json');
  expect((listed.last.versions as { outcome: null; unmeasured?: true }[])[0]).not.toHaveProperty('unmeasured');
  await work(first.waiting?.path ?? '');
  const resumed = await inProcess('resume', first.run, '--json');
  const second = summaryOf(resumed);
  expect([resumed.code, second.waiting?.for]).toEqual([75, 'answer']);
  expect(second.waiting?.path).toMatch(/r1\.planner\.prompt\.md$/);
  expect(existsSync(second.waiting?.path ?? '')).toBe(true);
  expect(second.waiting?.how).toContain('answer');
});

it('of a failed run says why', async () => {
  // A port that nobody listens on.
  const port = await new Promise<number>((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
  const url = `http://127.0.0.1:${port}/v1`;
  const begun = summaryOf(await optimize('--provider', 'compatible', '--model', 'm', '--base-url', url));
  await work(begun.waiting?.path ?? '');
  const failed = await inProcess('resume', begun.run, '--json');
  const summary = summaryOf(failed);
  expect([failed.code, summary.status, summary.error?.code, summary.waiting]).toEqual([
    5,
    'failed',
    'provider.unreachable',
    null,
  ]);
  expect(summary.error?.message).toContain(`127.0.0.1:${port}`);
  // The same to a person.
  expect(failed.err).toContain(`127.0.0.1:${port}`);
  const shown = summaryOf(await inProcess('show', begun.run, '--json'));
  expect(shown.error).toEqual(summary.error);
});

it('of a run that failed before its origin was measured says so, and the history does not call that under way', async () => {
  const begun = summaryOf(await optimize('--provider', 'manual'));
  expect((await inProcess('history')).out).toContain('under way');
  await work(begun.waiting?.path ?? '', (result) => ({
    ...result,
    steps: result.steps.map((step) => ({
      ...step,
      status: 'environment',
      session: undefined,
      reason: { code: 'env.gpu-lost', message: 'The GPU fell off the bus.', remedy: 'Reset it.' },
    })),
  }));
  const failed = await inProcess('resume', begun.run, '--json');
  expect([failed.code, summaryOf(failed).error]).toEqual([
    3,
    expect.objectContaining({ code: 'env.gpu-lost', message: 'The GPU fell off the bus.', remedy: 'Reset it.' }),
  ]);
  const listed = await inProcess('history');
  expect(listed.out).toContain('not measured');
  expect(listed.out).not.toContain('under way');
});
