import type { ChatReply, RunConfig } from '../contract/index.ts';

/** What a run has used so far, from its stored responses alone: the same in every drive. */
export interface Spent {
  readonly usd: number;
  readonly tokens: number;
  /** Time of model calls and jobs, ms; waiting for a person or a bundle does not count. */
  readonly workMs: number;
  /** Replies whose cost, or whose tokens, are unknown: they count as unknown, not as free. */
  readonly unknownCost: number;
  readonly unknownTokens: number;
}

export const nothingSpent: Spent = { usd: 0, tokens: 0, workMs: 0, unknownCost: 0, unknownTokens: 0 };

export function afterReply(spent: Spent, reply: ChatReply): Spent {
  const { promptTokens: p, completionTokens: c } = reply.usage;
  return {
    usd: spent.usd + (reply.costUsd ?? 0),
    tokens: spent.tokens + (p ?? 0) + (c ?? 0),
    workMs: spent.workMs + reply.wallMs,
    unknownCost: spent.unknownCost + (reply.costUsd === null ? 1 : 0),
    unknownTokens: spent.unknownTokens + (p === null || c === null ? 1 : 0),
  };
}

export const afterJob = (spent: Spent, wallMs: number): Spent => ({ ...spent, workMs: spent.workMs + wallMs });

export interface Reached {
  readonly which: 'money' | 'tokens' | 'time';
  readonly message: string;
}

/** The first limit that is used up. Checked before each step; a step under way is not interrupted. */
export function limitReached(spent: Spent, config: RunConfig): Reached | null {
  const also = (n: number, what: string) => (n > 0 ? `, and ${n} replies of unknown ${what}` : '');
  if (config.maxUsd !== null && spent.usd >= config.maxUsd)
    return {
      which: 'money',
      message: `$${spent.usd.toFixed(4)} of $${config.maxUsd} are spent${also(spent.unknownCost, 'cost')}.`,
    };
  if (config.maxTokens !== null && spent.tokens >= config.maxTokens)
    return {
      which: 'tokens',
      message: `${spent.tokens} of ${config.maxTokens} tokens are used${also(spent.unknownTokens, 'length')}.`,
    };
  const minutes = spent.workMs / 60_000;
  if (config.maxMinutes !== null && minutes >= config.maxMinutes)
    return { which: 'time', message: `${minutes.toFixed(1)} of ${config.maxMinutes} minutes of work are used.` };
  return null;
}
