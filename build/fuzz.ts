/**
 * Feeds every parser with mutated real samples: `npm run fuzz -- [--minutes N | --seconds N | --inputs N] [--seed HEX] [--target NAME [--only INPUT]]`.
 * Prints how many inputs each was given. A crash, more than a second of processor time, or a wrong "ok" is a fault: it is printed with what
 * shows it again, its input is kept in a file, and the exit code is 1. The same seed gives the same inputs; with --inputs (of each parser)
 * their number is the same on every machine too.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Fault, Task } from '../test/fuzz/worker.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seconds: { type: 'string' },
    inputs: { type: 'string' },
    seed: { type: 'string', default: Date.now().toString(16) },
    target: { type: 'string' },
    only: { type: 'string' },
  },
});
const inputs = values.inputs === undefined ? Number.POSITIVE_INFINITY : Number(values.inputs);
const ms =
  values.seconds !== undefined
    ? Number(values.seconds) * 1000
    : values.minutes === undefined && values.inputs !== undefined
      ? Number.POSITIVE_INFINITY
      : Number(values.minutes ?? 1) * 60_000;
if (!(ms > 0) || !(inputs > 0)) throw new Error('--minutes, --seconds and --inputs take a number above 0');
const now = new SharedArrayBuffer(8);
const task: Task = {
  seed: values.seed,
  ms,
  inputs,
  target: values.target ?? null,
  only: values.only === undefined ? null : Number(values.only),
  now,
};

/** An input that takes this long is taken for endless: loops cannot be ended from inside. */
const endlessMs = 30_000;

interface Ended {
  readonly tried: Record<string, number>;
  readonly faults: readonly Fault[];
}

function watched(): Promise<Ended> {
  const worker = new Worker(new URL('../test/fuzz/worker.ts', import.meta.url), { workerData: task });
  const seen = new Int32Array(now);
  let names: string[] = [];
  let last = '';
  let since = performance.now();
  return new Promise((resolve, reject) => {
    const watch = setInterval(() => {
      const key = `${Atomics.load(seen, 0)}:${Atomics.load(seen, 1)}`;
      if (key !== last) {
        last = key;
        since = performance.now();
        return;
      }
      if (names.length === 0 || performance.now() - since < endlessMs) return;
      clearInterval(watch);
      void worker.terminate();
      const [index = 0, input = 0] = key.split(':').map(Number);
      const fault = { target: names[index] ?? '?', input, what: `did not end in ${endlessMs / 1000} s`, text: '' };
      resolve({ tried: {}, faults: [fault] });
    }, 250);
    worker.on('message', (message: { names?: string[] } & Partial<Ended>) => {
      if (message.names) names = message.names;
      if (!message.tried || !message.faults) return;
      clearInterval(watch);
      resolve({ tried: message.tried, faults: message.faults });
    });
    worker.on('error', (fault) => {
      clearInterval(watch);
      reject(fault);
    });
  });
}

const { tried, faults } = await watched();
let sum = 0;
for (const [name, count] of Object.entries(tried)) {
  sum += count;
  console.log(`${String(count).padStart(8)}  ${name}`);
}
for (const { target, input, what, text } of faults) {
  const file = join(mkdtempSync(join(tmpdir(), 'cudamaster-fuzz-')), 'input.txt');
  writeFileSync(file, text);
  console.log(`\nFAULT in "${target}", input ${input}: ${what}`);
  console.log(`  again: npm run fuzz -- --seed ${task.seed} --target "${target}" --only ${input}\n  input: ${file}`);
}
console.log(`\n${sum} inputs tried (seed ${task.seed}), ${faults.length} faults`);
process.exit(faults.length === 0 ? 0 : 1);
