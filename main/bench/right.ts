import type { Estimate, Outcome } from '../contract/index.ts';
import type { Entry, ProfileEntry, SizeRow } from './report.ts';

/** Whether a candidate's figures count: it was right in verified and in timed calls, and its times are possible. */
export const isRight = ({ outcome }: { readonly outcome: Outcome }): boolean =>
  outcome === 'accepted' || outcome === 'trade-off' || outcome === 'not-faster';

const candidateFigures = ['candidateSpanNs', 'candidateWrapperNs', 'speedup', 'libraryVersusCandidate'] as const;

/** What was measured of a candidate that is not right: evidence of what it did, no result. Nothing reads it but people. */
export interface RawFigures {
  readonly outcome: Outcome;
  readonly score: Estimate | null;
  readonly pMin: number | null;
  readonly geomean: number | null;
  readonly sizes: readonly Pick<SizeRow, 'problem' | (typeof candidateFigures)[number]>[];
}

/**
 * The entry as it may be shown, pictured, compared, counted: a wrong result, a race or an impossible time is no speed-up, however large.
 * Figures of such a candidate stand in `raw` alone; origin's and library's stay. Entries without any come back as they are.
 */
export function rightOnly(entry: Entry): Entry {
  if (entry.candidate === null || isRight(entry)) return entry;
  const { score, pMin, geomean, rows, outcome } = entry;
  const none = score === null && pMin === null && geomean === null;
  if (none && rows.every((row) => candidateFigures.every((name) => row[name] === null))) return entry;
  const bare = { candidateSpanNs: null, candidateWrapperNs: null, speedup: null, libraryVersusCandidate: null };
  return {
    ...entry,
    score: null,
    pMin: null,
    geomean: null,
    rows: rows.map((row) => ({ ...row, ...bare })),
    raw: {
      outcome,
      score,
      pMin,
      geomean,
      sizes: rows.map(({ problem, candidateSpanNs, candidateWrapperNs, speedup, libraryVersusCandidate }) => ({
        problem,
        candidateSpanNs,
        candidateWrapperNs,
        speedup,
        libraryVersusCandidate,
      })),
    },
  };
}

/**
 * The profile as it may be shown and counted: what bounds a kernel that does the wrong thing says nothing of one that does the right one.
 * `entries`: what the bench has timed of the same candidates; of one that it has not timed nothing is known, and its profile stays.
 */
export function rightProfile(profile: ProfileEntry, entries: readonly Entry[]): ProfileEntry {
  if (profile.version === 'origin' || profile.status === 'unavailable') return profile;
  const wrong = entries.find(
    (e) =>
      e.task === profile.task &&
      e.dtype === profile.dtype &&
      e.candidate !== null &&
      !isRight(e) &&
      e.outcome !== 'environment',
  );
  if (wrong === undefined) return profile;
  const { cell, task, dtype, version, sizes, launches, kernel, machine } = profile;
  const reason = `not shown: the candidate is not right (${wrong.outcome} at the ${wrong.sizes} sizes)`;
  const none = { bottleneck: null, launchBound: false, throughputs: null, roofline: null };
  return {
    cell,
    task,
    dtype,
    version,
    sizes,
    launches,
    kernel,
    machine,
    status: 'unavailable',
    reason,
    why: reason,
    ...none,
  };
}
