import { z } from 'zod';
import { machineSchema } from './job.ts';

/** Resolved tools of the machine a job runs on. Symbolic arguments ({nvcc}, {toolkit}, {arch} …) are replaced from this. */
export const toolPathsSchema = z.object({
  /** Real paths (links resolved); null = not found. */
  nvcc: z.string().nullable(),
  /** Host C++ compiler used by nvcc (-ccbin when it is not nvcc's default) and for host programs. */
  cxx: z.string().nullable(),
  /** true: pass `-ccbin cxx` to nvcc. */
  ccbin: z.boolean(),
  ncu: z.string().nullable(),
  /** Other Nsight Compute programs, in the order to try them when the first does not fit driver or GPU. */
  otherNcus: z.array(z.object({ path: z.string(), version: z.string() })).optional(),
  sanitizer: z.string().nullable(),
  bwrap: z.string().nullable(),
  /** Toolkit root: include/ and lib64/ (or lib/) below or spread as Debian does; extra folders listed. */
  toolkit: z.string().nullable(),
  includeDirs: z.array(z.string()),
  libDirs: z.array(z.string()),
  /** sm_NN of the GPU that will run the job; null without a GPU. */
  arch: z.string().nullable(),
  /** Architectures nvcc can make (sm_NN). */
  archs: z.array(z.string()),
  /** Environment for tools (PATH, TMPDIR …), already trimmed to the allow-list. */
  env: z.record(z.string(), z.string()),
  machine: machineSchema,
  /** Memory of that GPU, MiB; null or absent: not known. */
  gpuMemoryMiB: z.number().nullable().optional(),
});
export type ToolPaths = z.infer<typeof toolPathsSchema>;

/** One line of `cudamaster doctor`. */
export const checkSchema = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['ok', 'warning', 'error', 'absent']),
  /** What was found, one line. */
  found: z.string(),
  cause: z.string().optional(),
  remedy: z.string().optional(),
});
export type Check = z.infer<typeof checkSchema>;

export const doctorReportSchema = z.object({
  checks: z.array(checkSchema),
  /** The pair chosen, and why. */
  chosen: z.object({
    toolkit: z.string().nullable(),
    gpu: z.string().nullable(),
    arch: z.string().nullable(),
    why: z.string(),
  }),
  canCompile: z.boolean(),
  canRun: z.boolean(),
  canProfile: z.boolean(),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;
