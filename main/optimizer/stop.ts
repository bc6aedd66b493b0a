import {
  type AppError,
  AppFailure,
  type ErrorCode,
  errorCodes,
  type JobResult,
  type Waiting,
} from '../contract/index.ts';

/** Unwinds the loop. Nothing is lost: the history holds all finished steps, a later drive goes on from there. */
export class Stop extends Error {
  readonly status: 'parked' | 'paused' | 'failed' | 'cancelled';
  readonly error: AppError | null;
  readonly waiting: Waiting | null;

  constructor(status: Stop['status'], error: AppError | null, waiting: Waiting | null = null) {
    super(error?.message ?? status);
    this.name = 'Stop';
    this.status = status;
    this.error = error;
    this.waiting = waiting;
  }
}

export const failed = (error: AppError): Stop =>
  error.code === 'cancelled' ? new Stop('cancelled', error) : new Stop('failed', error);

export const cancelled = (): Stop =>
  new Stop('cancelled', {
    code: 'cancelled',
    message: 'The run was cancelled.',
    remedy: 'Resume it to go on from here.',
  });

/** Anything thrown as the Stop it means. A fault that is no AppFailure is a bug of ours and says so. */
export function toStop(fault: unknown): Stop {
  if (fault instanceof Stop) return fault;
  if (fault instanceof AppFailure) return failed(fault.error);
  const text = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
  return failed({ code: 'internal', message: 'The optimization stopped by a fault of the program.', detail: text });
}

const isCode = (code: string): code is ErrorCode => (errorCodes as readonly string[]).includes(code);

/**
 * Why a job gave no verdict on the candidate: the first step that its environment kept from running. `again`: a resume can measure once
 * more; a recording cannot.
 */
export function environmentError(result: JobResult, reason: string, again: boolean): AppError {
  const steps = result.steps.filter((s) => s.reason !== undefined);
  const step = steps.find((s) => s.status === 'environment') ?? steps[0];
  const why = step?.reason;
  const code = why !== undefined && isCode(why.code) ? why.code : 'env.killed';
  return {
    code,
    message: why?.message ?? reason,
    remedy: again
      ? (why?.remedy ?? 'Mend the cause and resume the run: the evaluation is done again, nothing else is.')
      : 'A recording holds this one measurement, and this program finds no verdict in it: measure in a run, and record that.',
    detail: [step === undefined ? '' : `step ${step.id}`, reason, step?.stderr.slice(-2000) ?? '']
      .filter((t) => t !== '')
      .join('\n'),
  };
}
