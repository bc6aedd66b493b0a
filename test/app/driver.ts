/**
 * An engine process for the tests: the real host, store, loop and provider over HTTP, with the laboratory in the place of the GPU.
 * Usage: node driver.ts optimize|resume JSON [HANG-POSITION]. Prints "execute POSITION" for each job, "child PID" when it hangs in one,
 * and at last the report as JSON.
 */

import { environmentOf } from '../../main/app/machine.ts';
import { startChild, startTimeOf } from '../../main/base/spawn.ts';
import type { Executor } from '../../main/contract/index.ts';
import { createHost } from '../../main/host/index.ts';
import { machine, resultFor, root } from './lab.ts';

const [op = '', params = '{}', hangAt = ''] = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

const executor: Executor = {
  name: 'local',
  async execute(bundle, { position, onProcess, signal }) {
    say(`execute ${position}`);
    if (position === hangAt) {
      const child = startChild(['/bin/sleep', '300'], {
        cwd: '/',
        env: {},
        wallMs: 300_000,
        memoryMiB: null,
        outputBytes: 100,
        signal,
      });
      const pid = child.pid ?? 0;
      onProcess?.({ pid, startTime: startTimeOf(pid) ?? '' });
      setTimeout(() => say(`child ${pid}`), 300);
      await child.exited;
    }
    return { kind: 'done', result: resultFor(bundle) };
  },
};

const { services } = createHost({
  root,
  openPlace: async () => ({ environment: environmentOf(machine), executor: () => executor }),
});
const cancel = new AbortController();
process.on('SIGTERM', () => cancel.abort());
const ctx = {
  signal: cancel.signal,
  emit: (e: { type: string; run?: string }) => {
    if (e.type === 'run') say(`run ${e.run}`);
  },
};
const given = JSON.parse(params);
const result = op === 'resume' ? await services.resume(given, ctx) : await services.optimize(given, ctx);
say(`result ${JSON.stringify(result)}`);
