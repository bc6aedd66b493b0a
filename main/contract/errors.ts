/**
 * The one catalogue of errors. `exit` is the process exit code of the command line (documented in README).
 *
 * 0 success · 1 unexpected fault · 2 bad usage or input · 3 environment (toolkit, GPU, driver, sandbox)
 * 4 candidate rejected or not accepted · 5 provider (model endpoint) · 6 limit reached · 7 history or storage
 * 75 parked: waiting for a person or a bundle (EX_TEMPFAIL) · 130 cancelled
 */
const catalogue = {
  internal: 1,
  usage: 2,
  'input.file': 2,
  'input.task': 2,
  'input.recording': 2,
  'input.bundle': 2,
  'format.newer': 2,
  'format.invalid': 2,
  'env.toolkit-missing': 3,
  'env.toolkit-broken': 3,
  'env.host-compiler': 3,
  'env.driver-too-old': 3,
  'env.arch-unsupported': 3,
  'env.gpu-missing': 3,
  'env.gpu-lost': 3,
  'env.gpu-busy': 3,
  'env.gpu-memory': 3,
  'env.timing-void': 3,
  'env.cupti-missing': 3,
  'env.ncu-missing': 3,
  'env.ncu-permission': 3,
  'env.ncu-busy': 3,
  'env.ncu-lock': 3,
  'env.ncu-incompatible': 3,
  'env.ncu-memory': 3,
  'env.ncu-empty': 3,
  'env.ncu-failed': 3,
  'env.sanitizer-missing': 3,
  'env.sanitizer-failed': 3,
  'env.sandbox-missing': 3,
  'env.killed': 3,
  'env.disk-full': 3,
  'env.not-writable': 3,
  'env.node-version': 3,
  'candidate.rejected': 4,
  'candidate.not-accepted': 4,
  'provider.unreachable': 5,
  'provider.auth': 5,
  'provider.quota': 5,
  'provider.rate': 5,
  'provider.context-length': 5,
  'provider.refused': 5,
  'provider.local-only': 5,
  'provider.consent': 5,
  'limit.money': 6,
  'limit.tokens': 6,
  'limit.time': 6,
  'store.busy': 7,
  'store.corrupt': 7,
  'store.not-found': 7,
  'store.lease': 7,
  'replay.diverged': 2,
  'trust.required': 2,
  parked: 75,
  cancelled: 130,
} as const;

export type ErrorCode = keyof typeof catalogue;
export const errorCodes = Object.keys(catalogue) as [ErrorCode, ...ErrorCode[]];
/** Process exit code of an error code. */
export const exitCodeOf = (code: ErrorCode): number => catalogue[code];
