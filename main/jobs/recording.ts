import {
  AppFailure,
  type ExecuteOptions,
  type ExecuteOutcome,
  type Executor,
  type JobBundle,
  type JobResult,
  type Recording,
} from '../contract/index.ts';
import { requestHash } from './bundle-hash.ts';

export interface ReplayChange {
  readonly position: string;
  /** One sentence: what differs from the time of the recording. */
  readonly what: string;
}

export interface RecordingSettings {
  /** true: a request that differs from the recorded one fails with `replay.diverged` instead of being reported. */
  readonly strict?: boolean;
  /** Told once per position whose request differs. */
  readonly onChange?: (change: ReplayChange) => void;
}

/**
 * Answers jobs from a recording, by position. Runs nothing. A request that the present program would make otherwise is answered all
 * the same and reported; only a position that was never recorded cannot be answered.
 * Throws AppFailure `replay.diverged` (no such position, or strict), `cancelled`.
 */
export class RecordingExecutor implements Executor {
  readonly name = 'recording' as const;
  private readonly settings: RecordingSettings;
  private readonly answers = new Map<string, { requestHash: string; result: JobResult }>();

  constructor(recording: Recording, settings: RecordingSettings = {}) {
    this.settings = settings;
    for (const { position, requestHash, response } of recording.steps)
      if (response.kind === 'job') this.answers.set(position, { requestHash, result: response.result });
  }

  async execute(bundle: JobBundle, options: ExecuteOptions): Promise<ExecuteOutcome> {
    if (options.signal?.aborted) throw new AppFailure({ code: 'cancelled', message: 'Cancelled.' });
    const { position, onProgress } = options;
    const answer = this.answers.get(position);
    if (!answer)
      throw diverged(
        `The recording has no job at ${position}: the run takes another course than the recorded one.`,
        `It has jobs at ${[...this.answers.keys()].join(', ') || 'no position'}.`,
      );
    const now = requestHash({ kind: 'job', job: bundle.job });
    if (now !== answer.requestHash) {
      const what = `the job "${bundle.job.label}" is not the one recorded: ${differences(bundle, answer.result)}`;
      if (this.settings.strict) throw diverged(`At ${position} ${what}.`, `${now} instead of ${answer.requestHash}`);
      this.settings.onChange?.({ position, what });
    }
    answer.result.steps.forEach((step, index, all) => {
      onProgress?.({ step: step.id, index, count: all.length, note: 'recorded' });
    });
    return { kind: 'done', result: answer.result };
  }
}

const diverged = (message: string, detail: string): AppFailure =>
  new AppFailure({
    code: 'replay.diverged',
    message,
    remedy: 'Replay without --strict, or with the program version that made the recording.',
    detail,
  });

/** What can be told from the recorded result: its steps. Everything else differs in contents or arguments. */
function differences(bundle: JobBundle, result: JobResult): string {
  const now = bundle.job.steps.map((step) => step.id);
  const then = result.steps.map((step) => step.id);
  const added = now.filter((id) => !then.includes(id));
  const gone = then.filter((id) => !now.includes(id));
  const parts = [];
  if (added.length > 0) parts.push(`new steps ${added.join(', ')}`);
  if (gone.length > 0) parts.push(`steps gone ${gone.join(', ')}`);
  return parts.length > 0 ? parts.join('; ') : 'same steps, other files or arguments';
}
