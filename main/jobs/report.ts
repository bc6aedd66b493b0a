import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { toAppError } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { sha256Hex } from '../base/hash.ts';
import type { JobResult, ReportFile, StepResult } from '../contract/index.ts';

/**
 * Reports of Nsight Compute. They lie in folders that candidate code, or whoever a bundle came from, could write: they are opened without
 * following links or waiting for a pipe, read up to a cap, and never trusted to hold what is said of them. That a report cannot be kept
 * is told, and costs nothing else.
 */
const MiB = 1024 * 1024;
/** A report of one launch takes some MiB at most; one of hundreds of launches with all sections far more. */
export const reportCap = 64 * MiB;

/** Name of the report beside a bundle's result.json. */
export const bundleReport = 'report.ncu-rep';

/** Name of the report of a job, by its position in the run. */
export const reportName = (position: string): string =>
  `${
    position
      .replace(/[^A-Za-z0-9.-]+/g, '_')
      .replace(/^[.-]+/, '')
      .slice(0, 100) || 'job'
  }.ncu-rep`;

const not = (reason: string): ReportFile => ({ kept: false, reason });

/** The file's bytes, or why they cannot be had in one sentence. */
async function readReport(path: string): Promise<Buffer | string> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, flags);
  } catch (fault) {
    const { code } = fault as { code?: string };
    if (code === 'ENOENT') return 'The report is not there.';
    return code === 'ELOOP' ? 'The report is a link.' : `The report cannot be read (${code}).`;
  }
  try {
    const info = await file.stat();
    if (!info.isFile()) return 'The report is no regular file.';
    if (info.size > reportCap)
      return `The report is too large to be kept (${(info.size / MiB).toFixed(1)} MiB, at most ${reportCap / MiB} MiB).`;
    // A file that grows meanwhile is read no further than it was long.
    const data = Buffer.alloc(info.size);
    const { bytesRead } = await file.read(data, 0, data.length, 0);
    return data.subarray(0, bytesRead);
  } catch (fault) {
    return `The report cannot be read (${(fault as { code?: string }).code ?? String(fault)}).`;
  } finally {
    await file.close();
  }
}

/**
 * Copies a report to a path of ours, whole or not at all; its folder is made on demand. Never throws.
 * `expected`: what it must hold.
 */
export async function keepReport(
  from: string,
  to: string,
  expected?: { readonly bytes: number; readonly sha256: string },
): Promise<ReportFile> {
  const data = await readReport(from);
  if (typeof data === 'string') return not(data);
  const sha256 = sha256Hex(data);
  if (expected && (expected.sha256 !== sha256 || expected.bytes !== data.length))
    return not('The report does not hold what the result says of it: it was changed, or cut while it was copied.');
  try {
    await writeFileAtomic(to, data);
  } catch (fault) {
    // Without the path: a result travels, and paths of the machine that made it mean nothing elsewhere.
    const full = toAppError(fault).code === 'env.disk-full';
    return not(`The report could not be kept: ${full ? 'the disk is full' : 'its folder cannot be written'}.`);
  }
  return { kept: true, file: basename(to), bytes: data.length, sha256 };
}

/**
 * The result of a bundle with its report taken from the bundle's folder to `to`. What comes back says what this machine has: a report
 * that is missing, hostile or damaged is told as not kept, and everything else of the result stays. `to` undefined: nothing is taken.
 */
export async function importReport(result: JobResult, folder: string, to: string | undefined): Promise<JobResult> {
  if (to === undefined) return result;
  const steps: StepResult[] = [];
  for (const step of result.steps) {
    const { session } = step;
    if (session?.mode !== 'profile' || session.report?.kept !== true) {
      steps.push(step);
      continue;
    }
    const taken = await keepReport(join(folder, bundleReport), to, session.report);
    const report = taken.kept ? taken : not(`${taken.reason} (${bundleReport} in the bundle's folder.)`);
    steps.push({ ...step, session: { ...session, report } });
  }
  return { ...result, steps };
}
