import { join } from 'node:path';
import { loadPrompts } from '../agents/index.ts';
import {
  type ChatProvider,
  type Evaluation,
  type Executor,
  err,
  type RunEvent,
  type RunLog,
  resultFigures,
  unwrap,
} from '../contract/index.ts';
import { reportName } from '../jobs/report.ts';
import {
  externCAdded,
  type LoopConfig,
  type LoopDeps,
  labelOf,
  measureBaseline,
  optimize,
  Steps,
  toStop,
} from '../optimizer/index.ts';
import type { DrivenRun, RunLogStore, RunRecord, Store } from '../store/index.ts';
import type { ApprovalPort } from './approval.ts';
import { type AppContext, evaluatorOf, loopConfig, reportFolder, runFolder, type TaskParts } from './context.ts';
import type { EvaluationReport, RunReport, ServiceContext } from './events.ts';
import { environmentOf } from './machine.ts';
import { reportOf, writeSources } from './report.ts';

/** A run under way in this process. */
export interface Drive {
  readonly app: AppContext;
  readonly store: Store;
  readonly driven: DrivenRun;
  readonly run: RunRecord;
  readonly parts: TaskParts;
  readonly executor: Executor;
  readonly ctx: ServiceContext;
  /** Durable events up to this one are not told again. */
  readonly after: number;
  /** false: results come from a recording, and say nothing about a machine. */
  readonly measures: boolean;
  /** Replay: steps before which the recorded run measured origin and best again. */
  readonly remeasured?: ReadonlySet<string>;
  /** Sees every durable event before it is stored; may throw. */
  readonly watch?: (event: RunEvent) => void;
  /** Who approves schemes. */
  readonly approval?: ApprovalPort;
}

/** Runs `work` while telling the run's events, then gives the lease back and reports how the run stands. */
async function telling(drive: Drive, work: () => Promise<unknown>): Promise<RunReport> {
  const { store, driven, run, ctx } = drive;
  const id = driven.id;
  ctx.emit({ type: 'run', run: id, kind: run.kind, task: run.config.task, folder: runFolder(store, id) });
  const subscription = store.subscribe(
    id,
    drive.after,
    (event) => ctx.emit({ type: 'event', run: id, event }),
    (event) => ctx.emit({ type: 'transient', run: id, event }),
  );
  try {
    await work();
  } finally {
    try {
      await driven.release();
      subscription.look();
      await subscription.settled;
    } finally {
      // Where the lease could not be given back (full disk), nothing would end it.
      await subscription.close();
    }
  }
  const report = await reportOf(store, id);
  await writeSources(report);
  await store.collectIfDue();
  return report;
}

/**
 * Notes on which machine each job ran: after a change, origin and best are measured again before the next step. Reports of Nsight
 * Compute go to the folder `reports`.
 */
function noting(executor: Executor, log: RunLogStore, reports: string): Executor {
  return {
    name: executor.name,
    discard: async (bundle, options) => executor.discard?.(bundle, options),
    async execute(bundle, options) {
      const reportFile = join(reports, reportName(options.position));
      const outcome = await executor.execute(bundle, { ...options, reportFile });
      if (outcome.kind !== 'done') return outcome;
      const { machine } = outcome.result;
      const changes = await log.noteEnvironment(environmentOf(machine));
      if (changes.length > 0 && !knowsMachineBefore(executor))
        await log.event(`machine:${options.position}`, {
          type: 'changed',
          position: options.position,
          what: `${changes.join('; ')}. This job measured origin and best on the same machine as the candidate.`,
        });
      return outcome;
    },
  };
}

/**
 * Whether the machine is known before a job runs, so that a change can be answered by measuring origin and best first. A bundle may run
 * anywhere each time; its job holds origin, best and candidate together, so nothing is compared across machines there either.
 */
const knowsMachineBefore = (executor: Executor): boolean => executor.name === 'local';

/** The log, with somebody looking on. */
const watched = (log: RunLog, watch: (event: RunEvent) => void): RunLog => ({
  step: (position, request, execute) => log.step(position, request, execute),
  event: async (key, event) => {
    watch(event);
    await log.event(key, event);
  },
  forget: (position) => log.forget(position),
  transient: (event) => log.transient(event),
});

async function depsOf(drive: Drive, provider: ChatProvider): Promise<LoopDeps> {
  const { app, store, driven, run, parts, ctx } = drive;
  const { log } = driven;
  return {
    log: drive.watch === undefined ? log : watched(log, drive.watch),
    provider,
    executor: drive.measures ? noting(drive.executor, log, reportFolder(store, run.id)) : drive.executor,
    evaluator: evaluatorOf(run, parts),
    prompts: unwrap(await loadPrompts(join(app.root, 'prompts'))),
    signal: ctx.signal,
    shouldPause: ctx.shouldPause,
    approval: drive.approval,
    onProcess: (position, { pid, startTime }) => log.processStarted(position, pid, startTime),
    remeasureBefore: (position) => {
      if (drive.remeasured?.has(position)) return 'The recorded run had moved to another machine';
      return drive.measures && knowsMachineBefore(drive.executor) ? log.remeasureBefore(position) : null;
    },
    unanswered: await store.unanswered(run.id),
    drive: `d${run.resumes}`,
  };
}

/** Drives the optimization loop. */
export function driveLoop(drive: Drive, provider: ChatProvider): Promise<RunReport> {
  return telling(drive, async () => {
    await noteOtherSources(drive);
    await optimize(loopConfig(drive.app, drive.run, drive.parts), await depsOf(drive, provider));
  });
}

/** The task on disk may have changed since the run began: what was measured belongs to the old one. */
async function noteOtherSources(drive: Drive): Promise<void> {
  const { run, parts, driven } = drive;
  const { task } = parts.task;
  const what = [
    run.originHash === parts.originHash ? '' : 'the original kernel',
    run.taskHash === parts.taskHash ? '' : task.category === 'user' ? 'task.json or reference.h' : 'task.json',
  ].filter((w) => w !== '');
  if (what.length === 0) return;
  await driven.log.event(`task-changed:${parts.originHash}:${parts.taskHash}`, {
    type: 'changed',
    position: 'r0',
    what: `Since the run began, ${what.join(' and ')} changed.`,
  });
}

/** A source to be evaluated or profiled once. */
export interface Candidate {
  readonly label: string;
  readonly source: string;
  readonly compileArgs: readonly string[];
}

const noModel: ChatProvider = {
  name: 'none',
  chat: async () => err('internal', 'An evaluation asks no model.'),
};

/** Evaluates one candidate (or the origin) as a run of one round, so that history, resume and show know it like any other. */
export async function driveEvaluation(drive: Drive, candidate: Candidate | null): Promise<EvaluationReport> {
  const report = await telling(drive, async () => {
    const config = loopConfig(drive.app, drive.run, drive.parts);
    const deps = await depsOf(drive, noModel);
    const steps = new Steps(config, deps);
    const { run, rootSeed, programVersion, origin } = config;
    const linked = async (given: Candidate): Promise<Candidate> => {
      const source = deps.evaluator.linked(given.source);
      if (source === null) return given;
      await steps.notice('r1.a0.source', 103, externCAdded);
      return { ...given, source };
    };
    try {
      await noteOtherSources(drive);
      await steps.event('run-started', {
        type: 'run-started',
        rootSeed,
        config: run,
        originSource: origin.source,
        programVersion,
      });
      if (candidate) await evaluateCandidate(steps, config, await linked(candidate));
      else await measureBaseline(config, steps);
      await steps.event('run-ended.done', { type: 'run-ended', status: 'done', error: null });
    } catch (fault) {
      await steps.stopped(toStop(fault));
    }
  });
  const attempt = report.state.rounds[0]?.attempts[0];
  return { ...report, evaluation: attempt?.evaluation ?? report.state.baseline };
}

async function evaluateCandidate(steps: Steps, config: LoopConfig, candidate: Candidate): Promise<Evaluation> {
  const at = { round: 1, attempt: 0 };
  const { label, source, compileArgs } = candidate;
  await steps.event('r1.started', { type: 'round-started', round: 1 });
  await steps.event('r1.scheme', { type: 'scheme', round: 1, scheme: label, by: 'user' });
  await steps.event('r1.a0.started', { type: 'attempt-started', ...at });
  await steps.event('r1.a0.source', { type: 'source', ...at, source, compileArgs: [...compileArgs] });
  const evaluation = await steps.evaluate('r1.a0.eval', {
    label: labelOf(config, 'r1.a0'),
    candidate: { source, compileArgs },
    best: null,
    tried: 1,
  });
  await steps.event('r1.a0.evaluated', { type: 'evaluated', ...at, evaluation });
  await steps.event('r1.ended', {
    type: 'round-ended',
    round: 1,
    accepted: evaluation.outcome === 'accepted',
    outcome: evaluation.outcome,
    score: resultFigures(evaluation)?.score?.value ?? null,
  });
  return evaluation;
}
