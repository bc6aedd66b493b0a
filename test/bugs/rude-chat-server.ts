/**
 * A model server that misbehaves as servers do, as a process of its own: `node rude-chat-server.ts` prints its port. A control request
 * names the scenario and starts counting anew; what was asked can be read back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { reply } from '../app/lab.ts';
import { chunk, end, error, type Handler, refuse, type Seen, stream, usage } from '../llm/server.ts';

interface Message {
  readonly role: string;
  readonly content: string;
}
const messagesOf = (seen: Seen): Message[] => (seen.body.messages ?? []) as Message[];
const promptOf = (seen: Seen): string =>
  messagesOf(seen)
    .map((m) => m.content)
    .join('\n');
const isCoder = (seen: Seen): boolean => promptOf(seen).includes('You write CUDA C++');
/** The first candidate is right and faster: nobody has cause to ask Debug. */
const good = (seen: Seen): string => reply(promptOf(seen)).replace('lab: wrong', 'lab: 1.5');
const tell =
  (text: string, counted: unknown = usage(5000, 50)): Handler =>
  (response, seen) =>
    stream([chunk(text), end(), counted])(response, seen);
const goOn: Handler = (response, seen) => tell(good(seen))(response, seen);
const codeOf = (text: string): string => /```cuda\n([\s\S]*?)```/.exec(text)?.[1] ?? '';

const noSuchParameter = (param: string, hint: string) =>
  refuse(
    400,
    error(`Unsupported parameter: '${param}' is not supported with this model.${hint}`, {
      param,
      code: 'unsupported_parameter',
    }),
  );

/** Ollama: the model is loaded by the first chat; a longer prompt than its context is cut, and nothing is said. */
const loadedContext = 2304;
const asOllama =
  (kept: number): Scenario =>
  (seen) => {
    const tokens = Math.ceil(promptOf(seen).length / 3.5);
    const counted = usage(tokens > loadedContext ? kept : tokens, 50);
    return stream([{ ...(chunk(good(seen)) as object), system_fingerprint: 'fp_ollama' }, end(), counted]);
  };

/** `n`: how many chats came before this one. */
type Scenario = (seen: Seen, n: number) => Handler;

const scenarios: Record<string, Scenario> = {
  good: () => goOn,
  B30: (seen) => {
    if ('max_tokens' in seen.body) return noSuchParameter('max_tokens', " Use 'max_completion_tokens' instead.");
    return 'reasoning_effort' in seen.body ? noSuchParameter('reasoning_effort', '') : goOn;
  },
  B31: (seen) => {
    const role = messagesOf(seen).find((m) => !['system', 'user', 'assistant', 'tool'].includes(m.role))?.role;
    if (role === undefined) return goOn;
    return refuse(422, {
      detail: `unknown variant \`${role}\`, expected one of \`system\`, \`user\`, \`assistant\`, \`tool\``,
    });
  },
  B32: (seen) => {
    const thought = 'private-thought: maybe ```cuda\nint draft;\n``` as in "</think>"? no.\n</think>\n';
    const apart = { choices: [{ index: 0, delta: { reasoning_content: 'private-thought again' } }] };
    return stream([apart, chunk(`${thought}${good(seen)}`), end(), usage(5000, 50)]);
  },
  'B34 blocks': (seen) => {
    if (!isCoder(seen)) return goOn;
    const code = codeOf(good(seen));
    return tell(`First try:\n\n\`\`\`c++\n// draft-code\n${code}\`\`\`\n\nCorrected:\n\n\`\`\`c++\n${code}\`\`\`\n`);
  },
  'B34 cut': (seen, n) => {
    if (!isCoder(seen)) return goOn;
    const text = good(seen);
    const half = Math.floor(text.length / 2);
    if (messagesOf(seen).length > 2) return tell(text.slice(half));
    return n > 1 ? goOn : stream([chunk(text.slice(0, half)), end('length'), usage(5000, 50)]);
  },
  'B35 quota': () =>
    refuse(
      429,
      error('You exceeded your current quota, please check your plan and billing details.', {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      }),
      { 'retry-after': '1' },
    ),
  'B35 rate': (_seen, n) => (n === 0 ? refuse(429, error('Rate limit reached'), { 'retry-after': '1' }) : goOn),
  'B35 days': () => refuse(429, error('Rate limit reached'), { 'retry-after': String(16 * 86_400) }),
  'B36 refused': (seen) => {
    const limit = 9000;
    const prompt = Math.ceil(promptOf(seen).length / 4);
    const wanted = prompt + Number(seen.body.max_tokens ?? seen.body.max_completion_tokens ?? 0);
    if (wanted <= limit) return goOn;
    return refuse(
      400,
      error(
        `This model's maximum context length is ${limit} tokens. However, you requested ${wanted} tokens (${limit + prompt} in the messages, ${wanted - prompt} in the completion).`,
      ),
    );
  },
  'B36 cut': (seen) => tell(good(seen), usage(40, 50)),
  'B36 Ollama': asOllama(loadedContext),
  'B36 Ollama half': asOllama(4 + (loadedContext - 4) / 2),
  'B36 no query': () => refuse(500, error('no user query found in messages')),
  B37: (seen) =>
    stream([
      { choices: null },
      'null',
      chunk(good(seen)),
      end(),
      { model: 'test-model', choices: [], usage: null },
      { model: 'test-model' },
    ]),
  dropped: (seen) => stream([chunk(good(seen).slice(0, 20))], { breakAfter: true }),
  withheld: (seen) => stream([chunk(good(seen).slice(0, 20)), end('content_filter'), usage(9000, 4000)]),
  auth: (seen) => refuse(401, error(`Incorrect API key provided: ${String(seen.headers.authorization)}.`)),
  elsewhere: () => refuse(307, '', { location: 'http://192.0.2.7/v1/chat/completions' }),
};

let scenario: Scenario = () => goOn;
let isOllama = false;
let chats: Seen[] = [];

function respond(request: IncomingMessage, response: ServerResponse, text: string): void {
  const { url: path = '', method = '', headers } = request;
  if (path === '/seen') {
    response.end(JSON.stringify(chats));
    return;
  }
  if (path === '/control') {
    const name = String(JSON.parse(text).scenario);
    scenario = scenarios[name] ?? (() => refuse(500, 'no such scenario'));
    isOllama = name.includes('Ollama');
    chats = [];
    response.end('{}');
    return;
  }
  if (isOllama && (path === '/v1/models' || path === '/api/ps')) {
    const loaded = chats.map((chat) => ({ name: `${String(chat.body.model)}:latest`, context_length: loadedContext }));
    const said =
      path === '/api/ps' ? { models: loaded.slice(0, 1) } : { data: [{ id: 'm:latest', owned_by: 'library' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    return;
  }
  if (method !== 'POST') {
    response.writeHead(404).end();
    return;
  }
  const seen: Seen = { path, method, headers, body: JSON.parse(text), at: performance.now() };
  const n = chats.push(seen) - 1;
  void scenario(seen, n)(response, seen);
}

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('error', () => {});
  response.on('error', () => {});
  request.on('end', () => respond(request, response, Buffer.concat(parts).toString()));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
// Ends with the test that started it.
process.stdin.on('end', () => process.exit(0)).resume();
