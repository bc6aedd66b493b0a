import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Seen {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
  readonly at: number;
}
export type Handler = (response: ServerResponse, seen: Seen) => void | Promise<void>;

/** A model server on a real socket: answers requests one after the other by the handlers given; the last one stays. */
export class ModelServer {
  readonly seen: Seen[] = [];
  readonly baseUrl: string;
  readonly close: () => Promise<void>;

  constructor(baseUrl: string, close: () => Promise<void>) {
    this.baseUrl = baseUrl;
    this.close = close;
  }

  bodies(): Record<string, unknown>[] {
    return this.seen.map((s) => s.body);
  }

  static async start(...handlers: Handler[]): Promise<ModelServer> {
    const box: { server?: ModelServer } = {};
    let n = 0;
    const http = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('error', () => {});
      response.on('error', () => {});
      request.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const seen: Seen = {
          path: request.url ?? '',
          method: request.method ?? '',
          headers: request.headers,
          body: text === '' ? {} : JSON.parse(text),
          at: performance.now(),
        };
        box.server?.seen.push(seen);
        void handlers[Math.min(n++, handlers.length - 1)]?.(response, seen);
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const port = (http.address() as AddressInfo).port;
    const close = () =>
      new Promise<void>((resolve) => {
        http.closeAllConnections();
        http.close(() => resolve());
      });
    box.server = new ModelServer(`http://127.0.0.1:${port}/v1`, close);
    return box.server;
  }
}

export const chunk = (content: string, more: Record<string, unknown> = {}): unknown => ({
  id: 'c',
  object: 'chat.completion.chunk',
  model: 'test-model',
  choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }],
});
export const end = (reason = 'stop'): unknown => ({
  model: 'test-model',
  choices: [{ index: 0, delta: {}, finish_reason: reason }],
});
export const usage = (prompt: number | null, completion: number | null): unknown => ({
  model: 'test-model',
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion },
});

/** Sends chunks as a stream; strings go out as they are, between "data: " and a blank line. */
export const stream =
  (chunks: readonly unknown[], how: { done?: boolean; breakAfter?: boolean; hang?: boolean } = {}): Handler =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const c of chunks) response.write(`data: ${typeof c === 'string' ? c : JSON.stringify(c)}\n\n`);
    if (how.hang) return;
    // The last bytes must be on the wire before the connection goes.
    if (how.breakAfter) return void setTimeout(() => response.destroy(), 50);
    if (how.done !== false) response.write('data: [DONE]\n\n');
    response.end();
  };

export const answer = (text = 'hello'): Handler =>
  stream([chunk(text.slice(0, 2)), chunk(text.slice(2)), end(), usage(100, 10)]);

export const refuse =
  (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** An error in OpenAI's form. */
export const error = (message: string, more: Record<string, unknown> = {}): unknown => ({
  error: { message, type: 'invalid_request_error', param: null, code: null, ...more },
});
