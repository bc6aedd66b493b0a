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

/** `body`: the usage event, `config`: its run's configuration, both as stored. */
export function replyRow(
  row: Pick<ReplyRow, 'run' | 'task' | 'at' | 'createdAt'>,
  body: string,
  config: string,
): ReplyRow {
  const usage = JSON.parse(body) as Extract<RunEvent, { type: 'usage' }>;
  const { provider, model, models } = JSON.parse(config) as RunConfig;
  const own = models?.[usage.agent as AgentName];
  const { run, task, at, createdAt } = row;
  const { costUsd, promptTokens, completionTokens } = usage;
  return { run, task, at, createdAt, provider, model, ...own, costUsd, promptTokens, completionTokens };
}
