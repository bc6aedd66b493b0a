import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { redact } from '../../main/base/redact.ts';
import { type Bill, type ChatOptions, type ChatReply, type ChatRequest, ok } from '../../main/contract/index.ts';
import { type OpenAiOptions, openAiProvider, probeContext, readKey } from '../../main/llm/index.ts';
import { answer, chunk, end, error, type Handler, ModelServer, refuse, stream, usage } from './server.ts';

const request: ChatRequest = {
  agent: 'coder',
  messages: [
    { role: 'system', content: 'You write.' },
    { role: 'user', content: 'Write.' },
  ],
  maxTokens: 4000,
};
const key = 'sk-test-0123456789abcdef';
const open: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((s) => s.close()));
});

async function setUp(handlers: Handler[], change: Partial<OpenAiOptions> = {}) {
  const server = await ModelServer.start(...handlers);
  open.push(server);
  const waits: number[] = [];
  const tokens: string[] = [];
  const unanswered: (Bill | undefined)[] = [];
  const provider = openAiProvider({
    baseUrl: server.baseUrl,
    model: 'test-model',
    key: () => ok(key),
    localOnly: true,
    memory: new Map(),
    backoffMs: 10,
    idleMs: 5000,
    ...change,
  });
  const ask = async (req: ChatRequest = request, options: Partial<ChatOptions> = {}) =>
    provider.chat(req, {
      position: 'r1.a0.coder',
      onToken: (t) => tokens.push(t),
      onWait: (w) => waits.push(w.seconds),
      onUnanswered: (bill) => void unanswered.push(bill),
      ...options,
    });
  const reply = async (req?: ChatRequest): Promise<ChatReply> => {
    const result = await ask(req);
    if (!result.ok || result.value.kind !== 'done') throw new Error(JSON.stringify(result));
    return result.value.reply;
  };
  return { server, ask, reply, waits, tokens, lost: () => unanswered.length, bills: unanswered };
}

describe('streaming', () => {
  it('text, usage, model, tokens as they come; only the headers needed', async () => {
    const t = await setUp([answer('hello world')]);
    expect(await t.reply()).toMatchObject({
      text: 'hello world',
      finish: 'stop',
      usage: { promptTokens: 100, completionTokens: 10 },
      model: 'test-model',
      costUsd: null,
    });
    expect(t.tokens).toEqual(['he', 'llo world']);
    const seen = t.server.seen[0];
    expect(seen?.path).toBe('/v1/chat/completions');
    expect(seen?.headers.authorization).toBe(`Bearer ${key}`);
    expect(Object.keys(seen?.headers ?? {}).filter((h) => h.startsWith('x-') || h.startsWith('openai-'))).toEqual([]);
    expect(seen?.body).toMatchObject({
      model: 'test-model',
      stream: true,
      max_tokens: 4000,
      stream_options: { include_usage: true },
    });
    expect(seen?.body).not.toHaveProperty('temperature');
    expect(((seen?.body.messages ?? []) as { role: string }[]).map((m) => m.role)).toEqual(['system', 'user']);
  });
  it('without a key no authorization is sent', async () => {
    const t = await setUp([answer()], { key: () => ok(null) });
    await t.reply();
    expect(t.server.seen[0]?.headers.authorization).toBeUndefined();
  });
  it('B37: null lines, no choices, empty choices, null usage, comments; unknown is null', async () => {
    const t = await setUp([
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': keep-alive\n\n');
        for (const c of [
          null,
          { model: 'test-model' },
          { choices: [] },
          { choices: null, usage: null },
          chunk('a'),
          null,
          chunk('b'),
          { choices: [{ delta: null }] },
          end(),
          { choices: [], usage: null },
        ])
          response.write(`data: ${JSON.stringify(c)}\n\n`);
        response.end('data: [DONE]\n\n');
      },
    ]);
    expect(await t.reply()).toMatchObject({
      text: 'ab',
      usage: { promptTokens: null, completionTokens: null },
      costUsd: null,
    });
  });
  it('thinking in its own field is kept apart', async () => {
    const t = await setUp([
      stream([
        { choices: [{ delta: { reasoning_content: 'hm ' } }] },
        { choices: [{ delta: { reasoning: 'so' } }] },
        chunk('code'),
        end(),
        usage(5, 5),
      ]),
    ]);
    expect(await t.reply()).toMatchObject({ text: 'code', reasoning: 'hm so' });
    expect(t.tokens).toEqual(['code']);
  });
  it('finish length is told', async () => {
    expect((await (await setUp([stream([chunk('x'), end('length')])])).reply()).finish).toBe('length');
  });
  it('a content filter is a refusal, not an empty answer', async () => {
    expect(await (await setUp([stream([chunk('x'), end('content_filter')])])).ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.refused' },
    });
  });
  it('an answer that was withheld is charged: what it took is told, the rest is unknown', async () => {
    const entry = {
      model: 'test-model',
      address: '127.0.0.1',
      input: 1,
      output: 10,
      source: 'a test',
      asOf: '2026-01-31',
    };
    const prices = { version: 1, models: [entry] };
    const withheld = [chunk('x'), end('content_filter')];
    const t = await setUp([stream([...withheld, usage(9000, 4000)])], { prices });
    expect(await t.ask()).toMatchObject({
      error: { code: 'provider.refused', remedy: expect.stringContaining('charged') },
    });
    expect(t.server.seen).toHaveLength(1);
    expect(t.bills).toEqual([
      { usage: { promptTokens: 9000, completionTokens: 4000 }, costUsd: expect.closeTo((9000 * 1 + 4000 * 10) / 1e6) },
    ]);
    const silent = await setUp([stream(withheld)], { prices });
    await silent.ask();
    expect(silent.bills).toEqual([{ usage: { promptTokens: null, completionTokens: null }, costUsd: null }]);
  });
  it('a server that ignores "stream" and sends one JSON object', async () => {
    const body = {
      model: 'm',
      choices: [{ message: { role: 'assistant', content: 'whole\nthing' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 2 },
    };
    const t = await setUp([refuse(200, JSON.stringify(body, null, 2))]);
    expect(await t.reply()).toMatchObject({ text: 'whole\nthing', usage: { promptTokens: 3, completionTokens: 2 } });
  });
  it('prices: per model and host, dated names too, unknown stays unknown', async () => {
    const entry = { model: 'test-model', input: 1, output: 10, source: 'a test', asOf: '2026-01-31' };
    const prices = { version: 1, models: [{ ...entry, address: '127.0.0.1' }] };
    expect((await (await setUp([answer()], { prices })).reply()).costUsd).toBeCloseTo((100 * 1 + 10 * 10) / 1e6);
    const elsewhere = { ...prices, models: [{ ...entry, address: 'api.x.com' }] };
    expect((await (await setUp([answer()], { prices: elsewhere })).reply()).costUsd).toBeNull();
    expect((await (await setUp([stream([chunk('a'), end()])], { prices })).reply()).costUsd).toBeNull();
  });
});

describe('a prompt that the server cuts without an error (B36)', () => {
  const text = (chars: number): ChatRequest => ({
    ...request,
    messages: [{ role: 'user', content: 'word '.repeat(Math.ceil(chars / 5)).slice(0, chars) }],
  });
  const fromOllama = (prompt: number | null, completion: number | null) =>
    stream([{ ...(chunk('a') as object), system_fingerprint: 'fp_ollama' }, end(), usage(prompt, completion)]);
  const ps = (...models: unknown[]) => refuse(200, { models });
  const holds = (context_length: number) =>
    ps({ name: 'test-model:latest', model: 'test-model:latest', context_length });
  // The report's example: "truncating input prompt limit=4096 prompt=8942". The whole context is kept of it, or half.
  const cases = [2.2, 2.6, 3, 3.5, 4, 4.6].flatMap((perToken) => [4096, 2050].map((kept) => [perToken, kept] as const));

  it.each(cases)('8942 tokens of %s characters, cut to %s in a context of 4096', async (perToken, kept) => {
    const t = await setUp([fromOllama(kept, 30), holds(4096)]);
    const reply = await t.reply(text(Math.round(8942 * perToken)));
    expect(reply.warnings).toEqual([
      expect.stringMatching(
        new RegExp(`counted ${kept} .* context of 4096: it seems to have cut.*num_ctx.*--context 4096`),
      ),
    ]);
    expect(t.server.seen.map((s) => s.path)).toEqual(['/v1/chat/completions', '/api/ps']);
    expect(t.server.seen[1]?.headers.authorization).toBe(`Bearer ${key}`);
  });
  it('one token too many is told as well', async () => {
    for (const [kept, completion] of [
      [4096, 1],
      [4096, null],
      [2050, 400],
    ] as const) {
      const t = await setUp([fromOllama(kept, completion), holds(4096)]);
      expect((await t.reply(text(4097 * 3))).warnings, `${kept}`).toHaveLength(1);
    }
  });
  it('an answer for which the server dropped the beginning of what it held', async () => {
    const t = await setUp([fromOllama(3000, 1500), holds(4096)]);
    expect((await t.reply(text(9000))).warnings?.[0]).toContain('3000 prompt tokens');
  });
  it.each([
    ['a prompt that fits', 8942, 30, 32_768, 3.3],
    ['one of exactly half the context', 2050, 30, 4096, 3.3],
    ['one that leaves little room for the answer', 4000, 90, 4096, 3.3],
    ['wordy text, counted short', 1500, 30, 4096, 5.2],
  ])('%s is not suspected', async (_name, tokens, completion, context, perToken) => {
    const t = await setUp([fromOllama(tokens, completion), holds(context)]);
    expect((await t.reply(text(Math.round(tokens * perToken)))).warnings).toBeUndefined();
  });
  it('where the context is unknown, a count that no such text can have tells; nobody else is asked for it', async () => {
    const cut = await setUp([stream([chunk('a'), end(), usage(4096, 1)])]);
    expect((await cut.reply(text(8942 * 3))).warnings?.[0]).toContain('4096 prompt tokens for 26826 characters');
    expect(cut.server.seen).toHaveLength(1);
    const fine = await setUp([stream([chunk('a'), end(), usage(9000, 1)])]);
    expect((await fine.reply(text(40_000))).warnings).toBeUndefined();
    const silent = await setUp([stream([chunk('a'), end(), usage(null, null)])]);
    expect((await silent.reply(text(40_000))).warnings).toBeUndefined();
    // Unloaded again, another model alone, an older version without the length, a broken answer.
    const another = { name: 'other:7b', context_length: 4096 };
    for (const said of [ps(), ps(another), ps({ name: 'test-model:latest' }), refuse(500, 'no')]) {
      const t = await setUp([fromOllama(4096, 1), said]);
      expect((await t.reply(text(8942 * 3))).warnings?.[0]).toMatch(/26826 characters: it seems to have cut/);
    }
  });
  it('a short prompt is no cause to ask', async () => {
    const t = await setUp([fromOllama(10, 1)]);
    expect((await t.reply()).warnings).toBeUndefined();
    expect(t.server.seen).toHaveLength(1);
  });
});

describe('parameters a server refuses (B30, B31)', () => {
  const tooOld = refuse(
    400,
    error(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: 'max_tokens', code: 'unsupported_parameter' },
    ),
  );
  const noTemperature = refuse(
    400,
    error(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      { param: 'temperature', code: 'unsupported_value' },
    ),
  );
  const warm = { ...request, temperature: 0.2 };

  it('adapts each once, says so, and remembers for this address and model', async () => {
    const memory = new Map();
    const t = await setUp([tooOld, noTemperature, answer(), answer()], { memory });
    const first = await t.reply(warm);
    expect(first.warnings).toHaveLength(2);
    const second = await t.reply(warm);
    expect(second.warnings).toBeUndefined();
    const bodies = t.server.bodies();
    expect(bodies).toHaveLength(4);
    expect(bodies[0]).toMatchObject({ max_tokens: 4000, temperature: 0.2 });
    expect(bodies[1]).toMatchObject({ max_completion_tokens: 4000, temperature: 0.2 });
    expect(bodies[1]).not.toHaveProperty('max_tokens');
    for (const b of bodies.slice(2)) {
      expect(b).not.toHaveProperty('temperature');
      expect(b).toHaveProperty('max_completion_tokens');
    }
    const other = await setUp([answer()], { memory, model: 'other' });
    await other.reply(warm);
    expect(other.server.bodies()[0]).toMatchObject({ max_tokens: 4000, temperature: 0.2 });
  });
  it('a parameter refused again and again is an error, not a loop', async () => {
    const t = await setUp([noTemperature]);
    expect(await t.ask(warm)).toMatchObject({ ok: false, error: { code: 'provider.refused' } });
    expect(t.server.seen).toHaveLength(2);
  });
  it.each<[string, Handler, string]>([
    [
      'FastAPI detail list',
      refuse(422, {
        detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted', type: 'extra_forbidden' }],
      }),
      'stream_options',
    ],
    ['bare string', refuse(400, { error: 'unknown field stream_options' }), 'stream_options'],
    ['plain text', refuse(400, 'stream_options is not supported'), 'stream_options'],
  ])('%s', async (_name, handler, param) => {
    const t = await setUp([handler, answer()]);
    await t.reply();
    expect(t.server.bodies()[1]).not.toHaveProperty(param);
  });
  it('an answer length above the model’s is capped as told', async () => {
    const t = await setUp([
      refuse(
        400,
        error('max_tokens is too large: 4000. This model supports at most 2048 completion tokens.', {
          param: 'max_tokens',
        }),
      ),
      answer(),
    ]);
    await t.reply();
    expect(t.server.bodies()[1]).toMatchObject({ max_tokens: 2048 });
    const u = await setUp([
      refuse(400, error('Invalid max_tokens value, the valid range of max_tokens is [1, 1024]')),
      answer(),
    ]);
    await u.reply();
    expect(u.server.bodies()[1]).toMatchObject({ max_tokens: 1024 });
  });
  it('a model without a system role gets the text in the user message', async () => {
    const t = await setUp([
      refuse(
        400,
        error("Unsupported value: 'messages[0].role' does not support 'system' with this model.", {
          param: 'messages[0].role',
        }),
      ),
      answer(),
    ]);
    await t.reply();
    expect(t.server.bodies()[1]?.messages).toEqual([{ role: 'user', content: 'You write.\n\nWrite.' }]);
  });
});

describe('limits, quota, waiting (B35)', () => {
  const rate = (headers: Record<string, string>) =>
    refuse(429, error('Rate limit reached', { code: 'rate_limit_exceeded' }), headers);
  it('waits at least Retry-After seconds, and says so', async () => {
    const t = await setUp([rate({ 'retry-after': '1' }), answer()]);
    await t.reply();
    expect(t.waits).toEqual([1]);
    expect((t.server.seen[1]?.at ?? 0) - (t.server.seen[0]?.at ?? 0)).toBeGreaterThanOrEqual(990);
  });
  it('Retry-After as a date, retry-after-ms', async () => {
    const t = await setUp([
      rate({ 'retry-after': new Date(Date.now() + 2500).toUTCString() }),
      rate({ 'retry-after-ms': '30' }),
      answer(),
    ]);
    await t.reply();
    expect(t.waits[0]).toBeGreaterThan(0.3);
    expect(t.waits[0]).toBeLessThan(3);
    expect(t.waits[1]).toBe(0.03);
  });
  it('more than the cap is the user’s decision: no waiting, no second request', async () => {
    const t = await setUp([rate({ 'retry-after': '1400000' })]);
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.rate', message: expect.stringContaining('16 days') },
    });
    expect(t.server.seen).toHaveLength(1);
  });
  it('a wait can be cancelled at once', async () => {
    const t = await setUp([rate({ 'retry-after': '60' })]);
    const control = new AbortController();
    const started = performance.now();
    const result = await t.ask(request, {
      signal: control.signal,
      onWait: () => setTimeout(() => control.abort(), 20),
    });
    expect(result).toMatchObject({ ok: false, error: { code: 'cancelled' } });
    expect(performance.now() - started).toBeLessThan(5000);
    expect(t.lost()).toBe(0);
  });
  it('spent quota stops at once, whatever Retry-After says', async () => {
    const t = await setUp([
      refuse(
        429,
        error('You exceeded your current quota, please check your plan and billing details.', {
          code: 'insufficient_quota',
          type: 'insufficient_quota',
        }),
        { 'retry-after': '1' },
      ),
    ]);
    expect(await t.ask()).toMatchObject({ ok: false, error: { code: 'provider.quota' } });
    const u = await setUp([refuse(402, error('Insufficient Balance'))]);
    expect(await u.ask()).toMatchObject({ ok: false, error: { code: 'provider.quota' } });
    expect([t.server.seen.length, u.server.seen.length]).toEqual([1, 1]);
  });
  it('gives up after some tries', async () => {
    const t = await setUp([rate({})]);
    expect(await t.ask()).toMatchObject({ ok: false, error: { code: 'provider.rate' } });
    expect(t.server.seen).toHaveLength(5);
    const u = await setUp([refuse(503, 'busy')]);
    expect(await u.ask()).toMatchObject({ ok: false, error: { code: 'provider.unreachable' } });
    expect(u.server.seen).toHaveLength(3);
  });
});

describe('context (B36)', () => {
  it('what is left of it is used for the answer', async () => {
    const t = await setUp([
      refuse(
        400,
        error(
          "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion).",
          { code: 'context_length_exceeded' },
        ),
      ),
      answer(),
    ]);
    expect((await t.reply({ ...request, maxTokens: 6048 })).warnings?.[0]).toContain('room for 5464');
    expect(t.server.bodies()[1]).toMatchObject({ max_tokens: 5464 });
  });
  it('no room: the limit is named, nothing is cut', async () => {
    const t = await setUp([
      refuse(
        400,
        error(
          "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).",
        ),
      ),
    ]);
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: {
        code: 'provider.context-length',
        message: expect.stringContaining('4096'),
        remedy: expect.stringContaining('4096'),
      },
    });
    const u = await setUp([refuse(500, error('no user query found in messages'))]);
    expect(await u.ask()).toMatchObject({ ok: false, error: { code: 'provider.context-length' } });
  });
  it('asks servers for the length they have', async () => {
    const endpoint = (s: ModelServer) => ({ baseUrl: s.baseUrl, model: 'test-model', localOnly: true, key: null });
    const vllm = await setUp([
      refuse(200, {
        data: [
          { id: 'x', max_model_len: 1 },
          { id: 'test-model', max_model_len: 8192 },
        ],
      }),
    ]);
    expect(await probeContext(endpoint(vllm.server))).toBe(8192);
    const ollama = await setUp([
      refuse(200, { data: [{ id: 'test-model' }] }),
      refuse(200, { models: [{ name: 'test-model', context_length: 4096 }] }),
    ]);
    expect(await probeContext(endpoint(ollama.server))).toBe(4096);
    expect(ollama.server.seen.map((s) => s.path)).toEqual(['/v1/models', '/api/ps']);
    const silent = await setUp([refuse(404, 'no')]);
    expect(await probeContext(endpoint(silent.server))).toBeNull();
  });
});

describe('broken connections', () => {
  it('a dropped stream is asked for again once; the first may have been charged', async () => {
    const t = await setUp([stream([chunk('half')], { breakAfter: true }), answer('whole')]);
    const reply = await t.reply();
    expect(reply.text).toBe('whole');
    expect(reply.warnings?.[0]).toContain('broke once');
    expect(t.lost()).toBe(1);
  });
  it('twice is an error', async () => {
    const t = await setUp([stream([chunk('half')], { breakAfter: true })]);
    expect(await t.ask()).toMatchObject({ ok: false, error: { code: 'provider.unreachable' } });
    expect([t.server.seen.length, t.lost()]).toEqual([2, 2]);
  });
  it('a quiet end without end mark or finish reason is a drop', async () => {
    const t = await setUp([stream([chunk('half')], { done: false }), answer('whole')]);
    expect((await t.reply()).text).toBe('whole');
  });
  it('an end mark without a finish reason is an end', async () => {
    const t = await setUp([stream([chunk('all')])]);
    expect(await t.reply()).toMatchObject({ text: 'all', finish: 'other' });
  });
  it('garbage in the stream is a drop', async () => {
    const t = await setUp([stream([chunk('a'), '{"choices": [']), answer('whole')]);
    expect((await t.reply()).text).toBe('whole');
  });
  it('silence is ended', async () => {
    const t = await setUp([stream([chunk('half')], { hang: true })], { idleMs: 150 });
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.unreachable', detail: expect.stringContaining('no data') },
    });
    expect(t.lost()).toBe(2);
  });
  it('an error inside the stream is told by its words', async () => {
    const t = await setUp([
      stream([chunk('a'), error('Rate limit reached', { code: 'rate_limit_exceeded' })]),
      answer('whole'),
    ]);
    expect((await t.reply()).text).toBe('whole');
    expect(t.waits).toHaveLength(1);
  });
  it('cancel while streaming: at once, cost unknown', async () => {
    const t = await setUp([stream([chunk('half')], { hang: true })]);
    const control = new AbortController();
    const result = await t.ask(request, { signal: control.signal, onToken: () => control.abort() });
    expect(result).toMatchObject({ ok: false, error: { code: 'cancelled' } });
    expect([t.server.seen.length, t.lost()]).toEqual([1, 1]);
  });
  it('nobody listens: unreachable, not charged, not retried', async () => {
    const gone = createServer();
    const port = await new Promise<number>((resolve) =>
      gone.listen(0, '127.0.0.1', () => resolve((gone.address() as { port: number }).port)),
    );
    await new Promise((resolve) => gone.close(resolve));
    const t = await setUp([answer()], { baseUrl: `http://127.0.0.1:${port}/v1` });
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.unreachable', detail: expect.stringContaining('ECONNREFUSED') },
    });
    expect(t.lost()).toBe(0);
  });
  it('wrong model or path', async () => {
    const t = await setUp([refuse(404, error('model not found'))]);
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.refused', message: expect.stringContaining('test-model') },
    });
  });
});

describe('rude servers', () => {
  const pour =
    (status: number, type: string, text: string): Handler =>
    (response) => {
      response.writeHead(status, { 'content-type': type });
      const more = (): void => {
        while (!response.destroyed && response.write(text));
        response.once('drain', more);
      };
      more();
    };

  it.each([
    ['an error text', 500, 'text/plain', 'x'.repeat(65_536)],
    ['a line', 200, 'text/event-stream', 'x'.repeat(65_536)],
    ['a stream of nothing', 200, 'text/event-stream', `: ${'x'.repeat(60_000)}\n\n`],
    ['one JSON object', 200, 'application/json', ' '.repeat(65_536)],
  ])('%s that never ends is an error, at once and in little memory', async (_what, status, type, text) => {
    const { ask } = await setUp([pour(status, type, text)], { backoffMs: 1 });
    expect(await ask()).toMatchObject({ ok: false, error: { code: 'provider.unreachable' } });
  });

  it('comments while the model thinks are signs of life', async () => {
    const thinking: Handler = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      let n = 0;
      const timer = setInterval(() => {
        if (++n < 10) return void response.write(': keep-alive\n\n');
        clearInterval(timer);
        response.end(`data: ${JSON.stringify(chunk('late'))}\n\ndata: [DONE]\n\n`);
      }, 100);
    };
    const { ask } = await setUp([thinking], { idleMs: 500 });
    expect((await ask()).ok).toBe(true);
  });

  it('a web page names the address as the fault', async () => {
    const page: Handler = (response) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
      response.end('<html>Open WebUI</html>');
    };
    const { ask, server } = await setUp([page]);
    const remedy = expect.stringContaining('/v1');
    expect(await ask()).toMatchObject({ ok: false, error: { code: 'provider.refused', remedy } });
    expect(server.seen.length).toBe(1);
  });

  it('content as a list of parts, and a count that cannot be', async () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'code' },
    ];
    const { reply } = await setUp([stream([{ choices: [{ delta: { content: parts } }] }, end(), usage(1e308, -1)])]);
    const got = await reply();
    expect([got.text, got.usage]).toEqual(['code', { promptTokens: null, completionTokens: null }]);
  });
});

describe('keys and addresses', () => {
  it('a server that quotes the key does not get it into an error', async () => {
    const t = await setUp([refuse(401, error(`Incorrect API key provided: ${key}`))]);
    const result = await t.ask();
    expect(result).toMatchObject({ ok: false, error: { code: 'provider.auth' } });
    expect(JSON.stringify(result)).not.toContain(key);
  });
  it('the key is read from its reference at each request and becomes a secret', async () => {
    expect(readKey({ none: true })).toEqual(ok(null));
    expect(readKey({ env: 'CM_NO_SUCH_KEY' }, {})).toMatchObject({
      ok: false,
      error: { code: 'provider.auth', message: expect.stringContaining('CM_NO_SUCH_KEY') },
    });
    expect(readKey({ env: 'CM_KEY' }, { CM_KEY: ' plainlookingsecret ' })).toEqual(ok('plainlookingsecret'));
    expect(redact('said plainlookingsecret')).not.toContain('plainlookingsecret');
  });
  it('redirects are not followed: the key stays', async () => {
    const target = await setUp([answer()]);
    const t = await setUp([refuse(307, '', { location: target.server.baseUrl })]);
    expect(await t.ask()).toMatchObject({
      ok: false,
      error: { code: 'provider.unreachable', remedy: expect.stringContaining(target.server.baseUrl) },
    });
    expect(target.server.seen).toHaveLength(0);
  });
  it('headers from the environment go nowhere', async () => {
    process.env.OPENAI_CUSTOM_HEADERS = 'X-Secret: leak';
    process.env.OPENAI_ORG_ID = 'org-leak';
    try {
      const t = await setUp([answer()]);
      await t.reply();
      expect(JSON.stringify(t.server.seen[0]?.headers)).not.toContain('leak');
    } finally {
      delete process.env.OPENAI_CUSTOM_HEADERS;
      delete process.env.OPENAI_ORG_ID;
    }
  });
  it.each([
    ['https://api.openai.com/v1', 'provider.local-only'],
    ['http://192.168.1.5/v1', 'provider.local-only'],
    ['http://localhost.evil.com/v1', 'provider.local-only'],
    ['http://127.0.0.1.nip.io/v1', 'provider.local-only'],
    ['file:///etc/passwd', 'usage'],
    ['nonsense', 'usage'],
    ['http://user:pw@127.0.0.1/v1', 'usage'],
  ])('local only blocks %s before the key is even read', async (baseUrl, code) => {
    let asked = false;
    const t = await setUp([answer()], {
      baseUrl,
      key: () => {
        asked = true;
        return ok(key);
      },
    });
    expect(await t.ask()).toMatchObject({ ok: false, error: { code } });
    expect(asked).toBe(false);
  });
});
