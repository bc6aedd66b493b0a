/** Positions of steps ("r1.a0.eval") and what people call them. Pure. */

export interface Place {
  readonly round: number;
  /** null: the round itself, or the baseline. */
  readonly attempt: number | null;
  readonly step: string;
}

const pattern = /^r(\d+)(?:\.a(\d+))?\.(.+)$/;

/** null for a position of another shape (a newer engine). */
export function placeOf(position: string): Place | null {
  const m = pattern.exec(position);
  if (m === null) return null;
  return { round: Number(m[1]), attempt: m[2] === undefined ? null : Number(m[2]), step: m[3] ?? '' };
}

const names: Readonly<Record<string, string>> = {
  baseline: 'Measure the original',
  planner: 'Planner',
  coder: 'Coder',
  compiler: 'Compiler flags',
  debug: 'Debug',
  eval: 'Build, verify, time',
  approval: 'Your approval',
  remeasure: 'Measure again',
};

/** "planner.2" is the Planner, asked a second time. */
export function stepName(step: string): string {
  const again = /\.remeasure\.(origin|best)$/.exec(step)?.[1];
  if (again !== undefined) return `Measure the ${again === 'best' ? 'best' : 'original'} again, on another machine`;
  const m = /^([a-z]+)\.(\d+)$/.exec(step);
  if (m === null) return names[step] ?? step;
  return `${names[m[1] ?? ''] ?? m[1]}, asked again (${m[2]})`;
}

const jobSteps: Readonly<Record<string, string>> = {
  'idle-gpu': 'waiting for an idle GPU',
  'build-runner': 'building the runner',
  'build-judge': 'building the judge',
  'build-shim': 'building the shim',
  'build-origin': 'building the original',
  'build-best': 'building the best',
  'build-candidate': 'building the candidate',
  verify: 'verifying',
  'time-nominate': 'timing, first sample',
  'time-confirm': 'timing, confirming sample',
  profile: 'profiling with Nsight Compute',
  sanitize: 'sanitizers',
};

/** What a job does now, for people; unknown names stay as they are. */
export const jobStepName = (step: string): string => jobSteps[step] ?? step;

/** What is selected in a run: "run", "r0", "r2", "r2.a1". Anything else is the run itself. */
export interface Selection {
  readonly kind: 'run' | 'baseline' | 'round' | 'attempt';
  readonly round: number;
  readonly attempt: number;
}

export function selectionOf(at: string | undefined): Selection {
  const m = /^r(\d+)(?:\.a(\d+))?$/.exec(at ?? '');
  if (m === null) return { kind: 'run', round: 0, attempt: 0 };
  const round = Number(m[1]);
  if (m[2] !== undefined) return { kind: 'attempt', round, attempt: Number(m[2]) };
  return { kind: round === 0 ? 'baseline' : 'round', round, attempt: 0 };
}
