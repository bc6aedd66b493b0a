/** Where prompts go: the one place that decides whether something leaves this machine. Engine and screens ask it alike. Pure. */

/** True for an address of this machine alone. Names are not resolved: only `localhost` and literal loopback addresses count. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/**
 * Ollama passes models of this name on to its maker's servers. The name alone tells: the same server is reached as `custom`, under a
 * name of the user's own, at another port or through another program before it.
 */
const cloudModel = /[-:]cloud$/i;
const cloudHost = 'ollama.com';

/**
 * Host other than this machine to which prompts for `model` go that are sent to `baseUrl`; null = nothing leaves this machine, or
 * `baseUrl` is no address.
 */
export function promptHost(baseUrl: string, model: string): string | null {
  let url: URL;
  try {
    url = new URL(baseUrl.trim());
  } catch {
    return null;
  }
  if (!isLoopback(url.hostname)) return url.host;
  return cloudModel.test(model.trim()) ? cloudHost : null;
}
