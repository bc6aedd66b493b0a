/** `bench resume` at the command line: what it refuses, and a bench that lies where nothing can be written. */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApp } from '../../main/app/index.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { root } from '../app/lab.ts';
import { benchResult } from '../bench/lab.ts';
import { entry, inProcess } from './program.ts';

let home: string;
let finished: string;
const before = process.env.CUDAMASTER_HOME;
beforeAll(async () => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'cm-cli-bench-')));
  process.env.CUDAMASTER_HOME = home;
  finished = join(home, 'finished');
  const app = createApp({ root });
  const ctx = { emit: () => undefined };
  const what = { tasks: ['dot_product', 'RELU'], dtypes: ['fp32'] as const, sizes: ['published'] as const };
  await app.bench({ ...what, profile: false, library: true, executor: 'bundle', out: finished }, ctx);
  const at = join(finished, 'bundles/published');
  for (const name of readdirSync(at).filter((n) => n !== 'files')) {
    const { request, bundle } = await readBundle(join(at, name));
    await writeResult(join(at, name), request, benchResult(bundle), '0.1.0');
  }
  expect(await app.resumeBench({ bench: finished }, ctx)).toMatchObject({ ok: true, value: { done: 2 } });
}, 60_000);
afterAll(() => {
  process.env.CUDAMASTER_HOME = before;
  if (before === undefined) delete process.env.CUDAMASTER_HOME;
  rmSync(home, { recursive: true, force: true });
});

const errorOf = (last: Record<string, unknown>) =>
  (last as { error: { code: string; message: string; remedy: string } }).error;

it('what a bench was begun with cannot be changed by going on with it: the option is named', async () => {
  const cases: [string[], string][] = [
    [['--resume', finished, '--task', 'RELU'], '--task'],
    [['--resume', finished, '--no-library', '--sizes', 'large'], '--sizes, --no-library'],
    [['--profile', 'resume', finished], '--profile'],
    [['resume', finished, '--dtype', 'fp32'], '--dtype'],
  ];
  for (const [args, names] of cases) {
    const { code, last } = await inProcess('bench', ...args, '--json');
    expect([code, errorOf(last).code], args.join(' ')).toEqual([2, 'usage']);
    expect(errorOf(last).message).toContain(`${names} cannot be given to a bench that is gone on with`);
    expect(errorOf(last).remedy).toContain(`Leave ${names} out`);
  }
  for (const args of [
    ['--resume', finished],
    ['resume', finished],
  ])
    expect((await inProcess('bench', ...args, '--json')).code).toBe(0);
  // Not refused for being there: for what it names.
  const results = await inProcess('bench', '--resume', finished, '--results', join(home, 'nowhere'), '--json');
  expect(errorOf(results.last).code).toBe('input.file');
});

/** The program where nothing but a new data folder can be written. */
function boxed(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const data = mkdtempSync(join(home, 'data-'));
  const box = ['--ro-bind', '/', '/', '--bind', data, data, '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/dev/shm'];
  const env = { ...process.env, CUDAMASTER_HOME: data, CUDA_VISIBLE_DEVICES: '' };
  const child = spawn('/usr/bin/bwrap', [...box, process.execPath, entry, ...args], { env });
  const texts = { out: '', err: '' };
  child.stdout.on('data', (d: Buffer) => {
    texts.out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    texts.err += d;
  });
  return new Promise((done) => child.on('close', (code) => done({ code, ...texts })));
}

it('a bench where nothing can be written is shown, finished or not, and left as it is', async () => {
  const stamp = (dir: string): string[] =>
    readdirSync(dir, { recursive: true, encoding: 'utf8' })
      .sort()
      .map((name) => `${name} ${statSync(join(dir, name)).mtimeMs}`);
  const as = stamp(finished);
  const whole = await boxed('bench', 'resume', finished);
  expect(whole.code, whole.err + whole.out).toBe(0);
  expect(whole.out).toContain(': 2 of 2 measured\n');
  expect(whole.out).toContain(join(finished, 'report.html'));
  expect(whole.err).toContain(`The folder ${finished} cannot be written. Nothing is measured, taken in or written`);
  expect(stamp(finished)).toEqual(as);

  const part = join(home, 'part');
  cpSync(finished, part, { recursive: true });
  rmSync(join(part, 'results/published.RELU.fp32.json'));
  const half = await boxed('bench', 'resume', part, '--json');
  expect(half.code, half.err).toBe(3);
  const last = JSON.parse(half.out.trimEnd().split('\n').at(-1) ?? '');
  expect(last).toMatchObject({ done: 1, cells: 2, missing: ['published.RELU.fp32'], readOnly: true });
  const taking = await boxed('bench', 'resume', part, '--results', finished, '--json');
  expect(taking.code).toBe(3);
  expect(taking.out).toContain('env.not-writable');
  expect(readFileSync(join(part, 'report.json'), 'utf8')).toBe(readFileSync(join(finished, 'report.json'), 'utf8'));
}, 120_000);
