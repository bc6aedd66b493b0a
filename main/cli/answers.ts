import type { AppEvent, EvaluationReport, RunReport, ServiceContext, StoredEvent } from '../app/index.ts';
import {
  type AppError,
  type Evaluation,
  exitCodeOf,
  isValidOutcome,
  type Result,
  reported,
} from '../contract/index.ts';
import type { Host } from '../host/index.ts';
import type { Printer } from './output.ts';
import { showEvent } from './progress.ts';
import { evaluationLines, runLines } from './report.ts';

/** What a command has of the world around it. */
export interface Session {
  readonly host: Host;
  readonly printer: Printer;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** JSON Lines: durable events and progress as they come; tokens are left out, and figures of first samples. */
function jsonEvent(printer: Printer, event: AppEvent): void {
  if (event.type === 'event') printer.json({ type: 'event', run: event.run, event: withReported(event.event) });
  else if (event.type !== 'transient') printer.json(event);
  else if (event.event.type === 'progress') printer.json({ run: event.run, ...event.event });
}

function withReported(event: StoredEvent): StoredEvent {
  if (event.type === 'remeasured') {
    const best = event.best && { ...event.best, evaluation: reported(event.best.evaluation) };
    return { ...event, origin: reported(event.origin), best };
  }
  return 'evaluation' in event ? { ...event, evaluation: reported(event.evaluation) } : event;
}

export function contextOf({ json, printer, signal }: Session): ServiceContext {
  return { signal, emit: (event) => (json ? jsonEvent(printer, event) : showEvent(printer, event)) };
}

/** Prints an answer as its last line (--json) or as text; gives back the exit code. */
export function answer<T>(
  session: Session,
  result: Result<T>,
  value: (v: T) => unknown,
  lines: (v: T) => string[],
  exit: (v: T) => number,
): number {
  const { json, printer } = session;
  printer.status('');
  if (!result.ok) {
    if (json) printer.json({ ok: false, error: result.error });
    else printer.error(result.error);
    return exitCodeOf(result.error.code);
  }
  if (json) printer.json(value(result.value));
  else for (const line of lines(result.value)) printer.out(line);
  return exit(result.value);
}

/** Why a run ended as it did, as an error; null = it is done. */
export function errorOfRun(report: RunReport): AppError | null {
  if (report.status === 'done') return null;
  if (report.waiting) return { code: 'parked', message: report.waiting.how };
  if (report.error) return report.error;
  if (report.status === 'cancelled') return { code: 'cancelled', message: 'The run was cancelled.' };
  return null;
}

/** A single evaluation that was resumed tells acceptance like `eval` does. */
function exitOfRun(report: RunReport): number {
  if (report.kind === 'evaluate' || report.kind === 'profile') return exitOfEvaluation(report);
  const error = errorOfRun(report);
  return error ? exitCodeOf(error.code) : 0;
}

export function answerRun(session: Session, result: Result<RunReport>): number {
  const error = result.ok ? errorOfRun(result.value) : null;
  const code = answer(
    session,
    result,
    (r) => r.summary,
    (r) => runLines(r, session.printer.paint),
    exitOfRun,
  );
  // On stderr in both modes: with --json the summary holds it as well.
  if (error && error.code !== 'parked') session.printer.error(error);
  return code;
}

/** 0 accepted or valid; 3 environment; 4 otherwise. */
export function exitOfEvaluation(report: RunReport): number {
  const error = errorOfRun(report);
  if (error) return exitCodeOf(error.code);
  const evaluation = report.state.rounds[0]?.attempts[0]?.evaluation ?? report.state.baseline;
  const outcome: Evaluation['outcome'] | undefined = evaluation?.outcome;
  if (outcome === undefined || outcome === 'environment') return exitCodeOf('env.killed');
  if (outcome === 'accepted' || outcome === 'valid' || report.kind === 'profile')
    return isValidOutcome(outcome) ? 0 : exitCodeOf('candidate.rejected');
  return exitCodeOf(isValidOutcome(outcome) ? 'candidate.not-accepted' : 'candidate.rejected');
}

export function answerEvaluation(session: Session, result: Result<EvaluationReport>): number {
  const { paint } = session.printer;
  // Parked or failed before there was an evaluation: the summary says where it stands.
  const code = answer(
    session,
    result,
    (r) => (r.evaluation ? reported(r.evaluation) : r.summary),
    (r) => evaluationLines(r, paint),
    exitOfEvaluation,
  );
  const error = result.ok ? errorOfRun(result.value) : null;
  if (error && error.code !== 'parked') session.printer.error(error);
  return code;
}
