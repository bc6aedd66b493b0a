import { err, ok, type Result } from '../contract/index.ts';

/** True for an address of this machine alone. Names are not resolved: only `localhost` and literal loopback addresses count. */
export function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
}

/** A base address without slashes at its end. */
export function withoutSlash(baseUrl: string): string {
  let end = baseUrl.length;
  while (end > 0 && baseUrl[end - 1] === '/') end--;
  return baseUrl.slice(0, end);
}

/** Checks the base address of an endpoint. Errors: `usage` (no address), `provider.local-only`. */
export function checkAddress(baseUrl: string, localOnly: boolean): Result<URL> {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    return err('usage', `"${baseUrl}" is no web address.`, {
      remedy: 'Give it as https://host/v1 or http://127.0.0.1:11434/v1.',
    });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return err('usage', `The address ${baseUrl} must begin with http:// or https://.`);
  if (url.username !== '' || url.password !== '')
    return err('usage', 'The address holds a user name or password.', {
      remedy: 'Give the key by reference instead, for example env:OPENAI_API_KEY.',
    });
  if (url.search !== '' || url.hash !== '')
    return err('usage', 'The address must end with its path, without "?" or "#".', {
      remedy: 'A key is given by reference, for example env:OPENAI_API_KEY (--key-env OPENAI_API_KEY).',
    });
  if (localOnly && !isLoopback(url.hostname))
    return err('provider.local-only', `"Local only" is on, and ${url.hostname} is another machine: nothing was sent.`, {
      remedy: 'Use a model on this machine, or switch "local only" off.',
    });
  return ok(url);
}
