import { err, ok, type Result } from '../contract/index.ts';

/**
 * Cautious estimate of a text's tokens: source code runs at three to four bytes a token with today's vocabularies, other
 * scripts at fewer, so three bytes a token errs on the long side.
 */
export const estimateTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3);

export interface Budget {
  /** Prompt and answer together, tokens. */
  readonly contextTokens: number;
}

/** Used when neither user nor server said how long the context is. */
export const defaultBudget: Budget = { contextTokens: 32_768 };

/** Share of the context kept for an answer, and its cap: thinking counts into it with many models. */
const answerCaps = { planner: 16_000, coder: 32_000, compiler: 8_000, debug: 16_000 } as const;
const answerShare = { planner: 1 / 4, coder: 1 / 2, compiler: 1 / 4, debug: 1 / 4 } as const;

/** Upper bound of the answer's length for an agent, tokens. */
export function answerTokens(agent: keyof typeof answerCaps, budget: Budget): number {
  return Math.max(256, Math.min(answerCaps[agent], Math.floor(budget.contextTokens * answerShare[agent])));
}

export interface Fitted<T> {
  readonly value: T;
  /** How many of the oldest items were left out. */
  readonly dropped: number;
}

/**
 * Builds a prompt with as many of the newest `items` as fit into `roomTokens`, dropping the oldest first.
 * `build(items, dropped)` must say in the text how many are missing. Error `provider.context-length` if it does not fit even
 * without any.
 */
export function fitHistory<I, T extends { readonly text: string }>(
  items: readonly I[],
  roomTokens: number,
  build: (kept: readonly I[], dropped: number) => Result<T>,
): Result<Fitted<T>> {
  let need = 0;
  for (let dropped = 0; dropped <= items.length; dropped++) {
    const built = build(items.slice(dropped), dropped);
    if (!built.ok) return built;
    need = estimateTokens(built.value.text);
    if (need <= roomTokens) return ok({ value: built.value, dropped });
  }
  return err('provider.context-length', `The prompt needs about ${need} tokens, there is room for ${roomTokens}.`, {
    remedy: 'Use a model with a longer context and give its length (--context TOKENS), or a shorter source file.',
  });
}
