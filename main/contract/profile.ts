import { z } from 'zod';

/** A metric value: a number, or "not available" with the reason. Missing is never zero. */
export const metricValueSchema = z.union([
  z.object({ available: z.literal(true), value: z.number(), unit: z.string() }),
  z.object({ available: z.literal(false), reason: z.string() }),
]);
export type MetricValue = z.infer<typeof metricValueSchema>;

export const launchSchema = z.object({
  index: z.number().int(),
  kernel: z.string(),
  grid: z.array(z.number()),
  block: z.array(z.number()),
  cc: z.string(),
  /** By ncu metric id, in base units. */
  metrics: z.record(z.string(), metricValueSchema),
});
export type Launch = z.infer<typeof launchSchema>;

export const bottlenecks = ['compute', 'memory-bandwidth', 'memory-latency'] as const;
export type Bottleneck = (typeof bottlenecks)[number];

export const verdictSchema = z.object({
  /** null: a needed metric is missing; `why` says which. */
  bottleneck: z.enum(bottlenecks).nullable(),
  /** Grid below one wave. */
  launchBound: z.boolean(),
  why: z.string(),
  thresholds: z.object({ compute: z.number(), dram: z.number(), memory: z.number() }),
  /** The launch with most time. */
  launch: z.number().int().nullable(),
});
export type Verdict = z.infer<typeof verdictSchema>;

export const filteredMetricSchema = z.object({
  id: z.string(),
  label: z.string(),
  meaning: z.string(),
  value: metricValueSchema,
});

export const profileSchema = z.object({
  status: z.enum(['complete', 'incomplete', 'unavailable']),
  /** For incomplete/unavailable: what happened and the remedy. */
  reason: z.string().optional(),
  remedy: z.string().optional(),
  ncuVersion: z.string().nullable(),
  problem: z.string().nullable(),
  launches: z.array(launchSchema),
  verdict: verdictSchema.nullable(),
  filtered: z.array(filteredMetricSchema),
  /** Finer evidence of the same launch for the Planner: occupancy limits, divergence, coalescing, spills, stalls. */
  evidence: z.array(filteredMetricSchema).optional(),
});
export type Profile = z.infer<typeof profileSchema>;
export const profileModes = ['filtered', 'full', 'none'] as const;
export type ProfileMode = (typeof profileModes)[number];
