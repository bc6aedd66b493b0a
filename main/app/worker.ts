import { unwrap } from '../contract/index.ts';
import { resolveTools } from '../toolchain/index.ts';
import { runWorker, type WorkerIo } from '../worker/worker.ts';

/** Runs job bundles on this machine, as dist/worker.js does where only that file is. Gives back the exit code. */
export function workBundles(args: readonly string[], io: Omit<WorkerIo, 'tools'>): Promise<number> {
  return runWorker(args, {
    ...io,
    tools: async (need) => unwrap(await resolveTools({ require: need, signal: io.signal })),
  });
}
