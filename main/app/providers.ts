import { join } from 'node:path';
import { z } from 'zod';
import { configDir } from '../base/paths.ts';
import { AppFailure, type ChatProvider, err, unwrap } from '../contract/index.ts';
import {
  checkAddress,
  costOf,
  isLoopback,
  keyReferenceSchema,
  loadPrices,
  manualProvider,
  openAiProvider,
  probeContext,
  readKey,
} from '../llm/index.ts';

/** Endpoints by name: address, and the variable in which their key usually is (null: none needed). */
const presets: Record<string, { baseUrl: string; keyEnv: string | null }> = {
  openai: { baseUrl: 'https://api.openai.com/v1', keyEnv: 'OPENAI_API_KEY' },
  deepseek: { baseUrl: 'https://api.deepseek.com/v1', keyEnv: 'DEEPSEEK_API_KEY' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1', keyEnv: 'OPENROUTER_API_KEY' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', keyEnv: null },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', keyEnv: null },
  'llama.cpp': { baseUrl: 'http://127.0.0.1:8080/v1', keyEnv: null },
};
export const providerNames: readonly string[] = ['manual', ...Object.keys(presets), 'compatible'];

/** Where a run's answers come from, as it is kept with the run: references, no key. */
export const providerChoiceSchema = z.object({
  name: z.string(),
  model: z.string(),
  baseUrl: z.string().nullable(),
  keyEnv: z.string().nullable(),
  localOnly: z.boolean(),
});
export type ProviderChoice = z.infer<typeof providerChoiceSchema>;

export interface ProviderRequest {
  readonly provider: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyEnv?: string;
  readonly localOnly: boolean;
}

/** Completes what the user asked for. Throws AppFailure `usage`, `provider.local-only`. */
export function chooseProvider(request: ProviderRequest): ProviderChoice {
  const { provider, localOnly } = request;
  if (provider === 'manual')
    return { name: 'manual', model: request.model ?? 'manual', baseUrl: null, keyEnv: null, localOnly };
  const preset = presets[provider];
  if (!preset && provider !== 'compatible')
    throw new AppFailure(
      err('usage', `There is no provider "${provider}".`, { remedy: `Known: ${providerNames.join(', ')}.` }).error,
    );
  const baseUrl = request.baseUrl ?? preset?.baseUrl;
  if (!baseUrl)
    throw new AppFailure(
      err('usage', 'A compatible server needs its address.', { remedy: 'Add --base-url http://HOST:PORT/v1.' }).error,
    );
  if (!request.model)
    throw new AppFailure(
      err('usage', `Provider ${provider} needs the name of a model.`, { remedy: 'Add --model NAME.' }).error,
    );
  unwrap(checkAddress(baseUrl, localOnly));
  if (request.keyEnv !== undefined && !keyReferenceSchema.safeParse({ env: request.keyEnv }).success)
    // The value is not repeated: it may be the key itself.
    throw new AppFailure(
      err('usage', 'The name of an environment variable is needed, not a key.', {
        remedy: 'For example --key-env OPENAI_API_KEY.',
      }).error,
    );
  // Another address than the preset's gets no key unasked: it would go to a stranger.
  const keyEnv = request.keyEnv ?? (request.baseUrl === undefined ? (preset?.keyEnv ?? null) : null);
  return { name: provider, model: request.model, baseUrl, keyEnv, localOnly };
}

/** Address of a machine other than this one; null = nothing leaves this machine. */
export function remoteHost(choice: ProviderChoice): string | null {
  if (choice.baseUrl === null) return null;
  const { hostname, host } = new URL(choice.baseUrl);
  return isLoopback(hostname) ? null : host;
}

/** What goes to a remote endpoint, told before the first request. */
export const disclosure = (host: string, choice: ProviderChoice): string =>
  `Prompts go to ${host} (model ${choice.model}): the task's description, the kernel's source, profiler figures, compiler and test ` +
  'messages, your notes, GPU model and toolkit version. Not sent: file paths outside the job, environment, other files, keys of others.';

const key = (choice: ProviderChoice, env: NodeJS.ProcessEnv) => () =>
  readKey(choice.keyEnv === null ? { none: true } : { env: choice.keyEnv }, env);

const pricesFile = (): string => join(configDir(), 'prices.json');

/** A limit on money that nothing could ever reach is refused. Throws AppFailure `usage`; `format.*`, `input.file` of the price table. */
export async function checkMoneyLimit(choice: ProviderChoice, maxUsd: number | null): Promise<void> {
  if (maxUsd === null) return;
  const refuse = (why: string, remedy: string): never => {
    throw new AppFailure(err('usage', `--max-usd cannot be kept: ${why}`, { remedy }).error);
  };
  if (choice.baseUrl === null) return refuse('what a person brings has no known price.', 'Leave it out.');
  const prices = unwrap(await loadPrices(pricesFile()));
  const { hostname } = new URL(choice.baseUrl);
  if (costOf(prices, hostname, choice.model, { promptTokens: 0, completionTokens: 0 }) === null)
    refuse(
      `the price of ${choice.model} at ${hostname} is not known.`,
      `Enter it in ${pricesFile()} (README, "Prices"), or limit --max-tokens.`,
    );
}

/** `dir`: the run's folder for prompts and answers of the manual provider. */
export async function makeProvider(
  choice: ProviderChoice,
  parts: { dir: string; env: NodeJS.ProcessEnv },
): Promise<ChatProvider> {
  if (choice.baseUrl === null) return manualProvider({ dir: parts.dir });
  const prices = unwrap(await loadPrices(pricesFile()));
  return openAiProvider({
    baseUrl: choice.baseUrl,
    model: choice.model,
    key: key(choice, parts.env),
    localOnly: choice.localOnly,
    prices,
  });
}

/** Fails early when the key is missing; asks the server for its context length. null = it does not say. */
export async function checkProvider(choice: ProviderChoice, env: NodeJS.ProcessEnv): Promise<number | null> {
  if (choice.baseUrl === null) return null;
  const value = unwrap(key(choice, env)());
  return probeContext({ baseUrl: choice.baseUrl, model: choice.model, localOnly: choice.localOnly, key: value });
}

/** May an unanswered request have cost money? A server on this machine may be the door to a paid one. */
export const isPaid = (choice: ProviderChoice | null): boolean => choice !== null && choice.baseUrl !== null;
