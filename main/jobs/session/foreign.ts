import { basename } from 'node:path';
import { treeOf } from '../../base/proc.ts';
import type { ClocksReply } from './runner.ts';

export interface ForeignProcess {
  readonly pid: number;
  readonly name: string;
}

/** The part of a runner that tells which processes are its own. */
export interface OwnProcess {
  readonly pid: number;
  readonly outerPid: number | null;
}

/**
 * Tells other programs on the GPU from ourselves. The driver names processes as the host sees them, while the runner knows itself by the
 * number of its own PID namespace (sandbox, container): then it appears foreign to itself. So processes of the runner's tree are ours;
 * and where none of them was named, one unknown process is taken for the runner if it appeared with this runner and bears no other name.
 */
export class ForeignWatch {
  private readonly former = new Set<number>();
  private current = new Set<number>();
  private own: OwnProcess | null = null;
  private readonly program: string;

  constructor(runnerFile: string) {
    this.program = basename(runnerFile);
  }

  foreignOf(runner: OwnProcess, reply: ClocksReply): ForeignProcess[] {
    if (this.own !== runner) {
      for (const pid of this.current) this.former.add(pid);
      this.current = new Set();
      this.own = runner;
    }
    const ours = new Set([runner.pid, runner.outerPid ?? runner.pid]);
    if (runner.outerPid !== null) for (const p of treeOf(runner.outerPid)) ours.add(p.pid);
    const rest = reply.foreign.filter((p) => !ours.has(p.pid));
    for (const p of rest) this.current.add(p.pid);
    if (rest.length < reply.foreign.length) return rest;
    const self = rest.find((p) => !this.former.has(p.pid) && this.maybeUs(p.name));
    return rest.filter((p) => p !== self);
  }

  private maybeUs(name: string): boolean {
    return name === '' || basename(name) === this.program;
  }
}
