import { mkdir, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  AppFailure,
  type ExecuteOptions,
  type ExecuteOutcome,
  type Executor,
  FORMAT,
  type JobBundle,
  unwrap,
} from '../contract/index.ts';
import { type BundleRequest, bundleName, readBundle, readResult, sweepBuilding, writeBundle } from './bundle-folder.ts';
import { checkBundle, jobHash } from './bundle-hash.ts';
import { importReport } from './report.ts';

export interface BundleSettings {
  /** Folder under which the bundle folders of this run are made. */
  readonly root: string;
  readonly programVersion: string;
  /** How the user goes on, e.g. "cudamaster resume r-2026-…". */
  readonly resumeCommand: string;
  /** true: the bundles of `root` share one folder of contents. */
  readonly shared?: boolean;
}

/** A path as a shell takes it, to be copied from the screen. */
export const quoted = (path: string): string =>
  /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;

/**
 * Hands jobs to someone else: writes a self-contained folder and parks; asked again for the same job (same job, position and seed),
 * it takes the result that a worker left there. Runs nothing. Throws AppFailure `input.bundle`, `format.*`, `env.*`.
 */
export class BundleExecutor implements Executor {
  readonly name = 'bundle' as const;
  private readonly settings: BundleSettings;

  constructor(settings: BundleSettings) {
    this.settings = settings;
  }

  async execute(bundle: JobBundle, options: ExecuteOptions): Promise<ExecuteOutcome> {
    if (options.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    unwrap(checkBundle(bundle));
    const request = this.request(bundle, options);
    const folder = this.folderOf(bundle, options);
    await mkdir(this.settings.root, { recursive: true });
    await sweepBuilding(folder);
    const { result, aside } = await resultOrAside(folder, request, bundle);
    if (result) return { kind: 'done', result: await importReport(result, folder, options.reportFile) };
    if (!(await isWhole(folder, request))) await writeBundle(folder, bundle, request, this.settings.shared);
    const how = `Run "cudamaster worker ${quoted(folder)}" on the GPU machine (copy the folder there, and back when result.json is in it), then: ${this.settings.resumeCommand}`;
    return { kind: 'parked', waiting: { for: 'bundle', path: folder, how: aside === null ? how : `${aside} ${how}` } };
  }

  /** The result is set aside: asked again for the same job, it is to be run again. */
  async discard(bundle: JobBundle, options: Pick<ExecuteOptions, 'rootSeed' | 'position'>): Promise<void> {
    await BundleExecutor.setAside(this.folderOf(bundle, options));
  }

  /** Where the bundle of this job, position and seed lies or will lie. */
  folderOf(bundle: JobBundle, options: Pick<ExecuteOptions, 'rootSeed' | 'position'>): string {
    return resolve(join(this.settings.root, bundleName(this.request(bundle, options))));
  }

  /** Sets a wrong result aside, so that the next call parks again. Gives back where it went; null when there was none. */
  static async setAside(folder: string): Promise<string | null> {
    const aside = join(folder, `result.bad-${Date.now()}.json`);
    return rename(join(folder, 'result.json'), aside).then(
      () => aside,
      () => null,
    );
  }

  private request(bundle: JobBundle, options: Pick<ExecuteOptions, 'rootSeed' | 'position'>): BundleRequest {
    return {
      format: 'cudamaster-bundle',
      version: FORMAT.bundle,
      jobVersion: FORMAT.job,
      resultVersion: FORMAT.jobResult,
      jobHash: jobHash(bundle.job),
      rootSeed: options.rootSeed,
      position: options.position,
      label: bundle.job.label,
      programVersion: this.settings.programVersion,
    };
  }
}

/**
 * A result that cannot be used (cut while it was copied, of another job) is set aside, and the run goes on waiting: nothing else of it is
 * lost. One of a newer program is left where it is: that program can read it.
 */
async function resultOrAside(folder: string, request: BundleRequest, bundle: JobBundle) {
  try {
    return { result: await readResult(folder, request, bundle), aside: null };
  } catch (fault) {
    if (!(fault instanceof AppFailure) || !['format.invalid', 'input.bundle'].includes(fault.error.code)) throw fault;
    const where = await BundleExecutor.setAside(folder);
    const next =
      where === null
        ? `It could not be set aside: remove ${join(folder, 'result.json')} yourself; the job is to be run again.`
        : `It was set aside as ${where}; the job is to be run again.`;
    return { result: null, aside: `${fault.error.message} ${next}` };
  }
}

/** A folder that is there and intact is left as it is: someone may be copying it. */
async function isWhole(folder: string, request: BundleRequest): Promise<boolean> {
  try {
    const found = await readBundle(folder);
    return found.request.jobHash === request.jobHash && found.request.rootSeed === request.rootSeed;
  } catch {
    return false;
  }
}
