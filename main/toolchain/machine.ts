import { constants } from 'node:fs';
import { access, mkdir, open, readdir, readFile, realpath, stat, writeFile } from 'node:fs/promises';
import { homedir, hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { allowedEnv, cacheDir, removeScratch, run, scratchDir, sha256Hex, writeFileAtomic } from '../base/index.ts';
import { AppFailure, err } from '../contract/index.ts';

/** What a command answered. */
export interface Answer {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The program could not be started at all. */
  readonly startError: string | null;
  /** Ended by a signal or by a limit of ours; the reason in words. */
  readonly killed: string | null;
}

export interface RunOptions {
  readonly wallMs?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/**
 * All that discovery asks of a computer. The real one is below; tests describe others as data. Paths of the platform's own shape.
 * Nothing throws: what is not there is null, false or empty.
 */
export interface Machine {
  readonly platform: 'linux' | 'win32' | 'darwin';
  readonly cpu: 'x64' | 'arm64';
  readonly host: string;
  readonly home: string;
  /** Effective user is root (Linux, macOS). */
  readonly root: boolean;
  /** Environment of our own process: read to find tools, never handed on. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Environment for the tools asked. */
  readonly toolEnv: Readonly<Record<string, string>>;
  run(argv: readonly string[], options?: RunOptions): Promise<Answer>;
  /** The first 64 KiB of a text file (/proc files included); null = not readable. */
  readText(path: string): Promise<string | null>;
  /** Names in a folder, [] when it is none. */
  list(dir: string): Promise<readonly string[]>;
  exists(path: string): Promise<boolean>;
  isExecutable(path: string): Promise<boolean>;
  /** Links resolved; null = not there. */
  realPath(path: string): Promise<string | null>;
  /** Changes when the file does: size and modification time. */
  stamp(path: string): Promise<string | null>;
  /** Runs `fn` with a fresh scratch folder that is removed afterwards. */
  withScratch<T>(fn: (dir: string) => Promise<T>): Promise<T>;
  write(path: string, text: string): Promise<void>;
  /** Facts remembered between runs, by a key that holds everything they depend on. */
  recall(key: string): Promise<unknown>;
  remember(key: string, value: unknown): Promise<void>;
}

/** Time for a question such as `nvcc --version`, ms. nvidia-smi wakes every GPU first where persistence mode is off. */
const questionMs = 20_000;

function platformOf(name: NodeJS.Platform): Machine['platform'] {
  return name === 'win32' || name === 'darwin' ? name : 'linux';
}

const none =
  <T>(value: T) =>
  (): T =>
    value;

/**
 * This computer. `env` can be replaced for tests with fake tools on a PATH of their own. Once `signal` fires, whatever is being asked is
 * ended and every question throws AppFailure `cancelled`: an answer that was cut short must not be taken for one, or remembered.
 */
export function thisMachine(
  env: Readonly<Record<string, string | undefined>> = process.env,
  signal?: AbortSignal,
): Machine {
  const toolEnv = allowedEnv([], {}, env);
  const factFile = (key: string): string => join(cacheDir(), 'toolchain', `${sha256Hex(key)}.json`);
  return {
    platform: platformOf(process.platform),
    cpu: process.arch === 'arm64' ? 'arm64' : 'x64',
    host: hostname(),
    home: env.HOME ?? homedir(),
    root: process.geteuid?.() === 0,
    env,
    toolEnv,
    run: async (argv, options = {}) => {
      const exit = await run(argv, {
        cwd: options.cwd ?? '/',
        env: options.env ?? toolEnv,
        wallMs: options.wallMs ?? questionMs,
        memoryMiB: null,
        outputBytes: 400_000,
        signal,
      });
      if (signal?.aborted) throw new AppFailure(err('cancelled', 'Cancelled while looking at the machine.').error);
      const killed = exit.ended === 'timeout' ? 'time limit' : (exit.ended ?? exit.signal);
      return { exitCode: exit.exitCode, stdout: exit.stdout, stderr: exit.stderr, startError: exit.startError, killed };
    },
    readText: async (path) => {
      const file = await open(path, 'r').catch(none(null));
      if (!file) return null;
      try {
        const { bytesRead, buffer } = await file.read(Buffer.alloc(65_536), 0, 65_536, null);
        return buffer.toString('utf8', 0, bytesRead);
      } catch {
        return null;
      } finally {
        await file.close();
      }
    },
    list: (dir) => readdir(dir).catch(none([])),
    exists: (path) => access(path).then(none(true), none(false)),
    isExecutable: async (path) => {
      const found = await stat(path).catch(none(null));
      return found?.isFile() === true && (await access(path, constants.X_OK).then(none(true), none(false)));
    },
    realPath: (path) => realpath(path).catch(none(null)),
    stamp: async (path) => {
      const found = await stat(path).catch(none(null));
      return found ? `${found.size}-${Math.round(found.mtimeMs)}` : null;
    },
    withScratch: async (fn) => {
      const dir = scratchDir();
      try {
        return await fn(dir);
      } finally {
        removeScratch(dir);
      }
    },
    write: async (path, text) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    },
    recall: async (key) => {
      try {
        return JSON.parse(await readFile(factFile(key), 'utf8'));
      } catch {
        return undefined; // no such fact, or a damaged one: it is found again
      }
    },
    remember: async (key, value) => {
      try {
        await writeFileAtomic(factFile(key), JSON.stringify(value));
      } catch {
        // Only speed is lost, also where there is no folder to remember in.
      }
    },
  };
}

/** Path functions of the described platform, which need not be the one we run on. */
export function joinOn(machine: Machine, ...parts: string[]): string {
  const separator = machine.platform === 'win32' ? '\\' : '/';
  return parts
    .map((part, i) => withoutSlashes(part, i > 0))
    .filter((part, i) => i === 0 || part !== '')
    .join(separator);
}

function withoutSlashes(part: string, front: boolean): string {
  const slash = (at: number): boolean => part[at] === '/' || part[at] === '\\';
  let [from, to] = [0, part.length];
  while (to > from && slash(to - 1)) to--;
  while (front && from < to && slash(from)) from++;
  return part.slice(from, to);
}

/** Folder of a path; the root of itself. */
export function parentOf(path: string): string {
  const at = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'));
  return at <= 0 ? '/' : path.slice(0, at);
}

export const baseOf = (path: string): string => path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);

/** "a/b/../c" → "a/c", as nvcc prints its folders. */
export function normalize(path: string): string {
  const windows = path.includes('\\');
  const out: string[] = [];
  for (const part of path.split(/[\\/]+/)) {
    if (part === '.') continue;
    if (part === '..' && out.length > 1) out.pop();
    else out.push(part);
  }
  return out.join(windows ? '\\' : '/') || '/';
}

/** Folders of a PATH-like variable. */
export const pathFolders = (machine: Machine, value: string | undefined): string[] =>
  (value ?? '').split(machine.platform === 'win32' ? ';' : ':').filter((dir) => dir !== '');

/** Keeps the first of equals. */
export const unique = <T>(items: readonly T[]): T[] => [...new Set(items)];
