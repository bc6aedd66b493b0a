import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { sha256Hex } from '../../main/base/hash.ts';
import {
  type Executor,
  type JobResult,
  type ProfilePlan,
  type ReportFile,
  reportFileSchema,
  type Step,
  type ToolPaths,
} from '../../main/contract/index.ts';
import { BundleExecutor } from '../../main/jobs/bundle.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { bundleReport, importReport, keepReport, reportCap, reportName } from '../../main/jobs/report.ts';
import { profileStages, verdictMetricIds } from '../../main/profile/collect.ts';
import { runWorker } from '../../main/worker/worker.ts';
import { fakeNcu, GEMM, type World } from '../session/ncu-world.ts';
import { fakePeer, problem, programs } from '../session/support.ts';
import { buildStep, bundleOf, folder, limits, tools } from './support.ts';

vi.setConfig({ testTimeout: 60_000 });

const position = 'r1.a0.eval';
const at = { rootSeed: 'ab'.repeat(32), position };
const plan = (more: Partial<ProfilePlan>): ProfilePlan => ({
  mode: 'profile',
  ...programs,
  judge: '',
  shim: '',
  arm: { id: 'C', lib: '', symbol: 'f' },
  problem: problem('large/0'),
  metrics: verdictMetricIds(),
  sections: [],
  source: true,
  maxLaunches: 1024,
  keepLaunches: 48,
  stages: profileStages(),
  ...more,
});

/** A job with a profile alone: its runner is a script that speaks the runner's protocol, "built" by a compiler that copies. */
const bundle = (more: Partial<ProfilePlan> = {}) => {
  const runner = `#!${process.execPath}\nrequire(${JSON.stringify(fakePeer)}).runner({});\n`;
  const build = { args: ['-o', 'runner', 'runner.txt'], inputs: ['runner.txt'], outputs: ['runner'], untrusted: false };
  const steps: Step[] = [
    buildStep({ id: 'runner', ...build }),
    { kind: 'session', id: 'profile', needs: ['runner'], limits, plan: plan(more) },
  ];
  return bundleOf({ 'runner.txt': runner }, steps);
};

function machineWith(path: string, world: World = { launches: [{ kernel: GEMM }] }): ToolPaths {
  const copy = join(path, 'copy-compiler');
  writeFileSync(copy, '#!/bin/sh\ncp "$3" "$2" && chmod 755 "$2"\n');
  chmodSync(copy, 0o755);
  const ncu = fakeNcu({ path }, world);
  return { ...tools, cxx: copy, bwrap: null, ncu, machine: { ...tools.machine, ncu: '2025.3.1' } };
}
const local = (path: string, world?: World): LocalExecutor =>
  new LocalExecutor(machineWith(path, world), { buildCacheDir: null, lockDir: join(path, 'locks') });
const done = async (executor: Executor, its: ReturnType<typeof bundle>, reportFile?: string): Promise<JobResult> => {
  const outcome = await executor.execute(its, { ...at, reportFile });
  if (outcome.kind !== 'done') throw new Error('parked');
  return outcome.result;
};
/** The profile of a result, which must have gone well whatever became of its report. */
function profileOf(result: JobResult) {
  const step = result.steps.find(({ id }) => id === 'profile');
  expect([step?.status, step?.reason]).toEqual(['ok', undefined]);
  if (step?.session?.mode !== 'profile') throw new Error('no profile');
  expect(step.session.rawCsv).toContain('gemm_naive_kernel');
  return step.session;
}
const holds = (file: string): ReportFile => {
  const data = readFileSync(file);
  return { kept: true, file: file.split('/').at(-1) ?? '', bytes: data.length, sha256: sha256Hex(data) };
};

describe('the local executor', () => {
  it('keeps the report of what is shown under the name of the position, and nothing of it in the result', async () => {
    using dir = folder();
    const file = join(dir.path, 'run', 'reports', reportName(position));
    const session = profileOf(await done(local(dir.path), bundle(), file));
    expect(session.report).toEqual(holds(file));
    expect(session.report).toMatchObject({ file: 'r1.a0.eval.ncu-rep' });
    expect(JSON.stringify(session)).not.toContain(dir.path);
    // The second collection's: the launch that is shown, with its source counters.
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ launches: [{ kernel: GEMM }], source: true });
    expect(readdirSync(join(dir.path, 'run', 'reports'))).toEqual(['r1.a0.eval.ncu-rep']);
  });

  it('keeps that of a full collection, and of one without stages', async () => {
    using dir = folder();
    for (const more of [
      { stages: undefined, set: 'full' },
      { stages: undefined, keepLaunches: undefined },
    ]) {
      const file = join(dir.path, `${more.set}.ncu-rep`);
      expect(profileOf(await done(local(dir.path), bundle(more), file)).report).toEqual(holds(file));
    }
  });

  it('keeps none where nobody asked, and none where ncu made none', async () => {
    using dir = folder();
    expect(profileOf(await done(local(dir.path), bundle())).report).toBeUndefined();
    const file = join(dir.path, 'x.ncu-rep');
    const broken = { launches: [{ kernel: GEMM }], runs: [{}, { log: '==ERROR== An unknown error.', exit: 1 }] };
    const session = profileOf(await done(local(dir.path, broken), bundle(), file));
    expect([session.report, existsSync(file)]).toEqual([undefined, false]);
    expect(session.stages?.[1]?.note).toContain('second stage gave nothing');
  });

  it('goes on where the folder cannot be written, and says so', async () => {
    using dir = folder();
    writeFileSync(join(dir.path, 'reports'), 'a file where the folder should be');
    const { report } = profileOf(await done(local(dir.path), bundle(), join(dir.path, 'reports', 'x.ncu-rep')));
    expect(report).toEqual({ kept: false, reason: expect.stringContaining('folder cannot be written') });
    expect(reportFileSchema.parse(report)).toEqual(report);
  });
});

describe('a report', () => {
  it('over the cap, a link, a pipe, a device, a folder or nothing at all is not kept, with the reason', async () => {
    using dir = folder();
    const from = join(dir.path, 'from');
    const to = join(dir.path, 'kept.ncu-rep');
    const secret = join(dir.path, 'secret');
    writeFileSync(secret, 'secret');
    const make: [RegExp, () => void][] = [
      [/not there/, () => undefined],
      [/is a link/, () => symlinkSync(secret, from)],
      [/no regular file/, () => execFileSync('mkfifo', [from])],
      [/no regular file|cannot be read/, () => mkdirSync(from)],
      [/too large to be kept \(65\.0 MiB, at most 64 MiB\)/, () => big(from, reportCap + 1024 * 1024)],
    ];
    for (const [why, how] of make) {
      how();
      const kept = await keepReport(from, to);
      expect(kept).toMatchObject({ kept: false, reason: expect.stringMatching(why) });
      expect(existsSync(to)).toBe(false);
      rmSync(from, { recursive: true, force: true });
    }
    expect(await keepReport('/dev/zero', to)).toMatchObject({ reason: expect.stringContaining('no regular file') });
    big(from, reportCap);
    expect(await keepReport(from, to)).toMatchObject({ kept: true, bytes: reportCap });
  });

  it('has a plain name whatever the position is', () => {
    for (const odd of ['../../x', '...', '', 'a/b\\c d', 'é'.repeat(300), '-rf'])
      expect(
        reportFileSchema.safeParse({ kept: true, file: reportName(odd), bytes: 0, sha256: 'a'.repeat(64) }).error,
        odd,
      ).toBe(undefined);
    for (const file of ['../x.ncu-rep', '/etc/x.ncu-rep', 'a/b.ncu-rep', '.ncu-rep', 'x.sh', '-x.ncu-rep'])
      expect(reportFileSchema.safeParse({ kept: true, file, bytes: 0, sha256: 'a'.repeat(64) }).success, file).toBe(
        false,
      );
  });
});

/** A file of that many bytes which takes no room on the disk. */
function big(path: string, bytes: number): void {
  writeFileSync(path, '');
  truncateSync(path, bytes);
}

describe('bundles', () => {
  const executor = (root: string): BundleExecutor =>
    new BundleExecutor({ root, programVersion: '0', resumeCommand: 'resume' });
  async function worked(dir: string, ...more: string[]): Promise<string> {
    const path = executor(dir).folderOf(bundle(), at);
    await executor(dir).execute(bundle(), at);
    const its = machineWith(dir);
    const settings = { buildCacheDir: null, lockDir: join(dir, 'locks') };
    const io = { out: () => undefined, err: (line: string) => said.push(line), tools: async () => its, settings };
    const said: string[] = [];
    expect(await runWorker(['--trust', ...more, path], io), said.join('\n')).toBe(0);
    return path;
  }

  it('bring the report beside the result, a copy beside the copy, and the run takes it over', async () => {
    using dir = folder();
    const results = join(dir.path, 'results');
    const path = await worked(dir.path, '--results', results);
    const stored = JSON.parse(readFileSync(join(path, 'result.json'), 'utf8')).result;
    expect(profileOf(stored).report).toEqual(holds(join(path, bundleReport)));
    expect(JSON.stringify(profileOf(stored))).not.toContain(dir.path);
    const [copied] = readdirSync(results).filter((name) => name.endsWith('.ncu-rep'));
    expect(`${copied}`.replace('.ncu-rep', '.json')).toBe(readdirSync(results).find((name) => name.endsWith('.json')));
    expect(readFileSync(join(results, `${copied}`))).toEqual(readFileSync(join(path, bundleReport)));
    const file = join(dir.path, 'run', 'reports', reportName(position));
    expect(profileOf(await done(executor(dir.path), bundle(), file)).report).toEqual(holds(file));
    // Finished ones are kept, and copied again; run anew, the report is of the new run.
    rmSync(results, { recursive: true });
    await worked(dir.path, '--results', results);
    expect(readdirSync(results)).toContain(copied);
    writeFileSync(join(path, bundleReport), 'of another run');
    await worked(dir.path, '--again');
    expect(profileOf(await done(executor(dir.path), bundle(), file)).report).toEqual(holds(file));
  });

  it('with a hostile or damaged report give their figures and no report', async () => {
    using dir = folder();
    const path = await worked(dir.path);
    const file = join(dir.path, 'run', 'reports', reportName(position));
    const report = join(path, bundleReport);
    const good = readFileSync(report);
    const secret = join(dir.path, 'secret');
    writeFileSync(secret, good);
    const spoil: [RegExp, () => void][] = [
      [/is a link/, () => symlinkSync(secret, report)],
      [/is a link/, () => symlinkSync('/dev/zero', report)],
      [/no regular file/, () => execFileSync('mkfifo', [report])],
      [/too large/, () => big(report, 2 ** 40)],
      [/does not hold/, () => writeFileSync(report, good.subarray(1))],
      [/does not hold/, () => writeFileSync(report, good.toString().replace('1', '2'))],
      [/not there/, () => undefined],
    ];
    for (const [why, how] of spoil) {
      rmSync(report, { force: true });
      how();
      const session = profileOf(await done(executor(dir.path), bundle(), file));
      expect(session.report).toMatchObject({ kept: false, reason: expect.stringMatching(why) });
      expect(existsSync(file)).toBe(false);
    }
    rmSync(report, { force: true });
    writeFileSync(report, good);
    expect(profileOf(await done(executor(dir.path), bundle(), file)).report).toEqual(holds(file));
  });

  it('cannot name a file of their own choice', async () => {
    using dir = folder();
    const path = await worked(dir.path);
    const result = JSON.parse(readFileSync(join(path, 'result.json'), 'utf8')).result as JobResult;
    const target = join(dir.path, 'run', 'x.ncu-rep');
    for (const name of ['../../victim.ncu-rep', '/tmp/victim.ncu-rep']) {
      const session = structuredClone(profileOf(result));
      if (session.report?.kept) session.report.file = name;
      const steps = result.steps.map((step) => (step.id === 'profile' ? { ...step, session } : step));
      const taken = await importReport({ ...result, steps }, path, target);
      expect(profileOf(taken).report).toEqual(holds(target));
    }
    // And in a file such a name is refused with the whole result.
    const text = readFileSync(join(path, 'result.json'), 'utf8');
    writeFileSync(join(path, 'result.json'), text.replace(`"file":"${bundleReport}"`, '"file":"../x.ncu-rep"'));
    expect(await executor(dir.path).execute(bundle(), at)).toMatchObject({ kind: 'parked' });
  });
});
