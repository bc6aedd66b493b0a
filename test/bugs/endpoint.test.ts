/**
 * The rows of the model endpoint (B30 to B37): a rude server as a process of its own, the real services, loop, provider and history; only
 * what a GPU would say comes from the laboratory. Each row: what the user is told, the exit code, what stays in the history, and that no
 * model is told of a fault in its code for what an endpoint did. One row goes through the command line as a process as well.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import type { AppEvent, RunReport } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import { type Executor, exitCodeOf, type Result, unwrap } from '../../main/contract/index.ts';
import { defaults } from '../../main/evaluate/defaults.ts';
import { createHost, type Host } from '../../main/host/index.ts';
import { readBundle, writeResult } from '../../main/jobs/bundle-folder.ts';
import { Store, type StoredEvent } from '../../main/store/index.ts';
import { machine, resultFor, root } from '../app/lab.ts';
import type { Seen } from '../llm/server.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });
// How finely intervals are resampled is not what is tested here.
Object.assign(defaults.accept, { resamples: 200 });

const key = 'cm-planted-key-0123456789';
let server: ChildProcess;
let address = '';
let home = '';

beforeAll(async () => {
  server = spawn(process.execPath, [join(import.meta.dirname, 'rude-chat-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const port = await new Promise<string>((done) => server.stdout?.once('data', (d: Buffer) => done(String(d).trim())));
  address = `http://127.0.0.1:${port}`;
});
afterAll(() => {
  server.kill();
});
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'cm-row-'));
  vi.stubEnv('CUDAMASTER_HOME', home);
  vi.stubEnv('CM_ROW_API_KEY', key);
  const dir = home;
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(dir, { recursive: true, force: true });
  });
});

const play = (scenario: string) => fetch(`${address}/control`, { method: 'POST', body: JSON.stringify({ scenario }) });
const seen = async (): Promise<Seen[]> => (await fetch(`${address}/seen`)).json() as Promise<Seen[]>;
const prompt = (s: Seen): string => JSON.stringify(s.body.messages);

interface Ran {
  readonly report: RunReport;
  /** Of the command line. */
  readonly exitCode: number;
  readonly told: readonly AppEvent[];
  readonly events: readonly StoredEvent[];
}

type Services = Host['services'];

/** What a fresh process would do: services, provider and what it remembers are made anew. */
async function drive(
  work: (services: Services, ctx: { emit: (e: AppEvent) => void }) => Promise<Result<RunReport>>,
): Promise<Ran> {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }),
  };
  const { services } = createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  });
  const told: AppEvent[] = [];
  const report = unwrap(await work(services, { emit: (e) => told.push(e) }));
  const store = await Store.open(join(home, 'data'));
  const events = await store.events(report.id);
  await store.close();
  return { report, exitCode: report.error === null ? 0 : exitCodeOf(report.error.code), told, events };
}

const wanted = () =>
  ({
    task: 'dot_product',
    dtype: 'fp32',
    executor: 'local',
    provider: 'custom',
    baseUrl: `${address}/v1`,
    model: 'm',
    keyEnv: 'CM_ROW_API_KEY',
    rounds: 1,
    effort: 'high',
  }) as const;

async function optimize(scenario: string): Promise<Ran> {
  await play(scenario);
  return drive((services, ctx) => services.optimize(wanted(), ctx));
}
const resume = (change: { contextTokens?: number; maxTokens?: number } = {}): Promise<Ran> =>
  drive((services, ctx) => services.resume({ run: 'last', ...change }, ctx));

/** The endpoint's doing is never told to a model as a fault of its code: nobody was asked to debug, no reply was called bad. */
async function blameless(ran: Ran): Promise<void> {
  for (const s of await seen()) expect(prompt(s)).not.toContain('You find out why');
  expect(ran.events.filter((e) => e.type === 'bad-reply')).toEqual([]);
}

/** The run went through to a better kernel. */
async function wentOn(ran: Ran): Promise<void> {
  await blameless(ran);
  expect([ran.report.status, ran.exitCode]).toEqual(['done', 0]);
  expect(ran.report.summary.rounds.map((r) => r.accepted)).toEqual([true]);
}

/** The run stopped with this error; what it had is kept, and a resume goes on from there. */
async function stopped(ran: Ran, code: string): Promise<{ message: string; remedy: string }> {
  await blameless(ran);
  expect([ran.report.status, ran.exitCode, ran.report.error?.code]).toEqual(['failed', 5, code]);
  const last = ran.events.at(-1);
  expect(last).toMatchObject({ type: 'run-ended', status: 'failed', error: { code, remedy: expect.any(String) } });
  expect(ran.events.filter((e) => e.type === 'baseline' || e.type === 'source')).toHaveLength(1);
  await play('good');
  await wentOn(await resume());
  return { message: ran.report.error?.message ?? '', remedy: ran.report.error?.remedy ?? '' };
}

it('B30 a parameter that the model refuses is adapted once, said, and remembered by the next process', async () => {
  const ran = await optimize('B30');
  await wentOn(ran);
  const all = ran.events;
  const asked = await seen();
  expect(asked.map((s) => Object.keys(s.body).filter((k) => /max_|effort/.test(k)))).toEqual([
    ['max_tokens', 'reasoning_effort'],
    ['max_completion_tokens', 'reasoning_effort'],
    ...asked.slice(2).map(() => ['max_completion_tokens']),
  ]);
  expect(all.filter((e) => e.type === 'notice').map((e) => e.type === 'notice' && e.message)).toEqual([
    expect.stringContaining('max_completion_tokens is sent instead of max_tokens'),
    expect.stringContaining('reasoning_effort is left out'),
  ]);
  const kept = readFileSync(join(home, 'config', 'adaptations.json'), 'utf8');
  expect(kept).toContain(`${address}/v1 m`);
  expect(kept).not.toContain(key);
  await wentOn(await optimize('B30'));
  const later = await seen();
  expect(later.length).toBeGreaterThan(0);
  for (const s of later) expect(Object.keys(s.body)).toEqual(expect.arrayContaining(['max_completion_tokens']));
  for (const s of later) expect(s.body).not.toHaveProperty('reasoning_effort');
});

it('B31 no server is sent a role that it does not know', async () => {
  await wentOn(await optimize('B31'));
  const roles = (await seen()).flatMap((s) => (s.body.messages as { role: string }[]).map((m) => m.role));
  expect([...new Set(roles)].sort()).toEqual(['system', 'user']);
});

it('B32 thoughts end with the last closing tag; they are neither compiled nor sent back', async () => {
  const ran = await optimize('B32');
  await wentOn(ran);
  const all = ran.events;
  const source = all.find((e) => e.type === 'source');
  expect(source?.type === 'source' && source.source).toContain('dot_product_optimized');
  expect(JSON.stringify(source)).not.toMatch(/int draft|private-thought/);
  for (const s of await seen()) expect(prompt(s)).not.toContain('private-thought');
});

it('B34 of several blocks the last with the kernel counts, whatever its tag', async () => {
  const ran = await optimize('B34 blocks');
  await wentOn(ran);
  const all = ran.events;
  const source = all.find((e) => e.type === 'source');
  expect(source?.type === 'source' && source.source).toMatch(/^\/\/ lab: 1\.5/);
  expect(JSON.stringify(source)).not.toContain('draft-code');
});

it('B34 a reply that was cut is not compiled: its rest is asked for', async () => {
  const ran = await optimize('B34 cut');
  await wentOn(ran);
  const all = ran.events;
  const rest = (await seen()).filter((s) => prompt(s).includes('Your last answer stopped before its end'));
  expect(rest).toHaveLength(1);
  const source = all.find((e) => e.type === 'source');
  expect(source?.type === 'source' && source.source.trimEnd().endsWith('}')).toBe(true);
});

it('B35 a spent quota stops at once, whatever Retry-After says', async () => {
  const ran = await optimize('B35 quota');
  expect(await seen()).toHaveLength(1);
  const { message, remedy } = await stopped(ran, 'provider.quota');
  expect(message).toContain('has no quota left');
  expect(remedy).toContain('Add credit');
});

it('B35 the command line says so and exits with 5; the history keeps what was reached', async () => {
  const cli = async (...args: string[]) => {
    const child = spawn(process.execPath, [join(root, 'main/cli/entry.js'), ...args, '--json'], {
      env: { ...process.env, CUDA_VISIBLE_DEVICES: '' },
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
    const code = await new Promise<number | null>((done) => child.on('close', done));
    return { code, err, last: JSON.parse(out.trimEnd().split('\n').at(-1) ?? '') };
  };
  await play('B35 quota');
  const where = ['--provider', 'custom', '--base-url', `${address}/v1`, '--model', 'm'];
  const parked = await cli('optimize', 'dot_product', ...where, '--executor', 'bundle', '--arch', 'sm_90');
  expect([parked.code, parked.err]).toEqual([75, expect.anything()]);
  const bundles = join(home, 'data', 'runs', parked.last.run, 'bundles');
  for (const name of readdirSync(bundles)) {
    const { request, bundle } = await readBundle(join(bundles, name));
    await writeResult(join(bundles, name), request, resultFor(bundle), 'lab');
  }
  const ran = await cli('resume', 'last');
  expect([ran.code, ran.last.status]).toEqual([5, 'failed']);
  expect(ran.err).toMatch(/Error \(provider\.quota\): .*no quota left[\s\S]*What to do: Add credit/);
  expect(await seen()).toHaveLength(1);
});

it('B35 a rate limit is waited for as long as the server asks, and shown', async () => {
  const ran = await optimize('B35 rate');
  await wentOn(ran);
  const [first, second] = await seen();
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1000);
  const shown = ran.told.flatMap((e) => (e.type === 'transient' && e.event.type === 'progress' ? [e.event.note] : []));
  expect(shown).toContainEqual(expect.stringMatching(/^waiting 1 s: /));
});

it('B35 sixteen days are the user’s decision', async () => {
  const ran = await optimize('B35 days');
  expect(await seen()).toHaveLength(1);
  expect((await stopped(ran, 'provider.rate')).message).toContain('16 days');
});

it('B36 a prompt above the context is refused by name; with the length given the run goes on', async () => {
  const ran = await optimize('B36 refused');
  await blameless(ran);
  expect([ran.exitCode, ran.report.error?.code]).toEqual([5, 'provider.context-length']);
  expect(ran.report.error?.remedy).toContain('--context 9000');
  await wentOn(await resume({ contextTokens: 9000 }));
});

it('B36 a prompt that the server seems to have cut is a notice of the run', async () => {
  const ran = await optimize('B36 cut');
  await wentOn(ran);
  const all = ran.events;
  expect(all).toContainEqual(
    expect.objectContaining({
      type: 'notice',
      position: 'r1.planner',
      message: expect.stringMatching(/seems to have cut the prompt.*num_ctx/),
    }),
  );
});

it.each([
  ['B36 Ollama', 2304],
  ['B36 Ollama half', 1154],
])(
  '%s cuts to %s tokens: told by the context that it holds, which it says after its first answer',
  async (scenario, kept) => {
    const ran = await optimize(scenario);
    await wentOn(ran);
    const told = ran.events.flatMap((e) => (e.type === 'notice' ? [e.message] : []));
    const tokens = (await seen()).map((s) => {
      const all = (s.body.messages as { content: string }[]).map((m) => m.content);
      return Math.ceil(all.join('\n').length / 3.5);
    });
    // A prompt and its answer of 50 tokens are held together.
    expect(told).toHaveLength(tokens.filter((n) => n + 50 > 2304).length);
    expect(told.filter((message) => message.includes(`counted ${kept} prompt tokens`))).toHaveLength(
      tokens.filter((n) => n > 2304).length,
    );
    expect(told[0]).toMatch(/holds a context of 2304: it seems to have cut the prompt.*--context 2304/);
  },
);

it('B36 "no user query found" is told as a prompt that is too long, not as a broken server', async () => {
  const ran = await optimize('B36 no query');
  expect(await seen()).toHaveLength(1);
  expect((await stopped(ran, 'provider.context-length')).remedy).toContain('--context');
});

it('B37 empty, missing and null parts are taken; usage that was not told is unknown, not 0', async () => {
  const ran = await optimize('B37');
  await wentOn(ran);
  const all = ran.events;
  expect(ran.report.summary).toMatchObject({ tokens: { prompt: null, completion: null }, costUsd: null });
  const usage = all.filter((e) => e.type === 'usage');
  expect(usage.length).toBeGreaterThan(0);
  for (const u of usage) expect(u).toMatchObject({ promptTokens: null, completionTokens: null, costUsd: null });
  const { services } = createHost({ root });
  expect(unwrap(await services.spend({}, { emit: () => {} })).total).toMatchObject({
    replies: usage.length,
    usd: null,
    unknown: usage.length,
    promptTokens: null,
  });
});

it('a connection that breaks twice stops the run; both requests are booked as of unknown cost', async () => {
  const ran = await optimize('dropped');
  expect(await seen()).toHaveLength(2);
  const booked = ran.events.filter((e) => e.type === 'usage');
  expect(booked.map((e) => e.type === 'usage' && e.costUsd)).toEqual([null, null]);
  await stopped(ran, 'provider.unreachable');
});

it('an answer that was withheld is in the books, and counts under a limit before anything is asked again', async () => {
  const ran = await optimize('withheld');
  expect([ran.report.error?.code, (await seen()).length]).toEqual(['provider.refused', 1]);
  expect(ran.events.filter((e) => e.type === 'usage')).toMatchObject([
    { agent: 'planner', promptTokens: 9000, completionTokens: 4000, costUsd: null },
  ]);
  expect(ran.report.summary).toMatchObject({ tokens: { prompt: 9000, completion: 4000 }, costUsd: null });
  await play('good');
  const held = await resume({ maxTokens: 13_000 });
  expect([held.report.error?.code, await seen()]).toEqual(['limit.tokens', []]);
  expect(held.report.error?.message).toContain('13000 of 13000 tokens are used');
  await wentOn(await resume({ maxTokens: 1_000_000 }));
});

it('a key that a server quotes back stands nowhere', async () => {
  const ran = await optimize('auth');
  expect((await seen())[0]?.headers.authorization).toBe(`Bearer ${key}`);
  expect(JSON.stringify([ran.report, ran.told])).not.toContain(key);
  await stopped(ran, 'provider.auth');
  for (const name of readdirSync(home, { recursive: true, withFileTypes: true }))
    if (name.isFile()) expect(readFileSync(join(name.parentPath, name.name)).includes(key), name.name).toBe(false);
});

it('a redirect is not followed: prompt and key stay', async () => {
  const ran = await optimize('elsewhere');
  const { message, remedy } = await stopped(ran, 'provider.unreachable');
  expect(message).toContain('redirects');
  expect(remedy).toContain('192.0.2.7');
});
