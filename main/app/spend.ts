import type { Spend, SpendSum } from '../contract/index.ts';
import type { ReplyRow } from '../store/index.ts';
import { historyFolder, withStore } from './context.ts';
import type { ServiceContext } from './events.ts';

const add = (sum: number | null, value: number | null): number | null => (value === null ? sum : (sum ?? 0) + value);

/** Sums of replies. What is unknown is counted and in no sum; a sum of nothing known is null, not 0. */
function sumOf(replies: readonly ReplyRow[]): SpendSum {
  let sum: SpendSum = {
    replies: 0,
    usd: null,
    unknown: 0,
    promptTokens: null,
    completionTokens: null,
    unknownTokens: 0,
  };
  for (const r of replies)
    sum = {
      replies: sum.replies + 1,
      usd: add(sum.usd, r.costUsd),
      unknown: sum.unknown + (r.costUsd === null ? 1 : 0),
      promptTokens: add(sum.promptTokens, r.promptTokens),
      completionTokens: add(sum.completionTokens, r.completionTokens),
      unknownTokens: sum.unknownTokens + (r.promptTokens === null || r.completionTokens === null ? 1 : 0),
    };
  return sum;
}

/** Groups in the order in which their first reply comes. */
function grouped(replies: readonly ReplyRow[], keyOf: (r: ReplyRow) => string): { key: string; of: ReplyRow[] }[] {
  const groups = new Map<string, ReplyRow[]>();
  for (const r of replies) {
    const key = keyOf(r);
    const group = groups.get(key);
    if (group) group.push(r);
    else groups.set(key, [r]);
  }
  return [...groups].map(([key, of]) => ({ key, of }));
}

/** What replies took, by month, task, model and run. `replies`: newest first. */
export function spendOf(replies: readonly ReplyRow[]): Spend {
  const by = (keyOf: (r: ReplyRow) => string) => grouped(replies, keyOf).map(({ key, of }) => ({ key, ...sumOf(of) }));
  return {
    total: sumOf(replies),
    month: by((r) => r.at.slice(0, 7)),
    task: by((r) => r.task),
    model: by((r) => `${r.provider} ${r.model}`),
    run: grouped(replies, (r) => r.run).map(({ key, of }) => {
      const { task, createdAt } = of[0] as ReplyRow;
      return { key, task, createdAt, ...sumOf(of) };
    }),
  };
}

/** What the real runs of the history cost. */
export const readSpend = (ctx: ServiceContext): Promise<Spend> =>
  withStore(ctx, historyFolder(), async (store) => spendOf(await store.replies()));
