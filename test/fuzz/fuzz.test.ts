import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runs } from './mutate.ts';
import { targets } from './targets.ts';

const root = join(import.meta.dirname, '..', '..');

it('no parser crashes, hangs, or takes a mutant for what it is not', () => {
  const argv = [join(root, 'build/fuzz.ts'), '--inputs', '1000', '--seed', '20260101'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: root });
  console.log(stdout.trim().split('\n').at(-1));
  expect(`${stdout}${stderr}`).toContain(' 0 faults');
  expect(status).toBe(0);
  const tried = Number(/^(\d+) inputs tried/m.exec(stdout)?.[1]);
  // A number of inputs, not a time: what one machine finds every other finds too.
  expect(tried).toBe(18 * 1000);
}, 300_000);

it('no parser takes the square of a long run, alone or inside what is real', async () => {
  const length = 40_000;
  /** At the end of a line in its middle. */
  const inside = (sample: string, long: string): string => {
    const line = sample.indexOf('\n', sample.length >> 1);
    const at = line < 0 ? sample.length >> 1 : line;
    return sample.slice(0, at) + long + sample.slice(at);
  };
  for (const { name, samples, run, slow } of await targets())
    for (const one of runs) {
      const long = one.repeat(Math.ceil(length / one.length));
      for (const text of [`${long}\0`, ...samples.slice(0, slow ? 1 : 5).map((sample) => inside(sample, long))]) {
        const before = process.threadCpuUsage();
        await run(text);
        const { user, system } = process.threadCpuUsage(before);
        // As in fuzzing: processor time, so that a busy machine makes nothing slow.
        expect((user + system) / 1e6, `${name}: ${JSON.stringify(one)}`).toBeLessThan(1);
      }
    }
}, 300_000);

it('an input can be made again from its seed and number', () => {
  const argv = [join(root, 'build/fuzz.ts'), '--seed', 'a1', '--target', 'task.json', '--only', '7'];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: root });
  expect(stdout).toContain('1 inputs tried (seed a1), 0 faults');
  expect(status).toBe(0);
}, 60_000);
