import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { ApiMethod, ApiParams, ApiResults, StaleList } from '../../main/contract/api.ts';
import type { AppError } from '../../main/contract/result.ts';
import { Protocol } from './protocol.ts';
import { connectPort, connectSocket, losePort } from './transports.ts';

export const ApiContext = createContext<Protocol | null>(null);

/** The engine. */
export function useApi(): Protocol {
  const api = useContext(ApiContext);
  if (api === null) throw new Error('useApi outside of ApiContext');
  return api;
}

/**
 * Connects to the engine: by a message port when the shell in front (Electron) posts one with `cudamaster-port`, else by WebSocket to
 * the server that delivered the page.
 */
export function connect(): Protocol {
  const protocol = new Protocol();
  // The shell shows the screens under a scheme of its own, and posts a port whenever an engine stands.
  if (window.location.protocol === 'app:') {
    window.addEventListener('message', (e) => {
      const port = e.ports[0];
      if (e.source !== window || e.origin !== window.location.origin) return;
      if (e.data === 'cudamaster-port' && port) connectPort(protocol, port);
      if (e.data === 'cudamaster-lost') losePort(protocol);
    });
  } else {
    const url = new URL('api', window.location.href.split('#')[0]);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    connectSocket(protocol, url.href);
  }
  return protocol;
}

export interface Query<T> {
  /** Last good answer; kept while a newer one is on its way, also after a failed refresh. */
  readonly data: T | null;
  readonly error: AppError | null;
  readonly loading: boolean;
  refresh(): void;
}

/**
 * Asks the engine and keeps the answer fresh. `params` null: not asked. `on`: lists whose change makes it stale.
 */
export function useQuery<M extends ApiMethod>(
  method: M,
  params: ApiParams<M> | null,
  on: readonly StaleList[] = [],
): Query<ApiResults[M]> {
  const api = useApi();
  const key = params === null ? null : JSON.stringify(params);
  const stale = on.join();
  const [turn, setTurn] = useState(0);
  const [answer, setAnswer] = useState<{ key: string | null; data: ApiResults[M] | null; error: AppError | null }>({
    key: null,
    data: null,
    error: null,
  });
  const refresh = useCallback(() => setTurn((n) => n + 1), []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` asks again with the same parameters
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    void api.call(method, JSON.parse(key) as ApiParams<M>, controller.signal).then((result) => {
      if (controller.signal.aborted) return;
      setAnswer((old) =>
        result.ok
          ? { key, data: result.value, error: null }
          : { key, data: old.key === key ? old.data : null, error: result.error },
      );
    });
    return () => controller.abort();
  }, [api, method, key, turn]);

  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    if (stale === '' || key === null) return;
    const wanted = stale.split(',');
    // A burst of changes is one question; a steady stream of them one every 100 ms.
    const off = api.onChange((what) => {
      if (!wanted.includes(what) || timer.current !== undefined) return;
      timer.current = setTimeout(() => {
        timer.current = undefined;
        refresh();
      }, 100);
    });
    return () => {
      off();
      clearTimeout(timer.current);
      timer.current = undefined;
    };
  }, [api, stale, key, refresh]);

  const same = answer.key === key;
  return {
    data: same ? answer.data : null,
    error: same ? answer.error : null,
    loading: key !== null && (!same || (answer.data === null && answer.error === null)),
    refresh,
  };
}
