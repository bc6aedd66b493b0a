import { checkAddress } from './address.ts';

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const list = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(record) : []);
const positive = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? Math.floor(value) : null);

async function getJson(url: string, key: string | null, signal: AbortSignal): Promise<Record<string, unknown>> {
  try {
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await fetch(url, { headers, redirect: 'manual', signal });
    return response.ok ? record(await response.json()) : {};
  } catch {
    // A server that does not offer this is the normal case.
    return {};
  }
}

/**
 * Context length of a model as its server tells it, tokens: the list of models (vLLM, llama.cpp, OpenRouter), else what Ollama
 * has loaded. null = the server does not say. Never fails; obeys `localOnly`.
 */
export async function probeContext(
  endpoint: { baseUrl: string; model: string; localOnly: boolean; key: string | null },
  timeoutMs = 5000,
): Promise<number | null> {
  const address = checkAddress(endpoint.baseUrl, endpoint.localOnly);
  if (!address.ok) return null;
  const signal = AbortSignal.timeout(timeoutMs);
  const models = await getJson(`${endpoint.baseUrl.replace(/\/+$/, '')}/models`, endpoint.key, signal);
  const mine = list(models.data).find((m) => m.id === endpoint.model);
  const said = positive(mine?.max_model_len) ?? positive(mine?.context_length) ?? positive(record(mine?.meta).n_ctx);
  if (said !== null) return said;
  const loaded = list((await getJson(`${address.value.origin}/api/ps`, endpoint.key, signal)).models);
  return positive(loaded.find((m) => m.name === endpoint.model || m.model === endpoint.model)?.context_length);
}
