import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allProcesses } from '../../main/base/proc.ts';
import type { ChildExit } from '../../main/base/process.ts';
import { startChild } from '../../main/base/spawn.ts';
import { type ContainedOptions, Containment, candidateEnv } from '../../main/jobs/containment.ts';
import { maxTasks, startLimited } from '../../main/jobs/process-limit.ts';
import { sandboxArgv } from '../../main/jobs/sandbox.ts';
import { hostileProgram } from './hostile.ts';
import { folder, tools } from './support.ts';

const root = folder();
let containment: Containment;
let scratch: string;

beforeAll(async () => {
  process.env.CM_TEST_API_KEY = 'sk-not-for-children-0123456789';
  containment = await Containment.create(tools);
  scratch = join(root.path, 'scratch');
  mkdirSync(scratch, { mode: 0o700 });
  mkdirSync(join(root.path, 'other'));
  writeFileSync(join(root.path, 'other', 'secret'), 'another job');
  writeFileSync(join(scratch, 'judge'), 'trusted');
  mkdirSync(join(scratch, 'lib'));
  writeFileSync(join(scratch, 'lib', 'origin.so'), 'trusted');
  hostileProgram(scratch);
});
afterAll(() => {
  delete process.env.CM_TEST_API_KEY;
  root[Symbol.dispose]();
});

function attack(args: string[], more: Partial<ContainedOptions> = {}): Promise<ChildExit> {
  return containment.start(['./hostile', ...args], {
    scratch,
    sandbox: true,
    gpu: false,
    profiling: false,
    protect: ['hostile', 'judge', 'lib'],
    build: false,
    env: candidateEnv(tools, scratch),
    wallMs: 20_000,
    memoryMiB: 1024,
    outputBytes: 1 << 20,
    ...more,
  }).exited;
}
const said = async (args: string[], more?: Partial<ContainedOptions>): Promise<string> =>
  (await attack(args, more)).stdout;

describe('sandbox (real bubblewrap)', () => {
  it('is there', () => {
    expect(containment.why).toBeNull();
    expect(containment.level).toBe('bubblewrap');
  });

  it.each(['/etc/shadow', '/etc/passwd', '/root', '/home', '/var', '/usr/local/etc', '/proc/kcore', '/work'])(
    'cannot read %s',
    async (path) => {
      expect(await said(['read', path])).toMatch(/^errno/);
    },
  );

  it('cannot read another job’s scratch, by path or through a link', async () => {
    const secret = join(root.path, 'other', 'secret');
    expect(existsSync(secret)).toBe(true);
    expect(await said(['read', secret])).toMatch(/^errno No such file/);
    expect(await said(['symlink', secret, 'way-out'])).toMatch(/^errno No such file/);
    symlinkSync('/etc/shadow', join(scratch, 'placed'));
    expect(await said(['read', 'placed'])).toMatch(/^errno/);
  });

  it.each(['/usr/bin/x', '/x', '/etc/x', '/dev/x', '/lib/x', '/proc/sys/kernel/core_pattern'])(
    'cannot write %s',
    async (path) => {
      expect(await said(['write', path])).toMatch(/^errno/);
    },
  );

  it('finds nothing writable in /proc, /sys, /dev and /etc but harmless devices', async () => {
    const found = (await said(['writable'])).split('\n').filter((line) => line !== '');
    const harmless = /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|pts\/.*|shm\/.*|console|core)$/;
    expect(found.filter((path) => !harmless.test(path))).toEqual([]);
  });

  it('writes in scratch and in a /tmp of its own', async () => {
    expect(await said(['write', 'mine'])).toBe('did\n');
    expect(readFileSync(join(scratch, 'mine'), 'utf8')).toBe('x');
    expect(await said(['write', '/tmp/mine-too'])).toBe('did\n');
    expect(existsSync('/tmp/mine-too')).toBe(false);
  });

  it.each([
    ['write', 'judge'],
    ['unlink', 'judge'],
    ['rename', 'judge', 'judge2'],
    ['write', 'lib/origin.so'],
    ['unlink', 'lib/origin.so'],
    ['rename', 'lib', 'lib2'],
    ['write', 'lib/new'],
  ])('cannot change what later processes trust: %s %s', async (...args) => {
    expect(await said(args)).toMatch(/^errno/);
    expect(readFileSync(join(scratch, 'judge'), 'utf8')).toBe('trusted');
    expect(readFileSync(join(scratch, 'lib', 'origin.so'), 'utf8')).toBe('trusted');
  });

  it('has no network: neither the outside nor a server of this machine', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((ready) => server.once('listening', ready));
    const { port } = server.address() as { port: number };
    expect(await said(['connect', '127.0.0.1', String(port)])).toMatch(/^errno Connection refused/);
    expect(await said(['connect', '1.1.1.1', '53'])).toMatch(/^errno Network is unreachable/);
    server.close();
  });

  it('reaches a Unix socket in its scratch folder: the broker’s channel', async () => {
    const server = createServer((socket) => socket.end()).listen(join(scratch, 'ctl'));
    await new Promise((ready) => server.once('listening', ready));
    expect(await said(['unix', 'ctl'])).toBe('did\n');
    server.close();
  });

  it('gets no secrets in its environment', async () => {
    const text = await said(['env']);
    expect(text).toContain('HOME=');
    expect(text).not.toContain('sk-not-for-children');
    expect(text.split('\n').filter((line) => line !== '').length).toBeLessThan(12);
  });

  it('cannot mount, nor make a user namespace in which it could', async () => {
    expect(await said(['mount'])).toMatch(/^errno/);
    expect(await said(['userns'])).toMatch(/^errno/);
  });

  it('cannot signal processes outside', async () => {
    await attack(['killall']);
    expect(allProcesses().some((p) => p.pid === process.pid)).toBe(true);
  });

  it('has little shared memory to fill', async () => {
    expect(await said(['shm'])).toMatch(/^stopped at \d{1,2} MiB: errno No space left/);
  });

  it('tells a death by signal from an exit code', async () => {
    expect(await attack(['signal', '11'])).toMatchObject({ exitCode: null, signal: 'SIGSEGV', startError: null });
    expect(await attack(['signal', '6'])).toMatchObject({ exitCode: null, signal: 'SIGABRT' });
    expect(await attack(['exit', '3'])).toMatchObject({ exitCode: 3, signal: null });
  });

  it('reports a program that is not there as such', async () => {
    const exit = await containment.start(['./absent'], {
      scratch,
      sandbox: true,
      gpu: false,
      profiling: false,
      protect: [],
      build: false,
      env: candidateEnv(tools, scratch),
      wallMs: 5000,
      memoryMiB: 64,
      outputBytes: 4096,
    }).exited;
    expect(exit.startError).toMatch(/^ESANDBOX: bwrap: execvp \.\/absent: No such file/);
  });
});

const named = (needle: string): number =>
  allProcesses().filter((p) => {
    try {
      return readFileSync(`/proc/${p.pid}/cmdline`, 'utf8').includes(needle);
    } catch {
      return false;
    }
  }).length;

describe('process trees', () => {
  it('ends daemons that left their session', async () => {
    copyFileSync(join(scratch, 'hostile'), join(scratch, 'daemon-7f3a'));
    const exit = await containment.start(['./daemon-7f3a', 'daemon'], {
      scratch,
      sandbox: true,
      gpu: false,
      profiling: false,
      protect: [],
      build: false,
      env: candidateEnv(tools, scratch),
      wallMs: 10_000,
      memoryMiB: 256,
      outputBytes: 4096,
    }).exited;
    expect(exit.stdout).toBe('did\n');
    expect(named('daemon-7f3a')).toBe(0);
  });

  it('a limited child is in its group from its first instruction, and we are not', async () => {
    const limit = containment.limit;
    if (process.getuid?.() !== 0) return expect(['rlimit', 'watch']).toContain(limit.kind);
    if (limit.kind !== 'cgroup') return expect(limit.kind).toBe('watch');
    const before = readFileSync('/proc/self/cgroup', 'utf8');
    const options = { cwd: scratch, env: {}, wallMs: 10_000, memoryMiB: null, outputBytes: 4096 };
    const { handle, end } = startLimited(() => startChild(['/bin/cat', '/proc/self/cgroup'], options), limit);
    expect(readFileSync('/proc/self/cgroup', 'utf8')).toBe(before);
    const { stdout } = await handle.exited;
    end();
    expect(stdout).toMatch(new RegExp(`/cudamaster-${process.pid}-\\d+$`, 'm'));
    // A start that fails leaves us where we were, too.
    const failing = () => {
      throw new Error('no such program');
    };
    expect(() => startLimited(failing, limit)).toThrow('no such program');
    expect(readFileSync('/proc/self/cgroup', 'utf8')).toBe(before);
  });

  it('survives a fork bomb and leaves nothing of it', async () => {
    copyFileSync(join(scratch, 'hostile'), join(scratch, 'bomb-91c2'));
    let most = 0;
    setTimeout(() => {
      most = named('bomb-91c2');
    }, 600);
    const began = performance.now();
    const exit = await containment.start(['./bomb-91c2', 'bomb'], {
      scratch,
      sandbox: true,
      gpu: false,
      profiling: false,
      protect: [],
      build: false,
      env: candidateEnv(tools, scratch),
      wallMs: 1000,
      memoryMiB: 4096,
      outputBytes: 4096,
    }).exited;
    expect(['timeout', 'kill']).toContain(exit.ended);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThan(maxTasks + 8);
    expect(named('bomb-91c2')).toBe(0);
  });

  it('cuts endless output and says so', async () => {
    const exit = await attack(['shout'], { outputBytes: 10_000 });
    expect(exit.exitCode).toBe(0);
    expect(exit.stdout.length).toBeLessThan(12_000);
    expect(exit.stdout).toMatch(/cut|omitted|left out/);
  });

  it('is killed at once on abort', async () => {
    const cancel = new AbortController();
    setTimeout(() => cancel.abort(), 300);
    const exit = await attack(['sleep'], { signal: cancel.signal });
    expect(exit.ended).toBe('abort');
    expect(exit.wallMs).toBeLessThan(1500);
  });
});

describe('sandboxArgv', () => {
  const facts = {
    bwrap: '/usr/bin/bwrap',
    readOnly: ['/usr/lib'],
    links: [],
    gpuDevices: ['/dev/nvidia0'],
    gpuDirs: ['/usr/local/nvidia'],
    procReadOnly: [],
    features: { size: true, disableUserns: true },
    countersNeedAdmin: true,
  };
  const options = {
    scratch: '/s',
    tmp: '/s/.tmp',
    cwd: '/s',
    protect: [],
    hide: [],
    aliases: [],
    gpu: false,
    profiling: false,
  };

  it('gives GPU devices to GPU programs only', () => {
    expect(sandboxArgv(['./x'], options, facts)).not.toContain('/dev/nvidia0');
    const argv = sandboxArgv(['./x'], { ...options, gpu: true }, facts);
    expect(argv.join(' ')).toContain('--dev-bind /dev/nvidia0 /dev/nvidia0');
    expect(argv).toContain('/usr/local/nvidia');
  });

  it('keeps CAP_SYS_ADMIN only for a profiler, only where the counters need it', () => {
    const has = (profiling: boolean, countersNeedAdmin: boolean): boolean =>
      sandboxArgv(['./x'], { ...options, gpu: true, profiling }, { ...facts, countersNeedAdmin }).includes(
        'CAP_SYS_ADMIN',
      );
    expect(has(true, true)).toBe(true);
    expect(has(true, false)).toBe(false);
    expect(has(false, true)).toBe(false);
  });

  it('passes the program’s own arguments after "--", untouched', () => {
    const argv = sandboxArgv(['./x', '--bind', '/', '/'], options, facts);
    expect(argv.slice(argv.indexOf('--'))).toEqual(['--', './x', '--bind', '/', '/']);
  });
});
