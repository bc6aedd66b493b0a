import { mergeGpus, queryDevices } from './deviceQuery.ts';
import { findSandbox, findSanitizer, type Sandbox, type Sanitizer } from './extras.ts';
import { type Choice, fittingPairs } from './fit.ts';
import { findGpus, type Gpu, type GpuState, visibleGpus } from './gpu.ts';
import { findHostCompilers, type HostCompiler } from './hostCompiler.ts';
import { type Machine, thisMachine } from './machine.ts';
import { findNcus, type Ncus } from './ncu.ts';
import { type Proof, prove } from './proof.ts';
import { findToolkits, type Toolkit, type Toolkits } from './toolkit.ts';

/** What the user may pin in the settings. */
export interface ToolSettings {
  /** Path of an nvcc: the only one used. */
  readonly nvcc?: string;
  /** Path of an ncu: preferred. */
  readonly ncu?: string;
  /** UUID (or its beginning, or the index) of a GPU. */
  readonly gpuUuid?: string;
}

export interface DiscoverOptions {
  readonly settings?: ToolSettings;
  readonly machine?: Machine;
  /** Ends the search, with AppFailure `cancelled`. */
  readonly signal?: AbortSignal;
  /** Also asks what only `doctor` shows. */
  readonly full?: boolean;
}

export interface Discovery {
  readonly machine: Machine;
  readonly settings: ToolSettings;
  readonly gpu: GpuState;
  /** GPUs that may be used: pinned, or allowed by CUDA_VISIBLE_DEVICES. */
  readonly usable: readonly Gpu[];
  readonly toolkits: Toolkits;
  readonly compilers: readonly HostCompiler[];
  readonly ncus: Ncus;
  readonly sandbox: Sandbox;
  readonly sanitizer: Sanitizer | null;
  readonly choice: Choice;
  /** Proof of the chosen toolkit; null without one. */
  readonly proof: Proof | null;
  /** Toolkits that fit but failed the compile, before the chosen one. */
  readonly failed: readonly { readonly toolkit: Toolkit; readonly proof: Proof & { ok: false } }[];
}

/** Looks at everything and chooses a toolkit and a GPU that fit each other and the driver. Never throws for what it finds. Throws `cancelled`. */
export async function discover(options: DiscoverOptions = {}): Promise<Discovery> {
  const machine = options.machine ?? thisMachine(process.env, options.signal);
  const settings = options.settings ?? {};
  const [state, toolkits, compilers, sandbox] = await Promise.all([
    findGpus(machine, options.full),
    findToolkits(machine, settings.nvcc),
    findHostCompilers(machine),
    findSandbox(machine),
  ]);
  const considered = await pinned(machine, toolkits, settings.nvcc);
  const base = { machine, settings, toolkits, compilers, sandbox };
  const gpu = await complete(machine, state, considered, compilers);
  const usable = visibleGpus(machine, gpu.gpus, settings.gpuUuid);
  const picked = await choose(machine, considered, usable, gpu, compilers);
  const [ncus, sanitizer] = await Promise.all([
    findNcus(machine, toolkits.found, settings.ncu),
    findSanitizer(machine, picked.choice.toolkit, toolkits.found),
  ]);
  return { ...base, gpu, usable, ...picked, ncus, sanitizer };
}

async function pinned(machine: Machine, toolkits: Toolkits, pin: string | undefined): Promise<readonly Toolkit[]> {
  if (pin === undefined) return toolkits.found;
  const real = await machine.realPath(pin);
  return toolkits.found.filter((toolkit) => toolkit.nvcc === real || toolkit.via.includes('setting'));
}

/** Asks the CUDA runtime where nvidia-smi left something open. */
async function complete(
  machine: Machine,
  state: GpuState,
  toolkits: readonly Toolkit[],
  compilers: readonly HostCompiler[],
): Promise<GpuState> {
  if (!state.worthAsking) return state;
  for (const toolkit of toolkits) {
    const proof = await prove(machine, toolkit, compilers, null);
    if (!proof.ok) continue;
    const asked = await queryDevices(machine, toolkit, proof.ccbin ? (proof.compiler?.path ?? null) : null);
    if (asked.gpus.length === 0) continue;
    const gpus = mergeGpus(state.gpus, asked.gpus);
    return { ...state, gpus, driverSupports: state.driverSupports ?? asked.driverSupports, fault: null };
  }
  return state;
}

async function choose(
  machine: Machine,
  toolkits: readonly Toolkit[],
  gpus: readonly Gpu[],
  state: GpuState,
  compilers: readonly HostCompiler[],
): Promise<Pick<Discovery, 'choice' | 'proof' | 'failed'>> {
  const { pairs, misfit } = fittingPairs(
    toolkits,
    gpus,
    { version: state.driver, supports: state.driverSupports },
    machine.platform,
  );
  const failed: { toolkit: Toolkit; proof: Proof & { ok: false } }[] = [];
  for (const pair of pairs) {
    const toolkit = pair.toolkit as Toolkit;
    if (failed.some((other) => other.toolkit === toolkit)) continue;
    const proof = await prove(machine, toolkit, compilers, pair.arch);
    if (proof.ok) return { choice: pair, proof, failed };
    failed.push({ toolkit, proof });
  }
  const first = failed[0];
  if (first)
    return { choice: { ...(pairs[0] as Choice), why: 'no toolkit that fits can compile' }, proof: first.proof, failed };
  if (misfit !== null) {
    // Compiling still works with the newest toolkit; only running is out of the question.
    const toolkit = toolkits[0] ?? null;
    const proof = toolkit ? await prove(machine, toolkit, compilers, null) : null;
    return { choice: { toolkit, gpu: gpus[0] ?? null, arch: null, why: misfit.message, misfit }, proof, failed };
  }
  return {
    choice: {
      toolkit: null,
      gpu: gpus[0] ?? null,
      arch: null,
      why: 'no CUDA toolkit that can compile was found',
      misfit: null,
    },
    proof: null,
    failed,
  };
}
