import { join } from 'node:path';
import { z } from 'zod';
import { configDir } from '../base/paths.ts';
import {
  type AgentName,
  AppFailure,
  agentNames,
  type ChatProvider,
  type Effort,
  err,
  type ModelState,
  type ProviderPreset,
  type ProviderState,
  unwrap,
} from '../contract/index.ts';
import { isLoopback, promptHost } from '../contract/place.ts';
import {
  adaptationFile,
  checkAddress,
  checkModel,
  costOf,
  findPreset,
  keyReferenceSchema,
  listModels,
  loadPrices,
  manualProvider,
  openAiProvider,
  presets,
  probeContext,
  readKey,
  routeByAgent,
} from '../llm/index.ts';
import { disclosureText } from './consent.ts';
import type { Settings } from './settings.ts';

/** Names of the program's own providers; the user may have more (settings, `endpoints`). */
export const providerNames: readonly string[] = presets.map((p) => p.name);

/** Where answers come from, as it is kept with a run: references, no key. */
export const providerChoiceSchema = z.object({
  name: z.string(),
  model: z.string(),
  baseUrl: z.string().nullable(),
  keyEnv: z.string().nullable(),
  localOnly: z.boolean(),
});
export type ProviderChoice = z.infer<typeof providerChoiceSchema>;

/** The run's choice, and those of agents that ask elsewhere. */
export interface ProviderChoices {
  readonly main: ProviderChoice;
  readonly agents: Readonly<Partial<Record<AgentName, ProviderChoice>>>;
}
export const agentChoicesSchema = z.partialRecord(z.enum(agentNames), providerChoiceSchema);

export interface ProviderRequest {
  readonly provider?: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyEnv?: string;
}

const usage = (message: string, remedy?: string): AppFailure => new AppFailure(err('usage', message, { remedy }).error);

function presetOf(name: string, own: readonly ProviderPreset[]): ProviderPreset {
  const preset = findPreset(name, own);
  if (preset) return preset;
  const known = [...own, ...presets].map((p) => p.name).join(', ');
  throw usage(`There is no provider "${name}".`, `Known: ${known}.`);
}

/** Address and key's variable of a request, from what was given and its preset. Throws AppFailure `usage`, `provider.local-only`. */
function endpointOf(
  request: ProviderRequest & { provider: string },
  settings: Pick<Settings, 'endpoints'>,
  localOnly: boolean,
): { name: string; baseUrl: string | null; keyEnv: string | null } {
  const preset = presetOf(request.provider, settings.endpoints);
  const { name } = preset;
  if (preset.place === 'person') return { name, baseUrl: null, keyEnv: null };
  const baseUrl = request.baseUrl ?? preset.baseUrl;
  if (!baseUrl) throw usage('A compatible server needs its address.', 'Add --base-url http://HOST:PORT/v1.');
  unwrap(checkAddress(baseUrl, localOnly));
  if (request.keyEnv !== undefined && !keyReferenceSchema.safeParse({ env: request.keyEnv }).success)
    // The value is not repeated: it may be the key itself.
    throw usage('The name of an environment variable is needed, not a key.', 'For example --key-env OPENAI_API_KEY.');
  // Another address than the preset's gets no key unasked: it would go to a stranger.
  const keyEnv = request.keyEnv ?? (request.baseUrl === undefined ? preset.keyEnv : null);
  return { name, baseUrl, keyEnv };
}

/** Completes what the user asked for. Throws AppFailure `usage`, `provider.local-only`. */
export function chooseProvider(
  request: ProviderRequest & { provider: string },
  settings: Pick<Settings, 'endpoints'>,
  localOnly: boolean,
): ProviderChoice {
  const endpoint = endpointOf(request, settings, localOnly);
  if (endpoint.baseUrl === null) return { ...endpoint, model: request.model ?? 'manual', localOnly };
  if (!request.model)
    throw usage(
      `Provider ${endpoint.name} needs the name of a model.`,
      `Add --model NAME; \`cudamaster models --provider ${endpoint.name}\` lists them.`,
    );
  const choice = { ...endpoint, model: request.model, localOnly };
  return staying(choice);
}

/** Throws AppFailure `provider.local-only` for a choice that is to stay on this machine and leads elsewhere. */
function staying(choice: ProviderChoice): ProviderChoice {
  if (choice.localOnly && choice.baseUrl !== null) unwrap(checkModel(choice.baseUrl, choice.model));
  return choice;
}

/** Choices made earlier, under a "local only" that may have been switched on since. Throws AppFailure `provider.local-only`. */
export function confined({ main, agents }: ProviderChoices, localOnly: boolean): ProviderChoices {
  const bound = (choice: ProviderChoice) => staying({ ...choice, localOnly: choice.localOnly || localOnly });
  const own = Object.entries(agents).flatMap(([agent, choice]) => (choice ? [[agent, bound(choice)] as const] : []));
  return { main: bound(main), agents: Object.fromEntries(own) };
}

/** The run's provider and those of single agents, which may differ in model, provider, address or key. */
export function chooseProviders(
  request: ProviderRequest & {
    provider: string;
    agents?: Readonly<Partial<Record<AgentName, ProviderRequest | undefined>>>;
  },
  settings: Pick<Settings, 'endpoints'>,
  localOnly: boolean,
): ProviderChoices {
  const main = chooseProvider(request, settings, localOnly);
  const agents: Partial<Record<AgentName, ProviderChoice>> = {};
  for (const agent of agentNames) {
    const own = request.agents?.[agent];
    if (own === undefined) continue;
    // Only the model differs: the run's address and key serve.
    const elsewhere = own.provider !== undefined && own.provider !== request.provider;
    const whole = elsewhere ? { ...own, provider: own.provider ?? '' } : { ...request, ...defined(own) };
    agents[agent] = chooseProvider(whole, settings, localOnly);
  }
  return { main, agents };
}

const defined = <T extends object>(o: T): Partial<T> =>
  Object.fromEntries(Object.entries(o).filter(([, v]) => v !== undefined)) as Partial<T>;

export const allChoices = (choices: ProviderChoices): ProviderChoice[] => [
  choices.main,
  ...Object.values(choices.agents).filter((c) => c !== undefined),
];

/** Host other than this machine to which a choice sends prompts; null = nothing leaves this machine. */
export const remoteHost = ({ baseUrl, model }: Pick<ProviderChoice, 'model' | 'baseUrl'>): string | null =>
  baseUrl === null ? null : promptHost(baseUrl, model);

const keyOf = (choice: Pick<ProviderChoice, 'keyEnv'>, env: NodeJS.ProcessEnv) => () =>
  readKey(choice.keyEnv === null ? { none: true } : { env: choice.keyEnv }, env);

export const pricesFile = (): string => join(configDir(), 'prices.json');
const adaptationsFile = (): string => join(configDir(), 'adaptations.json');

/** A limit on money that nothing could ever reach is refused. Throws AppFailure `usage`; `format.*`, `input.file` of the price table. */
export async function checkMoneyLimit(choices: ProviderChoices, maxUsd: number | null): Promise<void> {
  if (maxUsd === null) return;
  const refuse = (why: string, remedy: string): never => {
    throw usage(`--max-usd cannot be kept: ${why}`, remedy);
  };
  const prices = unwrap(await loadPrices(pricesFile()));
  for (const { baseUrl, model } of allChoices(choices)) {
    if (baseUrl === null) return refuse('what a person brings has no known price.', 'Leave it out.');
    const { hostname } = new URL(baseUrl);
    if (costOf(prices, hostname, model, { promptTokens: 0, completionTokens: 0 }) === null)
      refuse(
        `the price of ${model} at ${hostname} is not known.`,
        `Enter it: \`cudamaster prices set ${model} --input … --output … --source …\` (${pricesFile()}), or limit --max-tokens.`,
      );
  }
}

/** `dir`: the run's folder for prompts and answers of the manual provider. */
async function makeOne(
  choice: ProviderChoice,
  parts: { dir: string; env: NodeJS.ProcessEnv; effort?: Effort },
): Promise<ChatProvider> {
  if (choice.baseUrl === null) return manualProvider({ dir: parts.dir });
  return openAiProvider({
    baseUrl: choice.baseUrl,
    model: choice.model,
    key: keyOf(choice, parts.env),
    localOnly: choice.localOnly,
    prices: unwrap(await loadPrices(pricesFile())),
    memory: await adaptationFile(adaptationsFile()),
    ...(parts.effort === undefined ? {} : { effort: parts.effort }),
  });
}

/** The run's provider; agents with a choice of their own are asked there. */
export async function makeProvider(
  choices: ProviderChoices,
  parts: { dir: string; env: NodeJS.ProcessEnv; effort?: Effort },
): Promise<ChatProvider> {
  const agents: Partial<Record<AgentName, ChatProvider>> = {};
  for (const agent of agentNames) {
    const own = choices.agents[agent];
    if (own !== undefined) agents[agent] = await makeOne(own, parts);
  }
  return routeByAgent(await makeOne(choices.main, parts), agents);
}

/** Fails early when a key is missing. Throws AppFailure `provider.auth`. */
export function checkKeys(choices: ProviderChoices, env: NodeJS.ProcessEnv): void {
  for (const choice of allChoices(choices)) if (choice.baseUrl !== null) unwrap(keyOf(choice, env)());
}

/** Prompts are planned for this length where a server does not tell its own, tokens. */
const cautiousContext = 32_768;

/**
 * Asks the servers for their context lengths. The shortest counts, since prompts are planned once for all agents; null = none of them
 * says.
 */
export async function askContext(choices: ProviderChoices, env: NodeJS.ProcessEnv): Promise<number | null> {
  const said: (number | null)[] = [];
  for (const choice of allChoices(choices)) {
    if (choice.baseUrl === null) continue;
    const { baseUrl, model, localOnly } = choice;
    said.push(await probeContext({ baseUrl, model, localOnly, key: unwrap(keyOf(choice, env)()) }));
  }
  const known = said.filter((n) => n !== null);
  if (known.length === 0) return null;
  return Math.min(...known, ...(known.length < said.length ? [cautiousContext] : []));
}

/** May an unanswered request have cost money? A server on this machine may be the door to a paid one. */
export const isPaid = (choices: ProviderChoices | null): boolean =>
  choices !== null && allChoices(choices).some((c) => c.baseUrl !== null);

/** How long a server on this machine may take to answer before it counts as absent, ms. */
const detectMs = 1500;

async function running(
  preset: ProviderPreset,
  key: string | null,
): Promise<Pick<ProviderState, 'running' | 'models' | 'note'>> {
  const { baseUrl } = preset;
  if (baseUrl === null || !isLoopback(new URL(baseUrl).hostname)) return { running: null, models: null, note: null };
  const found = await listModels({ baseUrl, localOnly: true, key }, { timeoutMs: detectMs });
  if (found.ok) {
    const makers = [...new Set(found.value.map((m) => m.ownedBy).filter((o) => o !== null))];
    return {
      running: true,
      models: found.value.length,
      note: makers.length === 0 ? null : `owned by ${makers.join(', ')}`,
    };
  }
  if (found.error.code === 'provider.unreachable') return { running: false, models: null, note: null };
  const something = found.error.code === 'provider.auth';
  return { running: something, models: null, note: `something answers there: ${found.error.message}` };
}

/** Every provider as it stands here. Asks servers on this machine only; nothing goes to another. */
export async function listProviders(settings: Settings, env: NodeJS.ProcessEnv): Promise<ProviderState[]> {
  const own = settings.endpoints.map((p) => p.name);
  const all = [...settings.endpoints, ...presets.filter((p) => !own.includes(p.name))];
  return Promise.all(
    all.map(async (preset) => {
      const key = preset.keyEnv === null ? null : (env[preset.keyEnv]?.trim() ?? '');
      const host = remoteHost({ ...preset, model: '' });
      return {
        ...preset,
        keySet: key === null ? null : key !== '',
        remote: host,
        consented: host !== null && settings.knownRemotes.includes(host),
        disclosure: host === null ? null : disclosureText(host, []),
        blocked: settings.localOnly && host !== null,
        ...(await running(preset, key || null)),
        own: own.includes(preset.name),
      };
    }),
  );
}

type Listing = ProviderRequest & { provider: string; localOnly?: boolean };

/** What a list of models is asked of. Throws AppFailure `usage`, `provider.local-only`. */
function listingOf(request: Listing, settings: Settings) {
  const localOnly = request.localOnly === true || settings.localOnly;
  const { name, baseUrl, keyEnv } = endpointOf(request, settings, localOnly);
  if (baseUrl === null) throw usage(`Provider ${name} has no list of models: the answers are yours.`);
  return { baseUrl, keyEnv, localOnly };
}

/** Host other than this machine that would be asked for its models; null = none. Throws AppFailure `usage`, `provider.local-only`. */
export function listingHost(request: Listing, settings: Settings): string | null {
  const { hostname, host } = new URL(listingOf(request, settings).baseUrl);
  return isLoopback(hostname) ? null : host;
}

/** The models of a provider, consent given. Throws AppFailure `usage`, `provider.*`. */
export async function modelsOf(
  request: Listing,
  settings: Settings,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<ModelState[]> {
  const { baseUrl, keyEnv, localOnly } = listingOf(request, settings);
  const prices = unwrap(await loadPrices(pricesFile()));
  return unwrap(await listModels({ baseUrl, localOnly, key: unwrap(keyOf({ keyEnv }, env)()) }, { signal, prices }));
}
