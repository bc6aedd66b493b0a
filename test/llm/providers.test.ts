import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { type ChatProvider, type ChatRequest, ok, unwrap } from '../../main/contract/index.ts';
import { promptHost } from '../../main/contract/place.ts';
import { memoryKey } from '../../main/llm/adapt.ts';
import { proxyVariable } from '../../main/llm/guard.ts';
import {
  adaptationFile,
  checkAddress,
  findPreset,
  guardLocal,
  listModels,
  loadPrices,
  openAiProvider,
  presets,
  probeContext,
  readKey,
  routeByAgent,
  withoutPrice,
  withPrice,
  writePrices,
} from '../../main/llm/index.ts';
import { answer, error, type Handler, ModelServer, refuse } from './server.ts';

const open: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((s) => s.close()));
});
async function serve(...handlers: Handler[]): Promise<ModelServer> {
  const server = await ModelServer.start(...handlers);
  open.push(server);
  return server;
}
function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cm-llm-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}
const request: ChatRequest = { agent: 'coder', messages: [{ role: 'user', content: 'Write.' }], maxTokens: 100 };
const json = (body: unknown): Handler => refuse(200, body);

describe('presets', () => {
  it('are data: local ones on loopback without a key, remote ones over https with the name of a variable', () => {
    expect(presets.map((p) => p.name)).toEqual([
      'manual',
      'openai',
      'deepseek',
      'openrouter',
      'ollama',
      'llama.cpp',
      'vllm',
      'lmstudio',
      'custom',
    ]);
    for (const p of presets) {
      expect(p.quirks.length, p.name).toBeGreaterThan(0);
      if (p.place === 'local')
        expect([p.name, checkAddress(p.baseUrl ?? '', true).ok, p.keyEnv]).toEqual([p.name, true, null]);
      if (p.place === 'remote') expect(p.baseUrl).toMatch(/^https:\/\//);
      if (p.place === 'remote') expect(p.keyEnv).toMatch(/^[A-Z_]+_API_KEY$/);
    }
  });
  it('the user’s own come first; the older name of "custom" still works', () => {
    const mine = { ...(findPreset('vllm') as (typeof presets)[number]), name: 'lab', title: 'Lab' };
    expect(findPreset('lab', [mine])?.title).toBe('Lab');
    expect(findPreset('compatible')?.name).toBe('custom');
    expect(findPreset('nobody')).toBeUndefined();
  });
});

describe('"local only" at the moment of connecting', () => {
  const local = new URL('http://localhost:8000/v1');
  it('a name that leads elsewhere is refused, one that leads nowhere cannot be used', async () => {
    const elsewhere = await guardLocal(local, { resolve: async () => ['127.0.0.1', '192.0.2.7'] });
    expect(elsewhere).toMatchObject({
      ok: false,
      error: { code: 'provider.local-only', message: expect.stringContaining('192.0.2.7') },
    });
    expect(await guardLocal(local, { resolve: async () => [] })).toMatchObject({
      error: { code: 'provider.local-only' },
    });
    const nowhere = await guardLocal(local, {
      resolve: async () => {
        throw new Error('ENOTFOUND');
      },
    });
    expect(nowhere).toMatchObject({ error: { code: 'provider.unreachable' } });
    expect((await guardLocal(local, { resolve: async () => ['127.0.0.1', '::1'] })).ok).toBe(true);
  });
  it('the system’s own resolver says that localhost is here', async () => {
    expect((await guardLocal(local)).ok).toBe(true);
  });
  it.each([
    'http://192.0.2.7/v1',
    'http://localhost.example.com/v1',
    'http://127.0.0.1.example.com/v1',
    'http://0.0.0.0:8000/v1',
    'http://[::ffff:192.0.2.7]/v1',
    'https://api.openai.com/v1',
  ])('%s is another machine', async (address) => {
    expect(checkAddress(address, true)).toMatchObject({ error: { code: 'provider.local-only' } });
    expect(await guardLocal(new URL(address))).toMatchObject({ error: { code: 'provider.local-only' } });
  });
  it.each(['http://127.1:8000/v1', 'http://2130706433:8000/v1', 'http://[::1]:8000/v1'])(
    '%s is this machine',
    (address) => {
      expect(checkAddress(address, true).ok).toBe(true);
    },
  );
  it('a proxy that Node would use is refused, unless the address is exempt', async () => {
    const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: 'http://192.0.2.9:3128' };
    const url = new URL('http://127.0.0.1:8000/v1');
    expect(await guardLocal(url, { env, execArgv: [] })).toMatchObject({
      error: { code: 'provider.local-only', message: expect.stringContaining('HTTP_PROXY') },
    });
    expect((await guardLocal(url, { env: { ...env, NO_PROXY: 'a.example, 127.0.0.1' }, execArgv: [] })).ok).toBe(true);
    // Without being told to, Node's fetch knows no proxy.
    expect(proxyVariable(url, { HTTP_PROXY: 'http://192.0.2.9:3128' }, [])).toBeNull();
    expect(proxyVariable(url, { http_proxy: 'http://192.0.2.9:3128' }, ['--use-env-proxy'])).toBe('http_proxy');
  });
  it('the provider asks the guard before it sends', async () => {
    const server = await serve(answer());
    const provider = openAiProvider({
      baseUrl: server.baseUrl.replace('127.0.0.1', 'localhost'),
      model: 'm',
      key: () => ok('sk-test-0123456789abcdef'),
      localOnly: true,
      guard: { resolve: async () => ['192.0.2.7'] },
    });
    expect(await provider.chat(request, { position: 'p' })).toMatchObject({ error: { code: 'provider.local-only' } });
    expect(server.seen).toHaveLength(0);
  });
  it.each([
    ['http://127.0.0.1:11434/v1', 'gpt-oss:120b-cloud', 'ollama.com'],
    ['http://localhost:11434/v1', 'glm-4.6:cloud', 'ollama.com'],
    ['http://[::1]:9000/v1', 'GPT-OSS:120B-Cloud', 'ollama.com'],
    ['http://127.0.0.1:4000/v1', 'me/mine-cloud', 'ollama.com'],
    ['http://127.0.0.1:11434/v1', 'cloudy:8b', null],
    ['http://127.0.0.1:11434/v1', 'nimbus-cloud:8b', null],
    ['https://api.example.com/v1', 'gpt-oss:120b-cloud', 'api.example.com'],
    ['http://192.168.1.5:11434/v1', 'q:8b', '192.168.1.5:11434'],
  ])('prompts sent to %s for %s go to %s', async (baseUrl, model, host) => {
    expect(promptHost(baseUrl, model)).toBe(host);
    if (host === null) return;
    // Before the key is read, and before anything is connected to.
    const provider = openAiProvider({
      baseUrl,
      model,
      localOnly: true,
      key: () => {
        throw new Error('the key was read');
      },
    });
    expect(await provider.chat(request, { position: 'p' })).toMatchObject({ error: { code: 'provider.local-only' } });
  });
  it('an address with a key in it is refused before it can be stored', () => {
    for (const address of [
      'https://x.example/v1?api-key=sk-1234567890',
      'https://u:p@x.example/v1',
      'https://x.example/v1#k',
    ])
      expect(checkAddress(address, false)).toMatchObject({ ok: false, error: { code: 'usage' } });
  });
});

describe('lists of models', () => {
  const endpoint = (server: ModelServer) => ({ baseUrl: server.baseUrl, localOnly: true, key: null });
  it.each<[string, Handler[], number | null]>([
    ['vLLM', [json({ data: [{ id: 'm', max_model_len: 6048, owned_by: 'vllm' }] })], 6048],
    ['OpenRouter', [json({ data: [{ id: 'm', context_length: 131072 }] })], 131072],
    ['llama.cpp', [json({ data: [{ id: 'm', meta: { n_ctx: 8192 } }] })], 8192],
    ['Groq', [json({ data: [{ id: 'm', context_window: 9000 }] })], 9000],
    ['Ollama, loaded', [json({ data: [{ id: 'm' }] }), json({ models: [{ name: 'm', context_length: 4096 }] })], 4096],
    [
      'LM Studio',
      [
        json({ data: [{ id: 'm' }] }),
        refuse(404, ''),
        json({ data: [{ id: 'm', max_context_length: 40000, loaded_context_length: 12000 }] }),
      ],
      12000,
    ],
    [
      'llama.cpp, properties',
      [
        json({ data: [{ id: 'm' }] }),
        refuse(404, ''),
        refuse(404, ''),
        json({ default_generation_settings: { n_ctx: 2048 } }),
      ],
      2048,
    ],
    ['a server that does not say', [json({ data: [{ id: 'm' }] }), refuse(404, '')], null],
  ])('%s', async (_name, handlers, context) => {
    const server = await serve(...handlers);
    expect(unwrap(await listModels(endpoint(server)))).toMatchObject([{ id: 'm', contextTokens: context }]);
    expect(server.seen[0]?.path).toBe('/v1/models');
  });
  it.each<[string, Handler, string]>([
    ['wants a key', refuse(401, error('no key')), 'provider.auth'],
    ['a web page', refuse(200, '<html>', { 'content-type': 'text/html' }), 'provider.refused'],
    ['something else in JSON', json({ hello: 'world' }), 'provider.refused'],
    ['a redirect', refuse(302, '', { location: 'http://192.0.2.7/v1/models' }), 'provider.unreachable'],
  ])('%s is an error with a remedy, and no context', async (_name, handler, code) => {
    const server = await serve(handler);
    const listed = await listModels(endpoint(server));
    expect(listed).toMatchObject({ ok: false, error: { code, remedy: expect.any(String) } });
    expect(await probeContext({ ...endpoint(server), model: 'm' })).toBeNull();
  });
  it('a server that repeats the key does not get it shown', async () => {
    const key = unwrap(readKey({ env: 'CM_K' }, { CM_K: 'listed-key-nobody-may-see' })) ?? '';
    const server = await serve(json({ data: [{ id: `m-${key}`, owned_by: key, context_length: 4096 }] }));
    const listed = unwrap(await listModels({ ...endpoint(server), key }));
    expect(listed).toMatchObject([{ id: 'm-[redacted]', ownedBy: '[redacted]' }]);
  });
  it('nobody there, and "local only"', async () => {
    const server = await serve(json({ data: [] }));
    await server.close();
    expect(await listModels(endpoint(server))).toMatchObject({ error: { code: 'provider.unreachable' } });
    const remote = { baseUrl: 'http://192.0.2.7/v1', localOnly: true, key: null };
    expect(await listModels(remote)).toMatchObject({ error: { code: 'provider.local-only' } });
  });
  it('odd entries are left out, prices are the user’s', async () => {
    const server = await serve(
      json({ data: [null, 'x', { id: 7 }, { id: 'm', max_model_len: 'many' }] }),
      refuse(404, ''),
    );
    const prices = { version: 1, models: [{ model: 'm', input: 1, output: 2, source: 's', asOf: '2026-01-31' }] };
    expect(unwrap(await listModels(endpoint(server), { prices }))).toEqual([
      { id: 'm', contextTokens: null, ownedBy: null, price: prices.models[0] },
    ]);
  });
});

describe('reasoning effort', () => {
  const make = (server: ModelServer, memory = new Map()) =>
    openAiProvider({
      baseUrl: server.baseUrl,
      model: 'm',
      key: () => ok(null),
      localOnly: true,
      effort: 'high',
      memory,
    });
  it('is told where the server takes it', async () => {
    const server = await serve(answer());
    unwrap(await make(server).chat(request, { position: 'p' }));
    expect(server.bodies()[0]).toMatchObject({ reasoning_effort: 'high' });
  });
  it.each<[string, Handler]>([
    ['by name', refuse(400, error('Unrecognized request argument supplied: reasoning_effort', {}))],
    ['by parameter', refuse(400, error('Unsupported value', { param: 'reasoning_effort', code: 'unsupported_value' }))],
  ])('is left out for good where it is refused %s, and said', async (_name, handler) => {
    const server = await serve(handler, answer(), answer());
    const memory = new Map();
    const first = unwrap(await make(server, memory).chat(request, { position: 'p' }));
    expect(first.kind === 'done' && first.reply.warnings?.[0]).toMatch(/reasoning_effort is left out/);
    unwrap(await make(server, memory).chat(request, { position: 'p' }));
    expect(server.bodies().map((b) => b.reasoning_effort)).toEqual(['high', undefined, undefined]);
  });
});

describe('what servers refuse, on disk', () => {
  const adaptation = {
    lengthField: 'max_completion_tokens' as const,
    lengthCap: 2048,
    dropped: new Set(['temperature']),
    tried: new Set(['max_tokens', 'temperature']),
  };
  it('is known to the next process, per address and model, without a secret', async () => {
    const file = join(folder(), 'config', 'adaptations.json');
    const key = memoryKey(new URL('http://127.0.0.1:8000/v1'), 'm');
    await (await adaptationFile(file)).set(key, adaptation);
    const again = await adaptationFile(file);
    expect(again.get(key)).toEqual(adaptation);
    expect(again.get(memoryKey(new URL('http://127.0.0.1:8001/v1'), 'm'))).toBeUndefined();
    expect(readFileSync(file, 'utf8')).toContain('http://127.0.0.1:8000/v1 m');
  });
  it('two processes add to one another', async () => {
    const file = join(folder(), 'a.json');
    const [one, two] = [await adaptationFile(file), await adaptationFile(file)];
    await one.set('x', adaptation);
    await two.set('y', adaptation);
    const all = await adaptationFile(file);
    expect([all.get('x'), all.get('y')]).toEqual([adaptation, adaptation]);
  });
  it('is forgotten after a season, and a damaged file or a folder that cannot be written costs nothing', async () => {
    const file = join(folder(), 'a.json');
    await (await adaptationFile(file, () => Date.parse('2026-01-01'))).set('x', adaptation);
    expect((await adaptationFile(file, () => Date.parse('2026-03-01'))).get('x')).toEqual(adaptation);
    expect((await adaptationFile(file, () => Date.parse('2026-06-01'))).get('x')).toBeUndefined();
    writeFileSync(file, '{"version": 1, "entr');
    const memory = await adaptationFile(file);
    expect(memory.get('x')).toBeUndefined();
    const nowhere = await adaptationFile(join(file, 'no-folder', 'a.json'));
    await nowhere.set('x', adaptation);
    expect(nowhere.get('x')).toEqual(adaptation);
  });
});

describe('agents with a model of their own', () => {
  it('are asked there, the others at the run’s', async () => {
    const named = (name: string): ChatProvider & { asked: string[] } => {
      const asked: string[] = [];
      return {
        name,
        asked,
        chat: async (r) => {
          asked.push(r.agent);
          return { ok: false, error: { code: 'internal', message: name } };
        },
      };
    };
    const [main, planner] = [named('main'), named('planner')];
    const routed = routeByAgent(main, { planner });
    for (const agent of ['planner', 'coder', 'compiler', 'debug'] as const)
      await routed.chat({ ...request, agent }, { position: 'p' });
    expect([planner.asked, main.asked]).toEqual([['planner'], ['coder', 'compiler', 'debug']]);
  });
});

describe('prices', () => {
  it('are entered, replaced, kept apart by host, removed', async () => {
    const file = join(folder(), 'prices.json');
    const price = { model: 'm', input: 1, output: 2, source: 'https://example.com', asOf: '2026-01-31' };
    let table = withPrice(unwrap(await loadPrices(file)), price);
    table = withPrice(table, { ...price, address: 'a.example', input: 9 });
    table = withPrice(table, { ...price, input: 3 });
    await writePrices(file, table);
    const read = unwrap(await loadPrices(file));
    expect(read.models.map((m) => [m.address, m.input])).toEqual([
      ['a.example', 9],
      [undefined, 3],
    ]);
    expect(withoutPrice(read, { model: 'm' })?.models).toHaveLength(1);
    expect(withoutPrice(read, { model: 'other' })).toBeNull();
  });
});
