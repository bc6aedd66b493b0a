import type { ChatRequest, Effort } from '../contract/index.ts';

/** What a server was found not to accept. One entry per (address, model). */
export interface Adaptation {
  readonly lengthField: 'max_tokens' | 'max_completion_tokens';
  /** Largest answer the model allows, tokens; null = not found out. */
  readonly lengthCap: number | null;
  /** Left out: temperature, reasoning_effort, stream_options, the length field itself, or `system` (system text goes into the user message). */
  readonly dropped: ReadonlySet<string>;
  /** Parameters that were adapted already: each at most once. */
  readonly tried: ReadonlySet<string>;
}

/** Where it is remembered: a Map for the life of the process, or a file (memory.ts). */
export interface AdaptationMemory {
  get(key: string): Adaptation | undefined;
  set(key: string, adaptation: Adaptation): unknown;
}
export const processMemory: AdaptationMemory = new Map();

/** Key of an entry: the address without anything that could be a key, and the model. */
export const memoryKey = (url: URL, model: string): string => `${url.origin}${url.pathname} ${model}`;

/** OpenAI's own models want the new name of the length field, most compatible servers only know the old one. */
export const firstGuess = (host: string): Adaptation => ({
  lengthField: host === 'api.openai.com' ? 'max_completion_tokens' : 'max_tokens',
  lengthCap: null,
  dropped: new Set(),
  tried: new Set(),
});

type Body = Record<string, unknown> & { messages: { role: string; content: string }[] };

/** Some models know no system role: its text then leads the first user message. */
function withoutSystem(messages: Body['messages']): Body['messages'] {
  const system = messages.filter((m) => m.role === 'system').map((m) => m.content);
  const rest = messages.filter((m) => m.role !== 'system');
  const [first, ...others] = rest;
  if (first === undefined) return system.map((content) => ({ role: 'user', content }));
  return [{ ...first, content: [...system, first.content].join('\n\n') }, ...others];
}

/** The JSON body of a request. `maxTokens` overrides the request's when the context leaves less room. */
export function bodyOf(
  request: ChatRequest,
  model: string,
  a: Adaptation,
  maxTokens = request.maxTokens,
  effort?: Effort,
): Body {
  const messages = request.messages.map((m) => ({ role: m.role, content: m.content }));
  const body: Body = { model, messages: a.dropped.has('system') ? withoutSystem(messages) : messages, stream: true };
  if (!a.dropped.has('stream_options')) body.stream_options = { include_usage: true };
  if (!a.dropped.has(a.lengthField)) body[a.lengthField] = Math.min(maxTokens, a.lengthCap ?? maxTokens);
  if (request.temperature !== undefined && !a.dropped.has('temperature')) body.temperature = request.temperature;
  if (effort !== undefined && !a.dropped.has('reasoning_effort')) body.reasoning_effort = effort;
  return body;
}

export interface Complaint {
  /** The parameter that the server refuses. */
  readonly param:
    | 'max_tokens'
    | 'max_completion_tokens'
    | 'temperature'
    | 'reasoning_effort'
    | 'stream_options'
    | 'system';
  /** The largest length it would accept, when it says so. */
  readonly cap: number | null;
}

/** What to send instead, and in words what changed; null = this parameter was adapted before, or there is nothing to try. */
export function adapt(a: Adaptation, complaint: Complaint): { next: Adaptation; said: string } | null {
  const key = complaint.cap === null ? complaint.param : `${complaint.param}:cap`;
  if (a.tried.has(key)) return null;
  const tried = new Set([...a.tried, key]);
  const { param, cap } = complaint;
  if (cap !== null) return { next: { ...a, lengthCap: cap, tried }, said: `the answer is limited to ${cap} tokens` };
  if (param === 'max_tokens' || param === 'max_completion_tokens') {
    const other = param === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
    if (a.lengthField !== param) return null;
    if (a.tried.has(other))
      return { next: { ...a, dropped: new Set([...a.dropped, param]), tried }, said: `${param} is left out` };
    return { next: { ...a, lengthField: other, tried }, said: `${other} is sent instead of ${param}` };
  }
  const said = param === 'system' ? 'the system text is sent in the user message' : `${param} is left out`;
  return { next: { ...a, dropped: new Set([...a.dropped, param]), tried }, said };
}
