import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { contained, contentPolicy, withNonce } from '../main/base/page-files.ts';

export const scheme = 'app';
/** The screens, and the shell's own small pages, are two origins: neither can reach into the other. */
export const hosts = { screens: 'cudamaster', shell: 'shell' } as const;
export const screensUrl = `${scheme}://${hosts.screens}/`;
export const keysUrl = `${scheme}://${hosts.shell}/keys.html`;

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
  '.json': 'application/json',
};

const headers = (type: string, nonce: string | null): Record<string, string> => ({
  'content-type': type,
  'content-security-policy': contentPolicy(nonce, false),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
});

const refuse = (status: number, text: string): Response =>
  new Response(`${text}\n`, { status, headers: headers('text/plain; charset=utf-8', null) });

/** Path of an address as it was written, before `..` and escapes are resolved away. */
const pathOf = (url: string): string | null => /^[a-z]+:\/\/[^/?#]*(\/[^?#]*)/i.exec(url)?.[1] ?? null;

/** Answers `app://` addresses with files of two folders, and nothing else. */
export function pageHandler(folders: {
  readonly screens: string;
  readonly shell: string;
}): (request: { readonly url: string; readonly method: string }) => Promise<Response> {
  return async ({ url, method }) => {
    if (method !== 'GET') return refuse(405, 'Only GET is served.');
    const path = pathOf(url);
    const host = URL.canParse(url) ? new URL(url).hostname : '';
    const folder = host === hosts.screens ? folders.screens : host === hosts.shell ? folders.shell : null;
    if (folder === null || path === null) return refuse(404, 'There is no such page.');
    const name = await contained(folder, path);
    const type = name === null ? undefined : types[extname(name)];
    if (name === null || type === undefined) return refuse(404, 'There is no such page.');
    const bytes = await readFile(join(folder, name));
    if (!name.endsWith('.html')) return new Response(new Uint8Array(bytes), { headers: headers(type, null) });
    const { text, nonce } = withNonce(bytes.toString('utf8'));
    return new Response(text, { headers: headers(type, nonce) });
  };
}
