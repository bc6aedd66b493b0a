import type { QueueLine } from '../../contract/index.ts';
import { gpuHolders } from '../../jobs/gpu-holder.ts';
import { findGpus, thisMachine } from '../../toolchain/index.ts';
import { isWait } from './active.ts';
import type { ApiContext, Handlers } from './context.ts';

/** nvidia-smi takes a while, and GPUs seldom come and go. */
const namesKeptMs = 60_000;

class Names {
  #known: { at: number; names: Promise<Map<string, string>> } | null = null;

  get(): Promise<Map<string, string>> {
    if (this.#known && Date.now() - this.#known.at < namesKeptMs) return this.#known.names;
    const names = findGpus(thisMachine()).then(
      ({ gpus }) => new Map(gpus.flatMap((gpu) => (gpu.uuid === null ? [] : [[gpu.uuid, gpu.name] as const]))),
    );
    const known = { at: Date.now(), names };
    this.#known = known;
    names.catch(() => {
      if (this.#known === known) this.#known = null;
    });
    return names;
  }
}

/**
 * GPUs of this machine with who holds each and which runs of this host wait. A run of ours says only that it waits, not for which GPU:
 * with several GPUs it is listed at the one whose lock it names, else at every GPU that is held.
 */
export function queueMethods(api: ApiContext): Handlers<'queue.list'> {
  const names = new Names();
  return {
    'queue.list': async () => {
      const known = await names.get();
      const held = new Map((await gpuHolders()).map((h) => [h.uuid, h]));
      const ours = api.active.list();
      const working = ours.filter((r) => r.step !== '' && !isWait(r.note));
      const waiting = ours.filter((r) => isWait(r.note)).map((r) => ({ run: r.run, what: r.step }));
      return [...new Set([...known.keys(), ...held.keys()])].map((gpu): QueueLine => {
        const holder = held.get(gpu);
        const mine = holder?.pid === process.pid ? working[0] : undefined;
        return {
          gpu,
          name: known.get(gpu) ?? null,
          holder: holder
            ? {
                run: mine?.run ?? null,
                what: mine?.step ?? (holder.pid === process.pid ? 'this program' : 'another process'),
                pid: holder.pid,
              }
            : null,
          waiting: holder ? waiting : [],
        };
      });
    },
  };
}
