import { z } from 'zod';
import { configDir } from '../base/paths.ts';
import {
  AppFailure,
  err,
  type ModelState,
  type ProviderState,
  providerPresetSchema,
  unwrap,
} from '../contract/index.ts';
import {
  checkAddress,
  findPreset,
  keyReferenceSchema,
  loadPrices,
  type Price,
  type PriceTable,
  priceSchema,
  withoutPrice,
  withPrice,
  writePrices,
} from '../llm/index.ts';
import { type Agreement, listingText, requireConsent } from './consent.ts';
import { type AppContext, settingsOf } from './context.ts';
import type { ServiceContext } from './events.ts';
import { listingHost, listProviders, modelsOf, type ProviderRequest, pricesFile } from './providers.ts';
import { type Settings, writeSettings } from './settings.ts';

const usage = (message: string, remedy?: string): AppFailure => new AppFailure(err('usage', message, { remedy }).error);

export const providerList = async (app: AppContext): Promise<ProviderState[]> =>
  listProviders(await settingsOf(), app.env);

export interface ModelsParams extends ProviderRequest, Agreement {
  readonly provider: string;
  readonly localOnly?: boolean;
}

/**
 * The models of a provider. A remote host is asked after the same consent as for prompts: the key goes along. Throws AppFailure `usage`,
 * `provider.*`.
 */
export async function modelList(app: AppContext, params: ModelsParams, ctx: ServiceContext): Promise<ModelState[]> {
  const settings = await settingsOf();
  const host = listingHost(params, settings);
  const consented = host !== null && settings.knownRemotes.includes(host);
  const places = host === null ? [] : [{ host, models: [], text: listingText(host), consented }];
  await requireConsent(ctx, settings, places, params, 'the list of models');
  return modelsOf(params, settings, app.env, ctx.signal);
}

export interface EndpointParams {
  readonly name: string;
  /** Absent: the endpoint is removed. */
  readonly baseUrl?: string;
  readonly title?: string;
  readonly keyEnv?: string;
}

/** Enters a provider of the user's own, or removes it. Throws AppFailure `usage`. */
export async function changeEndpoint(app: AppContext, params: EndpointParams): Promise<ProviderState[]> {
  const settings = await settingsOf();
  const others = settings.endpoints.filter((p) => p.name !== params.name);
  if (params.baseUrl === undefined) {
    if (others.length === settings.endpoints.length) throw usage(`You have no provider "${params.name}".`);
    await writeSettings(configDir(), { ...settings, endpoints: others });
    return providerList(app);
  }
  if (findPreset(params.name)) throw usage(`"${params.name}" is a provider of the program.`, 'Choose another name.');
  unwrap(checkAddress(params.baseUrl, false));
  if (params.keyEnv !== undefined && !keyReferenceSchema.safeParse({ env: params.keyEnv }).success)
    throw usage('The name of an environment variable is needed, not a key.', 'For example --key-env OPENAI_API_KEY.');
  const entry = providerPresetSchema.safeParse({
    name: params.name,
    title: params.title ?? params.name,
    place: 'either',
    baseUrl: params.baseUrl,
    keyEnv: params.keyEnv ?? null,
    quirks: [],
    docs: null,
  });
  if (!entry.success)
    throw usage(`"${params.name}" cannot be a name.`, 'Small letters, digits, dot, dash and underscore.');
  await writeSettings(configDir(), { ...settings, endpoints: [...others, entry.data] });
  return providerList(app);
}

/** Hosts to which the user agreed that prompts go. */
export interface ConsentAnswer {
  readonly hosts: readonly string[];
}

/** A host as settings keep it: "api.example.com" or "host:8000". */
function hostOf(text: string): string {
  try {
    const url = new URL(/^https?:\/\//.test(text) ? text : `http://${text}`);
    if (url.host !== '') return url.host;
  } catch {
    // Told below.
  }
  throw usage(`"${text}" is no host.`, 'Give it as api.example.com, or as the address of the server.');
}

/** Lists, gives or takes back consents. Throws AppFailure `usage`. */
export async function changeConsent(params: { give?: string; revoke?: string }): Promise<ConsentAnswer> {
  const settings: Settings = await settingsOf();
  let hosts = settings.knownRemotes;
  if (params.give !== undefined) hosts = [...new Set([...hosts, hostOf(params.give)])].sort();
  if (params.revoke !== undefined) {
    const host = hostOf(params.revoke);
    if (!hosts.includes(host)) throw usage(`There is no consent for ${host}.`);
    hosts = hosts.filter((h) => h !== host);
  }
  if (hosts !== settings.knownRemotes) await writeSettings(configDir(), { ...settings, knownRemotes: hosts });
  return { hosts };
}

export interface PriceAnswer extends PriceTable {
  readonly file: string;
}
export type PriceParams = Omit<Price, 'asOf'> & { readonly asOf?: string };

const answerOf = (table: PriceTable): PriceAnswer => ({ ...table, file: pricesFile() });

export const priceList = async (): Promise<PriceAnswer> => answerOf(unwrap(await loadPrices(pricesFile())));

/** Enters a price of the user's. Throws AppFailure `usage`, `format.*`. */
export async function setPrice(params: PriceParams): Promise<PriceAnswer> {
  const asOf = params.asOf ?? new Date().toISOString().slice(0, 10);
  if (!z.iso.date().safeParse(asOf).success) throw usage(`"${asOf}" is no day.`, 'Give it as 2026-01-31.');
  if (params.source.trim() === '')
    throw usage('A price needs its source.', "Name the page or contract that it is from, with --source 'https://…'.");
  const price = priceSchema.safeParse({ ...params, asOf });
  if (!price.success) throw usage(`This price cannot be entered: ${z.prettifyError(price.error)}`);
  const table = withPrice(unwrap(await loadPrices(pricesFile())), price.data);
  await writePrices(pricesFile(), table);
  return answerOf(table);
}

/** Throws AppFailure `usage` when there is no such entry. */
export async function removePrice(params: { model: string; address?: string }): Promise<PriceAnswer> {
  const table = withoutPrice(unwrap(await loadPrices(pricesFile())), params);
  if (table === null) throw usage(`No price is entered for ${params.model}.`, '`cudamaster prices` lists them.');
  await writePrices(pricesFile(), table);
  return answerOf(table);
}
