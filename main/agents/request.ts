import { type AgentName, type ChatRequest, ok, type Result } from '../contract/index.ts';
import { answerTokens, type Budget, estimateTokens } from './budget.ts';
import { fillTemplate, type Template, type Values } from './template.ts';

/** A request with its whole text, for the length estimate. */
export interface Built {
  readonly request: ChatRequest;
  readonly text: string;
}

/** Fills a template into a request. */
export function buildRequest(agent: AgentName, template: Template, values: Values, budget: Budget): Result<Built> {
  const filled = fillTemplate(template, values);
  if (!filled.ok) return filled;
  const { system, user } = filled.value;
  const request: ChatRequest = {
    agent,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
    maxTokens: answerTokens(agent, budget),
  };
  return ok({ request, text: `${system}\n${user}` });
}

/** Room for the prompt beside the answer. */
export const promptRoom = (agent: AgentName, budget: Budget): number =>
  budget.contextTokens - answerTokens(agent, budget);

/** A rest shorter than this is not worth asking for, tokens. */
const leastRest = 512;

/**
 * Asks for the rest of a cut answer: the same conversation, the answer so far, one more question. null: the context has no
 * room left for it.
 */
export function continuationRequest(
  first: ChatRequest,
  answer: string,
  continuation: Template,
  budget: Budget,
): ChatRequest | null {
  const messages = [
    ...first.messages,
    { role: 'assistant' as const, content: answer },
    { role: 'user' as const, content: continuation.user },
  ];
  const room = budget.contextTokens - estimateTokens(messages.map((m) => m.content).join('\n'));
  if (room < leastRest) return null;
  return { ...first, messages, maxTokens: Math.min(first.maxTokens, room) };
}
