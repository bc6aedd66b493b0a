/** A fenced block found in a reply. */
export interface Block {
  /** First word after the fence, lower case: "cuda", "c++", "" … */
  readonly tag: string;
  readonly content: string;
  readonly closed: boolean;
  /** Offset of the opening line in the text, and of the first character after the block. */
  readonly start: number;
  readonly end: number;
}

interface Open {
  readonly char: string;
  readonly length: number;
  readonly tag: string;
  readonly start: number;
  readonly lines: string[];
}

const opening = /^[ \t]*(?:[-*+>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})[ \t]*(.*)$/;

/** "```#include <x>": no tag but the file's first line (no blank between fence and code). */
const looksLikeCode = (info: string): boolean =>
  /^(#\s*(include|define|pragma|if)|\/\/|\/\*|extern\s|__global__|template\b)/.test(info);

function openFence(line: string, start: number): Open | null {
  const match = opening.exec(line);
  const run = match?.[1];
  const info = (match?.[2] ?? '').trim();
  if (run === undefined || (run.startsWith('`') && info.includes('`'))) return null;
  const isCode = looksLikeCode(info);
  return {
    char: run.charAt(0),
    length: run.length,
    tag: isCode ? '' : (info.split(/[\s{,:]/)[0] ?? '').toLowerCase(),
    start,
    lines: isCode ? [info] : [],
  };
}

/** How a line closes the open block: not at all, or with code left of the fence ("}```"). */
function closing(line: string, open: Open): { rest: string | null } | null {
  const trimmed = line.trim();
  let run = 0;
  while (run < trimmed.length && trimmed.charAt(trimmed.length - 1 - run) === open.char) run++;
  if (run < open.length) return null;
  const before = trimmed.slice(0, trimmed.length - run);
  if (before === '') return { rest: null };
  return before.includes('`') || open.char === '~'
    ? null
    : { rest: line.slice(0, line.lastIndexOf(open.char.repeat(run))) };
}

/**
 * Finds fenced blocks, in order. Written out instead of one pattern because replies break patterns: tags such as `c++`,
 * a fence right behind the last brace, a block inside a `markdown` block, a fence that is never closed.
 * An opening fence with a tag inside an open block ends that block (source files do not hold such lines).
 */
export function scanBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let open: Open | null = null;
  const finish = (end: number, closed: boolean) => {
    if (open === null) return;
    const content = open.lines.join('\n');
    // A stray fence at the very end opens nothing.
    if (closed || content.trim() !== '') blocks.push({ tag: open.tag, content, closed, start: open.start, end });
    open = null;
  };
  let at = 0;
  for (const raw of text.split('\n')) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    const next = at + raw.length + 1;
    const current = open as Open | null;
    if (current === null) open = openFence(line, at);
    else {
      const close = closing(line, current);
      const inner = close === null ? openFence(line, at) : null;
      if (close !== null) {
        if (close.rest !== null) current.lines.push(close.rest);
        finish(next, true);
      } else if (inner !== null && (inner.tag !== '' || inner.lines.length > 0)) {
        // The outer block (prose wrapped in "markdown") is done with; it is no truncated code.
        finish(at, true);
        open = inner;
      } else current.lines.push(line);
    }
    at = next;
  }
  finish(text.length, false);
  return blocks;
}
