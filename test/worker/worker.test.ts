import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { ToolPaths } from '../../main/contract/index.ts';
import { BundleExecutor } from '../../main/jobs/bundle.ts';
import { runWorker } from '../../main/worker/worker.ts';
import { buildStep, bundleOf, folder, tools } from '../jobs/support.ts';

const root = folder();
afterAll(() => root[Symbol.dispose]());

async function makeBundle(dir: string, position: string, source: string, more = {}): Promise<string> {
  const bundle = bundleOf({ 'a.cpp': source }, [
    buildStep({ id: 'a', args: ['-o', 'a', 'a.cpp'], inputs: ['a.cpp'], outputs: ['a'], untrusted: false, ...more }),
  ]);
  const executor = new BundleExecutor({ root: dir, programVersion: '0', resumeCommand: 'resume' });
  const outcome = await executor.execute(bundle, { rootSeed: 'ab', position });
  if (outcome.kind !== 'parked') throw new Error('not parked');
  return outcome.waiting.path;
}

async function worker(args: string[], its: ToolPaths = tools, signal?: AbortSignal) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runWorker(args, {
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    tools: async () => its,
    signal,
    settings: { buildCacheDir: join(root.path, 'cache'), lockDir: join(root.path, 'locks') },
  });
  return { code, out, err: err.join('\n') };
}
const lines = (out: string[]): Record<string, unknown>[] => out.map((line) => JSON.parse(line));

describe('worker', () => {
  it('runs every bundle of a folder, writes results, keeps finished ones, --again runs them anew', async () => {
    using dir = folder();
    const paths = [
      await makeBundle(dir.path, 'r1.a0.eval', 'int main() { return 0; }'),
      await makeBundle(dir.path, 'r1.a1.eval', 'int main() { return nothing; }'),
    ];
    // Of a worker that was killed while it wrote.
    writeFileSync(join(paths[0] as string, '.4194305-0123456789ab.tmp'), '');
    const first = await worker(['--json', dir.path]);
    expect(first.code).toBe(0);
    expect(lines(first.out).at(-1)).toEqual({ ok: true, value: { done: 2, kept: 0, failed: 0 } });
    for (const path of paths) expect(existsSync(join(path, 'result.json'))).toBe(true);
    // Nothing else is left: the folder is copied back as it is.
    expect(readdirSync(paths[0] as string).sort()).toEqual([
      'README.txt',
      'files',
      'job.json',
      'request.json',
      'result.json',
    ]);
    // A compile error is a result: the run that waits must see it.
    const second = JSON.parse(readFileSync(join(paths[1] as string, 'result.json'), 'utf8'));
    expect(second.result.steps[0]).toMatchObject({ status: 'failed' });
    expect(second.result.machine.containment).toBe('bubblewrap');
    const kept = await worker(['--json', dir.path]);
    expect(lines(kept.out).at(-1)).toMatchObject({ value: { done: 0, kept: 2 } });
    const again = await worker(['--again', ...paths]);
    expect(again.out).toEqual(['2 done, 0 kept, 0 failed']);
  });

  it('--part deals the bundles over several workers: each runs its own, together all', async () => {
    using dir = folder();
    const paths: string[] = [];
    for (const i of [0, 1, 2]) paths.push(await makeBundle(dir.path, `r${i}.a0.eval`, `int main() { return ${i}; }`));
    const done = async (part: string): Promise<string[]> => {
      const { code, out } = await worker(['--json', '--part', part, dir.path]);
      expect(code).toBe(0);
      return lines(out).flatMap((line) => (line.type === 'bundle' ? [line.folder as string] : []));
    };
    const [first, second] = [await done('1/2'), await done('2/2')];
    expect([first.length, second.length]).toEqual([2, 1]);
    expect([...first, ...second].sort()).toEqual([...paths].sort());
    for (const path of paths) expect(existsSync(join(path, 'result.json'))).toBe(true);
    const none = await worker(['--part', '4/4', dir.path]);
    expect(none.code).toBe(0);
    expect(none.err).toContain('None of the 3 bundles falls to this worker.');
    for (const part of ['0/2', '3/2', '1', '1/0', 'x/2', '-1/2']) {
      const refused = await worker([`--part=${part}`, dir.path]);
      expect(refused.code, part).toBe(2);
      expect(refused.err, part).toContain('expected K/N with K from 1 to N');
    }
  });

  it('--list reads every bundle and runs none; a damaged one and a folder without any are told at once', async () => {
    using dir = folder();
    const paths = [
      await makeBundle(dir.path, 'r1.a0.eval', 'int main() { return 1; }'),
      await makeBundle(dir.path, 'r2.a0.eval', 'int main() { return 2; }'),
    ].sort();
    const good = await worker(['--list', dir.path]);
    expect(good.code).toBe(0);
    expect(good.out.map((line) => line.split('  ')[0])).toEqual(paths);
    expect(lines((await worker(['--list', '--json', '--part', '2/2', dir.path])).out)).toMatchObject([
      { type: 'bundle', folder: paths[1] },
      { ok: true, value: { bundles: 1 } },
    ]);
    for (const path of paths) expect(existsSync(join(path, 'result.json'))).toBe(false);
    const files = join(paths[0] as string, 'files');
    const wrong = await worker(['--list', files]);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain('it holds no request.json');
    writeFileSync(join(files, readdirSync(files)[0] as string), 'something else');
    const damaged = await worker(['--list', dir.path]);
    expect(damaged.code).toBe(2);
    expect(damaged.err).toContain('not whole');
    expect(damaged.out).toHaveLength(1);
  });

  it('contains even what the bundle calls trusted: a build sees nothing of this machine', async () => {
    using dir = folder();
    const secret = join(dir.path, 'secret.h');
    writeFileSync(secret, '#define SECRET 1\n');
    const path = await makeBundle(dir.path, 'p', `#include "${secret}"\nint main() { return SECRET; }`);
    await worker([path]);
    const { result } = JSON.parse(readFileSync(join(path, 'result.json'), 'utf8'));
    expect(result.steps[0].status).toBe('failed');
    expect(result.steps[0].stderr).toContain('secret.h: No such file');
  });

  it('does not run code without a sandbox unless trusted', async () => {
    using dir = folder();
    const path = await makeBundle(dir.path, 'p', 'int main() {}');
    const bare = { ...tools, bwrap: null };
    const refused = await worker(['--json', path], bare);
    expect(refused.code).toBe(2);
    expect(lines(refused.out).at(-1)).toMatchObject({ ok: false, error: { code: 'trust.required' } });
    expect(existsSync(join(path, 'result.json'))).toBe(false);
    expect((await worker(['--trust', path], bare)).code).toBe(0);
  });

  it('leaves no result that only says that this machine cannot', async () => {
    using dir = folder();
    const path = await makeBundle(dir.path, 'p', 'int main() {}', { tool: 'nvcc' });
    const ended = await worker(['--json', path], { ...tools, nvcc: null });
    expect(ended.code).toBe(3);
    expect(lines(ended.out).at(-1)).toMatchObject({ ok: false, error: { code: 'env.toolkit-missing' } });
    expect(readdirSync(path)).not.toContain('result.json');
  });

  it('goes on with the others when one bundle is bad', async () => {
    using dir = folder();
    const good = await makeBundle(dir.path, 'good', 'int main() {}');
    const bad = await makeBundle(dir.path, 'bad', 'int main() { return 1; }');
    writeFileSync(join(bad, 'job.json'), '{}');
    const ended = await worker(['--json', dir.path]);
    expect(ended.code).toBe(2);
    expect(lines(ended.out).at(-1)).toMatchObject({ ok: false, value: { done: 1, failed: 1 } });
    expect(existsSync(join(good, 'result.json'))).toBe(true);
  });

  it('answers usage errors with 2 and help with 0', async () => {
    expect((await worker([])).code).toBe(2);
    expect((await worker(['--nonsense', 'x'])).code).toBe(2);
    expect((await worker(['/no/such/folder'])).code).toBe(2);
    expect((await worker(['--help'])).out.join()).toContain('--self-test');
  });

  it('is cancelled with 130 and no result', async () => {
    using dir = folder();
    const endless =
      'constexpr long f() { long s = 0; for (long i = 0; i < (1L << 60); ++i) s += i; return s; }\nconstexpr long x = f();\nint main() {}';
    const args = ['-fconstexpr-loop-limit=2147483647', '-fconstexpr-ops-limit=9223372036854775807', '-o', 'a', 'a.cpp'];
    const path = await makeBundle(dir.path, 'p', endless, { args });
    const cancel = new AbortController();
    setTimeout(() => cancel.abort(), 800);
    expect((await worker([path], tools, cancel.signal)).code).toBe(130);
    expect(existsSync(join(path, 'result.json'))).toBe(false);
  });

  it('proves compilers and sandbox by doing it', async () => {
    const ended = await worker(['--self-test', '--json']);
    const checks = lines(ended.out).filter((line) => line.type === 'check');
    const bad = checks.filter((check) => !check.ok).map((check) => check.id);
    expect(bad).toEqual(tools.nvcc === null ? ['gpu-probe', 'gpu'] : ['gpu']);
    expect(checks.map((check) => check.id)).toEqual(
      expect.arrayContaining(['hides-passwords', 'no-network', 'scratch-writable']),
    );
    expect(ended.code).toBe(3);
  });
});

describe('worker as a program', () => {
  it('starts from its entry file, keeps stdout to JSON Lines, stops on Ctrl-C', async () => {
    const entry = join(import.meta.dirname, '../../main/worker/main.ts');
    const home = join(root.path, 'home');
    const start = (args: string[]) => {
      const env = { ...process.env, CUDAMASTER_HOME: home };
      const child = spawn(process.execPath, [entry, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '';
      child.stdout.on('data', (chunk) => {
        out += chunk;
      });
      const ended = new Promise<{ code: number | null; out: string }>((done) =>
        child.on('close', (code) => done({ code, out })),
      );
      return { child, ended };
    };
    const wrong = await start(['worker', '--json', '/no/such']).ended;
    expect(wrong.code).toBe(2);
    expect(JSON.parse(wrong.out)).toMatchObject({ ok: false, error: { code: 'input.bundle' } });
    using dir = folder();
    const endless =
      'constexpr long f() { long s = 0; for (long i = 0; i < (1L << 60); ++i) s += i; return s; }\nconstexpr long x = f();\nint main() {}';
    const args = ['-fconstexpr-loop-limit=2147483647', '-fconstexpr-ops-limit=9223372036854775807', '-o', 'a', 'a.cpp'];
    const path = await makeBundle(dir.path, 'p', endless, { args });
    const running = start([path]);
    await new Promise<void>((ready) => {
      running.child.stderr.on('data', (chunk) => {
        if (String(chunk).includes('[1/1] a')) ready();
      });
      running.child.on('close', () => ready());
    });
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
  });
});
