/**
 * The address of a screen, kept in the URL's hash: `#/run/ID?tab=agents`. Pure.
 */
export const screenNames = ['home', 'kernel', 'newtask', 'run', 'profile', 'history', 'compare', 'settings'] as const;
export type ScreenName = (typeof screenNames)[number];

export interface Route {
  readonly screen: ScreenName;
  /** What is shown: a task "softmax:bf16", a run, a version. Path parts after the screen's name. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** Unknown screens lead home. */
export function parseRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [screen = '', ...rest] = path.split('/').filter((part) => part !== '');
  const known = (screenNames as readonly string[]).includes(screen);
  const query = Object.fromEntries(new URLSearchParams(search));
  return known ? { screen: screen as ScreenName, path: rest.map(decode), query } : { screen: 'home', path: [], query };
}

/** A stray % in an address is text, not a fault. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** "#/run/261129-1755-adx3?tab=agents" */
export function hrefOf(
  screen: ScreenName,
  path: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const parts = [screen, ...path.map(encodeURIComponent)].join('/');
  const given = Object.entries(query).filter((e): e is [string, string] => e[1] !== undefined && e[1] !== '');
  const search = new URLSearchParams(given).toString();
  return `#/${parts}${search === '' ? '' : `?${search}`}`;
}
