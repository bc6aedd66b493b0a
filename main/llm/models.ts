import { redact, withoutSecrets } from '../base/redact.ts';
import { err, type ModelState, ok, type Result } from '../contract/index.ts';
import { checkAddress, withoutSlash } from './address.ts';
import { classify } from './fault.ts';
import { guardLocal } from './guard.ts';
import type { PriceTable } from './prices.ts';
import { priceOf } from './prices.ts';

export interface ModelEndpoint {
  readonly baseUrl: string;
  readonly localOnly: boolean;
  readonly key: string | null;
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(record) : []);
const positive = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? Math.floor(value) : null);

/** Lists of hundreds of models are long; more than this is no list. */
const longestList = 16 * 1024 * 1024;

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > longestList) throw new Error('the answer never ends');
  }
  return text;
}

type Got =
  | { readonly kind: 'json'; readonly data: Record<string, unknown> }
  | { readonly kind: 'refused'; readonly status: number; readonly text: string; readonly headers: Headers }
  | { readonly kind: 'failed'; readonly why: string };

async function get(url: string, key: string | null, signal: AbortSignal): Promise<Got> {
  try {
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(url, { headers, redirect: 'manual', signal });
    const text = await textOf(response);
    if (!response.ok) return { kind: 'refused', status: response.status, text, headers: response.headers };
    try {
      return { kind: 'json', data: record(JSON.parse(text)) };
    } catch {
      return { kind: 'refused', status: 404, text: 'The answer is no list of models.', headers: new Headers() };
    }
  } catch (fault) {
    const cause = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault;
    return { kind: 'failed', why: cause instanceof Error ? cause.message : String(cause) };
  }
}

/** Context length in an entry of a list of models, under the names that servers use. */
const contextOf = (m: Record<string, unknown>): number | null =>
  positive(m.max_model_len) ??
  positive(m.loaded_context_length) ??
  positive(m.context_length) ??
  positive(m.context_window) ??
  positive(m.max_context_length) ??
  positive(record(m.meta).n_ctx);

/** Context length of one of Ollama's loaded models. A name without a tag means the tag `latest`; capitals do not matter. */
function contextAmong(loaded: readonly Record<string, unknown>[], id: string): number | null {
  const wanted = id.trim().toLowerCase();
  const names = [wanted, `${wanted}:latest`];
  const isIt = (name: unknown) => typeof name === 'string' && names.includes(name.toLowerCase());
  return positive(loaded.find((m) => isIt(m.name) || isIt(m.model))?.context_length);
}

/** What only a server's own interface tells: Ollama's loaded models, LM Studio's list, llama.cpp's properties. */
async function ownContexts(
  origin: string,
  key: string | null,
  signal: AbortSignal,
): Promise<(id: string) => number | null> {
  const jsonOf = async (path: string): Promise<Record<string, unknown>> => {
    const got = await get(`${origin}${path}`, key, signal);
    return got.kind === 'json' ? got.data : {};
  };
  const loaded = list((await jsonOf('/api/ps')).models);
  if (loaded.length > 0) return (id) => contextAmong(loaded, id);
  const studio = list((await jsonOf('/api/v0/models')).data);
  if (studio.length > 0) {
    return (id) => {
      const mine = studio.find((m) => m.id === id);
      return mine === undefined ? null : contextOf(mine);
    };
  }
  const served = positive(record((await jsonOf('/props')).default_generation_settings).n_ctx);
  return () => served;
}

function faultOf(host: string, got: Exclude<Got, { kind: 'json' }>): Result<never> {
  if (got.kind === 'failed')
    return err('provider.unreachable', `The model server ${host} cannot be reached.`, {
      remedy: 'Check the address, and that the server runs.',
      detail: redact(got.why),
    });
  const fault = classify(got.status, got.text.slice(0, 65_536), got.headers);
  const detail = redact(fault.message);
  if (fault.kind === 'auth')
    return err('provider.auth', `${host} wants another key.`, {
      remedy: 'Name the variable that holds its key with --key-env.',
      detail,
    });
  if (fault.kind === 'redirect')
    return err('provider.unreachable', `${host} redirects to another address; keys are not sent on.`, {
      remedy: `Enter the address it names: ${redact(fault.to)}`,
    });
  return err('provider.refused', `${host} gives no list of models.`, {
    remedy: 'Check the address (it usually ends in /v1); a model can be named without the list.',
    detail,
  });
}

/**
 * The models that a server offers, by its `/models`, with their context lengths where it tells them. Obeys `localOnly`.
 * Errors: `usage` (no address), `provider.local-only`, `provider.unreachable`, `provider.auth`, `provider.refused`.
 */
export async function listModels(
  endpoint: ModelEndpoint,
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal; readonly prices?: PriceTable } = {},
): Promise<Result<ModelState[]>> {
  const address = checkAddress(endpoint.baseUrl, endpoint.localOnly);
  if (!address.ok) return address;
  if (endpoint.localOnly) {
    const local = await guardLocal(address.value);
    if (!local.ok) return local;
  }
  const timeout = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const signal = options.signal === undefined ? timeout : AbortSignal.any([timeout, options.signal]);
  const got = await get(`${withoutSlash(endpoint.baseUrl)}/models`, endpoint.key, signal);
  if (options.signal?.aborted) return err('cancelled', 'The request was cancelled.');
  if (got.kind !== 'json') return faultOf(address.value.host, got);
  if (!Array.isArray(got.data.data))
    return faultOf(address.value.host, { kind: 'refused', status: 404, text: 'no list', headers: new Headers() });
  const found = list(got.data.data).filter(
    (m): m is { id: string } & typeof m => typeof m.id === 'string' && m.id !== '',
  );
  const unknown = found.some((m) => contextOf(m) === null);
  const own = unknown ? await ownContexts(address.value.origin, endpoint.key, signal) : () => null;
  return ok(
    found.map((m) => ({
      // A server may repeat the key that it was asked with.
      id: withoutSecrets(m.id),
      contextTokens: contextOf(m) ?? own(m.id),
      ownedBy: typeof m.owned_by === 'string' && m.owned_by !== '' ? withoutSecrets(m.owned_by) : null,
      price: options.prices === undefined ? null : priceOf(options.prices, address.value.hostname, m.id),
    })),
  );
}

/** Context length of one model, tokens; null = the server does not say, or cannot be asked. Never fails; obeys `localOnly`. */
export async function probeContext(
  endpoint: ModelEndpoint & { model: string },
  timeoutMs = 5000,
): Promise<number | null> {
  const models = await listModels(endpoint, { timeoutMs });
  if (!models.ok) return null;
  const named = (id: string) => models.value.find((m) => m.id === id);
  return (named(endpoint.model) ?? named(`${endpoint.model}:latest`))?.contextTokens ?? null;
}

/**
 * Context that an Ollama server holds a model with now, tokens: known once the model is loaded, thus after an answer. null = it does not
 * say, or cannot be asked. Never fails. The address was checked when the answer was asked for.
 */
export async function loadedContext(
  endpoint: { readonly baseUrl: string; readonly key: string | null; readonly model: string },
  signal?: AbortSignal,
  timeoutMs = 2000,
): Promise<number | null> {
  const timeout = AbortSignal.timeout(timeoutMs);
  // Its own interface lies beside the one that speaks as OpenAI does.
  const base = withoutSlash(endpoint.baseUrl).replace(/\/v1$/, '');
  const got = await get(
    `${base}/api/ps`,
    endpoint.key,
    signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
  );
  return got.kind === 'json' ? contextAmong(list(got.data.models), endpoint.model) : null;
}
