import type { Profile, ProfileResult, Thresholds, TimeResult } from '../contract/index.ts';
import { kernelBaseName } from './kernel-name.ts';
import { parseRaw } from './parse-raw.ts';
import { evidenceView, filteredView, PAPER_THRESHOLDS, verdict } from './table2.ts';

type Activity = TimeResult['activities'][number];

export interface ProfileContext {
  /** Id of the problem profiled ("large/0"). */
  readonly problem: string;
  /** CUPTI's activities of the profiled arm and problem, from the time session; null = not timed, nothing to compare with. */
  readonly activities: readonly Activity[] | null;
  /** Why ncu could not profile, as the profile step told it (main/jobs/session/classify-ncu.ts); absent: it told nothing. */
  readonly fault?: { readonly message: string; readonly remedy?: string };
  readonly thresholds?: Thresholds;
}

/** A profile that does not exist, with why and what can be done. */
export function noProfile(
  reason: string,
  remedy?: string,
  context?: { problem?: string; ncuVersion?: string | null },
): Profile {
  return {
    status: 'unavailable',
    reason,
    ...(remedy === undefined ? {} : { remedy }),
    ncuVersion: context?.ncuVersion ?? null,
    problem: context?.problem ?? null,
    launches: [],
    verdict: null,
    filtered: [],
  };
}

/**
 * ncu's text → Profile. The state comes from the rows, not from the exit code: rows that match CUPTI's launches in names and
 * counts are `complete`; others `incomplete` (shown, but without a verdict); no rows `unavailable`, with cause and remedy.
 */
export function interpretProfile(result: ProfileResult, context: ProfileContext): Profile {
  const parsed = parseRaw(result.rawCsv);
  const at = { problem: context.problem, ncuVersion: result.ncuVersion };
  if (parsed.launches.length === 0) {
    if (context.fault) return noProfile(context.fault.message, context.fault.remedy, at);
    const exit = result.exitCode === null ? 'did not end by itself' : `ended with code ${result.exitCode}`;
    const incident = result.incidents[0]?.message;
    return noProfile(
      `ncu ${exit} and printed no launch${incident ? `: ${incident}` : ''}`,
      'See the log of the profile step.',
      at,
    );
  }
  const mismatch = context.activities === null ? null : launchMismatch(parsed.launches, context.activities);
  const seen = verdict(parsed.launches, context.thresholds ?? PAPER_THRESHOLDS);
  const found =
    mismatch === null ? seen : { ...seen, bottleneck: null, why: `no verdict: ${mismatch}; seen: ${seen.why}` };
  return {
    status: mismatch === null ? 'complete' : 'incomplete',
    ...(mismatch === null
      ? {}
      : { reason: mismatch, remedy: 'Run the evaluation again; launches must be the same in every call.' }),
    ...at,
    launches: parsed.launches,
    verdict: found,
    filtered: filteredView(parsed.launches, found),
    evidence: evidenceView(parsed.launches, found),
  };
}

/** Kernels by bare name with their counts, profiled against CUPTI's per call; null when they agree. */
function launchMismatch(launches: Profile['launches'], activities: readonly Activity[]): string | null {
  const profiled = new Map<string, number>();
  for (const launch of launches) add(profiled, kernelBaseName(launch.kernel), 1);
  const timed = new Map<string, number>();
  for (const activity of activities)
    if (activity.kind === 'kernel') add(timed, kernelBaseName(activity.name), activity.perCall);
  for (const name of new Set([...profiled.keys(), ...timed.keys()])) {
    const want = timed.get(name) ?? 0;
    const got = profiled.get(name) ?? 0;
    if (!(Math.abs(want - got) < 1e-6))
      return `ncu profiled ${got} launches of ${name}, CUPTI saw ${round(want)} per timed call`;
  }
  return null;
}

const add = (map: Map<string, number>, key: string, by: number): void => void map.set(key, (map.get(key) ?? 0) + by);
const round = (value: number): number => Math.round(value * 1000) / 1000;
