import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionContext } from '../context.ts';

/** What ends a session before its time. */
export type Stop = 'deadline' | 'cancelled';

/** Unwinds a session that was stopped. */
export class Stopped extends Error {
  readonly why: Stop;
  constructor(why: Stop) {
    super(`stopped: ${why}`);
    this.name = 'Stopped';
    this.why = why;
  }
}

export interface Closable {
  /** Kills at once; never throws. */
  kill(): void;
  /** Resolves when it is gone; undefined: nothing has to go. */
  readonly exited?: Promise<unknown>;
}

/** How long a process may take to be gone after it was told to quit, or killed. A GPU context being torn down takes seconds at worst. */
export const GONE_MS = 15_000;

/** What the promise gives, or null after `ms`. */
export async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms);
  });
  const value = await Promise.race([promise, late]);
  clearTimeout(timer);
  return value;
}

/**
 * Everything a session has to give back: processes, sockets, dump files; and its two ways of being ended from outside.
 * When it is stopped, the processes die, so whatever waits for them fails at once.
 */
export class Scope {
  readonly ctx: SessionContext;
  /** A process hung in a GPU call and was killed; cleared by the next one that initialises the GPU. */
  gpuInDoubt = false;
  private readonly deadline: number;
  private readonly open = new Set<Closable>();
  private readonly files = new Set<string>();
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = (): void => this.stop('cancelled');
  private why: Stop | null = null;

  constructor(ctx: SessionContext) {
    this.ctx = ctx;
    this.deadline = performance.now() + ctx.limits.wallMs;
    this.timer = setTimeout(() => this.stop('deadline'), ctx.limits.wallMs);
    ctx.signal?.addEventListener('abort', this.onAbort, { once: true });
    if (ctx.signal?.aborted) this.stop('cancelled');
  }

  get stopped(): Stop | null {
    return this.why;
  }

  /** Time left, ms, at least 1. */
  remainingMs(): number {
    return Math.max(1, Math.ceil(this.deadline - performance.now()));
  }

  /** Wall limit of a child, ms: a little after our own, so that it is always the session that ended, not the candidate. */
  childMs(): number {
    return this.remainingMs() + 2_000;
  }

  add(item: Closable): void {
    this.open.add(item);
    if (this.why) item.kill();
  }

  drop(item: Closable): void {
    this.open.delete(item);
  }

  /** Gives the GPU back while the judge goes on; only when every runner has ended. */
  async gpuDone(): Promise<void> {
    if (!this.gpuInDoubt) await this.ctx.gpuDone?.();
  }

  /** A name in scratch that nobody can guess, removed when the session ends. */
  newFile(prefix: string): string {
    const name = `${prefix}-${randomBytes(6).toString('hex')}`;
    this.files.add(name);
    return name;
  }

  path(name: string): string {
    return join(this.ctx.scratch, name);
  }

  async remove(name: string): Promise<void> {
    this.files.delete(name);
    await rm(this.path(name), { force: true, recursive: true }).catch(() => undefined);
  }

  /** Resolves when every process is gone (a bounded time: one that is stuck in the driver does not go): whoever holds the GPU next finds it idle. */
  async close(): Promise<void> {
    clearTimeout(this.timer);
    this.ctx.signal?.removeEventListener('abort', this.onAbort);
    const left = [...this.open];
    this.open.clear();
    for (const item of left) item.kill();
    await within(Promise.all(left.map((item) => item.exited)), GONE_MS);
    await Promise.all([...this.files].map((name) => this.remove(name)));
  }

  private stop(why: Stop): void {
    if (this.why) return;
    this.why = why;
    for (const item of this.open) item.kill();
  }
}
