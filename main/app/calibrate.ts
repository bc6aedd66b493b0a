import { writeOutput } from '../base/files.ts';
import { Prng } from '../base/random.ts';
import { BenchFolder } from '../bench/folder.ts';
import {
  AppFailure,
  type Bench,
  type BenchCell,
  type BenchResult,
  type Calibration,
  type Dtype,
  err,
  type Machine,
  throughputs,
  unwrap,
} from '../contract/index.ts';
import { quoted } from '../jobs/bundle.ts';
import { ADOPTION, calibrate, type TaskProfile } from '../profile/calibrate.ts';
import { calibrationHtml } from '../profile/calibration-html.ts';
import { type BenchAnswer, beginBench, findBench, resumeBench } from './bench.ts';
import { keepCalibration } from './calibration-file.ts';
import type { AppContext } from './context.ts';
import type { ServiceContext } from './events.ts';

export interface CalibrateParams {
  readonly dtype: Dtype;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
  /** A bench with a profile pass at the large sizes: its profiles are used, nothing is run. */
  readonly from?: string;
  /** A calibration that waits for its bundles. */
  readonly resume?: string;
  readonly out?: string;
  readonly results?: string;
  /** Another place for the page. */
  readonly html?: string;
}

export interface CalibrateAnswer {
  /** null: bundles wait for a worker. */
  readonly calibration: Calibration | null;
  readonly bench: Pick<BenchAnswer, 'id' | 'folder' | 'done' | 'cells' | 'missing' | 'failed' | 'how'> | null;
  /** Tasks that the bench has profiled, where it has not profiled all: then nothing is adopted, and nothing kept. null: all. */
  readonly incomplete: { readonly there: number; readonly all: number; readonly how: string } | null;
  readonly files: readonly string[];
}

/**
 * Thresholds of Table 2 for a GPU, from one profiled launch per task at its large size. Profiles come from a pass of its own (a bench of
 * stage `profile`), or from a bench that has one. Kept by the GPU's UUID; verdicts on that GPU then use it.
 */
export async function calibrateGpu(
  app: AppContext,
  params: CalibrateParams,
  ctx: ServiceContext,
): Promise<CalibrateAnswer> {
  if (params.from !== undefined) {
    const folder = new BenchFolder(await findBench(params.from), true);
    return { ...(await fromBench(folder, params)), bench: null };
  }
  const stand =
    params.resume === undefined
      ? await beginBench(
          app,
          { ...params, sizes: ['large'], dtypes: [params.dtype], measure: false, profile: true, library: false },
          ctx,
        )
      : await resumeBench(app, { bench: params.resume, results: params.results }, ctx);
  const { id, folder, done, cells, missing, failed, how } = stand;
  const bench = { id, folder, done, cells, missing, failed, how };
  // A threshold from some of the tasks is another threshold: all of them first.
  if (missing.length > 0) return { calibration: null, bench, incomplete: null, files: [] };
  return { ...(await fromBench(new BenchFolder(folder), params)), bench };
}

async function fromBench(
  folder: BenchFolder,
  params: CalibrateParams,
): Promise<Pick<CalibrateAnswer, 'calibration' | 'incomplete' | 'files'>> {
  const bench = await folder.bench();
  const cells = cellsFor(bench, params.dtype);
  const found: { cell: BenchCell; result: BenchResult | null }[] = [];
  for (const cell of cells) found.push({ cell, result: await folder.result(cell) });
  const { uuids, ...about } = gpusOf(found.flatMap(({ result }) => result ?? []));
  const tasks = found.map(({ cell, result }): TaskProfile => ({ task: cell.task, profile: profileOf(result) }));
  const random = new Prng(`calibrate:${about.gpu.uuid}:${bench.rootSeed}`);
  // A threshold from some of the tasks is another threshold.
  const there = found.filter(({ result }) => result?.result).length;
  const incomplete =
    there < cells.length
      ? { there, all: cells.length, how: `Go on with it: cudamaster bench resume ${quoted(folder.dir)}` }
      : null;
  const made = unwrap(
    calibrate(
      tasks,
      { ...about, dtype: params.dtype },
      () => random.next(),
      incomplete && `only ${there} of ${cells.length} tasks of the bench are profiled`,
    ),
  );
  refuseTooFew(made, incomplete);
  const calibration: Calibration = uuids.length > 1 ? { ...made, pooled: uuids } : made;
  const html = calibrationHtml(calibration);
  const files: string[] = [];
  for (const uuid of incomplete ? [] : uuids) {
    const own = { ...calibration, gpu: { ...calibration.gpu, uuid } };
    files.push(...(await keepCalibration(own, calibrationHtml(own))));
  }
  if (params.html !== undefined) await writeOutput(params.html, html);
  return { calibration, incomplete, files: params.html === undefined ? files : [...files, params.html] };
}

/** Too few values decide nothing: to keep that would only take the place of what an earlier calibration found. */
function refuseTooFew({ proposals, tasks }: Calibration, incomplete: CalibrateAnswer['incomplete']): void {
  const most = Math.max(...throughputs.map((key) => proposals[key].n));
  if (most >= ADOPTION.atLeast) return;
  throw new AppFailure(
    err(
      'usage',
      `${incomplete ? `${incomplete.there} of ${tasks} tasks of the bench are profiled, ${most} give a value` : `Only ${most} of ${tasks} profiled tasks give a value`}; ${ADOPTION.atLeast} are needed. Nothing was kept.`,
      {
        remedy: incomplete ? incomplete.how : 'Profile the whole suite at the large sizes: cudamaster calibrate.',
        detail: proposals.compute.missing
          .slice(0, 5)
          .map(({ task, reason }) => `${task}: ${reason}`)
          .join('\n'),
      },
    ).error,
  );
}

function cellsFor(bench: Bench, dtype: Dtype): BenchCell[] {
  const cells = bench.cells.filter((c) => c.stage === 'profile' && c.version === 'origin' && c.dtype === dtype);
  if (cells.length > 0 && bench.config.profileSizes === 'large') return cells;
  throw new AppFailure(
    err('usage', `Bench ${bench.id} has no profiles of ${dtype} at the large sizes.`, {
      remedy: 'Calibrate without --from, or make a bench with --sizes large --profile.',
    }).error,
  );
}

const profileOf = (result: BenchResult | null): TaskProfile['profile'] =>
  result?.profile ?? {
    status: 'unavailable',
    reason: result?.fault?.message ?? 'it was not profiled',
    ncuVersion: null,
    problem: null,
    launches: [],
    verdict: null,
    filtered: [],
  };

/**
 * The GPU of the profiles, with its driver; `uuids`: all that took part. The throughputs are percentages of a model's own peaks, so
 * profiles of several whole GPUs of one model under one driver count together, and the thresholds are kept for each of them. Profiles of
 * several models, drivers or MIG instances are no calibration of any.
 */
function gpusOf(
  results: readonly BenchResult[],
): Pick<Calibration, 'gpu' | 'driver' | 'date'> & { readonly uuids: readonly string[] } {
  const machines = results.flatMap(({ result }) => (result ? [result.machine] : []));
  const keyOf = ({ gpu, driver }: Machine): string =>
    `${gpu?.name}${gpu?.uuid.startsWith('MIG-') ? ` ${gpu.uuid}` : ''}, compute capability ${gpu?.cc}, driver ${driver}`;
  const keys = new Set(machines.map(keyOf));
  const first = [...machines].sort((a, b) => ((a.gpu?.uuid ?? '') < (b.gpu?.uuid ?? '') ? -1 : 1))[0];
  if (first?.gpu === null || first?.gpu === undefined || first.driver === null)
    throw new AppFailure(
      err('env.gpu-missing', 'No profile of a GPU is there to calibrate from.', {
        remedy: 'Look at what the profile pass says: cudamaster bench resume shows it.',
      }).error,
    );
  if (keys.size > 1)
    throw new AppFailure(
      err('usage', `The profiles are of several kinds of GPU or drivers: ${[...keys].join('; ')}.`, {
        remedy: 'Run the profile pass on one GPU, or on several of one model under one driver.',
      }).error,
    );
  const uuids = [...new Set(machines.flatMap(({ gpu }) => gpu?.uuid ?? []))].sort();
  const date =
    results
      .map((r) => r.finishedAt)
      .sort()
      .at(-1) ?? new Date().toISOString();
  return { gpu: first.gpu, driver: first.driver, date, uuids };
}
