import { readFileSync } from 'node:fs';
import type { Answer, Machine } from '../../main/toolchain/machine.ts';

interface Entry {
  /** Target of a symbolic link. */
  readonly link?: string;
  readonly exec?: boolean;
  readonly text?: string;
}

interface Command {
  /** Beginning of the command line, argv joined by spaces; the longest that fits answers. */
  readonly run: string;
  /** Words that must also be among the arguments. */
  readonly with?: readonly string[];
  readonly without?: readonly string[];
  readonly exit?: number;
  readonly out?: string;
  readonly err?: string;
  /** Files that appear in the scratch folder. */
  readonly makes?: readonly string[];
}

export interface Described {
  readonly about: string;
  readonly platform: Machine['platform'];
  readonly home: string;
  readonly root?: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, Entry>>;
  readonly commands: readonly Command[];
}

export function readDescribed(name: string): Described {
  const url = new URL(`../fixtures/toolchain/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(url, 'utf8')) as Described;
}

/** A computer given as data: files, links and what commands answer. Keeps the commands asked in `asked`. */
export function describedMachine(is: Described): Machine & { asked: string[][] } {
  const windows = is.platform === 'win32';
  const separator = windows ? '\\' : '/';
  const made = new Set<string>();
  const memory = new Map<string, unknown>();
  const asked: string[][] = [];

  const isFolder = (path: string): boolean => Object.keys(is.files).some((name) => name.startsWith(path + separator));
  /** Follows links in every part of a path. */
  const real = (path: string, depth = 0): string | null => {
    if (depth > 20) return null;
    const parts = path.split(separator);
    for (let i = 1; i <= parts.length; i++) {
      const at = parts.slice(0, i).join(separator);
      const link = is.files[at]?.link;
      if (link !== undefined) return real([link, ...parts.slice(i)].join(separator), depth + 1);
    }
    return path in is.files || isFolder(path) || made.has(path) ? path : null;
  };
  const entry = (path: string): Entry | undefined => is.files[real(path) ?? ''];
  const answer = (argv: readonly string[], cwd: string): Answer => {
    const line = argv.join(' ');
    const fits = is.commands.filter(
      (c) =>
        line.startsWith(c.run) &&
        (c.with ?? []).every((w) => argv.includes(w)) &&
        !(c.without ?? []).some((w) => argv.includes(w)),
    );
    const best = fits.sort((a, b) => b.run.length - a.run.length || (b.with?.length ?? 0) - (a.with?.length ?? 0))[0];
    if (!best)
      return { exitCode: null, stdout: '', stderr: '', startError: `ENOENT: not described: ${line}`, killed: null };
    for (const file of best.makes ?? []) made.add(`${cwd}${separator}${file}`);
    return { exitCode: best.exit ?? 0, stdout: best.out ?? '', stderr: best.err ?? '', startError: null, killed: null };
  };

  return {
    platform: is.platform,
    cpu: 'x64',
    host: 'described',
    home: is.home,
    root: is.root ?? false,
    env: is.env,
    toolEnv: { PATH: is.env.PATH ?? '', TMPDIR: '/t', TMP: '/t', TEMP: '/t' },
    asked,
    run: async (argv, options = {}) => {
      asked.push([...argv]);
      return answer(argv, options.cwd ?? '/');
    },
    readText: async (path) => entry(path)?.text ?? null,
    list: async (dir) => {
      const at = real(dir);
      if (at === null) return [];
      const below = Object.keys(is.files).filter((name) => name.startsWith(at + separator));
      return [...new Set(below.map((name) => name.slice(at.length + 1).split(separator)[0] as string))];
    },
    exists: async (path) => real(path) !== null,
    isExecutable: async (path) => entry(path)?.exec === true,
    realPath: async (path) => real(path),
    stamp: async (path) => (real(path) === null ? null : '1-1'),
    withScratch: async (fn) => fn(windows ? 'C:\\t\\scratch' : '/t/scratch'),
    write: async () => undefined,
    recall: async (key) => memory.get(key),
    remember: async (key, value) => {
      memory.set(key, value);
    },
  };
}
