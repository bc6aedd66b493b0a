import { describe, expect, it } from 'vitest';
import { scanBlocks } from '../../main/agents/fence.ts';
import {
  checkArguments,
  joinContinuation,
  openBraces,
  readArguments,
  readCode,
  readFix,
  readScheme,
} from '../../main/agents/index.ts';
import { jsonObjects } from '../../main/agents/json-reply.ts';
import { stripThinking } from '../../main/agents/thinking.ts';
import { Prng } from '../../main/base/random.ts';
import { candidate } from '../optimizer/support.ts';

const wrapper = 'scale_optimized';
const code = candidate('x');
const other = candidate('corrected');
const read = (text: string, finish: 'stop' | 'length' | 'other' = 'stop') => readCode(text, finish, wrapper);
const isCode = (text: string, source: string) => expect(read(text)).toEqual({ kind: 'code', source });

describe('code in replies (B32, B34)', () => {
  it.each(['cuda', 'c++', 'cpp', 'C++', 'cu', 'c', '', 'cuda title="k.cu"', 'cuda:kernel.cu', '{.cuda}'])(
    'tag "%s"',
    (tag) => {
      isCode(`Sure:\n\`\`\`${tag}\n${code}\`\`\`\nDone.`, code);
    },
  );
  it('the last block with the wrapper counts', () =>
    isCode(`\`\`\`cuda\n${code}\`\`\`\nWait, a mistake:\n\`\`\`cuda\n${other}\`\`\`\n`, other));
  it('a later block without the wrapper does not', () =>
    isCode(`\`\`\`cuda\n${code}\`\`\`\nBuild:\n\`\`\`bash\nnvcc k.cu\n\`\`\``, code));
  it('a name that only contains the wrapper is another', () => {
    expect(read(`\`\`\`cuda\nvoid my_scale_optimized(int a) {}\n\`\`\``).kind).toBe('unusable');
  });
  it('tildes, indentation, list items, Windows line ends', () => {
    isCode(`~~~cuda\n${code}~~~`, code);
    isCode(`1. Code:\n   \`\`\`cuda\n${code}   \`\`\`\n`, code);
    isCode(`\`\`\`cuda\r\n${code.replaceAll('\n', '\r\n')}\`\`\`\r\n`, code);
  });
  it('a fence behind the last brace, or in front of the first line', () => {
    isCode(`\`\`\`cuda\n${code.trimEnd()}\`\`\`\nbye`, code);
    isCode(`\`\`\`${code}\`\`\``, code);
  });
  it('a block in a markdown block', () => isCode(`\`\`\`markdown\nHere:\n\`\`\`cuda\n${code}\`\`\`\n\`\`\`\n`, code));
  it('a longer fence around code with backticks in comments', () => {
    const odd = `// \`\`\`\n${code}`;
    isCode(`\`\`\`\`cuda\n${odd}\`\`\`\``, odd);
  });
  it('no fence at all', () => isCode(`Here is the file.\n\n${code}`, code));
  it('no fence and cut off', () => expect(read(`Here is the file.\n\n${code.slice(0, -20)}`).kind).toBe('truncated'));
  it('JSON', () => {
    isCode(JSON.stringify({ code }), code);
    isCode(`Result:\n\`\`\`json\n${JSON.stringify({ language: 'cuda', code }, null, 1)}\n\`\`\``, code);
  });
  it('an unclosed fence or finish "length" is truncated, never code', () => {
    expect(read(`\`\`\`cuda\n${code}`).kind).toBe('truncated');
    expect(read(`\`\`\`cuda\n${code}\`\`\``, 'length').kind).toBe('truncated');
    expect(read(`\`\`\`cuda\n${code}\`\`\`\nBetter:\n\`\`\`cuda\n${other.slice(0, 200)}`).kind).toBe('truncated');
  });
  it('thinking: with tags, without the opening one, quoted inside, endless', () => {
    const draft = `\`\`\`cuda\n${candidate('draft')}\`\`\``;
    isCode(`<think>${draft}</think>\n\`\`\`cuda\n${code}\`\`\``, code);
    isCode(`I try ${draft}\n</think>\n\`\`\`cuda\n${code}\`\`\``, code);
    isCode(`<think>the tag "</think>" ends it ${draft} </think>\n\`\`\`cuda\n${code}\`\`\``, code);
    expect(read(`<think>${draft}`)).toMatchObject({ kind: 'unusable', reason: expect.stringContaining('thinking') });
    expect(read(`<think>${draft}</think>\nSo it is done.`).kind).toBe('unusable');
    expect(read('', 'length')).toMatchObject({ reason: expect.stringContaining('thinking') });
    expect(stripThinking('a <think> b')).toEqual({ answer: 'a <think> b', thinking: '' });
  });
  it('nothing usable is named', () => {
    expect(read('  ')).toEqual({ kind: 'unusable', reason: 'the reply is empty' });
    expect(read('```cuda\nint x;\n```')).toMatchObject({ reason: expect.stringContaining(wrapper) });
  });
});

describe('continuations', () => {
  const whole = `Text first.\n\`\`\`cuda\n${code}\`\`\`\n`;
  const positions = Array.from({ length: whole.length - 60 }, (_, i) => i + 40);
  it('joins at every cut, also with a reopened block or repeated text', () => {
    let joined = 0;
    for (const at of positions) {
      const head = whole.slice(0, at);
      if (read(head).kind !== 'truncated' && read(head, 'length').kind !== 'truncated') continue;
      const rest = whole.slice(at);
      expect(read(joinContinuation(head, rest)), `cut at ${at}`).toEqual({ kind: 'code', source: code });
      const inCode = at > whole.indexOf('#include') && at < whole.lastIndexOf('```');
      if (!inCode) continue;
      joined++;
      expect(read(joinContinuation(head, `\`\`\`cuda\n${rest}`)), `reopened at ${at}`).toEqual({
        kind: 'code',
        source: code,
      });
      if (at > 80)
        expect(read(joinContinuation(head, whole.slice(at - 30))), `repeated at ${at}`).toEqual({
          kind: 'code',
          source: code,
        });
    }
    expect(joined).toBeGreaterThan(250);
  });
  it('a fresh start counts alone', () => {
    expect(read(joinContinuation(whole.slice(0, 200), `Sorry, again:\n\`\`\`cuda\n${other}\`\`\``))).toEqual({
      kind: 'code',
      source: other,
    });
  });
});

describe('schemes and fixes', () => {
  it('prose stays; thinking and listings go', () => {
    const scheme = readScheme(
      `<think>hm</think>1. Limiter: DRAM.\n\`\`\`cuda\n${code}${code}${code}\`\`\`\nAnd more.`,
      'stop',
    );
    expect(scheme).toMatchObject({ kind: 'text' });
    if (scheme.kind !== 'text') return;
    expect(scheme.text).not.toContain('__global__');
    expect(scheme.text).toContain('lines left out');
    expect(scheme.text).toContain('And more.');
  });
  it('short snippets stay', () => {
    expect(readFix('Write:\n```cuda\nif (i < N) y[i] = x[i];\n```', 'stop')).toMatchObject({
      text: expect.stringContaining('if (i < N)'),
    });
  });
  it('nothing said', () => {
    expect(readScheme('<think>…', 'stop').kind).toBe('unusable');
    expect(readScheme('```\n```', 'stop').kind).toBe('unusable');
    expect(readFix('Root cause: the tail', 'length').kind).toBe('truncated');
  });
});

describe('nvcc options', () => {
  const args = (tokens: string) => checkArguments(tokens.split(' '));
  it('canonical form, aliases, later values win', () => {
    expect(
      args(
        '-O2 --use_fast_math -O3 --std c++17 --maxrregcount=64 -maxrregcount 128 -Xptxas -v,-dlcm=ca -Xptxas=-O3 -fmad=false -DTILE=32 -D UNROLL',
      ),
    ).toEqual({
      arguments: [
        '-use_fast_math',
        '-O3',
        '-std=c++17',
        '-maxrregcount=128',
        '-Xptxas=-v',
        '-Xptxas=-dlcm=ca',
        '-Xptxas=-O3',
        '--fmad=false',
        '-DTILE=32',
        '-DUNROLL',
      ],
      refused: [],
    });
  });
  it.each([
    ['-arch=sm_80', 'architecture'],
    ['-gencode arch=compute_80,code=sm_80', 'architecture'],
    ['-o /etc/passwd', 'what is built'],
    ['-I/usr', 'includes'],
    ['-I /usr', 'includes'],
    ['-include /etc/shadow', 'includes'],
    ['-lcublas', 'includes'],
    ['-rdc=true', 'relocatable'],
    ['-Xcompiler -fplugin=x', 'other programs'],
    ['-ccbin /tmp/evil', 'other programs'],
    ['-G', 'debug'],
    ['-default-stream per-thread', 'stream'],
    ['--options-file x', 'form'],
    ['-maxrregcount=8', 'not allowed'],
    ['-maxrregcount', 'not allowed'],
    ['-std=c++98', 'not allowed'],
    ['-use_fast_math=1', 'no value'],
    ['-Xptxas -astronomic', 'list'],
    ['-Xptxas=', 'list'],
    ['-D_GLIBCXX_DEBUG', 'macro'],
    ['-DCUDA_X', 'macro'],
    ['-DX=system(1)', 'value'],
    ['-D', 'macro'],
    ['kernel.cu', 'not an option'],
    ['@args', 'not an option'],
    ['--made-up', 'not on the list'],
    ['-O3;rm', 'not on the list'],
  ])('%s is refused by name', (text, why) => {
    const got = args(text);
    expect(got.arguments).toEqual([]);
    expect(got.refused).toHaveLength(1);
    expect(got.refused[0]?.argument).toBe(text);
    expect(got.refused[0]?.why).toContain(why);
  });
  it.each([
    ['{"arguments": ["-O3", "-lineinfo"]}', ['-O3', '-lineinfo']],
    ['I chose this:\n```json\n{"arguments": ["-O3"], "why": "as {always}"}\n```', ['-O3']],
    ['<think>{"arguments": ["-G"]}</think>{"args": "-O3 --fmad=true"}', ['-O3', '--fmad=true']],
    ['["-O3", "-use_fast_math"]', ['-O3', '-use_fast_math']],
    ['```bash\nnvcc -O3 -arch=sm_90 \\\n  --use_fast_math kernel.cu -o kernel\n```', ['-O3', '-use_fast_math']],
    ['Use `nvcc -O3 k.cu`.', ['-O3']],
    ['{"arguments": []}', []],
  ])('reads %j', (text, expected) => {
    expect(readArguments(text, 'stop')).toMatchObject({ kind: 'arguments', arguments: expected });
  });
  it('no options, cut or not', () => {
    expect(readArguments('None are needed, I think.', 'stop').kind).toBe('unusable');
    expect(readArguments('{"arguments": ["-O3"', 'length').kind).toBe('truncated');
  });
});

describe('fuzz: mutated replies', () => {
  const seeds = [
    `<think>plan</think>\nHere:\n\`\`\`cuda\n${code}\`\`\`\nNotes.`,
    `\`\`\`markdown\nx\n\`\`\`c++\n${code}\`\`\`\n\`\`\``,
    JSON.stringify({ code, arguments: ['-O3', '-DTILE=4'] }),
    `nvcc -O3 -Xptxas -v -maxrregcount=64 k.cu -o k\n\`\`\`\n${other}\`\`\``,
    `~~~~\n${code}~~~~\n> \`\`\`cpp\n${other}`,
  ];
  const bits = [
    '```',
    '~~~',
    '`',
    '</think>',
    '<think>',
    '{',
    '}',
    '"',
    '\\',
    '\n',
    '\r\n',
    '```cuda\n',
    '[',
    ']',
    '-',
    'scale_optimized(',
    '\u0000',
    '𝒳',
    '/*',
    '*/',
    "'",
  ];
  function mutate(rng: Prng): string {
    let text = rng.pick(seeds);
    for (let n = rng.int(1, 8); n > 0; n--) {
      const a = rng.int(0, text.length);
      const b = Math.min(text.length, a + rng.int(0, 40));
      const kind = rng.int(0, 3);
      if (kind === 0) text = text.slice(0, a) + text.slice(b);
      else if (kind === 1) text = text.slice(0, a) + rng.pick(bits) + text.slice(a);
      else if (kind === 2) text = text.slice(0, a) + text.slice(a, b).repeat(3) + text.slice(b);
      else text = text.slice(0, Math.max(20, a));
    }
    return text;
  }
  it('never throws, never hands out text of a fence, a thought or an argument off the list', () => {
    const rng = new Prng('ab'.repeat(16));
    const kinds: Record<string, number> = {};
    for (let i = 0; i < 6000; i++) {
      const text = mutate(rng);
      const finish = rng.pick(['stop', 'length', 'other'] as const);
      const got = readCode(text, finish, wrapper);
      kinds[got.kind] = (kinds[got.kind] ?? 0) + 1;
      if (finish === 'length') expect(got.kind).not.toBe('code');
      if (got.kind === 'code') {
        expect(got.source).toContain(wrapper);
        expect(got.source).not.toMatch(/^\s*```\w*\s*$/m);
        if (!text.trimStart().startsWith('{') && !text.includes('{"code'))
          expect(text.replaceAll('\r', '')).toContain(got.source.trim().split('\n')[0]?.replaceAll('\r', ''));
      }
      readScheme(text, finish);
      jsonObjects(text);
      openBraces(text);
      const opts = readArguments(text, finish);
      if (opts.kind === 'arguments') {
        expect(checkArguments(opts.arguments)).toEqual({ arguments: opts.arguments, refused: [] });
        for (const a of opts.arguments) expect(a).toMatch(/^-[A-Za-z0-9_.+=-]+$/);
      }
      for (const block of scanBlocks(text)) expect(block.end).toBeGreaterThan(block.start);
    }
    expect(kinds.code).toBeGreaterThan(300);
    expect(kinds.truncated).toBeGreaterThan(300);
    expect(kinds.unusable).toBeGreaterThan(50);
  });
  it('stays fast on hostile text', () => {
    const started = performance.now();
    for (const text of [
      '`'.repeat(200_000),
      '{'.repeat(200_000),
      '```\n'.repeat(50_000),
      '/*'.repeat(100_000),
      '"'.repeat(200_000),
      '</think>'.repeat(30_000),
      'nvcc -'.repeat(40_000),
      ' '.repeat(200_000),
      'nvcc '.repeat(50_000),
      "'".repeat(100_000),
    ]) {
      read(text);
      readScheme(text, 'stop');
      readArguments(text, 'stop');
      openBraces(text);
    }
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});
