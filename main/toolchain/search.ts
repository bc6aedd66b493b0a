import { baseOf, joinOn, type Machine, pathFolders, unique } from './machine.ts';
import { compareVersions } from './version.ts';

/** A place where something was found and how we came to look there. */
export interface Place {
  readonly path: string;
  readonly via: string;
}

const exe = (machine: Machine, name: string): string => (machine.platform === 'win32' ? `${name}.exe` : name);

/** Children of a folder whose name fits, newest version in the name first. */
export async function numbered(machine: Machine, dir: string, pattern: RegExp): Promise<string[]> {
  const names = (await machine.list(dir)).filter((name) => pattern.test(name));
  const version = (name: string): string => /\d+(\.\d+)*/.exec(name)?.[0] ?? '0';
  return names.sort((a, b) => compareVersions(version(b), version(a))).map((name) => joinOn(machine, dir, name));
}

async function condaPrefixes(machine: Machine): Promise<string[]> {
  const named = [machine.env.CONDA_PREFIX, machine.env.MAMBA_ROOT_PREFIX, machine.env.VIRTUAL_ENV];
  const names = ['miniconda3', 'anaconda3', 'miniforge3', 'mambaforge', 'micromamba', '.conda'];
  const bases = [
    ...names.map((name) => joinOn(machine, machine.home, name)),
    '/opt/conda',
    '/opt/miniconda3',
    '/opt/anaconda3',
  ];
  const out = named.filter((prefix): prefix is string => !!prefix);
  for (const base of bases) {
    const envs = joinOn(machine, base, 'envs');
    out.push(base, ...(await machine.list(envs)).map((name) => joinOn(machine, envs, name)));
  }
  return unique(out);
}

/** Toolkit roots by convention, whether or not anything is there. */
export async function toolkitRoots(machine: Machine): Promise<Place[]> {
  const out: Place[] = [];
  const add = (via: string, ...paths: (string | undefined)[]): void => {
    for (const path of paths) if (path) out.push({ path, via });
  };
  for (const name of ['CUDA_HOME', 'CUDA_PATH', 'CUDA_ROOT', 'CUDAToolkit_ROOT']) add(name, machine.env[name]);
  if (machine.platform === 'win32') {
    for (const [name, value] of Object.entries(machine.env)) if (/^CUDA_PATH_V\d/.test(name)) add(name, value);
    const files = machine.env.ProgramFiles ?? 'C:\\Program Files';
    add(
      'Program Files',
      ...(await numbered(machine, joinOn(machine, files, 'NVIDIA GPU Computing Toolkit', 'CUDA'), /^v\d/)),
    );
    for (const prefix of await condaPrefixes(machine)) add('conda', joinOn(machine, prefix, 'Library'));
    return out;
  }
  add('/usr/local', '/usr/local/cuda', ...(await numbered(machine, '/usr/local', /^cuda-\d/)));
  add('/opt', '/opt/cuda', ...(await numbered(machine, '/opt', /^cuda-\d/)));
  for (const release of await numbered(machine, '/opt/nvidia/hpc_sdk/Linux_x86_64', /^\d/))
    add('HPC SDK', ...(await numbered(machine, joinOn(machine, release, 'cuda'), /^\d/)));
  add('Debian package', '/usr/lib/nvidia-cuda-toolkit', '/usr/lib/cuda');
  for (const prefix of await condaPrefixes(machine)) add('conda', prefix);
  return out;
}

let shellPath: Promise<string[]> | null = null;

/**
 * PATH as a terminal would have it: programs started from an icon do not get what .bashrc or .zshrc add. Asked once, 3 s at most;
 * on any trouble nothing is added.
 */
export async function loginShellFolders(machine: Machine): Promise<string[]> {
  if (machine.platform === 'win32') return [];
  const ask = async (): Promise<string[]> => {
    const shell = machine.env.SHELL ?? '/bin/sh';
    if (!(await machine.isExecutable(shell))) return [];
    // The marker keeps greetings that rc files print apart from the answer of env.
    const answer = await machine.run([shell, '-l', '-i', '-c', 'env'], { wallMs: 3000 });
    const line = answer.stdout.split('\n').findLast((text) => text.startsWith('PATH='));
    return pathFolders(machine, line?.slice('PATH='.length));
  };
  if (machine.env !== process.env) return ask();
  for (;;) {
    const mine = shellPath === null;
    // Whoever asked first may give up (a page that is left): that is no answer for the others, now or later.
    shellPath ??= ask().catch((fault: unknown) => {
      shellPath = null;
      throw fault;
    });
    try {
      return await shellPath;
    } catch (fault) {
      if (mine) throw fault;
    }
  }
}

/** Every file of that name in the folders, in order. */
export async function inFolders(
  machine: Machine,
  folders: readonly string[],
  name: string,
  via: string,
): Promise<Place[]> {
  const out: Place[] = [];
  for (const folder of unique(folders)) {
    const path = joinOn(machine, folder, exe(machine, name));
    if (await machine.isExecutable(path)) out.push({ path, via });
  }
  return out;
}

/** The program on our PATH, else in the usual system folders. */
export async function onPath(machine: Machine, name: string): Promise<string | null> {
  const folders = [
    ...pathFolders(machine, machine.env.PATH),
    ...(machine.platform === 'win32' ? [] : ['/usr/local/bin', '/usr/bin', '/bin', '/usr/sbin']),
  ];
  return (await inFolders(machine, folders, name, 'PATH'))[0]?.path ?? null;
}

/** Every nvcc: in toolkit roots, on PATH, and, when there is none yet, on the login shell's PATH. `pin` comes first. */
export async function findNvccs(machine: Machine, roots: readonly Place[], pin?: string): Promise<Place[]> {
  const out: Place[] = [];
  if (pin) out.push({ path: pin, via: 'setting' });
  out.push(...(await inFolders(machine, pathFolders(machine, machine.env.PATH), 'nvcc', 'PATH')));
  for (const root of roots)
    out.push(...(await inFolders(machine, [joinOn(machine, root.path, 'bin')], 'nvcc', root.via)));
  if (machine.platform !== 'win32') out.push(...(await inFolders(machine, ['/usr/bin'], 'nvcc', '/usr/bin')));
  if (out.length === 0)
    out.push(...(await inFolders(machine, await loginShellFolders(machine), 'nvcc', 'PATH of the login shell')));
  return out;
}

/**
 * Follows links and shell wrappers (`#!/bin/sh … exec /x/nvcc "$@"`) to the program itself: nvcc looks for its headers beside the name
 * it was called by. null = nothing there. A wrapper that is not understood is kept as it is.
 */
export async function resolveProgram(machine: Machine, path: string, depth = 0): Promise<string | null> {
  const real = await machine.realPath(path);
  if (real === null || depth > 4) return real;
  const head = await machine.readText(real);
  if (!head?.startsWith('#!')) return real;
  const target = wrapperTarget(head, baseOf(path));
  if (target === null || target === real || !(await machine.isExecutable(target))) return real;
  return resolveProgram(machine, target, depth + 1);
}

/** Absolute path that a wrapper script executes under the same name, e.g. /usr/lib/nvidia-cuda-toolkit/bin/nvcc. */
export function wrapperTarget(script: string, name: string): string | null {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const exec = new RegExp(`^[^#]*\\bexec\\s+(?:-a\\s+\\S+\\s+)?["']?(/[^\\s"'$]*/${escaped})["']?(?=\\s|$)`);
  // Line by line: with the flag m every carriage return would be a start, and the search quadratic.
  for (const line of script.split(/[\r\n]/)) {
    const target = exec.exec(line)?.[1];
    if (target !== undefined) return target;
  }
  return null;
}
