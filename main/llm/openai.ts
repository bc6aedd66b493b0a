import { redact, registerSecret } from '../base/redact.ts';
import {
  type AppError,
  type ChatOptions,
  type ChatProvider,
  type ChatReply,
  type ChatRequest,
  type Effort,
  err,
  ok,
  type Result,
} from '../contract/index.ts';
import {
  type Adaptation,
  type AdaptationMemory,
  adapt,
  bodyOf,
  firstGuess,
  memoryKey,
  processMemory,
} from './adapt.ts';
import { checkAddress, checkModel } from './address.ts';
import { type Exchanged, exchange } from './exchange.ts';
import type { Fault } from './fault.ts';
import { type GuardOptions, guardLocal } from './guard.ts';
import { loadedContext } from './models.ts';
import { costOf, noPrices, type PriceTable } from './prices.ts';
import { duration, sleep } from './retry-after.ts';
import type { Assembled } from './stream.ts';
import { mayBeCut, truncationWarning } from './truncation.ts';

export interface OpenAiOptions {
  /** E.g. https://api.openai.com/v1, https://api.deepseek.com/v1, http://127.0.0.1:11434/v1. */
  readonly baseUrl: string;
  readonly model: string;
  /** The key's value, asked for at each request and kept nowhere; null = none. See readKey(). */
  readonly key: () => Result<string | null> | Promise<Result<string | null>>;
  /** Block every connection to another machine. */
  readonly localOnly: boolean;
  readonly prices?: PriceTable;
  /** How hard the model may think; left out where the server refuses it. */
  readonly effort?: Effort;
  /** Longest wait the server may ask for before the user decides, ms. */
  readonly maxWaitMs?: number;
  /** First wait when a busy server names no time, ms; doubles. */
  readonly backoffMs?: number;
  /** Longest silence of the server, ms. */
  readonly idleMs?: number;
  readonly memory?: AdaptationMemory;
  readonly guard?: GuardOptions;
}

const tries = { rate: 5, overloaded: 3, dropped: 2 } as const;

/** Node's own fetch gives up after 300 s of silence: ending it just before gives the clearer message. */
const defaultIdleMs = 290_000;

/** What is left of a context for the answer is used if it is at least this long, tokens. */
const leastAnswer = 512;

interface Call {
  readonly options: OpenAiOptions;
  readonly request: ChatRequest;
  readonly chat: ChatOptions;
  readonly url: URL;
  readonly warnings: string[];
  maxTokens: number;
  readonly failures: { rate: number; overloaded: number; dropped: number };
}

type Next = { readonly again: true } | { readonly again: false; readonly error: AppError };

/**
 * Chat over HTTP as OpenAI, DeepSeek, Ollama, vLLM, llama.cpp and others speak it: streaming, one adaptation per refused
 * parameter (remembered per address and model), waits as asked for within a cap, one retry of a broken stream.
 * Errors: `provider.*`, `cancelled`.
 */
export function openAiProvider(options: OpenAiOptions): ChatProvider {
  return {
    name: 'openai',
    async chat(request, chat) {
      const address = checkAddress(options.baseUrl, options.localOnly);
      if (!address.ok) return address;
      if (options.localOnly) {
        const here = checkModel(options.baseUrl, options.model);
        if (!here.ok) return here;
        const local = await guardLocal(address.value, options.guard);
        if (!local.ok) return local;
      }
      const key = await options.key();
      if (!key.ok) return key;
      if (key.value !== null) registerSecret(key.value);
      const failures = { rate: 0, overloaded: 0, dropped: 0 };
      const call: Call = {
        options,
        request,
        chat,
        url: address.value,
        warnings: [],
        maxTokens: request.maxTokens,
        failures,
      };
      const reply = await converse(call, key.value);
      return reply.ok ? ok({ kind: 'done', reply: reply.value }) : reply;
    },
  };
}

async function converse(call: Call, key: string | null): Promise<Result<ChatReply>> {
  const { options, request, chat, url } = call;
  const memory = options.memory ?? processMemory;
  const entry = memoryKey(url, options.model);
  const started = performance.now();
  for (;;) {
    const adaptation = memory.get(entry) ?? firstGuess(url.hostname);
    const outcome = await exchange({
      baseUrl: options.baseUrl,
      key,
      body: bodyOf(request, options.model, adaptation, call.maxTokens, options.effort),
      signal: chat.signal,
      idleMs: options.idleMs ?? defaultIdleMs,
      onToken: chat.onToken,
    });
    if (outcome.kind === 'answer') return replyOf(call, key, outcome.answer, performance.now() - started);
    const next = await react(call, outcome, adaptation, (changed) => memory.set(entry, changed));
    if (!next.again) return { ok: false, error: redactError(next.error) };
  }
}

const redactError = (e: AppError): AppError => ({
  ...e,
  message: redact(e.message),
  ...(e.detail === undefined ? {} : { detail: redact(e.detail) }),
});

/** What the server seems to have done to the prompt, asked of it where it says that it is Ollama: only there a prompt is cut silently. */
async function cutOf(call: Call, key: string | null, answer: Assembled): Promise<string | null> {
  const { options, request, chat } = call;
  const promptChars = request.messages.reduce((sum, m) => sum + m.content.length, 0);
  const { baseUrl, model } = options;
  const asks = answer.ollama && answer.usage.promptTokens !== null && mayBeCut(promptChars);
  const loaded = asks ? await loadedContext({ baseUrl, model, key }, chat.signal) : null;
  return truncationWarning({ promptChars, usage: answer.usage, loaded });
}

async function replyOf(call: Call, key: string | null, answer: Assembled, wallMs: number): Promise<Result<ChatReply>> {
  const { options, url, warnings } = call;
  const model = answer.model ?? options.model;
  const prices = options.prices ?? noPrices;
  const costUsd =
    costOf(prices, url.hostname, model, answer.usage) ?? costOf(prices, url.hostname, options.model, answer.usage);
  if (answer.filtered) {
    // Written, and charged like any other, although nobody gets to read it.
    call.chat.onUnanswered?.({ usage: answer.usage, costUsd });
    return err('provider.refused', 'The server withheld its answer (content filter).', {
      remedy: 'Resume to ask again, which is charged again, or use another model.',
    });
  }
  const cut = await cutOf(call, key, answer);
  if (cut !== null) warnings.push(cut);
  return ok({
    text: answer.text,
    reasoning: answer.reasoning,
    finish: answer.finish ?? 'other',
    usage: answer.usage,
    model,
    provider: `openai ${url.host}`,
    wallMs,
    costUsd,
    ...(warnings.length > 0 ? { warnings } : {}),
  });
}

const stop = (code: AppError['code'], message: string, remedy: string, detail?: string): Next => ({
  again: false,
  error: { code, message, remedy, ...(detail === undefined ? {} : { detail }) },
});
const again: Next = { again: true };
const cancelled = stop('cancelled', 'The request was cancelled.', 'Resume the run to ask again.');

async function react(
  call: Call,
  outcome: Exclude<Exchanged, { kind: 'answer' }>,
  adaptation: Adaptation,
  remember: (changed: Adaptation) => unknown,
): Promise<Next> {
  const host = call.url.host;
  if (outcome.kind === 'cancelled') {
    if (outcome.sent) call.chat.onUnanswered?.();
    return cancelled;
  }
  if (outcome.kind === 'unreachable')
    return stop(
      'provider.unreachable',
      `The model server ${host} cannot be reached.`,
      'Check the address, that the server runs, and the network; then resume the run.',
      outcome.why,
    );
  if (outcome.kind === 'dropped') {
    call.chat.onUnanswered?.();
    call.failures.dropped++;
    if (call.failures.dropped < tries.dropped) {
      call.warnings.push(`The connection broke once (${redact(outcome.why)}); the request was sent again.`);
      return again;
    }
    return stop(
      'provider.unreachable',
      `The connection to ${host} broke twice during the answer.`,
      'Check the network and the server, then resume the run. Both requests may have been charged.',
      outcome.why,
    );
  }
  if (outcome.maybeCharged) call.chat.onUnanswered?.();
  return reactToFault(call, outcome.fault, adaptation, remember);
}

async function reactToFault(
  call: Call,
  fault: Fault,
  a: Adaptation,
  remember: (changed: Adaptation) => unknown,
): Promise<Next> {
  const host = call.url.host;
  const { model } = call.options;
  switch (fault.kind) {
    case 'parameter': {
      const changed = adapt(a, fault.complaint);
      if (changed === null)
        return stop(
          'provider.refused',
          `${host} refuses the request for ${model}.`,
          'Choose another model or server.',
          fault.message,
        );
      await remember(changed.next);
      call.warnings.push(`${host} does not accept ${fault.complaint.param} as sent: ${changed.said} from now on.`);
      return again;
    }
    case 'context':
      return shortenAnswer(call, fault);
    case 'rate':
    case 'overloaded':
      return waitFor(call, fault);
    case 'quota':
      return stop(
        'provider.quota',
        `The account at ${host} has no quota left.`,
        'Add credit there, or use another provider; then resume.',
        fault.message,
      );
    case 'auth':
      return stop(
        'provider.auth',
        `${host} does not accept the key.`,
        'Check the key that the settings refer to, and that it may use this model.',
        fault.message,
      );
    case 'not-found':
      return stop(
        'provider.refused',
        `${host} knows no model "${model}", or offers no chat at this address.`,
        'Check the model name and the address (it usually ends in /v1).',
        fault.message,
      );
    case 'redirect':
      return stop(
        'provider.unreachable',
        `${host} redirects to another address; keys are not sent on.`,
        `Enter the address it names: ${redact(fault.to)}`,
        fault.message,
      );
    case 'refused':
      return stop(
        'provider.refused',
        `${host} refuses the request.`,
        'See the details; choose another model or server.',
        fault.message,
      );
  }
}

/** A prompt that fits with a shorter answer is sent once more with that; else the limit is named. */
function shortenAnswer(call: Call, fault: Extract<Fault, { kind: 'context' }>): Next {
  const { limit, prompt } = fault;
  const room = limit === null || prompt === null ? 0 : limit - prompt - 16;
  if (room >= leastAnswer && room < call.maxTokens) {
    call.maxTokens = room;
    call.warnings.push(`The context of ${limit} tokens leaves room for ${room} tokens of answer.`);
    return again;
  }
  return stop(
    'provider.context-length',
    `The prompt is too long for ${call.options.model}${limit === null ? '' : ` (context of ${limit} tokens)`}.`,
    limit === null
      ? 'Resume with the length of its context (--context TOKENS), or use a model with a longer one.'
      : `Resume with --context ${limit}: the oldest history is then left out. Or use a model with a longer one.`,
    fault.message,
  );
}

/** Busy server or rate limit: waits as long as it asks, at least; more than the cap is the user's decision. */
async function waitFor(call: Call, fault: Extract<Fault, { kind: 'rate' | 'overloaded' }>): Promise<Next> {
  const { options, chat, url } = call;
  const cap = options.maxWaitMs ?? 5 * 60_000;
  const n = ++call.failures[fault.kind];
  const code = fault.kind === 'rate' ? 'provider.rate' : 'provider.unreachable';
  const waitMs = Math.max(fault.waitMs ?? 0, fault.waitMs === null ? (options.backoffMs ?? 2000) * 2 ** (n - 1) : 0);
  if (waitMs > cap)
    return stop(
      code,
      `${url.host} asks to wait ${duration(waitMs)}.`,
      'Resume the run after that time, or use another provider.',
      fault.message,
    );
  if (n >= tries[fault.kind])
    return stop(
      code,
      fault.kind === 'rate'
        ? `${url.host} keeps limiting the rate of requests (${n} times).`
        : `${url.host} cannot answer (${n} times).`,
      'Wait a while and resume the run, or use another provider.',
      fault.message,
    );
  chat.onWait?.({
    seconds: waitMs / 1000,
    why: fault.kind === 'rate' ? `${url.host} limits the rate of requests` : `${url.host} is busy`,
  });
  return (await sleep(waitMs, chat.signal)) ? again : cancelled;
}
