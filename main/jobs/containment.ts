import { existsSync, mkdirSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { ChildExit, ChildHandle } from '../base/process.ts';
import { startChild } from '../base/spawn.ts';
import type { ToolPaths } from '../contract/index.ts';
import { type ProcessLimit, processLimit, startLimited } from './process-limit.ts';
import { aliasPath, type SandboxFacts, sandboxArgv } from './sandbox.ts';
import { extraLibraryDirs, gpuDevices, probeSandbox } from './sandbox-facts.ts';

export interface ContainedOptions {
  /** Working folder and, in the sandbox, the only writable one. */
  readonly scratch: string;
  readonly sandbox: boolean;
  readonly gpu: boolean;
  readonly profiling: boolean;
  readonly protect: readonly string[];
  /** Entries of scratch that the process may not even read. Default none. */
  readonly hide?: readonly string[];
  /** true: a build: its folder is seen, and worked in, at a constant path. false: only the sources (.cu) are seen there too. */
  readonly build: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly wallMs: number;
  readonly memoryMiB: number;
  readonly outputBytes: number;
  readonly niceness?: number;
  readonly signal?: AbortSignal;
}

/** Name of the private temporary folder inside each scratch folder; it is /tmp in the sandbox. */
export const tmpName = '.tmp';

/**
 * How this machine contains candidates. Made once per executor: trying a sandbox takes some tens of milliseconds.
 */
export class Containment {
  readonly level: 'bubblewrap' | 'none';
  /** Why there is no sandbox; null when there is one. */
  readonly why: string | null;
  readonly remedy: string | null;
  private readonly facts: SandboxFacts | null;
  /** How the number of a candidate's processes is limited here. */
  readonly limit: ProcessLimit;

  private constructor(facts: SandboxFacts | null, why: string | null, remedy: string | null, limit: ProcessLimit) {
    this.facts = facts;
    this.level = facts ? 'bubblewrap' : 'none';
    this.why = why;
    this.remedy = remedy;
    this.limit = limit;
  }

  static async create(tools: ToolPaths): Promise<Containment> {
    const probe = await probeSandbox(tools);
    if (!probe.usable) return new Containment(null, probe.why, probe.remedy, { kind: 'watch' });
    return new Containment(probe.facts, null, null, await processLimit(probe.facts));
  }

  /** Path under which a build sees its own folder. */
  buildPath(scratch: string, sandbox: boolean): string {
    return sandbox && this.facts ? aliasPath : scratch;
  }

  /**
   * Starts a process, contained if asked for and possible. Abort kills at once, without a grace period.
   * In the sandbox a death by signal arrives as exit code 128+n of bwrap: it is turned back into the signal.
   */
  start(argv: readonly string[], options: ContainedOptions): ChildHandle {
    const tmp = join(options.scratch, tmpName);
    mkdirSync(tmp, { recursive: true, mode: 0o700 });
    const inside = options.sandbox && this.facts !== null;
    const nice = options.niceness !== undefined && existsSync('/usr/bin/nice');
    const asked = nice ? ['/usr/bin/nice', '-n', String(options.niceness), ...argv] : [...argv];
    const full = inside && this.facts ? this.inSandbox(asked, options, tmp, this.facts) : asked;
    const begin = (): ChildHandle =>
      startChild(full, {
        cwd: options.scratch,
        env: { ...options.env, TMPDIR: tmp, TMP: tmp, TEMP: tmp },
        wallMs: options.wallMs,
        memoryMiB: options.memoryMiB,
        outputBytes: options.outputBytes,
        signal: options.signal,
      });
    const { handle, end } = options.sandbox
      ? startLimited(begin, this.limit)
      : { handle: begin(), end: () => undefined };
    const onAbort = (): void => handle.kill();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const exited = handle.exited.then((exit) => {
      options.signal?.removeEventListener('abort', onAbort);
      end();
      return inside ? unwrapBwrap(exit) : exit;
    });
    return { pid: handle.pid, exited, kill: () => handle.kill() };
  }

  private inSandbox(argv: string[], options: ContainedOptions, tmp: string, facts: SandboxFacts): string[] {
    const limited = this.limit.kind === 'rlimit' ? [...this.limit.prefix, ...argv] : argv;
    const now = options.gpu ? { ...facts, gpuDevices: gpuDevices() } : facts;
    const sources = options.protect.filter((name) => /\.cuh?$/.test(name));
    const aliases = options.build
      ? [{ from: options.scratch, at: aliasPath, writable: true }]
      : sources.map((name) => ({ from: join(options.scratch, name), at: join(aliasPath, name), writable: false }));
    return sandboxArgv(
      limited,
      {
        scratch: options.scratch,
        tmp,
        cwd: options.build ? aliasPath : options.scratch,
        protect: options.protect,
        hide: options.hide ?? [],
        aliases,
        gpu: options.gpu,
        profiling: options.profiling,
      },
      now,
    );
  }
}

function unwrapBwrap(exit: ChildExit): ChildExit {
  if (exit.exitCode === null || exit.ended !== null) return exit;
  if (exit.exitCode === 1 && exit.stderr.startsWith('bwrap: '))
    return { ...exit, startError: `ESANDBOX: ${exit.stderr.split('\n')[0]}` };
  const name = signalName(exit.exitCode - 128);
  return name === null ? exit : { ...exit, exitCode: null, signal: name };
}

function signalName(number: number): string | null {
  for (const [name, value] of Object.entries(constants.signals)) if (value === number) return name;
  return null;
}

/** Environment of a process that may hold a candidate: nothing of the user's but a fixed PATH, locale and the GPU chosen. */
export function candidateEnv(tools: ToolPaths, home: string): Record<string, string> {
  const dirs = [tools.nvcc, tools.cxx].flatMap((tool) => (tool ? [dirname(tool)] : []));
  const env: Record<string, string> = {
    PATH: [...new Set([...dirs, '/usr/bin', '/bin'])].join(delimiter),
    HOME: home,
    LANG: 'C.UTF-8',
    LC_ALL: 'C.UTF-8',
  };
  for (const name of ['SystemRoot', 'SYSTEMROOT', 'CUDA_VISIBLE_DEVICES', 'INCLUDE', 'LIB'])
    if (tools.env[name] !== undefined) env[name] = tools.env[name];
  return env;
}

/** candidateEnv plus what GPU programs need: library folders that the dynamic linker does not know, the GPU by UUID, caches in scratch. */
export function gpuEnv(tools: ToolPaths, home: string): Record<string, string> {
  const env = candidateEnv(tools, home);
  const inToolkit = tools.toolkit
    ? ['lib64', 'lib', 'targets/x86_64-linux/lib', 'extras/CUPTI/lib64'].map((dir) => join(tools.toolkit ?? '', dir))
    : [];
  // The toolchain's own list first: it knows where this machine keeps driver and CUPTI.
  const found = (tools.env.LD_LIBRARY_PATH ?? '').split(delimiter);
  const dirs = [...found, ...inToolkit, ...tools.libDirs, ...extraLibraryDirs()].filter(
    (dir) => dir !== '' && existsSync(dir),
  );
  if (dirs.length > 0) env.LD_LIBRARY_PATH = [...new Set(dirs)].join(delimiter);
  const uuid = tools.machine.gpu?.uuid;
  if (uuid && /^(GPU|MIG)-/.test(uuid)) env.CUDA_VISIBLE_DEVICES = uuid;
  env.CUDA_CACHE_PATH = join(home, 'nv-cache');
  return env;
}
