import type { IconName } from './icons.tsx';

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral';
export interface Look {
  readonly label: string;
  readonly tone: Tone;
  readonly icon: IconName;
  /** One sentence: what the word means. */
  readonly meaning: string;
}

const bad = (label: string, meaning: string): Look => ({ label, tone: 'bad', icon: 'cross', meaning });
const environment: Look = {
  label: 'environment',
  tone: 'warn',
  icon: 'warn',
  meaning: 'The machine failed, not the candidate; no model is told of it.',
};

const looks: Readonly<Record<string, Look>> = {
  accepted: { label: 'accepted', tone: 'good', icon: 'check', meaning: 'Verified and confirmed faster: the new best.' },
  'trade-off': {
    label: 'trade-off',
    tone: 'warn',
    icon: 'warn',
    meaning: 'Faster overall, but a size is clearly slower than with the best.',
  },
  'not-faster': {
    label: 'not faster',
    tone: 'neutral',
    icon: 'equal',
    meaning: 'Right, but not faster than the best beyond what noise explains.',
  },
  'screen-rejected': bad('rejected', 'Breaks the rules for candidates; it was not built.'),
  'compile-error': bad('compile error', 'nvcc refused it.'),
  'wrong-result': bad('wrong result', 'Outputs differ from the reference beyond the limit.'),
  'runtime-error': bad('runtime error', 'A CUDA call failed while it ran.'),
  timeout: bad('timeout', 'It did not end within its time limit.'),
  'memory-error': bad('memory error', 'It touched memory that is not its own.'),
  race: bad('race', 'Results depend on the order of threads.'),
  precision: bad('precision', 'Errors as lower precision than the task allows gives them.'),
  cheat: bad('cheat', 'It does its work where the clock does not look, or answers from earlier calls.'),
  interference: bad('interference', 'The original runs slower while this candidate is loaded.'),
  suspect: {
    label: 'suspect',
    tone: 'warn',
    icon: 'warn',
    meaning: 'Faster than the hardware can move the data: not believed.',
  },
  environment,
  valid: { label: 'valid', tone: 'good', icon: 'check', meaning: 'Verified and measured without a comparison.' },
  'not-measured': {
    label: 'not measured',
    tone: 'neutral',
    icon: 'dot',
    meaning: 'Its run ended or stopped before it was measured.',
  },
  'bad-reply': bad('unusable reply', 'The answer of the model could not be used.'),
};

const underway: Look = { label: 'under way', tone: 'info', icon: 'wait', meaning: 'Not judged yet.' };

/** How an outcome looks and reads; null is under way. A word unknown here (a newer engine) is shown as it is. */
export const outcomeLook = (outcome: string | null): Look =>
  outcome === null
    ? underway
    : (looks[outcome] ?? { label: outcome, tone: 'neutral', icon: 'dot', meaning: 'Not known to this screen.' });

/** Outcome of a version as the lists show it: one without any may still get one, or its run is over. */
export const outcomeOf = (row: { readonly outcome: string | null; readonly unmeasured?: true }): string | null =>
  row.outcome ?? (row.unmeasured ? 'not-measured' : null);

const statuses: Readonly<Record<string, Look>> = {
  running: { label: 'running', tone: 'info', icon: 'run', meaning: 'At work.' },
  parked: { label: 'waiting', tone: 'warn', icon: 'wait', meaning: 'Waits for a person or a bundle.' },
  paused: { label: 'paused', tone: 'warn', icon: 'pause', meaning: 'Stopped after a step; resume goes on.' },
  done: { label: 'done', tone: 'good', icon: 'check', meaning: 'Ended as planned.' },
  failed: { label: 'failed', tone: 'bad', icon: 'cross', meaning: 'Ended with an error.' },
  cancelled: { label: 'cancelled', tone: 'neutral', icon: 'stop', meaning: 'Cancelled; what was finished is kept.' },
  interrupted: {
    label: 'interrupted',
    tone: 'warn',
    icon: 'warn',
    meaning: 'Its process is gone; resume repeats at most the open step.',
  },
};

export const statusLook = (status: string): Look =>
  statuses[status] ?? { label: status, tone: 'neutral', icon: 'dot', meaning: 'Not known to this screen.' };

/** "memory-latency bound", with launch bound beside it. */
export function bottleneckText(bottleneck: string | null, launchBound: boolean | null): string {
  const parts = [bottleneck === null ? '' : `${bottleneck} bound`, launchBound ? 'launch bound' : ''];
  return parts.filter((p) => p !== '').join(', ');
}
