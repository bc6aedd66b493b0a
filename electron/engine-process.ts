import type { MessagePortMain, UtilityProcess } from 'electron';
import { redact } from '../main/base/redact.ts';
import type { EngineMessage } from './engine-messages.ts';

export interface EngineDeps {
  readonly fork: () => UtilityProcess;
  readonly channel: () => { readonly port1: MessagePortMain; readonly port2: MessagePortMain };
  readonly root: string;
  readonly keys: () => Promise<Readonly<Record<string, string>>>;
  /** A process stands; ports of the one before it are dead. */
  readonly onUp: () => void;
  /** It ended without being asked to; another is started unless `again` is false. */
  readonly onLost: (how: { readonly again: boolean; readonly detail: string }) => void;
  readonly now?: () => number;
}

/** An engine that ends so often in such a time will not get better by starting another. */
const maxLosses = 3;
const lossWindowMs = 60_000;
/** How long an engine may take to save its runs and end, ms. */
const closeMs = 30_000;
const detailChars = 4000;

/** Keeps one engine process running, and gives out lines to it. */
export class EngineProcess {
  readonly #deps: EngineDeps;
  #child: UtilityProcess | null = null;
  #losses: number[] = [];
  #said = '';
  #stopping = false;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
  }

  get running(): boolean {
    return this.#child !== null;
  }

  async start(): Promise<void> {
    const keys = await this.#deps.keys();
    if (this.#stopping || this.#child !== null) return;
    const child = this.#deps.fork();
    this.#child = child;
    this.#said = '';
    child.stderr?.on('data', (data: Buffer) => {
      this.#said = (this.#said + data.toString('utf8')).slice(-detailChars);
    });
    // Read, or the pipe fills up and the engine stands still.
    child.stdout?.resume?.();
    child.once('exit', (code) => this.#ended(child, code));
    this.#send({ type: 'start', root: this.#deps.root, keys: { ...keys } });
    this.#deps.onUp();
  }

  /** After it was given up: the user wants another try. */
  async startAgain(): Promise<void> {
    this.#losses = [];
    await this.start();
  }

  /** Our end of a new line to the engine; null: none is running. */
  connect(): MessagePortMain | null {
    if (this.#child === null) return null;
    const { port1, port2 } = this.#deps.channel();
    this.#send({ type: 'connect' }, [port1]);
    return port2;
  }

  /** The keys have changed. */
  async tellKeys(): Promise<void> {
    this.#send({ type: 'keys', keys: { ...(await this.#deps.keys()) } });
  }

  /** Ends it in order: its runs are saved and can be resumed. One that takes too long is killed, which resuming stands as well. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#child;
    if (child === null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    this.#send({ type: 'close' });
    const timer = setTimeout(() => child.kill(), closeMs);
    await ended;
    clearTimeout(timer);
  }

  #send(message: EngineMessage, ports: MessagePortMain[] = []): void {
    this.#child?.postMessage(message, ports);
  }

  #ended(child: UtilityProcess, code: number): void {
    if (this.#child !== child) return;
    this.#child = null;
    if (this.#stopping) return;
    const now = (this.#deps.now ?? Date.now)();
    this.#losses = [...this.#losses.filter((at) => now - at < lossWindowMs), now];
    const again = this.#losses.length < maxLosses;
    this.#deps.onLost({ again, detail: redact(`exit code ${code}\n${this.#said}`.trim()) });
    if (again) void this.start();
  }
}
