import type { Prng } from '../../main/base/random.ts';

/**
 * Long runs of one thing: patterns that look again from every character of a run take the square of its length. Each stands for one that
 * did: blanks and line ends before an end, quotes that are escaped, digits, words and slashes before something that does not come.
 */
export const runs = [
  ' ',
  '\t',
  '\r',
  '\n',
  '\r\n',
  ' \n',
  '\u2028',
  '\uFEFF',
  '"',
  '\\"',
  "'",
  '`',
  '~',
  '0',
  '0,',
  'a',
  'a_',
  'a.',
  'a ',
  '.',
  '/',
  '\\',
  '(',
  ')',
  '[',
  '{',
  '}',
  '<',
  '/*',
  '//',
  '-',
  '=',
  '#',
  ':',
] as const;

/** What breaks parsers: ends of ranges, odd numbers, quotes, brackets, tags, escapes. */
const tokens = [
  '"',
  "'",
  '`',
  '```',
  '```cuda\n',
  '~~~',
  ',',
  ';',
  '{',
  '}',
  '[',
  ']',
  '(',
  ')',
  '<',
  '>',
  '\\',
  '\n',
  '\r\n',
  '\t',
  '\0',
  '\u2028',
  '\uFEFF',
  '\uD800',
  '𝟙',
  'ü',
  '</think>',
  '<think>',
  '==ERROR==',
  '==PROF==',
  '"ID",',
  'n/a',
  'nan',
  '(!) nan',
  'no data',
  'inf',
  'null',
  'true',
  '{}',
  '[]',
  '0',
  '-1',
  '1e999',
  '-0',
  '99999999999999999999',
  '0x',
  '1,2,3',
  '%',
  'error:',
  'warning:',
  '#include',
  '#define x(',
  '/*',
  '*/',
  '//',
  'R"(',
  ')"',
  "u8'",
  '__proto__',
  'constructor',
  '../',
  '/etc/passwd',
  'data: ',
  '[DONE]',
];

/** A text that is at most this long after a mutation: parsers have caps of their own for more. */
const longest = 200_000;

const at = (prng: Prng, text: string): number => prng.int(0, text.length);

/** A piece of a text, short mostly. */
function piece(prng: Prng, text: string): [number, number] {
  const from = at(prng, text);
  const size = prng.int(0, 3) === 0 ? prng.int(0, Math.max(1, text.length >> 1)) : prng.int(1, 40);
  return [from, Math.min(text.length, from + size)];
}

type Mutation = (text: string, prng: Prng, other: string) => string;

const mutations: readonly Mutation[] = [
  // Cut, at either end or in the middle.
  (t, p) => t.slice(0, at(p, t)),
  (t, p) => t.slice(at(p, t)),
  (t, p) => {
    const [a, b] = piece(p, t);
    return t.slice(0, a) + t.slice(b);
  },
  // Doubled, or repeated many times.
  (t, p) => {
    const [a, b] = piece(p, t);
    return t.slice(0, b) + t.slice(a, b) + t.slice(b);
  },
  (t, p) => {
    const [a, b] = piece(p, t);
    return t.slice(0, a) + t.slice(a, Math.min(b, a + 60)).repeat(p.int(2, 2000)) + t.slice(b);
  },
  // A token put in, or many of them: deep nesting, long words.
  (t, p) => {
    const a = at(p, t);
    return t.slice(0, a) + p.pick(tokens) + t.slice(a);
  },
  (t, p) => {
    const a = at(p, t);
    return t.slice(0, a) + p.pick(tokens).repeat(p.int(2, 20_000)) + t.slice(a);
  },
  // One character changed.
  (t, p) => {
    const a = at(p, t);
    return t.slice(0, a) + String.fromCharCode(p.int(0, 0x17f)) + t.slice(a + 1);
  },
  // A number replaced.
  (t, p) => {
    const found = [...t.slice(0, 60_000).matchAll(/\d+(?:\.\d+)?/g)];
    if (found.length === 0) return t;
    const one = p.pick(found);
    const instead = p.pick([
      '',
      '0',
      '-1',
      '1e999',
      'nan',
      '4294967296',
      '9007199254740993',
      '1.5',
      '"x"',
      '00',
      '1,000',
      'n/a',
    ]);
    return t.slice(0, one.index) + instead + t.slice(one.index + one[0].length);
  },
  // Two lines change places; one goes; one comes from elsewhere.
  (t, p) => {
    const lines = t.split('\n');
    const [a, b] = [p.int(0, lines.length - 1), p.int(0, lines.length - 1)];
    [lines[a], lines[b]] = [lines[b] as string, lines[a] as string];
    return lines.join('\n');
  },
  (t, p) => {
    const lines = t.split('\n');
    lines.splice(p.int(0, lines.length - 1), 1);
    return lines.join('\n');
  },
  (t, p, other) => {
    const lines = t.split('\n');
    lines.splice(p.int(0, lines.length), 0, p.pick(other.split('\n')));
    return lines.join('\n');
  },
  (t, p, other) => t.slice(0, at(p, t)) + other.slice(at(p, other)),
  (t) => t.replaceAll('\n', '\r\n'),
  (t) => t.replaceAll('"', ''),
  (t) => t.toUpperCase(),
];

/** One to five mutations of a sample; the same for the same stream. */
export function mutate(prng: Prng, samples: readonly string[]): string {
  let text = prng.pick(samples);
  for (let n = prng.int(1, 5); n > 0; n--)
    text = prng.pick(mutations)(text, prng, prng.pick(samples)).slice(0, longest);
  return text;
}
