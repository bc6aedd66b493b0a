import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import cookies from '@fastify/cookie';
import files from '@fastify/static';
import websocket from '@fastify/websocket';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { contained, contentPolicy, withNonce } from '../base/page-files.ts';
import { type ExportFile, type Result, versionIdSchema } from '../contract/index.ts';
import type { Host } from '../host/index.ts';
import { Access } from './access.ts';
import { refusal } from './guard.ts';
import { pages } from './page.ts';
import { type SocketStats, serveSocket, socketLimits } from './socket.ts';

export interface WebOptions {
  readonly host: Host;
  /** Folder of the built screens. */
  readonly renderer: string;
  /** Distinguishes the cookies of several servers on one machine: browsers do not tell ports apart. */
  readonly cookieName: string;
}

export interface Web {
  readonly app: FastifyInstance;
  readonly access: Access;
  readonly stats: SocketStats;
}

function secure(reply: FastifyReply, nonce: string | null = null): void {
  reply.headers({
    'content-security-policy': contentPolicy(nonce, true),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-store',
  });
}

const html = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).type('text/html; charset=utf-8').send(text);

/** Everything that is served, without a place to listen. */
export async function buildWeb(options: WebOptions): Promise<Web> {
  const access = new Access();
  const stats: SocketStats = { open: 0, lastSeen: Date.now() };
  // No logger: addresses hold the token.
  const app = fastify({
    logger: false,
    requestTimeout: 30_000,
    bodyLimit: 64 * 1024,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200 },
  });
  await app.register(cookies);
  await app.register(websocket, { options: { maxPayload: socketLimits.messageBytes } });
  await app.register(files, { root: options.renderer, serve: false, dotfiles: 'deny', cacheControl: false });

  app.addHook('onRequest', async (request, reply) => {
    secure(reply);
    const strict = request.url.startsWith('/api');
    const why = refusal(request.headers, strict);
    if (why !== null) return reply.code(403).type('text/plain; charset=utf-8').send(`${why}\n`);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return reply.code(405).header('allow', 'GET').type('text/plain; charset=utf-8').send('Only GET is served.\n');
    stats.lastSeen = Date.now();
    if (request.url === '/login' || request.url.startsWith('/login?')) return;
    if (!access.knows(request.cookies[options.cookieName]))
      return html(reply, 401, isFirstStep(request) ? pages.again : pages.locked);
  });

  app.setErrorHandler((fault: { statusCode?: number }, _request, reply) => {
    const status = fault.statusCode ?? 500;
    return reply
      .code(status)
      .type('text/plain; charset=utf-8')
      .send(status === 500 ? 'Internal fault.\n' : 'Bad request.\n');
  });
  app.setNotFoundHandler((request, reply) => serveFile(options, request, reply));

  app.get('/login', (request, reply) => login(access, options.cookieName, request, reply));
  app.get('/api', { websocket: true }, (socket) => serveSocket(options.host, socket, stats));
  app.get<{ Params: { file: string } }>('/api/export/:file', (request, reply) =>
    download(options.host, request, reply),
  );
  return { app, access, stats };
}

/**
 * A link followed from elsewhere (mail, notebook, a file) leads here without the cookie just given: browsers keep SameSite=Strict cookies
 * back on the whole chain. The page that answers it asks again by itself, as a page of this server, and is let in.
 */
const isFirstStep = (request: FastifyRequest): boolean =>
  request.url === '/' && request.headers['sec-fetch-site'] === 'cross-site';

/** Servers started one after the other leave their cookies in a browser: too many would make its requests too long. */
const maxCookies = 12;

function forgetOthers(request: FastifyRequest, reply: FastifyReply): void {
  const others = Object.keys(request.cookies).filter((name) => name.startsWith('cudamaster-'));
  if (others.length < maxCookies) return;
  for (const name of others) reply.clearCookie(name, { path: '/' });
}

function login(access: Access, cookieName: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { token } = request.query as { token?: unknown };
  const outcome = access.login(typeof token === 'string' ? token : '');
  if (outcome.kind === 'in') {
    forgetOthers(request, reply);
    return reply
      .setCookie(cookieName, outcome.cookie, { path: '/', httpOnly: true, sameSite: 'strict' })
      .code(303)
      .header('location', '/')
      .send();
  }
  if (outcome.kind === 'slow') reply.header('retry-after', '60');
  return html(reply, outcome.kind === 'slow' ? 429 : 403, pages[outcome.kind]);
}

/** Screens: index.html never cached and with a nonce of its own, the rest by its hashed name for good. */
async function serveFile(options: WebOptions, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const path = request.url.split('?')[0] ?? '/';
  const name = await contained(options.renderer, path);
  if (name === null) {
    if (path === '/') return html(reply, 503, pages.missing);
    return reply.code(404).type('text/plain; charset=utf-8').send('There is no such page.\n');
  }
  if (name === 'index.html') {
    const { text, nonce } = withNonce(await readFile(join(options.renderer, name), 'utf8'));
    secure(reply, nonce);
    return html(reply, 200, text);
  }
  if (name.startsWith('assets/')) reply.header('cache-control', 'private, max-age=31536000, immutable');
  return reply.sendFile(name);
}

/** The bundle of a version as a file. */
async function download(
  host: Host,
  request: FastifyRequest<{ Params: { file: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const id = versionIdSchema.safeParse(request.params.file.replace(/\.zip$/, ''));
  const plainText = (status: number, text: string) =>
    reply.code(status).type('text/plain; charset=utf-8').send(`${text}\n`);
  if (!id.success || !request.params.file.endsWith('.zip')) return plainText(404, 'There is no such version.');
  const result = await askOnce(host, id.data);
  if (!result.ok) return plainText(result.error.code === 'store.not-found' ? 404 : 500, result.error.message);
  const name = result.value.name.replace(/[^A-Za-z0-9._-]/g, '_');
  return reply
    .type('application/zip')
    .header('content-disposition', `attachment; filename="${name}"`)
    .send(Buffer.from(result.value.base64, 'base64'));
}

/** One call over a connection of its own. */
function askOnce(host: Host, version: string): Promise<Result<ExportFile>> {
  return new Promise((resolve) => {
    const client = host.connect((message) => {
      if (message.type !== 'answer') return;
      resolve(message.result as Result<ExportFile>);
      client.close();
    });
    client.receive({ type: 'call', id: 0, method: 'versions.export', params: { version } });
  });
}
