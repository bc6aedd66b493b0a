import { createEngine, type Engine } from '../app/api/index.ts';
import { type App, type AppOptions, appContext, createApp } from '../app/index.ts';
import type { HostMessage } from '../contract/index.ts';
import { Connection } from './connection.ts';

export type { App, AppOptions } from '../app/index.ts';
export { attachPort, type Port } from './port.ts';

export interface HostOptions extends AppOptions {
  /** What the front door can do besides the API. Default: web. */
  readonly door?: 'electron' | 'web';
}

/** One client's line to the host. Messages are plain data; what comes in is checked. */
export interface Client {
  receive(message: unknown): void;
  close(): void;
}

/**
 * The engine's one entry for every front door: the command line calls `services` in its own process; a window or a browser
 * speaks the API through `connect`, over a message port or a socket.
 */
export interface Host {
  readonly services: App;
  connect(send: (message: HostMessage) => void): Client;
  /** Runs that this host drives for its clients now. */
  activeRuns(): number;
  /** Cancels what runs for clients, saves it, closes the history. */
  close(): Promise<void>;
}

/** `root`: the folder that holds prompts, kernels and recordings as real files. */
export function createHost(options: HostOptions): Host {
  const services = createApp(options);
  let engine: Engine | null = null;
  const running = (): Engine => {
    engine ??= createEngine(appContext(options), { door: options.door ?? 'web' });
    return engine;
  };
  return {
    services,
    connect: (send) => new Connection(running(), send),
    activeRuns: () => engine?.activeRuns() ?? 0,
    close: async () => engine?.close(),
  };
}
