import { AppFailure } from '../contract/index.ts';
import { runWorker } from './worker.ts';

/** Entry of the self-contained worker: `node worker.js [worker] DIR…`. Ctrl-C ends the children, then the program. */
const cancel = new AbortController();
let asked = 0;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, () => {
    cancel.abort();
    asked++;
    if (asked > 1) process.exit(130);
  });

const args = process.argv.slice(2);
if (args[0] === 'worker') args.shift();

process.exitCode = await runWorker(args, {
  out: (line) => process.stdout.write(`${line}\n`),
  err: (line) => process.stderr.write(`${line}\n`),
  signal: cancel.signal,
  // Loaded late: usage and faulty bundles answer at once.
  tools: async (need) => {
    const { resolveTools } = await import('../toolchain/index.ts');
    const found = await resolveTools({ require: need, signal: cancel.signal });
    if (!found.ok) throw new AppFailure(found.error);
    return found.value;
  },
});
