import {
  type Budget,
  defaultArguments,
  defaultBudget,
  plannerRequest,
  readScheme,
  sharedParts,
} from '../agents/index.ts';
import { type AppError, confirmedFigures, type Evaluation, resultFigures } from '../contract/index.ts';
import { type AgentContext, askWhole, badReply, built } from './attempt.ts';
import { pastScheme, rejectedScheme } from './history.ts';
import { measureBaseline, remeasure, type State } from './measure.ts';
import type { Best, LoopConfig, LoopDeps, LoopOutcome, Version } from './ports.ts';
import { attempts } from './round.ts';
import { Steps } from './steps.ts';
import { type Stop, toStop } from './stop.ts';

/**
 * Algorithm 1 of the paper on a history that can be driven any number of times: every external action is a step with a fixed
 * position, so a drive over a finished history calls nobody and ends the same; after a crash at most the open step is repeated.
 * Never rejects for expected faults: they are the outcome's `error`.
 */
export async function optimize(config: LoopConfig, deps: LoopDeps): Promise<LoopOutcome> {
  const steps = new Steps(config, deps);
  const state: State = { best: null, origin: null, tried: 0, withdrawn: false, history: [], remarks: [] };
  const outcome = (status: LoopOutcome['status'], error: AppError | null, stop?: Stop): LoopOutcome => ({
    status,
    best: state.best,
    error,
    waiting: stop?.waiting ?? null,
    peaks: steps.peaks,
  });
  try {
    await steps.event('run-started', {
      type: 'run-started',
      rootSeed: config.rootSeed,
      config: config.run,
      originSource: config.origin.source,
      programVersion: config.programVersion,
    });
    // Line 1: the original is the first best version, with P = 1.
    const evaluation = await measureBaseline(config, steps);
    state.origin = evaluation;
    state.best = { ...config.origin, round: 0, attempt: 0, evaluation, score: 1 };
    for (let round = 1; round <= config.run.rounds; round++) await oneRound(config, deps, steps, state, round);
    await steps.event('run-ended.done', { type: 'run-ended', status: 'done', error: null });
    return outcome('done', null);
  } catch (fault) {
    const stop = toStop(fault);
    try {
      await steps.stopped(stop);
    } catch (second) {
      // The history cannot be written: the first cause matters more, if there was one.
      if (stop.error === null) return outcome('failed', toStop(second).error);
    }
    return outcome(stop.status, stop.error, stop);
  }
}

/** What the prompts say of the machine: of the one on which the best was measured last. */
function machineParts(config: LoopConfig, deps: LoopDeps, steps: Steps, best: Best) {
  const { gpu, machine } = best.evaluation;
  const arch =
    config.run.arch !== 'native' ? config.run.arch : gpu === null ? 'the GPU present' : `sm_${gpu.cc.replace('.', '')}`;
  const shared = built(sharedParts(deps.prompts, config.brief, gpu, steps.peaks, arch, config.run.notes));
  return { shared, arch, toolkit: machine?.toolkit ?? null };
}

function contextOf(config: LoopConfig, deps: LoopDeps, steps: Steps, state: State): AgentContext {
  const budget: Budget =
    deps.budget ??
    (config.run.contextTokens === undefined ? defaultBudget : { contextTokens: config.run.contextTokens });
  const parts = () => machineParts(config, deps, steps, state.best as Best);
  let now = parts();
  return {
    steps,
    prompts: deps.prompts,
    budget,
    brief: config.brief,
    get shared() {
      return now.shared;
    },
    get arch() {
      return now.arch;
    },
    get toolkit() {
      return now.toolkit;
    },
    linked: (source) => deps.evaluator.linked(source),
    checkMachine: async (position) => {
      const changed = (await deps.remeasureBefore?.(position)) ?? null;
      if (changed === null) return false;
      await remeasure(config, steps, state, position, changed);
      now = parts();
      return true;
    },
  };
}

/** Lines 3 to 25: scheme, candidate, debugging while invalid, acceptance. */
async function oneRound(config: LoopConfig, deps: LoopDeps, steps: Steps, state: State, round: number): Promise<void> {
  const ctx = contextOf(config, deps, steps, state);
  await steps.event(`r${round}.started`, { type: 'round-started', round });
  const given = round === 1 ? config.run.startFromWrong : undefined;
  const planned: Planned | null =
    given === undefined
      ? await approvedPlan(config, ctx, state, round)
      : { scheme: suppliedScheme(given.label), by: 'user', key: `r${round}.scheme` };
  if (planned === null)
    return endRound(steps, state, round, '(no scheme)', 'planner', null, [], 'The Planner gave no usable scheme.');
  const { scheme, by } = planned;
  await steps.event(planned.key, { type: 'scheme', round, scheme, by });
  const supplied: Version | null =
    given === undefined
      ? null
      : { source: given.source, compileArgs: given.compileArgs.length > 0 ? given.compileArgs : defaultArguments };
  const result = await attempts(config, ctx, state, round, scheme, supplied);
  const { evaluation } = result;
  if (evaluation?.outcome === 'accepted' && result.version !== null) {
    state.withdrawn = false;
    state.best = {
      ...result.version,
      round,
      attempt: result.attempt,
      evaluation,
      score: confirmedFigures(evaluation)?.score?.value ?? null,
    };
  }
  await endRound(steps, state, round, scheme, by, evaluation, result.outcomes, result.reason);
}

const suppliedScheme = (label: string): string =>
  `Supplied by the user, not by the Planner: ${label}. Keep the idea of the given source and make it correct.`;

async function endRound(
  steps: Steps,
  state: State,
  round: number,
  scheme: string,
  by: 'planner' | 'user',
  last: Evaluation | null,
  outcomes: readonly string[],
  reason: string,
): Promise<void> {
  const past = pastScheme(round, scheme, by, last, outcomes, reason);
  state.history.push(past);
  await steps.event(`r${round}.ended`, {
    type: 'round-ended',
    round,
    accepted: last?.outcome === 'accepted',
    outcome: last?.outcome ?? null,
    score: resultFigures(last)?.score?.value ?? null,
  });
}

interface Planned {
  readonly scheme: string;
  readonly by: 'planner' | 'user';
  /** Key of the event that tells it. */
  readonly key: string;
}

/**
 * A scheme that may be worked on. With `approve` it waits for the user first, who may change it, or have the Planner asked again: that
 * is another paid reply, and the rejected scheme is told to every later Planner.
 */
async function approvedPlan(
  config: LoopConfig,
  ctx: AgentContext,
  state: State,
  round: number,
): Promise<Planned | null> {
  for (let ask = 1; ; ask++) {
    // The first keeps the name it has in runs without approval.
    const nth = ask === 1 ? '' : `.${ask}`;
    const scheme = await plan(config, ctx, state, round, `r${round}.planner${nth}`);
    const key = `r${round}.scheme${nth}`;
    if (scheme === null) return null;
    if (config.run.approve !== true) return { scheme, by: 'planner', key };
    await ctx.steps.event(key, { type: 'scheme', round, scheme, by: 'planner' });
    const said = await ctx.steps.approve(`r${round}.approval${nth}`, round, scheme);
    const edited = said.scheme?.trim() ?? '';
    if (said.verdict === 'approve')
      return edited === '' || edited === scheme.trim()
        ? { scheme, by: 'planner', key }
        : { scheme: edited, by: 'user', key: `${key}.edited` };
    await ctx.steps.notice(`r${round}.approval${nth}`, 0, 'You rejected this scheme; the Planner is asked again.');
    state.history.push(rejectedScheme(round, scheme));
  }
}

/** Line 4. null: the reply was unusable. */
async function plan(
  config: LoopConfig,
  ctx: AgentContext,
  state: State,
  round: number,
  position: string,
): Promise<string | null> {
  await ctx.checkMachine(position);
  const best = state.best as Best;
  const { request, dropped, profileCut } = built(
    plannerRequest(
      ctx.prompts,
      {
        shared: ctx.shared,
        bestSource: best.source,
        bestEvaluation: best.evaluation,
        bestIsOrigin: best.round === 0,
        profileMode: config.run.profile,
        history: state.history,
      },
      ctx.budget,
    ),
  );
  if (dropped > 0)
    await ctx.steps.notice(
      position,
      100,
      `The oldest ${dropped} rounds were left out of the Planner's prompt for length.`,
    );
  if (profileCut > 0)
    await ctx.steps.notice(
      position,
      101,
      `The last ${profileCut} lines of the profile were left out of the Planner's prompt for length.`,
    );
  const reply = await askWhole(ctx, position, request, readScheme);
  if (reply.kind === 'text') return reply.text;
  // Prose that is cut twice is still a plan; only code must be whole.
  if (reply.kind === 'truncated') return reply.answer;
  await badReply(ctx, { round, attempt: 0, position }, 'planner', reply.reason);
  return null;
}
