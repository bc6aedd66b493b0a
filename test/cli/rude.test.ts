import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { allProcesses } from '../../main/base/proc.ts';
import { root } from '../app/lab.ts';

vi.setConfig({ testTimeout: 120_000 });

const entry = join(root, 'main/cli/entry.js');

function tempHome(): string {
  const dir = mkdtempSync(join(tmpdir(), 'cm-rude-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

it.skipIf(process.platform !== 'linux')('says that its output cannot be written, without a stack', async () => {
  const home = tempHome();
  const child = spawn(process.execPath, [entry, 'tasks'], {
    env: { ...process.env, CUDAMASTER_HOME: home },
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  });
  let err = '';
  child.stderr?.on('data', (d: Buffer) => {
    err += d;
  });
  const code = await new Promise((done) => child.on('close', done));
  expect(code).toBe(3);
  expect(err).toMatch(/^Error \(env\.disk-full\)/);
  expect(err).not.toContain('    at ');
});

it.skipIf(process.platform !== 'linux')(
  'ends at Ctrl-C while the tools of the machine hang, and leaves none of them',
  async () => {
    const home = tempHome();
    const bin = join(home, 'bin');
    mkdirSync(bin);
    // A length that nobody else sleeps.
    const mark = `9${process.pid}`;
    for (const name of ['nvidia-smi', 'nvcc', 'ncu', 'g++', 'bwrap']) {
      writeFileSync(join(bin, name), `#!/bin/sh\nsleep ${mark} & sleep ${mark}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    const child = spawn(process.execPath, [entry, 'doctor', '--json'], {
      env: { ...process.env, CUDAMASTER_HOME: home, PATH: `${bin}:${process.env.PATH}` },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let out = '';
    child.stdout.on('data', (d: Buffer) => {
      out += d;
    });
    const below = () => allProcesses().filter((p) => p.ppid === child.pid).length;
    while (below() === 0) await pause(50);
    const asked = performance.now();
    child.kill('SIGINT');
    const code = await new Promise((done) => child.on('close', done));
    expect(code).toBe(130);
    expect(JSON.parse(out).error.code).toBe('cancelled');
    // Two seconds of grace for the children; a question alone may take twenty.
    expect(performance.now() - asked).toBeLessThan(15_000);
  },
);

it('the doctor reports settings that cannot be used as one line among the others', async () => {
  const home = tempHome();
  mkdirSync(join(home, 'config'));
  writeFileSync(join(home, 'config', 'settings.json'), '{');
  const child = spawn(process.execPath, [entry, 'doctor', '--json'], {
    env: { ...process.env, CUDAMASTER_HOME: home },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let out = '';
  child.stdout.on('data', (d: Buffer) => {
    out += d;
  });
  await new Promise((done) => child.on('close', done));
  const { checks } = JSON.parse(out) as { checks: { id: string; status: string }[] };
  expect(checks.length).toBeGreaterThan(5);
  expect(checks.find((c) => c.id === 'settings')?.status).toBe('error');
});
