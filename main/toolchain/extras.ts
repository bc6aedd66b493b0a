import { joinOn, type Machine, parentOf, unique } from './machine.ts';
import { inFolders, onPath } from './search.ts';
import { firstLine, type Toolkit } from './toolkit.ts';

export interface Sanitizer {
  readonly path: string;
  readonly version: string;
}

/** compute-sanitizer: beside the chosen toolkit (it should match), else on PATH, else of any toolkit. */
export async function findSanitizer(
  machine: Machine,
  chosen: Toolkit | null,
  all: readonly Toolkit[],
): Promise<Sanitizer | null> {
  const folders: string[] = [];
  for (const toolkit of unique([...(chosen ? [chosen] : []), ...all]))
    folders.push(
      joinOn(machine, toolkit.root, 'bin'),
      joinOn(machine, toolkit.root, 'compute-sanitizer'),
      parentOf(toolkit.nvcc),
    );
  const found = await inFolders(machine, folders, 'compute-sanitizer', 'toolkit');
  const path = await onPath(machine, 'compute-sanitizer');
  const places = [...found.map((place) => place.path), ...(path ? [path] : [])];
  for (const place of unique(places)) {
    const real = (await machine.realPath(place)) ?? place;
    const answer = await machine.run([real, '--version']);
    const version = /[Vv]ersion (\d+(?:\.\d+)+)/.exec(answer.stdout)?.[1];
    if (answer.exitCode === 0 && version) return { path: real, version };
  }
  return null;
}

export interface Sandbox {
  /** Path when bubblewrap makes a sandbox here. */
  readonly path: string | null;
  readonly found: string;
  readonly cause?: string;
  readonly remedy?: string;
}

/** Bubblewrap, proven by starting `true` in new namespaces: being installed says nothing about what the kernel or a container allows. */
export async function findSandbox(machine: Machine): Promise<Sandbox> {
  if (machine.platform !== 'linux')
    return {
      path: null,
      found: 'no sandbox on this platform',
      cause: 'bubblewrap exists on Linux only',
      remedy: 'Run candidates you do not trust on a Linux machine.',
    };
  const bwrap = await onPath(machine, 'bwrap');
  if (bwrap === null)
    return {
      path: null,
      found: 'bubblewrap is not installed',
      cause: 'no bwrap on PATH',
      remedy: 'Install the package "bubblewrap". Until then candidates run without containment.',
    };
  const program = (await onPath(machine, 'true')) ?? '/usr/bin/true';
  const flags = [
    '--die-with-parent',
    '--unshare-pid',
    '--unshare-net',
    '--unshare-ipc',
    '--ro-bind',
    '/',
    '/',
    '--dev',
    '/dev',
    '--tmpfs',
    '/tmp',
  ];
  const answer = await machine.run([bwrap, ...flags, program]);
  if (answer.exitCode === 0) return { path: bwrap, found: `${bwrap} makes sandboxes here` };
  const said = firstLine(answer.stderr) || answer.startError || `exit ${answer.exitCode ?? answer.killed}`;
  return {
    path: null,
    found: `${bwrap} cannot make a sandbox`,
    cause: said,
    remedy: await sandboxRemedy(machine, said),
  };
}

async function sandboxRemedy(machine: Machine, said: string): Promise<string> {
  const flag = async (path: string): Promise<string | null> => (await machine.readText(path))?.trim() ?? null;
  if ((await flag('/proc/sys/kernel/apparmor_restrict_unprivileged_userns')) === '1')
    return 'AppArmor restricts user namespaces (Ubuntu 23.10 and later): install an AppArmor profile for bwrap that allows userns, or `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`.';
  if ((await flag('/proc/sys/kernel/unprivileged_userns_clone')) === '0')
    return 'Allow user namespaces: `sudo sysctl kernel.unprivileged_userns_clone=1`.';
  if ((await flag('/proc/sys/user/max_user_namespaces')) === '0')
    return 'Allow user namespaces: `sudo sysctl user.max_user_namespaces=15000`.';
  if (/Operation not permitted|Permission denied/i.test(said))
    return 'In a container, start it with a seccomp profile that allows namespaces (for example --security-opt seccomp=unconfined) or with --cap-add=SYS_ADMIN.';
  return 'Run the bwrap command in a terminal to see why; until it works candidates run without containment.';
}

/** CUPTI and the libraries that candidates may use: where they are, found by file. */
export interface Libraries {
  readonly cupti: { readonly header: string | null; readonly library: string | null };
  readonly present: readonly { readonly name: string; readonly found: string | null }[];
}

const wanted: readonly { name: string; header: string; library: RegExp | null }[] = [
  { name: 'cuBLAS', header: 'cublas_v2.h', library: /^(lib)?cublas(64_\d+)?\.(so|dll|lib)/ },
  { name: 'cuSPARSE', header: 'cusparse.h', library: /^(lib)?cusparse(64_\d+)?\.(so|dll|lib)/ },
  { name: 'cuFFT', header: 'cufft.h', library: /^(lib)?cufft(64_\d+)?\.(so|dll|lib)/ },
  { name: 'cuDNN', header: 'cudnn.h', library: /^(lib)?cudnn(64_\d+)?\.(so|dll|lib)/ },
  { name: 'CUB', header: 'cub/cub.cuh', library: null },
  { name: 'Thrust', header: 'thrust/version.h', library: null },
];

const systemInclude = ['/usr/include', '/usr/local/include'];
const systemLib = (machine: Machine): string[] => {
  const triple = machine.cpu === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return [`/usr/lib/${triple}`, '/usr/lib64', '/usr/lib', '/usr/local/lib'];
};

export async function findLibraries(machine: Machine, toolkit: Toolkit): Promise<Libraries> {
  const includes = [...toolkit.includeDirs, ...(machine.platform === 'win32' ? [] : systemInclude)];
  const libs = [
    ...toolkit.libDirs,
    ...(machine.platform === 'win32' ? [joinOn(machine, toolkit.root, 'bin')] : systemLib(machine)),
  ];
  const names = new Map<string, readonly string[]>();
  for (const dir of libs) names.set(dir, await machine.list(dir));
  const header = async (name: string): Promise<string | null> => {
    for (const dir of includes)
      if (await machine.exists(joinOn(machine, dir, ...name.split('/'))))
        return joinOn(machine, dir, ...name.split('/'));
    return null;
  };
  const library = (pattern: RegExp): string | null => {
    for (const [dir, list] of names) {
      const hit = list.find((name) => pattern.test(name));
      if (hit) return joinOn(machine, dir, hit);
    }
    return null;
  };
  const present = [];
  for (const item of wanted) {
    const head = await header(item.header);
    const lib = item.library === null ? head : library(item.library);
    present.push({ name: item.name, found: head !== null && lib !== null ? lib : null });
  }
  return {
    cupti: { header: await header('cupti.h'), library: library(/^(lib)?cupti(64_[\d.]+)?\.(so|dll|lib)/) },
    present,
  };
}

/** Folders of LD_LIBRARY_PATH that hold the driver's own libraries: some clusters and containers keep them outside ld.so.conf. */
export async function driverLibraryDirs(machine: Machine): Promise<string[]> {
  const out: string[] = [];
  const named = (machine.env.LD_LIBRARY_PATH ?? '').split(':').filter((dir) => dir.startsWith('/'));
  for (const dir of unique([...named, '/usr/lib/wsl/lib', '/usr/local/nvidia/lib64', '/run/opengl-driver/lib'])) {
    const names = await machine.list(dir);
    if (names.some((name) => /^lib(cuda|nvidia-ml)\.so/.test(name))) out.push(dir);
  }
  return out;
}

/** Whether a folder may stand in LD_LIBRARY_PATH: one with a C++ runtime of its own (conda's lib) would break the system's tools. */
export async function safeLibraryDir(machine: Machine, dir: string): Promise<boolean> {
  return !(await machine.list(dir)).some((name) => /^lib(stdc\+\+|c|ssl|crypto|tinfo)\.so/.test(name));
}
