import {
  type Calibration,
  type Dtype,
  type Evaluation,
  type JobBundle,
  type JobResult,
  type Numerics,
  ok,
  type ProfileMode,
  type Result,
  type SizeSet,
} from '../contract/index.ts';
import type { Variant } from '../jobs/session/shim.ts';
import { interpretEvaluation } from './interpret.ts';
import { type EvaluationInput, planEvaluation, type Version } from './plan.ts';
import { rejectionText, type ScreenOptions, screen, withExternC } from './screen/index.ts';
import type { LoadedTask } from './task/index.ts';

/** What stays the same over a run. */
export interface EvaluatorBinding {
  readonly task: LoadedTask;
  readonly dtype: Dtype;
  readonly sizeSet: SizeSet;
  readonly profile: ProfileMode;
  /** 'native' or sm_NN. */
  readonly arch: string;
  /** Hex; fixes the ragged sizes of the run (not the contents). */
  readonly planSeed: string;
  readonly variant?: Variant;
  /** Of the GPU that measures the run; null: the paper's thresholds. */
  readonly calibration?: Calibration | null;
  readonly screen?: ScreenOptions;
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
  /** Origin's errors in the run's baseline: shown beside the candidate's. */
  readonly originNumerics?: readonly Numerics[] | null;
}

/** A job to run, or a candidate that the screen refused before anything was built. */
export type PlannedEvaluation =
  | { readonly kind: 'job'; readonly bundle: JobBundle }
  | { readonly kind: 'rejected'; readonly evaluation: Evaluation };

/** What the loop needs of this folder, with task, data type, sizes and origin already bound. */
export interface Evaluator {
  plan(request: EvaluationRequest): Result<PlannedEvaluation>;
  interpret(request: EvaluationRequest, bundle: JobBundle, result: JobResult): Evaluation;
  /** The candidate with `extern "C"` before its wrapper where that is its only gap; null: nothing to mend, or more than that. */
  linked(source: string): string | null;
}

/** Binds task and settings of a run. The functions are pure, apart from reading the harness's files. */
export function bindEvaluator(binding: EvaluatorBinding): Evaluator {
  const inputOf = (request: EvaluationRequest): EvaluationInput => ({
    task: binding.task,
    dtype: binding.dtype,
    candidate: request.candidate,
    best: request.best,
    sizeSet: binding.sizeSet,
    profile: binding.profile,
    arch: binding.arch,
    tries: request.tried,
    planSeed: binding.planSeed,
    ...(binding.variant === undefined ? {} : { variant: binding.variant }),
    ...(binding.calibration ? { calibration: binding.calibration } : {}),
    ...(request.originNumerics === undefined ? {} : { originNumerics: request.originNumerics }),
    label: request.label,
  });
  return {
    plan(request) {
      if (request.candidate !== null) {
        const { source, compileArgs } = request.candidate;
        const options = { ...binding.screen, compileArgs };
        const { rejections } = screen(source, binding.task.task, binding.dtype, options);
        if (rejections.length > 0) return ok({ kind: 'rejected', evaluation: rejected(rejectionText(rejections)) });
      }
      const bundle = planEvaluation(inputOf(request));
      return bundle.ok ? ok({ kind: 'job', bundle: bundle.value }) : bundle;
    },
    interpret: (request, bundle, result) => interpretEvaluation(inputOf(request), bundle, result),
    linked: (source) => withExternC(source, binding.task.task, binding.dtype, binding.screen),
  };
}

/** The evaluation of a source that was not built. */
export function rejected(text: { readonly reason: string; readonly digest: string }): Evaluation {
  return {
    outcome: 'screen-rejected',
    reason: text.reason,
    digest: text.digest,
    verified: false,
    figures: null,
    error: null,
    wrong: [],
    incidents: [],
    build: null,
    profile: null,
    gpu: null,
    machine: null,
    jobWallMs: 0,
  };
}
