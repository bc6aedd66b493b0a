import { readFile, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { toAppError } from '../base/fault.ts';
import { writeFileAtomic } from '../base/files.ts';
import { withFileLock } from '../base/flock.ts';
import { ensureDir } from '../base/paths.ts';
import { printable } from '../base/printable.ts';
import { type AppError, AppFailure, exitCodeOf, type JobResult, type ToolPaths } from '../contract/index.ts';
import {
  findBundles,
  type OpenedBundle,
  readBundle,
  readResult,
  sweepPartial,
  writeResult,
} from '../jobs/bundle-folder.ts';
import { optionalBuilds } from '../jobs/bundle-hash.ts';
import { LocalExecutor, type LocalSettings } from '../jobs/local.ts';
import { bundleReport, keepReport } from '../jobs/report.ts';
import { selfTest } from './self-test.ts';

declare const __CUDAMASTER_VERSION__: string | undefined;
export const programVersion = typeof __CUDAMASTER_VERSION__ === 'string' ? __CUDAMASTER_VERSION__ : 'source';

/** What a worker needs of the world; the command line and tests give their own. */
export interface WorkerIo {
  /** Result lines (with --json: JSON Lines and nothing else). */
  out(line: string): void;
  /** Progress and messages for people. */
  err(line: string): void;
  /** Finds the tools of this machine; 'none': also where some are missing. Throws AppFailure. */
  tools(need: 'nvcc' | 'none'): Promise<ToolPaths>;
  readonly signal?: AbortSignal;
  readonly settings?: LocalSettings;
}

const usage = `worker [--json] [--again] [--trust] [--part K/N] [--results DIR] DIR...
worker --list [--json] [--part K/N] DIR...
worker --self-test [--json]

Runs job bundles (folders with request.json, or folders that hold such folders) on this machine and writes result.json into each,
with the report of Nsight Compute beside it where the job makes a profile (report.ncu-rep).
  --again      run bundles that have a result already
  --trust      run them even where no sandbox works: their code then runs with your rights
  --results    write copies of the results there too, BUNDLE.json and BUNDLE.ncu-rep (to carry them back without the bundles:
               they are the bundle's result.json and report.ncu-rep)
  --part K/N   run every Nth bundle from the Kth on: one worker per GPU (CUDA_VISIBLE_DEVICES) with a K of its own shares the work
  --list       say which bundles would run, whole or not, and run nothing; no GPU is needed
  --self-test  check compiler, sandbox and GPU of this machine
Exit codes: 0 all done, 2 bad bundle or usage, 3 this machine cannot run them, 130 cancelled.`;

interface Options {
  readonly json: boolean;
  readonly again: boolean;
  readonly trust: boolean;
  readonly selfTest: boolean;
  readonly list: boolean;
  readonly part: Part | null;
  readonly results?: string;
  readonly paths: readonly string[];
}

/** Number `k` of `n` workers, from 1. */
interface Part {
  readonly k: number;
  readonly n: number;
}

function partOf(text: string): Part {
  const [, k, n] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []).map(Number);
  if (k === undefined || n === undefined || k < 1 || k > n)
    throw new Error(`--part ${text}: expected K/N with K from 1 to N, as in 2/4.`);
  return { k, n };
}

function parse(args: readonly string[]): Options | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        again: { type: 'boolean', default: false },
        trust: { type: 'boolean', default: false },
        results: { type: 'string' },
        list: { type: 'boolean', default: false },
        part: { type: 'string' },
        'self-test': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) return usage;
    const part = values.part === undefined ? null : partOf(values.part);
    return { ...values, part, selfTest: values['self-test'], paths: positionals };
  } catch (fault) {
    return `${fault instanceof Error ? fault.message : String(fault)}\n\n${usage}`;
  }
}

interface Line {
  readonly folder: string;
  readonly state: 'done' | 'kept' | 'failed';
  readonly steps?: readonly { readonly id: string; readonly status: string }[];
  readonly error?: AppError;
}

/**
 * `cudamaster worker`: runs bundles and writes their results. Several bundles: their builds overlap, their GPU sessions take turns.
 * Finished bundles are kept unless --again. Gives back the process exit code; never throws.
 */
export async function runWorker(args: readonly string[], given: WorkerIo): Promise<number> {
  // Labels come from a bundle, and a bundle from anywhere.
  const io: WorkerIo = { ...given, err: (line) => given.err(printable(line)) };
  const options = parse(args);
  if (typeof options === 'string') {
    const asked = args.includes('--help') || args.includes('-h');
    return asked ? answerHelp(args, io) : refuse(options, args, io);
  }
  if (!options.selfTest && options.paths.length === 0) return refuse(usage, args, io);
  try {
    if (options.selfTest) return await selfTest(await io.tools('none'), io, options.json);
    const folders = new Set<string>();
    for (const path of options.paths) for (const folder of await findBundles(resolve(path))) folders.add(folder);
    const mine = shareOf([...folders], options.part);
    if (mine.length === 0) io.err(`None of the ${folders.size} bundles falls to this worker.`);
    if (options.list) return await listAll(mine, options, io);
    // Before hours of work, not after its first bundle.
    if (options.results !== undefined) ensureDir(resolve(options.results));
    return await runAll(mine, options, io);
  } catch (fault) {
    return finish([], toAppError(fault), options, io);
  }
}

function answerHelp(args: readonly string[], io: WorkerIo): number {
  io.out(args.includes('--json') ? JSON.stringify({ text: usage }) : usage);
  return 0;
}

function refuse(why: string, args: readonly string[], io: WorkerIo): number {
  io.err(why);
  const message = why === usage ? 'A bundle folder is needed.' : (why.split('\n')[0] ?? why);
  if (args.includes('--json')) io.out(JSON.stringify({ ok: false, error: { code: 'usage', message } }));
  return exitCodeOf('usage');
}

/** Dealt one by one, so that every part gets some of each kind of job. */
const shareOf = (folders: readonly string[], part: Part | null): readonly string[] =>
  part === null ? folders : folders.filter((_, i) => i % part.n === part.k - 1);

/** Reads every bundle whole, with its files, as a run would before its first step. */
async function listAll(folders: readonly string[], options: Options, io: WorkerIo): Promise<number> {
  let first: AppError | null = null;
  for (const folder of folders) {
    const line = await readBundle(folder).then(
      ({ request }) => ({ folder, label: request.label }),
      (fault: unknown) => ({ folder, error: toAppError(fault) }),
    );
    if (options.json) io.out(JSON.stringify({ type: 'bundle', ...line }));
    else if ('label' in line) io.out(`${folder}  ${printable(line.label)}`);
    if (!('error' in line)) continue;
    first ??= line.error;
    io.err(`${folder}: not whole`);
    explain(line.error, io);
  }
  if (options.json)
    io.out(JSON.stringify(first ? { ok: false, error: first } : { ok: true, value: { bundles: folders.length } }));
  return first ? exitCodeOf(first.code) : 0;
}

async function runAll(folders: readonly string[], options: Options, io: WorkerIo): Promise<number> {
  const executor = await prepare(options, io);
  const lines = await Promise.all(
    folders.map(async (folder): Promise<Line> => {
      const line = await runOne(folder, executor, options, io).catch(
        (fault: unknown): Line => ({ folder, state: 'failed', error: toAppError(fault) }),
      );
      report(line, options, io);
      return line;
    }),
  );
  return finish(lines, lines.find((line) => line.error)?.error ?? null, options, io);
}

async function prepare(options: Options, io: WorkerIo): Promise<LocalExecutor> {
  const executor = new LocalExecutor(await io.tools('nvcc'), { ...io.settings, containAll: true });
  const containment = await executor.contain();
  if (containment.level === 'none' && !options.trust)
    throw new AppFailure({
      code: 'trust.required',
      message: `The bundles' code would run without a sandbox: ${containment.why}.`,
      remedy: `${containment.remedy ?? ''} Or run it with your own rights: worker --trust`.trim(),
    });
  const { gpu, toolkit, driver } = await executor.machine();
  io.err(
    `${gpu ? `${gpu.name} (${gpu.uuid})` : 'no GPU'}, driver ${driver ?? 'none'}, CUDA toolkit ${toolkit ?? 'none'}, sandbox ${containment.level}`,
  );
  return executor;
}

async function runOne(folder: string, executor: LocalExecutor, options: Options, io: WorkerIo): Promise<Line> {
  const opened = await readBundle(folder);
  // Also proves, before hours of work, that the folder can be written.
  return withFileLock(join(folder, 'worker.lock'), () => runLocked(opened, executor, options, io), {
    signal: io.signal,
    remove: true,
    onWait: () => io.err(`${opened.request.label}: another worker has this bundle, waiting`),
  });
}

async function runLocked(opened: OpenedBundle, executor: LocalExecutor, options: Options, io: WorkerIo): Promise<Line> {
  const { folder, request, bundle } = opened;
  // The bundle is ours alone now: what a killed worker left half-written is nobody's.
  await sweepPartial(folder, async () => true);
  const before = options.again ? null : await readResult(folder, request, bundle);
  if (before) {
    await copyResult(folder, before, options, io);
    return { folder, state: 'kept' };
  }
  const reportFile = join(folder, bundleReport);
  // One of another run of this bundle says nothing of this one.
  await rm(reportFile, { force: true, recursive: true });
  const outcome = await executor.execute(bundle, {
    rootSeed: request.rootSeed,
    position: request.position,
    signal: io.signal,
    reportFile,
    onProgress: ({ step, index, count, note }) =>
      io.err(`${request.label} [${index + 1}/${count}] ${step}${note ? `: ${note}` : ''}`),
  });
  if (outcome.kind !== 'done') throw new Error('the local executor does not park');
  const fault = machineFault(outcome.result, optionalBuilds(bundle.job));
  const steps = outcome.result.steps.map(({ id, status }) => ({ id, status }));
  // A result that only says "this machine cannot" would end the run that waits for it: better mended and run again.
  if (fault) return { folder, state: 'failed', steps, error: fault };
  await writeResult(folder, request, outcome.result, programVersion);
  await copyResult(folder, outcome.result, options, io);
  return { folder, state: 'done', steps };
}

/** Puts a copy of the result and its report where the user wants them together: BUNDLE.json and BUNDLE.ncu-rep, each whole or not at all. */
async function copyResult(folder: string, result: JobResult, options: Options, io: WorkerIo): Promise<void> {
  if (options.results === undefined) return;
  const target = join(resolve(options.results), basename(folder));
  const data = await readFile(join(folder, 'result.json'));
  await writeFileAtomic(`${target}.json`, data, 0o644);
  for (const { id, session } of result.steps) {
    if (session?.mode !== 'profile' || session.report?.kept !== true) continue;
    const copied = await keepReport(join(folder, bundleReport), `${target}.ncu-rep`, session.report);
    if (!copied.kept) io.err(`${folder}: the report of step ${id} was not copied. ${copied.reason}`);
  }
}

/** The machine's fault if that is all there is to say: a build could not run, or no session ended well and one could not run. */
function machineFault(result: JobResult, optional: readonly string[]): AppError | null {
  const sick = result.steps.filter((step) => step.status === 'environment' && !optional.includes(step.id));
  const build = sick.find((step) => !step.session && step.command !== '' && !step.command.startsWith('session '));
  const sessionsOk = result.steps.some((step) => step.session && step.status === 'ok');
  const first = build ?? sick.find((step) => step.command === '') ?? (sessionsOk ? undefined : sick[0]);
  if (!first) return null;
  const { code = 'env.toolkit-broken', message = 'no reason given', remedy } = first.reason ?? {};
  return { code: code as AppError['code'], message: `Step ${first.id}: ${message}`, remedy };
}

function report(line: Line, options: Options, io: WorkerIo): void {
  if (options.json) io.out(JSON.stringify({ type: 'bundle', ...line }));
  const steps = line.steps?.map((step) => `${step.id} ${step.status}`).join(', ');
  const what = { done: 'result written', kept: 'has a result already (--again runs it anew)', failed: 'not done' };
  io.err(`${line.folder}: ${what[line.state]}${steps ? ` (${steps})` : ''}`);
  if (line.error) explain(line.error, io);
}

function explain(error: AppError, io: WorkerIo): void {
  io.err(`  ${error.message}`);
  if (error.remedy) io.err(`  What to do: ${error.remedy}`);
  if (error.detail) io.err(`  ${error.detail}`);
}

function finish(lines: readonly Line[], error: AppError | null, options: Options, io: WorkerIo): number {
  const count = (state: Line['state']): number => lines.filter((line) => line.state === state).length;
  const value = { done: count('done'), kept: count('kept'), failed: count('failed') };
  if (options.json) io.out(JSON.stringify(error ? { ok: false, error, value } : { ok: true, value }));
  else if (lines.length > 0) io.out(`${value.done} done, ${value.kept} kept, ${value.failed} failed`);
  if (error && lines.length === 0) explain(error, io);
  return error ? exitCodeOf(error.code) : 0;
}
