import { z } from 'zod';
import type { Waiting } from './job.ts';
import type { Result } from './result.ts';

export const agentNames = ['planner', 'coder', 'compiler', 'debug'] as const;
export type AgentName = (typeof agentNames)[number];

const chatMessageSchema = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });

export const chatRequestSchema = z.object({
  agent: z.enum(agentNames),
  messages: z.array(chatMessageSchema),
  /** Upper bound on the answer, tokens. */
  maxTokens: z.number().int().positive(),
  temperature: z.number().optional(),
});
export type ChatRequest = z.infer<typeof chatRequestSchema>;

/** Usage as the server reports it; null = unknown, never 0. */
export const usageSchema = z.object({
  promptTokens: z.number().int().nullable(),
  completionTokens: z.number().int().nullable(),
});
export type Usage = z.infer<typeof usageSchema>;

export const chatReplySchema = z.object({
  text: z.string(),
  /** Thinking text kept apart (never sent back). */
  reasoning: z.string().default(''),
  finish: z.enum(['stop', 'length', 'other']),
  usage: usageSchema,
  model: z.string(),
  provider: z.string(),
  wallMs: z.number(),
  /** Price in US dollars; null = unknown. */
  costUsd: z.number().nullable(),
  /** What the user should know about this exchange: a parameter that had to be left out, a prompt the server seems to have cut. */
  warnings: z.array(z.string()).optional(),
});
export type ChatReply = z.infer<typeof chatReplySchema>;

/** What one request took, as far as the server told. */
export interface Bill {
  readonly usage: Usage;
  /** Price in US dollars; null = unknown. */
  readonly costUsd: number | null;
}
export const unknownBill: Bill = { usage: { promptTokens: null, completionTokens: null }, costUsd: null };

export interface ChatOptions {
  readonly signal?: AbortSignal;
  readonly onToken?: (delta: string) => void;
  /** Position in the run, e.g. "r1.planner": names the prompt file of the manual provider, the key of a recording. */
  readonly position: string;
  /** The provider waits before it asks again (rate limit, server overloaded). */
  readonly onWait?: (wait: { readonly seconds: number; readonly why: string }) => void;
  /**
   * A request was sent that leads to no reply, and may have been charged. `bill`: what the server told of it (an answer that was withheld);
   * absent: its cost cannot be known (dropped, cancelled).
   */
  readonly onUnanswered?: (bill?: Bill) => void;
}

export type ChatOutcome =
  | { readonly kind: 'done'; readonly reply: ChatReply }
  | { readonly kind: 'parked'; readonly waiting: Waiting };

export interface ChatProvider {
  readonly name: string;
  chat(request: ChatRequest, options: ChatOptions): Promise<Result<ChatOutcome>>;
}
