import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allProcesses, parseStat, pidExists, treeOf, treeWithin } from '../../main/base/proc.ts';
import type { ChildOptions } from '../../main/base/process.ts';
import { killGroup, run, startChild, startTimeOf } from '../../main/base/spawn.ts';

const node = process.execPath; // tests run under node itself
let dir: string;
const options = (more: Partial<ChildOptions> = {}): ChildOptions => ({
  cwd: dir,
  env: { PATH: '/usr/bin:/bin' },
  wallMs: 20_000,
  memoryMiB: null,
  outputBytes: 100_000,
  ...more,
});

/** A script in a file: argv stays an array, no shell of ours. */
function script(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

async function until(what: () => boolean, ms = 5000): Promise<boolean> {
  const end = Date.now() + ms;
  while (!what()) {
    if (Date.now() > end) return false;
    await new Promise((done) => setTimeout(done, 20));
  }
  return true;
}

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'cm-spawn-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe('startChild', () => {
  it('gives output, exit code and signal', async () => {
    const exit = await run([script('three', 'echo out; echo err >&2; exit 3')], options());
    expect(exit).toMatchObject({
      exitCode: 3,
      signal: null,
      ended: null,
      startError: null,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    const killed = await run([script('self', 'kill -SEGV $$')], options());
    expect(killed).toMatchObject({ exitCode: null, signal: 'SIGSEGV', ended: null });
  });

  it('inherits nothing from our environment', async () => {
    process.env.CM_TEST_API_KEY = 'sk-should-not-be-seen';
    const exit = await run(['env'], options({ env: { PATH: '/usr/bin:/bin', ONLY: 'this' } }));
    delete process.env.CM_TEST_API_KEY;
    const names = exit.stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(['ONLY', 'PATH']);
  });

  it('searches the PATH given, not ours', async () => {
    const exit = await run(['env'], options({ env: { PATH: '/nowhere' } }));
    expect(exit.startError).toMatch(/^ENOENT/);
  });

  it('tells "not there" from "ended with 127"', async () => {
    expect((await run(['./nothing'], options())).startError).toMatch(/^ENOENT/);
    writeFileSync(join(dir, 'plain'), 'text');
    expect((await run(['./plain'], options())).startError).toMatch(/^EACCES/);
    writeFileSync(join(dir, 'badsheb'), '#!/no/such/interpreter\n', { mode: 0o755 });
    expect((await run(['./badsheb'], options())).startError).toMatch(/ENOENT|ENOEXEC/);
    expect((await run(['true'], options({ cwd: join(dir, 'no') }))).startError).toMatch(/working folder/);
    const honest = await run([script('s127', 'exit 127')], options());
    expect(honest).toMatchObject({ exitCode: 127, startError: null });
  });

  it('passes stdin and survives a program that does not read it', async () => {
    expect((await run(['cat'], options({ stdin: 'häh\n' }))).stdout).toBe('häh\n');
    const big = 'x'.repeat(4_000_000);
    expect((await run(['true'], options({ stdin: big }))).exitCode).toBe(0);
  });

  it('cuts the middle of long output and says how much', async () => {
    const text = "process.stdout.write('A'.repeat(50000) + 'M'.repeat(900000) + 'Z'.repeat(50000))";
    const exit = await run([node, '-e', text], options({ outputBytes: 10_000 }));
    expect(exit.stdout.startsWith('A'.repeat(5000))).toBe(true);
    expect(exit.stdout.endsWith('Z'.repeat(5000))).toBe(true);
    expect(exit.stdout).toContain('990000 bytes cut');
  });

  it('ends a tree at the wall limit, children that ignore SIGTERM and moved to another session too', async () => {
    const inner = script(
      'inner',
      "trap '' TERM; echo $$ > inner.pid; sleep 300 & echo $! > sleep.pid; wait; wait; sleep 300",
    );
    const moved = script('moved', 'echo $$ > moved.pid; sleep 300');
    const outer = script('outer', `${inner} & setsid ${moved} & wait`);
    const exit = await run([outer], options({ wallMs: 700 }));
    expect(exit.ended).toBe('timeout');
    expect(exit.exitCode).toBe(null);
    expect(exit.wallMs).toBeGreaterThan(650);
    for (const name of ['inner.pid', 'sleep.pid', 'moved.pid']) {
      const pid = Number(readFileSync(join(dir, name), 'utf8'));
      expect(pid).toBeGreaterThan(1);
      expect(pidExists(pid), name).toBe(false);
    }
  });

  it('kills what a program leaves behind in its group', async () => {
    const exit = await run([script('leaver', 'sleep 300 & echo $!')], options());
    expect(exit.exitCode).toBe(0);
    expect(pidExists(Number(exit.stdout))).toBe(false);
    expect(exit.wallMs).toBeLessThan(5000);
  });

  it('ends a tree over its memory limit and reports the peak', async () => {
    const hungry = 'const a=[]; setInterval(()=>a.push(Buffer.alloc(20e6,1)),20)';
    const exit = await run([script('eater', `${node} -e '${hungry}'; echo survived`)], options({ memoryMiB: 400 }));
    expect(exit.ended).toBe('memory');
    expect(exit.maxRssMiB).toBeGreaterThan(400);
    expect(exit.stdout).not.toContain('survived');
    const modest = await run([node, '-e', 'setTimeout(()=>{},300)'], options({ memoryMiB: 2000 }));
    expect(modest.ended).toBe(null);
    expect(modest.maxRssMiB).toBeGreaterThan(10);
  });

  it('ends on abort and on kill', async () => {
    const stop = new AbortController();
    const child = startChild(['sleep', '300'], options({ signal: stop.signal }));
    setTimeout(() => stop.abort(), 50);
    expect(await child.exited).toMatchObject({ ended: 'abort', exitCode: null, signal: 'SIGTERM' });
    const other = startChild(['sleep', '300'], options());
    other.kill();
    expect(await other.exited).toMatchObject({ ended: 'kill', signal: 'SIGKILL' });
    expect(await run(['sleep', '300'], options({ signal: AbortSignal.abort() }))).toMatchObject({ ended: 'abort' });
  });

  it('does not outlive us', async () => {
    const spawnUrl = new URL('../../main/base/spawn.ts', import.meta.url).href;
    const parentText = `
      import { startChild } from ${JSON.stringify(spawnUrl)};
      const c = startChild(['sleep', '301'], { cwd: '/', env: { PATH: '/usr/bin:/bin' }, wallMs: 1e6, memoryMiB: null, outputBytes: 1000 });
      console.log(c.pid);
      setInterval(() => {}, 1000);`;
    writeFileSync(join(dir, 'parent.mts'), parentText);
    const parent = startChild([node, 'parent.mts'], options({ env: { PATH: '/usr/bin:/bin' } }));
    // The child's number is on the parent's stdout, which we only get at its end: find it by parenthood instead.
    let child: number | undefined;
    expect(
      await until(() => {
        child = treeOf(parent.pid ?? 0).find((p) => p.pid !== parent.pid && p.pgrp === p.pid)?.pid;
        return child !== undefined && readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('/usr/bin/sleep');
      }),
    ).toBe(true);
    process.kill(parent.pid ?? 0, 'SIGKILL'); // the parent alone, as the kernel's OOM killer would
    expect(await until(() => !pidExists(child ?? 0))).toBe(true);
    await parent.exited;
  });
});

describe('killGroup', () => {
  it('ends a leftover group, leaves a stranger alone', async () => {
    const child = startChild([script('lead', 'sleep 300 & wait')], options());
    const pid = child.pid ?? 0;
    const start = startTimeOf(pid) ?? '';
    expect(start).not.toBe('');
    expect(await killGroup(pid, 'other:1')).toBe('not-ours');
    expect(pidExists(pid)).toBe(true);
    expect(await killGroup(pid, start)).toBe('killed');
    expect(await killGroup(pid, start)).toBe('gone');
    await child.exited;
  });
});

describe('process table', () => {
  it('reads names with spaces and brackets', () => {
    const text = `77 (a) b (c)) S 1 70 60 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 123456 1 1 18446744073709551615`;
    expect(parseStat(text)).toEqual({ pid: 77, state: 'S', ppid: 1, pgrp: 70, session: 60, start: '123456' });
    expect(parseStat('')).toBe(null);
  });

  it('finds the same tree with and without the list of children', async () => {
    const child = startChild([script('tree', 'sleep 300 & (sleep 300 & wait) & wait')], options());
    const pid = child.pid ?? 0;
    expect(await until(() => treeOf(pid).length === 4)).toBe(true);
    const ids = (list: { pid: number }[]) => list.map((p) => p.pid).sort();
    expect(ids(treeWithin(allProcesses(), pid))).toEqual(ids(treeOf(pid)));
    child.kill();
    await child.exited;
    expect(treeOf(pid)).toEqual([]);
  });
});
