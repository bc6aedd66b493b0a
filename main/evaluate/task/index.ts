export { checkTask, type Issue } from './check.ts';
export { type DraftOptions, draftTask, type TaskDraft, viewDraft } from './draft.ts';
export { evalExpr, evalInteger, parseExpr, type Scope } from './expr.ts';
export {
  type LoadedTask,
  listTasks,
  loadOwn,
  loadTask,
  loadTaskFrom,
  parseTask,
  removedTasks,
  shippedTasks,
  type TaskFolder,
  taskFolders,
  taskIds,
} from './load.ts';
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
