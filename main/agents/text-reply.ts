import { scanBlocks } from './fence.ts';
import { stripThinking } from './thinking.ts';

export type TextReply =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'truncated'; readonly answer: string }
  | { readonly kind: 'unusable'; readonly reason: string };

const longest = 8000;

/** Listings longer than this are taken out: a plan or a diagnosis is words, the Coder writes the code. */
const snippetLines = 16;

function withoutListings(answer: string): string {
  let out = '';
  let at = 0;
  for (const block of scanBlocks(answer)) {
    const lines = block.content.split('\n').length;
    if (lines <= snippetLines || /^(|text|markdown|md|plaintext)$/.test(block.tag)) continue;
    out += `${answer.slice(at, block.start)}(a listing of ${lines} lines left out)\n`;
    at = block.end;
  }
  return out + answer.slice(at);
}

/** A Planner's scheme or a Debug agent's diagnosis: prose, thinking and long listings removed. */
export function readText(text: string, finish: 'stop' | 'length' | 'other'): TextReply {
  const { answer, thinking } = stripThinking(text);
  if (answer.trim() === '')
    return {
      kind: 'unusable',
      reason: thinking !== '' || finish === 'length' ? 'the reply ended inside its thinking' : 'the reply is empty',
    };
  if (finish === 'length') return { kind: 'truncated', answer };
  const words = withoutListings(answer).trim();
  if (!/\p{L}{3}/u.test(words.replace(/\(a listing of \d+ lines left out\)/g, '')))
    return { kind: 'unusable', reason: 'the reply holds no explanation' };
  return {
    kind: 'text',
    text: words.length > longest ? `${words.slice(0, longest)}\n(cut: the answer went on)` : words,
  };
}
