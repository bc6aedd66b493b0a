import { joinOn, type Machine, pathFolders, unique } from './machine.ts';
import { inFolders, loginShellFolders, numbered, type Place } from './search.ts';
import { firstLine, type Toolkit } from './toolkit.ts';
import { newestFirst } from './version.ts';

/** A working Nsight Compute command line. */
export interface Ncu {
  readonly path: string;
  /** "2025.3.1.0" */
  readonly version: string;
  readonly via: string;
}

export interface Ncus {
  /** Newest first; the pinned one, if it works, before all. */
  readonly found: readonly Ncu[];
  /** Programs named ncu that do not answer `--version`, with their words. */
  readonly broken: readonly { readonly path: string; readonly said: string }[];
}

/** Every ncu: pinned, on PATH, beside the toolkits, in its own versioned folders. A wrapper in cuda/bin may fail where the real one works. */
export async function findNcus(machine: Machine, toolkits: readonly Toolkit[], pin?: string): Promise<Ncus> {
  const places = await candidates(machine, toolkits);
  if (pin) places.unshift({ path: pin, via: 'setting' });
  if (places.length === 0)
    places.push(...(await inFolders(machine, await loginShellFolders(machine), 'ncu', 'PATH of the login shell')));
  const found: Ncu[] = [];
  const broken: { path: string; said: string }[] = [];
  const seen = new Set<string>();
  for (const place of places) {
    const real = await machine.realPath(place.path);
    if (real === null || seen.has(real)) {
      if (real === null && place.via === 'setting') broken.push({ path: place.path, said: 'not there' });
      continue;
    }
    seen.add(real);
    const answer = await version(machine, real);
    if (answer.version === null) broken.push({ path: real, said: answer.said });
    else found.push({ path: real, version: answer.version, via: place.via });
  }
  found.sort((a, b) => Number(b.via === 'setting') - Number(a.via === 'setting') || newestFirst(a.version, b.version));
  return { found, broken };
}

async function candidates(machine: Machine, toolkits: readonly Toolkit[]): Promise<Place[]> {
  const out: Place[] = [];
  const add = async (via: string, folders: readonly string[]): Promise<void> => {
    const present = unique(folders);
    out.push(...(await inFolders(machine, present, 'ncu', via)));
    if (machine.platform === 'win32')
      for (const folder of present) {
        const script = joinOn(machine, folder, 'ncu.bat');
        if (await machine.exists(script)) out.push({ path: script, via });
      }
  };
  await add('PATH', pathFolders(machine, machine.env.PATH));
  if (machine.platform === 'win32') {
    const files = machine.env.ProgramFiles ?? 'C:\\Program Files';
    await add(
      'Program Files',
      await numbered(machine, joinOn(machine, files, 'NVIDIA Corporation'), /^Nsight Compute \d/),
    );
    return out;
  }
  await add('/opt/nvidia', await numbered(machine, '/opt/nvidia/nsight-compute', /^\d/));
  for (const toolkit of toolkits) {
    await add('toolkit', [
      ...(await numbered(machine, toolkit.root, /^nsight-compute-\d/)),
      ...(await numbered(machine, joinOn(machine, toolkit.root, 'nsight-compute'), /^\d/)),
    ]);
    await add('toolkit', [joinOn(machine, toolkit.root, 'bin'), joinOn(machine, toolkit.root, 'nsight-compute')]);
  }
  await add('/usr/local', [
    ...(await numbered(machine, '/usr/local', /^NVIDIA-Nsight-Compute/i)),
    '/usr/local/cuda/bin',
  ]);
  await add('/usr', [
    '/usr/bin',
    '/usr/lib/nsight-compute',
    ...(await numbered(machine, '/usr/lib/nsight-compute', /^\d/)),
  ]);
  return out;
}

async function version(machine: Machine, path: string): Promise<{ version: string | null; said: string }> {
  const key = `ncu 1 ${path} ${await machine.stamp(path)}`;
  const known = await machine.recall(key);
  // A remembered wrapper could have lost what it wraps, but then the profile step says so; asking costs half a second each time.
  if (typeof known === 'string') return { version: known, said: '' };
  const answer = await machine.run([path, '--version'], { wallMs: 30_000 });
  const found = parseNcuVersion(answer.stdout);
  if (answer.exitCode === 0 && found !== null) {
    await machine.remember(key, found);
    return { version: found, said: '' };
  }
  const words = firstLine(answer.stderr) || firstLine(answer.stdout) || 'no output';
  return { version: null, said: answer.startError ?? `exit ${answer.exitCode ?? answer.killed}: ${words}` };
}

/** "Version 2025.3.1.0 (build 36398880) (public-release)" */
export function parseNcuVersion(text: string): string | null {
  return /^Version (\d{4}(?:\.\d+)+)/m.exec(text)?.[1] ?? null;
}

export interface CounterPermission {
  readonly status: 'allowed' | 'denied' | 'unknown';
  readonly cause: string;
  readonly remedy: string;
}

const capSysAdmin = 21n;
const capPerfmon = 38n;

/**
 * Whether this process may read GPU performance counters (ERR_NVGPUCTRPERM otherwise): RmProfilingAdminOnly of the driver, and CAP_SYS_ADMIN,
 * which a root user inside a container usually lacks.
 */
export async function counterPermission(machine: Machine, wsl: boolean): Promise<CounterPermission> {
  if (machine.platform === 'win32' || wsl)
    return {
      status: 'unknown',
      cause: wsl ? 'Under WSL2 Windows governs the counters.' : 'Windows governs the counters.',
      remedy:
        'If profiling is refused: NVIDIA Control Panel (Windows 11), Desktop > Enable Developer Settings, then Manage GPU Performance Counters > allow for all users; under WSL2 that may not suffice: profile with ncu on Windows, or go on with timing only.',
    };
  const restricted = parseAdminOnly((await machine.readText('/proc/driver/nvidia/params')) ?? '');
  if (restricted === false)
    return { status: 'allowed', cause: 'the driver allows all users (RmProfilingAdminOnly: 0)', remedy: '' };
  const status = (await machine.readText('/proc/self/status')) ?? '';
  const admin = hasCapability(status, capSysAdmin) ?? machine.root;
  if (restricted === null && !admin)
    return { status: 'unknown', cause: 'the driver does not say who may profile', remedy: '' };
  if (admin) return { status: 'allowed', cause: 'this process has CAP_SYS_ADMIN', remedy: '' };
  if (hasCapability(status, capPerfmon))
    return { status: 'unknown', cause: 'this process has CAP_PERFMON, which newer drivers accept', remedy: '' };
  const container =
    (await machine.exists('/.dockerenv')) || (await machine.exists('/run/.containerenv')) || machine.root;
  return {
    status: 'denied',
    cause: `the driver lets only administrators profile (RmProfilingAdminOnly: 1)${machine.root ? ', and this root user lacks CAP_SYS_ADMIN, as in most containers' : ''}`,
    remedy: container
      ? 'Start the container with --cap-add=SYS_ADMIN, or set the option below on the host. Host: put "options nvidia NVreg_RestrictProfilingToAdminUsers=0" into /etc/modprobe.d/nvidia-profiling.conf, rebuild the initramfs, reboot.'
      : 'Put "options nvidia NVreg_RestrictProfilingToAdminUsers=0" into /etc/modprobe.d/nvidia-profiling.conf, run `sudo update-initramfs -u` (Fedora: dracut -f) and reboot. Until then timing works and profiling is off.',
  };
}

/** /proc/driver/nvidia/params: "RmProfilingAdminOnly: 1". null = not stated. */
export function parseAdminOnly(text: string): boolean | null {
  const found = /^RmProfilingAdminOnly:\s*(\d+)/m.exec(text);
  return found ? found[1] !== '0' : null;
}

/** A capability bit of /proc/self/status "CapEff:"; null = not stated. */
export function hasCapability(status: string, bit: bigint): boolean | null {
  const found = /^CapEff:\s*([0-9a-f]+)/m.exec(status);
  return found ? ((BigInt(`0x${found[1]}`) >> bit) & 1n) === 1n : null;
}
