import type { ChatRequest, Evaluation, Outcome, ProfileMode, Result } from '../contract/index.ts';
import { isValidOutcome, ok } from '../contract/index.ts';
import { type Budget, estimateTokens, fitHistory } from './budget.ts';
import { buildText, figuresText, profileText } from './describe.ts';
import type { Shared } from './knowledge.ts';
import type { PromptSet } from './prompts.ts';
import { buildRequest, promptRoom } from './request.ts';
import { fenced } from './template.ts';
import { readText, type TextReply } from './text-reply.ts';

/** An earlier scheme and what became of it. */
export interface PastScheme {
  readonly round: number;
  readonly scheme: string;
  readonly by: 'planner' | 'user';
  /** null: no candidate came to an evaluation. */
  readonly outcome: Outcome | null;
  readonly reason: string;
  /** Weighted speed-up over the original, and over the best of that time; null = not measured. */
  readonly score: number | null;
  readonly ratio: number | null;
  /** Per size: dimensions and speed-up over the best of that time. */
  readonly sizes: readonly { readonly dims: string; readonly versusBest: number | null }[];
  /** false: the sizes are of a first sample that was not confirmed. */
  readonly confirmed: boolean;
  /** Outcomes of all attempts of the round, in order. */
  readonly attempts: readonly string[];
  readonly bottleneck: string | null;
}

export interface PlannerInput {
  readonly shared: Shared;
  readonly bestSource: string;
  readonly bestEvaluation: Evaluation;
  /** Whether the best version is still the original. */
  readonly bestIsOrigin: boolean;
  readonly profileMode: ProfileMode;
  readonly history: readonly PastScheme[];
}

const verdictOf = (past: PastScheme): string => {
  if (past.outcome === null) return 'no candidate';
  if (past.outcome === 'accepted') return 'GOOD, became the best version';
  if (isValidOutcome(past.outcome)) return `correct but not better (${past.outcome})`;
  return `INVALID (${past.outcome})`;
};

function pastText(past: PastScheme): string {
  const lines = [`## Round ${past.round}: ${verdictOf(past)}`, '', past.reason];
  if (past.score !== null) lines.push(`Weighted speed-up over the original ${past.score.toFixed(3)}x.`);
  if (past.ratio !== null) lines.push(`Against the best version of that time ${past.ratio.toFixed(3)}x.`);
  const sizes = past.sizes.filter((s) => s.versusBest !== null);
  if (sizes.length > 0)
    lines.push(
      `By size${past.confirmed ? '' : ' (first sample, not confirmed)'}: ${sizes.map((s) => `${s.dims}: ${s.versusBest?.toFixed(3)}x`).join('; ')}.`,
    );
  if (past.attempts.length > 1) lines.push(`Attempts: ${past.attempts.join(', then ')}.`);
  if (past.bottleneck !== null) lines.push(`Its profile: ${past.bottleneck} bound.`);
  const source = past.by === 'user' ? 'Scheme (a source given by the user)' : 'Scheme';
  return [...lines, '', `${source}:`, past.scheme].join('\n');
}

function historyText(kept: readonly PastScheme[], dropped: number): string {
  const lead =
    dropped > 0 ? [`(The oldest ${dropped} of ${dropped + kept.length} rounds are left out for length.)`] : [];
  if (kept.length === 0) return lead[0] ?? 'This is the first round.';
  return [...lead, ...kept.map(pastText)].join('\n\n');
}

/** The first lines of a profile that fit into `tokens`; the rest is counted in the text. A whole profile comes back as it is. */
export function cutProfile(text: string, tokens: number): { readonly text: string; readonly cut: number } {
  if (estimateTokens(text) <= tokens) return { text, cut: 0 };
  const lines = text.split('\n');
  const said = (cut: number) => `(The last ${cut} lines of the profile are left out for length.)`;
  let kept = 0;
  for (let used = estimateTokens(said(lines.length)); kept < lines.length; kept++) {
    used += estimateTokens(`${lines[kept]}\n`);
    if (used > tokens) break;
  }
  const cut = lines.length - kept;
  return { text: [...lines.slice(0, kept), said(cut)].join('\n'), cut };
}

/** What a Planner's prompt had to leave out. */
export interface PlannerRequest {
  readonly request: ChatRequest;
  /** How many of the oldest rounds. */
  readonly dropped: number;
  /** How many of the last lines of the profile. */
  readonly profileCut: number;
}

/**
 * The Planner's request. Where the context is short, the profile may take half of the prompt at most (`full` ones are long), then the
 * oldest rounds go, then more of the profile.
 */
export function plannerRequest(prompts: PromptSet, input: PlannerInput, budget: Budget): Result<PlannerRequest> {
  const figures = figuresText(input.bestEvaluation, input.bestIsOrigin ? 'origin' : 'candidate');
  const fixed = {
    ...input.shared,
    figures: [figures, buildText(input.bestEvaluation)].filter((t) => t !== '').join('\n\n'),
    code: fenced('cuda', input.bestSource),
  };
  const room = promptRoom('planner', budget);
  const whole = profileText(input.bestEvaluation.profile, input.profileMode);
  const within = (profile: { text: string; cut: number }): Result<PlannerRequest> => {
    const fitted = fitHistory(input.history, room, (kept, dropped) => {
      const values = { ...fixed, profile: profile.text, history: historyText(kept, dropped) };
      return buildRequest('planner', prompts.agents.planner, values, budget);
    });
    if (!fitted.ok) return fitted;
    return ok({ request: fitted.value.value.request, dropped: fitted.value.dropped, profileCut: profile.cut });
  };
  const half = within(cutProfile(whole, Math.floor(room / 2)));
  if (half.ok || half.error.code !== 'provider.context-length') return half;
  const values = { ...fixed, profile: '', history: historyText([], input.history.length) };
  const bare = buildRequest('planner', prompts.agents.planner, values, budget);
  if (!bare.ok) return bare;
  const left = room - estimateTokens(bare.value.text);
  return left <= 0 ? half : within(cutProfile(whole, left));
}

export const readScheme = (text: string, finish: 'stop' | 'length' | 'other'): TextReply => readText(text, finish);
