import type { IncomingHttpHeaders } from 'node:http';

/** Names under which a browser on this machine, or at the near end of `ssh -L`, reaches a loopback server. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** "localhost:8080" → its name without port; null for what is no host. */
function nameOf(host: string): string | null {
  const found = /^(\[[0-9a-f:]+\]|[a-z0-9.-]+)(?::\d{1,5})?$/i.exec(host);
  return found?.[1]?.toLowerCase() ?? null;
}

/** Any port: `ssh -L` chooses its own. A foreign name that resolves to this machine (DNS rebinding) is no loopback name. */
export function isLoopbackHost(host: string | undefined): boolean {
  const name = host === undefined ? null : nameOf(host);
  return name !== null && loopback.has(name);
}

/**
 * Why a request is refused; null = it comes from this machine and, where a browser says so, from our own page. Pages of other servers on
 * this machine are another origin, though the same site: cookies alone do not keep them out.
 */
export function refusal(headers: IncomingHttpHeaders, strict: boolean): string | null {
  const { host, origin } = headers;
  if (!isLoopbackHost(host)) return 'This server answers only under the names of this machine (localhost, 127.0.0.1).';
  if (origin !== undefined && origin !== `http://${host}`) return 'Another page may not speak to this server.';
  const site = headers['sec-fetch-site'];
  if (strict && site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'Another page may not speak to this server.';
  return null;
}
