import { treeOf } from '../../base/proc.ts';
import type { ClocksReply } from './replies.ts';

export interface ForeignProcess {
  /** 0 = not known. */
  readonly pid: number;
  readonly name: string;
}

/**
 * Other programs on the GPU. Inside a sandbox the runner does not know the number under which the driver lists it, so it leaves out one entry
 * of the list whichever it is: the count of the rest is right, the names may not be. An entry that is our own process therefore stands
 * for another one, unknown.
 */
export function foreignOf(runner: { readonly outerPid: number | null }, reply: ClocksReply): ForeignProcess[] {
  if (reply.foreign.length === 0) return [];
  const ours = new Set(runner.outerPid === null ? [] : treeOf(runner.outerPid).map((p) => p.pid));
  return reply.foreign.map((p) => (ours.has(p.pid) ? { pid: 0, name: '' } : p));
}
