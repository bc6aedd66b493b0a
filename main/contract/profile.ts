import { z } from 'zod';
import { replays } from './replay.ts';

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

/** θ in % of peak. */
export const thresholdsSchema = z.object({ compute: z.number(), dram: z.number(), memory: z.number() });
export type Thresholds = z.infer<typeof thresholdsSchema>;

/** Table 2 of the paper, from the three throughputs in % of peak. One home: the session asks it between its two collections, the verdict after. */
export function bottleneckOf(seen: Thresholds, over: Thresholds): Bottleneck {
  if (seen.compute > over.compute) return 'compute';
  return seen.dram > over.dram || seen.memory > over.memory ? 'memory-bandwidth' : 'memory-latency';
}

/** Memory is the higher of two sides that both exceed θ: its metrics go along with those of the compute bound. */
export const memoryHigher = (seen: Thresholds, over: Thresholds): boolean =>
  (seen.memory > over.memory || seen.dram > over.dram) && Math.max(seen.memory, seen.dram) > seen.compute;

export const verdictSchema = z.object({
  /** null: a needed metric is missing; `why` says which. */
  bottleneck: z.enum(bottlenecks).nullable(),
  /** Grid below one wave. */
  launchBound: z.boolean(),
  why: z.string(),
  thresholds: thresholdsSchema,
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

/** Resources of one compiled kernel as ptxas reported them; null: it did not say. Bytes per thread, shared and constant per block. */
export const kernelStaticSchema = z.object({
  /** Name as ptxas prints it (mangled), and the bare function name. */
  symbol: z.string(),
  kernel: z.string(),
  arch: z.string(),
  registers: z.number().nullable(),
  stackBytes: z.number().nullable(),
  spillStoreBytes: z.number().nullable(),
  spillLoadBytes: z.number().nullable(),
  sharedBytes: z.number().nullable(),
  constantBytes: z.number().nullable(),
  barriers: z.number().nullable(),
});
export type KernelStatic = z.infer<typeof kernelStaticSchema>;

/** One collection by ncu: a process of its own. */
export const profileStageSchema = z.object({
  /** verdict: every launch, what the verdict needs; evidence: the hottest launch, what its bottleneck needs; full: all sections. */
  stage: z.enum(['verdict', 'evidence', 'full']),
  /** Metric ids and sections asked for. */
  metrics: z.array(z.string()),
  sections: z.array(z.string()),
  /** Ids that this ncu or GPU does not know: asked for once, left out after its answer. */
  unknown: z.array(z.string()),
  /** The launch it was restricted to (index of the whole call); null: all of the call. */
  launch: z.number().int().nullable(),
  launches: z.number().int(),
  /** Times a launch was replayed, the most of any; null: ncu did not say. */
  passes: z.number().int().nullable(),
  /** Collecting, and reading the report, ms. */
  collectMs: z.number(),
  importMs: z.number(),
  /** Absent: kernel. */
  replay: z.enum(replays).optional(),
  /** Why there is less than was asked for. */
  note: z.string().optional(),
});
export type ProfileStage = z.infer<typeof profileStageSchema>;

export const profileModes = ['filtered', 'full', 'none'] as const;
export type ProfileMode = (typeof profileModes)[number];

/**
 * Counts of one source line or one instruction. null: the page has no such column, or no number in the cell; never zero for missing.
 * Stalls are by the ids of main/profile/stalls.json (a column unknown there keeps ncu's name); memory columns by ncu's names.
 */
export const sourceCountsSchema = z.object({
  /** Warp samples of the sampler (all; and those of cycles in which the scheduler issued nothing, taken in another pass). */
  samples: z.number().nullable(),
  notIssued: z.number().nullable(),
  /** Executions per warp, and per thread; `threadsOn`: threads whose predicate was true. */
  instructions: z.number().nullable(),
  threads: z.number().nullable(),
  threadsOn: z.number().nullable(),
  divergentBranches: z.number().nullable(),
  stalls: z.record(z.string(), z.number()),
  stallsNotIssued: z.record(z.string(), z.number()),
  /** Sectors, tag requests, wavefronts, conflicts. */
  memory: z.record(z.string(), z.number()),
});
export type SourceCounts = z.infer<typeof sourceCountsSchema>;

export const sourceInstructionSchema = z.object({
  /** As ncu prints it ("0x7f35557a0f00"), and bytes from the function's lowest address. */
  address: z.string(),
  offset: z.number().int().nullable(),
  sass: z.string(),
  opcode: z.string(),
  /** Address space, operation and width as ncu prints them; null: none. */
  access: z.object({ space: z.string(), operation: z.string(), size: z.string() }).nullable(),
  /** Indices in the function's `lines`; several when inlining puts an instruction under several lines; none without line info. */
  lines: z.array(z.number().int()),
  counts: sourceCountsSchema,
});
export type SourceInstruction = z.infer<typeof sourceInstructionSchema>;

export const sourceLineSchema = z.object({
  file: z.string().nullable(),
  line: z.number().int(),
  text: z.string(),
  /** Indices in the function's `instructions`. */
  instructions: z.array(z.number().int()),
  counts: sourceCountsSchema,
  /** page: ncu printed the line's counts; instructions: summed here over the line's instructions. */
  countsFrom: z.enum(['page', 'instructions']),
});
export type SourceLine = z.infer<typeof sourceLineSchema>;

export const sourceFunctionSchema = z.object({
  name: z.string(),
  /** 0, 1, …: the page prints a kernel once per profiled launch. */
  occurrence: z.number().int(),
  files: z.array(z.string()),
  lines: z.array(sourceLineSchema),
  instructions: z.array(sourceInstructionSchema),
});
export type SourceFunction = z.infer<typeof sourceFunctionSchema>;

export const sourcePageSchema = z.object({
  shape: z.enum(['cuda,sass', 'cuda', 'sass', 'none']),
  functions: z.array(sourceFunctionSchema),
  /** Fields of SourceCounts that some table of the page has no column for. */
  missing: z.array(z.string()),
  /** What the page contradicts itself in, and rows that could not be read: nothing is silently repaired. */
  problems: z.array(z.string()),
  /** ncu's own lines (`==…==`). */
  messages: z.array(z.string()),
});
export type SourcePage = z.infer<typeof sourcePageSchema>;

/** What is kept of a page for people and screens: one kernel, samples and stalls by row. Counts are null where the page has none. */
const sourceRow = {
  samples: z.number().nullable(),
  /** Executions per warp. */
  executed: z.number().nullable(),
  /** Samples by stall (main/profile/stalls.json), without zeros. */
  stalls: z.record(z.string(), z.number()),
};
export const sourceViewSchema = z.object({
  function: z.string(),
  files: z.array(z.string()),
  /** Samples of all instructions, kept or not. */
  samples: z.number().nullable(),
  lines: z.array(
    z.object({
      file: z.string().nullable(),
      line: z.number().int(),
      text: z.string(),
      /** Indices in `instructions`. */
      instructions: z.array(z.number().int()),
      ...sourceRow,
    }),
  ),
  /** In the order of their addresses. */
  instructions: z.array(
    z.object({
      address: z.string(),
      offset: z.number().int().nullable(),
      sass: z.string(),
      /** Indices in `lines`. */
      lines: z.array(z.number().int()),
      ...sourceRow,
    }),
  ),
  /** Rows left out to keep results small: those with fewest samples. */
  omitted: z.object({ lines: z.number().int(), instructions: z.number().int() }),
  /** What the page lacks or contradicts itself in. */
  notes: z.array(z.string()),
});
export type SourceView = z.infer<typeof sourceViewSchema>;

export const heatRowSchema = z.object({
  function: z.string(),
  file: z.string().nullable(),
  line: z.number().int().nullable(),
  /** Set for rows per instruction. */
  address: z.string().nullable(),
  text: z.string(),
  samples: z.number(),
  /** Of all samples shown, 0…1, and the half width of its 95 % interval (Wilson) from the number of samples. */
  share: z.number(),
  plusMinus: z.number(),
  /** Against the hottest row, 0…1: the colour. */
  heat: z.number(),
  /** The stall with most samples; null: no stall columns, or no sample of a waiting warp. Share of the row's samples. */
  dominant: z
    .object({ stall: z.string(), label: z.string(), meaning: z.string(), samples: z.number(), share: z.number() })
    .nullable(),
});
export type HeatRow = z.infer<typeof heatRowSchema>;

export const heatmapSchema = z.union([
  z.object({
    available: z.literal(true),
    by: z.enum(['samples', 'notIssued']),
    unit: z.enum(['line', 'instruction']),
    total: z.number(),
    /** Hottest first; rows without samples are left out. */
    rows: z.array(heatRowSchema),
    notes: z.array(z.string()),
  }),
  z.object({ available: z.literal(false), reason: z.string() }),
]);
export type Heatmap = z.infer<typeof heatmapSchema>;

/** Measured peaks of a GPU for the roofline; null or absent: not measured. */
export const rooflinePeaksSchema = z.object({
  bytesPerS: z.number().nullable(),
  /** By pipe of main/profile/roofline.json. */
  flopsPerS: z.record(z.string(), z.number()),
});
export type RooflinePeaks = z.infer<typeof rooflinePeaksSchema>;

export const rooflinePointSchema = z.object({
  pipe: z.string(),
  label: z.string(),
  /** Operations counted, and how far ncu's rounding can be off. */
  flop: z.number(),
  plusMinus: z.number(),
  /** Of all floating-point operations counted, 0…1. */
  share: z.number(),
  /** flop/byte, flop/s, flop/s, % of the ceiling at this intensity. */
  intensity: metricValueSchema,
  rate: metricValueSchema,
  ceiling: metricValueSchema,
  ofCeiling: metricValueSchema,
  /** Which roof is above the point; null without both peaks. */
  under: z.enum(['bandwidth', 'compute']).nullable(),
});
export type RooflinePoint = z.infer<typeof rooflinePointSchema>;

export const rooflineSchema = z.object({
  /** The roofs; absent in older results. */
  peaks: rooflinePeaksSchema.optional(),
  launch: z.number().int(),
  kernel: z.string(),
  bytes: metricValueSchema,
  duration: metricValueSchema,
  /** Pipes that executed something, most operations first. */
  points: z.array(rooflinePointSchema),
  /** Pipes whose counts are not in ncu's output. */
  missing: z.array(z.object({ pipe: z.string(), reason: z.string() })),
  notes: z.array(z.string()),
});
export type Roofline = z.infer<typeof rooflineSchema>;

/** One finer bottleneck of a launch. Only `found` and `clear` are verdicts; both need all their inputs. */
export const findingSchema = z.object({
  id: z.string(),
  label: z.string(),
  state: z.enum(['found', 'clear', 'not-applicable', 'unknown']),
  /** The measured quantity of the rule; not available in state unknown. */
  value: metricValueSchema,
  /** What is measured and when it counts as found, in words. */
  rule: z.string(),
  /** One sentence for people: what it means, or why nothing can be said. */
  sentence: z.string(),
  /** The metrics that prove it. */
  evidence: z.array(filteredMetricSchema),
});
export type Finding = z.infer<typeof findingSchema>;

export const profileSchema = z.object({
  status: z.enum(['complete', 'incomplete', 'unavailable']),
  /** For incomplete/unavailable: what happened and the remedy. */
  reason: z.string().optional(),
  remedy: z.string().optional(),
  /** What a reader must know of a profile, whatever its status: `complete` is not all that could be asked. */
  remark: z.string().optional(),
  ncuVersion: z.string().nullable(),
  problem: z.string().nullable(),
  launches: z.array(launchSchema),
  verdict: verdictSchema.nullable(),
  filtered: z.array(filteredMetricSchema),
  /** Finer evidence of the same launch for the Planner: occupancy limits, divergence, coalescing, spills, stalls. */
  evidence: z.array(filteredMetricSchema).optional(),
  /** Finer bottlenecks of the same launch, every rule with its state. */
  findings: z.array(findingSchema).optional(),
  /** Source and machine code of that launch's kernel with samples. */
  source: sourceViewSchema.optional(),
  /** Hottest rows of it; not available with the reason. */
  heatmap: z.object({ lines: heatmapSchema, instructions: heatmapSchema }).optional(),
  /** That launch under this GPU's measured roofs. */
  roofline: rooflineSchema.optional(),
  static: z.array(kernelStaticSchema).optional(),
  stages: z.array(profileStageSchema).optional(),
  /** application: at least one of its collections was made so. Absent: kernel. */
  replay: z.enum(replays).optional(),
  /** Launches ncu profiled, where fewer are kept in `launches`. */
  launchCount: z.number().int().optional(),
});
export type Profile = z.infer<typeof profileSchema>;
