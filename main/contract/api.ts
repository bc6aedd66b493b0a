import { z } from 'zod';
import type { AgentName, ChatReply, ChatRequest } from './chat.ts';
import type { Estimate, Evaluation, Sanitized } from './evaluation.ts';
import type { JobResult, Machine } from './job.ts';
import {
  type AddedTask,
  type DraftView,
  draftOptionsSchema,
  type OwnTaskView,
  ownTaskTextSchema,
  ownTaskTextsSchema,
} from './own-task.ts';
import { profileModes } from './profile.ts';
import type { AppError, Result } from './result.ts';
import type { Approval, RunEvent, RunStatus, TransientEvent } from './run.ts';
import type { RunState } from './run-state.ts';
import { type Dtype, dtypeSchema, type Size, type SizeSet, sizeSets } from './task.ts';
import type { DoctorReport } from './toolchain.ts';

/**
 * The API of the engine: what every front door speaks (message port, `cudamaster serve`). A request is `{id, method, params}`; its
 * parameters are checked by the schema here, its answer is a Result. Subscriptions give a snapshot and then the tail.
 */

const name = z.string().min(1).max(200);
const text = z.string().max(4 * 1024 * 1024);
const runId = z.string().min(1).max(64);
const agentChoice = z.strictObject({
  provider: name.optional(),
  model: name.optional(),
  baseUrl: z.string().max(2000).optional(),
  keyEnv: name.optional(),
});

/** "RUN:origin" or "RUN:r1.a0". */
export const versionIdSchema = z.string().regex(/^[A-Za-z0-9-]{1,64}:(origin|r\d{1,3}\.a\d{1,3})$/);

const jobPlace = {
  dtype: dtypeSchema,
  sizeSet: z.enum(sizeSets).optional(),
  profile: z.enum(profileModes).optional(),
  executor: z.enum(['local', 'bundle']),
  /** UUID of the GPU; absent: the machine's choice. */
  gpu: name.optional(),
  arch: name.optional(),
};

const limits = {
  maxUsd: z.number().positive().optional(),
  maxTokens: z.number().int().positive().optional(),
  maxMinutes: z.number().positive().optional(),
};

export const startRunSchema = z.strictObject({
  task: name,
  ...jobPlace,
  ...limits,
  rounds: z.number().int().min(1).max(50).optional(),
  debugAttempts: z.number().int().min(0).max(20).optional(),
  provider: name,
  model: name.optional(),
  baseUrl: z.string().max(2000).optional(),
  /** Name of the environment variable that holds the key, never the key. */
  keyEnv: name.optional(),
  /** Another provider or model for single agents. */
  agents: z
    .strictObject({
      planner: agentChoice.optional(),
      coder: agentChoice.optional(),
      compiler: agentChoice.optional(),
      debug: agentChoice.optional(),
    })
    .optional(),
  effort: z.enum(['low', 'medium', 'high']).optional(),
  localOnly: z.boolean().optional(),
  /** The user has agreed that prompts go to the remote hosts named. */
  consent: z.array(name).optional(),
  notes: z.string().max(20_000).optional(),
  contextTokens: z.number().int().positive().optional(),
  /** Each scheme waits for the user before anything is paid for it. */
  approve: z.boolean().optional(),
  /** A version from which the run starts instead of the task's origin. */
  from: versionIdSchema.optional(),
});
export type StartRun = z.infer<typeof startRunSchema>;

/** Parameters of every method. Unknown fields are refused. */
export const apiParams = {
  'app.info': z.strictObject({}),
  'app.doctor': z.strictObject({}),
  'settings.get': z.strictObject({}),
  'settings.set': z.strictObject({
    localOnly: z.boolean().optional(),
    requireSandbox: z.boolean().optional(),
    nvcc: z.string().max(4096).nullable().optional(),
    ncu: z.string().max(4096).nullable().optional(),
    gpuUuid: name.nullable().optional(),
  }),
  'providers.list': z.strictObject({}),
  /** `consent`: the user has agreed that the remote hosts named are asked, and that prompts may go there. */
  'providers.models': agentChoice.extend({ consent: z.array(name).optional() }),
  'metrics.list': z.strictObject({}),
  'tasks.list': z.strictObject({}),
  'tasks.get': z.strictObject({ task: name, dtype: dtypeSchema, sizeSet: z.enum(sizeSets).optional() }),
  /** A task from a source, as far as it goes: nothing is written, compiled or run. */
  'tasks.draft': z.strictObject({ source: ownTaskTextSchema, options: draftOptionsSchema }),
  /**
   * Takes a task of the user's own in: every field is checked, reference and original are compiled in the sandbox, and the reference is
   * called there. `replace`: in the place of the user's task of the same id, whose files are kept aside. Tells its progress.
   */
  'tasks.add': z.strictObject({ files: ownTaskTextsSchema, replace: z.boolean().optional() }),
  /** Files of a task of the user's own, also of one that cannot be used. */
  'tasks.files': z.strictObject({ task: name }),
  /** Takes a task of the user's own out of the list; its files are kept aside. */
  'tasks.remove': z.strictObject({ task: name }),
  'recordings.list': z.strictObject({}),
  /** Keeps a recording that the user brought; nothing in it is run. `name`: its file's name. */
  'recordings.add': z.strictObject({ name: z.string().max(255), text: z.string().max(64 * 1024 * 1024) }),
  'runs.list': z.strictObject({ limit: z.number().int().min(1).max(100_000).optional() }),
  'runs.get': z.strictObject({ run: runId }),
  'runs.start': startRunSchema,
  'runs.evaluate': z.strictObject({
    task: name,
    ...jobPlace,
    /** The candidate's text; absent: the origin (profile). */
    source: text.optional(),
    label: name,
    compileArgs: z.array(z.string().max(400)).max(100).optional(),
    /** The version it was edited from. */
    parent: versionIdSchema.optional(),
  }),
  /** `recording`: an id of recordings.list. `slowMs` waits so long before each answer, for watching. */
  'runs.replay': z.strictObject({
    recording: name,
    slowMs: z.number().int().min(0).max(5000).optional(),
    /** Each scheme waits for the user, as in a real run that was started so. */
    approve: z.boolean().optional(),
  }),
  'runs.pause': z.strictObject({ run: runId }),
  'runs.cancel': z.strictObject({ run: runId }),
  'runs.resume': z.strictObject({ run: runId, ...limits }),
  /** Answer to the prompt of the manual provider that the run waits for; the run goes on. */
  'runs.answer': z.strictObject({ run: runId, text }),
  /** Approves or changes the scheme that the run waits with; `scheme` absent: as it is; reject: the Planner is asked again. */
  'runs.approve': z.strictObject({
    run: runId,
    scheme: z.string().max(20_000).optional(),
    reject: z.boolean().optional(),
  }),
  'runs.prompt': z.strictObject({ run: runId }),
  'runs.steps': z.strictObject({ run: runId }),
  'runs.step': z.strictObject({ run: runId, position: name }),
  'queue.list': z.strictObject({}),
  'versions.list': z.strictObject({ deleted: z.boolean().optional() }),
  'versions.get': z.strictObject({ version: versionIdSchema }),
  'versions.edit': z.strictObject({
    version: versionIdSchema,
    note: z.string().max(20_000).optional(),
    pinned: z.boolean().optional(),
    /** true puts it into the bin, false takes it out again. */
    deleted: z.boolean().optional(),
  }),
  'versions.export': z.strictObject({ version: versionIdSchema }),
  'spend.get': z.strictObject({}),
} as const;

export type ApiMethod = keyof typeof apiParams;
export const apiMethods = Object.keys(apiParams) as ApiMethod[];
export type ApiParams<M extends ApiMethod> = z.infer<(typeof apiParams)[M]>;

export interface AppInfo {
  readonly version: string;
  readonly platform: string;
  /** What this front door can do besides the API. */
  readonly door: 'electron' | 'web';
  readonly folders: { readonly history: string; readonly cache: string; readonly settings: string };
  /** Told once: a damaged history was set aside … */
  readonly notices: readonly AppError[];
}

export interface SettingsView {
  readonly localOnly: boolean;
  readonly requireSandbox: boolean;
  readonly knownRemotes: readonly string[];
  readonly tools: { readonly nvcc?: string; readonly ncu?: string; readonly gpuUuid?: string };
  readonly file: string;
}

export interface ProviderLine {
  readonly name: string;
  readonly title: string;
  readonly baseUrl: string | null;
  /** Variable that holds the key, and whether it is set; the value never leaves the host. */
  readonly keyEnv: string | null;
  readonly keySet: boolean | null;
  /** Host to which prompts go; null: nothing leaves this machine. */
  readonly remote: string | null;
  /** The user agreed earlier that prompts go there. */
  readonly consented: boolean;
  /** What is sent there and what not. */
  readonly disclosure: string | null;
}

export interface ModelLine {
  readonly id: string;
  /** null: the server does not say. */
  readonly contextTokens: number | null;
}

export interface MetricLine {
  readonly id: string;
  readonly label: string;
  readonly meaning: string;
  readonly unit: string | null;
}

export interface TaskEntry {
  readonly id: string;
  readonly dtype: Dtype;
  /** C name of the origin's wrapper; a candidate's has `_optimized` behind it. Absent: the task cannot be used. */
  readonly wrapper?: string;
  readonly title: string | null;
  readonly category: string | null;
  readonly sizes: { readonly published: number; readonly large: number } | null;
  readonly library: boolean;
  /** Why it cannot be used; null = usable. */
  readonly fault: string | null;
  /** One of the user's own: it can be changed and removed. */
  readonly own?: boolean;
}

export interface TaskDetail extends TaskEntry {
  /** The definition told to the agents. */
  readonly prompt: string;
  readonly deviations: readonly string[];
  /** C signature of the wrapper of a candidate. */
  readonly signature: string;
  readonly originSource: string;
  readonly sizeSet: SizeSet;
  /** The scored problems: dimensions, weight in the score (sums to 1), least bytes and FLOP of a call. null: not stated. */
  readonly problems: readonly {
    readonly id: string;
    readonly dims: Size;
    readonly weight: number;
    readonly bytes: number | null;
    readonly flop: number | null;
  }[];
  /** Newest baseline of the history with these sizes; null: never measured here. */
  readonly baseline: {
    readonly run: string;
    /** When it was measured: of a replay, when the recording was made. */
    readonly at: string;
    readonly evaluation: Evaluation;
  } | null;
  /** The exact nvcc command of the origin, for reading and copying; null: no toolkit found (`nvccFault` says why). */
  readonly nvccCommand: string | null;
  readonly nvccFault: AppError | null;
}

export interface RecordingLine {
  readonly id: string;
  readonly title: string;
  readonly task: string;
  readonly dtype: Dtype;
  readonly note: string;
  readonly bytes: number;
}

export interface RunRow {
  readonly id: string;
  readonly kind: string;
  /** `interrupted`: it says "running", but its process is gone. */
  readonly status: RunStatus | 'interrupted';
  readonly task: string;
  readonly dtype: Dtype;
  readonly provider: string;
  readonly model: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly score: number | null;
  /** Driven by this host, by another process of this machine, or by nobody. */
  readonly drivenBy: 'here' | 'elsewhere' | null;
}

/** A durable event as it is stored and shown. */
export type StoredRunEvent = RunEvent & { readonly seq: number; readonly at: string };

/** Snapshot of a run; the tail after `seq` brings it up to date with `reduceRun`. */
export interface RunSnapshot {
  readonly row: RunRow;
  readonly seq: number;
  readonly state: RunState;
  /** Times of the durable events so far, by sequence number order: [seq, ISO time]. */
  readonly times: readonly (readonly [number, string])[];
}

export interface StepLine {
  readonly position: string;
  readonly kind: 'chat' | 'job' | 'approval';
  readonly agent: AgentName | null;
  readonly state: 'open' | 'parked' | 'done';
  readonly openedAt: string;
  readonly doneAt: string | null;
  /** How often it was begun: above 1 after a crash. */
  readonly opened: number;
}

/** What was asked and answered. `request` is kept for chats only; null: not stored. */
export interface StepDetail extends StepLine {
  readonly request: ChatRequest | null;
  readonly reply: ChatReply | null;
  readonly job: JobResult | null;
  /** What the user said to a scheme. */
  readonly approval?: Approval | null;
}

export interface PromptView {
  readonly position: string;
  readonly agent: AgentName;
  readonly text: string;
  readonly path: string;
}

export interface QueueLine {
  /** GPU or MIG UUID. */
  readonly gpu: string;
  readonly name: string | null;
  /** What holds it: run and step of this host, or the process elsewhere; null: free. */
  readonly holder: { readonly run: string | null; readonly what: string; readonly pid: number | null } | null;
  readonly waiting: readonly { readonly run: string; readonly what: string }[];
}

/** One version of a kernel as the history lists it. */
export interface VersionRow {
  /** versionIdSchema. */
  readonly id: string;
  readonly run: string;
  readonly task: string;
  readonly dtype: Dtype;
  readonly kind: string;
  /** 0 for the origin. */
  readonly round: number;
  readonly attempt: number;
  readonly label: string;
  /** Outcome, 'bad-reply', or null while under way. */
  readonly outcome: string | null;
  /** It has no outcome, and nothing is under way that would give it one: its run ended or stopped before. */
  readonly unmeasured?: true;
  readonly reason: string;
  readonly verified: boolean;
  /** Confirmed figures only; null: none. */
  readonly score: Estimate | null;
  readonly pMin: number | null;
  /** Of accepted versions and trade-offs; null: it is none. */
  readonly sanitized: Sanitized | null;
  readonly bottleneck: string | null;
  readonly launchBound: boolean | null;
  readonly maxUlp: number | null;
  readonly registers: number | null;
  readonly gpu: string | null;
  readonly at: string;
  /** The version it was made from; null: nothing. */
  readonly parent: string | null;
  readonly note: string;
  readonly pinned: boolean;
  readonly deletedAt: string | null;
}

export interface VersionDetail extends VersionRow {
  readonly source: string | null;
  readonly compileArgs: readonly string[];
  readonly scheme: string;
  readonly fix: string | null;
  readonly evaluation: Evaluation | null;
  readonly baseline: Evaluation | null;
  readonly machine: Machine | null;
  /** When its job began: of a replay, when the recording was made. null: its job was not kept. */
  readonly measuredAt: string | null;
  /** Newest compile command as it ran; null: none. */
  readonly nvccCommand: string | null;
  /** ncu report kept on this machine, to be opened in Nsight Compute; null: `reportReason`. */
  readonly report: string | null;
  readonly reportReason: string | null;
}

export interface ExportFile {
  /** File name to offer. */
  readonly name: string;
  /** ZIP, base64. The same version gives the same bytes. */
  readonly base64: string;
  readonly sha256: string;
}

/** Known amounts in US dollars and how many replies have an unknown cost: never taken as zero. */
export interface SpendLine {
  readonly key: string;
  readonly usd: number;
  readonly unknown: number;
  readonly replies: number;
}

export interface ApiResults {
  'app.info': AppInfo;
  'app.doctor': DoctorReport;
  'settings.get': SettingsView;
  'settings.set': SettingsView;
  'providers.list': readonly ProviderLine[];
  'providers.models': readonly ModelLine[];
  'metrics.list': readonly MetricLine[];
  'tasks.list': readonly TaskEntry[];
  'tasks.get': TaskDetail;
  'tasks.draft': DraftView;
  'tasks.add': AddedTask;
  'tasks.files': OwnTaskView;
  /** `kept`: where its files are now. */
  'tasks.remove': { readonly task: string; readonly kept: string };
  'recordings.list': readonly RecordingLine[];
  'recordings.add': RecordingLine;
  'runs.list': readonly RunRow[];
  'runs.get': RunSnapshot;
  'runs.start': { readonly run: string };
  'runs.evaluate': { readonly run: string };
  'runs.replay': { readonly run: string };
  'runs.pause': null;
  'runs.cancel': null;
  'runs.resume': { readonly run: string };
  'runs.answer': { readonly run: string };
  'runs.approve': { readonly run: string };
  /** null: the run waits for no prompt. */
  'runs.prompt': PromptView | null;
  'runs.steps': readonly StepLine[];
  'runs.step': StepDetail;
  'queue.list': readonly QueueLine[];
  'versions.list': readonly VersionRow[];
  'versions.get': VersionDetail;
  'versions.edit': VersionRow;
  'versions.export': ExportFile;
  'spend.get': {
    readonly month: readonly SpendLine[];
    readonly task: readonly SpendLine[];
    readonly run: readonly SpendLine[];
  };
}

/** Client → host. */
export type ClientMessage =
  | { readonly type: 'call'; readonly id: number; readonly method: ApiMethod; readonly params: unknown }
  /** Gives up a call that is under way. */
  | { readonly type: 'abandon'; readonly id: number }
  /** Events of `run` after sequence number `after`; `sub` is chosen by the client. */
  | { readonly type: 'subscribe'; readonly sub: string; readonly run: string; readonly after: number }
  | { readonly type: 'unsubscribe'; readonly sub: string };

/** Lists of which a client is told that they became stale. */
export type StaleList = 'runs' | 'versions' | 'queue' | 'tasks';

/** Host → client. `changed` says that lists are stale, whichever process wrote. At most 20 transients a second and subscription. */
export type HostMessage =
  | { readonly type: 'answer'; readonly id: number; readonly result: Result<unknown> }
  /** What a call under way is doing now. */
  | { readonly type: 'progress'; readonly id: number; readonly note: string }
  | { readonly type: 'event'; readonly sub: string; readonly event: StoredRunEvent }
  | { readonly type: 'transient'; readonly sub: string; readonly event: TransientEvent }
  /** Nobody drives the run and its last event was told; or the subscription failed. */
  | { readonly type: 'settled'; readonly sub: string; readonly error: AppError | null }
  | { readonly type: 'changed'; readonly what: StaleList }
  | { readonly type: 'notice'; readonly error: AppError };

/** What a screen works with, whatever the transport. */
export interface ApiClient {
  call<M extends ApiMethod>(
    method: M,
    params: ApiParams<M>,
    signal?: AbortSignal,
    onProgress?: (note: string) => void,
  ): Promise<Result<ApiResults[M]>>;
  /** Gives back the function that ends it. A broken connection is restored and the tail continued where it ended. */
  subscribe(
    run: string,
    after: number,
    on: {
      event(event: StoredRunEvent): void;
      transient(event: TransientEvent): void;
      settled(error: AppError | null): void;
    },
  ): () => void;
  /** Lists that became stale, and notices. */
  onChange(listener: (what: StaleList) => void): () => void;
  onConnection(listener: (state: 'connected' | 'lost') => void): () => void;
}
