import { z } from 'zod';
import { armIds, sessionPlanSchema, sessionResultSchema } from './session.ts';

/**
 * A Job is plain data: input files by content hash, steps with typed arguments, outputs to keep.
 * Symbolic parts in arguments, replaced by the executor where the job runs:
 * `{nvcc} {cxx} {ncu} {sanitizer} {scratch} {toolkit} {arch}` (`{arch}` = sm_NN of the GPU that will run it, or the job's own `arch`).
 */
export const limitsSchema = z.object({
  /** Wall-clock limit of the step, ms. */
  wallMs: z.number().int().positive(),
  /** Address-space-independent memory limit of the process tree, MiB. */
  memoryMiB: z.number().int().positive(),
  /** Cap on stdout and on stderr each, bytes; the middle is cut and said. */
  outputBytes: z.number().int().positive(),
});
export type Limits = z.infer<typeof limitsSchema>;

export const buildStepSchema = z.object({
  kind: z.literal('build'),
  id: z.string(),
  needs: z.array(z.string()).default([]),
  tool: z.enum(['nvcc', 'cxx']),
  /** Arguments; files are named relative to the scratch folder. */
  args: z.array(z.string()),
  /** Input file names (keys of Job.files) that this step reads: part of the cache key, in this order. */
  inputs: z.array(z.string()),
  /** Files it makes, relative to scratch. Cached by (tool version, args, contents of inputs). */
  outputs: z.array(z.string()),
  /** true: input is model output or user code: the sandbox is required and its diagnostics are filtered. */
  untrusted: z.boolean(),
  limits: limitsSchema,
});

export const sessionStepSchema = z.object({
  kind: z.literal('session'),
  id: z.string(),
  needs: z.array(z.string()).default([]),
  /** Runs only if the named earlier verify session found nothing wrong: a wrong candidate is not timed. */
  ifVerified: z.string().optional(),
  /** Runs only if the named earlier session nominated its candidate (time sessions). */
  ifNominated: z.string().optional(),
  /** Arms of a time session that take part only if the named earlier verify session found them right; without them it runs all the same. */
  optionalArms: z.array(z.object({ arm: z.enum(armIds), ifVerified: z.string() })).optional(),
  plan: sessionPlanSchema,
  limits: limitsSchema,
});

export const stepSchema = z.discriminatedUnion('kind', [buildStepSchema, sessionStepSchema]);
export type BuildStep = z.infer<typeof buildStepSchema>;
export type SessionStep = z.infer<typeof sessionStepSchema>;
export type Step = z.infer<typeof stepSchema>;

export const jobSchema = z.object({
  version: z.number().int(),
  /** Human label: "dot_product fp32 r1.a0". */
  label: z.string(),
  /** 'native' = the GPU found; or an explicit sm_NN. */
  arch: z.string().regex(/^(native|sm_\d+a?)$/),
  /** name in scratch → sha256 of content. */
  files: z.record(z.string(), z.string()),
  steps: z.array(stepSchema),
  /** Files in scratch kept as outputs when they exist afterwards (text ones are also recorded). */
  keep: z.array(z.string()).default([]),
});
export type Job = z.infer<typeof jobSchema>;

/** A job with the contents of its files (UTF-8 text), by sha256. */
export interface JobBundle {
  readonly job: Job;
  readonly contents: ReadonlyMap<string, string>;
}

/** Why a step did not produce a result; `environment` is never shown to a model as a code fault. */
export const stepStatusSchema = z.enum([
  'ok', // ran to its end, exit code 0 (build) or a result (session)
  'failed', // ran to its end, said no (compile error)
  'timeout', // wall limit
  'killed', // signal, memory limit, tool crash
  'environment', // tool missing, GPU gone, sandbox unusable …
  'skipped', // a needed step was not ok, or not nominated
]);

export const stepResultSchema = z.object({
  id: z.string(),
  status: stepStatusSchema,
  /** Present for status environment/killed/timeout and for failures to start. */
  reason: z.object({ code: z.string(), message: z.string(), remedy: z.string().optional() }).optional(),
  exitCode: z.number().int().nullable().default(null),
  signal: z.string().nullable().default(null),
  wallMs: z.number(),
  /** When it began, ms since 1970; of a session, how long it had the GPU, ms (what follows is the judge's). Absent in older results. */
  beganAt: z.number().optional(),
  gpuMs: z.number().optional(),
  cached: z.boolean().default(false),
  /** Exact command line, argv joined for reading only. */
  command: z.string().default(''),
  stdout: z.string().default(''),
  stderr: z.string().default(''),
  session: sessionResultSchema.optional(),
});
export type StepResult = z.infer<typeof stepResultSchema>;

export const machineSchema = z.object({
  host: z.string(),
  gpu: z.object({ name: z.string(), uuid: z.string(), cc: z.string() }).nullable(),
  driver: z.string().nullable(),
  /** Toolkit release, e.g. "13.0". */
  toolkit: z.string().nullable(),
  nvcc: z.string().nullable(),
  hostCompiler: z.string().nullable(),
  ncu: z.string().nullable(),
  /** How candidates were contained. */
  containment: z.enum(['bubblewrap', 'none']),
});
export type Machine = z.infer<typeof machineSchema>;

export const jobResultSchema = z.object({
  version: z.number().int(),
  jobHash: z.string(),
  machine: machineSchema,
  startedAt: z.string(),
  wallMs: z.number(),
  steps: z.array(stepResultSchema),
  /** Kept text outputs by name. */
  outputs: z.record(z.string(), z.string()).default({}),
});
export type JobResult = z.infer<typeof jobResultSchema>;

export interface ExecuteOptions {
  /** Root seed (hex) from which every session of this execution draws; never part of a cache key. */
  readonly rootSeed: string;
  /** Position of this job in its run, e.g. "r1.a0.eval": mixed into the seed. */
  readonly position: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (p: JobProgress) => void;
  /** Called with each process group the executor starts, so that a resume can kill leftovers. */
  readonly onProcess?: (p: { pid: number; startTime: string }) => void;
  /** Absolute path under which the report of a profile session is kept, its folder made on demand; absent: reports are not kept. */
  readonly reportFile?: string;
}
export interface JobProgress {
  readonly step: string;
  readonly index: number;
  readonly count: number;
  readonly note?: string;
}

/** What an executor answers: a result, or "parked": someone else must run it first. */
export type ExecuteOutcome =
  | { readonly kind: 'done'; readonly result: JobResult }
  | { readonly kind: 'parked'; readonly waiting: Waiting };

export interface Waiting {
  readonly for: 'bundle' | 'answer' | 'approval';
  /** Where the bundle folder, the prompt file or the scheme lies. */
  readonly path: string;
  /** What the user should do, one or two sentences. */
  readonly how: string;
}

export interface Executor {
  readonly name: 'local' | 'bundle' | 'recording';
  execute(bundle: JobBundle, options: ExecuteOptions): Promise<ExecuteOutcome>;
  /** The result of this job led to no verdict: one that is kept (a bundle's) is not given again. */
  discard?(bundle: JobBundle, options: Pick<ExecuteOptions, 'rootSeed' | 'position'>): Promise<void>;
}
