import { z } from 'zod';
import { evaluationSchema } from './evaluation.ts';
import { jobResultSchema } from './job.ts';
import { profileSchema } from './profile.ts';
import { appErrorSchema } from './result.ts';
import { dtypeSchema, sizeSets } from './task.ts';

/** A suite is measured in stages, one after the other: sizes as published, large sizes, profiles. Each can be run and resumed by itself. */
export const benchStages = ['published', 'large', 'profile'] as const;
export type BenchStage = (typeof benchStages)[number];

export const benchConfigSchema = z.object({
  stages: z.array(z.enum(benchStages)).min(1),
  /** Size set that stage `profile` looks at: the largest size of it. */
  profileSizes: z.enum(sizeSets),
  library: z.boolean(),
  /** native, or sm_NN. */
  arch: z.string(),
  executor: z.enum(['local', 'bundle']),
  /** none: origins alone. */
  candidates: z.enum(['none', 'history', 'files']),
  /** host: without a GPU (tests); times then mean nothing. */
  variant: z.enum(['gpu', 'host']).optional(),
});
export type BenchConfig = z.infer<typeof benchConfigSchema>;

/** A source that is measured against its origin. */
export const benchCandidateSchema = z.object({
  task: z.string(),
  dtype: dtypeSchema,
  /** File name, or run and version of the history. */
  label: z.string(),
  /** SHA-256; the text lies in sources/<sha256>.cu of the bench's folder. */
  source: z.string().regex(/^[0-9a-f]{64}$/),
  compileArgs: z.array(z.string()),
  /** Why the screen refused it when the bench was begun: it is neither built nor timed, and its source is not kept. Absent: it was not. */
  refused: z.string().optional(),
});
export type BenchCandidate = z.infer<typeof benchCandidateSchema>;

/** One job of a bench. */
export const benchCellSchema = z.object({
  /** STAGE.TASK.DTYPE, in stage profile with the version behind. It names files: a bench may come from another machine. */
  id: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}$/),
  stage: z.enum(benchStages),
  task: z.string(),
  dtype: dtypeSchema,
  /** What is judged or profiled: the origin (a baseline), or the candidate against its origin. */
  version: z.enum(['origin', 'candidate']),
  sizes: z.enum(sizeSets),
});
export type BenchCell = z.infer<typeof benchCellSchema>;

/** The id of a cell, from what it measures. */
export const cellName = ({ stage, task, dtype, version }: Omit<BenchCell, 'id' | 'sizes'>): string =>
  `${stage}.${task}.${dtype}${stage === 'profile' ? `.${version}` : ''}`;

/** bench.json */
export const benchSchema = z
  .object({
    format: z.literal('cudamaster-bench'),
    version: z.number().int(),
    id: z.string(),
    createdAt: z.iso.datetime(),
    programVersion: z.string(),
    /** Everything random in the bench derives from it. */
    rootSeed: z.string(),
    config: benchConfigSchema,
    candidates: z.array(benchCandidateSchema),
    cells: z.array(benchCellSchema).min(1),
  })
  .superRefine(({ cells }, context) => {
    const seen = new Set<string>();
    for (const [at, cell] of cells.entries()) {
      const say = (message: string): void => context.addIssue({ code: 'custom', path: ['cells', at], message });
      // The name leads to the result: under a wrong one figures of one task would be shown as another's, or count twice.
      if (cell.id !== cellName(cell)) say(`"${cell.id}" is no name of this cell: expected "${cellName(cell)}"`);
      if (seen.has(cell.id)) say(`"${cell.id}" is there twice`);
      seen.add(cell.id);
    }
  });
export type Bench = z.infer<typeof benchSchema>;

/** results/CELL.json: what a cell gave. A cell that could not be run keeps why, and is run again by a resume. */
export const benchResultSchema = z.object({
  format: z.literal('cudamaster-bench-cell'),
  version: z.number().int(),
  cell: z.string(),
  jobHash: z.string(),
  finishedAt: z.iso.datetime(),
  fault: appErrorSchema.nullable(),
  result: jobResultSchema.nullable(),
  evaluation: evaluationSchema.nullable(),
  profile: profileSchema.nullable(),
});
export type BenchResult = z.infer<typeof benchResultSchema>;
