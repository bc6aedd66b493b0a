import { open } from 'node:fs/promises';
import type { ChildExit } from '../../base/process.ts';
import type { StartOptions } from '../context.ts';
import { type Scope, Stopped } from './scope.ts';

/** Cap on a tool's file that goes into a result, bytes. */
export const LOG_CAP = 256 * 1024;

/** Runs a program to its end. Throws Stopped when the session was ended meanwhile. */
export async function runTool(
  scope: Scope,
  argv: readonly string[],
  options: Omit<StartOptions, 'wallMs'>,
): Promise<ChildExit> {
  if (scope.stopped) throw new Stopped(scope.stopped);
  const child = scope.ctx.start(argv, { ...options, wallMs: scope.childMs() });
  scope.add(child);
  const exit = await child.exited;
  scope.drop(child);
  if (scope.stopped) throw new Stopped(scope.stopped);
  return exit;
}

/** Text of a file in scratch, at most `cap` bytes of it (the cut is said); '' when it does not exist. */
export async function readCapped(scope: Scope, name: string, cap: number): Promise<string> {
  try {
    const file = await open(scope.path(name));
    try {
      const { size } = await file.stat();
      const buffer = Buffer.alloc(Math.min(size, cap));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
      const text = buffer.toString('utf8', 0, bytesRead);
      return size > cap ? `${text}\n[… ${size - cap} bytes cut here …]\n` : text;
    } finally {
      await file.close();
    }
  } catch {
    return '';
  }
}

/** Waits, but not longer than the session lives. */
export async function pause(scope: Scope, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(done, ms);
    const waiting = { kill: done };
    function done(): void {
      clearTimeout(timer);
      scope.drop(waiting);
      resolve();
    }
    scope.add(waiting);
  });
  if (scope.stopped) throw new Stopped(scope.stopped);
}
