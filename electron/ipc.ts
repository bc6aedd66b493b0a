import type { IpcMain, IpcMainInvokeEvent } from 'electron';
import { z } from 'zod';
import { toAppError } from '../main/base/fault.ts';
import { err, ok, type Result } from '../main/contract/index.ts';

/** Page that may use a channel, by its address without the part after `#`. */
export type Sender = string;

/**
 * Answers a channel. The one place where a message of a page is believed: it must come from the top frame of the page named, and its
 * arguments must fit. Never rejects.
 */
export function answer<S extends z.ZodType<readonly unknown[]>, T>(
  ipc: Pick<IpcMain, 'handle'>,
  channel: string,
  from: Sender,
  args: S,
  work: (args: z.infer<S>, event: IpcMainInvokeEvent) => T | Promise<T>,
): void {
  ipc.handle(channel, async (event, ...given: unknown[]): Promise<Result<T>> => {
    if (!isFrom(event, from)) return err('usage', 'This page may not ask that.');
    const parsed = args.safeParse(given);
    if (!parsed.success) return err('usage', `${channel}: ${z.prettifyError(parsed.error)}`);
    try {
      return ok(await work(parsed.data, event));
    } catch (fault) {
      return { ok: false, error: toAppError(fault) };
    }
  });
}

function isFrom(event: IpcMainInvokeEvent, page: Sender): boolean {
  const frame = event.senderFrame;
  // null: the frame has navigated away or is gone.
  if (frame === null || frame !== event.sender.mainFrame) return false;
  return frame.url.split(/[?#]/)[0] === page;
}
