import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { HostMessage } from '../../main/contract/index.ts';
import { TestClient } from '../host/client.ts';

const entry = join(import.meta.dirname, '../../main/cli/entry.js');

export function tempHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'cm-web-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));
  return home;
}

export interface Served {
  readonly child: ChildProcess;
  readonly url: string;
  readonly port: number;
  readonly home: string;
  readonly exited: Promise<number | null>;
  /** All it wrote, and its stdout alone. */
  out(): string;
  stdout(): string;
}

/** `cudamaster serve` as a process of its own. */
export async function startServe(args: readonly string[] = [], home = tempHome()): Promise<Served> {
  const child = spawn(process.execPath, [entry, 'serve', '--json', ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: tmpdir(), CUDAMASTER_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let out = '';
  let errors = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  child.stderr.on('data', (d: Buffer) => {
    errors += d;
  });
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve));
  const first = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const line = out.split('\n')[0] ?? '';
      if (out.includes('\n') && line.includes('"serving"')) resolve(line);
    });
    child.on('close', () => reject(new Error(`serve ended: ${out} ${errors}`)));
  });
  const { url, port } = JSON.parse(await first) as { url: string; port: number };
  return { child, url, port, home, exited, out: () => out + errors, stdout: () => out };
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
  readonly socketPath?: string;
}

/** One request, its path sent as it is written (fetch would tidy it). */
export function ask(port: number, path: string, asked: Asked = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, socketPath } = asked;
  const where = socketPath === undefined ? { host: '127.0.0.1', port } : { socketPath };
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...where, agent: false, method, path, headers: { host: `127.0.0.1:${port}`, ...headers } },
      (response) => {
        const parts: Buffer[] = [];
        response.on('data', (d: Buffer) => parts.push(d));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts).toString('utf8'),
          }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

export const pathOf = (url: string): string => url.slice(url.indexOf('/login'));

/** Exchanges the printed address for its cookie. */
export async function login(served: Pick<Served, 'port' | 'url'>, asked: Asked = {}): Promise<string> {
  const answer = await ask(served.port, pathOf(served.url), asked);
  const cookie = answer.headers['set-cookie']?.[0]?.split(';')[0];
  if (answer.status !== 303 || cookie === undefined) throw new Error(`login: ${answer.status} ${answer.body}`);
  return cookie;
}

export interface Socket {
  readonly client: TestClient;
  readonly ws: WebSocket;
  /** Code with which the line ended. */
  readonly closed: Promise<number>;
}

/** A WebSocket to the API; rejects with the HTTP status where it is refused. */
export function open(port: number, headers: Record<string, string>): Promise<Socket> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/api`, { headers });
  onTestFinished(() => ws.terminate());
  const client = new TestClient((message) => ws.send(JSON.stringify(message)));
  ws.on('message', (data: Buffer) => client.take(JSON.parse(data.toString('utf8')) as HostMessage));
  const closed = new Promise<number>((resolve) => ws.on('close', resolve));
  return new Promise((resolve, reject) => {
    ws.on('open', () => resolve({ client, ws, closed }));
    ws.on('unexpected-response', (_request, response) => reject(new Error(`refused ${response.statusCode}`)));
    ws.on('error', reject);
  });
}

/** Logged in and connected. */
export async function connect(served: Served, cookie?: string): Promise<Socket & { cookie: string }> {
  const mine = cookie ?? (await login(served));
  return { ...(await open(served.port, { cookie: mine, origin: `http://127.0.0.1:${served.port}` })), cookie: mine };
}
