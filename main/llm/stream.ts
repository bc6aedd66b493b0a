import type { ChatReply, Usage } from '../contract/index.ts';

/** What a streamed answer has come to so far. */
export interface Assembled {
  text: string;
  reasoning: string;
  finish: ChatReply['finish'] | null;
  filtered: boolean;
  usage: Usage;
  model: string | null;
  /** The server says that it is Ollama. */
  ollama: boolean;
}

export const emptyAnswer = (): Assembled => ({
  text: '',
  reasoning: '',
  finish: null,
  filtered: false,
  usage: { promptTokens: null, completionTokens: null },
  model: null,
  ollama: false,
});

const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;

/** Some servers send a list of parts, of which the thinking is not the answer. */
const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content.map(record) : [];
  return parts.map((part) => (part.type === 'text' && typeof part.text === 'string' ? part.text : '')).join('');
};

/**
 * Takes one chunk in; gives back the new text. Tolerates what gateways send: null, no `choices`, empty `choices`,
 * `usage: null`, a whole `message` instead of a `delta`.
 */
export function takeChunk(answer: Assembled, chunk: unknown): string {
  const c = record(chunk);
  if (typeof c.model === 'string' && c.model !== '') answer.model = c.model;
  if (c.system_fingerprint === 'fp_ollama') answer.ollama = true;
  const usage = record(c.usage);
  const prompt = count(usage.prompt_tokens);
  const completion = count(usage.completion_tokens);
  if (prompt !== null || completion !== null)
    answer.usage = {
      promptTokens: prompt ?? answer.usage.promptTokens,
      completionTokens: completion ?? answer.usage.completionTokens,
    };
  const choice = record(Array.isArray(c.choices) ? c.choices[0] : undefined);
  const delta = record(choice.delta ?? choice.message);
  const thought = delta.reasoning_content ?? delta.reasoning;
  if (typeof thought === 'string') answer.reasoning += thought;
  const text = textOf(delta.content);
  answer.text += text;
  const finish = choice.finish_reason;
  if (typeof finish === 'string' && finish !== '') {
    answer.finish = finish === 'stop' || finish === 'length' ? finish : 'other';
    if (finish === 'content_filter') answer.filtered = true;
  }
  return text;
}
