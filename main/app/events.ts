import type { BenchProgress } from '../bench/drive.ts';
import type {
  AppError,
  Evaluation,
  RemoteDisclosure,
  RunStatus,
  RunSummary,
  TransientEvent,
  Waiting,
} from '../contract/index.ts';
import type { RunState } from '../optimizer/index.ts';
import type { RunKind, Store, StoredEvent } from '../store/index.ts';

/** What a service tells while it works. */
export type AppEvent =
  /** A run was made or taken over; everything after belongs to it. `folder`: its prompts, bundles and sources. */
  | {
      readonly type: 'run';
      readonly run: string;
      readonly kind: RunKind;
      readonly task: string;
      readonly folder: string;
    }
  | { readonly type: 'event'; readonly run: string; readonly event: StoredEvent }
  | { readonly type: 'transient'; readonly run: string; readonly event: TransientEvent }
  /** How far a bench is. */
  | ({ readonly type: 'bench'; readonly bench: string } & BenchProgress)
  /** Worth knowing: a damaged history was set aside, what is sent to a remote model. */
  | { readonly type: 'notice'; readonly message: string; readonly remedy?: string; readonly detail?: string };

export interface ServiceContext {
  emit(event: AppEvent): void;
  /** Asked before each step: true = stop here, resumable. */
  readonly shouldPause?: () => boolean;
  /** A history that is open already: used, and left open. */
  readonly store?: Store;
  /** Cancels now: process trees are killed, the state is saved. */
  readonly signal?: AbortSignal;
  /** Asks the person at the terminal whether prompts may go to a remote host; absent: nobody can be asked. */
  confirm?(place: RemoteDisclosure): Promise<boolean>;
}

/** How a run stands: the answer of optimize, resume, replay, demo and show. */
export interface RunReport {
  readonly id: string;
  readonly kind: RunKind;
  readonly status: RunStatus;
  readonly summary: RunSummary;
  readonly state: RunState;
  /** Why it stopped, if it did not end well. */
  readonly error: AppError | null;
  readonly waiting: Waiting | null;
  readonly files: {
    /** Prompts, answers, bundles and sources of the run. */
    readonly folder: string;
    /** Source of the best version; null while there is none but the origin. */
    readonly best: string | null;
    readonly history: string;
  };
}

/** Answer of evaluate and profile. */
export interface EvaluationReport extends RunReport {
  readonly evaluation: Evaluation | null;
}
