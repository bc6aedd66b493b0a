import type { Bill, ChatReply, RunConfig } from '../contract/index.ts';

/** What a run has used so far, from its stored responses and its requests without a reply: the same in every drive. */
export interface Spent {
  readonly usd: number;
  readonly tokens: number;
  /** Time of model calls and jobs, ms; waiting for a person or a bundle does not count. */
  readonly workMs: number;
  /** Requests whose cost, or whose tokens, are unknown: they count as unknown, not as free. */
  readonly unknownCost: number;
  readonly unknownTokens: number;
  /** How many of these led to no reply. */
  readonly unansweredCost: number;
  readonly unansweredTokens: number;
}

export const nothingSpent: Spent = {
  usd: 0,
  tokens: 0,
  workMs: 0,
  unknownCost: 0,
  unknownTokens: 0,
  unansweredCost: 0,
  unansweredTokens: 0,
};

const one = (yes: boolean): number => (yes ? 1 : 0);

export const costUnknown = (bill: Bill): boolean => bill.costUsd === null;
export const tokensUnknown = ({ usage }: Bill): boolean =>
  usage.promptTokens === null || usage.completionTokens === null;

function afterBill(spent: Spent, bill: Bill): Spent {
  const { promptTokens: p, completionTokens: c } = bill.usage;
  return {
    ...spent,
    usd: spent.usd + (bill.costUsd ?? 0),
    tokens: spent.tokens + (p ?? 0) + (c ?? 0),
    unknownCost: spent.unknownCost + one(costUnknown(bill)),
    unknownTokens: spent.unknownTokens + one(tokensUnknown(bill)),
  };
}

export function afterReply(spent: Spent, reply: ChatReply): Spent {
  return { ...afterBill(spent, reply), workMs: spent.workMs + reply.wallMs };
}

/** After a request that led to no reply: it may have been charged like any other. */
export function afterUnanswered(spent: Spent, bill: Bill): Spent {
  return {
    ...afterBill(spent, bill),
    unansweredCost: spent.unansweredCost + one(costUnknown(bill)),
    unansweredTokens: spent.unansweredTokens + one(tokensUnknown(bill)),
  };
}

export const afterJob = (spent: Spent, wallMs: number): Spent => ({ ...spent, workMs: spent.workMs + wallMs });

export interface Reached {
  readonly which: 'money' | 'tokens' | 'time';
  readonly message: string;
}

/** What a sum leaves out: said, since a limit cannot count it. */
function also(unknown: number, unanswered: number, what: string): string {
  if (unknown === 0) return '';
  const lost = unanswered === 0 ? '' : `, of which ${unanswered} led to no reply and may have been charged`;
  return `, and ${unknown} ${unknown === 1 ? 'request' : 'requests'} of unknown ${what}${lost}`;
}

/** The first limit that is used up. Checked before each step; a step under way is not interrupted. */
export function limitReached(spent: Spent, config: RunConfig): Reached | null {
  if (config.maxUsd !== null && spent.usd >= config.maxUsd)
    return {
      which: 'money',
      message: `$${spent.usd.toFixed(4)} of $${config.maxUsd} are spent${also(spent.unknownCost, spent.unansweredCost, 'cost')}.`,
    };
  if (config.maxTokens !== null && spent.tokens >= config.maxTokens)
    return {
      which: 'tokens',
      message: `${spent.tokens} of ${config.maxTokens} tokens are used${also(spent.unknownTokens, spent.unansweredTokens, 'length')}.`,
    };
  const minutes = spent.workMs / 60_000;
  if (config.maxMinutes !== null && minutes >= config.maxMinutes)
    return { which: 'time', message: `${minutes.toFixed(1)} of ${config.maxMinutes} minutes of work are used.` };
  return null;
}
