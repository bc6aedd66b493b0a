import { join } from 'node:path';
import { writeFileAtomic } from '../base/files.ts';
import { AppFailure, type Approval, err, type Recording } from '../contract/index.ts';
import type { LoopDeps } from '../optimizer/index.ts';
import type { RunRecord, Store } from '../store/index.ts';
import { runFolder } from './context.ts';

export type ApprovalPort = NonNullable<LoopDeps['approval']>;

/** What the user says to the scheme that a run waits with. */
export interface Decision {
  readonly verdict: Approval['verdict'];
  /** Another text of the scheme; absent: as it is. */
  readonly scheme?: string;
}

/** A decision for one step; every other scheme waits. */
export interface Decided {
  readonly position: string;
  readonly approval: Approval;
}

/** Takes a decision for the scheme that the run waits with. Throws `usage` where it waits for none, or an edited scheme is empty. */
export async function decide(store: Store, run: RunRecord, decision: Decision): Promise<Decided> {
  const step = await store.openStep(run.id);
  if (step?.kind !== 'approval')
    throw new AppFailure(
      err('usage', `Run ${run.id} does not wait for the approval of a scheme.`, { remedy: 'Resume it as it is.' })
        .error,
    );
  if (decision.scheme !== undefined && decision.scheme.trim() === '')
    throw new AppFailure(err('usage', 'The scheme is empty.').error);
  const { verdict, scheme = null } = decision;
  return { position: step.position, approval: { kind: 'approval', verdict, scheme } };
}

/** Answers what was decided; any other scheme is written where a person can read and change it, and the run waits. */
export function askUser(store: Store, run: string, decided: Decided | null): ApprovalPort {
  return async (position, round, scheme) => {
    if (decided?.position === position) return decided.approval;
    const path = join(runFolder(store, run), `r${round}.scheme.md`);
    await writeFileAtomic(path, `${scheme}\n`, 0o644);
    const resume = `cudamaster resume ${run}`;
    return {
      for: 'approval',
      path,
      how: `Read the scheme in ${path}, then \`${resume} --approve\`, \`--scheme FILE\` for another text of it, or \`--reject\` to have the Planner asked again.`,
    };
  };
}

/** Answers from a recording, by position. A run recorded without approvals needs none. */
export function recordedApprovals(recording: Recording): ApprovalPort {
  return async (position) => {
    const step = recording.steps.find((s) => s.position === position);
    if (step?.response.kind === 'approval') return step.response;
    throw new AppFailure(
      err('replay.diverged', `The recording holds no approval at ${position}: the run takes another course.`).error,
    );
  };
}
