import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newRootSeed } from '../../main/base/random.ts';
import { startChild } from '../../main/base/spawn.ts';
import type { Limits, Problem, SessionPlan, ToolPaths } from '../../main/contract/index.ts';
import type { SessionContext, StartOptions } from '../../main/jobs/context.ts';
import { runSession, type SessionOutcome } from '../../main/jobs/session/index.ts';

export interface Scratch {
  readonly path: string;
  [Symbol.dispose](): void;
}

export function scratch(): Scratch {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'cms-')));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

export const tools: ToolPaths = {
  nvcc: null,
  cxx: null,
  ccbin: false,
  ncu: null,
  sanitizer: null,
  bwrap: null,
  toolkit: null,
  includeDirs: [],
  libDirs: [],
  arch: null,
  archs: [],
  env: {},
  machine: {
    host: hostname(),
    gpu: null,
    driver: null,
    toolkit: null,
    nvcc: null,
    hostCompiler: null,
    ncu: null,
    containment: 'none',
  },
};

export interface Started {
  readonly argv: readonly string[];
  readonly options: StartOptions;
}

/** A context whose children are real processes without a sandbox; `started` lists them. */
export function context(
  at: Scratch,
  extra: Partial<SessionContext> & { limits?: Limits } = {},
): SessionContext & { started: Started[]; notes: string[] } {
  const limits = extra.limits ?? { wallMs: 30_000, memoryMiB: 2048, outputBytes: 1 << 20 };
  const started: Started[] = [];
  const notes: string[] = [];
  return {
    scratch: at.path,
    tools,
    seed: newRootSeed(),
    progress: (note) => notes.push(note),
    start: (argv, options) => {
      started.push({ argv, options });
      return startChild(argv, {
        cwd: at.path,
        env: { PATH: '/usr/bin:/bin', ...options.env },
        wallMs: options.wallMs,
        memoryMiB: limits.memoryMiB,
        outputBytes: limits.outputBytes,
        signal: extra.signal,
      });
    },
    ...extra,
    limits,
    started,
    notes,
  };
}

/** Path of the fake runner and judge, to be required by a script. */
export const fakePeer = fileURLToPath(new URL('./fake-peer.cjs', import.meta.url));

/** Writes an executable Node script into scratch. */
export function script(at: Scratch, name: string, body: string): void {
  const path = join(at.path, name);
  writeFileSync(path, `#!${process.execPath}\n${body}\n`);
  chmodSync(path, 0o755);
}

const body = (role: string, behaviour: object): string =>
  `require(${JSON.stringify(fakePeer)}).${role}(${JSON.stringify(behaviour)});`;

export function fakeJudge(at: Scratch, behaviour: object = {}): void {
  script(at, 'judge', body('judge', behaviour));
}

/** Puts a fake runner and judge into scratch. */
export function fakes(at: Scratch, runner: object = {}, judge: object = {}): void {
  script(at, 'runner', body('runner', runner));
  fakeJudge(at, judge);
}

export const programs = { runner: 'runner', judge: 'judge', shim: 'shim.so' };

export const problem = (id: string, count = 64): Problem => ({
  id,
  dims: { N: count },
  dimOrder: ['N'],
  buffers: [
    { name: 'x', role: 'in', elem: 'f32', count, generator: { kind: 'uniform', lo: -1, hi: 1 } },
    { name: 'y', role: 'out', elem: 'f32', count },
  ],
  args: [
    { kind: 'buf', index: 0 },
    { kind: 'buf', index: 1 },
    { kind: 'int', value: count },
  ],
  limits: [{ buffer: 1, c: 4, rms: 0.5, uOut: 2 ** -24, uAcc: 2 ** -24 }],
});

/** Lines of the fakes' trace, split: role, pid, command, arguments. */
export function trace(at: Scratch): string[][] {
  const path = join(at.path, 'trace.log');
  return existsSync(path)
    ? readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.trim().split(' '))
    : [];
}

/** Resolves when a peer has been asked for this: on a busy machine nobody can say how long that takes. */
export async function asked(at: Scratch, command: string): Promise<void> {
  while (!trace(at).some((line) => line[2] === command)) await new Promise((resolve) => setTimeout(resolve, 10));
}

export async function session<M extends SessionPlan['mode']>(
  plan: Extract<SessionPlan, { mode: M }>,
  ctx: SessionContext,
): Promise<SessionOutcome & { result: Extract<NonNullable<SessionOutcome['result']>, { mode: M }> }> {
  const outcome = await runSession(plan, ctx);
  if (outcome.result?.mode !== plan.mode) throw new Error(`no result: ${JSON.stringify(outcome)}`);
  return outcome as never;
}
