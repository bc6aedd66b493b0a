import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '../base/spawn.ts';
import type { ToolPaths } from '../contract/index.ts';
import { type SandboxFacts, sandboxArgv } from './sandbox.ts';

export type SandboxProbe =
  | { readonly usable: true; readonly facts: SandboxFacts }
  | { readonly usable: false; readonly why: string; readonly remedy: string };

/** System libraries, headers and compilers. Not /usr/local, /usr/share or /opt as a whole: people keep their own things there. */
const systemDirs = [
  '/usr/bin',
  '/usr/sbin',
  '/usr/lib',
  '/usr/lib32',
  '/usr/lib64',
  '/usr/libx32',
  '/usr/libexec',
  '/usr/include',
  '/nix/store',
  '/gnu/store',
];
const systemFiles = ['/etc/ld.so.cache', '/etc/alternatives', '/usr/share/locale/locale.alias'];
const rootDirs = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];

/** Where drivers put libcuda.so.1 besides the folders of ldconfig: containers, Debian, WSL. */
const driverDirs = [
  '/usr/local/nvidia',
  '/usr/lib/x86_64-linux-gnu/nvidia',
  '/usr/lib/wsl',
  '/run/opengl-driver',
  '/opt/nvidia/lib',
];

/**
 * What a root user without capabilities could still write: kernel settings, the driver's suspend switch (/proc/driver/nvidia) …
 * They stay readable.
 */
const procEntries = 'acpi asound bus driver fs irq mtrr pressure scsi sys sysrq-trigger tty'.split(' ');

/**
 * Finds what a sandbox needs on this machine and tries one. Sandboxes that cannot start here (no user namespaces, AppArmor,
 * no bwrap) give `usable: false` with the reason, in words.
 */
export async function probeSandbox(tools: ToolPaths): Promise<SandboxProbe> {
  if (process.platform !== 'linux')
    return { usable: false, why: `bubblewrap works on Linux only, this is ${process.platform}`, remedy: 'Use Linux.' };
  if (tools.bwrap === null)
    return {
      usable: false,
      // A bwrap that cannot make a sandbox counts as none.
      why: 'no bubblewrap (bwrap) that works was found',
      remedy:
        'Install it: apt install bubblewrap, dnf install bubblewrap. Where it is installed, `cudamaster doctor` says what keeps it from working.',
    };
  await makeDeviceNodes();
  const facts = collect(tools, tools.bwrap);
  const levels = [
    { size: true, disableUserns: true },
    { size: true, disableUserns: false },
    { size: false, disableUserns: false },
  ];
  let why = '';
  for (const features of levels) {
    const tried = await tryIt({ ...facts, features });
    if (tried === null) return { usable: true, facts: { ...facts, features } };
    why = tried;
  }
  return {
    usable: false,
    why: `bwrap cannot make a sandbox here: ${why}`,
    remedy:
      'Allow unprivileged user namespaces for bwrap (kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns), or run as root.',
  };
}

/**
 * Outside a sandbox the first CUDA program makes /dev/nvidia-uvm through the setuid helper nvidia-modprobe; inside it could not.
 * A failure shows later, when a program finds no device.
 */
async function makeDeviceNodes(): Promise<void> {
  const helper = '/usr/bin/nvidia-modprobe';
  if (!existsSync('/dev/nvidiactl') || existsSync('/dev/nvidia-uvm') || !existsSync(helper)) return;
  await run([helper, '-u', '-c=0'], { cwd: '/', env: {}, wallMs: 10_000, memoryMiB: null, outputBytes: 4096 });
}

async function tryIt(facts: SandboxFacts): Promise<string | null> {
  const program = ['/usr/bin/true', '/bin/true'].find((path) => existsSync(path)) ?? 'true';
  const options = {
    scratch: '/tmp',
    tmp: '/tmp',
    cwd: '/',
    protect: [],
    hide: [],
    aliases: [],
    gpu: true,
    profiling: false,
  };
  const exit = await run(sandboxArgv([program], options, facts), {
    cwd: '/',
    env: {},
    wallMs: 10_000,
    memoryMiB: null,
    outputBytes: 4096,
  });
  if (exit.exitCode === 0) return null;
  return (exit.startError ?? exit.stderr.trim()) || `it ended with ${exit.exitCode ?? exit.signal}`;
}

function collect(tools: ToolPaths, bwrap: string): Omit<SandboxFacts, 'features'> {
  const readOnly: string[] = [];
  const add = (path: string): void => {
    if (existsSync(path) && !covered(path, readOnly)) readOnly.push(path);
  };
  for (const dir of [...systemDirs, ...systemFiles]) add(dir);
  const links: { at: string; target: string }[] = [];
  for (const at of rootDirs) {
    if (!existsSync(at)) continue;
    if (lstatSync(at).isSymbolicLink()) links.push({ at, target: readlinkSync(at) });
    else add(at);
  }
  for (const path of toolParts(tools)) add(path);
  const gpuDirs: string[] = [];
  const found = (tools.env.LD_LIBRARY_PATH ?? '').split(':').filter((dir) => dir.startsWith('/') && existsSync(dir));
  for (const dir of [...driverLibraryDirs(), ...found.filter((dir) => !tooWide(dir))])
    if (!covered(dir, [...readOnly, ...gpuDirs])) gpuDirs.push(dir);
  return {
    bwrap,
    readOnly,
    links,
    gpuDevices: gpuDevices(),
    gpuDirs,
    procReadOnly: procEntries.map((name) => `/proc/${name}`).filter((path) => existsSync(path)),
    countersNeedAdmin: process.getuid?.() === 0 && countersForAdminsOnly(),
  };
}

const covered = (path: string, dirs: readonly string[]): boolean =>
  dirs.some((dir) => path === dir || path.startsWith(`${dir}/`));

/** Folders in which other people's things lie too: never bound whole. */
function tooWide(dir: string): boolean {
  const home = homedir();
  const wide = [
    '/',
    '/usr',
    '/usr/local',
    '/usr/local/bin',
    '/opt',
    '/home',
    '/root',
    '/etc',
    '/var',
    '/tmp',
    '/mnt',
    '/srv',
  ];
  return wide.includes(dir) || dir === home || home.startsWith(`${dir}/`);
}

/** Files and folders of the tools: as named and as resolved, since a compiler finds its parts beside its real path. */
function toolParts(tools: ToolPaths): string[] {
  const out: string[] = [];
  const both = (path: string): void => {
    for (const p of [path, real(path)]) if (!tooWide(p)) out.push(p);
  };
  if (tools.toolkit) both(tools.toolkit);
  for (const dir of [...tools.includeDirs, ...tools.libDirs]) both(dir);
  const others = (tools.otherNcus ?? []).map((other) => other.path);
  for (const tool of [tools.nvcc, tools.cxx, tools.ncu, ...others, tools.sanitizer]) {
    if (!tool) continue;
    both(tool);
    both(installDir(real(tool)));
  }
  // The wrapper script in cuda/bin looks for the real ncu here.
  if (tools.ncu && existsSync('/opt/nvidia/nsight-compute')) out.push('/opt/nvidia/nsight-compute');
  return out;
}

/** The folder that a tool was installed into: that of nsight-compute-VERSION, else PREFIX of PREFIX/bin/tool, else its own. */
function installDir(tool: string): string {
  const nsight = /^(.*\/(?:nsight-compute[^/]*|compute-sanitizer)(?:\/\d[^/]*)?)\//.exec(tool);
  if (nsight?.[1]) return nsight[1];
  const dir = dirname(tool);
  const prefix = dirname(dir);
  return dir.endsWith('/bin') && !tooWide(prefix) ? prefix : tooWide(dir) ? tool : dir;
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Device nodes of NVIDIA GPUs, MIG capabilities and WSL's, as they are now: the first CUDA program may have made them. */
export function gpuDevices(): string[] {
  let names: string[];
  try {
    names = readdirSync('/dev');
  } catch {
    return [];
  }
  const nodes = names.filter((name) => /^nvidia(\d+|ctl|-uvm|-uvm-tools|-modeset|-caps)$/.test(name) || name === 'dxg');
  return nodes.sort().map((name) => join('/dev', name));
}

/** Folders that hold the driver's libraries, known ones and those of the process's own library path. */
export function driverLibraryDirs(): string[] {
  const named = (process.env.LD_LIBRARY_PATH ?? '').split(':').filter((dir) => dir.startsWith('/'));
  const holding = named.filter((dir) => existsSync(join(dir, 'libcuda.so.1')) && !tooWide(dir));
  const cached = fromLoaderCache().filter((dir) => !tooWide(dir));
  return [...new Set([...driverDirs.filter((dir) => existsSync(dir)), ...holding, ...cached])];
}

/** Folders of libcuda.so.1 according to /etc/ld.so.cache (its strings are plain, zero-terminated paths). */
function fromLoaderCache(): string[] {
  try {
    const text = readFileSync('/etc/ld.so.cache', 'latin1');
    const name = '/libcuda.so.1';
    const holding = text.split('\0').filter((part) => part.endsWith(name));
    const found = holding.map((part) => part.slice(part.indexOf('/'), -name.length));
    return found.filter((dir) => dir !== '' && existsSync(join(dir, 'libcuda.so.1')));
  } catch {
    return [];
  }
}

/** Folders to add to the library path of a GPU program: those of libcuda.so.1 that the dynamic linker does not know by itself. */
export function extraLibraryDirs(): string[] {
  const known = fromLoaderCache();
  if (known.length > 0) return [];
  const usual = ['/usr/lib/x86_64-linux-gnu', '/usr/lib64', '/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu'];
  if (usual.some((dir) => existsSync(join(dir, 'libcuda.so.1')))) return [];
  const below = driverDirs.flatMap((dir) => [dir, join(dir, 'lib64'), join(dir, 'lib')]);
  const named = (process.env.LD_LIBRARY_PATH ?? '').split(':').filter((dir) => dir.startsWith('/'));
  return [...named, ...below].filter((dir) => existsSync(join(dir, 'libcuda.so.1'))).slice(0, 1);
}

/** The driver's own setting (RmProfilingAdminOnly). Unknown counts as "administrators only", the driver's default. */
function countersForAdminsOnly(): boolean {
  try {
    return !/RmProfilingAdminOnly:\s*0/.test(readFileSync('/proc/driver/nvidia/params', 'utf8'));
  } catch {
    return true;
  }
}
