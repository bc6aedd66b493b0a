import type { BuildStep, Job, ToolPaths } from '../contract/index.ts';
import { err, ok, type Result } from '../contract/index.ts';

/** Values of the symbolic parts; null = this machine has no such thing. */
export type SymbolValues = Readonly<Record<string, string | null>>;

const names = ['nvcc', 'cxx', 'ncu', 'sanitizer', 'scratch', 'toolkit', 'arch'] as const;

/** The part of C++ and of version scripts that looks like a symbol never reaches us: arguments only, and only these shapes. */
const symbol = /\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/**
 * Replaces `{name}` in each argument of an array. Never splits, joins or quotes: an argument stays one argument.
 * Errors: `usage` for an unknown name, `env.*` for one that this machine lacks.
 */
export function substitute(args: readonly string[], values: SymbolValues): Result<string[]> {
  const out: string[] = [];
  for (const arg of args) {
    let fault: Result<never> | null = null;
    const replaced = arg.replace(symbol, (whole, name: string) => {
      if (!Object.hasOwn(values, name)) {
        fault ??= err('usage', `The argument ${JSON.stringify(arg)} names ${whole}, which is not known.`, {
          remedy: `Known names: ${names.map((n) => `{${n}}`).join(' ')}.`,
        });
        return whole;
      }
      const value = values[name] ?? null;
      if (value === null) fault ??= missing(name);
      return value ?? whole;
    });
    if (fault) return fault;
    if (replaced.includes('\0')) return err('usage', `The argument ${JSON.stringify(arg)} holds a zero byte.`);
    out.push(replaced);
  }
  return ok(out);
}

function missing(name: string): Result<never> {
  if (name === 'nvcc' || name === 'toolkit')
    return err('env.toolkit-missing', 'No CUDA toolkit that can compile was found on this machine.', {
      remedy:
        'Install the CUDA toolkit (nvcc) or run the job where one is; `cudamaster doctor` shows where was looked.',
    });
  if (name === 'cxx')
    return err('env.host-compiler', 'No C++ compiler was found on this machine.', {
      remedy: 'Install g++ (Debian and Ubuntu: apt install g++; Fedora: dnf install gcc-c++).',
    });
  if (name === 'ncu')
    return err('env.ncu-missing', 'Nsight Compute (ncu) was not found on this machine.', {
      remedy: 'Install Nsight Compute; without it compiling and timing still work.',
    });
  if (name === 'arch')
    return err('env.gpu-missing', 'The job asks for the architecture of the GPU found here, and there is none.', {
      remedy: 'Name an architecture (for example --arch sm_90), or run the job on a machine with a GPU.',
    });
  return err('env.toolkit-missing', `${name} was not found on this machine.`, {
    remedy: 'Install the CUDA toolkit that holds it; `cudamaster doctor` shows what was found.',
  });
}

/** `{arch}` for this job on this machine. null where the job says native and no GPU is there. */
export const archOf = (job: Job, tools: ToolPaths): string | null => (job.arch === 'native' ? tools.arch : job.arch);

export function symbolValues(job: Job, tools: ToolPaths, scratch: string): SymbolValues {
  return {
    nvcc: tools.nvcc,
    cxx: tools.cxx,
    ncu: tools.ncu,
    sanitizer: tools.sanitizer,
    toolkit: tools.toolkit,
    arch: archOf(job, tools),
    scratch,
  };
}

/** Folders that compilers search anyway. Naming them with -isystem breaks `#include_next` of libstdc++. */
const searchedAnyway = new Set(['/usr/include', '/usr/local/include', '/usr/lib', '/usr/lib64', '/lib', '/lib64']);

const searchArgs = (tools: ToolPaths): string[] => [
  ...tools.includeDirs.filter((dir) => !searchedAnyway.has(dir)).map((dir) => `-isystem=${dir}`),
  ...tools.libDirs.filter((dir) => !searchedAnyway.has(dir)).map((dir) => `-L${dir}`),
];

/**
 * The full command of a build step: tool, host compiler of nvcc where it is not the default, folders of a toolkit whose
 * parts are spread out (Debian), then the step's own arguments. Errors: `env.*` with a remedy, `usage`.
 */
export function buildArgv(step: BuildStep, job: Job, tools: ToolPaths, scratch: string): Result<string[]> {
  const values = symbolValues(job, tools, scratch);
  const own = substitute(step.args, values);
  if (!own.ok) return own;
  const tool = values[step.tool] ?? null;
  if (tool === null) return missing(step.tool);
  if (step.tool === 'cxx') {
    const search = searchArgs(tools).map((arg) => arg.replace(/^-isystem=/, '-isystem'));
    return ok([tool, ...own.value, ...search]);
  }
  const arch = archOf(job, tools);
  const usesArch = step.args.some((arg) => arg.includes('{arch}'));
  if (usesArch && arch !== null && tools.archs.length > 0 && !tools.archs.includes(arch))
    return unknownArch(arch, tools);
  if (tools.ccbin && tools.cxx === null) return missing('cxx');
  const ccbin = tools.ccbin && tools.cxx !== null ? ['-ccbin', tools.cxx] : [];
  return ok([tool, ...ccbin, ...own.value, ...searchArgs(tools)]);
}

function unknownArch(arch: string, tools: ToolPaths): Result<never> {
  const highest = tools.archs.at(-1) ?? '';
  return err(
    'env.arch-unsupported',
    `The toolkit ${tools.machine.toolkit ?? 'found here'} cannot make code for ${arch}.`,
    {
      remedy: 'Choose a toolkit that knows this GPU (`cudamaster doctor` lists them), or another architecture.',
      detail: `It makes ${tools.archs.join(', ')}; highest ${highest}.`,
    },
  );
}
