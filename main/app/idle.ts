import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { treeOf } from '../base/proc.ts';
import { groupLives } from '../base/spawn.ts';
import { AppFailure, type ExecuteOptions, type Executor, err } from '../contract/index.ts';
import { gpuHolders } from '../jobs/gpu-holder.ts';
import { type GpuUser, gpuUsers, thisMachine } from '../toolchain/index.ts';

/** How a resumed run finds out whether the GPU is idle. */
export interface IdleGpu {
  /** Programs of others that compute on the GPU; null: nobody can say, and the timing itself tells of them. */
  readonly users: (signal?: AbortSignal) => Promise<readonly GpuUser[] | null>;
  /** How long it is waited for, and how often looked, ms. */
  readonly limitMs: number;
  readonly everyMs: number;
}

/** A process group that the former drive of a run left behind. */
interface Group {
  readonly pid: number;
  readonly startTime: string;
}

const limitMs = 10 * 60_000;
const everyMs = 2_000;

/** The GPU of this machine with this UUID. Programs of other CUDAMasters that hold it take turns with us: they are no strangers. */
export const idleGpu = (uuid: string): IdleGpu => ({
  limitMs,
  everyMs,
  users: async (signal) => {
    const holders = gpuHolders().filter((holder) => holder.uuid === uuid);
    // Whose processes the list names cannot be told then; the lock makes us wait for them.
    if (holders.some(({ pid }) => pid === null)) return [];
    const users = await gpuUsers(thisMachine(process.env, signal), uuid);
    if (users === null || users.length === 0) return users;
    const ours = new Set([process.pid, ...holders.flatMap(({ pid }) => pid ?? [])].flatMap((pid) => pidsBelow(pid)));
    return users.filter(({ pid }) => !ours.has(pid));
  },
});

const pidsBelow = (pid: number): number[] => treeOf(pid).map((process) => process.pid);

/**
 * An executor whose first job waits until the GPU is idle: what the former drive left behind is gone, and nobody else computes on it.
 * Later jobs do not wait: who comes then voids samples, and is told there. Throws AppFailure `env.gpu-busy` when that lasts too long,
 * `cancelled`.
 */
export function whenIdle(executor: Executor, gpu: IdleGpu, left: readonly Group[], run: string): Executor {
  let idle = false;
  return {
    name: executor.name,
    async execute(bundle, options) {
      if (!idle) await untilIdle(gpu, left, run, options);
      idle = true;
      return executor.execute(bundle, options);
    },
  };
}

async function untilIdle(
  gpu: IdleGpu,
  left: readonly Group[],
  run: string,
  { signal, onProgress }: ExecuteOptions,
): Promise<void> {
  const began = performance.now();
  for (;;) {
    const busy = await busyWith(gpu, left, signal);
    if (signal?.aborted) throw cancelled();
    if (busy.length === 0) return;
    const waitedMs = performance.now() - began;
    if (waitedMs >= gpu.limitMs) throw tooLong(busy, waitedMs, run);
    const note = `${busy.join('; ')}; ${Math.round(waitedMs / 1000)} s of at most ${Math.round(gpu.limitMs / 1000)} s`;
    onProgress?.({ step: 'idle-gpu', index: 0, count: 1, note });
    await pause(gpu.everyMs, undefined, { signal }).catch(() => {
      throw cancelled();
    });
  }
}

/** What keeps the GPU busy, in words; [] = it is idle. */
async function busyWith(gpu: IdleGpu, left: readonly Group[], signal?: AbortSignal): Promise<string[]> {
  const stuck = left.filter(({ pid, startTime }) => groupLives(pid, startTime));
  const users = (await gpu.users(signal)) ?? [];
  return [
    ...stuck.map(({ pid }) => `process group ${pid} of this run's former drive does not end`),
    ...users.map(({ pid, name }) => `${basename(name)} (process ${pid}) uses the GPU`),
  ];
}

const cancelled = (): AppFailure =>
  new AppFailure(err('cancelled', 'Cancelled while waiting for the GPU to be idle.').error);

const tooLong = (busy: readonly string[], waitedMs: number, run: string): AppFailure =>
  new AppFailure(
    err('env.gpu-busy', `The GPU was not idle for ${Math.round(waitedMs / 1000)} s: ${busy.join('; ')}.`, {
      remedy: `End what uses it, or wait for it, then go on: cudamaster resume ${run}. Nothing of the run is lost. A process that even SIGKILL does not end hangs in the driver: only a restart of the machine frees the GPU.`,
    }).error,
  );
