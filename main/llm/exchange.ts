import OpenAI from 'openai';
import { classify, type Fault } from './fault.ts';
import { type Assembled, emptyAnswer, takeChunk } from './stream.ts';

export interface ExchangeInput {
  readonly baseUrl: string;
  readonly key: string | null;
  readonly body: Record<string, unknown>;
  readonly signal?: AbortSignal;
  /** Longest silence before and between chunks, ms. */
  readonly idleMs: number;
  readonly onToken?: (delta: string) => void;
}

export type Exchanged =
  | { readonly kind: 'answer'; readonly answer: Assembled }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly maybeCharged: boolean }
  /** The connection was never made. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** It broke, or fell silent, after the request was sent: the answer may have been charged. */
  | { readonly kind: 'dropped'; readonly why: string }
  | { readonly kind: 'cancelled'; readonly sent: boolean };

/** Seen from below the SDK: what the server really sent. */
interface Wire {
  sent: boolean;
  done: boolean;
  refusal: { status: number; body: string; headers: Headers } | null;
}

const passed = ['authorization', 'content-type', 'accept', 'user-agent'];
const longestAnswer = 4_000_000;
/** Of a whole response, bytes: sent token by token, an answer takes some hundred times its own length. */
const longestResponse = 64 * 1024 * 1024;
/** Of one line of a stream, bytes: what waits for its end is copied again with every piece that comes. */
const longestLine = 8 * 1024 * 1024;
const longestError = 65_536;

/** Error texts are kept short whatever a proxy sends, and not waited for beyond that. */
async function errorText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      if (text.length >= longestError) break;
    }
  } catch {
    // What came before it broke is better than nothing.
  }
  return text.slice(0, longestError);
}

/** Counts what comes: every byte is a sign of life (servers send comments while a model thinks), too many are no answer. */
function metered(response: Response, alive: () => void): Response {
  if (response.body === null) return response;
  let total = 0;
  const meter = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      alive();
      total += bytes.length;
      if (total > longestResponse) controller.error(new Error('the answer never ends'));
      else controller.enqueue(bytes);
    },
  });
  return new Response(response.body.pipeThrough(meter), { status: response.status, headers: response.headers });
}

/** A whole JSON answer to a streaming request becomes a stream of one chunk. */
async function asStream(response: Response): Promise<Response> {
  const json = (await response.text()).replace(/\r?\n/g, ' ');
  const headers = { 'content-type': 'text/event-stream' };
  return new Response(`data: ${json}\n\ndata: [DONE]\n\n`, { status: response.status, headers });
}

/** Notes the end mark: without it and without a finish reason, an answer that ends quietly was cut by a proxy. */
function watched(response: Response, wire: Wire): Response {
  if (response.body === null) return response;
  const decoder = new TextDecoder();
  let tail = '';
  let line = 0;
  const watch = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      tail = (tail + decoder.decode(bytes, { stream: true })).slice(-64 - bytes.length);
      if (tail.includes('[DONE]')) wire.done = true;
      const newline = bytes.lastIndexOf(10);
      line = newline < 0 ? line + bytes.length : bytes.length - newline - 1;
      if (line > longestLine) controller.error(new Error('a line of the answer never ends'));
      else controller.enqueue(bytes);
    },
  });
  return new Response(response.body.pipeThrough(watch), { status: response.status, headers: response.headers });
}

/** fetch for the SDK: only the headers that are needed (no telemetry, nothing from the environment), no redirects. */
function wireFetch(wire: Wire, alive: () => void) {
  return async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const all = new Headers(init?.headers);
    const headers = new Headers();
    for (const name of passed) {
      const value = all.get(name);
      if (value !== null) headers.set(name, value);
    }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' });
    wire.sent = true;
    if (!response.ok) {
      const body = await errorText(response);
      wire.refusal = { status: response.status, body, headers: response.headers };
      return new Response(body === '' ? '{}' : body, { status: Math.max(400, response.status) });
    }
    const type = response.headers.get('content-type') ?? '';
    if (type.includes('text/html')) {
      // A start page or a login: the address is wrong, whatever the status says.
      wire.refusal = { status: 404, body: 'The server answered with a web page.', headers: new Headers() };
      await response.body?.cancel();
      return new Response('{}', { status: 404 });
    }
    const body = metered(response, alive);
    if (!type.includes('application/json')) return watched(body, wire);
    wire.done = true;
    return asStream(body);
  };
}

/** Innermost cause of a failed fetch: its code tells a refused connection from a broken one. */
function rootCause(fault: unknown): { code: string; message: string } {
  let at: unknown = fault;
  let code = '';
  let message = fault instanceof Error ? fault.message : String(fault);
  for (let depth = 0; depth < 6 && at instanceof Error; depth++) {
    const own = (at as { code?: unknown }).code;
    if (typeof own === 'string') code = own;
    if (at.message !== '') message = at.message;
    at = at.cause instanceof AggregateError ? at.cause.errors[0] : at.cause;
  }
  return { code, message };
}

const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|ERR_SSL|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO)/;

async function readAnswer(
  client: OpenAI,
  input: ExchangeInput,
  controller: AbortController,
  alive: () => void,
): Promise<Assembled> {
  const answer = emptyAnswer();
  // The body is ours (adapted per server), wider than the SDK's type of it.
  const params = input.body as unknown as OpenAI.ChatCompletionCreateParamsStreaming;
  const stream = await client.chat.completions.create(params, { signal: controller.signal });
  alive();
  for await (const chunk of stream) {
    alive();
    const delta = takeChunk(answer, chunk);
    if (delta !== '') input.onToken?.(delta);
    if (answer.text.length + answer.reasoning.length > longestAnswer) throw new Error('the answer never ends');
  }
  return answer;
}

/** One request and its answer. Never rejects. The SDK's own retries are off: they hide what the user must know. */
export async function exchange(input: ExchangeInput): Promise<Exchanged> {
  const wire: Wire = { sent: false, done: false, refusal: null };
  const controller = new AbortController();
  const cancel = () => controller.abort();
  if (input.signal?.aborted) return { kind: 'cancelled', sent: false };
  input.signal?.addEventListener('abort', cancel, { once: true });
  let silent = false;
  const watch = setTimeout(() => {
    silent = true;
    controller.abort();
  }, input.idleMs);
  const alive = () => {
    watch.refresh();
  };
  const client = new OpenAI({
    baseURL: input.baseUrl,
    apiKey: input.key ?? 'none',
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    maxRetries: 0,
    timeout: 24 * 3_600_000,
    logLevel: 'off',
    defaultHeaders: input.key === null ? { Authorization: null } : {},
    fetch: wireFetch(wire, alive),
  });
  const silence = () => `no data for ${Math.round(input.idleMs / 1000)} s`;
  try {
    const answer = await readAnswer(client, input, controller, alive);
    if (input.signal?.aborted) return { kind: 'cancelled', sent: true };
    if (silent) return { kind: 'dropped', why: silence() };
    if (answer.finish === null && !wire.done) return { kind: 'dropped', why: 'the answer ended without an end mark' };
    return { kind: 'answer', answer };
  } catch (fault) {
    // A request that is being sent cannot be called back: it may be charged.
    if (input.signal?.aborted) return { kind: 'cancelled', sent: true };
    if (silent) return { kind: 'dropped', why: silence() };
    return failureOf(fault, wire);
  } finally {
    clearTimeout(watch);
    input.signal?.removeEventListener('abort', cancel);
  }
}

function failureOf(fault: unknown, wire: Wire): Exchanged {
  if (wire.refusal !== null) {
    const { status, body, headers } = wire.refusal;
    // A gateway that lost its upstream does not know whether the model has answered.
    return { kind: 'fault', fault: classify(status, body, headers), maybeCharged: status === 502 || status === 504 };
  }
  if (fault instanceof OpenAI.APIError && wire.sent && fault.error !== undefined)
    return {
      kind: 'fault',
      fault: classify(0, JSON.stringify({ error: fault.error }), new Headers()),
      maybeCharged: true,
    };
  const { code, message } = rootCause(fault);
  const why = code === '' || message.includes(code) ? message : `${message} (${code})`;
  return !wire.sent && neverConnected.test(code) ? { kind: 'unreachable', why } : { kind: 'dropped', why };
}
