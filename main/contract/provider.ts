import { z } from 'zod';
import { agentNames } from './chat.ts';

/** Where a model answers: on this machine, elsewhere, wherever the user's address leads, or a person. */
export const providerPlaces = ['local', 'remote', 'either', 'person'] as const;

/** A provider by name, as data: main/llm/presets.json and the user's own `endpoints` in the settings. */
export const providerPresetSchema = z.object({
  name: z.string().regex(/^[a-z0-9][a-z0-9._-]{0,40}$/),
  title: z.string(),
  place: z.enum(providerPlaces),
  /** Base address of the chat interface; null = the user gives it, or there is none. */
  baseUrl: z.string().nullable(),
  /** Environment variable in which its key usually is; null = none needed. */
  keyEnv: z.string().nullable(),
  /** What differs from the others, in words. */
  quirks: z.array(z.string()),
  /** Where its interface is documented. */
  docs: z.string().nullable(),
});
export type ProviderPreset = z.infer<typeof providerPresetSchema>;

/** A provider as it stands on this machine: what `cudamaster providers` lists. Holds no key. */
export interface ProviderState extends ProviderPreset {
  /** Whether the variable with its key is set; null = it needs none. */
  readonly keySet: boolean | null;
  /** Host to which prompts go; null: nothing leaves this machine, or no address is known. */
  readonly remote: string | null;
  /** The user agreed that prompts go there. */
  readonly consented: boolean;
  /** What is sent there and what not; null: nothing leaves this machine. */
  readonly disclosure: string | null;
  /** "Local only" forbids it. */
  readonly blocked: boolean;
  /** Servers on this machine: whether one answers at the address now. null = not asked (remote, or no address). */
  readonly running: boolean | null;
  /** How many models it offers; null = not asked, or it did not say. */
  readonly models: number | null;
  /** Why it does not answer as expected; null = nothing to say. */
  readonly note: string | null;
  /** From the user's settings, not from the program's own list. */
  readonly own: boolean;
}

/** A model that a server offers. */
export interface ModelState {
  readonly id: string;
  /** Prompt and answer together, tokens; null = the server does not say. */
  readonly contextTokens: number | null;
  readonly ownedBy: string | null;
  /** The user's price for it, US dollars per million tokens; null = not entered. */
  readonly price: {
    readonly input: number;
    readonly output: number;
    readonly source: string;
    readonly asOf: string;
  } | null;
}

/** How hard a model may think; left out where a server refuses it. */
export const efforts = ['low', 'medium', 'high'] as const;
export const effortSchema = z.enum(efforts);
export type Effort = z.infer<typeof effortSchema>;

/** Provider and model of the agents for which they differ from the run's. */
export const agentModelsSchema = z.partialRecord(
  z.enum(agentNames),
  z.object({ provider: z.string(), model: z.string() }),
);
export type AgentModels = z.infer<typeof agentModelsSchema>;

/** What would be sent to another machine: shown before the first request to it, which waits for the user's consent. */
export interface RemoteDisclosure {
  readonly host: string;
  readonly models: readonly string[];
  /** One text for a person: what goes there and what not. */
  readonly text: string;
  readonly consented: boolean;
}

/** What replies cost. A reply of unknown cost is counted as such and is in no sum. */
export interface SpendSum {
  readonly replies: number;
  /** Sum of the known costs, US dollars; null = none is known. */
  readonly usd: number | null;
  /** Replies of unknown cost. */
  readonly unknown: number;
  /** Sums of the known counts; null = none is known. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly unknownTokens: number;
}

/** Answer of `cudamaster spend`: real runs only, replays and demos ask nobody. */
export interface Spend {
  readonly total: SpendSum;
  /** By month of the reply (UTC), "2026-11", newest first. */
  readonly month: readonly (SpendSum & { readonly key: string })[];
  readonly task: readonly (SpendSum & { readonly key: string })[];
  /** By provider and model, "openai some-model". */
  readonly model: readonly (SpendSum & { readonly key: string })[];
  /** Newest first. */
  readonly run: readonly (SpendSum & { readonly key: string; readonly task: string; readonly createdAt: string })[];
}
