import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ChatReply, type ChatRequest, unwrap } from '../../main/contract/index.ts';
import {
  chatRequestHash,
  costOf,
  giveAnswer,
  loadPrices,
  manualProvider,
  recordingProvider,
} from '../../main/llm/index.ts';

const request: ChatRequest = {
  agent: 'planner',
  messages: [
    { role: 'system', content: 'You plan.' },
    { role: 'user', content: 'Plan this.\n```cuda\nint x;\n```' },
  ],
  maxTokens: 100,
};
const folder = () => mkdtemp(join(tmpdir(), 'cm-manual-'));

describe('manual provider', () => {
  it('writes a readable prompt, parks, and takes the answer from its file', async () => {
    const dir = await folder();
    const provider = manualProvider({ dir: join(dir, 'deep', 'run') });
    const parked = unwrap(await provider.chat(request, { position: 'r1.planner' }));
    expect(parked).toMatchObject({
      kind: 'parked',
      waiting: { for: 'answer', path: join(dir, 'deep/run/001-r1.planner.prompt.md') },
    });
    if (parked.kind !== 'parked') return;
    expect(parked.waiting.how).toContain('001-r1.planner.answer.md');
    const text = await readFile(parked.waiting.path, 'utf8');
    expect(text.indexOf('SYSTEM')).toBeLessThan(text.indexOf('You plan.'));
    expect(text.indexOf('You plan.')).toBeLessThan(text.indexOf('= USER ='));
    expect(text.indexOf('= USER =')).toBeLessThan(text.indexOf('Plan this.'));
    const answer = join(dir, 'deep/run/001-r1.planner.answer.md');
    await writeFile(answer, ' \n');
    expect(unwrap(await provider.chat(request, { position: 'r1.planner' })).kind).toBe('parked');
    await writeFile(answer, '\uFEFFUse vectors.\r\nAlways.');
    expect(unwrap(await provider.chat(request, { position: 'r1.planner' }))).toMatchObject({
      kind: 'done',
      reply: {
        text: 'Use vectors.\nAlways.',
        usage: { promptTokens: null, completionTokens: null },
        costUsd: null,
        provider: 'manual',
      },
    });
  });
  it('numbers prompts in order and keeps the number of a position', async () => {
    const dir = await folder();
    const provider = manualProvider({ dir });
    for (const position of ['r1.planner', 'r1.a0.coder', 'r1.planner', 'r1.a0.coder.more', 'a0.coder'])
      await provider.chat(request, { position });
    expect((await readdir(dir)).sort()).toEqual([
      '001-r1.planner.prompt.md',
      '002-r1.a0.coder.prompt.md',
      '003-r1.a0.coder.more.prompt.md',
      '004-a0.coder.prompt.md',
    ]);
  });
  it('an answer to an older prompt is used and said', async () => {
    const dir = await folder();
    const provider = manualProvider({ dir });
    await provider.chat(request, { position: 'p' });
    unwrap(await giveAnswer(dir, 'p', 'yes'));
    const changed = { ...request, messages: [{ role: 'user' as const, content: 'other' }] };
    const got = unwrap(await provider.chat(changed, { position: 'p' }));
    expect(got).toMatchObject({ kind: 'done', reply: { text: 'yes', warnings: [expect.stringContaining('changed')] } });
  });
  it('an answer given directly is kept beside the prompt', async () => {
    const dir = await folder();
    let asked = '';
    const provider = manualProvider({
      dir,
      ask: async ({ prompt, position }) => {
        asked = `${position}: ${prompt}`;
        return position === 'no' ? null : 'pasted';
      },
    });
    expect(unwrap(await provider.chat(request, { position: 'yes' }))).toMatchObject({
      kind: 'done',
      reply: { text: 'pasted' },
    });
    expect(asked).toContain('Plan this.');
    expect(await readFile(join(dir, '001-yes.answer.md'), 'utf8')).toBe('pasted');
    expect(unwrap(await provider.chat(request, { position: 'no' })).kind).toBe('parked');
  });
  it('answers given at the same time meet without a fault: one of them stands, whole', async () => {
    const dir = await folder();
    const provider = manualProvider({ dir });
    await provider.chat(request, { position: 'p' });
    const texts = Array.from({ length: 12 }, (_, i) => `${i} `.repeat(20_000).trim());
    const given = await Promise.all(texts.map((text) => giveAnswer(dir, 'p', text)));
    expect(given.every((g) => g.ok)).toBe(true);
    const got = unwrap(await provider.chat(request, { position: 'p' }));
    expect(texts).toContain(got.kind === 'done' ? got.reply.text.trim() : '');
  });
  it('answers for nobody, empty answers and unusable folders are errors', async () => {
    const dir = await folder();
    expect(await giveAnswer(dir, 'p', 'x')).toMatchObject({ ok: false, error: { code: 'store.not-found' } });
    await manualProvider({ dir }).chat(request, { position: 'p' });
    expect(await giveAnswer(dir, 'p', ' ')).toMatchObject({ ok: false, error: { code: 'usage' } });
    await writeFile(join(dir, 'file'), '');
    expect(await manualProvider({ dir: join(dir, 'file') }).chat(request, { position: 'p' })).toMatchObject({
      ok: false,
      error: { code: 'env.not-writable' },
    });
  });
  it('a position cannot leave the folder', async () => {
    const dir = await folder();
    await manualProvider({ dir }).chat(request, { position: '../../x/y' });
    expect(await readdir(dir)).toEqual(['001-.._.._x_y.prompt.md']);
  });
});

describe('recording provider', () => {
  const reply: ChatReply = {
    text: 'plan',
    reasoning: '',
    finish: 'stop',
    usage: { promptTokens: 1, completionTokens: 1 },
    model: 'm',
    provider: 'p',
    wallMs: 5,
    costUsd: null,
  };
  const chats = [{ position: 'r1.planner', requestHash: chatRequestHash(request), reply }];
  it('answers by position', async () => {
    const changes: string[] = [];
    const provider = recordingProvider({ chats, strict: true, onChange: (p) => changes.push(p) });
    expect(unwrap(await provider.chat(structuredClone(request), { position: 'r1.planner' }))).toEqual({
      kind: 'done',
      reply,
    });
    expect(changes).toEqual([]);
  });
  it('a changed prompt is reported, or fails when strict', async () => {
    const changed = { ...request, maxTokens: 101 };
    const changes: string[] = [];
    const lenient = recordingProvider({ chats, strict: false, onChange: (p, what) => changes.push(`${p} ${what}`) });
    expect(unwrap(await lenient.chat(changed, { position: 'r1.planner' }))).toEqual({ kind: 'done', reply });
    expect(changes).toEqual(["r1.planner The planner's prompt differs from the recorded one."]);
    const strict = recordingProvider({ chats, strict: true });
    expect(await strict.chat(changed, { position: 'r1.planner' })).toMatchObject({
      ok: false,
      error: { code: 'replay.diverged' },
    });
  });
  it('a position that was not recorded is an error', async () => {
    expect(await recordingProvider({ chats, strict: false }).chat(request, { position: 'r2.planner' })).toMatchObject({
      ok: false,
      error: { code: 'replay.diverged' },
    });
  });
});

describe('prices', () => {
  const entry = { input: 1, output: 4, source: 'https://api.example.com/prices', asOf: '2026-01-31' };
  const written = async (models: unknown, version = 1): Promise<string> => {
    const path = join(await folder(), 'prices.json');
    await writeFile(path, JSON.stringify({ version, models }));
    return path;
  };
  it('are looked up by name, dated name and host; what is not listed is unknown', async () => {
    const models = [
      { ...entry, model: 'm-mini', address: 'api.example.com' },
      { ...entry, model: 'm', input: 2 },
    ];
    const table = unwrap(await loadPrices(await written(models)));
    const used = { promptTokens: 1_000_000, completionTokens: 0 };
    expect(costOf(table, 'api.example.com', 'm-mini-2025-04-16', used)).toBe(1);
    expect(costOf(table, 'localhost', 'm', used)).toBe(2);
    expect(costOf(table, 'api.example.com', 'm-mini-high', used)).toBeNull();
    expect(costOf(table, 'localhost', 'm-mini', used)).toBeNull();
    expect(costOf(table, 'localhost', 'm', { promptTokens: 1, completionTokens: null })).toBeNull();
  });
  it('without a file nothing is known; none is shipped', async () => {
    expect(unwrap(await loadPrices(join(await folder(), 'none.json'))).models).toEqual([]);
  });
  it('an entry without a source and its day, and a broken or newer table, are refused by name', async () => {
    const { source: _, ...unsourced } = entry;
    for (const model of [unsourced, { ...entry, asOf: 'last year' }, { ...entry, input: -1 }])
      expect(await loadPrices(await written([{ ...model, model: 'm' }]))).toMatchObject({
        ok: false,
        error: { code: 'format.invalid', remedy: expect.stringContaining('README') },
      });
    expect(await loadPrices(await written([], 2))).toMatchObject({ ok: false, error: { code: 'format.newer' } });
    expect(await loadPrices(await folder())).toMatchObject({ ok: false, error: { code: 'input.file' } });
  });
});
