import { hashJson } from '../base/hash.ts';
import {
  type RunEvent,
  type RunLog,
  runEventSchema,
  type StepRequest,
  type StepResponse,
  stepResponseSchema,
  type TransientEvent,
  type Waiting,
} from '../contract/index.ts';
import type { ContentFiles } from './content.ts';
import { readJson } from './damage.ts';
import type { Database, Tx } from './db/database.ts';
import { noteEnvironment } from './environment.ts';
import type { Lease } from './lease.ts';
import { thisPlace } from './lease.ts';
import type { RecentEvents } from './recent.ts';
import { appendEvent, type Environment } from './runs.ts';
import { storable, withoutKnownSecrets } from './secrets.ts';
import type { TransientBus } from './transient.ts';

type Execute<T> = () => Promise<Executed<T>>;
type Executed<T> = { kind: 'done'; response: T } | { kind: 'parked'; waiting: Waiting };
type Stepped<T> = { kind: 'done'; response: T; replayed: boolean } | { kind: 'parked'; waiting: Waiting };

interface StepRow {
  state: 'open' | 'parked' | 'done';
  request_hash: string;
  body: string | null;
  content: string | null;
}

export interface RunLogParts {
  readonly db: Database;
  readonly content: ContentFiles;
  readonly lease: Lease;
  readonly bus: TransientBus;
  readonly recent: RecentEvents;
}

/** History of one run, held by the one process that drives it. Every write checks the lease in its own transaction. */
export class RunLogStore implements RunLog {
  readonly run: string;
  readonly #parts: RunLogParts;

  constructor(parts: RunLogParts) {
    this.#parts = parts;
    this.run = parts.lease.run;
  }

  async step<T extends StepResponse>(position: string, request: StepRequest, execute: Execute<T>): Promise<Stepped<T>> {
    const hash = hashJson(request);
    const stored = await this.#answered(position, hash);
    if (stored) return { kind: 'done', response: stored as T, replayed: true };
    await this.#open(position, request, hash);
    const outcome = await this.#execute(position, execute);
    if (outcome.kind === 'parked') {
      await this.#write((tx) => this.#setState(tx, position, 'parked'));
      return outcome;
    }
    return { kind: 'done', response: await this.#close(position, outcome.response), replayed: false };
  }

  async #answered(position: string, hash: string): Promise<StepResponse | null> {
    const { db, content } = this.#parts;
    const row = await db.get<StepRow>(
      'SELECT state, request_hash, body, content FROM steps WHERE run = ? AND position = ?',
      [this.run, position],
    );
    if (row?.state !== 'done') return null;
    if (row.request_hash !== hash)
      await this.event(`changed:${position}`, {
        type: 'changed',
        position,
        what: 'The program now asks something else here; the answer kept from before was used.',
      });
    return readJson(content, this.run, `step ${position}`, row, (value) => stepResponseSchema.parse(value));
  }

  /** The intent: from here on a crash leaves a trace of what was under way. */
  async #open(position: string, request: StepRequest, hash: string): Promise<void> {
    const { content } = this.#parts;
    const agent = request.kind === 'chat' ? request.request.agent : null;
    // Jobs can be planned again; what a model was asked depends on everything before it.
    const asked =
      request.kind === 'chat' ? await content.pack(JSON.stringify(withoutKnownSecrets(request.request))) : null;
    await this.#write(async (tx) => {
      if (asked) await content.adopt(tx, asked);
      await tx.run(
        `INSERT INTO steps (run, position, ordinal, kind, agent, request_hash, state, opened_at, request, request_content)
         VALUES (?1, ?2, (SELECT coalesce(max(ordinal), -1) + 1 FROM steps WHERE run = ?1), ?3, ?4, ?5, 'open', ?6, ?7, ?8)
         ON CONFLICT (run, position) DO UPDATE SET request_hash = ?5, state = 'open', opened = opened + 1, opened_at = ?6,
         request = ?7, request_content = ?8`,
        [
          this.run,
          position,
          request.kind,
          agent,
          hash,
          new Date().toISOString(),
          asked?.body ?? null,
          asked?.content ?? null,
        ],
      );
    });
  }

  /** A step that failed under our eyes is no longer under way: only a crash leaves an intent open. */
  async #execute<T>(position: string, execute: () => Promise<Executed<T>>): Promise<Executed<T>> {
    try {
      return await execute();
    } catch (error) {
      await this.#write((tx) => this.#forget(tx, position));
      throw error;
    }
  }

  async #close<T extends StepResponse>(position: string, response: T): Promise<T> {
    const { content } = this.#parts;
    const kept = storable(response);
    stepResponseSchema.parse(kept);
    const packed = await content.pack(JSON.stringify(kept));
    await this.#write(async (tx) => {
      await content.adopt(tx, packed);
      const now = new Date().toISOString();
      await tx.run(
        "UPDATE steps SET state = 'done', done_at = ?, body = ?, content = ? WHERE run = ? AND position = ?",
        [now, packed.body, packed.content, this.run, position],
      );
      await tx.run('DELETE FROM processes WHERE run = ? AND position = ?', [this.run, position]);
    });
    return kept;
  }

  async event(key: string, event: RunEvent): Promise<void> {
    const { content, recent } = this.#parts;
    const kept = runEventSchema.parse(withoutKnownSecrets(event));
    const packed = await content.pack(JSON.stringify(kept));
    const seq = await this.#write(async (tx) => {
      await content.adopt(tx, packed);
      return appendEvent(tx, this.run, key, kept, packed);
    });
    if (seq !== null) recent.add(this.run, seq, kept, packed.bytes);
  }

  transient(event: TransientEvent): void {
    this.#parts.bus.publish(this.run, event);
  }

  /** A process group that the open step started: a resume after a crash ends it. Fire and forget, in order. */
  processStarted(position: string, pid: number, startTime: string): void {
    const { place } = thisPlace();
    this.#write((tx) =>
      tx.run('INSERT OR IGNORE INTO processes (run, position, place, pid, start_time) VALUES (?,?,?,?,?)', [
        this.run,
        position,
        place,
        pid,
        startTime,
      ]),
    ).catch(() => {});
  }

  /**
   * What changed on the machine since the measurements before the step at `position`, or null. The answer is kept: it is the same in
   * every later drive. A change noted after the answer was kept makes the measurements taken for it stale: they go. A prompt that
   * waits for its answer has been asked: the change waits for the step after it.
   */
  async remeasureBefore(position: string): Promise<string | null> {
    // Asked before every step: nothing is written where nothing changed.
    const any = await this.#parts.db.get(
      'SELECT 1 FROM machine_changes WHERE run = ? AND (position IS NULL OR position = ?) LIMIT 1',
      [this.run, position],
    );
    if (!any) return null;
    return this.#write(async (tx) => {
      const done = await tx.get(
        "SELECT 1 FROM steps WHERE run = ? AND position = ? AND (state = 'done' OR (state = 'parked' AND kind = 'chat'))",
        [this.run, position],
      );
      const fresh = done
        ? 0
        : await tx.run('UPDATE machine_changes SET position = ? WHERE run = ? AND position IS NULL', [
            position,
            this.run,
          ]);
      if (fresh > 0)
        await tx.run('DELETE FROM steps WHERE run = ?1 AND substr(position, 1, length(?2)) = ?2', [
          this.run,
          `${position}.remeasure.`,
        ]);
      const rows = await tx.all<{ what: string }>(
        'SELECT what FROM machine_changes WHERE run = ? AND position = ? ORDER BY ordinal',
        [this.run, position],
      );
      return rows.length > 0 ? rows.map((r) => r.what).join('; ') : null;
    });
  }

  /** The machine that ran a job: another one than before means that origin and best are to be measured again. */
  noteEnvironment(now: Environment): Promise<string[]> {
    return this.#write((tx) => noteEnvironment(tx, this.run, now));
  }

  async forget(position: string): Promise<void> {
    await this.#write((tx) => this.#forget(tx, position));
  }

  async #forget(tx: Tx, position: string): Promise<void> {
    await tx.run('DELETE FROM steps WHERE run = ? AND position = ?', [this.run, position]);
    await tx.run('DELETE FROM processes WHERE run = ? AND position = ?', [this.run, position]);
  }

  #setState(tx: Tx, position: string, state: string): Promise<number> {
    return tx.run('UPDATE steps SET state = ? WHERE run = ? AND position = ?', [state, this.run, position]);
  }

  #write<T>(fn: (tx: Tx) => Promise<T>): Promise<T> {
    const { db, lease } = this.#parts;
    return db.transaction(async (tx) => {
      await lease.check(tx);
      return fn(tx);
    });
  }
}
