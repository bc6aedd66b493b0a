import { type ProviderPreset, providerPresetSchema } from '../contract/index.ts';
import data from './presets.json' with { type: 'json' };

/** The program's own list of providers, in the order in which it is shown. */
export const presets: readonly ProviderPreset[] = data.presets.map((p) => providerPresetSchema.parse(p));

/** Older name of `custom`. */
const aliases: Readonly<Record<string, string>> = { compatible: 'custom' };

/** A provider by name: the user's own endpoints come before the program's list. undefined = none of that name. */
export function findPreset(name: string, own: readonly ProviderPreset[] = []): ProviderPreset | undefined {
  const wanted = aliases[name] ?? name;
  return own.find((p) => p.name === wanted) ?? presets.find((p) => p.name === wanted);
}
