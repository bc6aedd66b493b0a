import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JobResult, ReportFile } from '../contract/index.ts';
import { stepIds } from '../evaluate/plan.ts';
import type { RunRecord, Store } from '../store/index.ts';
import { reportFolder } from './context.ts';

/** Where a version's report of Nsight Compute lies on this machine; null: why there is none. */
export type ReportPlace =
  | { readonly report: string; readonly reportReason: null }
  | { readonly report: null; readonly reportReason: string };

const none = (reportReason: string): ReportPlace => ({ report: null, reportReason });

/** The report that the job of a version left. `job` null: it was not run. */
export async function reportPlace(store: Store, run: RunRecord, job: JobResult | null): Promise<ReportPlace> {
  if (run.kind === 'replay' || run.kind === 'demo')
    return none(
      'This run is answered from a recording, and recordings hold no reports: they are with the run that was recorded.',
    );
  if (job === null) return none('This version has not been profiled: its job was not run to its end.');
  const sessions = job.steps.flatMap(({ session, reason }) =>
    session?.mode === 'profile' ? [{ session, reason }] : [],
  );
  if (sessions.length === 0) {
    const why = job.steps.find((step) => step.id === stepIds.profile)?.reason?.message;
    return none(`This version was not profiled.${why ? ` ${why}` : ''}`);
  }
  const reports = sessions.flatMap(({ session }) => (session.report ? [session.report] : []));
  const kept = reports.find((report) => report.kept);
  if (kept) return placeOf(store, run, kept);
  const refused = reports.find((report) => !report.kept);
  if (refused && !refused.kept) return none(refused.reason);
  const why = sessions.flatMap(({ session, reason }) => [reason?.message, session.stages?.at(-1)?.note]).find(Boolean);
  return none(`Profiling left no report. ${why ?? 'Older versions of this program kept none.'}`);
}

async function placeOf(store: Store, run: RunRecord, kept: ReportFile & { readonly kept: true }): Promise<ReportPlace> {
  const path = join(reportFolder(store, run.id), kept.file);
  const found = await lstat(path).catch(() => null);
  if (found === null) return none('The report was kept, but it is no longer in the folder of its run.');
  // Nobody is sent to Nsight Compute with something else than what was measured.
  if (!found.isFile() || found.size !== kept.bytes)
    return none('The report in the folder of the run is not the one that was kept: it was replaced or cut.');
  return { report: path, reportReason: null };
}
