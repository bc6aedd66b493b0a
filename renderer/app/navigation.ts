import { useSyncExternalStore } from 'react';
import { hrefOf, parseRoute, type Route, type ScreenName } from './routes.ts';

let cache: { hash: string; route: Route } = { hash: '', route: parseRoute('') };

function current(): Route {
  const { hash } = window.location;
  if (cache.hash !== hash) cache = { hash, route: parseRoute(hash) };
  return cache.route;
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

/** The current address; renders again when it changes. */
export const useRoute = (): Route => useSyncExternalStore(subscribe, current);

export function go(
  screen: ScreenName,
  path: readonly string[] = [],
  query: Readonly<Record<string, string | undefined>> = {},
): void {
  window.location.hash = hrefOf(screen, path, query);
}

/** Changes parts of the query without a step in the browser's history. undefined removes one. */
export function setQuery(change: Readonly<Record<string, string | undefined>>): void {
  const route = current();
  const url = hrefOf(route.screen, route.path, { ...route.query, ...change });
  window.history.replaceState(null, '', url);
  window.dispatchEvent(new HashChangeEvent('hashchange'));
}
