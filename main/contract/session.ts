import { z } from 'zod';
import { bottlenecks, profileStageSchema, thresholdsSchema } from './profile.ts';
import { replays } from './replay.ts';

/**
 * A session: a broker drives runner processes (with candidate code, in the sandbox) and a judge process (without).
 * The plan is resolved: every dimension, count and generator parameter is a number. Seeds are not in it.
 */
export const storageSchema = z.enum(['f32', 'bf16', 'i32']);
export type Storage = z.infer<typeof storageSchema>;

/** Generator with its expressions evaluated. Same kinds as the task's. */
const resolvedElements = [
  z.object({ kind: z.literal('uniform'), lo: z.number(), hi: z.number() }),
  z.object({ kind: z.literal('wide'), loExp: z.number().int(), hiExp: z.number().int() }),
  z.object({ kind: z.literal('levels'), lo: z.number(), hi: z.number(), levels: z.number().int() }),
  z.object({ kind: z.literal('zeros') }),
  z.object({ kind: z.literal('int'), lo: z.number().int(), hi: z.number().int() }),
] as const;
export const resolvedElementSchema = z.discriminatedUnion('kind', resolvedElements);
export type ResolvedElement = z.infer<typeof resolvedElementSchema>;

export const resolvedGeneratorSchema = z.discriminatedUnion('kind', [
  ...resolvedElements,
  z.object({
    kind: z.literal('offsets'),
    rows: z.number().int(),
    nnz: z.number().int(),
    style: z.enum(['even', 'skewed']),
    every: z.number().int(),
  }),
  z.object({
    kind: z.literal('rows'),
    rows: z.number().int(),
    nnz: z.number().int(),
    style: z.enum(['even', 'skewed']),
    every: z.number().int(),
    order: z.enum(['sorted', 'shuffled']),
  }),
  z.object({
    kind: z.literal('ell'),
    rows: z.number().int(),
    nnz: z.number().int(),
    width: z.number().int(),
    style: z.enum(['mixed', 'skewed']),
    every: z.number().int(),
    entries: resolvedElementSchema,
  }),
]);
export type ResolvedGenerator = z.infer<typeof resolvedGeneratorSchema>;

export const bufferSchema = z.object({
  name: z.string(),
  role: z.enum(['in', 'out', 'inout']),
  elem: storageSchema,
  count: z.number().int().nonnegative(),
  generator: resolvedGeneratorSchema.optional(),
});
export type BufferSpec = z.infer<typeof bufferSchema>;

export const argSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('buf'), index: z.number().int() }),
  z.object({ kind: z.enum(['int', 'long', 'float', 'bf16']), value: z.number() }),
]);
export type ArgSpec = z.infer<typeof argSchema>;

export const limitSpecSchema = z.object({
  /** Index into buffers. */
  buffer: z.number().int(),
  c: z.number(),
  rms: z.number(),
  /** Unit roundoff of storage; 0 demands bit equality. */
  uOut: z.number(),
  /** Unit roundoff of accumulation (2^-24). */
  uAcc: z.number(),
});

/** One size (with one kind of input) to be run: everything runner and judge need besides the seed. */
export const problemSchema = z.object({
  /** "published/2", "large/0", "verify/3", "verify/3+ties". */
  id: z.string(),
  dims: z.record(z.string(), z.number()),
  /** Dimension values in the task's order. */
  dimOrder: z.array(z.string()),
  buffers: z.array(bufferSchema),
  args: z.array(argSchema),
  limits: z.array(limitSpecSchema),
});
export type Problem = z.infer<typeof problemSchema>;

export const armIds = ['O', 'B', 'C', 'L'] as const;
/** O origin, B best so far, C candidate, L library. */
export const armSchema = z.object({ id: z.enum(armIds), lib: z.string(), symbol: z.string() });
export type Arm = z.infer<typeof armSchema>;
export type ArmId = (typeof armIds)[number];

const common = {
  /** Executables made by earlier build steps, relative to scratch. */
  runner: z.string(),
  judge: z.string(),
  shim: z.string(),
  /** true: the judge holds a reference that a user wrote, and is contained as a candidate is. Absent: the reference is ours. */
  judgeContained: z.boolean().optional(),
};

export const flushSchema = z.enum(['none', 'read', 'write']);

export const verifyPlanSchema = z.object({
  mode: z.literal('verify'),
  ...common,
  arm: armSchema,
  problems: z.array(problemSchema),
  /** Independent seeds per problem. */
  seeds: z.number().int().min(1),
});

export const timePlanSchema = z.object({
  mode: z.literal('time'),
  ...common,
  phase: z.enum(['nominate', 'confirm']),
  /** O first; B absent while origin is the best; C absent when only a baseline is wanted. */
  arms: z.array(armSchema).min(1),
  problems: z.array(problemSchema),
  /** Score weight of each problem (same order). */
  weights: z.array(z.number()),
  /** Processes with every arm loaded. */
  processes: z.number().int().min(1),
  /** Processes with origin alone (interference check). */
  soloProcesses: z.number().int().min(0),
  blocks: z.object({
    min: z.number().int().min(2),
    max: z.number().int(),
    /** Time budget per size, process and quantity, ms, from origin's own time: fixes the number of blocks before any candidate runs. */
    budgetMs: z.number(),
  }),
  flush: flushSchema,
  /** What is measured, in this order, each in a pass of its own (the wrapper pass runs before activity recording starts). */
  quantities: z.array(z.enum(['wrapper', 'span'])).min(1),
  /** Spans behind a gate (kernels/harness/PROTOCOL.md): without launch gaps of the host. */
  gate: z.boolean(),
  /** Random positions checked after each timed call. */
  positions: z.number().int().min(1),
  /** Calls of the first blocks only are checked: for sessions without a candidate, whose judge takes far longer than the calls. Absent: all. */
  checkedBlocks: z.number().int().min(1).optional(),
  /** Nominated when the point estimate of R exceeds this. */
  nominateAbove: z.number(),
});

/**
 * Collection in two stages, each an ncu of its own: first the plan's `metrics` of every launch, then, of the launch with most time, what
 * its bottleneck needs. The session decides between them with the data given here, so that a machine with the worker alone can.
 */
export const profileStagesSchema = z.object({
  /** Metric ids of the quantities that decide, first one present wins. */
  duration: z.array(z.string()),
  throughputs: z.object({ compute: z.array(z.string()), dram: z.array(z.string()), memory: z.array(z.string()) }),
  thresholds: thresholdsSchema,
  /** Second stage: metric ids whatever the bottleneck is, and by bottleneck; what the first one has is not asked again. */
  always: z.array(z.string()),
  byBottleneck: z.record(z.enum(bottlenecks), z.array(z.string())),
  sections: z.array(z.string()),
  /** What to ask instead of an id that ncu does not know on this GPU, in order. */
  instead: z.record(z.string(), z.array(z.string())).default({}),
});
export type ProfileStages = z.infer<typeof profileStagesSchema>;

export const profilePlanSchema = z.object({
  mode: z.literal('profile'),
  ...common,
  arm: armSchema,
  problem: problemSchema,
  /** ncu metric ids; ncu makes as many passes as they need. */
  metrics: z.array(z.string()),
  sections: z.array(z.string()).default([]),
  /** Import the source page too (SourceCounters). */
  source: z.boolean().default(false),
  /** Absent: everything is collected at once. */
  stages: profileStagesSchema.optional(),
  /** ncu's own set of sections ("full") instead of metrics. */
  set: z.string().optional(),
  /** Launches of the call that are profiled, and rows of them kept (most time first); absent: all. */
  maxLaunches: z.number().int().positive().optional(),
  keepLaunches: z.number().int().positive().optional(),
});

export const sanitizePlanSchema = z.object({
  mode: z.literal('sanitize'),
  ...common,
  arm: armSchema,
  tools: z.array(z.enum(['memcheck', 'racecheck', 'initcheck', 'synccheck'])),
  problems: z.array(problemSchema),
  /** Repeated calls of the two largest problems, alone and under load: races between blocks, which no tool sees. */
  races: z.object({ calls: z.number().int().min(1) }).optional(),
});

/** Timing facts: how well spans and flushes work on this GPU (ARCHITECTURE.md cites them). */
export const factsPlanSchema = z.object({
  mode: z.literal('facts'),
  ...common,
  arm: armSchema,
  problems: z.array(problemSchema),
  calls: z.number().int(),
});

/** The paper's protocol: 3 warm-ups, 50 back-to-back calls between two events. A named mode, never mixed with ours. */
export const paperPlanSchema = z.object({
  mode: z.literal('paper'),
  ...common,
  arms: z.array(armSchema).min(1),
  problems: z.array(problemSchema),
  warmups: z.number().int(),
  calls: z.number().int(),
});

export const sessionPlanSchema = z.discriminatedUnion('mode', [
  verifyPlanSchema,
  timePlanSchema,
  profilePlanSchema,
  sanitizePlanSchema,
  factsPlanSchema,
  paperPlanSchema,
]);
export type SessionPlan = z.infer<typeof sessionPlanSchema>;
export type VerifyPlan = z.infer<typeof verifyPlanSchema>;
export type TimePlan = z.infer<typeof timePlanSchema>;
export type ProfilePlan = z.infer<typeof profilePlanSchema>;
export type SanitizePlan = z.infer<typeof sanitizePlanSchema>;
export type FactsPlan = z.infer<typeof factsPlanSchema>;
export type PaperPlan = z.infer<typeof paperPlanSchema>;

/* ---------------------------------------------------------------- results (raw: no verdicts) */

/** Judge's comparison of one whole output (or of sampled positions). Errors in units of the element's limit. */
export const comparisonSchema = z.object({
  output: z.string(),
  compared: z.number().int(),
  bad: z.number().int(),
  nonFinite: z.number().int(),
  /** Largest |y-r| / limit, and RMS of the same; null when nothing finite was compared. */
  worst: z.number().nullable(),
  rms: z.number().nullable(),
  /** The bound that rms must keep (the task's `rms`). */
  rmsLimit: z.number().optional(),
  /** Largest and RMS error in ulp of the stored type at |r|. */
  maxUlp: z.number().nullable(),
  rmsUlp: z.number().nullable(),
  allZero: z.boolean(),
  poisonLeft: z.number().int(),
  /** First wrong elements. Values as JSON numbers or "nan" / "inf" / "-inf". */
  first: z.array(
    z.object({
      index: z.number().int(),
      got: z.union([z.number(), z.string()]),
      want: z.union([z.number(), z.string()]),
      limit: z.number(),
    }),
  ),
  /** Last wrong index and the commonest stride between wrong ones (0 = none): pattern for the digest. */
  lastBad: z.number().int().nullable(),
  stride: z.number().int().nullable(),
});
export type Comparison = z.infer<typeof comparisonSchema>;

/** A call that went wrong outside of values. */
export const incidentSchema = z.object({
  kind: z.enum([
    'cuda-error', // code+name in message
    'crash', // runner died: signal/exit in message
    'timeout', // wall limit inside a call
    'guard', // guard zone overwritten
    'input-changed',
    'threads-left', // more host threads after the call than before
    'no-activity', // no kernel/copy/set seen by CUPTI in a span pass
    'late-activity', // GPU work of an earlier call ran after it returned and was synchronised, or outside the window
    'load', // dlopen/dlsym failed
    'protocol', // unexpected bytes on the control channel
    'sampled-wrong', // a sampled position of a timed call is wrong
    'foreign-work', // another process used the GPU in the window
    'sanitizer',
  ]),
  arm: z.string().optional(),
  problem: z.string().optional(),
  message: z.string(),
  detail: z.string().optional(),
});
export type Incident = z.infer<typeof incidentSchema>;

export const gpuInfoSchema = z.object({
  name: z.string(),
  uuid: z.string(),
  cc: z.string(),
  sms: z.number(),
  l2Bytes: z.number(),
  memoryBytes: z.number(),
  smClockMHz: z.number(),
  memClockMHz: z.number(),
  maxThreadsPerSm: z.number(),
  regsPerSm: z.number(),
  sharedPerSm: z.number(),
  sharedPerBlockOptin: z.number(),
  driver: z.number(),
  runtime: z.number(),
});
export type GpuInfo = z.infer<typeof gpuInfoSchema>;

export const verifyResultSchema = z.object({
  mode: z.literal('verify'),
  gpu: gpuInfoSchema.nullable(),
  checks: z.array(
    z.object({
      problem: z.string(),
      seed: z.string(),
      outputs: z.array(comparisonSchema),
      firstCallNs: z.number().nullable(),
    }),
  ),
  incidents: z.array(incidentSchema),
});

/** Samples of one process, one problem, one quantity: per arm the times in block order (2 per block), ns; null = void. */
export const sampleSetSchema = z.object({
  process: z.number().int(),
  kind: z.enum(['full', 'solo']),
  problem: z.number().int(),
  quantity: z.enum(['span', 'wrapper']),
  blocks: z.number().int(),
  arms: z.partialRecord(z.enum(armIds), z.array(z.number().nullable())),
});
export type SampleSet = z.infer<typeof sampleSetSchema>;

export const activitySchema = z.object({
  arm: z.string(),
  problem: z.number().int(),
  kind: z.enum(['kernel', 'memcpy', 'memset']),
  name: z.string(),
  perCall: z.number(),
  /** Launch of the first one seen (kernels). */
  grid: z.array(z.number()).optional(),
  block: z.array(z.number()).optional(),
  registers: z.number().optional(),
  sharedStatic: z.number().optional(),
  sharedDynamic: z.number().optional(),
  meanNs: z.number(),
});

export const timeResultSchema = z.object({
  mode: z.literal('time'),
  phase: z.enum(['nominate', 'confirm']),
  gpu: gpuInfoSchema.nullable(),
  samples: z.array(sampleSetSchema),
  /** Timer's step, ns: smallest distance between distinct device time stamps seen. */
  timerStepNs: z.number(),
  /** Ours of this GPU, measured in a process without a candidate. */
  peaks: z
    .object({
      readBytesPerS: z.number(),
      writeBytesPerS: z.number(),
      copyBytesPerS: z.number(),
      fp32FlopsPerS: z.number(),
      emptySpanNs: z.number(),
      /** flop/s of the other pipes this GPU has, by pipe of main/profile/roofline.json; tensor pipes by mma.sync. */
      pipeFlopsPerS: z.record(z.string(), z.number()).optional(),
    })
    .nullable(),
  activities: z.array(activitySchema),
  /** One call per arm and problem, chosen afterwards, compared whole. */
  whole: z.array(z.object({ arm: z.string(), problem: z.number().int(), outputs: z.array(comparisonSchema) })),
  sampledChecks: z.number().int(),
  incidents: z.array(incidentSchema),
  voided: z.number().int(),
  clocks: z.object({ smMHz: z.array(z.number()), memMHz: z.array(z.number()) }).optional(),
  /** false: the driver gave no list of the programs on the GPU, so nobody knows whether others used it. Missing: not said (older results). */
  foreignLooked: z.boolean().optional(),
  /** Point estimate of R by the broker, and whether it nominated (phase nominate, with a candidate). */
  nominated: z.boolean().nullable(),
  pointR: z.number().nullable(),
});
export type TimeResult = z.infer<typeof timeResultSchema>;

/**
 * A report of Nsight Compute, kept as a file and never inside a result, recording or export: its name (where it lies is the business of
 * each machine) and what it holds; or why there is none.
 */
export const reportFileSchema = z.discriminatedUnion('kept', [
  z.object({
    kept: z.literal(true),
    file: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,150}\.ncu-rep$/),
    bytes: z.number().int().nonnegative(),
    sha256: z.string().regex(/^[0-9a-f]{64}$/),
  }),
  z.object({ kept: z.literal(false), reason: z.string().max(2000) }),
]);
export type ReportFile = z.infer<typeof reportFileSchema>;

export const profileResultSchema = z.object({
  mode: z.literal('profile'),
  ncuVersion: z.string().nullable(),
  /** Raw page and source page as ncu printed them (CSV); empty when it gave none. */
  rawCsv: z.string(),
  sourceCsv: z.string().default(''),
  /** Raw page of the hottest launch with all that was asked of it (`rawCsv` then has the verdict's columns only); gzip in base64. */
  detailGz: z.string().optional(),
  /** The source page of the hottest launch, gzip in base64: pages compress to a tenth, and recordings stay small. */
  sourceGz: z.string().optional(),
  /** Rows that the stored source page lost to its cap. */
  sourceCut: z.number().int().optional(),
  stages: z.array(profileStageSchema).optional(),
  /** How the passes were made of at least one collection. Absent: kernel. */
  replay: z.enum(replays).optional(),
  /** Launches profiled by kernel, where `rawCsv` keeps fewer. */
  counts: z.array(z.object({ kernel: z.string(), launches: z.number().int() })).optional(),
  /** ncu's report of what is shown. Absent: no report was made, or nobody was asked to keep it. */
  report: reportFileSchema.optional(),
  log: z.string(),
  exitCode: z.number().int().nullable(),
  incidents: z.array(incidentSchema),
});

export const sanitizeResultSchema = z.object({
  mode: z.literal('sanitize'),
  runs: z.array(
    z.object({
      tool: z.string(),
      problem: z.string(),
      exitCode: z.number().int().nullable(),
      errors: z.number().int().nullable(),
      log: z.string(),
    }),
  ),
  /** Repeated calls, each compared whole: how many were wrong, and the comparisons of one of them. */
  races: z
    .array(
      z.object({
        problem: z.string(),
        /** What another process did on the GPU meanwhile. */
        load: z.enum(['alone', 'short calls', 'long calls']),
        calls: z.number().int(),
        wrong: z.number().int(),
        outputs: z.array(comparisonSchema),
      }),
    )
    .optional(),
  incidents: z.array(incidentSchema),
});

export const factsResultSchema = z.object({
  mode: z.literal('facts'),
  gpu: gpuInfoSchema.nullable(),
  rows: z.array(
    z.object({
      problem: z.string(),
      flush: flushSchema,
      quantity: z.enum(['span', 'gated', 'wrapper', 'event']),
      ns: z.array(z.number()),
    }),
  ),
  timerStepNs: z.number(),
  incidents: z.array(incidentSchema),
});

export const paperResultSchema = z.object({
  mode: z.literal('paper'),
  rows: z.array(z.object({ problem: z.string(), arm: z.string(), totalMs: z.number(), calls: z.number().int() })),
  incidents: z.array(incidentSchema),
});

export const sessionResultSchema = z.discriminatedUnion('mode', [
  verifyResultSchema,
  timeResultSchema,
  profileResultSchema,
  sanitizeResultSchema,
  factsResultSchema,
  paperResultSchema,
]);
export type SessionResult = z.infer<typeof sessionResultSchema>;
export type VerifyResult = z.infer<typeof verifyResultSchema>;
export type ProfileResult = z.infer<typeof profileResultSchema>;
export type SanitizeResult = z.infer<typeof sanitizeResultSchema>;
export type FactsResult = z.infer<typeof factsResultSchema>;
