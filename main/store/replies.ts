import type { AgentName, RunConfig, RunEvent } from '../contract/index.ts';

/** What one reply of a model took. null = unknown, never 0. */
export interface ReplyRow {
  readonly run: string;
  readonly task: string;
  readonly at: string;
  /** When its run was begun. */
  readonly createdAt: string;
  readonly provider: string;
  readonly model: string;
  readonly costUsd: number | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
}

/** JSON that may have been damaged since it was stored; null: it cannot be read. */
function read<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T | null;
  } catch {
    return null;
  }
}

/**
 * `body`: the usage event, `config`: its run's configuration, both as stored. Where they are damaged the reply is counted with what is
 * known of it: one bad row must not hide what all others cost.
 */
export function replyRow(
  row: Pick<ReplyRow, 'run' | 'task' | 'at' | 'createdAt'>,
  body: string,
  config: string,
): ReplyRow {
  const usage = read<Extract<RunEvent, { type: 'usage' }>>(body);
  const { provider = 'unknown', model = 'unknown', models } = read<Partial<RunConfig>>(config) ?? {};
  const own = models?.[usage?.agent as AgentName];
  const { run, task, at, createdAt } = row;
  const { costUsd = null, promptTokens = null, completionTokens = null } = usage ?? {};
  return { run, task, at, createdAt, provider, model, ...own, costUsd, promptTokens, completionTokens };
}
