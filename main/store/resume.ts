import { killGroup } from '../base/spawn.ts';
import type { AgentName, RunEvent } from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import type { Database } from './db/database.ts';
import { noteEnvironment } from './environment.ts';
import { type Lease, thisPlace } from './lease.ts';
import { appendEvent, type Environment, type RunRecord } from './runs.ts';

export interface ResumeReport {
  /** Process groups of the crashed driver that were still there, and ended. */
  readonly killed: number;
  /** Process groups that would not end: the GPU may still be busy. They stay noted, for the next resume. */
  readonly left: readonly { readonly pid: number; readonly startTime: string }[];
  /** Step that was under way or waiting; null when the run stopped between steps. */
  readonly openStep: string | null;
  /** Positions of paid requests whose answer never came: their cost is unknown. */
  readonly unanswered: readonly string[];
  /** What differs from the machine the run began on, e.g. "driver 580.1 → 581.0": origin and best are to be measured again. */
  readonly changes: readonly string[];
}

/**
 * Makes an interrupted or parked run ready to be driven again: ends what the former driver left running, books unanswered paid
 * requests as cost unknown, notes what changed on the machine, and appends `resumed`. Call it with the lease held.
 * `paid`: the provider may cost money (not manual, not a recording). `end`: ends a group, for tests of those that do not.
 */
export async function prepareResume(
  parts: { db: Database; content: ContentFiles; lease: Lease; end?: typeof killGroup },
  run: RunRecord,
  now: Environment | null,
  paid: boolean,
): Promise<ResumeReport> {
  const { db, lease } = parts;
  const ended = await endLeftovers(db, run.id, parts.end ?? killGroup);
  const open = await db.all<{ position: string; kind: string; agent: string | null; state: string; opened: number }>(
    "SELECT position, kind, agent, state, opened FROM steps WHERE run = ? AND state <> 'done' ORDER BY ordinal",
    [run.id],
  );
  const unanswered = open.filter((s) => paid && s.kind === 'chat' && s.state === 'open' && s.agent);
  return db.transaction(async (tx) => {
    await lease.check(tx);
    const report = {
      ...ended,
      openStep: open[0]?.position ?? null,
      unanswered: unanswered.map((s) => s.position),
      changes: now ? await noteEnvironment(tx, run.id, now) : [],
    };
    const kept = JSON.stringify(report.left.map(({ pid, startTime }) => `${pid} ${startTime}`));
    await tx.run(
      "DELETE FROM processes WHERE run = ? AND pid || ' ' || start_time NOT IN (SELECT value FROM json_each(?))",
      [run.id, kept],
    );
    // They are no step's any more: the job that waits for them has the same position, and forgets or closes what is noted there.
    await tx.run("UPDATE processes SET position = '' WHERE run = ?", [run.id]);
    await tx.run('UPDATE runs SET resumes = resumes + 1 WHERE id = ?', [run.id]);
    for (const step of unanswered) {
      const usage: RunEvent = {
        type: 'usage',
        agent: step.agent as AgentName,
        promptTokens: null,
        completionTokens: null,
        costUsd: null,
      };
      await appendEvent(tx, run.id, `unanswered:${step.position}:${step.opened}`, usage, inline(usage));
    }
    const resumed: RunEvent = { type: 'resumed', note: describe(report) };
    await appendEvent(tx, run.id, `resumed:${run.resumes + 1}`, resumed, inline(resumed));
    return report;
  });
}

const inline = (event: RunEvent) => ({ body: JSON.stringify(event), content: null });

/** Only groups of this machine and PID namespace; killGroup compares start times, so a reused number is left alone. */
async function endLeftovers(
  db: Database,
  run: string,
  end: typeof killGroup,
): Promise<Pick<ResumeReport, 'killed' | 'left'>> {
  const rows = await db.all<{ pid: number; start_time: string }>(
    'SELECT pid, start_time FROM processes WHERE run = ? AND place = ?',
    [run, thisPlace().place],
  );
  let killed = 0;
  const left: { pid: number; startTime: string }[] = [];
  for (const { pid, start_time: startTime } of rows) {
    const outcome = await end(pid, startTime);
    if (outcome === 'killed') killed++;
    if (outcome === 'stuck') left.push({ pid, startTime });
  }
  return { killed, left };
}

function describe(r: ResumeReport): string {
  const parts = [
    r.openStep ? `step ${r.openStep} is done again` : 'no step was under way',
    r.killed > 0 ? `${r.killed} left-over process group(s) ended` : '',
    r.left.length > 0
      ? `${r.left.length} left-over process group(s) could not be ended: the next job waits for that`
      : '',
    r.unanswered.length > 0 ? `cost unknown: ${r.unanswered.join(', ')}` : '',
    r.changes.length > 0 ? `changed: ${r.changes.join('; ')}; origin and best are measured again` : '',
  ];
  return parts.filter((p) => p !== '').join('; ');
}
