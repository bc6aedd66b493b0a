import { hashJson } from '../base/hash.ts';
import { type Executor, type Machine, unwrap } from '../contract/index.ts';
import { harnessFiles } from '../evaluate/index.ts';
import { BundleExecutor } from '../jobs/bundle.ts';
import { LocalExecutor } from '../jobs/local.ts';
import type { Environment } from '../store/index.ts';
import { resolveTools } from '../toolchain/index.ts';
import { type IdleGpu, idleGpu } from './idle.ts';
import type { Settings } from './settings.ts';

/** What an executor needs to know of the run it works for. */
export interface RunPlace {
  readonly bundles: string;
  readonly resumeCommand: string;
  readonly programVersion: string;
}

/** Where jobs run, found before a run is made, so that a machine that cannot run them says so at once. */
export interface Place {
  /** null: not known before a result comes back (bundles). */
  readonly environment: Environment | null;
  executor(run: RunPlace): Executor;
  /** The GPU that jobs run on; absent: not one of this machine, or it has no name. */
  readonly gpu?: IdleGpu;
}

/** Throws AppFailure `cancelled`, and `env.*` when jobs shall run on this machine and cannot. */
export type OpenPlace = (kind: 'local' | 'bundle', settings: Settings, signal?: AbortSignal) => Promise<Place>;

/** What measurements depend on. */
export const environmentOf = (machine: Machine): Environment => ({
  gpu: machine.gpu?.uuid ?? null,
  driver: machine.driver,
  toolkit: machine.toolkit,
  harness: hashJson([...harnessFiles()]),
});

export const openPlace: OpenPlace = async (kind, settings, signal) => {
  if (kind === 'bundle')
    return {
      environment: null,
      executor: ({ bundles, programVersion, resumeCommand }) =>
        new BundleExecutor({ root: bundles, programVersion, resumeCommand }),
    };
  const tools = unwrap(await resolveTools({ require: 'gpu', settings: settings.tools, signal }));
  const executor = new LocalExecutor(tools, { requireSandbox: settings.requireSandbox });
  const uuid = tools.machine.gpu?.uuid ?? null;
  const gpu = uuid === null ? {} : { gpu: idleGpu(uuid) };
  return { environment: environmentOf(tools.machine), executor: () => executor, ...gpu };
};
