import type { Usage } from '../contract/index.ts';

/**
 * Characters that a token stands for, at most and at least: the prompts and kernels of this project have 2.6 to 4.6 with vocabularies of
 * 100,000 and 200,000 tokens.
 */
const charsPerToken = { most: 5, least: 2 } as const;

/** A shorter prompt fits into every context. */
const shortestChars = 2000;

/** An answer cannot have less room than this, tokens: a prompt counted so close to the context's end has filled it. */
const leastRoom = 8;

/** What Ollama keeps of a prompt's beginning adds half of itself to the half that it keeps of the context, tokens. */
const keptAtMost = 32;

/** Long enough to be cut by a server whose context nobody knows. */
export const mayBeCut = (promptChars: number): boolean => promptChars >= shortestChars;

export interface Counted {
  readonly promptChars: number;
  readonly usage: Usage;
  /** Context that the server holds the model with, tokens; null = unknown. */
  readonly loaded: number | null;
}

/**
 * Ollama cuts a prompt that is longer than the loaded context, without an error: to the whole of the context, or to half of it. What it
 * counts then is one of these two lengths, and has no longer to do with the text. Where the context is unknown, only a count that no text
 * of this length can have tells.
 */
function seemsCut({ promptChars, usage, loaded }: Counted): boolean {
  const counted = usage.promptTokens;
  if (counted === null || !mayBeCut(promptChars)) return false;
  const impossible = promptChars > charsPerToken.most * counted;
  if (loaded === null) return impossible;
  // Prompt and answer cannot both have been held.
  if (counted + (usage.completionTokens ?? 0) > loaded) return true;
  // However finely it is divided, the prompt fits.
  if (promptChars <= charsPerToken.least * loaded) return false;
  const half = Math.floor(loaded / 2);
  return impossible || counted > loaded - leastRoom || (counted >= half && counted <= half + keptAtMost);
}

/** Tells that a server seems to have cut the prompt; null = nothing speaks for it. */
export function truncationWarning(asked: Counted): string | null {
  if (!seemsCut(asked)) return null;
  const { promptChars, usage, loaded } = asked;
  const context = loaded === null ? '' : ` and holds a context of ${loaded}`;
  const plan = loaded === null ? '' : `, or let prompts be planned for this one (--context ${loaded})`;
  return `The server counted ${usage.promptTokens} prompt tokens for ${promptChars} characters${context}: it seems to have cut the prompt. With Ollama, give the model a longer context (num_ctx, OLLAMA_CONTEXT_LENGTH)${plan}.`;
}
