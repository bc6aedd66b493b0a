/** Feeds parsers in a thread of its own, so that one that never ends can be stopped from outside. See build/fuzz.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { Prng } from '../../main/base/random.ts';
import { mutate } from './mutate.ts';
import { targets } from './targets.ts';

export interface Task {
  readonly seed: string;
  /** Time for all, ms, and inputs of each target; either may be infinite. */
  readonly ms: number;
  readonly inputs: number;
  readonly target: string | null;
  /** Only this input: to see a fault again. */
  readonly only: number | null;
  /** What runs now: index of the target, number of the input. */
  readonly now: SharedArrayBuffer;
}

export interface Fault {
  readonly target: string;
  readonly input: number;
  readonly what: string;
  readonly text: string;
}

const task = workerData as Task;
const now = new Int32Array(task.now);
const hangMs = 1000;

/** Processor time of this thread, ms: a machine that is busy elsewhere makes nothing hang. */
const cpuMs = (): number => {
  const used = process.threadCpuUsage();
  return (used.user + used.system) / 1000;
};

const all = (await targets()).filter((t) => task.target === null || t.name === task.target);
const tried: Record<string, number> = Object.fromEntries(all.map((t) => [t.name, 0]));
const faults: Fault[] = [];

async function feed(index: number, input: number): Promise<void> {
  const target = all[index];
  if (!target) return;
  const prng = new Prng(`${task.seed}:${target.name}:${input}`);
  const text = mutate(prng, target.samples);
  Atomics.store(now, 0, index);
  Atomics.store(now, 1, input);
  tried[target.name] = (tried[target.name] ?? 0) + 1;
  const wall = performance.now();
  const began = cpuMs();
  const add = (what: string) => faults.push({ target: target.name, input, what, text });
  try {
    await target.run(text);
  } catch (fault) {
    add(fault instanceof Error ? (fault.stack ?? fault.message).slice(0, 1500) : String(fault));
  }
  if (performance.now() - wall > hangMs && cpuMs() - began > hangMs) add(`hang: ${Math.round(cpuMs() - began)} ms`);
}

// The samples themselves first: what is real must be taken, or the mutants prove nothing.
for (const target of all) for (const sample of target.samples) await target.run(sample);
parentPort?.postMessage({ names: all.map((t) => t.name) });
if (task.only !== null) await feed(0, task.only);
else {
  const end = performance.now() + task.ms;
  for (let input = 0; input < task.inputs && performance.now() < end && faults.length < 20; input++)
    for (let index = 0; index < all.length && performance.now() < end; index++) await feed(index, input);
}
parentPort?.postMessage({ tried, faults });
