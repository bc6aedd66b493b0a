import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runSummarySchema } from '../../main/contract/index.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { Connection } from '../../main/store/db/connection.ts';
import { candidate, reply, resultFor, root } from '../app/lab.ts';

// Each test starts many programs: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 240_000 });

const entry = join(root, 'main/cli/entry.js');

function tempHome(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cm-cli-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** stdout as JSON Lines; fails when a line is no JSON. */
  readonly lines: Record<string, unknown>[];
  readonly last: Record<string, unknown>;
}

function start(
  home: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): { child: ChildProcess; ran: Promise<Ran> } {
  const child = spawn(process.execPath, [entry, ...args], {
    env: { ...process.env, CUDAMASTER_HOME: home, FORCE_COLOR: '', CUDA_VISIBLE_DEVICES: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    err += d;
  });
  const ran = new Promise<Ran>((resolve) =>
    child.on('close', (code) => {
      // Neither stream is a terminal: no escape sequence, ever.
      expect(out + err).not.toContain('\u001b');
      const parse = () =>
        out
          .trimEnd()
          .split('\n')
          .map((l) => JSON.parse(l) as Record<string, unknown>);
      resolve({
        code,
        out,
        err,
        get lines() {
          return parse();
        },
        get last() {
          return parse().at(-1) ?? {};
        },
      });
    }),
  );
  return { child, ran };
}
const cli = (home: string, ...args: string[]): Promise<Ran> => start(home, args).ran;
const codeOf = (ran: Ran): unknown => (ran.last.error as { code?: string } | undefined)?.code;

/** Does what `cudamaster worker` would do on a machine with a GPU. */
async function work(folder: string): Promise<void> {
  const { request, bundle } = await readBundle(folder);
  await writeResult(folder, request, resultFor(bundle), 'lab');
}
const bundleOf = (ran: Ran): string => /^Waiting: (.*)$/m.exec(ran.out)?.[1] ?? '';

/** A server that takes requests and never answers. */
async function silentServer(): Promise<{ baseUrl: string; asked: () => number }> {
  let asked = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') response.writeHead(404).end();
    else asked++;
  });
  await new Promise<void>((r) => server.listen(0, '127.0.0.1', r));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked: () => asked };
}

describe('the first thing that runs', () => {
  it('names the Node it needs, with --json as JSON, in syntax that old Nodes read', () => {
    const home = tempHome();
    const preload = join(home, 'old.mjs');
    writeFileSync(
      preload,
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '16.20.2' } });",
    );
    const run = (...args: string[]) => {
      try {
        execFileSync(process.execPath, ['--import', pathToFileURL(preload).href, entry, ...args], {
          encoding: 'utf8',
          stdio: 'pipe',
        });
      } catch (error) {
        return error as { status: number; stdout: string; stderr: string };
      }
      throw new Error('it started');
    };
    const plain = run('runs');
    expect([plain.status, plain.stdout]).toEqual([3, '']);
    expect(plain.stderr).toMatch(/needs Node 22\.12 or newer; this is Node 16\.20\.2/);
    expect(JSON.parse(run('runs', '--json').stdout).error.code).toBe('env.node-version');
    const source = readFileSync(entry, 'utf8').replace(/\/\/.*$/gm, '');
    expect(source).not.toMatch(/=>|`|\?\.|\?\?|\b(?:const|let|async|await|class)\b|^import /m);
  });

  it('answers usage errors with code 2, on stdout only as JSON', async () => {
    const home = tempHome();
    const unknown = await cli(home, 'bogus', '--json');
    expect([unknown.code, codeOf(unknown), unknown.lines.length]).toEqual([2, 'usage', 1]);
    const none = await cli(home);
    expect([none.code, none.out]).toEqual([2, '']);
    const key = await cli(
      home,
      'optimize',
      'dot_product',
      '--provider',
      'openai',
      '--model',
      'm',
      '--key-env',
      'sk-abcdefgh12345678',
    );
    expect(key.code).toBe(2);
    expect(key.err).not.toContain('abcdefgh');
    const help = await cli(home, 'optimize', '--help');
    expect(help.code).toBe(0);
    for (const option of [
      '--provider',
      '--rounds',
      '--debug-attempts',
      '--max-usd',
      '--start-from',
      '--executor',
      '--json',
    ])
      expect(help.out).toContain(option);
  });
});

describe('errors', () => {
  it('carry the exit code of the catalogue, and say what to do', async () => {
    const home = tempHome();
    const bad = join(home, 'bad.json');
    writeFileSync(bad, '{"format":"cudamaster-recording","version":99}');
    const source = join(home, 'x.cu');
    writeFileSync(source, candidate('1.5'));
    const cases: [string[], number, string][] = [
      [['eval', 'dot_product', '--candidate', join(home, 'none.cu')], 2, 'input.file'],
      [['eval', 'no_such_task', '--candidate', source], 2, 'input.task'],
      [['show', 'last'], 7, 'store.not-found'],
      [['replay', bad], 2, 'format.newer'],
      [['resume', 'nothing'], 7, 'store.not-found'],
      [['optimize', 'dot_product', '--provider', 'openai', '--model', 'm', '--local-only'], 5, 'provider.local-only'],
      // A limit on money that nothing could reach: no price is known.
      [['optimize', 'dot_product', '--provider', 'ollama', '--model', 'm', '--max-usd', '1'], 2, 'usage'],
      [['optimize', 'dot_product', '--provider', 'manual', '--max-usd', '1'], 2, 'usage'],
    ];
    for (const [args, code, name] of cases) {
      const ran = await cli(home, ...args, '--json');
      expect([args.join(' '), ran.code, codeOf(ran)]).toEqual([args.join(' '), code, name]);
    }
    const noKey = await start(home, ['optimize', 'dot_product', '--provider', 'openai', '--model', 'm'], {
      OPENAI_API_KEY: '',
    }).ran;
    expect(noKey.code).toBe(5);
    expect(noKey.err).toMatch(/Error \(provider\.auth\): .*OPENAI_API_KEY[\s\S]*What to do: /);
    // No GPU can be seen: the environment's fault, not the candidate's.
    const gpu = await cli(home, 'eval', 'dot_product', '--candidate', source, '--json');
    expect(gpu.code).toBe(3);
    expect(String(codeOf(gpu))).toMatch(/^env\./);
  });

  it('of the history: damaged, newer, not writable', async () => {
    const home = tempHome();
    mkdirSync(join(home, 'data'));
    const file = join(home, 'data', 'history.db');
    writeFileSync(file, Buffer.alloc(5000, 'junk'));
    const damaged = await cli(home, 'runs', '--json');
    expect([damaged.code, damaged.lines[0]?.type, damaged.last]).toEqual([0, 'notice', { runs: [] }]);
    expect(String(damaged.lines[0]?.message)).toContain('set aside');
    expect(readdirSync(join(home, 'data')).some((n) => n.includes('.damaged-'))).toBe(true);
    const c = await Connection.open(file, { busyMs: 1000 });
    await c.run('PRAGMA user_version = 7');
    await c.close();
    const newer = await cli(home, 'runs');
    expect(newer.code).toBe(2);
    expect(newer.err).toContain('written by a newer CUDAMaster (history format 7');

    const locked = tempHome();
    chmodSync(locked, 0o500);
    // root may write everywhere but below a file
    const place = process.getuid?.() === 0 ? join(entry, 'below') : locked;
    const refused = await cli(place, 'runs', '--json');
    expect([refused.code, codeOf(refused)]).toEqual([3, 'env.not-writable']);
    chmodSync(locked, 0o700);
  });
});

describe('a run carried by hand', () => {
  it('parks for bundles and answers, says how to go on, is recorded and replayed', async () => {
    const home = tempHome();
    const begun = await cli(
      home,
      'optimize',
      'dot_product',
      '--provider',
      'manual',
      '--executor',
      'bundle',
      '--rounds',
      '1',
      '--debug-attempts',
      '0',
    );
    expect(begun.code).toBe(75);
    const run = /^Run (\S+)/m.exec(begun.out)?.[1] ?? '';
    expect(begun.out).toContain(`cudamaster resume ${run}`);
    await work(bundleOf(begun));

    let ran = await cli(home, 'resume', run);
    const asked: string[] = [];
    while (ran.code === 75 && bundleOf(ran).endsWith('.prompt.md')) {
      const prompt = bundleOf(ran);
      asked.push(prompt.replace(/^.*\/\d+-/, ''));
      expect(ran.out).toContain(`cudamaster resume ${run} --answer FILE`);
      const file = join(home, 'answer.txt');
      writeFileSync(
        file,
        reply(readFileSync(prompt, 'utf8').replaceAll('lab-scheme', 'lab-scheme')).replace('lab: wrong', 'lab: 1.5'),
      );
      ran = await cli(home, 'resume', run, '--answer', file);
    }
    expect(asked).toEqual(['r1.planner.prompt.md', 'r1.a0.coder.prompt.md', 'r1.a0.compiler.prompt.md']);
    expect(ran.code).toBe(75);
    await work(bundleOf(ran));
    const done = await cli(home, 'resume', run, '--json');
    expect(done.code).toBe(0);
    const summary = runSummarySchema.strict().parse(done.last);
    expect([summary.status, summary.best.verified, summary.rounds[0]?.accepted]).toEqual(['done', true, true]);

    const shown = await cli(home, 'show', run, '--json');
    expect(shown.lines).toEqual([summary]);
    const text = await cli(home, 'show', 'last');
    expect(text.out).toMatch(/P = 1\.5\d\d× \[/);
    expect(text.out).toMatch(/N=1048576 .*ms \[/);
    expect(statSync(/(\S+best\.cu)/.exec(text.out)?.[1] ?? '').size).toBeGreaterThan(100);
    const again = await cli(home, 'resume', run, '--json');
    expect([again.code, again.last]).toEqual([0, summary]);

    const file = join(home, 'rec.json');
    expect((await cli(home, 'record', run, '--out', file, '--json')).last).toMatchObject({ steps: 5 });
    const replayed = await cli(home, 'replay', file, '--strict', '--json');
    expect(replayed.code).toBe(0);
    expect(replayed.last).toEqual({ ...summary, run: replayed.last.run });
    expect(
      replayed.lines.slice(0, -1).every((l) => ['run', 'event', 'progress', 'notice'].includes(String(l.type))),
    ).toBe(true);
  });

  it('is refused to a second driver, and ends at Ctrl-C with its state saved', async () => {
    const home = tempHome();
    const { baseUrl, asked } = await silentServer();
    const begun = await cli(
      home,
      'optimize',
      'dot_product',
      '--provider',
      'compatible',
      '--model',
      'm',
      '--base-url',
      baseUrl,
      '--executor',
      'bundle',
    );
    await work(bundleOf(begun));
    const first = start(home, ['resume', 'last', '--json']);
    while (asked() === 0) await pause(20);
    const second = await cli(home, 'resume', 'last', '--json');
    expect([second.code, codeOf(second)]).toEqual([7, 'store.lease']);
    first.child.kill('SIGINT');
    const ended = await first.ran;
    expect([ended.code, runSummarySchema.parse(ended.last).status]).toEqual([130, 'cancelled']);
    const runs = await cli(home, 'runs', '--json');
    expect((runs.last.runs as { status: string }[]).map((r) => r.status)).toEqual(['cancelled']);
  });
});

it('escape sequences from files do not reach the terminal, and settings that cannot be read are not taken for none', async () => {
  const home = tempHome();
  const evil = 'dot\u001b]0;title\u0007\u009b2J';
  const recording = await cli(home, 'replay', join(home, evil));
  expect([recording.code, recording.err.includes('\u009b')]).toEqual([2, false]);
  mkdirSync(join(home, 'config', 'settings.json'), { recursive: true });
  const run = await cli(home, 'optimize', 'dot_product', '--executor', 'bundle', '--json');
  expect([run.code, codeOf(run)]).toEqual([2, 'format.invalid']);
  const arch = await cli(tempHome(), 'optimize', 'dot_product', '--executor', 'bundle', '--arch', '../x', '--json');
  expect([arch.code, codeOf(arch)]).toEqual([2, 'usage']);
});

describe('one history', () => {
  it('serves several processes at once', async () => {
    const home = tempHome();
    const source = join(home, 'x.cu');
    writeFileSync(source, candidate('1.5'));
    const all = await Promise.all(
      [1, 2, 3].map(() => cli(home, 'eval', 'dot_product', '--candidate', source, '--executor', 'bundle', '--json')),
    );
    expect(all.map((r) => r.code)).toEqual([75, 75, 75]);
    const listed = (await cli(home, 'runs', '--json')).last.runs as { id: string; status: string }[];
    expect(new Set(listed.map((r) => r.id)).size).toBe(3);
    expect(listed.map((r) => r.status)).toEqual(['parked', 'parked', 'parked']);
  });

  it('keeps an evaluation, whose exit code tells acceptance', async () => {
    const home = tempHome();
    const source = join(home, 'x.cu');
    const outcome = async (lab: string) => {
      writeFileSync(source, candidate(lab));
      const begun = await cli(home, 'eval', 'dot_product', '--candidate', source, '--executor', 'bundle');
      await work(bundleOf(begun));
      return cli(home, 'resume', 'last', '--json');
    };
    // resume answers with the run's summary; the verdict is in it
    const accepted = await outcome('1.5');
    expect([accepted.code, accepted.last]).toMatchObject([0, { status: 'done', best: { verified: true } }]);
    const wrong = await outcome('wrong');
    expect([wrong.code, wrong.last]).toMatchObject([4, { rounds: [{ attempts: [{ outcome: 'wrong-result' }] }] }]);
    expect((await outcome('0.8')).code).toBe(4);
    writeFileSync(source, 'int main() { return 0; }\n');
    const rejected = await cli(home, 'eval', 'dot_product', '--candidate', source, '--executor', 'bundle', '--json');
    expect([rejected.code, rejected.last.outcome]).toEqual([4, 'screen-rejected']);
  });
});

it('lists tasks, and looks at the machine', async () => {
  const home = tempHome();
  const tasks = (await cli(home, 'tasks', '--json')).last.tasks as {
    id: string;
    dtype: string;
    fault: string | null;
  }[];
  expect(tasks).toHaveLength(100);
  expect(new Set(tasks.map((t) => `${t.id} ${t.dtype}`)).size).toBe(100);
  expect(tasks.map((t) => t.fault).filter((f) => f !== null)).toEqual([]);
  const doctor = await cli(home, 'doctor', '--json');
  expect([0, 3]).toContain(doctor.code);
  expect(Object.keys(doctor.last)).toEqual(
    expect.arrayContaining(['checks', 'chosen', 'canCompile', 'canRun', 'canProfile']),
  );
  expect((await cli(home, 'worker')).code).toBe(2);
  // --json wherever it stands, in errors and in help too
  for (const args of [['worker', '--json'], ['--json', 'worker'], ['worker', '--json', '--bad'], ['--json']])
    expect(codeOf(await cli(home, ...args))).toBe('usage');
  expect(codeOf(await cli(home, '--json', 'worker', join(home, 'nowhere')))).toBe('input.bundle');
  for (const args of [['--help'], ['eval', '--help'], ['worker', '--help'], ['--version']])
    expect(typeof (await cli(home, ...args, '--json')).last.text).toBe('string');
  expect((await cli(home, 'worker', join(home, 'nowhere'))).code).toBe(2);
});
