import type { Budget, Peaks, PromptSet, TaskBrief } from '../agents/index.ts';
import type {
  AppError,
  Approval,
  Bill,
  ChatProvider,
  Evaluation,
  Executor,
  RunConfig,
  RunLog,
  Waiting,
} from '../contract/index.ts';
import type { Evaluator, Version } from '../evaluate/index.ts';

export type { EvaluationRequest, Evaluator, PlannedEvaluation, Version } from '../evaluate/index.ts';

export interface LoopConfig {
  readonly run: RunConfig;
  readonly rootSeed: string;
  readonly programVersion: string;
  readonly brief: TaskBrief;
  readonly origin: Version;
}

export interface LoopDeps {
  readonly log: RunLog;
  readonly provider: ChatProvider;
  readonly executor: Executor;
  readonly evaluator: Evaluator;
  readonly prompts: PromptSet;
  /** Default: RunConfig.contextTokens, else a cautious length. */
  readonly budget?: Budget;
  readonly signal?: AbortSignal;
  /** Asked before each step: true = stop here, resumable ("pause after the current step"). */
  readonly shouldPause?: () => boolean;
  /** Asked for each scheme of a run with `approve`: what the user says, or where the scheme lies for them to read. */
  readonly approval?: (position: string, round: number, scheme: string) => Promise<Approval | Waiting>;
  /** A process group that the executor started for the step at `position` (ended by a resume after a crash). */
  readonly onProcess?: (position: string, process: { pid: number; startTime: string }) => void;
  /**
   * Asked before each external step that depends on the machine (an agent's prompt tells of it): what changed since the earlier
   * measurements ("driver 580 → 581"), or null. Origin and best are then measured again first. Must answer the same for a position
   * in every later drive.
   */
  readonly remeasureBefore?: (position: string) => string | null | Promise<string | null>;
  /** Requests of earlier drives that led to no reply, by position: limits count them where they were sent. */
  readonly unanswered?: ReadonlyMap<string, readonly Bill[]>;
  /** Tells this drive of the run from earlier ones in event keys. Default: the clock. */
  readonly drive?: string;
}

/** The best version with the evaluation that made it the best. */
export interface Best extends Version {
  /** 0 = origin. */
  readonly round: number;
  readonly attempt: number;
  readonly evaluation: Evaluation;
  /** P; 1 for the origin by definition. */
  readonly score: number | null;
}

export interface LoopOutcome {
  readonly status: 'done' | 'parked' | 'paused' | 'failed' | 'cancelled';
  /** null: the run stopped before its baseline. */
  readonly best: Best | null;
  /** failed, cancelled, or paused by a limit (`limit.*`). */
  readonly error: AppError | null;
  readonly waiting: Waiting | null;
  readonly peaks: Peaks | null;
}
