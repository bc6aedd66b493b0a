import { z } from 'zod';
import { readInput } from '../base/input.ts';
import {
  AppFailure,
  benchConfigSchema,
  bottlenecks,
  type Dtype,
  dtypeSchema,
  err,
  estimateSchema,
  FORMAT,
  machineSchema,
  outcomeSchema,
  type SizeSet,
  sizeSets,
} from '../contract/index.ts';
import type { ComparedReport } from './compare.ts';

const limit = 256 * 1024 * 1024;
const remedy = 'Give "last", the id of a bench, its folder, or the report.json in it.';

const figure = estimateSchema.nullable();
const rowSchema = z.object({
  problem: z.string(),
  dims: z.record(z.string(), z.number()),
  originSpanNs: figure,
  originWrapperNs: figure,
  librarySpanNs: figure,
  librarySpeedup: figure,
  candidateSpanNs: figure,
  speedup: figure,
});
const range = z.tuple([z.number(), z.number()]);

/** The part of report.json that a comparison reads. */
const reportSchema: z.ZodType<ComparedReport> = z.object({
  bench: z.string(),
  createdAt: z.string(),
  programVersion: z.string(),
  config: benchConfigSchema,
  cells: z.object({ all: z.number(), measured: z.number() }),
  outdated: z.array(z.string()),
  machines: z.array(z.object({ machine: machineSchema, cells: z.number() })),
  clocks: z.object({ sm: range, memory: range }).nullable(),
  missing: z.array(z.object({ cell: z.string(), reason: z.string() })),
  entries: z.array(
    z.object({
      cell: z.string(),
      task: z.string(),
      dtype: dtypeSchema,
      sizes: z.enum(sizeSets),
      candidate: z.string().nullable(),
      outcome: outcomeSchema,
      reason: z.string(),
      jobWallMs: z.number(),
      rows: z.array(rowSchema),
      library: z.object({ title: z.string() }).nullable(),
      machine: z.number().optional(),
    }),
  ),
  profiles: z.array(
    z.object({
      cell: z.string(),
      task: z.string(),
      dtype: dtypeSchema,
      version: z.enum(['origin', 'candidate']),
      sizes: z.enum(sizeSets),
      bottleneck: z.enum(bottlenecks).nullable(),
      launchBound: z.boolean(),
      why: z.string(),
    }),
  ),
});

/** Reads a report.json. Throws AppFailure `input.file`, `format.newer`, `format.invalid`, `cancelled`, each naming the file. */
export async function readReport(file: string, signal?: AbortSignal): Promise<ComparedReport> {
  return parseReport(file, await readInput(file, { limit, signal }));
}

export function parseReport(file: string, text: string): ComparedReport {
  const invalid = (message: string): AppFailure => new AppFailure(err('format.invalid', message, { remedy }).error);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(`${file} is no JSON.`);
  }
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (format !== 'cudamaster-bench-report') throw invalid(`${file} is no report of a bench.`);
  if (typeof version === 'number' && version > FORMAT.bench)
    throw new AppFailure(
      err('format.newer', `${file} has format bench ${version}; this program knows it up to ${FORMAT.bench}.`, {
        remedy: 'Update CUDAMaster.',
      }).error,
    );
  const parsed = reportSchema.safeParse(value);
  if (!parsed.success) throw invalid(`${file}: ${z.prettifyError(parsed.error).slice(0, 500)}`);
  const twice = repeated(parsed.data.entries.map(({ cell }) => cell));
  if (twice !== null) throw invalid(`${file} holds the cell ${twice} twice.`);
  return parsed.data;
}

const repeated = (names: readonly string[]): string | null =>
  names.find((name, at) => names.indexOf(name) !== at) ?? null;

/** What a user asked for; absent: everything. */
export interface Narrowing {
  readonly tasks?: readonly string[];
  readonly dtypes?: readonly Dtype[];
  readonly sizes?: readonly SizeSet[];
}

/** The part of a report that is asked for. */
export function narrowed(report: ComparedReport, { tasks, dtypes, sizes }: Narrowing): ComparedReport {
  const wanted = (task: string, dtype: string, set: string): boolean =>
    (tasks?.includes(task) ?? true) &&
    ((dtypes as readonly string[] | undefined)?.includes(dtype) ?? true) &&
    ((sizes as readonly string[] | undefined)?.includes(set) ?? true);
  const cell = (id: string): boolean => {
    const [stage = '', task = '', dtype = ''] = id.split('.');
    return wanted(task, dtype, stage === 'profile' ? report.config.profileSizes : stage);
  };
  return {
    ...report,
    entries: report.entries.filter((e) => wanted(e.task, e.dtype, e.sizes)),
    profiles: report.profiles.filter((p) => wanted(p.task, p.dtype, p.sizes)),
    missing: report.missing.filter((m) => cell(m.cell)),
    outdated: report.outdated.filter(cell),
  };
}
