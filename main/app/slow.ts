import { setTimeout as pause } from 'node:timers/promises';
import { AppFailure, type ChatProvider, type Executor, err, ok } from '../contract/index.ts';

/** How often a waiting answer shows that something goes on, ms. */
const tickMs = 100;

/** Waits, and says how far it is; false = cancelled meanwhile. */
async function wait(ms: number, signal: AbortSignal | undefined, tick: (part: number) => void): Promise<boolean> {
  const began = performance.now();
  for (;;) {
    if (signal?.aborted) return false;
    const left = ms - (performance.now() - began);
    if (left <= 0) return true;
    tick(1 - left / ms);
    await pause(Math.min(tickMs, left), undefined, { signal }).catch(() => {});
  }
}

/** Answers of a recording come after a while, in pieces as from a model: a person can watch, pause and cancel. */
export function slowProvider(provider: ChatProvider, ms: number): ChatProvider {
  if (ms <= 0) return provider;
  return {
    name: provider.name,
    async chat(request, options) {
      const answer = await provider.chat(request, options);
      if (!answer.ok || answer.value.kind !== 'done') return answer;
      const { text } = answer.value.reply;
      let told = 0;
      const tell = (part: number): void => {
        const upTo = Math.floor(text.length * part);
        if (upTo > told) options.onToken?.(text.slice(told, upTo));
        told = Math.max(told, upTo);
      };
      if (!(await wait(ms, options.signal, tell))) return err('cancelled', 'The replay was cancelled.');
      tell(1);
      return ok(answer.value);
    },
  };
}

/** The same for jobs: their steps pass one by one. */
export function slowExecutor(executor: Executor, ms: number): Executor {
  if (ms <= 0) return executor;
  return {
    name: executor.name,
    async execute(bundle, options) {
      const { signal, onProgress } = options;
      const outcome = await executor.execute(bundle, { ...options, onProgress: undefined });
      if (outcome.kind !== 'done') return outcome;
      const { steps } = outcome.result;
      const tell = (part: number): void => {
        const index = Math.min(steps.length - 1, Math.floor(part * steps.length));
        const step = steps[index];
        if (step) onProgress?.({ step: step.id, index, count: steps.length, note: 'recorded' });
      };
      if (!(await wait(ms, signal, tell))) throw new AppFailure(err('cancelled', 'The replay was cancelled.').error);
      return outcome;
    },
  };
}
