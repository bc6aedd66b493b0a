import { deriveSeed } from '../../base/random.ts';
import type { Incident, Problem, SanitizePlan, SanitizeResult } from '../../contract/index.ts';
import { CandidateFault, EnvironmentFault } from './classify.ts';
import { repeatUnderLoad } from './races.ts';
import { type Runner, startRunner } from './runner.ts';
import { type Scope, Stopped } from './scope.ts';
import { LOG_CAP, readCapped } from './tool.ts';
import { failOnCudaError } from './verify.ts';

type Tool = SanitizePlan['tools'][number];
type Run = SanitizeResult['runs'][number];

/** Exit code asked of the sanitizer when it found errors. */
const ERROR_EXIT = 99;
/** A sanitized call takes up to some hundred times as long as a plain one. */
const CALL_MS = 90_000;
const EXIT_MS = 20_000;

export const emptySanitize = (): SanitizeResult => ({ mode: 'sanitize', runs: [], incidents: [] });

/**
 * Repeated calls under load first, which need no tool, then the tools. What keeps one from working does not keep the other: the first
 * fault is thrown when both had their turn.
 */
export async function sanitize(plan: SanitizePlan, scope: Scope, out: SanitizeResult): Promise<void> {
  const faults: unknown[] = [];
  for (const part of [repeatUnderLoad, runTools]) {
    try {
      await part(plan, scope, out);
    } catch (fault) {
      if (!(fault instanceof EnvironmentFault)) throw fault;
      faults.push(fault);
    }
  }
  if (faults.length > 0) throw faults[0];
}

/**
 * Runs each problem once under each tool of compute-sanitizer, each in its own process, on allocations of exactly the buffers' sizes without
 * guards or poison. A run that takes too long counts as neither clean nor faulty (errors = null).
 */
async function runTools(plan: SanitizePlan, scope: Scope, out: SanitizeResult): Promise<void> {
  if (plan.tools.length === 0) return;
  const { sanitizer } = scope.ctx.tools;
  if (!sanitizer)
    throw new EnvironmentFault(
      'env.sanitizer-missing',
      'compute-sanitizer was not found.',
      'It comes with the CUDA toolkit (package cuda-sanitizer).',
    );
  const total = plan.tools.length * plan.problems.length;
  const runTool = async (tool: Tool): Promise<SanitizeResult> => {
    const own = emptySanitize();
    for (const problem of plan.problems) {
      scope.ctx.progress(`sanitize ${++started}/${total} ${tool} ${problem.id}`);
      await sanitizeOne(plan, scope, sanitizer, tool, problem, own);
    }
    return own;
  };
  // Nothing is timed here, and most of a run is the tool's start on the host: the tools run beside each other.
  let started = 0;
  const ended = await Promise.allSettled(plan.tools.map(runTool));
  for (const tool of ended) {
    if (tool.status === 'rejected') continue;
    out.runs.push(...tool.value.runs);
    out.incidents.push(...tool.value.incidents);
  }
  const refused = ended.find((tool) => tool.status === 'rejected');
  if (refused) throw refused.reason;
}

/**
 * What memcheck says of one call that broke the context: the first report, with kernel and line; null: there is no sanitizer here, or it found
 * nothing. Only an explanation: no fault of the tool counts. Throws Stopped.
 */
export async function explainFault(
  of: Pick<SanitizePlan, 'runner' | 'judge' | 'shim' | 'arm'>,
  problem: Problem,
  scope: Scope,
): Promise<string | null> {
  const { sanitizer } = scope.ctx.tools;
  if (!sanitizer) return null;
  const { runner, judge, shim, arm } = of;
  const plan: SanitizePlan = { mode: 'sanitize', runner, judge, shim, arm, tools: ['memcheck'], problems: [problem] };
  const own = emptySanitize();
  scope.ctx.progress(`memcheck ${problem.id}: where the access is`);
  try {
    await sanitizeOne(plan, scope, sanitizer, 'memcheck', problem, own);
  } catch (fault) {
    if (fault instanceof EnvironmentFault) return null;
    throw fault;
  }
  const found = own.incidents.find(({ kind }) => kind === 'sanitizer');
  return found ? `compute-sanitizer, ${found.message}\n${found.detail ?? ''}`.trim() : null;
}

async function sanitizeOne(
  plan: SanitizePlan,
  scope: Scope,
  sanitizer: string,
  tool: Tool,
  problem: Problem,
  out: SanitizeResult,
): Promise<void> {
  const logFile = scope.newFile('san');
  const before = [sanitizer, '--tool', tool, ...toolArgs(tool), '--error-exitcode', String(ERROR_EXIT)];
  const arm = plan.arm.id;
  let fault: unknown = null;
  let exitCode: number | null = null;
  try {
    const runner = await startRunner(scope, plan, {
      before: [...before, '--log-file', logFile],
      limits: { callMs: CALL_MS, setupMs: CALL_MS },
    });
    try {
      exitCode = await callOnce(plan, scope, runner, tool, problem);
    } catch (cause) {
      fault = await runner.faultOf(cause, { arm, problem: problem.id });
    }
  } catch (cause) {
    fault = cause;
  }
  if (fault instanceof Stopped) throw fault;
  const log = await readCapped(scope, logFile, LOG_CAP);
  await scope.remove(logFile);
  const run: Run = { tool, problem: problem.id, exitCode, errors: countErrors(log), log };
  out.runs.push(run);
  const incident = judgeRun(run, fault, arm);
  if (incident) out.incidents.push(incident);
}

/** Exact allocations, one call; then the process ends by itself, so that the tool can write its summary even after an error. */
async function callOnce(
  plan: SanitizePlan,
  scope: Scope,
  runner: Runner,
  tool: Tool,
  problem: Problem,
): Promise<number | null> {
  await runner.load(plan.arm);
  await runner.problem(problem, 'exact');
  await runner.prepare(deriveSeed(scope.ctx.seed, 'sanitize', tool, problem.id), 'none');
  const reply = await runner.call(plan.arm.id, 'plain');
  const exit = await runner.quit(EXIT_MS);
  failOnCudaError(reply, { arm: plan.arm.id, problem: problem.id });
  return exit?.exitCode ?? null;
}

/** API errors are left out: the runner reports those of the candidate itself, and probing with a call that may fail is legal. */
const toolArgs = (tool: Tool): string[] => (tool === 'memcheck' ? ['--report-api-errors', 'no'] : []);

/**
 * Number of errors in a log's summary line, e.g. "========= ERROR SUMMARY: 2 errors" or
 * "========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)"; null without a summary.
 */
export function countErrors(log: string): number | null {
  const summaries = [...log.matchAll(/SUMMARY:\s*(\d+)\s+(?:errors?|hazards?)[^(\n]*(?:\((\d+)\s+errors?)?/g)];
  const last = summaries.at(-1);
  return last ? Number(last[2] ?? last[1]) : null;
}

/** The incident a run amounts to, if any. Throws EnvironmentFault when the tool itself could not work. */
function judgeRun(run: Run, fault: unknown, arm: string): Incident | null {
  if (run.errors !== null && run.errors > 0)
    return {
      kind: 'sanitizer',
      arm,
      problem: run.problem,
      message: `${run.tool}: ${run.errors} error${run.errors === 1 ? '' : 's'}`,
      detail: firstReport(run.log),
    };
  if (fault instanceof CandidateFault) return fault.incident.kind === 'timeout' ? null : fault.incident;
  if (fault instanceof EnvironmentFault && run.log.trim() !== '')
    throw new EnvironmentFault(
      'env.sanitizer-failed',
      `compute-sanitizer could not run: ${lastLine(run.log)}`,
      'Check that the toolkit fits the driver ("cudamaster doctor").',
    );
  if (fault !== null) throw fault;
  if (run.errors === null)
    throw new EnvironmentFault(
      'env.sanitizer-failed',
      `compute-sanitizer (${run.tool}) gave no summary: ${lastLine(run.log) || 'its log is empty'}`,
      'Check that the toolkit fits the driver ("cudamaster doctor").',
    );
  return null;
}

/** First report of a log: its lines up to the next empty report line, without the tool's margin. */
function firstReport(log: string): string {
  const lines = log.split('\n').map((line) => line.replace(/^=+\s?/, ''));
  const start = lines.findIndex((line) => /^(Invalid|Uninitialized|Error|Barrier|Race|Misaligned|Warning)/.test(line));
  if (start < 0) return lines.slice(0, 20).join('\n');
  const end = lines.findIndex((line, i) => i > start && line.trim() === '');
  return lines.slice(start, Math.min(end < 0 ? lines.length : end, start + 30)).join('\n');
}

const lastLine = (log: string): string =>
  log
    .split('\n')
    .map((line) => line.replace(/^=+\s?/, '').trim())
    .filter((line) => line !== '')
    .at(-1) ?? '';
