import type { AgentName, Bill, RunConfig, RunEvent } from '../contract/index.ts';

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

/** A request without a reply is booked by the loop (`POSITION.unanswered.DRIVE.N`), or by the resume after a crash. */
const unansweredKey = /^(?:(.+)\.unanswered\.[^.]+\.\d+|unanswered:(.+):\d+)$/;

/**
 * Requests of a run that led to no reply, by position, from its usage events as stored. What cannot be read of one is unknown: it is
 * counted all the same.
 */
export function unansweredIn(
  rows: readonly { readonly key: string; readonly body: string | null }[],
): Map<string, Bill[]> {
  const all = new Map<string, Bill[]>();
  for (const { key, body } of rows) {
    const match = unansweredKey.exec(key);
    const position = match?.[1] ?? match?.[2];
    if (position === undefined) continue;
    const usage = read<Extract<RunEvent, { type: 'usage' }>>(body ?? 'null');
    const { costUsd = null, promptTokens = null, completionTokens = null } = usage ?? {};
    all.set(position, [...(all.get(position) ?? []), { usage: { promptTokens, completionTokens }, costUsd }]);
  }
  return all;
}
