/**
 * The timeline of a run: its rounds and attempts with the steps inside them, from durable state, the list of steps and what is going
 * on now. Pure.
 */
import type { StepLine } from '../../../main/contract/api.ts';
import { resultFigures } from '../../../main/contract/confirmed.ts';
import type { Estimate, Evaluation } from '../../../main/contract/evaluation.ts';
import type { RoundState } from '../../../main/contract/run-state.ts';
import type { RunView } from '../../state/run-view.ts';
import { jobStepName, placeOf, stepName } from './positions.ts';

export interface TimelineStep {
  readonly position: string;
  readonly name: string;
  readonly kind: StepLine['kind'];
  readonly state: 'open' | 'parked' | 'done';
  readonly openedAt: string;
  readonly doneAt: string | null;
  /** Begun more than once: after a crash. */
  readonly repeated: boolean;
  /** What is going on in it now; null: nothing known. */
  readonly now: string | null;
}

export interface TimelineNode {
  /** "r0", "r1", "r1.a0": the selection's text. */
  readonly id: string;
  readonly level: 0 | 1;
  readonly title: string;
  /** First line of the scheme, or the reason of an outcome. */
  readonly text: string;
  /** null: not judged (under way), undefined: a round, which has no outcome of its own. */
  readonly outcome: string | null | undefined;
  readonly score: Estimate | null;
  readonly best: boolean;
  readonly steps: readonly TimelineStep[];
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

function nowOf(view: RunView, step: StepLine): string | null {
  if (step.state === 'parked') return 'waits for you';
  if (step.state !== 'open') return null;
  if (step.kind === 'job') {
    const p = view.progress;
    if (p === null) return null;
    return `${jobStepName(p.step)} (${p.index + 1} of ${p.count})${p.note ? `: ${p.note}` : ''}`;
  }
  const text = step.agent === null ? undefined : view.streaming[step.agent];
  return text === undefined ? 'asked' : `${text.length.toLocaleString('en')} characters so far`;
}

function stepsAt(view: RunView, steps: readonly StepLine[], round: number, attempt: number | null): TimelineStep[] {
  return steps.flatMap((s) => {
    const place = placeOf(s.position);
    if (place === null || place.round !== round || place.attempt !== attempt) return [];
    return [
      {
        position: s.position,
        name: stepName(place.step),
        kind: s.kind,
        state: s.state,
        openedAt: s.openedAt,
        doneAt: s.doneAt,
        repeated: s.opened > 1,
        now: nowOf(view, s),
      },
    ];
  });
}

export const confirmedScore = (e: Pick<Evaluation, 'figures' | 'outcome'> | null): Estimate | null =>
  resultFigures(e)?.score ?? null;

export function timelineOf(view: RunView, steps: readonly StepLine[]): TimelineNode[] {
  const { state } = view;
  const { baseline, best } = state;
  const nodes: TimelineNode[] = [
    {
      id: 'r0',
      level: 0,
      title: 'Original',
      text: baseline?.reason ?? '',
      outcome: baseline?.outcome ?? null,
      score: null,
      best: best !== null && best.round === 0,
      steps: stepsAt(view, steps, 0, null),
    },
  ];
  for (const round of state.rounds) {
    nodes.push({
      id: `r${round.round}`,
      level: 0,
      title: `Round ${round.round}`,
      text: firstLine(round.scheme) || (round.ended ? '' : 'scheme under way'),
      outcome: undefined,
      score: null,
      best: false,
      steps: stepsAt(view, steps, round.round, null),
    });
    for (const a of round.attempts)
      nodes.push({
        id: `r${round.round}.a${a.attempt}`,
        level: 1,
        title: a.attempt === 0 ? 'Attempt 1' : `Attempt ${a.attempt + 1}, after Debug`,
        text: a.outcome === null ? '' : a.reason,
        outcome: a.outcome,
        score: confirmedScore(a.evaluation),
        best: best !== null && best.round === round.round && best.attempt === a.attempt,
        steps: stepsAt(view, steps, round.round, a.attempt),
      });
  }
  return nodes;
}

/** The node in which something happens now, else the newest: what "follow" shows. */
export function newestNode(nodes: readonly TimelineNode[]): string {
  const open = nodes.findLast((n) => n.steps.some((s) => s.state !== 'done'));
  return (open ?? nodes.at(-1))?.id ?? 'run';
}

/** From the first step's beginning to the last one's end, or to `now` while one is open. ms; null without steps. */
export function elapsedMs(steps: readonly StepLine[], running: boolean, now: number): number | null {
  const begins = steps.map((s) => Date.parse(s.openedAt)).filter((t) => !Number.isNaN(t));
  if (begins.length === 0) return null;
  const ends = steps.flatMap((s) => (s.doneAt === null ? [] : [Date.parse(s.doneAt)]));
  if (!running && ends.length === 0) return null;
  const end = running ? now : Math.max(...ends);
  return Math.max(0, end - Math.min(...begins));
}

export interface MoneyLeft {
  readonly usd: number | null;
  /** Replies of unknown cost: what is left is at most this. */
  readonly atMost: boolean;
}

/** null limit: no limit was set. */
export const moneyLeft = (maxUsd: number | null, spent: number, unknown: number): MoneyLeft | null =>
  maxUsd === null ? null : { usd: Math.max(0, maxUsd - spent), atMost: unknown > 0 };

/** What a round that ended came to: a best, one that did not hold on the machine where it was measured again, or none. */
export type RoundEnd = 'best' | 'withdrawn' | 'none';

export function roundEnd({ accepted, attempts }: Pick<RoundState, 'accepted' | 'attempts'>): RoundEnd {
  if (!accepted) return 'none';
  return attempts.some((a) => a.outcome === 'accepted') ? 'best' : 'withdrawn';
}
