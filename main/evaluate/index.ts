export { alphaFor, type Decision, decide } from './accept.ts';
export { bootstrap, bound, estimate, type Spread } from './bootstrap.ts';
export { harnessFiles } from './builds.ts';
export { defaults } from './defaults.ts';
export {
  type BoundEvaluator,
  bindEvaluator,
  type EvaluatorBinding,
  type EvaluatorRequest,
  type Planned,
  rejected,
} from './evaluator.ts';
export { floorNs } from './floor.ts';
export { interpretEvaluation } from './interpret.ts';
export {
  type EvaluationInput,
  planEvaluation,
  profiledProblem,
  scoredProblems,
  stepIds,
  subjectArm,
  type Version,
} from './plan.ts';
export {
  allowedIncludes,
  type Rejection,
  rejectionText,
  type Screened,
  type ScreenOptions,
  screen,
  screenSource,
} from './screen/index.ts';
