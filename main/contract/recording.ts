import { z } from 'zod';
import { runConfigSchema, stepResponseSchema } from './run.ts';
import { versionVerdictSchema } from './verdict.ts';

/** Chat exchanges and job results of a run, keyed by position, with the request's content hash beside each. */
export const recordingSchema = z.object({
  format: z.literal('cudamaster-recording'),
  version: z.number().int(),
  programVersion: z.string(),
  /** What it is and how it was made, for a reader. */
  note: z.string(),
  config: runConfigSchema,
  rootSeed: z.string(),
  /** sha256 of origin source and task.json it was made with. */
  originHash: z.string(),
  taskHash: z.string(),
  steps: z.array(z.object({ position: z.string(), requestHash: z.string(), response: stepResponseSchema })),
  /** What the run found, version by version. Missing: made before verdicts were kept, so a replay cannot be held against it. */
  verdicts: z.array(versionVerdictSchema).optional(),
});
export type Recording = z.infer<typeof recordingSchema>;
