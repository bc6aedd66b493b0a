import { lookup } from 'node:dns/promises';
import { err, ok, type Result } from '../contract/index.ts';
import { isLoopback } from '../contract/place.ts';

export interface GuardOptions {
  /** Addresses of a name; default: the system's resolver. */
  readonly resolve?: (name: string) => Promise<readonly string[]>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Node's own options of this process. */
  readonly execArgv?: readonly string[];
}

const systemResolve = async (name: string): Promise<string[]> =>
  (await lookup(name, { all: true })).map((found) => found.address);

/** Node sends fetch through a proxy only when told to. */
const usesEnvProxy = (env: NonNullable<GuardOptions['env']>, execArgv: readonly string[]): boolean =>
  env.NODE_USE_ENV_PROXY === '1' || [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)].includes('--use-env-proxy');

/** The variable whose proxy would carry a request to `url`; null = none. */
export function proxyVariable(
  url: URL,
  env: NonNullable<GuardOptions['env']>,
  execArgv: readonly string[],
): string | null {
  if (!usesEnvProxy(env, execArgv)) return null;
  const names = url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY'];
  const name = names.find((n) => env[n]);
  const exempt = (env.no_proxy ?? env.NO_PROXY ?? '').split(/[\s,]+/);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const spared = exempt.some((e) => e === '*' || e === host || e === url.host);
  return name === undefined || spared ? null : name;
}

/**
 * "Local only", at the moment of connecting: the name must lead to this machine and no proxy may stand between (checkAddress() has
 * refused every name but `localhost` before). Error `provider.local-only`; nothing was sent then.
 */
export async function guardLocal(url: URL, options: GuardOptions = {}): Promise<Result<null>> {
  const { resolve = systemResolve, env = process.env, execArgv = process.execArgv } = options;
  const refuse = (what: string, remedy: string) =>
    err('provider.local-only', `"Local only" is on, and ${what}: nothing was sent.`, { remedy });
  if (!isLoopback(url.hostname))
    return refuse(`${url.hostname} is another machine`, 'Use a model on this machine, or switch "local only" off.');
  const proxy = proxyVariable(url, env, execArgv);
  if (proxy !== null)
    return refuse(
      `${proxy} would send the request through a proxy`,
      `Unset ${proxy} (or NODE_USE_ENV_PROXY), or name ${url.hostname} in NO_PROXY.`,
    );
  if (/^\[|^\d/.test(url.hostname)) return ok(null);
  let addresses: readonly string[];
  try {
    addresses = await resolve(url.hostname);
  } catch (fault) {
    return err('provider.unreachable', `The name ${url.hostname} cannot be resolved.`, {
      remedy: 'Write the address as 127.0.0.1.',
      detail: String(fault),
    });
  }
  const foreign = addresses.find((address) => !isLoopback(address));
  if (foreign === undefined && addresses.length > 0) return ok(null);
  return refuse(
    `the name ${url.hostname} leads to ${foreign ?? 'no address'}, which is not this machine`,
    'Write the address as 127.0.0.1, and see who changed the name (/etc/hosts).',
  );
}
