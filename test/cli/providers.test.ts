/**
 * Consent, local only, models per agent, spend, against a model server on a real socket: what a person meets at the command line through
 * the program as a process, the rest through the services that it calls.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { App, AppEvent, OptimizeParams } from '../../main/app/index.ts';
import { environmentOf } from '../../main/app/machine.ts';
import { askConsent } from '../../main/cli/models.ts';
import { Printer, systemStreams } from '../../main/cli/output.ts';
import { type Executor, type Result, unwrap } from '../../main/contract/index.ts';
import { defaults } from '../../main/evaluate/defaults.ts';
import { createHost } from '../../main/host/index.ts';
import { machine, model, resultFor, root, startModel } from '../app/lab.ts';
import { ModelServer, refuse } from '../llm/server.ts';

// Each test starts several programs: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });
// How finely intervals are resampled is not what is tested here.
Object.assign(defaults.accept, { resamples: 200 });

const entry = join(root, 'main/cli/entry.js');
let server: ModelServer;
/** The same server by an address that is not loopback by its name: a remote machine to the program. */
let remote = '';
let host = '';
let home = '';

beforeAll(async () => {
  server = await startModel();
  remote = server.baseUrl.replace('127.0.0.1', '0.0.0.0');
  host = new URL(remote).host;
});
afterAll(() => server.close());
beforeEach(() => {
  server.seen.length = 0;
  home = mkdtempSync(join(tmpdir(), 'cm-providers-'));
  vi.stubEnv('CUDAMASTER_HOME', home);
  const dir = home;
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(dir, { recursive: true, force: true });
  });
});

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  readonly last: Record<string, unknown>;
}

function collect(child: ReturnType<typeof spawn>): Promise<Ran> {
  let out = '';
  let err = '';
  child.stdout?.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr?.on('data', (d: Buffer) => {
    err += d;
  });
  return new Promise((done) =>
    child.on('close', (code) =>
      done({
        code,
        out,
        err,
        get last() {
          return JSON.parse(out.trimEnd().split('\n').at(-1) ?? '');
        },
      }),
    ),
  );
}
const environment = (): NodeJS.ProcessEnv => ({ ...process.env, CUDAMASTER_HOME: home, CUDA_VISIBLE_DEVICES: '' });
const cli = (...args: string[]): Promise<Ran> =>
  collect(spawn(process.execPath, [entry, ...args], { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] }));
const codeOf = (ran: Ran): unknown => (ran.last.error as { code?: string } | undefined)?.code;
const settings = (): { knownRemotes?: string[] } => {
  const file = join(home, 'config', 'settings.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
};
const start = (...more: string[]): string[] => [
  ...['optimize', 'dot_product', '--executor', 'bundle', '--arch', 'sm_90', '--rounds', '1', '--debug-attempts', '0'],
  ...more,
];
const atRemote = () => ['--provider', 'custom', '--base-url', remote, '--model', 'm'];

/** The services, with the laboratory in the place of the GPU. */
function services(): App {
  const executor: Executor = {
    name: 'local',
    execute: async (bundle) => ({ kind: 'done', result: resultFor(bundle) }),
  };
  return createHost({
    root,
    openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
  }).services;
}
const told: AppEvent[] = [];
const ctx = { emit: (e: AppEvent) => void told.push(e) };
const wanted = (more: Partial<OptimizeParams>): OptimizeParams => ({
  task: 'dot_product',
  dtype: 'fp32',
  executor: 'local',
  provider: 'custom',
  model: 'm',
  baseUrl: server.baseUrl,
  rounds: 1,
  debugAttempts: 0,
  ...more,
});
const refusal = async (asked: Promise<Result<unknown>>): Promise<string> => {
  const result = await asked;
  return result.ok ? 'ok' : result.error.code;
};

/** Answers a question at a terminal, in a pseudo terminal. */
function atTerminal(typed: string, ...args: string[]): Promise<Ran> {
  const words = [process.execPath, entry, ...args].map((w) => `'${w}'`).join(' ');
  const child = spawn('script', ['-qec', words, '/dev/null'], { env: environment(), stdio: ['pipe', 'pipe', 'pipe'] });
  let shown = '';
  child.stdout.on('data', (d: Buffer) => {
    shown += d;
    if (shown.includes('[y/N]')) child.stdin.end(`${typed}\n`);
  });
  return collect(child);
}

describe('consent to a remote host', () => {
  it('without it nothing is sent: not the prompt, not even the question for the models', async () => {
    const ran = await cli(...start(...atRemote()), '--json');
    expect([ran.code, codeOf(ran)]).toEqual([5, 'provider.consent']);
    expect(ran.last).toMatchObject({
      error: {
        message: expect.stringContaining(host),
        remedy: expect.stringContaining('--yes-remote'),
        detail: expect.stringContaining("kernel's source"),
      },
    });
    expect(server.seen).toEqual([]);
    expect(settings().knownRemotes ?? []).toEqual([]);
    // The address is of this machine, but its server passes a model of this name on.
    expect(await refusal(services().optimize(wanted({ model: 'b:120b-cloud' }), ctx))).toBe('provider.consent');
    expect(server.seen).toEqual([]);
    // No run was made either.
    expect(unwrap(await services().runs({}, ctx))).toEqual([]);
  });
  it('is given once per host by --yes-remote, and taken back by name', async () => {
    const first = await cli(...start(...atRemote(), '--yes-remote'), '--json');
    expect(first.code).toBe(75);
    expect(settings().knownRemotes).toEqual([host]);
    expect(first.out).toContain(`Prompts go to ${host} (model m)`);
    expect(server.seen.map((s) => s.path)).toContain('/v1/models');
    const app = services();
    const again = unwrap(await app.optimize(wanted({ baseUrl: remote }), ctx));
    expect(again.status).toBe('done');
    expect(unwrap(await app.consent({}, ctx))).toEqual({ hosts: [host] });
    expect(unwrap(await app.consent({ revoke: remote }, ctx))).toEqual({ hosts: [] });
    expect(await refusal(app.optimize(wanted({ baseUrl: remote }), ctx))).toBe('provider.consent');
    // A run that was begun under a consent waits for it too.
    expect(await refusal(app.resume({ run: first.last.run as string }, ctx))).toBe('provider.consent');
    // Agreed by the host's name, as the screens do it.
    const named = { ...wanted({ baseUrl: remote }), consent: [host] };
    expect(unwrap(await app.optimize(named, ctx)).status).toBe('done');
  });
  it.skipIf(process.platform !== 'linux')('is asked for at a terminal; "no" sends nothing, "yes" is kept', async () => {
    const no = await atTerminal('n', ...start(...atRemote()));
    expect(no.code).toBe(5);
    expect(no.out).toContain('You did not agree');
    expect(server.seen).toEqual([]);
    const yes = await atTerminal('y', ...start(...atRemote()));
    expect(yes.code).toBe(75);
    expect(settings().knownRemotes).toEqual([host]);
  });
  it('with --json nobody is asked, terminal or not', () => {
    const live = { isTTY: process.stdin.isTTY };
    Object.assign(process.stdin, { isTTY: true });
    onTestFinished(() => void Object.assign(process.stdin, live));
    const session = { json: true, printer: new Printer(systemStreams()), signal: new AbortController().signal };
    expect(askConsent(session)).toBeUndefined();
  });
});

describe('local only', () => {
  it('refuses remote hosts by flag and by setting, of single agents as well, and Ollama’s cloud models', async () => {
    const ran = await cli(...start(...atRemote(), '--yes-remote', '--local-only'), '--json');
    expect([ran.code, codeOf(ran)]).toEqual([5, 'provider.local-only']);
    const app = services();
    const cases: [string, Promise<Result<unknown>>][] = [
      ['agent', app.optimize(wanted({ localOnly: true, agents: { coder: { provider: 'openai', model: 'g' } } }), ctx)],
      [
        'cloud',
        app.optimize(
          { ...wanted({ localOnly: true, provider: 'ollama', model: 'b:120b-cloud' }), baseUrl: undefined },
          ctx,
        ),
      ],
      // Whatever the provider and its server are called, and for one agent alone.
      ['cloud, custom', app.optimize(wanted({ localOnly: true, model: 'b:120b-cloud' }), ctx)],
      ['cloud, agent', app.optimize(wanted({ localOnly: true, agents: { debug: { model: 'glm:Cloud' } } }), ctx)],
      ['list', app.models({ provider: 'custom', baseUrl: remote, localOnly: true }, ctx)],
    ];
    for (const [name, asked] of cases) expect([name, await refusal(asked)]).toEqual([name, 'provider.local-only']);
    mkdirSync(join(home, 'config'), { recursive: true });
    writeFileSync(join(home, 'config', 'settings.json'), '{"version":1,"localOnly":true}');
    const forced = wanted({ baseUrl: remote, localOnly: false, yesRemote: true });
    expect(await refusal(app.optimize(forced, ctx))).toBe('provider.local-only');
    expect(server.seen).toEqual([]);
  });
  it('follows no redirect to another server', async () => {
    const mover = await ModelServer.start(refuse(302, '', { location: `${server.baseUrl}/models` }));
    onTestFinished(() => mover.close());
    const asked = services().models({ provider: 'custom', baseUrl: mover.baseUrl, localOnly: true }, ctx);
    expect(await refusal(asked)).toBe('provider.unreachable');
    expect([mover.seen.length, server.seen.length]).toEqual([1, 0]);
  });
});

describe('models', () => {
  it('of each agent: another model, another provider; cost known and unknown are told apart', async () => {
    const other = await ModelServer.start(model());
    onTestFinished(() => other.close());
    const app = services();
    unwrap(await app.endpoint({ name: 'lab', baseUrl: other.baseUrl }, ctx));
    const source = 'https://example.com/prices';
    unwrap(await app.setPrice({ model: 'planner-model', input: 1, output: 10, source, asOf: '2026-01-31' }, ctx));
    const agents = { planner: { model: 'planner-model' }, coder: { provider: 'lab', model: 'big' } };
    const report = unwrap(await app.optimize(wanted({ agents }), ctx));
    expect(report.state.config?.models).toEqual({
      planner: { provider: 'custom', model: 'planner-model' },
      coder: { provider: 'lab', model: 'big' },
    });
    const modelsOf = (s: ModelServer) => s.seen.filter((x) => x.method === 'POST').map((x) => x.body.model);
    expect([modelsOf(server), modelsOf(other)]).toEqual([['planner-model', 'm'], ['big']]);
    // The laboratory counts 5000 tokens of prompt and 50 of answer.
    const spend = unwrap(await app.spend({}, ctx));
    expect(spend).toMatchObject({
      total: { replies: 3, usd: expect.closeTo(0.0055), unknown: 2, promptTokens: 15_000, unknownTokens: 0 },
      task: [{ key: 'dot_product', replies: 3 }],
      run: [{ task: 'dot_product', unknown: 2 }],
    });
    expect(spend.model).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: 'custom planner-model', usd: expect.closeTo(0.0055), unknown: 0 }),
        expect.objectContaining({ key: 'custom m', usd: null, unknown: 1 }),
        expect.objectContaining({ key: 'lab big', usd: null, unknown: 1 }),
      ]),
    );
    const text = (await cli('spend')).out;
    expect(text).toMatch(/custom m +1 +unknown/);
    expect(text).toContain('$0.0055 and 2 of unknown cost');
  });
  it('of a remote host are asked for after the same consent as prompts: before it, nothing is sent', async () => {
    const listing = await ModelServer.start(refuse(200, { data: [{ id: 'm' }] }));
    onTestFinished(() => listing.close());
    const there = ['models', '--provider', 'custom', '--base-url', listing.baseUrl.replace('127.0.0.1', '0.0.0.0')];
    const ran = await cli(...there, '--json');
    expect([ran.code, codeOf(ran)]).toEqual([5, 'provider.consent']);
    expect(ran.last).toMatchObject({
      error: { remedy: expect.stringContaining('--yes-remote'), detail: expect.stringContaining('list of models') },
    });
    const app = services();
    const params = { provider: 'custom', baseUrl: listing.baseUrl.replace('127.0.0.1', '0.0.0.0') };
    expect(await refusal(app.models(params, ctx))).toBe('provider.consent');
    expect(await refusal(app.models({ ...params, yesRemote: true, localOnly: true }, ctx))).toBe('provider.local-only');
    expect((await atTerminal('n', ...there)).code).toBe(5);
    expect([listing.seen.length, settings().knownRemotes ?? []]).toEqual([0, []]);
    const agreed = await atTerminal('y', ...there);
    expect([agreed.code, settings().knownRemotes]).toEqual([0, [new URL(params.baseUrl).host]]);
    expect(unwrap(await app.models(params, ctx)).map((m) => m.id)).toEqual(['m']);
    unwrap(await app.consent({ revoke: params.baseUrl }, ctx));
    // A screen agrees to the host by name.
    expect(await refusal(app.models({ ...params, consent: [new URL(params.baseUrl).host] }, ctx))).toBe('ok');
    expect(listing.seen.length).toBeGreaterThan(0);
  });
  it('are listed with context and price; providers with what runs here', async () => {
    const listing = await ModelServer.start(
      refuse(200, { data: [{ id: 'm', max_model_len: 6048, owned_by: 'vllm' }] }),
    );
    onTestFinished(() => listing.close());
    const app = services();
    unwrap(await app.endpoint({ name: 'lab', baseUrl: listing.baseUrl }, ctx));
    const models = await cli('models', '--provider', 'lab', '--json');
    expect(models.last).toEqual({ models: [{ id: 'm', contextTokens: 6048, ownedBy: 'vllm', price: null }] });
    const providers = unwrap(await app.providers({}, ctx));
    expect(providers.find((p) => p.name === 'lab')).toMatchObject({
      own: true,
      running: true,
      models: 1,
      remote: null,
    });
    expect(providers.find((p) => p.name === 'openai')).toMatchObject({
      running: null,
      remote: 'api.openai.com',
      consented: false,
    });
    expect(unwrap(await app.endpoint({ name: 'lab' }, ctx)).map((p) => p.name)).not.toContain('lab');
    const price = { model: 'm', input: 1, output: 1, source: 's' };
    const wrong: Promise<Result<unknown>>[] = [
      app.models({ provider: 'nobody' }, ctx),
      app.models({ provider: 'manual' }, ctx),
      app.endpoint({ name: 'openai', baseUrl: 'http://127.0.0.1:1/v1' }, ctx),
      app.endpoint({ name: 'x', baseUrl: 'https://x.example/v1?key=sk-123' }, ctx),
      app.endpoint({ name: 'Lab 1', baseUrl: 'https://x.example/v1' }, ctx),
      app.endpoint({ name: 'x', baseUrl: 'https://x.example/v1', keyEnv: 'sk-123-not-a-name' }, ctx),
      app.removePrice({ model: 'm' }, ctx),
      app.setPrice({ ...price, asOf: 'today' }, ctx),
      app.setPrice({ ...price, source: ' ' }, ctx),
      app.consent({ revoke: 'a.example' }, ctx),
    ];
    for (const asked of wrong) expect(await refusal(asked)).toBe('usage');
  });
});
