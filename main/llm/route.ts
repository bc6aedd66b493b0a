import type { AgentName, ChatProvider } from '../contract/index.ts';

/** Sends each agent's requests to its own provider; agents without one ask `main`. */
export function routeByAgent(
  main: ChatProvider,
  byAgent: Readonly<Partial<Record<AgentName, ChatProvider>>>,
): ChatProvider {
  return {
    name: main.name,
    chat: (request, options) => (byAgent[request.agent] ?? main).chat(request, options),
  };
}
