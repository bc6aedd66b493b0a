import { confirmedFigures, resultFigures } from './confirmed.ts';
import { type Evaluation, isValidOutcome } from './evaluation.ts';
import type { Waiting } from './job.ts';
import type { AppError } from './result.ts';
import type { RunConfig, RunEvent, RunStatus, RunSummary } from './run.ts';
import { sanitizedOf } from './sanitized.ts';

export interface AttemptState {
  readonly attempt: number;
  /** null: under way. 'bad-reply' or an Outcome. */
  readonly outcome: string | null;
  readonly reason: string;
  readonly source: string | null;
  readonly compileArgs: readonly string[];
  readonly fix: string | null;
  /** The newest: of the machine on which the version was measured last. */
  readonly evaluation: Evaluation | null;
  /** The step that measured it; absent: the attempt's own. */
  readonly measuredBy?: string;
}

export interface RoundState {
  readonly round: number;
  readonly scheme: string;
  readonly by: 'planner' | 'user';
  readonly attempts: readonly AttemptState[];
  readonly ended: boolean;
  readonly accepted: boolean;
  readonly score: number | null;
}

/** Sums of what is known, and how many items are unknown. */
export interface UsageState {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costUsd: number;
  readonly replies: number;
  readonly unknownTokens: number;
  readonly unknownCost: number;
}

/** A run as its durable events tell it; the same on screen, on the command line and in tests. */
export interface RunState {
  readonly config: RunConfig | null;
  readonly originSource: string | null;
  readonly status: RunStatus;
  readonly error: AppError | null;
  readonly waiting: Waiting | null;
  /** The origin as measured last. */
  readonly baseline: Evaluation | null;
  /** The step that measured it; absent: r0.baseline. */
  readonly baselineBy?: string;
  readonly best: {
    readonly round: number;
    readonly attempt: number;
    readonly source: string | null;
    readonly compileArgs: readonly string[];
    readonly evaluation: Evaluation;
  } | null;
  readonly rounds: readonly RoundState[];
  readonly usage: UsageState;
  readonly notices: readonly { readonly position: string; readonly message: string }[];
  readonly changes: readonly { readonly position: string; readonly what: string }[];
}

export const emptyRunState: RunState = {
  config: null,
  originSource: null,
  status: 'running',
  error: null,
  waiting: null,
  baseline: null,
  best: null,
  rounds: [],
  usage: { promptTokens: 0, completionTokens: 0, costUsd: 0, replies: 0, unknownTokens: 0, unknownCost: 0 },
  notices: [],
  changes: [],
};

const freshRound = (round: number): RoundState => ({
  round,
  scheme: '',
  by: 'planner',
  attempts: [],
  ended: false,
  accepted: false,
  score: null,
});

const freshAttempt = (attempt: number): AttemptState => ({
  attempt,
  outcome: null,
  reason: '',
  source: null,
  compileArgs: [],
  fix: null,
  evaluation: null,
});

function withRound(state: RunState, round: number, change: (r: RoundState) => RoundState): RunState {
  const known = state.rounds.some((r) => r.round === round);
  const rounds = known ? state.rounds : [...state.rounds, freshRound(round)];
  return { ...state, rounds: rounds.map((r) => (r.round === round ? change(r) : r)) };
}

function withAttempt(state: RunState, round: number, attempt: number, change: Partial<AttemptState>): RunState {
  return withRound(state, round, (r) => {
    const known = r.attempts.some((a) => a.attempt === attempt);
    const list = known ? r.attempts : [...r.attempts, freshAttempt(attempt)];
    return { ...r, attempts: list.map((a) => (a.attempt === attempt ? { ...a, ...change } : a)) };
  });
}

function withUsage(usage: UsageState, e: Extract<RunEvent, { type: 'usage' }>): UsageState {
  const unknownTokens = e.promptTokens === null || e.completionTokens === null;
  return {
    promptTokens: usage.promptTokens + (e.promptTokens ?? 0),
    completionTokens: usage.completionTokens + (e.completionTokens ?? 0),
    costUsd: usage.costUsd + (e.costUsd ?? 0),
    replies: usage.replies + 1,
    unknownTokens: usage.unknownTokens + (unknownTokens ? 1 : 0),
    unknownCost: usage.unknownCost + (e.costUsd === null ? 1 : 0),
  };
}

function endRound(state: RunState, e: Extract<RunEvent, { type: 'round-ended' }>): RunState {
  // Older programs kept the figure of races and of impossible times too.
  const score = e.outcome === null || isValidOutcome(e.outcome) ? e.score : null;
  const next = withRound(state, e.round, (r) => ({ ...r, ended: true, accepted: e.accepted, score }));
  if (!e.accepted) return next;
  const winner = next.rounds.find((r) => r.round === e.round)?.attempts.findLast((a) => a.outcome === 'accepted');
  if (winner === undefined || winner.evaluation === null) return next;
  const { attempt, source, compileArgs, evaluation } = winner;
  return { ...next, best: { round: e.round, attempt, source, compileArgs, evaluation } };
}

/**
 * Figures of the machine of now take the place of the former ones. An event that a later best has overtaken (an older program did not
 * write it, a resume made up for that) leaves that best alone.
 */
function remeasure(state: RunState, e: Extract<RunEvent, { type: 'remeasured' }>): RunState {
  const known = { ...state, baseline: e.origin, baselineBy: `${e.position}.remeasure.origin` };
  const origin = { round: 0, attempt: 0, source: state.originSource, compileArgs: [], evaluation: e.origin };
  if (e.best === null) return state.best === null || state.best.round === 0 ? { ...known, best: origin } : known;
  const { round, attempt, evaluation } = e.best;
  const held = e.bestRound === round;
  const measured = withAttempt(known, round, attempt, {
    evaluation,
    measuredBy: `${e.position}.remeasure.best`,
    // What made it the best stands, unless it was taken back here or found once more.
    ...(held && evaluation.outcome !== 'accepted' ? {} : { outcome: evaluation.outcome, reason: evaluation.reason }),
  });
  const score = resultFigures(evaluation)?.score?.value ?? null;
  const next = withRound(measured, round, (r) => ({ ...r, score }));
  if (state.best?.round !== round) return next;
  return { ...next, best: held ? { ...state.best, evaluation } : origin };
}

/** The step that measured a version of a run last; round 0 is the origin. */
export function stepOfVersion(state: RunState, round: number, attempt: number): string {
  if (round === 0) return state.baselineBy ?? 'r0.baseline';
  const found = state.rounds.find((r) => r.round === round)?.attempts.find((a) => a.attempt === attempt);
  return found?.measuredBy ?? `r${round}.a${attempt}.eval`;
}

/** Takes one durable event into the state. Pure. */
export function reduceRun(state: RunState, event: RunEvent): RunState {
  switch (event.type) {
    case 'run-started':
      return { ...state, config: event.config, originSource: event.originSource };
    case 'baseline': {
      const best = { round: 0, attempt: 0, source: state.originSource, compileArgs: [], evaluation: event.evaluation };
      return { ...state, baseline: event.evaluation, best };
    }
    case 'round-started':
      return withRound(state, event.round, (r) => r);
    case 'scheme':
      return withRound(state, event.round, (r) => ({ ...r, scheme: event.scheme, by: event.by ?? 'planner' }));
    case 'attempt-started':
      return withAttempt(state, event.round, event.attempt, {});
    case 'fix':
      return withAttempt(state, event.round, event.attempt, { fix: event.fix });
    case 'source':
      return withAttempt(state, event.round, event.attempt, { source: event.source, compileArgs: event.compileArgs });
    case 'evaluated': {
      const { outcome, reason } = event.evaluation;
      return withAttempt(state, event.round, event.attempt, { outcome, reason, evaluation: event.evaluation });
    }
    case 'bad-reply':
      // A Debug reply without words costs nothing: the attempt goes on with the evidence alone.
      if (event.agent === 'debug') return state;
      return withAttempt(state, event.round, event.attempt, {
        outcome: 'bad-reply',
        reason: `${event.agent}: ${event.reason}`,
      });
    case 'round-ended':
      return endRound(state, event);
    case 'usage':
      return { ...state, usage: withUsage(state.usage, event) };
    case 'parked': {
      const waiting: Waiting = { for: event.waitingFor, path: event.path, how: event.how };
      return { ...state, status: 'parked', waiting, error: null };
    }
    case 'resumed':
      return { ...state, status: 'running', waiting: null, error: null };
    case 'changed':
      return { ...state, changes: [...state.changes, { position: event.position, what: event.what }] };
    case 'remeasured':
      return remeasure(state, event);
    case 'notice':
      return { ...state, notices: [...state.notices, { position: event.position, message: event.message }] };
    case 'limit':
      return state;
    case 'run-ended':
      return { ...state, status: event.status, error: event.error, waiting: null };
  }
}

/** The state of a run from its durable events, in order. */
export const stateOf = (events: Iterable<RunEvent>): RunState => {
  let state = emptyRunState;
  for (const event of events) state = reduceRun(state, event);
  return state;
};

function summarizeBest(best: RunState['best']): RunSummary['best'] {
  if (best === null) return { verified: false, score: null, pMin: null, geomean: null, ci: null };
  const { numerics = null } = best.evaluation;
  const figures = confirmedFigures(best.evaluation);
  if (best.round === 0)
    return { verified: best.evaluation.verified, score: 1, pMin: 1, geomean: 1, ci: null, numerics };
  const score = figures?.score ?? null;
  const sanitized = sanitizedOf(best.evaluation);
  return {
    verified: best.evaluation.verified,
    score: score?.value ?? null,
    pMin: figures?.pMin ?? null,
    geomean: figures?.geomean ?? null,
    ci: score === null ? null : [score.lo, score.hi],
    numerics,
    ...(sanitized === null ? {} : { sanitized }),
  };
}

function summarizeRound(r: RoundState): RunSummary['rounds'][number] {
  const last = r.attempts.findLast((a) => a.evaluation !== null)?.evaluation ?? null;
  return {
    round: r.round,
    scheme: r.scheme,
    attempts: r.attempts.filter((a) => a.outcome !== null).map((a) => ({ outcome: a.outcome ?? '', reason: a.reason })),
    bottleneck: last?.profile?.verdict?.bottleneck ?? null,
    score: r.score,
    accepted: r.accepted,
  };
}

/**
 * The last `--json` line. Totals are null as soon as one part of them is unknown: a sum with a hole is no sum
 * (RunState.usage keeps what is known). Error: throws when the events lack `run-started`.
 */
export function summarize(run: string, events: Iterable<RunEvent>): RunSummary {
  const state = stateOf(events);
  if (state.config === null) throw new Error('summarize: no run-started among the events');
  const { usage } = state;
  const whole = (sum: number, unknown: number): number | null => (unknown > 0 ? null : sum);
  return {
    run,
    task: state.config.task,
    dtype: state.config.dtype,
    status: state.status,
    best: summarizeBest(state.best),
    rounds: state.rounds.map(summarizeRound),
    tokens: {
      prompt: whole(usage.promptTokens, usage.unknownTokens),
      completion: whole(usage.completionTokens, usage.unknownTokens),
    },
    costUsd: whole(usage.costUsd, usage.unknownCost),
    error: state.error,
    waiting: state.waiting,
  };
}
