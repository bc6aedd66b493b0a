import type { SpendLine, SpendSum } from '../../contract/index.ts';
import { spendOf } from '../spend.ts';
import type { ApiContext, Handlers } from './context.ts';

/** Of the known costs; how many are unknown stands beside. */
const line = ({ key, usd, unknown, replies }: SpendSum & { readonly key: string }): SpendLine => ({
  key,
  usd: usd ?? 0,
  unknown,
  replies,
});

export const spendMethods = (api: ApiContext): Handlers<'spend.get'> => ({
  'spend.get': async () => {
    const { month, task, run } = spendOf(await (await api.store()).replies());
    return { month: month.map(line), task: task.map(line), run: run.map(line) };
  },
});
