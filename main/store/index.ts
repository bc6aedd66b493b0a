import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppError, Bill, Recording, RunConfig, StepDetail, StepLine, VersionRow } from '../contract/index.ts';
import { ContentFiles } from './content.ts';
import type { Database } from './db/database.ts';
import { type OpenOptions, openDatabase } from './db/open.ts';
import { drivers, isDriven, Lease } from './lease.ts';
import { type BinnedRun, listBin, type PurgeReport, purgeRuns } from './purge.ts';
import { RecentEvents } from './recent.ts';
import { exportRecording } from './recording.ts';
import { type ReplyRow, replyRow, unansweredIn } from './replies.ts';
import { collectReports } from './reports.ts';
import { prepareResume, type ResumeReport } from './resume.ts';
import { RunLogStore } from './runLog.ts';
import {
  createRun,
  deleteRun,
  type Environment,
  findRun,
  findRunId,
  listHeads,
  listRuns,
  type NewRun,
  type OpenStep,
  openStep,
  type RunHead,
  type RunRecord,
  readEvents,
  type StoredEvent,
  updateConfig,
} from './runs.ts';
import { findStep, listSteps } from './steps.ts';
import { type Subscription, subscribe } from './subscribe.ts';
import { TransientBus, type TransientListener } from './transient.ts';
import { fillVersions } from './upgrade.ts';
import { editVersion, findVersion, listVersions, measuredOrigins, type VersionEdit } from './versions.ts';

export { environmentChanges } from './environment.ts';
export type { BinnedRun, Purged, PurgeReport } from './purge.ts';
export { parseRecording, readRecording, recordingText } from './recording.ts';
export type { ReplyRow } from './replies.ts';
export type { ResumeReport } from './resume.ts';
export { RunLogStore } from './runLog.ts';
export type { Environment, NewRun, OpenStep, RunHead, RunKind, RunRecord, StoredEvent } from './runs.ts';
export { headOf } from './runs.ts';
export type { Subscription } from './subscribe.ts';
export { partsOfVersion, type VersionEdit, versionId } from './versions.ts';

const dayMs = 24 * 3600 * 1000;

/** A run that this process drives. `release` when it has ended or parked. */
export interface DrivenRun {
  readonly id: string;
  readonly log: RunLogStore;
  release(): Promise<void>;
}

/** The user's history: one database file with a folder of long contents beside it, shared by any number of processes. */
export class Store {
  readonly folder: string;
  /** What the user must know about opening it (a damaged file was set aside). */
  readonly notice: AppError | null;
  readonly #db: Database;
  readonly #content: ContentFiles;
  readonly #bus = new TransientBus();
  readonly #recent = new RecentEvents();

  private constructor(folder: string, db: Database, notice: AppError | null) {
    this.folder = folder;
    this.notice = notice;
    this.#db = db;
    this.#content = new ContentFiles(join(folder, 'content'));
  }

  /** Opens `folder`/history.db. Throws AppFailure format.newer, store.busy, env.not-writable, env.disk-full. */
  static async open(folder: string, options: OpenOptions = {}): Promise<Store> {
    const content = new ContentFiles(join(folder, 'content'));
    const fill = (c: Parameters<typeof fillVersions>[0]) => fillVersions(c, content);
    const { db, notice } = await openDatabase(join(folder, 'history.db'), { ...options, fill });
    return new Store(folder, db, notice);
  }

  get file(): string {
    return this.#db.file;
  }

  /** Makes a run and takes its lease. */
  async begin(run: NewRun): Promise<DrivenRun> {
    return this.#drive(await createRun(this.#db, run));
  }

  /** Takes over a parked, failed or interrupted run. Throws store.lease while another process drives it. */
  async resume(run: RunRecord, now: Environment | null, paid: boolean): Promise<DrivenRun & { report: ResumeReport }> {
    const lease = await Lease.acquire(this.#db, run.id);
    try {
      const parts = { db: this.#db, content: this.#content, lease };
      // Read again under the lease: the former driver may have gone on since.
      const report = await prepareResume(parts, await findRun(this.#db, run.id), now, paid);
      return { ...this.#driven(lease), report };
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  /** Marks a run that nobody drives as cancelled; it can still be resumed. Throws store.lease while somebody does. */
  async cancel(run: RunRecord): Promise<void> {
    const lease = await Lease.acquire(this.#db, run.id);
    try {
      const { log } = this.#driven(lease);
      const error: AppError = { code: 'cancelled', message: 'The run was cancelled while it was not under way.' };
      await log.event(`cancelled.d${run.resumes}`, { type: 'run-ended', status: 'cancelled', error });
    } finally {
      await lease.release();
    }
  }

  async #drive(id: string): Promise<DrivenRun> {
    return this.#driven(await Lease.acquire(this.#db, id));
  }

  #driven(lease: Lease): DrivenRun {
    const log = new RunLogStore({ db: this.#db, content: this.#content, lease, bus: this.#bus, recent: this.#recent });
    return { id: lease.run, log, release: () => lease.release() };
  }

  /** For lists: newest first, without configuration. */
  heads(limit: number): Promise<RunHead[]> {
    return listHeads(this.#db, limit);
  }

  runs(limit?: number): Promise<RunRecord[]> {
    return listRuns(this.#db, limit);
  }

  /** The whole id of a run, also of one that is damaged. Throws store.not-found. */
  idOf(name: string): Promise<string> {
    return findRunId(this.#db, name);
  }

  /** By id, unique beginning or end of it, or "last". Throws store.not-found, store.corrupt. */
  find(name: string): Promise<RunRecord> {
    return findRun(this.#db, name);
  }

  events(run: string, after = 0): Promise<StoredEvent[]> {
    return readEvents(this.#db, this.#content, run, after, null, this.#recent);
  }

  /** True while a living process drives the run. */
  isDriven(run: string): Promise<boolean> {
    return isDriven(this.#db, run);
  }

  /** Runs that a living process drives now. */
  drivers(): Promise<Map<string, { pid: number; host: string; here: boolean }>> {
    return drivers(this.#db);
  }

  /** Changes whenever anything was committed, by whichever process. */
  dataVersion(): Promise<number> {
    return this.#db.dataVersion();
  }

  /** One text each that changes when the list of runs, or of versions, does. */
  async marks(): Promise<{ runs: string; versions: string }> {
    const row = await this.#db.get<{ runs: string; versions: string }>(
      `SELECT (SELECT count(*) || ' ' || coalesce(max(updated_at), '') || ' ' || sum(resumes) FROM runs) || ' ' ||
         (SELECT coalesce(group_concat(token), '') FROM (SELECT token FROM leases ORDER BY run)) AS runs,
       (SELECT count(*) || ' ' || coalesce(max(rev), 0) FROM versions) AS versions`,
    );
    return { runs: row?.runs ?? '', versions: row?.versions ?? '' };
  }

  /** Versions as the history lists them, newest first; `deleted`: the bin. */
  versions(deleted?: boolean): Promise<VersionRow[]> {
    return listVersions(this.#db, deleted);
  }

  /** What every reply of the real runs took, newest first; null = unknown. Replays and demos ask nobody. */
  async replies(): Promise<ReplyRow[]> {
    const rows = await this.#db.all<Omit<ReplyRow, 'costUsd'> & { config: string; createdAt: string; body: string }>(
      `SELECT e.run, r.task, r.created_at AS createdAt, r.config, e.at, e.body FROM events e JOIN runs r ON r.id = e.run
       WHERE e.type = 'usage' AND e.body IS NOT NULL AND r.kind NOT IN ('replay', 'demo') ORDER BY e.at DESC`,
    );
    return rows.map(({ body, config, ...row }) => replyRow(row, body, config));
  }

  /** Requests of a run that led to no reply and may have been charged, by position. */
  async unanswered(run: string): Promise<ReadonlyMap<string, readonly Bill[]>> {
    return unansweredIn(
      await this.#db.all("SELECT key, body FROM events WHERE run = ? AND type = 'usage' ORDER BY seq", [run]),
    );
  }

  /** Throws `store.not-found`, `usage`. */
  version(id: string): Promise<VersionRow> {
    return findVersion(this.#db, id);
  }

  /** Note, pin, bin. Throws `store.not-found`, `usage`. */
  editVersion(id: string, edit: VersionEdit): Promise<VersionRow> {
    return editVersion(this.#db, id, edit);
  }

  /** Runs that measured the origin of a task, newest first. */
  measuredOrigins(task: string, dtype: string): Promise<string[]> {
    return measuredOrigins(this.#db, task, dtype);
  }

  /** The first durable event of a kind; null = none. */
  async firstEvent(run: string, type: StoredEvent['type']): Promise<StoredEvent | null> {
    return (await readEvents(this.#db, this.#content, run, 0, type, this.#recent))[0] ?? null;
  }

  /** The last durable event of a kind; null = none. */
  async lastEvent(run: string, type: StoredEvent['type']): Promise<StoredEvent | null> {
    return (await readEvents(this.#db, this.#content, run, 0, type, this.#recent)).at(-1) ?? null;
  }

  steps(run: string): Promise<StepLine[]> {
    return listSteps(this.#db, run);
  }

  /** Throws `store.not-found`. */
  step(run: string, position: string): Promise<StepDetail> {
    return findStep(this.#db, this.#content, run, position);
  }

  /** The step that is under way or waits, if any. */
  openStep(run: string): Promise<OpenStep | null> {
    return openStep(this.#db, run);
  }

  /** Replaces a run's configuration (raised limits) before it is resumed. */
  configure(run: string, config: RunConfig): Promise<void> {
    return updateConfig(this.#db, run, config);
  }

  subscribe(
    run: string,
    after: number,
    onEvent: (event: StoredEvent) => void,
    onTransient?: TransientListener,
  ): Subscription {
    const parts = { db: this.#db, content: this.#content, bus: this.#bus, recent: this.#recent };
    return subscribe(parts, run, after, onEvent, onTransient);
  }

  recording(run: RunRecord, note: string): Promise<Recording> {
    return exportRecording(this.#db, this.#content, run, note, (id) => this.events(id));
  }

  /** Runs with versions in the bin, and which of them can go for good. */
  bin(): Promise<BinnedRun[]> {
    return listBin(this.#db, join(this.folder, 'runs'));
  }

  /** Deletes runs for good whose versions are all in the bin; others of `runs` are left as they are. */
  purge(runs: readonly string[]): Promise<PurgeReport> {
    return purgeRuns({ db: this.#db, content: this.#content, runs: join(this.folder, 'runs') }, runs);
  }

  /** Removes a run and the files that only it referred to. */
  async remove(run: string): Promise<void> {
    await deleteRun(this.#db, run);
    await this.collect();
  }

  /** Deletes long contents and reports that no run refers to; gives back how many. `grace`: age that protects a file, ms. */
  async collect(grace?: number): Promise<number> {
    const contents = await this.#content.collect(this.#db, grace);
    return contents + (await collectReports(this.#db, join(this.folder, 'runs'), grace));
  }

  /**
   * collect(), at most once a day over all processes; call it after a run. Half-written files of killed processes go too. Whatever keeps
   * it from its work (a full or read-only disk, a busy history) is left to the next time: nothing depends on it.
   */
  async collectIfDue(now = Date.now()): Promise<number | null> {
    const marker = join(this.folder, 'content', '.collected');
    try {
      const last = await stat(marker).catch(() => null);
      if (last !== null && Math.abs(now - last.mtimeMs) < dayMs) return null;
      await mkdir(join(this.folder, 'content'), { recursive: true });
      await writeFile(marker, '');
      return await this.collect();
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    await this.#db.close();
  }
}
