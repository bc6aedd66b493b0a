import { allowedEnv } from '../base/index.ts';
import { AppFailure, err, ok, type Result, type ToolPaths } from '../contract/index.ts';
import { type DiscoverOptions, type Discovery, discover } from './discover.ts';
import { driverLibraryDirs, findLibraries, safeLibraryDir } from './extras.ts';
import type { HostCompiler } from './hostCompiler.ts';
import { parentOf, pathFolders, unique } from './machine.ts';

export interface ResolveOptions extends DiscoverOptions {
  /** What must be there, else an error: 'gpu' includes 'nvcc'; 'none' gives whatever exists. Default 'nvcc'. */
  readonly require?: 'gpu' | 'nvcc' | 'none';
}

/**
 * The tools a job uses on this machine, as real paths, with a trimmed environment. Below one second when nvcc's proof is remembered
 * (nvidia-smi apart). Without a GPU `arch` is null.
 * Errors: env.toolkit-missing, env.toolkit-broken, env.host-compiler, env.driver-too-old, env.arch-unsupported, env.gpu-missing, env.killed, env.disk-full.
 */
export async function resolveTools(options: ResolveOptions = {}): Promise<Result<ToolPaths>> {
  try {
    const found = await discover(options);
    const need = options.require ?? 'nvcc';
    const fault = need === 'none' ? null : faultOf(found, need === 'gpu');
    return fault ?? ok(await toolPaths(found));
  } catch (fault) {
    if (fault instanceof AppFailure) return { ok: false, error: fault.error };
    throw fault;
  }
}

type Fault = ReturnType<typeof err>;

/** Why the machine cannot do it; the first reason counts. */
export function faultOf(found: Discovery, needGpu: boolean): Fault | null {
  const { choice, proof, toolkits, settings } = found;
  if (choice.misfit) return err(choice.misfit.code, choice.misfit.message, { remedy: choice.misfit.remedy });
  if (choice.toolkit === null) return toolkitMissing(found);
  if (proof && !proof.ok)
    return err(proof.fault.code, proof.fault.message, { remedy: proof.fault.remedy, detail: proof.fault.detail });
  if (settings.gpuUuid && found.usable.length === 0)
    return err('env.gpu-missing', `The GPU chosen in the settings (${settings.gpuUuid}) is not here.`, {
      remedy: 'Choose another GPU, or none to take the first that fits.',
      detail: found.gpu.gpus.map((gpu) => `${gpu.index} ${gpu.name} ${gpu.uuid ?? ''}`).join('\n'),
    });
  if (needGpu && choice.gpu === null)
    return err('env.gpu-missing', found.gpu.fault?.message ?? 'CUDA_VISIBLE_DEVICES hides every GPU.', {
      remedy: found.gpu.fault?.remedy ?? 'Unset CUDA_VISIBLE_DEVICES or name a GPU that exists.',
      detail: toolkits.found.map((toolkit) => `CUDA ${toolkit.version} ${toolkit.nvcc}`).join('\n'),
    });
  return null;
}

function toolkitMissing(found: Discovery): Fault {
  const { rejected, looked } = found.toolkits;
  const pin = found.settings.nvcc;
  const runtime = rejected.find((entry) => entry.why.startsWith('runtime only'));
  const detail = [...rejected.map((entry) => `${entry.path}: ${entry.why}`), `looked in: ${looked.join(', ')}`].join(
    '\n',
  );
  if (pin)
    return err('env.toolkit-missing', `The nvcc chosen in the settings does not work: ${pin}`, {
      remedy: 'Choose another, or none to let CUDAMaster find one.',
      detail,
    });
  if (runtime)
    return err('env.toolkit-missing', `Only CUDA's runtime is installed (${runtime.path}); it cannot compile.`, {
      remedy: 'Install the whole CUDA toolkit (conda: the package cuda-toolkit or cuda-nvcc).',
      detail,
    });
  return err('env.toolkit-missing', 'No CUDA toolkit (nvcc) was found.', {
    remedy: 'Install the CUDA toolkit, or set the path of nvcc in the settings or by CUDA_HOME.',
    detail,
  });
}

const family = { gcc: 'g++', clang: 'clang++', msvc: 'MSVC' } as const;
export const describeCompiler = (c: HostCompiler): string => `${family[c.family]} ${c.version}`;

async function toolPaths(found: Discovery): Promise<ToolPaths> {
  const { machine, choice, proof, gpu } = found;
  const toolkit = choice.toolkit;
  const proven = proof?.ok ? proof : null;
  const compiler = proven?.compiler ?? found.compilers[0] ?? null;
  const ncu = found.ncus.found[0] ?? null;
  const uuid = choice.gpu?.uuid ?? null;
  const folders = toolkit ? await withCupti(found) : { includeDirs: [], libDirs: [] };
  return {
    nvcc: toolkit?.nvcc ?? null,
    cxx: compiler?.path ?? null,
    ccbin: proven?.ccbin ?? false,
    ncu: ncu?.path ?? null,
    otherNcus: found.ncus.found.slice(1).map(({ path, version }) => ({ path, version })),
    sanitizer: found.sanitizer?.path ?? null,
    bwrap: found.sandbox.path,
    toolkit: toolkit?.root ?? null,
    includeDirs: folders.includeDirs,
    libDirs: folders.libDirs,
    arch: choice.arch,
    archs: [...(toolkit?.archs ?? [])],
    env: await toolEnv(found, folders.libDirs, uuid),
    machine: {
      host: machine.host,
      gpu: choice.gpu
        ? { name: choice.gpu.name, uuid: uuid ?? `index-${choice.gpu.index}`, cc: choice.gpu.cc ?? 'unknown' }
        : null,
      driver: gpu.driver,
      toolkit: toolkit?.release ?? null,
      nvcc: toolkit?.version ?? null,
      hostCompiler: compiler ? describeCompiler(compiler) : null,
      ncu: ncu?.version ?? null,
      containment: found.sandbox.path ? 'bubblewrap' : 'none',
    },
    gpuMemoryMiB: choice.gpu?.memoryMiB ?? null,
  };
}

/** CUPTI may lie outside the toolkit's own folders (Debian); a system folder needs no naming. */
async function withCupti(found: Discovery): Promise<{ includeDirs: string[]; libDirs: string[] }> {
  const toolkit = found.choice.toolkit;
  if (!toolkit) return { includeDirs: [], libDirs: [] };
  const { cupti } = await findLibraries(found.machine, toolkit);
  const add = (dirs: readonly string[], file: string | null): string[] =>
    file === null || /^\/usr\/(include|lib|lib64|lib\/[^/]+-linux-gnu)$/.test(parentOf(file))
      ? [...dirs]
      : unique([...dirs, parentOf(file)]);
  return { includeDirs: add(toolkit.includeDirs, cupti.header), libDirs: add(toolkit.libDirs, cupti.library) };
}

/**
 * Environment of the tools and of what they build: nvcc's and the host compiler's folders first, the chosen GPU alone visible, and a library
 * path with the driver (where the machine keeps it off the loader's list), CUPTI and the CUDA libraries.
 */
async function toolEnv(
  found: Discovery,
  libDirs: readonly string[],
  uuid: string | null,
): Promise<Record<string, string>> {
  const { machine, choice } = found;
  const extra: Record<string, string> = {};
  const windows = machine.platform === 'win32';
  const tools = choice.toolkit ? [parentOf(choice.toolkit.nvcc)] : [];
  const path = unique([...tools, ...pathFolders(machine, machine.toolEnv.PATH)]);
  extra.PATH = path.join(windows ? ';' : ':');
  if (uuid !== null) extra.CUDA_VISIBLE_DEVICES = uuid;
  extra.CUDA_DEVICE_ORDER = 'PCI_BUS_ID';
  if (!windows) {
    const safe: string[] = [];
    for (const dir of libDirs) if (await safeLibraryDir(machine, dir)) safe.push(dir);
    const library = unique([...(await driverLibraryDirs(machine)), ...safe]);
    if (library.length > 0) extra.LD_LIBRARY_PATH = library.join(':');
  }
  return allowedEnv([], extra, machine.env, machine.toolEnv.TMPDIR);
}
