import { z } from 'zod';
import { machineSchema } from './job.ts';
import { profileSchema } from './profile.ts';
import { comparisonSchema, gpuInfoSchema, incidentSchema } from './session.ts';

/** Estimate with a two-sided bootstrap interval. `level` e.g. 0.99. */
export const estimateSchema = z.object({ value: z.number(), lo: z.number(), hi: z.number(), level: z.number() });
export type Estimate = z.infer<typeof estimateSchema>;

export const outcomes = [
  'accepted', // new best
  'trade-off', // faster overall, a size clearly slower
  'not-faster', // valid, did not pass the acceptance rule
  'screen-rejected',
  'compile-error',
  'wrong-result',
  'runtime-error',
  'timeout',
  'memory-error', // guard zones or sanitizer
  'race',
  'precision', // within no limit, but what lower precision gives
  'cheat', // side stream, cached result, thread left, late activity, changed inputs …
  'interference', // origin slower with the candidate loaded than alone
  'suspect', // below 0.95 of the physical floor
  'environment', // not the candidate's fault
  'valid', // evaluated without a comparison (baseline)
] as const;
export const outcomeSchema = z.enum(outcomes);
export type Outcome = z.infer<typeof outcomeSchema>;

/** Valid candidates: the Debug agent is not called for these. */
export const isValidOutcome = (o: Outcome): boolean =>
  o === 'accepted' || o === 'trade-off' || o === 'not-faster' || o === 'valid';

export const sizeFiguresSchema = z.object({
  problem: z.string(),
  dims: z.record(z.string(), z.number()),
  weight: z.number(),
  /** Robust centre with interval, ns. null = not measured. */
  originSpanNs: estimateSchema.nullable(),
  bestSpanNs: estimateSchema.nullable(),
  candidateSpanNs: estimateSchema.nullable(),
  originWrapperNs: estimateSchema.nullable(),
  candidateWrapperNs: estimateSchema.nullable(),
  /** Origin over candidate, and best over candidate, GPU span. */
  speedup: estimateSchema.nullable(),
  versusBest: estimateSchema.nullable(),
  wrapperVersusBest: estimateSchema.nullable(),
  floorNs: z.number().nullable(),
});
export type SizeFigures = z.infer<typeof sizeFiguresSchema>;

/** Largest and RMS error, ulp of the stored type; null = nothing finite was compared. */
export const ulpErrorSchema = z.object({ maxUlp: z.number().nullable(), rmsUlp: z.number().nullable() });
export type UlpError = z.infer<typeof ulpErrorSchema>;

/** Errors at one size with one kind of input, over all seeds and outputs. */
export const numericsSchema = z.object({
  /** "verify/3", "verify/3+ties", "published/2". */
  problem: z.string(),
  /** Size as text, "n=1003". */
  size: z.string(),
  /** Kind of input: how it is generated ("uniform"), or the name of the task's extra input ("wide", "ties" …). */
  kind: z.string(),
  candidate: ulpErrorSchema.nullable(),
  /** The original at the same size and kind (its own seeds); null = not measured. */
  origin: ulpErrorSchema.nullable(),
});
export type Numerics = z.infer<typeof numericsSchema>;

/** A vendor's library beside the others, in the same blocks and proven by the same judge. */
export const libraryFiguresSchema = z.object({
  /** absent: it could not be built here (headers or libraries are missing); wrong: the judge refused it; failed: it gave no figures. */
  status: z.enum(['measured', 'absent', 'wrong', 'failed']),
  /** cuBLAS, cuDNN … */
  title: z.string(),
  reason: z.string(),
  sizes: z.array(
    z.object({
      problem: z.string(),
      spanNs: estimateSchema,
      /** Origin over library. */
      speedup: estimateSchema,
      /** Library over candidate: above 1 the candidate is faster. null: a baseline. */
      versusCandidate: estimateSchema.nullable(),
    }),
  ),
  /** Weighted mean of its speed-ups over origin, with the weights of P. */
  score: estimateSchema.nullable(),
  maxUlp: z.number().nullable(),
  rmsUlp: z.number().nullable(),
  worstOfLimit: z.number().nullable(),
});
export type LibraryFigures = z.infer<typeof libraryFiguresSchema>;

/** Whether compute-sanitizer has looked at a version. partly: some of its runs; `why`: what kept it from the others, '' for yes. */
export const sanitizedSchema = z.object({ state: z.enum(['yes', 'partly', 'no']), why: z.string() });
export type Sanitized = z.infer<typeof sanitizedSchema>;

export const evaluationSchema = z.object({
  outcome: outcomeSchema,
  /** One line naming the reason, with numbers. */
  reason: z.string(),
  /** What the agents are told instead of `reason`, where that keeps figures of a first sample back. Never shown or exported. */
  hint: z.string().optional(),
  /** Text for the Debug agent: filtered, no paths outside scratch. Empty when valid or environment. */
  digest: z.string(),
  /** All verification passed. */
  verified: z.boolean(),
  /** Those of a first sample (phase nominate) are kept for the agents: whoever shows figures asks `confirmedFigures`. */
  figures: z
    .object({
      phase: z.enum(['baseline', 'nominate', 'confirm']),
      sizes: z.array(sizeFiguresSchema),
      /** P, P_min and the geometric mean of speed-ups over origin; null for a baseline without candidate. */
      score: estimateSchema.nullable(),
      pMin: z.number().nullable(),
      geomean: z.number().nullable(),
      /** R against the best. */
      ratio: estimateSchema.nullable(),
      processes: z.number().int(),
      calls: z.number().int(),
      voided: z.number().int(),
    })
    .nullable(),
  /** Worst error by problem, ulp of the stored type. */
  error: z
    .object({
      maxUlp: z.number().nullable(),
      rmsUlp: z.number().nullable(),
      worstOfLimit: z.number().nullable(),
      problem: z.string().nullable(),
    })
    .nullable(),
  /**
   * Errors by size and kind of input beside the origin's; null = not measured (not verified, or an older record). Absent in records
   * made before it was reported.
   */
  numerics: z.array(numericsSchema).nullable().optional(),
  wrong: z.array(z.object({ problem: z.string(), seed: z.string(), outputs: z.array(comparisonSchema) })),
  incidents: z.array(incidentSchema),
  build: z
    .object({
      registers: z.number().nullable(),
      spillBytes: z.number().nullable(),
      sharedBytes: z.number().nullable(),
      diagnostics: z.string(),
    })
    .nullable(),
  profile: profileSchema.nullable(),
  gpu: gpuInfoSchema.nullable(),
  machine: machineSchema.nullable(),
  jobWallMs: z.number(),
  /** Absent: not asked for, or the task has none. */
  library: libraryFiguresSchema.optional(),
  /** Of accepted versions and trade-offs; absent in older records: `sanitizedOf` reads both. */
  sanitized: sanitizedSchema.optional(),
});
export type Evaluation = z.infer<typeof evaluationSchema>;
