import type { ErrorCode } from '../contract/index.ts';
import { compilersToTry, type HostCompiler } from './hostCompiler.ts';
import { type Answer, joinOn, type Machine } from './machine.ts';
import { onPath } from './search.ts';
import { firstLine, type Toolkit } from './toolkit.ts';

/** Uses what every build of ours uses: a kernel, a launch, the C++ library, the runtime's static library and a shared object. */
const probeSource = `#include <cuda_runtime.h>
#include <cmath>
#include <vector>
__global__ void probe_kernel(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = sqrtf(x[i]); }
extern "C" int probe(float* x, int n) {
  std::vector<int> sizes(1, n);
  probe_kernel<<<(sizes[0] + 255) / 256, 256>>>(x, n);
  return static_cast<int>(cudaGetLastError());
}
`;

/** A compile on a loaded two-core machine takes some 5 s; a cold network disk much longer. */
const compileMs = 120_000;

export interface ToolFault {
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
  readonly detail: string;
}

export type Proof =
  | { readonly ok: true; readonly compiler: HostCompiler | null; readonly ccbin: boolean; readonly fromMemory: boolean }
  | { readonly ok: false; readonly fault: ToolFault };

/**
 * Proves that an nvcc compiles and links, with the host compiler it takes by itself or else an older one by -ccbin (never with the flag that
 * overrides its check). A success is remembered by everything it depends on; a failure is tried again each time.
 */
export async function prove(
  machine: Machine,
  toolkit: Toolkit,
  compilers: readonly HostCompiler[],
  arch: string | null,
): Promise<Proof> {
  const candidates: { compiler: HostCompiler | null; ccbin: boolean }[] = compilersToTry(compilers, toolkit.maxGcc);
  if (compilers.length === 0) candidates.push({ compiler: null, ccbin: false }); // nvcc may know one that we do not
  if (candidates.length === 0) return { ok: false, fault: tooNewCompilers(toolkit, compilers) };
  const key = [
    'proof 3',
    toolkit.nvcc,
    toolkit.stamp,
    toolkit.version,
    arch,
    await defaultCompilerStamp(machine),
    ...compilers.map((c) => `${c.path} ${c.version} ${c.stamp}`),
  ].join('|');
  const known = (await machine.recall(key)) as { path: string | null; ccbin: boolean } | undefined;
  const memory =
    known && candidates.find(({ compiler, ccbin }) => (compiler?.path ?? null) === known.path && ccbin === known.ccbin);
  if (memory) return { ok: true, ...memory, fromMemory: true };
  let first: ToolFault | null = null;
  for (const candidate of candidates) {
    const fault = await compileProbe(
      machine,
      toolkit,
      candidate.ccbin ? (candidate.compiler?.path ?? null) : null,
      arch,
    );
    if (fault === null) {
      await machine.remember(key, { path: candidate.compiler?.path ?? null, ccbin: candidate.ccbin });
      return { ok: true, ...candidate, fromMemory: false };
    }
    first ??= fault;
    if (fault.code !== 'env.host-compiler' && !looksLikeHeaders(fault)) break;
  }
  return { ok: false, fault: first as ToolFault };
}

/** nvcc starts `gcc` and `g++` of the PATH by itself: which files these are decides, not the whole PATH. */
async function defaultCompilerStamp(machine: Machine): Promise<string> {
  const parts: string[] = [];
  for (const name of ['gcc', 'g++']) {
    const path = await onPath(machine, name);
    const real = path === null ? null : await machine.realPath(path);
    parts.push(real === null ? `no ${name}` : `${real} ${await machine.stamp(real)}`);
  }
  return parts.join(' ');
}

/** A compiler just too new often fails inside its own headers instead of by nvcc's version check: then an older one is worth a try. */
const looksLikeHeaders = (fault: ToolFault): boolean =>
  /\/(usr\/)?(include|lib)\/.*(c\+\+|gcc)\/.*error/.test(fault.detail);

async function compileProbe(
  machine: Machine,
  toolkit: Toolkit,
  ccbin: string | null,
  arch: string | null,
): Promise<ToolFault | null> {
  return machine.withScratch(async (dir) => {
    await machine.write(joinOn(machine, dir, 'probe.cu'), probeSource);
    const position = machine.platform === 'win32' ? [] : ['-Xcompiler', '-fPIC'];
    const output = machine.platform === 'win32' ? 'probe.dll' : 'probe.so';
    const argv = [
      toolkit.nvcc,
      ...(arch ? [`-arch=${arch}`] : []),
      ...(ccbin ? ['-ccbin', ccbin] : []),
      '-shared',
      ...position,
      '-o',
      output,
      'probe.cu',
    ];
    const env = { ...machine.toolEnv, TMPDIR: dir, TMP: dir, TEMP: dir };
    const answer = await machine.run(argv, { cwd: dir, env, wallMs: compileMs });
    if (answer.exitCode === 0 && (await machine.exists(joinOn(machine, dir, output)))) return null;
    return classifyNvccFault(argv, answer, toolkit);
  });
}

const compilerRemedy = (toolkit: Toolkit): string =>
  toolkit.maxGcc === null
    ? 'Install a g++ that this CUDA version supports (see its release notes); it is then used by -ccbin.'
    : `Install g++-${toolkit.maxGcc} (Debian, Ubuntu: \`sudo apt install g++-${toolkit.maxGcc}\`) or an older one; it is found and used by itself.`;

function tooNewCompilers(toolkit: Toolkit, compilers: readonly HostCompiler[]): ToolFault {
  const named = compilers.map((c) => `${c.path} ${c.version}`).join(', ');
  return {
    code: 'env.host-compiler',
    message: `CUDA ${toolkit.release} accepts g++ up to ${toolkit.maxGcc}; found only newer: ${named}.`,
    remedy: compilerRemedy(toolkit),
    detail: named,
  };
}

/** What a failed compile of our own probe means: the source is known to be good, so it is always the environment. */
export function classifyNvccFault(argv: readonly string[], answer: Answer, toolkit: Toolkit): ToolFault {
  const output = `${answer.stdout}\n${answer.stderr}`.trim();
  const detail = `${argv.join(' ')}\nexit ${answer.exitCode ?? answer.killed ?? 'none'}\n${output || 'no output'}`;
  const fault = (code: ErrorCode, message: string, remedy: string): ToolFault => ({ code, message, remedy, detail });
  const line = firstLine(output.split('\n').find((text) => /error|fatal/i.test(text)) ?? output);
  if (answer.startError !== null)
    return fault(
      'env.toolkit-broken',
      `nvcc could not be started: ${answer.startError}`,
      'Reinstall the CUDA toolkit or choose another nvcc.',
    );
  if (
    answer.killed !== null ||
    /died due to signal|^Killed$|virtual memory exhausted|cc1plus: out of memory/m.test(output)
  )
    return fault(
      'env.killed',
      `The compiler was killed or crashed: ${answer.killed ?? line}`,
      'Free some memory and close other builds, then try again.',
    );
  if (/No space left on device/i.test(output))
    return fault(
      'env.disk-full',
      'The disk is full: nvcc could not write its files.',
      'Free some space in the temporary folder.',
    );
  if (output === '')
    return fault(
      'env.toolkit-broken',
      `nvcc ended with exit code ${answer.exitCode} and no output.`,
      'Usually its temporary folder is missing or cannot be written: check TMPDIR (Windows: TMP and TEMP). Command: see detail.',
    );
  if (/unsupported GNU version|unsupported clang version|unsupported Microsoft Visual Studio/i.test(output))
    return fault(
      'env.host-compiler',
      `The host compiler is too new or too old for CUDA ${toolkit.release}: ${line}`,
      compilerRemedy(toolkit),
    );
  if (/Cannot find compiler 'cl\.exe'/i.test(output) || afterOnLine(output, /cl\.exe/i, /not found/i))
    return fault(
      'env.host-compiler',
      'Visual Studio C++ build tools were not found.',
      'Install "Desktop development with C++" (component MSVC x64/x86 build tools) with the Visual Studio Installer.',
    );
  if (
    /Failed to preprocess host compiler|Cannot find compiler|No supported (gcc|host) compiler/i.test(output) ||
    afterOnLine(output, /gcc|g\+\+|cc1plus|clang/i, /No such file|not found/i)
  )
    return fault('env.host-compiler', `No usable host C++ compiler: ${line}`, compilerRemedy(toolkit));
  if (/Unsupported gpu architecture/i.test(output))
    return fault(
      'env.arch-unsupported',
      `CUDA ${toolkit.release}: ${line}`,
      'Choose a toolkit that supports this GPU.',
    );
  if (/cuda_runtime\.h|cudart|libdevice|cicc|ptxas|cudadevrt/.test(output))
    return fault(
      'env.toolkit-broken',
      `Parts of CUDA ${toolkit.release} are missing: ${line}`,
      'Install the complete toolkit (compiler, headers, cudart), or choose another nvcc.',
    );
  return fault(
    'env.toolkit-broken',
    `nvcc ${toolkit.version} cannot compile a tiny kernel: ${line}`,
    'See detail; reinstall the toolkit or choose another nvcc.',
  );
}

/** Whether a line holds `first` and behind it `then`; one pattern for both would take the square of the line's length. */
const afterOnLine = (text: string, first: RegExp, then: RegExp): boolean =>
  text.split('\n').some((line) => {
    const at = line.search(first);
    return at >= 0 && then.test(line.slice(at));
  });
