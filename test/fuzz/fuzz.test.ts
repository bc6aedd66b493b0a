import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');

it('no parser crashes, hangs, or takes a mutant for what it is not', () => {
  const argv = [join(root, 'build/fuzz.ts'), '--inputs', '1000', '--seed', '20260101'];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: root });
  console.log(stdout.trim().split('\n').at(-1));
  expect(`${stdout}${stderr}`).toContain(' 0 faults');
  expect(status).toBe(0);
  const tried = Number(/^(\d+) inputs tried/m.exec(stdout)?.[1]);
  // A number of inputs, not a time: what one machine finds every other finds too.
  expect(tried).toBe(17 * 1000);
}, 300_000);

it('an input can be made again from its seed and number', () => {
  const argv = [join(root, 'build/fuzz.ts'), '--seed', 'a1', '--target', 'task.json', '--only', '7'];
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: 'utf8', cwd: root });
  expect(stdout).toContain('1 inputs tried (seed a1), 0 faults');
  expect(status).toBe(0);
}, 60_000);
