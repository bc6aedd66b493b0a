export { allowedEnv } from './env.ts';
export { attempt, fileFault, systemCode, toAppError } from './fault.ts';
export { ContentStore, inlineLimit, sha256File, writeFileAtomic } from './files.ts';
export { type LockWait, withFileLock } from './flock.ts';
export { canonicalJson, hashJson, sha256Hex } from './hash.ts';
export { createLogger, type Level, type Logger } from './log.ts';
export {
  cacheDir,
  configDir,
  dataDir,
  ensureDir,
  privateTempDir,
  removeScratch,
  resourceRoot,
  scratchDir,
  setResourceRoot,
  sweepScratch,
  tempDir,
} from './paths.ts';
export type { ChildExit, ChildHandle, ChildOptions } from './process.ts';
export { deriveRoot, deriveSeed, newRootSeed, Prng } from './random.ts';
export { holdsSecret, isSecretName, redact, redactDeep, registerSecret, withoutSecrets } from './redact.ts';
export { killGroup, run, startChild, startTimeOf } from './spawn.ts';
