import type { Evaluation, Launch, MetricValue, Profile, RunState } from '../../../main/contract/index.ts';

/** A version of a run with what was measured of it. */
export interface RunVersion {
  /** "RUN:origin", "RUN:r1.a0". */
  readonly id: string;
  /** "origin", "r1.a0". */
  readonly label: string;
  /** Outcome, 'bad-reply', or null while under way. */
  readonly outcome: string | null;
  readonly evaluation: Evaluation | null;
  readonly source: string | null;
  readonly isBest: boolean;
}

/** The versions of a run in the order they were made, the origin first. */
export function versionsOf(run: string, state: RunState): readonly RunVersion[] {
  const { best } = state;
  const origin: RunVersion = {
    id: `${run}:origin`,
    label: 'origin',
    outcome: state.baseline?.outcome ?? null,
    evaluation: state.baseline,
    source: state.originSource,
    isBest: best?.round === 0,
  };
  const attempts = state.rounds.flatMap(({ round, attempts }) =>
    attempts.map(
      ({ attempt, outcome, evaluation, source }): RunVersion => ({
        id: `${run}:r${round}.a${attempt}`,
        label: `r${round}.a${attempt}`,
        outcome,
        evaluation,
        source,
        isBest: best?.round === round && best.attempt === attempt,
      }),
    ),
  );
  return [origin, ...attempts];
}

/** "RUN:r1.a0" → run and label; null: no version id. */
export function splitVersion(id: string): { readonly run: string; readonly label: string } | null {
  const match = /^([^:]+):(origin|r\d+\.a\d+)$/.exec(id);
  return match === null ? null : { run: match[1] as string, label: match[2] as string };
}

/** The launch that the verdict is about, or the only one; null: none can be named. */
export function mainLaunch(profile: Profile | null | undefined): Launch | null {
  if (!profile) return null;
  const named = profile.launches.find(({ index }) => index === profile.verdict?.launch);
  return named ?? (profile.launches.length === 1 ? (profile.launches[0] ?? null) : null);
}

/** Value of the first of `ids` that the launch has; the reason of the first otherwise. */
export function metricOf(launch: Launch | null, ids: readonly string[]): MetricValue {
  let missing: MetricValue | null = null;
  for (const id of ids) {
    const value = launch?.metrics[id];
    if (value?.available) return value;
    missing ??= value ?? null;
  }
  const reason = launch === null ? 'no launch was profiled' : `${ids[0]} was not collected`;
  return missing ?? { available: false, reason };
}

/** Why there is no profile to look at, with what can be done; null: there is one. */
export function whyNoProfile(
  evaluation: Evaluation | null,
): { readonly reason: string; readonly remedy: string } | null {
  if (evaluation === null)
    return { reason: 'This version was not evaluated.', remedy: 'Evaluate it on the Kernel screen.' };
  const { profile } = evaluation;
  if (profile === null)
    return { reason: notProfiled(evaluation), remedy: 'Evaluate it again with the profile mode “filtered” or “full”.' };
  if (profile.launches.length > 0) return null;
  return {
    reason: profile.reason ?? profile.problem ?? 'ncu gave no launch and no reason.',
    remedy: profile.remedy ?? 'See “Nsight Compute” on the Set-up screen.',
  };
}

const notProfiled = ({ outcome }: Evaluation): string =>
  ['accepted', 'trade-off', 'not-faster', 'valid'].includes(outcome)
    ? 'This version was evaluated without a profile.'
    : `This version did not get as far as the profile: ${outcome}.`;
