import { basename, join } from 'node:path';
import { z } from 'zod';
import { checkArguments, defaultArguments } from '../agents/index.ts';
import { readInput } from '../base/input.ts';
import { newRootSeed } from '../base/random.ts';
import {
  type AgentModels,
  type AgentName,
  AppFailure,
  type Dtype,
  type Effort,
  err,
  jobSchema,
  type ProfileMode,
  type RemoteDisclosure,
  type RunConfig,
  runConfigSchema,
  type SizeSet,
} from '../contract/index.ts';
import { giveAnswer } from '../llm/index.ts';
import type { NewRun, RunRecord, Store } from '../store/index.ts';
import { askUser, type Decided, type Decision, decide } from './approval.ts';
import { type Agreement, disclosures, requireConsent } from './consent.ts';
import { type AppContext, historyFolder, runConfig, runFolder, settingsOf, taskParts, withStore } from './context.ts';
import { type Candidate, driveEvaluation, driveLoop } from './drive.ts';
import type { EvaluationReport, RunReport, ServiceContext } from './events.ts';
import { whenIdle } from './idle.ts';
import type { RunPlace } from './machine.ts';
import {
  agentChoicesSchema,
  allChoices,
  askContext,
  checkKeys,
  checkMoneyLimit,
  chooseProviders,
  confined,
  isPaid,
  makeProvider,
  type ProviderChoices,
  type ProviderRequest,
  providerChoiceSchema,
  remoteHost,
} from './providers.ts';
import { resumeReplay } from './replay.ts';
import { reportOf, writeSources } from './report.ts';
import type { Settings } from './settings.ts';
import { startVersion } from './start.ts';
import { fullId } from './versions.ts';

/** What is kept with a run beside its configuration, for a resume. */
const runOptionsSchema = z.object({
  provider: providerChoiceSchema.nullable().default(null),
  /** Agents that ask elsewhere. */
  agents: agentChoicesSchema.default({}),
  candidate: z
    .object({ label: z.string(), source: z.string(), compileArgs: z.array(z.string()) })
    .nullable()
    .default(null),
  /** UUID of the GPU that was asked for. */
  gpu: z.string().nullable().default(null),
  /** The version that the first candidate was made from. */
  parent: z.string().nullable().default(null),
});
type RunOptions = z.infer<typeof runOptionsSchema>;

export interface OptimizeParams extends Agreement {
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
  /** Agents that ask another model, or another provider. */
  readonly agents?: Readonly<Partial<Record<AgentName, ProviderRequest | undefined>>>;
  readonly effort?: Effort;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
  readonly maxUsd?: number;
  readonly maxTokens?: number;
  readonly maxMinutes?: number;
  readonly notes?: string;
  readonly contextTokens?: number;
  /** Path of a source with which round 1 starts. */
  readonly startFrom?: string;
  /** A version of the history with which round 1 starts; the rounds asked for follow it. */
  readonly from?: string;
  /** Each scheme waits for the user before anything is paid for it. */
  readonly approve?: boolean;
  /** UUID of the GPU; default: the settings', else the first that fits. */
  readonly gpu?: string;
}

export interface EvaluateParams {
  readonly kind: 'evaluate' | 'profile';
  readonly task: string;
  readonly dtype: Dtype;
  /** Path of the candidate; absent: the origin (profile only). */
  readonly source?: string;
  /** The candidate itself instead of its path, with the name it is kept under. */
  readonly text?: { readonly label: string; readonly source: string };
  /** The version it was edited from. */
  readonly parent?: string;
  readonly gpu?: string;
  readonly compileArgs?: readonly string[];
  readonly profile?: ProfileMode;
  readonly sizeSet?: SizeSet;
  readonly executor: 'local' | 'bundle';
  readonly arch?: string;
}

export interface ResumeParams extends Agreement {
  readonly run: string;
  /** Path of an answer to the prompt that the run waits for. */
  readonly answer?: string;
  /** The answer itself. */
  readonly answerText?: string;
  /** What the user says to the scheme that the run waits with. */
  readonly decision?: Decision;
  /** The same in single words; `scheme`: path of another text of it, which is approved. */
  readonly approve?: boolean;
  readonly scheme?: string;
  readonly reject?: boolean;
  readonly maxUsd?: number;
  readonly maxTokens?: number;
  readonly maxMinutes?: number;
  /** Context length of the model, tokens: a server may have named it only when it refused a prompt. */
  readonly contextTokens?: number;
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

/** Where prompts of these choices go, and whether the user agreed. */
const remoteOf = (choices: ProviderChoices, settings: Settings): RemoteDisclosure[] =>
  disclosures(
    allChoices(choices).flatMap((choice) => {
      const host = remoteHost(choice);
      return host === null ? [] : [{ host, model: choice.model }];
    }),
    settings,
  );

/** Models of the agents that differ from the run's, for its configuration. */
const agentModels = ({ agents }: ProviderChoices): AgentModels | undefined => {
  const own = Object.entries(agents).map(([agent, { name, model }]) => [agent, { provider: name, model }]);
  return own.length === 0 ? undefined : Object.fromEntries(own);
};

const onGpu = (settings: Settings, gpu: string | null | undefined): Settings =>
  gpu ? { ...settings, tools: { ...settings.tools, gpuUuid: gpu } } : settings;

const placeOf = (app: AppContext, store: Store, id: string): RunPlace => ({
  bundles: join(runFolder(store, id), 'bundles'),
  resumeCommand: `cudamaster resume ${id}`,
  programVersion: app.version,
});
const chatFolder = (store: Store, id: string): string => join(runFolder(store, id), 'chat');

/** As the API has it. */
const notesLimit = 20_000;

/** Parameters that go into the configuration as they are. */
const optimizeSettings = [
  'rounds',
  'debugAttempts',
  'profile',
  'sizeSet',
  'arch',
  'maxUsd',
  'maxTokens',
  'maxMinutes',
  'notes',
  'effort',
  'approve',
] as const;

function checkNotes(notes = ''): void {
  if (notes.length <= notesLimit) return;
  throw new AppFailure(
    err('usage', `Notes have at most ${notesLimit} characters; these have ${notes.length}.`, {
      remedy: 'They stand in every prompt of the Planner: keep to what it must know.',
    }).error,
  );
}

/** The version that round 1 starts from, by its whole id, and what it holds. */
async function startOf(params: OptimizeParams, ctx: ServiceContext) {
  const { from } = params;
  if (from === undefined) return [undefined, null] as const;
  return withStore(ctx, historyFolder(), async (store) => {
    const id = await fullId(store, from);
    return [id, await startVersion(store, id, params)] as const;
  });
}

/** A new optimization. Throws AppFailure before anything is written when input, tools or provider are not usable. */
export async function optimizeTask(app: AppContext, params: OptimizeParams, ctx: ServiceContext): Promise<RunReport> {
  const settings = await settingsOf();
  const parts = taskParts(app, params.task, params.dtype);
  const choices = chooseProviders(params, settings, params.localOnly === true || settings.localOnly);
  await checkMoneyLimit(choices, params.maxUsd ?? null);
  checkKeys(choices, app.env);
  const source = params.startFrom === undefined ? undefined : await readSource(params.startFrom, ctx);
  const { task, dtype, executor } = params;
  const given: Record<string, unknown> = Object.fromEntries(
    optimizeSettings.filter((k) => params[k] !== undefined).map((k) => [k, params[k]]),
  );
  const [from, version] = await startOf(params, ctx);
  const startFromWrong =
    version ??
    (source === undefined ? undefined : { label: basename(params.startFrom ?? ''), source, compileArgs: [] });
  // The given version takes the first round; the Planner gets as many as were asked for.
  if (version) given.rounds = Math.min(50, Number(given.rounds ?? 3) + 1);
  checkNotes(params.notes);
  const config = checkedConfig(
    runConfig({
      task,
      dtype,
      executor,
      ...given,
      provider: choices.main.name,
      model: choices.main.model,
      models: agentModels(choices),
      contextTokens: params.contextTokens,
      startFromWrong,
    }),
  );
  const place = await app.openPlace(executor, onGpu(settings, params.gpu), ctx.signal);
  // Before the first word to a remote server, the question for its context length included.
  await requireConsent(ctx, settings, remoteOf(choices, settings), params);
  config.contextTokens ??= (await askContext(choices, app.env)) ?? undefined;
  return withStore(ctx, historyFolder(), async (store) => {
    const fresh = newRun(
      app,
      'optimize',
      config,
      parts,
      {
        provider: choices.main,
        agents: choices.agents,
        candidate: null,
        gpu: params.gpu ?? null,
        parent: from ?? null,
      },
      place.environment,
    );
    const driven = await store.begin(fresh);
    const run = await store.find(driven.id);
    const { effort } = run.config;
    const model = await makeProvider(choices, { dir: chatFolder(store, run.id), env: app.env, effort });
    const jobs = place.executor(placeOf(app, store, run.id));
    const approval = askUser(store, run.id, null);
    return driveLoop(
      { app, store, driven, run, parts, executor: jobs, ctx, after: 0, measures: true, approval },
      model,
    );
  });
}

function newRun(
  app: AppContext,
  kind: NewRun['kind'],
  config: RunConfig,
  parts: { originHash: string; taskHash: string },
  options: RunOptions,
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

async function candidateOf(params: EvaluateParams, ctx: ServiceContext): Promise<Candidate | null> {
  const compileArgs = () => compileArgsOf(params.compileArgs);
  if (params.text !== undefined) return { ...params.text, compileArgs: compileArgs() };
  if (params.source === undefined) return null;
  const source = await readSource(params.source, ctx);
  return { label: basename(params.source), source, compileArgs: compileArgs() };
}

/** Evaluates a candidate, or profiles it or the origin. */
export async function evaluateSource(
  app: AppContext,
  params: EvaluateParams,
  ctx: ServiceContext,
): Promise<EvaluationReport> {
  const settings = await settingsOf();
  const parts = taskParts(app, params.task, params.dtype);
  const candidate = await candidateOf(params, ctx);
  const { parent } = params;
  // Named before it is kept: a lineage must not lead nowhere.
  if (parent !== undefined) await withStore(ctx, historyFolder(), (store) => store.version(parent));
  const { task, dtype, executor, profile = 'filtered', sizeSet = 'published', arch = 'native' } = params;
  const config = checkedConfig(
    runConfig({ task, dtype, executor, profile, sizeSet, arch, rounds: 1, debugAttempts: 0 }),
  );
  const place = await app.openPlace(executor, onGpu(settings, params.gpu), ctx.signal);
  return withStore(ctx, historyFolder(), async (store) => {
    const stored = candidate && { ...candidate, compileArgs: [...candidate.compileArgs] };
    const fresh = newRun(
      app,
      params.kind,
      config,
      parts,
      { provider: null, agents: {}, candidate: stored, gpu: params.gpu ?? null, parent: parent ?? null },
      place.environment,
    );
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
    if (found.status === 'done') {
      // What the user says to a run that waits for nothing must not be dropped in silence.
      if (params.answer !== undefined || params.answerText !== undefined) await takeAnswer(store, found, '');
      await decisionOf(store, found, params, ctx);
      return finished(store, found.id);
    }
    if (found.kind === 'demo' || found.kind === 'replay')
      return resumeReplay(app, store, found, ctx, await decisionOf(store, found, params, ctx));
    if (params.answer !== undefined) await takeAnswer(store, found, await readSource(params.answer, ctx));
    if (params.answerText !== undefined) await takeAnswer(store, found, params.answerText);
    const decided = await decisionOf(store, found, params, ctx);
    const options = runOptionsSchema.parse(found.options);
    const settings = await settingsOf();
    const limits = Object.fromEntries(
      (['maxUsd', 'maxTokens', 'maxMinutes', 'contextTokens'] as const)
        .filter((k) => params[k] !== undefined)
        .map((k) => [k, params[k]]),
    );
    const config = checkedConfig({ ...found.config, ...limits });
    const parts = taskParts(app, config.task, config.dtype);
    const choices =
      options.provider && confined({ main: options.provider, agents: options.agents }, settings.localOnly);
    if (choices) {
      await checkMoneyLimit(choices, config.maxUsd);
      checkKeys(choices, app.env);
      await requireConsent(ctx, settings, remoteOf(choices, settings), params);
    }
    const place = await app.openPlace(
      config.executor === 'bundle' ? 'bundle' : 'local',
      onGpu(settings, options.gpu),
      ctx.signal,
    );
    const driven = await store.resume(found, place.environment, isPaid(choices));
    if (Object.keys(limits).length > 0) await store.configure(found.id, config);
    const run = await store.find(found.id);
    const jobs = place.executor(placeOf(app, store, run.id));
    const executor = place.gpu ? whenIdle(jobs, place.gpu, driven.report.left, run.id) : jobs;
    const after = (await store.events(run.id)).findLast((e) => e.type === 'resumed')?.seq ?? 1;
    const drive = {
      app,
      store,
      driven,
      run,
      parts,
      executor,
      ctx,
      after: after - 1,
      measures: true,
      approval: askUser(store, run.id, decided),
    };
    if (run.kind !== 'optimize') return driveEvaluation(drive, options.candidate);
    if (!choices)
      throw new AppFailure(err('internal', `Run ${run.id} does not say where its answers come from.`).error);
    const dir = chatFolder(store, run.id);
    return driveLoop(drive, await makeProvider(choices, { dir, env: app.env, effort: run.config.effort }));
  });
}

/** A run may have ended between its last event and the writing of its sources: they are written again. */
async function finished(store: Store, id: string): Promise<RunReport> {
  const report = await reportOf(store, id);
  await writeSources(report);
  return report;
}

async function decisionOf(
  store: Store,
  run: RunRecord,
  params: ResumeParams,
  ctx: ServiceContext,
): Promise<Decided | null> {
  const { decision, scheme: file, approve, reject } = params;
  if (decision !== undefined) return decide(store, run, decision);
  if (reject === true) return decide(store, run, { verdict: 'reject' });
  if (file !== undefined) return decide(store, run, { verdict: 'approve', scheme: await readSource(file, ctx) });
  return approve === true ? decide(store, run, { verdict: 'approve' }) : null;
}

/** Puts an answer where the manual provider looks for it. */
async function takeAnswer(store: Store, run: RunRecord, text: string): Promise<void> {
  const step = await store.openStep(run.id);
  if (step?.kind !== 'chat' || step.state !== 'parked')
    throw new AppFailure(
      err('usage', `Run ${run.id} does not wait for an answer.`, {
        remedy:
          step?.kind === 'job' ? 'It waits for a bundle: resume it without --answer.' : 'Resume it without --answer.',
      }).error,
    );
  const given = await giveAnswer(chatFolder(store, run.id), step.position, text);
  if (!given.ok) throw new AppFailure(given.error);
}
