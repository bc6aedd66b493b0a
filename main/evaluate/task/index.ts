export { checkTask, type Issue } from './check.ts';
export { evalExpr, evalInteger, parseExpr, type Scope } from './expr.ts';
export { type LoadedTask, listTasks, loadTask, loadTaskFrom, parseTask, shippedTasks, taskIds } from './load.ts';
export { checkSize, drawSize, problemsOf, sanitizeProblems, verifyProblems } from './problems.ts';
export {
  allocatedBytes,
  bufferParams,
  bytesOf,
  flopsOf,
  resolveProblem,
  storageBytes,
  storageOf,
  unitRoundoff,
  weightOf,
  weightsOf,
} from './resolve.ts';
export {
  candidateName,
  checkWrapper,
  cType,
  libraryName,
  originName,
  paramTypes,
  signature,
  withoutComments,
} from './signature.ts';
