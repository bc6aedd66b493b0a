import type { Budget, Peaks, PromptSet, TaskBrief } from '../agents/index.ts';
import type {
  AppError,
  ChatProvider,
  Evaluation,
  Executor,
  JobBundle,
  JobResult,
  Result,
  RunConfig,
  RunLog,
  Waiting,
} from '../contract/index.ts';

/** A source with the nvcc options it is compiled with. */
export interface Version {
  readonly source: string;
  readonly compileArgs: readonly string[];
}

/** What is to be evaluated. */
export interface EvaluationRequest {
  /** Job label, e.g. "dot_product fp32 r1.a0". */
  readonly label: string;
  /** null: the baseline (origin alone). */
  readonly candidate: Version | null;
  /** null while the origin is the best version. */
  readonly best: Version | null;
  /** How many candidates this run has evaluated, this one included: the level of acceptance is corrected for it. 0 for a baseline. */
  readonly tried: number;
  /** How many it may evaluate at most. */
  readonly planned: number;
}

/** A job to run, or a candidate that the screen refused before anything was built. */
export type PlannedEvaluation =
  | { readonly kind: 'job'; readonly bundle: JobBundle }
  | { readonly kind: 'rejected'; readonly evaluation: Evaluation };

/** Port to main/evaluate, with task, data type, sizes and origin already bound. Both functions are pure. */
export interface Evaluator {
  plan(request: EvaluationRequest): Result<PlannedEvaluation>;
  interpret(request: EvaluationRequest, bundle: JobBundle, result: JobResult): Evaluation;
}

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
  /** A process group that the executor started for the step at `position` (ended by a resume after a crash). */
  readonly onProcess?: (position: string, process: { pid: number; startTime: string }) => void;
  /**
   * Asked before each evaluation of a candidate: what changed on the machine since the earlier measurements ("driver 580 →
   * 581"), or null. Origin and best are then measured again first. Must answer the same for a position in every later drive.
   */
  readonly remeasureBefore?: (position: string) => string | null | Promise<string | null>;
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
