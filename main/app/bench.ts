import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { checkArguments, defaultArguments } from '../agents/index.ts';
import { attempt } from '../base/fault.ts';
import { sha256Hex } from '../base/hash.ts';
import { readInput } from '../base/input.ts';
import { dataDir } from '../base/paths.ts';
import { newRootSeed } from '../base/random.ts';
import { type Choice, type Chosen, cellsOf, choose } from '../bench/choose.ts';
import { reportCsv } from '../bench/csv.ts';
import { type BenchStand, driveBench } from '../bench/drive.ts';
import { BenchFolder, listBenches } from '../bench/folder.ts';
import { reportHtml } from '../bench/html.ts';
import { Planner } from '../bench/jobs.ts';
import { reportOf as benchReport } from '../bench/report.ts';
import {
  type AppError,
  AppFailure,
  type Bench,
  type BenchCandidate,
  type BenchConfig,
  type BenchStage,
  err,
  FORMAT,
  jobSchema,
  type SizeSet,
  sizeSets,
} from '../contract/index.ts';
import { rejectionText, screen, withExternC } from '../evaluate/screen/index.ts';
import { quoted } from '../jobs/bundle.ts';
import { externCAdded, stateOf } from '../optimizer/index.ts';
import { type AppContext, historyFolder, settingsOf, withStore } from './context.ts';
import type { ServiceContext } from './events.ts';
import { knownOf } from './start.ts';

export interface BenchParams extends Choice {
  readonly sizes: readonly SizeSet[];
  /** Profiles of the largest size, as a stage of its own. */
  readonly profile: boolean;
  /** false: profiles alone. */
  readonly measure?: boolean;
  readonly library: boolean;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
  readonly fromHistory?: boolean;
  /** Folder with TASK.DTYPE.cu, or such files. */
  readonly candidates?: readonly string[];
  /** Folder of the bench; default one of its own in the data folder. */
  readonly out?: string;
  /** Folder with copies of results that a worker wrote. */
  readonly results?: string;
  /** Tests without a GPU. */
  readonly variant?: 'host';
}

export interface BenchAnswer extends BenchStand {
  readonly id: string;
  readonly folder: string;
  readonly cells: number;
  readonly files: readonly string[];
  /** What to do about bundles that wait; null: nothing waits. */
  readonly how: string | null;
  /** It lies where nothing can be written: it was only looked at. */
  readonly readOnly?: true;
}

const usage = (message: string, remedy?: string): AppFailure => new AppFailure(err('usage', message, { remedy }).error);

/** Begins a bench and drives it as far as it goes. Throws AppFailure before anything is written when the choice is not possible. */
export async function beginBench(app: AppContext, params: BenchParams, ctx: ServiceContext): Promise<BenchAnswer> {
  const config = configOf(params);
  checkResults(config, params.results);
  if (params.out === '') throw usage('The name of the folder to write is empty.');
  const chosen = choose(app.root, params);
  const found = await findCandidates(params, chosen, ctx);
  const cells = cellsOf(chosen, config, found.candidates);
  if (cells.length === 0)
    throw usage(
      'There is no candidate for any chosen task.',
      params.fromHistory
        ? 'Only accepted versions of the history count; `cudamaster runs` lists the runs.'
        : 'Name the files TASK.DTYPE.cu, for example dot_product.fp32.cu.',
    );
  const id = benchId();
  const folder = new BenchFolder(params.out === undefined ? join(benchesDir(), id) : resolve(params.out));
  const bench: Bench = {
    format: 'cudamaster-bench',
    version: FORMAT.bench,
    id,
    createdAt: new Date().toISOString(),
    programVersion: app.version,
    rootSeed: newRootSeed(),
    config,
    candidates: found.candidates,
    cells,
  };
  const place = config.executor === 'local' ? await localPlace(app, ctx) : null;
  await folder.create(bench, found.sources);
  return drive(app, folder, bench, place, params.results, ctx);
}

/** Goes on with a bench: its id, the end of it, its folder, or "last". */
export async function resumeBench(
  app: AppContext,
  params: { readonly bench: string; readonly results?: string },
  ctx: ServiceContext,
): Promise<BenchAnswer> {
  const folder = new BenchFolder(await findBench(params.bench), true);
  const bench = await folder.bench();
  checkResults(bench.config, params.results);
  const fault = folder.notWritable();
  if (fault !== null && params.results === undefined) return shown(app, folder, bench, fault, ctx);
  if (fault !== null) throw new AppFailure(fault);
  const place = bench.config.executor === 'local' ? await localPlace(app, ctx) : null;
  return drive(app, folder, bench, place, params.results, ctx);
}

/** How a bench stands that lies where nothing can be written: nothing is run, and its report is the one that is there. */
async function shown(
  app: AppContext,
  folder: BenchFolder,
  bench: Bench,
  fault: AppError,
  ctx: ServiceContext,
): Promise<BenchAnswer> {
  ctx.emit({
    type: 'notice',
    message: `${fault.message} Nothing is measured, taken in or written: this is how the bench stands.`,
    remedy: 'Copy it to a folder that can be written to go on with it.',
  });
  const { root, version: programVersion } = app;
  const quiet = { executor: null, signal: ctx.signal, onProgress: () => undefined };
  const stand = await driveBench({ root, folder, bench, programVersion, readOnly: true, ...quiet });
  const files = reportFiles.map((name) => join(folder.dir, name)).filter((file) => existsSync(file));
  return { ...stand, id: bench.id, folder: folder.dir, cells: bench.cells.length, files, how: null, readOnly: true };
}

const reportFiles = ['report.json', 'report.csv', 'report.html'];

/** What is never looked at is not taken in silence. */
function checkResults({ executor }: BenchConfig, results: string | undefined): void {
  if (results === undefined) return;
  if (results === '') throw usage('The name of the folder of results is empty.');
  if (executor === 'local')
    throw usage(
      'This bench runs its jobs here: it takes no results of a worker.',
      'Leave --results out, or begin a bench with --executor bundle.',
    );
}

type LocalPlace = Awaited<ReturnType<AppContext['openPlace']>>;

const localPlace = async (app: AppContext, ctx: ServiceContext): Promise<LocalPlace> =>
  app.openPlace('local', await settingsOf(), ctx.signal);

async function drive(
  app: AppContext,
  folder: BenchFolder,
  bench: Bench,
  place: LocalPlace | null,
  results: string | undefined,
  ctx: ServiceContext,
): Promise<BenchAnswer> {
  const { dir } = folder;
  const executor =
    place?.executor({
      bundles: join(dir, 'bundles'),
      resumeCommand: `cudamaster bench resume ${dir}`,
      programVersion: app.version,
    }) ?? null;
  const stand = await driveBench({
    root: app.root,
    folder,
    bench,
    executor,
    programVersion: app.version,
    results,
    signal: ctx.signal,
    onProgress: (progress) => ctx.emit({ type: 'bench', bench: bench.id, ...progress }),
  });
  const files = await writeReport(app, folder, bench, stand.outdated);
  const how =
    stand.waiting.length === 0
      ? null
      : `Run on the GPU machine: ${stand.waiting.map(({ folder: f }) => `cudamaster worker ${quoted(f)}`).join('; ')}. Then: cudamaster bench resume ${quoted(dir)}`;
  return { ...stand, id: bench.id, folder: dir, cells: bench.cells.length, files, how };
}

/** report.json, report.csv and report.html beside the results, from all that is there; [] while nothing is. */
async function writeReport(
  app: AppContext,
  folder: BenchFolder,
  bench: Bench,
  outdated: readonly string[],
): Promise<string[]> {
  const results = await folder.results(bench.cells);
  if (results.size === 0) return [];
  const planner = new Planner(app.root, bench, folder);
  const report = benchReport({ bench, results, planner, outdated, now: new Date().toISOString() });
  const files: [string, string][] = [
    ['report.json', `${JSON.stringify(report, null, 1)}\n`],
    ['report.csv', reportCsv(report)],
    ['report.html', reportHtml(report)],
  ];
  for (const [name, text] of files) await folder.write(name, text);
  return files.map(([name]) => join(folder.dir, name));
}

function configOf(params: BenchParams): BenchConfig {
  const { profile, measure = true, library, executor, arch = 'native', variant } = params;
  const sizes = sizeSets.filter((set) => params.sizes.includes(set));
  if (!jobSchema.shape.arch.safeParse(arch).success)
    throw usage(`"${arch}" is no GPU architecture.`, 'Give it as sm_90, or native.');
  const stages: BenchStage[] = [...(measure ? sizes : []), ...(profile ? (['profile'] as const) : [])];
  if (stages.length === 0) throw usage('Nothing would be measured.', 'Choose sizes, or --profile.');
  if (params.candidates?.length === 0)
    throw usage('--candidates names nothing.', 'Give files TASK.DTYPE.cu or a folder of them, or leave it out.');
  if (params.fromHistory && params.candidates?.length)
    throw usage('Candidates come from the history or from files, not from both.');
  const candidates = params.fromHistory ? 'history' : params.candidates?.length ? 'files' : 'none';
  const profileSizes = sizes.includes('large') ? 'large' : 'published';
  return { stages, profileSizes, library, arch, executor, candidates, ...(variant ? { variant } : {}) };
}

interface Candidates {
  readonly candidates: BenchCandidate[];
  readonly sources: ReadonlyMap<string, string>;
}

async function findCandidates(
  params: BenchParams,
  chosen: readonly Chosen[],
  ctx: ServiceContext,
): Promise<Candidates> {
  if (params.fromHistory) return fromHistory(chosen, ctx);
  return fromFiles(params.candidates ?? [], chosen, ctx);
}

/** Files named TASK.DTYPE.cu; other names in a folder are told and left out, since nothing says what they are. */
async function fromFiles(
  paths: readonly string[],
  chosen: readonly Chosen[],
  ctx: ServiceContext,
): Promise<Candidates> {
  const candidates: BenchCandidate[] = [];
  const sources = new Map<string, string>();
  for (const path of paths) {
    const names = await readdir(path).catch((fault: { code?: string }) => {
      if (fault.code === 'ENOTDIR') return null;
      throw new AppFailure(
        err('input.file', `${path} cannot be read (${fault.code}).`, {
          remedy: 'Give files TASK.DTYPE.cu, or a folder of them.',
        }).error,
      );
    });
    for (const file of names === null ? [path] : names.sort().map((name) => join(path, name))) {
      const found = /^([A-Za-z][A-Za-z0-9_]*)\.(fp32|bf16)\.cu$/.exec(basename(file));
      if (!found) {
        if (names === null) throw usage(`${file} does not say what it is.`, 'Name it TASK.DTYPE.cu.');
        if (file.endsWith('.cu'))
          ctx.emit({ type: 'notice', message: `${file} is left out.`, remedy: 'Name it TASK.DTYPE.cu.' });
        continue;
      }
      const [, task = '', dtype] = found;
      const own = chosen.find((c) => c.task.task.id === task && c.dtype === dtype);
      if (own === undefined) {
        ctx.emit({
          type: 'notice',
          message: `${file} is left out: ${task} ${dtype} is not among the tasks that are measured.`,
          remedy: '`cudamaster tasks` lists the names of tasks.',
        });
        continue;
      }
      const given = await readInput(file, { limit: 4 * 1024 * 1024, signal: ctx.signal });
      const { source, linked, refused } = screened(given, own);
      // As every evaluation does: what the screen refuses is neither built nor timed. The others are.
      if (refused !== null)
        ctx.emit({ type: 'notice', message: `${file} is refused by the screen, and not measured: ${refused}` });
      if (linked) ctx.emit({ type: 'notice', message: `${file}: ${externCAdded}` });
      const hash = sha256Hex(source);
      if (refused === null) sources.set(hash, source);
      candidates.push({
        task,
        dtype: own.dtype,
        label: basename(file),
        source: hash,
        compileArgs: [...defaultArguments],
        ...(refused === null ? {} : { refused }),
      });
    }
  }
  return { candidates: unique(candidates), sources };
}

/** The source as an evaluation of it would build it, and why it is not built at all. */
function screened(
  given: string,
  { task, dtype }: Chosen,
): { readonly source: string; readonly linked: boolean; readonly refused: string | null } {
  const options = { compileArgs: defaultArguments };
  const source = withExternC(given, task.task, dtype, options);
  if (source !== null) return { source, linked: true, refused: null };
  const { rejections } = screen(given, task.task, dtype, options);
  const refused = rejections.length === 0 ? null : rejectionText(rejections).reason;
  return { source: given, linked: false, refused };
}

function unique(candidates: BenchCandidate[]): BenchCandidate[] {
  for (const [at, { task, dtype }] of candidates.entries())
    if (candidates.findIndex((c) => c.task === task && c.dtype === dtype) !== at)
      throw usage(`There are two candidates for ${task} ${dtype}.`, 'Give one per task and data type.');
  return candidates;
}

/** Of each task and type the accepted version with the highest P over all runs of the history; none of the bin, none of a damaged run. */
async function fromHistory(chosen: readonly Chosen[], ctx: ServiceContext): Promise<Candidates> {
  const best = new Map<string, { candidate: BenchCandidate; source: string }>();
  await withStore(ctx, historyFolder(), async (store) => {
    const wanted = (await store.versions())
      .filter((v) => v.outcome === 'accepted' && v.score !== null && v.round > 0)
      .filter((v) => v.kind !== 'demo' && v.kind !== 'replay')
      .filter((v) => chosen.some((c) => c.task.task.id === v.task && c.dtype === v.dtype))
      .sort((a, b) => (b.score?.value ?? 0) - (a.score?.value ?? 0));
    for (const v of wanted) {
      const key = `${v.task} ${v.dtype}`;
      if (best.has(key)) continue;
      const known = await attempt(async () => knownOf(stateOf(await store.events(v.run)), v));
      if (!known.ok) {
        const { message, remedy, detail } = known.error;
        ctx.emit({ type: 'notice', message, remedy, detail });
        continue;
      }
      const { source, compileArgs } = known.value;
      if (source === null) continue;
      const { arguments: args } = checkArguments([...compileArgs]);
      const label = `${v.run} r${v.round}.a${v.attempt}`;
      const candidate = { task: v.task, dtype: v.dtype, label, source: sha256Hex(source), compileArgs: [...args] };
      best.set(key, { candidate, source });
    }
  });
  const found = [...best.values()];
  return {
    candidates: found.map(({ candidate }) => candidate),
    sources: new Map(found.map(({ candidate, source }) => [candidate.source, source])),
  };
}

const benchesDir = (): string => join(dataDir(), 'bench');

/** Sortable by time: "bench-261129-1830-k7qf". */
const benchId = (now = new Date().toISOString()): string =>
  `bench-${now.slice(2, 10).replaceAll('-', '')}-${now.slice(11, 16).replace(':', '')}-${randomBytes(2).toString('hex')}`;

export async function findBench(name: string): Promise<string> {
  if (name === '') throw usage('The name of the bench is empty.', 'Give its id, its folder, or "last".');
  const known = (await listBenches(benchesDir())).filter((id) => id.startsWith('bench-'));
  const hits = name === 'last' ? known.slice(-1) : known.filter((id) => id === name || id.endsWith(name));
  if (hits.length === 1) return join(benchesDir(), hits[0] as string);
  if (hits.length > 1) throw usage(`"${name}" names several benches: ${hits.join(', ')}.`);
  const path = resolve(name);
  const names: string[] = await readdir(path).catch(() => []);
  if (names.includes('bench.json')) return path;
  throw new AppFailure(
    err('store.not-found', `There is no bench "${name}".`, {
      remedy: `Give the folder of a bench${known.length > 0 ? `, or one of ${known.slice(-5).join(', ')}` : ''}.`,
    }).error,
  );
}
