import { type Block, scanBlocks } from './fence.ts';
import { jsonObjects } from './json-reply.ts';
import { stripThinking } from './thinking.ts';

/** What a Coder's reply holds. `truncated` is never compiled: the rest is asked for once. */
export type CodeReply =
  | { readonly kind: 'code'; readonly source: string }
  | { readonly kind: 'truncated'; readonly answer: string }
  | { readonly kind: 'unusable'; readonly reason: string };

const escapeName = (name: string): string => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** True when the text defines or declares `name(`, outside of being a part of a longer name. */
const holds = (text: string, name: string): boolean => new RegExp(`(?<![\\w$])${escapeName(name)}\\s*\\(`).test(text);

/** What is skipped when braces are counted, as far as one look tells: comments and characters. */
const skipped = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:\\.|[^'\\\n])'/y;

/** Where the string that begins at `at` ends, or where it was seen not to be closed on its line. */
function stringEnd(source: string, at: number): { readonly to: number; readonly closed: boolean } {
  let i = at + 1;
  for (; i < source.length; i++) {
    const c = source[i] as string;
    if (c === '"') return { to: i + 1, closed: true };
    if (c === '\n' || (c === '\\' && /[\n\r\u2028\u2029]|^$/.test(source[++i] ?? ''))) break;
  }
  return { to: i, closed: false };
}

/** Braces outside strings, characters and comments: more opened than closed means cut off. */
export function openBraces(source: string): number {
  let depth = 0;
  // Up to here no quote begins a string that is closed: it would have been the end of the one that was looked at.
  let unclosed = -1;
  for (let i = 0; i < source.length; ) {
    const c = source[i] as string;
    if (c === '{') depth++;
    else if (c === '}') depth--;
    else if (c === '"' && i >= unclosed) {
      const { to, closed } = stringEnd(source, i);
      if (closed) {
        i = to;
        continue;
      }
      unclosed = to;
    } else if (c === '/' || c === "'") {
      skipped.lastIndex = i;
      const found = skipped.exec(source)?.[0] ?? '';
      if (found !== '') {
        i += found.length;
        continue;
      }
    }
    i++;
  }
  return depth;
}

const codeLine =
  /^\s*(#\s*(include|define|pragma|if|undef)|\/\/|\/\*|extern\s+"C"|__global__|__device__|template\s*<|static\b|using\s|namespace\b|constexpr\b|typedef\b|struct\b|inline\b)/;

/** Code sent without any fence: from the first line that looks like source to the last brace. */
function bareCode(answer: string, wrapper: string): CodeReply | null {
  const lines = answer.split('\n');
  const first = lines.findIndex((line) => codeLine.test(line));
  if (first < 0) return null;
  let body = lines.slice(first).join('\n');
  if (!holds(body, wrapper) || !/__global__|#\s*include/.test(body)) return null;
  if (openBraces(body) > 0) return { kind: 'truncated', answer };
  body = body.slice(0, body.lastIndexOf('}') + 1);
  // The name may have stood only in the prose after the code.
  if (!holds(body, wrapper)) return null;
  return { kind: 'code', source: `${body}\n` };
}

/** `{"code": "…"}`: some models answer in JSON whatever they are asked. */
function codeInJson(answer: string, wrapper: string): string | null {
  for (const value of jsonObjects(answer)) {
    if (typeof value !== 'object' || value === null) continue;
    for (const inner of Object.values(value)) if (typeof inner === 'string' && holds(inner, wrapper)) return inner;
  }
  return null;
}

const lastWith = (blocks: readonly Block[], wrapper: string): Block | undefined =>
  blocks.filter((b) => b.closed && holds(b.content, wrapper)).at(-1);

/**
 * The source in a Coder's reply: the last complete block that holds the wrapper (models correct themselves further down).
 * `finish` is the provider's; 'length' or an unclosed block mean that the reply was cut.
 */
export function readCode(text: string, finish: 'stop' | 'length' | 'other', wrapper: string): CodeReply {
  const { answer, thinking } = stripThinking(text);
  if (answer.trim() === '')
    return {
      kind: 'unusable',
      reason:
        thinking !== '' || finish === 'length'
          ? 'the reply ended inside its thinking, before any code'
          : 'the reply is empty',
    };
  if (finish === 'length') return { kind: 'truncated', answer };
  const blocks = scanBlocks(answer);
  if (blocks.some((b) => !b.closed)) return { kind: 'truncated', answer };
  const best = lastWith(blocks, wrapper);
  if (best !== undefined) {
    // A JSON block holds escaped code, a block of code holds code.
    const inner = best.content.trimStart().startsWith('{') ? codeInJson(best.content, wrapper) : null;
    return { kind: 'code', source: `${(inner ?? best.content).trimEnd()}\n` };
  }
  const json = codeInJson(answer, wrapper);
  if (json !== null) return { kind: 'code', source: `${json.trimEnd()}\n` };
  if (blocks.length === 0) {
    const bare = bareCode(answer, wrapper);
    if (bare !== null) return bare;
    return { kind: 'unusable', reason: 'the reply holds no code block' };
  }
  return { kind: 'unusable', reason: `no code block of the reply holds the function ${wrapper}` };
}

/** First line of a continuation that only opens a block again. */
const reopened = /^\s*(?:`{3,}|~~~)[^\n`]*\n/;

/** Longest end of `head` that `tail` begins with, at least `least` characters. */
function overlap(head: string, tail: string, least: number): number {
  for (let n = Math.min(head.length, tail.length, 4000); n >= least; n--) if (head.endsWith(tail.slice(0, n))) return n;
  return 0;
}

/**
 * Joins a cut answer and its continuation. The model may have opened the block again, repeated the last lines, or begun
 * anew; in the last case the new text alone counts.
 */
export function joinContinuation(head: string, continuation: string): string {
  const { answer: tail } = stripThinking(continuation);
  const unclosed = scanBlocks(head).find((b) => !b.closed);
  const firstLine = unclosed?.content
    .split('\n')
    .find((line) => line.trim() !== '')
    ?.trim();
  const again = scanBlocks(tail)[0]
    ?.content.split('\n')
    .find((line) => line.trim() !== '')
    ?.trim();
  if (firstLine !== undefined && firstLine.length > 3 && again === firstLine) return tail;
  const rest = unclosed === undefined ? tail : tail.replace(reopened, '');
  return head + rest.slice(overlap(head, rest, 12));
}
