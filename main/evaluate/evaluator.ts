import {
  type Dtype,
  type Evaluation,
  type JobBundle,
  type JobResult,
  ok,
  type ProfileMode,
  type Result,
  type SizeSet,
} from '../contract/index.ts';
import type { Variant } from '../jobs/session/shim.ts';
import { interpretEvaluation } from './interpret.ts';
import { type EvaluationInput, planEvaluation, type Version } from './plan.ts';
import { rejectionText, type ScreenOptions, screen } from './screen/index.ts';
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
  readonly screen?: ScreenOptions;
}

/** What is to be evaluated; the optimizer's port. */
export interface EvaluatorRequest {
  readonly label: string;
  readonly candidate: Version | null;
  readonly best: Version | null;
  /** Candidates evaluated in this run, this one included. */
  readonly tried: number;
}

export type Planned =
  | { readonly kind: 'job'; readonly bundle: JobBundle }
  | { readonly kind: 'rejected'; readonly evaluation: Evaluation };

export interface BoundEvaluator {
  plan(request: EvaluatorRequest): Result<Planned>;
  interpret(request: EvaluatorRequest, bundle: JobBundle, result: JobResult): Evaluation;
}

/** Binds task and settings of a run. Both functions are pure, apart from reading the harness's files. */
export function bindEvaluator(binding: EvaluatorBinding): BoundEvaluator {
  const inputOf = (request: EvaluatorRequest): EvaluationInput => ({
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
    label: request.label,
  });
  return {
    plan(request) {
      if (request.candidate !== null) {
        const { rejections } = screen(request.candidate.source, binding.task.task, binding.dtype, binding.screen);
        if (rejections.length > 0) return ok({ kind: 'rejected', evaluation: rejected(rejectionText(rejections)) });
      }
      const bundle = planEvaluation(inputOf(request));
      return bundle.ok ? ok({ kind: 'job', bundle: bundle.value }) : bundle;
    },
    interpret: (request, bundle, result) => interpretEvaluation(inputOf(request), bundle, result),
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
