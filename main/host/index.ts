import { type App, type AppOptions, createApp } from '../app/index.ts';

export type { App, AppOptions } from '../app/index.ts';

/**
 * The engine's one entry for every front door: the command line calls it in its own process; a window starts it in a utility process
 * and passes calls through.
 */
export interface Host {
  readonly services: App;
}

/** `root`: the folder that holds prompts, kernels and recordings as real files. */
export function createHost(options: AppOptions): Host {
  return { services: createApp(options) };
}
