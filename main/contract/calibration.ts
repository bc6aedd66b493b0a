import { z } from 'zod';
import { bottlenecks } from './profile.ts';
import { dtypeSchema } from './task.ts';

/** The three throughputs of Table 2 that a threshold θ splits into low and high, in % of peak. */
export const throughputs = ['compute', 'dram', 'memory'] as const;
export type Throughput = (typeof throughputs)[number];

const unavailableSchema = z.object({ available: z.literal(false), reason: z.string() });

/** Bootstrap interval of a threshold, in % of peak. */
export const thresholdIntervalSchema = z.union([
  z.object({
    available: z.literal(true),
    low: z.number(),
    high: z.number(),
    level: z.number().gt(0).lt(1),
    resamples: z.number().int(),
  }),
  unavailableSchema,
]);

/** Otsu's cut of one throughput over the tasks. `low`, `high`: values per class. */
export const thresholdCutSchema = z.union([
  z.object({
    available: z.literal(true),
    threshold: z.number(),
    /** Largest value of the low class, smallest of the high one: any threshold between them splits alike. */
    gap: z.tuple([z.number(), z.number()]),
    /** Separability: between-class variance / total variance. */
    eta: z.number().min(0).max(1),
    low: z.number().int(),
    high: z.number().int(),
    /** Gaps that split equally well, this one counted. */
    tied: z.number().int(),
    interval: thresholdIntervalSchema,
  }),
  unavailableSchema,
]);
export type ThresholdCut = z.infer<typeof thresholdCutSchema>;

export const thresholdProposalSchema = z
  .object({
    metric: z.enum(throughputs),
    /** ncu metric id and label. */
    id: z.string(),
    label: z.string(),
    /** Number of values used, one per task. */
    n: z.number().int(),
    values: z.array(z.object({ task: z.string(), value: z.number() })),
    missing: z.array(z.object({ task: z.string(), reason: z.string() })),
    cut: thresholdCutSchema,
    adopted: z.boolean(),
    /** θ in force: the cut's when adopted, else the paper's. */
    used: z.number(),
    why: z.string(),
  })
  .refine(({ values, n }) => values.length === n, 'n is not the number of values')
  .refine(
    ({ adopted, used, cut }) => !adopted || (cut.available && used === cut.threshold),
    'adopted, but the threshold in force is not the cut',
  );
export type ThresholdProposal = z.infer<typeof thresholdProposalSchema>;

/** `none`: no verdict. `launchBound` counts beside the classes, not as one of them. */
export const classCountsSchema = z.object({
  compute: z.number().int(),
  'memory-bandwidth': z.number().int(),
  'memory-latency': z.number().int(),
  none: z.number().int(),
  launchBound: z.number().int(),
});
export type ClassCounts = z.infer<typeof classCountsSchema>;

export const verdictShiftSchema = z.object({
  before: classCountsSchema,
  after: classCountsSchema,
  moved: z.array(
    z.object({ task: z.string(), from: z.enum(bottlenecks).nullable(), to: z.enum(bottlenecks).nullable() }),
  ),
});
export type VerdictShift = z.infer<typeof verdictShiftSchema>;

/** What `calibrate` found on one GPU, and the thresholds that follow. */
export const calibrationSchema = z
  .object({
    gpu: z.object({ name: z.string(), uuid: z.string(), cc: z.string() }),
    /** UUIDs of all GPUs whose profiles went in, where there are several: of one model, under one driver. */
    pooled: z.array(z.string()).readonly().optional(),
    driver: z.string(),
    ncuVersions: z.array(z.string()),
    /** ISO 8601, UTC. */
    date: z.iso.datetime(),
    dtype: dtypeSchema,
    tasks: z.number().int(),
    thresholds: z.record(z.enum(throughputs), z.number()),
    proposals: z.record(z.enum(throughputs), thresholdProposalSchema),
    /** Classes of the same launches under the paper's thresholds and under `thresholds`. */
    verdicts: verdictShiftSchema,
  })
  .refine(
    ({ thresholds, proposals }) => throughputs.every((key) => thresholds[key] === proposals[key].used),
    'the thresholds are not those of the proposals',
  );
export type Calibration = z.infer<typeof calibrationSchema>;
