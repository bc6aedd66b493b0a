export { harnessFiles } from './builds.ts';
export { bindEvaluator, type EvaluationRequest, type Evaluator, type PlannedEvaluation } from './evaluator.ts';
export type { Version } from './plan.ts';
export { allowedIncludes } from './screen/index.ts';
