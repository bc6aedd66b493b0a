import { isDeepStrictEqual } from 'node:util';
import type { Peaks } from '../agents/index.ts';
import {
  AppFailure,
  type Approval,
  type Bill,
  type ChatReply,
  type ChatRequest,
  type Evaluation,
  type JobBundle,
  type JobResult,
  type RunEvent,
  type StepRequest,
  unknownBill,
} from '../contract/index.ts';
import {
  afterJob,
  afterReply,
  afterUnanswered,
  costUnknown,
  limitReached,
  nothingSpent,
  type Spent,
  tokensUnknown,
} from './limits.ts';
import type { EvaluationRequest, LoopConfig, LoopDeps } from './ports.ts';
import { cancelled, environmentError, failed, Stop } from './stop.ts';

/** A result with what it means. */
interface Interpreted {
  readonly result: JobResult;
  readonly evaluation: Evaluation;
}

/**
 * Resampling takes a tenth of a second: a result is interpreted once, unless the history keeps it changed (a key in it was blanked
 * out). Then what it keeps counts, since a resume will read that.
 */
const verdictOn = (result: JobResult, fresh: Interpreted | null): Evaluation | null =>
  fresh !== null && isDeepStrictEqual(result, fresh.result) ? fresh.evaluation : null;

/** Everything the loop does outside of itself goes through here: limits, pause, cancel, history, usage. */
export class Steps {
  readonly #config: LoopConfig;
  readonly #deps: LoopDeps;
  readonly drive: string;
  #spent: Spent = nothingSpent;
  /** Measured limits of the GPU, from the newest job that measured them. */
  peaks: Peaks | null = null;

  constructor(config: LoopConfig, deps: LoopDeps) {
    this.#config = config;
    this.#deps = deps;
    this.drive = deps.drive ?? Date.now().toString(36);
  }

  event(key: string, event: RunEvent): Promise<void> {
    return this.#deps.log.event(key, event);
  }

  notice(position: string, ordinal: number, message: string): Promise<void> {
    return this.event(`${position}.notice.${ordinal}`, { type: 'notice', position, message });
  }

  /** Notes why the run stopped before its end: parked, or ended as its status says. */
  async stopped(stop: Stop): Promise<void> {
    const { status, error, waiting } = stop;
    if (status === 'parked' && waiting !== null) {
      const { for: waitingFor, path, how } = waiting;
      await this.event(`parked.${this.drive}`, { type: 'parked', waitingFor, path, how });
    } else await this.event(`run-ended.${status}.${this.drive}`, { type: 'run-ended', status, error });
  }

  /** Before each step: cancel, then pause, then limits. */
  async #guard(position: string): Promise<void> {
    if (this.#deps.signal?.aborted) throw cancelled();
    if (this.#deps.shouldPause?.()) throw new Stop('paused', null);
    const reached = limitReached(this.#spent, this.#config.run);
    if (reached === null) return;
    await this.event(`${position}.limit.${this.drive}`, { type: 'limit', ...reached });
    const what = { money: 'Money', tokens: 'Token', time: 'Time' }[reached.which];
    throw new Stop('paused', {
      code: `limit.${reached.which}`,
      message: `${what} limit reached before ${position}: ${reached.message}`,
      remedy: 'The best version so far is kept. Raise the limit and resume to go on.',
    });
  }

  /** One model call at a position; answered from the history when it was made before. */
  async chat(position: string, request: ChatRequest): Promise<ChatReply> {
    for (const bill of this.#deps.unanswered?.get(position) ?? []) this.#spent = afterUnanswered(this.#spent, bill);
    await this.#guard(position);
    const stepRequest: StepRequest = { kind: 'chat', request };
    const lost: Bill[] = [];
    const outcome = await this.#deps.log
      .step<{ kind: 'chat'; reply: ChatReply }>(position, stepRequest, () =>
        this.#ask(position, request, (bill = unknownBill) => {
          lost.push(bill);
        }),
      )
      .finally(() => this.#bookLost(position, request, lost));
    if (outcome.kind === 'parked') throw new Stop('parked', null, outcome.waiting);
    if (outcome.response.kind !== 'chat') throw this.#mixedUp(position);
    const reply = outcome.response.reply;
    this.#spent = afterReply(this.#spent, reply);
    await this.event(`${position}.usage`, {
      type: 'usage',
      agent: request.agent,
      promptTokens: reply.usage.promptTokens,
      completionTokens: reply.usage.completionTokens,
      costUsd: reply.costUsd,
    });
    const { maxUsd, maxTokens } = this.#config.run;
    const unlimited: string[] = [];
    if (maxUsd !== null && reply.costUsd === null)
      unlimited.push('The cost of this reply is unknown: the money limit cannot count it.');
    if (maxTokens !== null && (reply.usage.promptTokens === null || reply.usage.completionTokens === null))
      unlimited.push('The server did not say how many tokens this took: the token limit cannot count them.');
    for (const [i, message] of [...(reply.warnings ?? []), ...unlimited].entries())
      await this.notice(position, i, message);
    return reply;
  }

  /** A scheme before the user; answered from the history when it was decided before. */
  async approve(position: string, round: number, scheme: string): Promise<Approval> {
    await this.#guard(position);
    const { log, approval } = this.#deps;
    const outcome = await log.step<Approval>(position, { kind: 'approval', round, scheme }, async () => {
      const said = await approval?.(position, round, scheme);
      if (said === undefined) throw failed({ code: 'internal', message: 'Nobody can be asked to approve a scheme.' });
      return 'verdict' in said ? { kind: 'done', response: said } : { kind: 'parked', waiting: said };
    });
    if (outcome.kind === 'parked') throw new Stop('parked', null, outcome.waiting);
    if (outcome.response.kind !== 'approval') throw this.#mixedUp(position);
    return outcome.response;
  }

  async #ask(position: string, request: ChatRequest, onUnanswered: (bill?: Bill) => void) {
    const { provider, log, signal } = this.#deps;
    const result = await provider.chat(request, {
      position,
      signal,
      onUnanswered,
      onToken: (text) => log.transient({ type: 'token', agent: request.agent, text }),
      onWait: ({ seconds, why }) =>
        log.transient({
          type: 'progress',
          step: position,
          index: 0,
          count: 1,
          note: `waiting ${Math.ceil(seconds)} s: ${why}`,
        }),
    });
    if (!result.ok) throw new AppFailure(result.error);
    if (result.value.kind === 'parked') return { kind: 'parked' as const, waiting: result.value.waiting };
    return { kind: 'done' as const, response: { kind: 'chat' as const, reply: result.value.reply } };
  }

  /** Requests that led to no reply may have been charged: what the server told of them counts, the rest is unknown from now on. */
  async #bookLost(position: string, request: ChatRequest, lost: readonly Bill[]): Promise<void> {
    const { maxUsd, maxTokens } = this.#config.run;
    for (const [i, bill] of lost.entries()) {
      this.#spent = afterUnanswered(this.#spent, bill);
      const key = `${position}.unanswered.${this.drive}.${i}`;
      await this.event(key, { type: 'usage', agent: request.agent, ...bill.usage, costUsd: bill.costUsd });
      const uncounted = [
        ...(maxUsd !== null && costUnknown(bill) ? ['money'] : []),
        ...(maxTokens !== null && tokensUnknown(bill) ? ['token'] : []),
      ];
      for (const which of uncounted) {
        const message = `A request led to no reply and may have been charged: the ${which} limit cannot count it.`;
        await this.event(`${key}.${which}`, { type: 'notice', position, message });
      }
    }
  }

  /**
   * Evaluates at a position. A candidate that the screen refuses costs no job. A job that the environment kept from its
   * verdict is not stored as an answer: the run stops with the cause, and a resume repeats that job. `before` is asked where there will
   * be a job; when it says true, the request has changed and is planned anew.
   */
  async evaluate(
    position: string,
    asked: EvaluationRequest | (() => EvaluationRequest),
    before?: () => Promise<boolean>,
  ): Promise<Evaluation> {
    const current = () => (typeof asked === 'function' ? asked() : asked);
    let request = current();
    let planned = this.#plan(request);
    if (planned.kind === 'job' && before !== undefined && (await before())) {
      request = current();
      planned = this.#plan(request);
    }
    if (planned.kind === 'rejected') return planned.evaluation;
    await this.#guard(position);
    const { bundle } = planned;
    let fresh: Interpreted | null = null;
    const outcome = await this.#deps.log.step<{ kind: 'job'; result: JobResult }>(
      position,
      { kind: 'job', job: bundle.job },
      () =>
        this.#execute(position, request, bundle, (interpreted) => {
          fresh = interpreted;
        }),
    );
    if (outcome.kind === 'parked') throw new Stop('parked', null, outcome.waiting);
    if (outcome.response.kind !== 'job') throw this.#mixedUp(position);
    const { result } = outcome.response;
    this.#spent = afterJob(this.#spent, result.wallMs);
    const evaluation = verdictOn(result, fresh) ?? this.#deps.evaluator.interpret(request, bundle, result);
    if (evaluation.outcome === 'environment') throw await this.#noVerdict(position, bundle, result, evaluation.reason);
    this.#notePeaks(result);
    return evaluation;
  }

  /** Kept as an answer by a program that found a verdict in it: it is none, or every resume would stop here again. */
  async #noVerdict(position: string, bundle: JobBundle, result: JobResult, reason: string): Promise<Stop> {
    if (this.#measuresAgain) {
      await this.event(`${position}.again.${this.drive}`, {
        type: 'changed',
        position,
        what: `The measurement kept here gives no verdict (${reason}). A resume takes it again.`,
      });
      await this.#deps.log.forget(position);
      await this.#discard(position, bundle);
    }
    return failed(environmentError(result, reason, this.#measuresAgain));
  }

  get #measuresAgain(): boolean {
    return this.#deps.executor.name !== 'recording';
  }

  async #discard(position: string, bundle: JobBundle): Promise<void> {
    await this.#deps.executor.discard?.(bundle, { rootSeed: this.#config.rootSeed, position });
  }

  #plan(request: EvaluationRequest) {
    const planned = this.#deps.evaluator.plan(request);
    if (!planned.ok) throw failed(planned.error);
    return planned.value;
  }

  async #execute(
    position: string,
    request: EvaluationRequest,
    bundle: JobBundle,
    onInterpreted: (interpreted: Interpreted) => void,
  ) {
    const { executor, evaluator, log, signal, onProcess } = this.#deps;
    const outcome = await executor.execute(bundle, {
      rootSeed: this.#config.rootSeed,
      position,
      signal,
      onProgress: (p) => log.transient({ type: 'progress', ...p }),
      onProcess: (p) => onProcess?.(position, p),
    });
    // What a cancelled job left is no result.
    if (signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'The evaluation was cancelled.' });
    if (outcome.kind === 'parked') return outcome;
    const verdict = evaluator.interpret(request, bundle, outcome.result);
    if (verdict.outcome === 'environment') {
      await this.#discard(position, bundle);
      throw new AppFailure(environmentError(outcome.result, verdict.reason, this.#measuresAgain));
    }
    onInterpreted({ result: outcome.result, evaluation: verdict });
    return { kind: 'done' as const, response: { kind: 'job' as const, result: outcome.result } };
  }

  #notePeaks(result: JobResult): void {
    for (const step of result.steps)
      if (step.session?.mode === 'time' && step.session.peaks !== null) this.peaks = step.session.peaks;
  }

  #mixedUp(position: string): Stop {
    return failed({
      code: 'store.corrupt',
      message: `The history holds an answer of another kind at ${position}.`,
      remedy: 'Start the run anew; export the old one if you need it.',
    });
  }
}
