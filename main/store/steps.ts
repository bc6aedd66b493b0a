import {
  type AgentName,
  AppFailure,
  chatRequestSchema,
  err,
  type StepDetail,
  type StepLine,
  stepResponseSchema,
} from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import { readJson } from './damage.ts';
import type { Database } from './db/database.ts';

interface StepSql {
  position: string;
  kind: StepLine['kind'];
  agent: AgentName | null;
  state: StepLine['state'];
  opened_at: string;
  done_at: string | null;
  opened: number;
}

const columns = 'position, kind, agent, state, opened_at, done_at, opened';

const toLine = (row: StepSql): StepLine => ({
  position: row.position,
  kind: row.kind,
  agent: row.agent,
  state: row.state,
  openedAt: row.opened_at,
  doneAt: row.done_at,
  opened: row.opened,
});

/** The steps of a run, in the order in which they were first begun. */
export async function listSteps(db: Database, run: string): Promise<StepLine[]> {
  return (await db.all<StepSql>(`SELECT ${columns} FROM steps WHERE run = ? ORDER BY ordinal`, [run])).map(toLine);
}

/** One step with what was asked and answered. Throws `store.not-found`, `store.corrupt`. */
export async function findStep(
  db: Database,
  content: ContentFiles,
  run: string,
  position: string,
): Promise<StepDetail> {
  const row = await db.get<
    StepSql & { body: string | null; content: string | null; request: string | null; request_content: string | null }
  >(`SELECT ${columns}, body, content, request, request_content FROM steps WHERE run = ? AND position = ?`, [
    run,
    position,
  ]);
  if (!row) throw new AppFailure(err('store.not-found', `Run ${run} has no step ${position}.`).error);
  const asked = row.request !== null || row.request_content !== null;
  const what = `step ${position}`;
  const packed = { body: row.request, content: row.request_content };
  const request = asked ? await readJson(content, run, what, packed, (v) => chatRequestSchema.parse(v)) : null;
  const response =
    row.state === 'done' ? await readJson(content, run, what, row, (v) => stepResponseSchema.parse(v)) : null;
  return {
    ...toLine(row),
    request,
    reply: response?.kind === 'chat' ? response.reply : null,
    job: response?.kind === 'job' ? response.result : null,
    approval: response?.kind === 'approval' ? response : null,
  };
}
