import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sha256Hex } from '../../main/base/hash.ts';
import { BundleExecutor } from '../../main/jobs/bundle.ts';
import { findBundles, readBundle, readResult, writeResult } from '../../main/jobs/bundle-folder.ts';
import { jobHash } from '../../main/jobs/bundle-hash.ts';
import { LocalExecutor } from '../../main/jobs/local.ts';
import { buildStep, bundleOf, folder, tools } from './support.ts';

const bundle = bundleOf({ 'a.cpp': 'int main() { return 0; }', 'b.h': '// é' }, [
  buildStep({ id: 'a', args: ['-o', 'a', 'a.cpp'], inputs: ['a.cpp'], outputs: ['a'] }),
]);
const options = { rootSeed: 'abc1', position: 'r1.a0.eval' };
const executor = (root: string): BundleExecutor =>
  new BundleExecutor({ root, programVersion: '0.1.0', resumeCommand: 'cudamaster resume run-7' });

async function park(root: string, its = bundle, more = {}): Promise<{ path: string; how: string }> {
  const outcome = await executor(root).execute(its, { ...options, ...more });
  if (outcome.kind !== 'parked') throw new Error('not parked');
  return outcome.waiting;
}
/** What a worker does, with the real executor. */
async function work(path: string): Promise<void> {
  const opened = await readBundle(path);
  const outcome = await new LocalExecutor(tools, { buildCacheDir: null }).execute(opened.bundle, options);
  if (outcome.kind === 'done') await writeResult(path, opened.request, outcome.result, '0.1.0');
}
const edit = (path: string, change: (value: Record<string, unknown>) => void): void => {
  const value = JSON.parse(readFileSync(path, 'utf8'));
  change(value);
  writeFileSync(path, JSON.stringify(value));
};
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'ok',
    (fault) => fault.error?.code ?? fault,
  );

describe('BundleExecutor', () => {
  it('names a folder with spaces so that the command can be copied', async () => {
    using root = folder();
    const { path, how } = await park(join(root.path, "it's a folder"));
    expect(how).toContain(`cudamaster worker '${path.replace("'", "'\\''")}'`);
  });

  it('writes a self-contained folder, parks with what to do, and imports the result', async () => {
    using root = folder();
    const { path, how } = await park(root.path);
    expect(how).toContain(`cudamaster worker ${path}`);
    expect(how).toContain('cudamaster resume run-7');
    expect(readFileSync(join(path, 'README.txt'), 'utf8')).toContain('cudamaster worker');
    expect(await park(root.path)).toEqual({ for: 'bundle', path, how });
    // Carried away, run there, carried back.
    using away = folder();
    cpSync(path, join(away.path, 'x'), { recursive: true });
    await work(join(away.path, 'x'));
    cpSync(join(away.path, 'x', 'result.json'), join(path, 'result.json'));
    const outcome = await executor(root.path).execute(bundle, options);
    expect(outcome).toMatchObject({
      kind: 'done',
      result: { jobHash: jobHash(bundle.job), steps: [{ id: 'a', status: 'ok' }] },
    });
  });

  it('keeps other jobs, seeds and positions apart', async () => {
    using root = folder();
    const paths = [
      await park(root.path),
      await park(root.path, bundleOf({ 'a.cpp': 'int main() { return 1; }' }, bundle.job.steps)),
      await park(root.path, bundle, { rootSeed: 'abc2' }),
      await park(root.path, bundle, { position: 'r2.a0.eval' }),
    ].map((waiting) => waiting.path);
    expect(new Set(paths).size).toBe(4);
    await work(paths[0] as string);
    cpSync(join(paths[0] as string, 'result.json'), join(paths[2] as string, 'result.json'));
    expect((await park(root.path, bundle, { rootSeed: 'abc2' })).how).toContain('answers another job');
  });

  it('mends a damaged folder of its own', async () => {
    using root = folder();
    const { path } = await park(root.path);
    writeFileSync(join(path, 'job.json'), '{');
    await park(root.path);
    expect((await readBundle(path)).request.jobHash).toBe(jobHash(bundle.job));
  });

  it('waits again for a job whose result led to no verdict; the result is kept beside', async () => {
    using root = folder();
    const { path, how } = await park(root.path);
    await executor(root.path).discard(bundle, options);
    await work(path);
    await executor(root.path).discard(bundle, options);
    expect(await park(root.path)).toEqual({ for: 'bundle', path, how });
    expect(readdirSync(path).filter((name) => name.startsWith('result'))).toEqual([
      expect.stringMatching(/^result\.bad-\d+\.json$/),
    ]);
    await work(path);
    expect((await executor(root.path).execute(bundle, options)).kind).toBe('done');
  });

  it('refuses the result of a newer program; sets aside one that is broken or answers something else, and waits on', async () => {
    using root = folder();
    const { path } = await park(root.path);
    await work(path);
    const file = join(path, 'result.json');
    const good = readFileSync(file, 'utf8');
    const ask = () => executor(root.path).execute(bundle, options);
    expect(await code(ask())).toBe('ok');
    for (const change of [
      (v: Record<string, unknown>) => Object.assign(v, { version: 99, result: { later: true } }),
      (v: Record<string, unknown>) => Object.assign(v.result as object, { version: 99 }),
    ]) {
      writeFileSync(file, good);
      edit(file, change);
      expect(await code(ask())).toBe('format.newer');
      expect(existsSync(file)).toBe(true);
    }
    const spoil: [RegExp, () => void][] = [
      [/steps/, () => edit(file, (v) => Object.assign(v.result as object, { steps: 'none' }))],
      [/format/, () => edit(file, (v) => Object.assign(v, { format: 'something' }))],
      [/another job/, () => edit(file, (v) => Object.assign(v.result as object, { jobHash: 'f'.repeat(64) }))],
      [/another job/, () => edit(file, (v) => Object.assign(v, { requestHash: 'f'.repeat(64) }))],
      [/steps/, () => edit(file, (v) => Object.assign(v.result as object, { steps: [] }))],
      [/no JSON/, () => writeFileSync(file, good.slice(0, 100))],
      [/no JSON/, () => writeFileSync(file, '')],
    ];
    for (const [why, change] of spoil) {
      writeFileSync(file, good);
      change();
      const spoilt = readFileSync(file, 'utf8');
      const outcome = await ask();
      if (outcome.kind !== 'parked') throw new Error('a broken result was taken');
      expect(outcome.waiting.how).toMatch(why);
      const aside = /set aside as (\S+);/.exec(outcome.waiting.how)?.[1] ?? '';
      expect(readFileSync(aside, 'utf8')).toBe(spoilt);
      expect(outcome.waiting.how).toContain('cudamaster worker');
      rmSync(aside);
    }
    writeFileSync(file, good);
    expect(await code(ask())).toBe('ok');
  });

  it('waits on with a broken result that cannot be set aside, and says what to do; what was set aside outlives mending', async () => {
    using root = folder();
    const { path } = await park(root.path);
    const file = join(path, 'result.json');
    writeFileSync(file, '{');
    // In the place of a folder that cannot be written, which root can: a name that is taken by a folder with something in it.
    const now = vi.spyOn(Date, 'now').mockReturnValue(7);
    onTestFinished(() => void now.mockRestore());
    mkdirSync(join(path, 'result.bad-7.json', 'x'), { recursive: true });
    const { how } = await park(root.path);
    expect(how).toContain('is no JSON');
    expect(how).toContain(`remove ${file} yourself`);
    expect(readFileSync(file, 'utf8')).toBe('{');
    now.mockReturnValue(8);
    // Copied back in part: the bundle is made anew, the broken result kept.
    rmSync(join(path, 'job.json'));
    await park(root.path);
    expect(readFileSync(join(path, 'result.bad-8.json'), 'utf8')).toBe('{');
    expect(await code(readBundle(path))).toBe('ok');
  });

  it('sweeps what a writer that was killed left behind, not what a living one is writing', async () => {
    using root = folder();
    const { path } = await park(root.path);
    const name = path.slice(root.path.length + 1);
    const dead = join(root.path, `.${name}.4194305.tmp`);
    const living = join(root.path, `.${name}.1.tmp`);
    const half = join(root.path, 'files', '.4194305-0123456789ab.tmp');
    const young = join(root.path, 'files', '.4194306-0123456789ab.tmp');
    mkdirSync(join(root.path, 'files'));
    for (const dir of [dead, living]) mkdirSync(dir);
    for (const name of [half, young]) writeFileSync(name, '');
    const longAgo = Date.now() / 1000 - 7200;
    utimesSync(half, longAgo, longAgo);
    // The bundle itself is there: its writer was killed after another one had written it.
    await park(root.path);
    const left = () => [dead, living, half, young].map((name) => existsSync(name));
    expect(left()).toEqual([false, true, false, true]);
    rmSync(path, { recursive: true });
    await park(root.path);
    expect([...left(), existsSync(join(path, 'request.json'))]).toEqual([false, true, false, true, true]);
    // Nobody writes one for two hours: the number belongs to another process by now.
    utimesSync(living, longAgo, longAgo);
    await park(root.path);
    expect(existsSync(living)).toBe(false);
  });
});

describe('readBundle treats what it reads as untrusted', () => {
  async function fresh(): Promise<{ path: string; [Symbol.dispose](): void }> {
    const root = folder();
    const { path } = await park(root.path);
    return { path, [Symbol.dispose]: root[Symbol.dispose] };
  }
  const hashes = Object.values(bundle.job.files);

  it('reads what was written, byte for byte', async () => {
    using it = await fresh();
    const opened = await readBundle(it.path);
    expect(opened.bundle.job).toEqual(bundle.job);
    expect(opened.bundle.contents).toEqual(bundle.contents);
  });

  it('refuses wrong contents, missing files, links, folders and pipes in their place', async () => {
    const file = `files/${hashes[0]}`;
    const spoil: ((path: string) => void)[] = [
      (path) => writeFileSync(join(path, file), 'int main() { return 9; }'),
      (path) => rmSync(join(path, file)),
      (path) => {
        renameSync(join(path, file), join(path, 'moved'));
        symlinkSync('../moved', join(path, file));
      },
      (path) => {
        rmSync(join(path, file));
        mkdirSync(join(path, file));
      },
      (path) => {
        renameSync(join(path, 'files'), join(path, 'moved'));
        symlinkSync('moved', join(path, 'files'));
      },
      (path) => rmSync(join(path, 'request.json')),
      (path) => {
        rmSync(join(path, 'job.json'));
        symlinkSync('/etc/passwd', join(path, 'job.json'));
      },
    ];
    for (const change of spoil) {
      using it = await fresh();
      change(it.path);
      expect(await code(readBundle(it.path))).toBe('input.bundle');
    }
  });

  it('refuses jobs whose names lead out of scratch, though all hashes fit', async () => {
    const evil = { ...bundle.job, files: { '../../.bashrc': hashes[0] as string } };
    const evilStep = bundleOf({}, [buildStep({ id: 'a', args: [], outputs: ['/etc/cron.d/x'] })]).job;
    for (const job of [evil, evilStep]) {
      using it = await fresh();
      writeFileSync(join(it.path, 'job.json'), JSON.stringify(job));
      edit(join(it.path, 'request.json'), (v) => Object.assign(v, { jobHash: jobHash(job) }));
      expect(await code(readBundle(it.path))).toBe('input.bundle');
    }
  });

  it('refuses a job with fields of another build: it would run something else', async () => {
    using it = await fresh();
    const job = { ...bundle.job, laterField: 1 };
    writeFileSync(join(it.path, 'job.json'), JSON.stringify(job));
    edit(join(it.path, 'request.json'), (v) => Object.assign(v, { jobHash: jobHash(job) }));
    expect(await code(readBundle(it.path))).toBe('format.newer');
  });

  it('refuses a job that the request does not name, and newer formats by name', async () => {
    using it = await fresh();
    edit(join(it.path, 'job.json'), (v) => Object.assign(v, { label: 'other' }));
    expect(await code(readBundle(it.path))).toBe('input.bundle');
    edit(join(it.path, 'job.json'), (v) => Object.assign(v, { version: 99, steps: 'new' }));
    expect(await code(readBundle(it.path))).toBe('format.newer');
    edit(join(it.path, 'request.json'), (v) => Object.assign(v, { version: 99 }));
    expect(await code(readBundle(it.path))).toBe('format.newer');
    expect(sha256Hex('')).toHaveLength(64);
  });

  it('finds bundles in a folder of folders, and says when there are none', async () => {
    using root = folder();
    const a = (await park(root.path)).path;
    const b = (await park(root.path, bundle, { position: 'r2.a0.eval' })).path;
    mkdirSync(join(root.path, 'other'));
    expect(await findBundles(root.path)).toEqual([a, b].sort());
    expect(await findBundles(a)).toEqual([a]);
    expect(await code(findBundles(join(root.path, 'other')))).toBe('input.bundle');
    expect(await code(findBundles(join(root.path, 'absent')))).toBe('input.bundle');
  });

  it('has no result before a worker ran', async () => {
    using it = await fresh();
    const { request } = await readBundle(it.path);
    expect(await readResult(it.path, request, bundle)).toBeNull();
  });
});
