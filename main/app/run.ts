import { basename, join } from 'node:path';
import { z } from 'zod';
import { checkArguments, defaultArguments } from '../agents/index.ts';
import { readInput } from '../base/input.ts';
import { configDir } from '../base/paths.ts';
import { newRootSeed } from '../base/random.ts';
import {
  AppFailure,
  type Dtype,
  err,
  jobSchema,
  type ProfileMode,
  type RunConfig,
  runConfigSchema,
  type SizeSet,
} from '../contract/index.ts';
import { giveAnswer } from '../llm/index.ts';
import type { NewRun, RunRecord, Store } from '../store/index.ts';
import { type AppContext, historyFolder, runConfig, runFolder, settingsOf, taskParts, withStore } from './context.ts';
import { type Candidate, driveEvaluation, driveLoop } from './drive.ts';
import type { EvaluationReport, RunReport, ServiceContext } from './events.ts';
import type { RunPlace } from './machine.ts';
import {
  checkMoneyLimit,
  checkProvider,
  chooseProvider,
  disclosure,
  isPaid,
  makeProvider,
  type ProviderChoice,
  providerChoiceSchema,
  remoteHost,
} from './providers.ts';
import { reportOf } from './report.ts';
import { type Settings, writeSettings } from './settings.ts';

/** What is kept with a run beside its configuration, for a resume. */
const runOptionsSchema = z.object({
  provider: providerChoiceSchema.nullable().default(null),
  candidate: z
    .object({ label: z.string(), source: z.string(), compileArgs: z.array(z.string()) })
    .nullable()
    .default(null),
});

export interface OptimizeParams {
  readonly task: string;
  readonly dtype: Dtype;
  readonly rounds?: number;
  readonly debugAttempts?: number;
  readonly profile?: ProfileMode;
  readonly sizeSet?: SizeSet;
  readonly provider: string;
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyEnv?: string;
  readonly localOnly?: boolean;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
  readonly maxUsd?: number;
  readonly maxTokens?: number;
  readonly maxMinutes?: number;
  readonly notes?: string;
  readonly contextTokens?: number;
  /** Path of a source with which round 1 starts. */
  readonly startFrom?: string;
}

export interface EvaluateParams {
  readonly kind: 'evaluate' | 'profile';
  readonly task: string;
  readonly dtype: Dtype;
  /** Path of the candidate; absent: the origin (profile only). */
  readonly source?: string;
  readonly compileArgs?: readonly string[];
  readonly profile?: ProfileMode;
  readonly sizeSet?: SizeSet;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
}

export interface ResumeParams {
  readonly run: string;
  /** Path of an answer to the prompt that the run waits for. */
  readonly answer?: string;
  readonly maxUsd?: number;
  readonly maxTokens?: number;
  readonly maxMinutes?: number;
}

/** Sources and answers are text that a person or a model has written. */
const readSource = (path: string, ctx: ServiceContext): Promise<string> =>
  readInput(path, { limit: 4 * 1024 * 1024, signal: ctx.signal });

function checkedConfig(config: RunConfig): RunConfig {
  // The job's own rule: told now, and not by a worker on another machine.
  if (!jobSchema.shape.arch.safeParse(config.arch).success)
    throw new AppFailure(
      err('usage', `"${config.arch}" is no GPU architecture.`, { remedy: 'Give it as sm_90, or native.' }).error,
    );
  const parsed = runConfigSchema.safeParse(config);
  if (parsed.success) return parsed.data;
  throw new AppFailure(err('usage', `A setting of the run is not possible: ${z.prettifyError(parsed.error)}`).error);
}

/** Tells once per remote endpoint what is sent there. */
async function tellRemote(ctx: ServiceContext, settings: Settings, choice: ProviderChoice): Promise<void> {
  const host = remoteHost(choice);
  if (host === null || settings.knownRemotes.includes(host)) return;
  ctx.emit({
    type: 'notice',
    message: disclosure(host, choice),
    remedy: 'Use --local-only or a model on this machine to prevent it.',
  });
  await writeSettings(configDir(), { ...settings, knownRemotes: [...settings.knownRemotes, host] });
}

const placeOf = (app: AppContext, store: Store, id: string): RunPlace => ({
  bundles: join(runFolder(store, id), 'bundles'),
  resumeCommand: `cudamaster resume ${id}`,
  programVersion: app.version,
});
const chatFolder = (store: Store, id: string): string => join(runFolder(store, id), 'chat');

/** A new optimization. Throws AppFailure before anything is written when input, tools or provider are not usable. */
export async function optimizeTask(app: AppContext, params: OptimizeParams, ctx: ServiceContext): Promise<RunReport> {
  const settings = await settingsOf();
  const parts = taskParts(app, params.task, params.dtype);
  const provider = chooseProvider({ ...params, localOnly: params.localOnly ?? settings.localOnly });
  await checkMoneyLimit(provider, params.maxUsd ?? null);
  const contextTokens = params.contextTokens ?? (await checkProvider(provider, app.env)) ?? undefined;
  const source = params.startFrom === undefined ? undefined : await readSource(params.startFrom, ctx);
  const { task, dtype, executor } = params;
  const given = Object.fromEntries(
    (['rounds', 'debugAttempts', 'profile', 'sizeSet', 'arch', 'maxUsd', 'maxTokens', 'maxMinutes', 'notes'] as const)
      .filter((k) => params[k] !== undefined)
      .map((k) => [k, params[k]]),
  );
  const startFromWrong =
    source === undefined ? undefined : { label: basename(params.startFrom ?? ''), source, compileArgs: [] };
  const config = checkedConfig(
    runConfig({
      task,
      dtype,
      executor,
      ...given,
      provider: provider.name,
      model: provider.model,
      contextTokens,
      startFromWrong,
    }),
  );
  const place = await app.openPlace(executor, settings, ctx.signal);
  await tellRemote(ctx, settings, provider);
  return withStore(ctx, historyFolder(), async (store) => {
    const fresh = newRun(app, 'optimize', config, parts, { provider, candidate: null }, place.environment);
    const driven = await store.begin(fresh);
    const run = await store.find(driven.id);
    const model = await makeProvider(provider, { dir: chatFolder(store, run.id), env: app.env });
    const jobs = place.executor(placeOf(app, store, run.id));
    return driveLoop({ app, store, driven, run, parts, executor: jobs, ctx, after: 0, measures: true }, model);
  });
}

function newRun(
  app: AppContext,
  kind: NewRun['kind'],
  config: RunConfig,
  parts: { originHash: string; taskHash: string },
  options: z.infer<typeof runOptionsSchema>,
  environment: NewRun['environment'],
): NewRun {
  const { originHash, taskHash } = parts;
  return {
    kind,
    config,
    options,
    rootSeed: newRootSeed(),
    originHash,
    taskHash,
    programVersion: app.version,
    environment,
  };
}

/** nvcc options of a user's candidate pass the same list as a model's. */
function compileArgsOf(given: readonly string[] | undefined): readonly string[] {
  if (given === undefined || given.length === 0) return defaultArguments;
  const { arguments: kept, refused } = checkArguments(given);
  if (refused.length === 0) return kept;
  throw new AppFailure(
    err('usage', `nvcc option refused: ${refused.map((r) => `${r.argument} (${r.why})`).join('; ')}`).error,
  );
}

/** Evaluates a candidate, or profiles it or the origin. */
export async function evaluateSource(
  app: AppContext,
  params: EvaluateParams,
  ctx: ServiceContext,
): Promise<EvaluationReport> {
  const settings = await settingsOf();
  const parts = taskParts(app, params.task, params.dtype);
  const candidate: Candidate | null =
    params.source === undefined
      ? null
      : {
          label: basename(params.source),
          source: await readSource(params.source, ctx),
          compileArgs: compileArgsOf(params.compileArgs),
        };
  const { task, dtype, executor, profile = 'filtered', sizeSet = 'published', arch = 'native' } = params;
  const config = checkedConfig(
    runConfig({ task, dtype, executor, profile, sizeSet, arch, rounds: 1, debugAttempts: 0 }),
  );
  const place = await app.openPlace(executor, settings, ctx.signal);
  return withStore(ctx, historyFolder(), async (store) => {
    const stored = candidate && { ...candidate, compileArgs: [...candidate.compileArgs] };
    const fresh = newRun(app, params.kind, config, parts, { provider: null, candidate: stored }, place.environment);
    const driven = await store.begin(fresh);
    const run = await store.find(driven.id);
    const jobs = place.executor(placeOf(app, store, run.id));
    return driveEvaluation(
      { app, store, driven, run, parts, executor: jobs, ctx, after: 0, measures: true },
      candidate,
    );
  });
}

/** Goes on with a parked, paused, failed, cancelled or interrupted run. One that is done is only reported. */
export async function resumeRun(app: AppContext, params: ResumeParams, ctx: ServiceContext): Promise<RunReport> {
  return withStore(ctx, historyFolder(), async (store) => {
    const found = await store.find(params.run);
    if (found.kind === 'demo' || found.kind === 'replay')
      throw new AppFailure(
        err('usage', `Run ${found.id} is a replay: there is nothing to resume.`, { remedy: 'Replay it again.' }).error,
      );
    if (found.status === 'done') return reportOf(store, found.id);
    if (params.answer !== undefined) await takeAnswer(store, found, params.answer, ctx);
    const options = runOptionsSchema.parse(found.options);
    const settings = await settingsOf();
    const limits = Object.fromEntries(
      (['maxUsd', 'maxTokens', 'maxMinutes'] as const)
        .filter((k) => params[k] !== undefined)
        .map((k) => [k, params[k]]),
    );
    const config = checkedConfig({ ...found.config, ...limits });
    const parts = taskParts(app, config.task, config.dtype);
    if (options.provider) {
      await checkMoneyLimit(options.provider, config.maxUsd);
      await checkProvider(options.provider, app.env);
    }
    const place = await app.openPlace(config.executor === 'bundle' ? 'bundle' : 'local', settings, ctx.signal);
    const driven = await store.resume(found, place.environment, isPaid(options.provider));
    if (Object.keys(limits).length > 0) await store.configure(found.id, config);
    const run = await store.find(found.id);
    const executor = place.executor(placeOf(app, store, run.id));
    const after = (await store.events(run.id)).findLast((e) => e.type === 'resumed')?.seq ?? 1;
    const drive = { app, store, driven, run, parts, executor, ctx, after: after - 1, measures: true };
    if (run.kind !== 'optimize') return driveEvaluation(drive, options.candidate);
    if (!options.provider)
      throw new AppFailure(err('internal', `Run ${run.id} does not say where its answers come from.`).error);
    const dir = chatFolder(store, run.id);
    return driveLoop(drive, await makeProvider(options.provider, { dir, env: app.env }));
  });
}

/** Puts an answer where the manual provider looks for it. */
async function takeAnswer(store: Store, run: RunRecord, file: string, ctx: ServiceContext): Promise<void> {
  const step = await store.openStep(run.id);
  if (step?.kind !== 'chat' || step.state !== 'parked')
    throw new AppFailure(
      err('usage', `Run ${run.id} does not wait for an answer.`, {
        remedy:
          step?.kind === 'job' ? 'It waits for a bundle: resume it without --answer.' : 'Resume it without --answer.',
      }).error,
    );
  const given = await giveAnswer(chatFolder(store, run.id), step.position, await readSource(file, ctx));
  if (!given.ok) throw new AppFailure(given.error);
}
