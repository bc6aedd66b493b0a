import { baseOf, joinOn, type Machine, normalize, parentOf, unique } from './machine.ts';
import { findNvccs, type Place, resolveProgram, toolkitRoots } from './search.ts';
import { newestFirst } from './version.ts';

/** One nvcc with what belongs to it. */
export interface Toolkit {
  /** The program itself, links and wrappers resolved. */
  readonly nvcc: string;
  /** Its root: parts may lie elsewhere, see the folder lists. */
  readonly root: string;
  /** "13.0" */
  readonly release: string;
  /** "13.0.88" */
  readonly version: string;
  /** sm_NN that it can make. */
  readonly archs: readonly string[];
  /** Folders with its headers; system folders (/usr/include) are left out, compilers search them anyway. */
  readonly includeDirs: readonly string[];
  /** Folders with its libraries, stubs left out. */
  readonly libDirs: readonly string[];
  /** Newest GCC major that its headers accept; null = not stated. */
  readonly maxGcc: number | null;
  /** Size and time of nvcc: part of every key for remembered facts. */
  readonly stamp: string;
  /** How it was found: PATH, CUDA_HOME, conda … */
  readonly via: readonly string[];
}

/** A folder or program that looks like a toolkit and is none. */
export interface NotToolkit {
  readonly path: string;
  readonly via: string;
  readonly why: string;
}

export interface Toolkits {
  /** Newest first. */
  readonly found: readonly Toolkit[];
  readonly rejected: readonly NotToolkit[];
  /** Where was looked, for the message when there is none. */
  readonly looked: readonly string[];
}

/** Lists every toolkit of the machine with its own version. `pin`: an nvcc the user named. */
export async function findToolkits(machine: Machine, pin?: string): Promise<Toolkits> {
  const roots = await toolkitRoots(machine);
  const places = await findNvccs(machine, roots, pin);
  const vias = new Map<string, string[]>();
  const rejected: NotToolkit[] = [];
  for (const place of places) {
    const real = await resolveProgram(machine, place.path);
    if (real === null) rejected.push({ ...place, why: 'not there' });
    else vias.set(real, unique([...(vias.get(real) ?? []), place.via]));
  }
  const found: Toolkit[] = [];
  for (const [nvcc, via] of vias) {
    const toolkit = await examine(machine, nvcc, via);
    if ('why' in toolkit) rejected.push(toolkit);
    else found.push(toolkit);
  }
  found.sort((a, b) => newestFirst(a.version, b.version));
  rejected.push(...(await runtimeOnly(machine, roots, found)));
  return { found, rejected, looked: unique(['PATH', ...roots.map((root) => root.path), 'PATH of the login shell']) };
}

async function examine(machine: Machine, nvcc: string, via: readonly string[]): Promise<Toolkit | NotToolkit> {
  const stamp = (await machine.stamp(nvcc)) ?? '';
  const key = `toolkit 2 ${nvcc} ${stamp}`;
  const known = (await machine.recall(key)) as Toolkit | undefined;
  if (known?.archs && known.nvcc === nvcc) return { ...known, via };
  const said = await machine.run([nvcc, '--version']);
  const version = parseNvccVersion(said.stdout);
  if (version === null) {
    const words = said.startError ?? (firstLine(said.stderr || said.stdout) || 'no output');
    return {
      path: nvcc,
      via: via.join(', '),
      why: `nvcc --version failed (exit ${said.exitCode ?? said.killed}): ${words}`,
    };
  }
  const archs = await listArchs(machine, nvcc);
  const folders = await foldersOf(machine, nvcc);
  const config = await firstText(machine, folders.includeDirs, ['crt/host_config.h', 'host_config.h']);
  const toolkit: Toolkit = {
    nvcc,
    ...version,
    archs,
    ...folders,
    maxGcc: config ? parseMaxGcc(config) : null,
    stamp,
    via,
  };
  if (archs.length > 0) await machine.remember(key, toolkit);
  return toolkit;
}

/** `nvcc --version`: "Cuda compilation tools, release 13.0, V13.0.88". */
export function parseNvccVersion(text: string): { release: string; version: string } | null {
  const found = /release (\d+\.\d+), V(\d+(?:\.\d+)+)/.exec(text);
  return found ? { release: found[1] as string, version: found[2] as string } : null;
}

/** Architectures from --list-gpu-code (11.0 and later), else from the values that --help names. */
async function listArchs(machine: Machine, nvcc: string): Promise<string[]> {
  const listed = await machine.run([nvcc, '--list-gpu-code']);
  if (listed.exitCode === 0 && /\bsm_\d/.test(listed.stdout)) return parseArchs(listed.stdout);
  const arch = await machine.run([nvcc, '--list-gpu-arch']);
  if (arch.exitCode === 0 && /\bcompute_\d/.test(arch.stdout))
    return parseArchs(arch.stdout.replaceAll('compute_', 'sm_'));
  return parseArchs((await machine.run([nvcc, '--help'])).stdout);
}

/** Every sm_NN named, ascending, without the a/f variants. */
export function parseArchs(text: string): string[] {
  const numbers = [...text.matchAll(/\bsm_(\d{2,4})\b/g)].map((found) => Number(found[1]));
  return unique(numbers)
    .sort((a, b) => a - b)
    .map((n) => `sm_${n}`);
}

const quoted = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? '');

/** What `nvcc --dryrun` says of itself; the only account of its folders that holds for every packaging. */
export function parseDryrun(text: string): {
  top: string | null;
  here: string | null;
  includes: string[];
  libs: string[];
} {
  const value = (name: string): string | null => {
    const found = new RegExp(`^#\\$ ${name}=(.*)$`, 'm').exec(text);
    return found ? (found[1] as string).trim() : null;
  };
  const folders = (name: string, flag: string): string[] => {
    const words = quoted(value(name) ?? '');
    return words
      .map((word) => (word.startsWith(flag) ? word.slice(flag.length) : word))
      .filter((word) => /^([\\/]|[A-Za-z]:)/.test(word));
  };
  const top = value('TOP');
  return {
    top: top === null ? null : normalize(top),
    here: value('_HERE_'),
    includes: [...folders('INCLUDES', '-I'), ...folders('SYSTEM_INCLUDES', '-isystem')].map(normalize),
    libs: folders('LIBRARIES', '-L').map(normalize),
  };
}

const systemDirs = /^\/(usr\/)?(include|lib|lib64|lib\/[a-z0-9_]+-linux-gnu)$/;

async function foldersOf(machine: Machine, nvcc: string): Promise<Pick<Toolkit, 'root' | 'includeDirs' | 'libDirs'>> {
  const dry = parseDryrun(await dryrun(machine, nvcc));
  const root = dry.top ?? parentOf(dry.here ?? parentOf(nvcc));
  const targets = (await machine.list(joinOn(machine, root, 'targets'))).map((name) =>
    joinOn(machine, root, 'targets', name),
  );
  const mine = machine.cpu === 'arm64' ? /^(aarch64|sbsa)/ : /^x86_64/;
  const ofCpu = targets.filter((dir) => mine.test(baseOf(dir)));
  const includes = [...dry.includes];
  const libs = dry.libs.filter((dir) => !/[\\/]stubs$/.test(dir));
  for (const base of [...ofCpu, root, joinOn(machine, root, 'extras', 'CUPTI')]) {
    includes.push(joinOn(machine, base, 'include'), joinOn(machine, base, 'include', 'cccl'));
    libs.push(...['lib64', 'lib', joinOn(machine, 'lib', 'x64')].map((name) => joinOn(machine, base, name)));
  }
  return {
    root: (await machine.realPath(root)) ?? root,
    includeDirs: await realDirs(machine, includes, (names) =>
      names.some((name) => /\.(h|hpp|cuh)$|^(cub|thrust|cuda)$/.test(name)),
    ),
    libDirs: await realDirs(machine, libs, (names) =>
      names.some((name) => /^(lib)?(cu|nv)[a-z]+[^/]*\.(so|a|lib|dylib)/i.test(name)),
    ),
  };
}

/** nvcc prints its settings for any .cu name; where it insists on a file, one is made. */
async function dryrun(machine: Machine, nvcc: string): Promise<string> {
  return machine.withScratch(async (dir) => {
    await machine.write(joinOn(machine, dir, 'empty.cu'), '');
    const answer = await machine.run([nvcc, '--dryrun', '-c', 'empty.cu', '-o', 'empty.o'], { cwd: dir });
    return `${answer.stderr}\n${answer.stdout}`;
  });
}

async function realDirs(
  machine: Machine,
  dirs: readonly string[],
  wanted: (names: readonly string[]) => boolean,
): Promise<string[]> {
  const out: string[] = [];
  for (const dir of unique(dirs)) {
    const real = await machine.realPath(dir);
    if (real === null || systemDirs.test(real) || out.includes(real)) continue;
    if (wanted(await machine.list(real))) out.push(real);
  }
  return out;
}

async function firstText(machine: Machine, dirs: readonly string[], names: readonly string[]): Promise<string | null> {
  for (const dir of [...dirs, '/usr/include'])
    for (const name of names) {
      const text = await machine.readText(`${dir}/${name}`);
      if (text !== null) return text;
    }
  return null;
}

/** host_config.h: `#if __GNUC__ > 15` guards the error "unsupported GNU version". */
export function parseMaxGcc(text: string): number | null {
  const found = /^#if __GNUC__ > (\d+)/m.exec(text);
  return found ? Number(found[1]) : null;
}

/** Roots with the CUDA runtime library but no nvcc: the classic conda `cudatoolkit`, which cannot compile. */
async function runtimeOnly(
  machine: Machine,
  roots: readonly Place[],
  found: readonly Toolkit[],
): Promise<NotToolkit[]> {
  const out: NotToolkit[] = [];
  const taken = new Set(
    found.flatMap((toolkit) => [toolkit.root, parentOf(parentOf(toolkit.nvcc)), ...toolkit.libDirs.map(parentOf)]),
  );
  const seen = new Set<string>();
  for (const place of roots) {
    const real = await machine.realPath(place.path);
    if (real === null || taken.has(real) || seen.has(real)) continue;
    seen.add(real);
    const program = machine.platform === 'win32' ? 'nvcc.exe' : 'nvcc';
    if (await machine.exists(joinOn(machine, real, 'bin', program))) continue;
    const names = (
      await Promise.all(['lib64', 'lib', 'bin'].map((name) => machine.list(joinOn(machine, real, name))))
    ).flat();
    if (names.some((name) => /^(lib)?cudart/.test(name)))
      out.push({ path: real, via: place.via, why: 'runtime only, cannot compile' });
  }
  return out;
}

export const firstLine = (text: string): string => text.trim().split('\n')[0]?.trim() ?? '';
