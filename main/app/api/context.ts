import type { ApiMethod, ApiParams, ApiResults, AppError, StaleList } from '../../contract/index.ts';
import type { Store } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import type { ActiveRuns } from './active.ts';

/** What the methods of the API work with. */
export interface ApiContext {
  readonly app: AppContext;
  /** What this front door can do besides the API. */
  readonly door: 'electron' | 'web';
  /** The history, opened once and shared by all calls and runs of this process. */
  store(): Promise<Store>;
  readonly active: ActiveRuns;
  /** Told once: what happened when the history was opened. */
  readonly notices: readonly AppError[];
  /** Tells every client. */
  notice(error: AppError): void;
  /** Lists that became stale other than by a write to the history. */
  changed(what: StaleList): void;
}

/** One method: parameters are checked before it is called; faults are thrown as AppFailure. `tell`: what it does now, for its caller. */
export type Handler<M extends ApiMethod> = (
  params: ApiParams<M>,
  signal: AbortSignal,
  tell: (note: string) => void,
) => Promise<ApiResults[M]>;
export type Handlers<M extends ApiMethod> = { readonly [K in M]: Handler<K> };
