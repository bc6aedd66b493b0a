import { hashJson } from '../base/hash.ts';
import { type ChatProvider, type ChatReply, type ChatRequest, err, ok } from '../contract/index.ts';

export interface RecordedChat {
  readonly position: string;
  /** Hash of the step request it answered: see chatRequestHash(). */
  readonly requestHash: string;
  readonly reply: ChatReply;
}

/** Content hash of a chat step, as history and recordings keep it. */
export const chatRequestHash = (request: ChatRequest): string => hashJson({ kind: 'chat', request });

export interface RecordingOptions {
  readonly chats: readonly RecordedChat[];
  /** true: a request that differs from the recorded one fails; false: it is reported and answered. */
  readonly strict: boolean;
  readonly onChange?: (position: string, what: string) => void;
}

/**
 * Answers from a recording, by position. Errors: `replay.diverged` (a position that was never recorded; with `strict` also a
 * request that differs).
 */
export function recordingProvider(options: RecordingOptions): ChatProvider {
  const byPosition = new Map(options.chats.map((c) => [c.position, c]));
  return {
    name: 'recording',
    async chat(request, { position, signal }) {
      if (signal?.aborted) return err('cancelled', 'The replay was cancelled.');
      const chat = byPosition.get(position);
      if (chat === undefined)
        return err(
          'replay.diverged',
          `The recording holds no answer at ${position}: the run takes another course than the recorded one.`,
          {
            remedy: 'Make a new recording with this version of the program.',
          },
        );
      if (chat.requestHash !== chatRequestHash(request)) {
        const what = `The ${request.agent}'s prompt differs from the recorded one.`;
        if (options.strict)
          return err('replay.diverged', `${position}: ${what}`, {
            remedy: 'Replay without --strict to go on and see what changed.',
          });
        options.onChange?.(position, what);
      }
      return ok({ kind: 'done', reply: chat.reply });
    },
  };
}
