import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  briefOf,
  coderRequest,
  compilerRequest,
  cutMiddle,
  debugRequest,
  defaultBudget,
  estimateTokens,
  loadPrompts,
  type PastScheme,
  plannerRequest,
  profileText,
  sharedParts,
  signatureOf,
} from '../../main/agents/index.ts';
import { fenced, fillTemplate, fillText, parseTemplate } from '../../main/agents/template.ts';
import { type ChatRequest, unwrap } from '../../main/contract/index.ts';
import { candidate, evaluation, includes, originSource, prompts, task } from '../optimizer/support.ts';

const brief = briefOf(task, 'fp32', { includes });
const baseline = evaluation('valid', null);
const peaks = { readBytesPerS: 4.1e12, writeBytesPerS: 3.6e12, fp32FlopsPerS: 6.2e13 };
const shared = unwrap(sharedParts(prompts, brief, baseline.gpu, peaks, 'sm_90'));
const notes = 'At most 64 registers per thread, no cuBLAS.';
const constrained = unwrap(sharedParts(prompts, brief, baseline.gpu, peaks, 'sm_90', notes));
const shown = (request: ChatRequest): string =>
  `${request.messages.map((m) => `<<<<<< ${m.role}\n${m.content}\n`).join('\n')}\n<<<<<< at most ${request.maxTokens} tokens\n`;
const golden = (name: string) => join(import.meta.dirname, 'golden', `${name}.md`);

const past = (round: number, change: Partial<PastScheme> = {}): PastScheme => ({
  round,
  scheme: `Limiter: DRAM.\nChange: idea ${round}.`,
  by: 'planner',
  outcome: 'accepted',
  reason: 'R = 1.21 [1.19, 1.23]',
  score: 1.5,
  ratio: 1.21,
  sizes: [
    { dims: 'N=1024', versusBest: 0.99 },
    { dims: 'N=1048576', versusBest: 1.21 },
  ],
  confirmed: true,
  attempts: ['accepted'],
  bottleneck: 'memory-bandwidth',
  ...change,
});
const invalid = past(2, {
  outcome: 'wrong-result',
  reason: '3 of 1024 elements wrong',
  score: null,
  ratio: null,
  sizes: [],
  attempts: ['race', 'wrong-result'],
});

describe('golden prompts', () => {
  it('planner, first round', async () => {
    const { request } = unwrap(
      plannerRequest(
        prompts,
        {
          shared,
          bestSource: originSource,
          bestEvaluation: baseline,
          bestIsOrigin: true,
          profileMode: 'filtered',
          history: [],
        },
        defaultBudget,
      ),
    );
    await expect(shown(request)).toMatchFileSnapshot(golden('planner-first'));
  });
  it('planner, with history and notes', async () => {
    const { request, dropped } = unwrap(
      plannerRequest(
        prompts,
        {
          shared: constrained,
          bestSource: candidate('x'),
          bestEvaluation: evaluation('accepted', 1.5),
          bestIsOrigin: false,
          profileMode: 'full',
          history: [past(1), invalid],
        },
        defaultBudget,
      ),
    );
    expect(dropped).toBe(0);
    await expect(shown(request)).toMatchFileSnapshot(golden('planner-later'));
  });
  it('coder, first attempt and with a fix', async () => {
    const input = {
      shared,
      signature: brief.signature,
      source: originSource,
      scheme: 'Vector loads.',
      fix: null,
      replyProblem: null,
      pitfalls: [],
    };
    await expect(shown(unwrap(coderRequest(prompts, input, defaultBudget)).request)).toMatchFileSnapshot(
      golden('coder-first'),
    );
    const fix = {
      ...input,
      shared: constrained,
      fix: 'The tail is not handled.',
      replyProblem: 'the reply holds no code block',
      pitfalls: ['Round 2, wrong-result: 3 of 1024 elements wrong'],
    };
    await expect(shown(unwrap(coderRequest(prompts, fix, defaultBudget)).request)).toMatchFileSnapshot(
      golden('coder-fix'),
    );
  });
  it('compiler', async () => {
    const input = {
      source: originSource,
      arch: 'sm_90',
      toolkit: '13.0',
      dtype: 'fp32' as const,
      remarks: ['refused: -rdc=true: relocatable device code is not allowed'],
      notes: constrained.notes,
    };
    await expect(shown(unwrap(compilerRequest(prompts, input, defaultBudget)).request)).toMatchFileSnapshot(
      golden('compiler'),
    );
  });
  it('debug, bf16', async () => {
    const bf16 = briefOf(task, 'bf16', { includes, libraries: ['cublas'] });
    const { request } = unwrap(
      debugRequest(
        prompts,
        {
          shared: unwrap(sharedParts(prompts, bf16, null, null, 'sm_90', notes)),
          source: candidate('x'),
          compileArgs: ['-O3'],
          scheme: 'Vector loads.',
          digest: 'y: 3 of 1024 wrong, first at 1021: got nan, want 1.5',
          earlier: [{ attempt: 1, fix: 'Guard the tail.', result: 'wrong-result: 1 wrong' }],
        },
        defaultBudget,
      ),
    );
    await expect(shown(request)).toMatchFileSnapshot(golden('debug'));
  });
});

describe('what prompts say', () => {
  it('a metric that is not available stays that, with its reason; never 0', () => {
    const text = profileText(baseline.profile, 'filtered');
    expect(text).toContain('Max Bandwidth: not available (not collected on this GPU)');
    expect(text).not.toMatch(/Max Bandwidth: 0/);
    expect(profileText(null, 'filtered')).toContain('No profile was taken');
    expect(profileText(baseline.profile, 'none')).not.toContain('DRAM');
  });
  it('an unknown GPU is said to be unknown', () => {
    expect(unwrap(sharedParts(prompts, brief, null, null, 'sm_90')).gpu).toContain('Not known yet');
  });
  it('a size without a measurement is not shown as fast', () => {
    const e = evaluation('accepted', 1.5);
    const first = e.figures?.sizes[0];
    if (first) Object.assign(first, { candidateSpanNs: null, speedup: null, floorNs: null });
    const { request } = unwrap(
      plannerRequest(
        prompts,
        {
          shared,
          bestSource: 'x',
          bestEvaluation: e,
          bestIsOrigin: false,
          profileMode: 'none',
          history: [],
        },
        defaultBudget,
      ),
    );
    expect(request.messages[1]?.content).toContain('| not measured | not measured | not measured |');
  });
  it('signatures', () => {
    expect(signatureOf(task, 'bf16')).toEqual({
      name: 'scale_bf16_optimized',
      declaration: 'extern "C" void scale_bf16_optimized(__nv_bfloat16* y, const __nv_bfloat16* x, int N)',
    });
  });
  it('code with fences of its own stays in one block', () => {
    expect(fenced('cuda', '// ```\nint x;\n')).toBe('````cuda\n// ```\nint x;\n````');
  });
});

describe('budget', () => {
  const input = (history: PastScheme[]) => ({
    shared,
    bestSource: originSource,
    bestEvaluation: baseline,
    bestIsOrigin: true,
    profileMode: 'none' as const,
    history,
  });
  const long = (n: number) =>
    Array.from({ length: n }, (_, i) => past(i + 1, { scheme: `idea-${i + 1} ${'word '.repeat(400)}` }));

  it('drops the oldest rounds first and says how many, in the prompt and as a value', () => {
    const budget = { contextTokens: 8000 };
    const { request, dropped } = unwrap(plannerRequest(prompts, input(long(10)), budget));
    const text = request.messages.map((m) => m.content).join('\n');
    expect(dropped).toBeGreaterThan(3);
    expect(dropped).toBeLessThan(10);
    expect(text).toContain(`(The oldest ${dropped} of 10 rounds are left out for length.)`);
    expect(text).not.toContain(`idea-${dropped} `);
    for (let i = dropped + 1; i <= 10; i++) expect(text).toContain(`idea-${i} `);
    expect(estimateTokens(text) + request.maxTokens).toBeLessThanOrEqual(budget.contextTokens);
  });
  it('fits what fits exactly at every budget, or fails with context-length', () => {
    let failures = 0;
    for (let contextTokens = 1000; contextTokens < 12000; contextTokens += 137) {
      const built = plannerRequest(prompts, input(long(6)), { contextTokens });
      if (!built.ok) {
        expect(built.error.code).toBe('provider.context-length');
        failures++;
        continue;
      }
      const { request } = built.value;
      const need = estimateTokens(request.messages.map((m) => m.content).join('\n')) + request.maxTokens;
      expect(need).toBeLessThanOrEqual(contextTokens);
    }
    expect(failures).toBeGreaterThan(0);
  });
  it('a long profile takes half of the prompt at most, then the oldest rounds go; both are said', () => {
    const lines = Array.from({ length: 4000 }, (_, i) => `- metric ${i}: 1 %. Meaning.`);
    const metrics = lines.map((_, i) => ({
      id: `m${i}`,
      label: `metric ${i}`,
      meaning: 'Meaning.',
      value: { available: true as const, value: i, unit: '%' },
    }));
    const profile = baseline.profile === null ? null : { ...baseline.profile, filtered: metrics };
    const full = { ...input(long(2)), bestEvaluation: { ...baseline, profile }, profileMode: 'full' as const };
    const { request, dropped, profileCut } = unwrap(plannerRequest(prompts, full, defaultBudget));
    const text = request.messages.map((m) => m.content).join('\n');
    expect(profileCut).toBeGreaterThan(1000);
    expect(text).toContain(`(The last ${profileCut} lines of the profile are left out for length.)`);
    expect(dropped).toBe(0);
    expect(text).toContain('idea-1 ');
    expect(estimateTokens(text) + request.maxTokens).toBeLessThanOrEqual(defaultBudget.contextTokens);
    // A context too short for the half: the rounds go first, then more of the profile.
    const short = unwrap(plannerRequest(prompts, full, { contextTokens: 4500 }));
    expect(short.dropped).toBe(2);
    expect(short.profileCut).toBeGreaterThan(profileCut);
    const cut = short.request.messages.map((m) => m.content).join('\n');
    expect(estimateTokens(cut) + short.request.maxTokens).toBeLessThanOrEqual(4500);
  });
  it('failures of earlier rounds and remarks are shortened oldest first, never silently', () => {
    const pitfalls = Array.from(
      { length: 40 },
      (_, i) => `Round ${i + 1}, race: failure-${i + 1} ${'word '.repeat(100)}`,
    );
    const coder = unwrap(
      coderRequest(
        prompts,
        { shared, signature: 's', source: 'x', scheme: 's', fix: null, replyProblem: null, pitfalls },
        { contextTokens: 8000 },
      ),
    );
    const text = coder.request.messages.map((m) => m.content).join('\n');
    expect(coder.dropped).toBeGreaterThan(0);
    expect(text).toContain(`(The oldest ${coder.dropped} left out for length.)`);
    expect(text).not.toContain(`failure-${coder.dropped} `);
    expect(text).toContain('failure-40 ');
    const compiler = unwrap(
      compilerRequest(
        prompts,
        { source: 'x', arch: 'sm_90', toolkit: null, dtype: 'fp32', remarks: pitfalls, notes: '' },
        { contextTokens: 4000 },
      ),
    );
    expect(compiler.dropped).toBeGreaterThan(0);
    expect(compiler.request.messages[1]?.content).toContain(`(The oldest ${compiler.dropped} left out for length.)`);
  });
  it('what is left out of the evidence is counted', () => {
    const debug = unwrap(
      debugRequest(
        prompts,
        { shared, source: 'x', compileArgs: [], scheme: 's', digest: 'x'.repeat(13_000), earlier: [] },
        defaultBudget,
      ),
    );
    expect(debug.cut).toBe(1000);
  });
  it('a source that does not fit the Coder is an error, not a cut source', () => {
    const built = coderRequest(
      prompts,
      { shared, signature: 's', source: 'x'.repeat(90_000), scheme: 's', fix: null, replyProblem: null, pitfalls: [] },
      defaultBudget,
    );
    expect(built).toMatchObject({ ok: false, error: { code: 'provider.context-length' } });
  });
  it('a long digest keeps its first error and its end', () => {
    const text = cutMiddle(`FIRST${'x'.repeat(50_000)}LAST`, 1000);
    expect(text.startsWith('FIRST')).toBe(true);
    expect(text.endsWith('LAST')).toBe(true);
    expect(text).toContain('49009 characters left out');
  });
});

describe('templates', () => {
  const parse = (text: string) => parseTemplate('t', text);
  it.each([
    ['=== user ===\nx', 'system and a user part'],
    ['hello\n=== system ===\na\n=== user ===\nb', 'text before'],
    ['=== system ===\na\n=== user ===\nb\n=== user ===\nc', 'twice'],
    ['=== system ===\na\n=== user ===\n{{ code }}', 'no placeholder'],
    ['=== system ===\na\n=== user ===\n{{code}', 'no placeholder'],
    ['=== system ===\na\n=== user ===\n{{Code}}', 'no placeholder'],
  ])('refuses %j', (text, why) => {
    const result = parse(text);
    expect(result.ok).toBe(false);
    if (!result.ok) expect(`${result.error.message}`).toContain(why);
  });
  it('fills once; values are never scanned', () => {
    const t = unwrap(parse('=== system ===\ns\n=== user ===\nA {{a}} {{b}}'));
    expect(unwrap(fillTemplate(t, { a: '{{b}} $& $1', b: 'B' })).user).toBe('A {{b}} $& $1 B');
  });
  it('an empty value alone on its line leaves no hole', () => {
    expect(unwrap(fillText('t', 'x\n\n{{a}}\n\ny {{b}}', { a: '', b: '' }))).toBe('x\n\ny');
  });
  it('a missing value and an unused value are errors', () => {
    const t = unwrap(parse('=== system ===\ns\n=== user ===\n{{a}}'));
    expect(fillTemplate(t, {})).toMatchObject({ ok: false, error: { code: 'format.invalid' } });
    expect(fillTemplate(t, { a: '1', b: '2' })).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('{{b}}') },
    });
  });
  it('a prompts folder with a deleted placeholder or file is refused by name', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'cm-prompts-'));
    await cp(join(import.meta.dirname, '../../prompts'), dir, { recursive: true });
    const coder = join(dir, 'coder.md');
    await writeFile(coder, (await readFile(coder, 'utf8')).replace('{{scheme}}', ''));
    const set = unwrap(await loadPrompts(dir));
    const built = coderRequest(
      set,
      { shared, signature: 's', source: 'x', scheme: 's', fix: null, replyProblem: null, pitfalls: [] },
      defaultBudget,
    );
    expect(built).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('coder.md lacks {{scheme}}') },
    });
    expect(await loadPrompts(join(dir, 'nowhere'))).toMatchObject({ ok: false, error: { code: 'input.file' } });
  });
});
