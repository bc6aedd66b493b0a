import { statSync } from 'node:fs';
import { execa, execaSync } from 'execa';
import { CappedText } from './capped.ts';
import { allProcesses, groupMembers, isAlive, pidExists, readStat, residentKiB, startTimeOf, treeOf } from './proc.ts';
import type { ChildExit, ChildHandle, ChildOptions } from './process.ts';
import { deathSignalPrefix, findProgram } from './program.ts';

export { startTimeOf } from './proc.ts';

/** Time between SIGTERM and SIGKILL, ms. */
const graceMs = 2000;
/** How long a killed tree may linger (driver call in state D) before we report it as stuck, ms. */
const stuckMs = 30_000;
/** Longest look at a tree, ms; the pause between two looks is at least twenty times what one took. */
const walkMs = 50;
/** Pipes that an escaped process still holds are given up after this, ms. */
const drainMs = 1000;

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Groups alive now: killed when our process exits, so that nothing outlives a plain exit. */
const live = new Set<Tree>();
let exitHook = false;
function watchExit(): void {
  if (exitHook) return;
  exitHook = true;
  process.on('exit', () => {
    for (const tree of live) tree.signal('SIGKILL');
  });
}

/** A child's process group and everything seen below it, including what moved to a session of its own. */
class Tree {
  readonly pid: number;
  private readonly escaped = new Map<number, string>();
  maxRssKiB: number | null = null;

  constructor(pid: number) {
    this.pid = pid;
  }

  /** Resident KiB of the tree now; remembers members outside the group, and the maximum. null where /proc is missing. */
  measure(): number | null {
    const members = treeOf(this.pid, walkMs);
    if (members.length === 0) return null;
    let sum = 0;
    for (const member of members) {
      sum += residentKiB(member.pid);
      if (member.pgrp !== this.pid) this.escaped.set(member.pid, member.start);
    }
    this.maxRssKiB = Math.max(this.maxRssKiB ?? 0, sum);
    return sum;
  }

  private escapees(): number[] {
    return [...this.escaped].filter(([pid, start]) => readStat(pid)?.start === start).map(([pid]) => pid);
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): void {
    if (process.platform === 'win32') {
      const env = { SystemRoot: process.env.SystemRoot ?? 'C:\\Windows', PATH: process.env.PATH ?? '' };
      execaSync('taskkill', ['/PID', String(this.pid), '/T', '/F'], { reject: false, env, extendEnv: false });
      return;
    }
    this.measure(); // after the leader dies, who was its descendant can no longer be told
    trySignal(-this.pid, name);
    for (const pid of this.escapees()) {
      trySignal(pid, name);
      if (readStat(pid)?.pgrp === pid) trySignal(-pid, name);
    }
  }

  /** Members still alive; [] = gone. The scan of all of /proc is spared when the kernel knows no such group. */
  remaining(): number[] {
    const escapees = this.escapees().filter((pid) => pidExists(pid));
    if (process.platform === 'win32') return pidExists(this.pid) ? [this.pid] : [];
    if (!groupKnown(this.pid)) return escapees;
    if (process.platform !== 'linux') return [this.pid, ...escapees];
    return [...groupMembers(this.pid).map((p) => p.pid), ...escapees];
  }

  /** Kills what is left until nothing is; false if something would not die. */
  async reap(): Promise<boolean> {
    const until = performance.now() + stuckMs;
    for (let pause = 2; this.remaining().length > 0; pause = Math.min(100, pause * 2)) {
      if (performance.now() > until) return false;
      this.signal('SIGKILL');
      await sleep(pause);
    }
    return true;
  }
}

function trySignal(target: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(target, name);
  } catch {
    // Gone already.
  }
}

function groupKnown(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch (fault) {
    return (fault as { code?: string }).code === 'EPERM';
  }
}

/** A handle for a child that never came to be. */
function notStarted(why: string, ended: ChildExit['ended'] = null): ChildHandle {
  const exit: ChildExit = {
    exitCode: null,
    signal: null,
    ended,
    startError: ended === null ? why : null,
    stdout: '',
    stderr: '',
    wallMs: 0,
    maxRssMiB: null,
  };
  return { pid: null, exited: Promise.resolve(exit), kill: () => undefined };
}

function cwdFault(cwd: string): string | null {
  try {
    return statSync(cwd).isDirectory() ? null : `ENOTDIR: working folder is no folder: ${cwd}`;
  } catch {
    return `ENOENT: working folder is missing: ${cwd}`;
  }
}

/**
 * Starts a program in its own session and process group. Nothing is inherited but what ChildOptions says.
 * On the wall limit and on abort: SIGTERM to the group, SIGKILL after 2 s; on the memory limit and kill(): SIGKILL at once.
 * What the program leaves behind in its group when it ends is killed too. If our process dies, the program dies (Linux with setpriv).
 * `exited` never rejects; a program that cannot be started gives `startError`, never an exit code.
 * Memory is the sum of resident sizes over the tree, polled (shared pages count for each process that maps them).
 */
export function startChild(argv: readonly string[], options: ChildOptions): ChildHandle {
  const name = argv[0];
  if (name === undefined) return notStarted('EINVAL: empty command');
  if (options.signal?.aborted) return notStarted('', 'abort');
  const badFolder = cwdFault(options.cwd);
  if (badFolder) return notStarted(badFolder);
  const found = findProgram(name, options.env.PATH, options.cwd);
  if (found.path === null) return notStarted(found.fault);

  const [file = found.path, ...args] = [...deathSignalPrefix(), found.path, ...argv.slice(1)];
  const began = performance.now();
  const subprocess = execa(file, args, {
    cwd: options.cwd,
    env: { ...options.env },
    extendEnv: false,
    preferLocal: false,
    detached: process.platform !== 'win32',
    cleanup: false,
    windowsHide: true,
    reject: false,
    buffer: false,
    stripFinalNewline: false,
    stdin: options.stdin === undefined ? 'ignore' : 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const settled = subprocess.then(
    (result) => result as { code?: string; originalMessage?: string },
    (fault: { code?: string; originalMessage?: string }) => fault,
  );
  const pid = subprocess.pid;
  if (pid === undefined) return failedStart(settled);

  watchExit();
  const tree = new Tree(pid);
  live.add(tree);
  let ended: ChildExit['ended'] = null;
  let over = false;
  const timers = new Set<NodeJS.Timeout>();
  const later = (ms: number, fn: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      if (!over) fn();
    }, ms);
    timers.add(timer);
  };
  const end = (why: NonNullable<ChildExit['ended']>, how: 'SIGTERM' | 'SIGKILL'): void => {
    if (over) return;
    ended ??= why;
    tree.signal(how);
    if (how === 'SIGTERM') later(graceMs, () => tree.signal('SIGKILL'));
  };

  const onAbort = (): void => end('abort', 'SIGTERM');
  options.signal?.addEventListener('abort', onAbort, { once: true });
  later(options.wallMs, () => end('timeout', 'SIGTERM'));
  const watch = (pause: number): void =>
    later(pause, () => {
      const from = performance.now();
      const rss = tree.measure();
      const took = performance.now() - from;
      if (rss !== null && options.memoryMiB !== null && rss > options.memoryMiB * 1024) end('memory', 'SIGKILL');
      watch(Math.max(Math.min(250, pause * 2), 20 * took));
    });
  watch(10);

  const out = new CappedText(options.outputBytes);
  const errors = new CappedText(options.outputBytes);
  subprocess.stdout.on('data', (chunk: Buffer) => out.add(chunk));
  subprocess.stderr.on('data', (chunk: Buffer) => errors.add(chunk));
  const drained = Promise.all([closed(subprocess.stdout), closed(subprocess.stderr)]);
  if (options.stdin !== undefined && subprocess.stdin) {
    subprocess.stdin.on('error', () => undefined); // EPIPE: the program did not want all of it
    subprocess.stdin.end(options.stdin);
  }

  const leader = new Promise<{ code: number | null; signal: string | null }>((done) => {
    subprocess.once('exit', (code, signal) => done({ code, signal }));
  });
  const exited = leader.then(async ({ code, signal }): Promise<ChildExit> => {
    over = true;
    const wallMs = performance.now() - began;
    for (const timer of timers) clearTimeout(timer);
    options.signal?.removeEventListener('abort', onAbort);
    const gone = await tree.reap();
    live.delete(tree);
    await Promise.race([drained, sleep(drainMs)]);
    subprocess.stdout.destroy();
    subprocess.stderr.destroy();
    if (!gone) errors.add(Buffer.from(`\n[a process of this command would not die: ${tree.remaining().join(', ')}]\n`));
    const stderr = errors.text();
    return {
      exitCode: code,
      signal,
      ended,
      startError: execFault(file, found.path, code, stderr),
      stdout: out.text(),
      stderr,
      wallMs,
      maxRssMiB: tree.maxRssKiB === null ? null : tree.maxRssKiB / 1024,
    };
  });
  return { pid, exited, kill: () => end('kill', 'SIGKILL') };
}

/** The setpriv in between exits 126 or 127 with a message of its own when the program cannot be executed (missing interpreter, wrong format). */
function execFault(file: string, program: string, code: number | null, stderr: string): string | null {
  if (file === program || (code !== 126 && code !== 127)) return null;
  return /^setpriv: failed to execute /.test(stderr) ? `ENOEXEC: ${stderr.trim()}` : null;
}

function failedStart(settled: Promise<{ code?: string; originalMessage?: string }>): ChildHandle {
  const base = notStarted('');
  const exited = Promise.all([base.exited, settled]).then(([exit, fault]) => ({
    ...exit,
    startError: `${fault.code ?? 'EUNKNOWN'}: ${fault.originalMessage ?? 'the program could not be started'}`,
  }));
  return { pid: null, exited, kill: () => undefined };
}

function closed(stream: NodeJS.ReadableStream): Promise<void> {
  return new Promise((done) => {
    stream.once('close', () => done());
    stream.once('error', () => done());
  });
}

/** startChild and wait. Never rejects. */
export function run(argv: readonly string[], options: ChildOptions): Promise<ChildExit> {
  return startChild(argv, options).exited;
}

/**
 * Ends the leftover of a crashed run: group `pid`, whose leader had start time `startTime` (as startTimeOf gave it).
 * A number reused by a stranger is left alone (`not-ours`). Resolves when the group is gone.
 */
export async function killGroup(pid: number, startTime: string): Promise<'killed' | 'gone' | 'not-ours' | 'stuck'> {
  if (process.platform === 'win32') return 'not-ours';
  const leaderStart = startTimeOf(pid);
  if (leaderStart !== null && leaderStart !== startTime) return 'not-ours';
  if (!groupLives(pid, startTime)) return 'gone';
  const tree = new Tree(pid);
  tree.signal('SIGKILL');
  return (await tree.reap()) ? 'killed' : 'stuck';
}

/** Whether a group of ours, named as for killGroup, still has members. */
export function groupLives(pid: number, startTime: string): boolean {
  const leaderStart = startTimeOf(pid);
  return leaderStart === null ? orphansAreOurs(pid, startTime) : leaderStart === startTime;
}

/**
 * The leader is gone, members may not be. A group's number is not given to a new process while members live, so members that lie in a
 * session of the same number and began after our leader, in the same boot, can only be its children.
 */
function orphansAreOurs(pid: number, startTime: string): boolean {
  const [boot, ticks] = startTime.split(':');
  const [bootNow] = (startTimeOf(process.pid) ?? '').split(':');
  if (process.platform !== 'linux' || boot !== bootNow || ticks === undefined) return false;
  const members = allProcesses().filter((p) => isAlive(p) && p.session === pid);
  return members.length > 0 && members.every((p) => BigInt(p.start) >= BigInt(ticks));
}
