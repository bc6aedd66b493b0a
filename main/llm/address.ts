import { err, ok, type Result } from '../contract/index.ts';
import { isLoopback, promptHost } from '../contract/place.ts';

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

/** A model that runs elsewhere although its address is of this machine. Error: `provider.local-only`. */
export function checkModel(baseUrl: string, model: string): Result<null> {
  const host = promptHost(baseUrl, model);
  if (host === null) return ok(null);
  return err('provider.local-only', `"Local only" is on, and ${model} runs at ${host}: nothing was sent.`, {
    remedy: 'Use a model on this machine, or switch "local only" off.',
  });
}
