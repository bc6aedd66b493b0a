import type { ProfileStages, Replay } from '../../contract/index.ts';
import { replayWords } from '../../contract/index.ts';
import { CandidateFault, EnvironmentFault } from './classify.ts';
import { busyReason, counterHolders, hasDcgmi, holdersText } from './counter-holders.ts';
import type { Collected, Collection, Ncu } from './ncu.ts';
import { replaced, unknownMetrics } from './ncu-table.ts';
import type { Scope } from './scope.ts';
import { pause } from './tool.ts';

/** Waits before another try when something else holds the counters, ms. */
const BUSY_WAITS = [2_000, 6_000];
/** Each answer "unknown metric" costs a start of ncu; it may name one at a time. */
const UNKNOWN_TRIES = 3;

/** ncu, and how it replays: once application replay has gone where kernel replay had not, it stays with it. */
export interface Tool {
  readonly ncu: Ncu;
  replay: Replay;
  /** Application replay was tried. */
  tried: boolean;
}

export interface Done extends Collected {
  readonly asked: readonly string[];
  readonly unknown: readonly string[];
}

/**
 * Collects. Where kernel replay has not the memory or comes to no end (kernels that wait for each other, or for the host), application
 * replay is tried once; when that gives nothing either, what kernel replay said counts.
 */
export async function collected(
  tool: Tool,
  scope: Scope,
  what: Collection,
  instead: ProfileStages['instead'] = {},
): Promise<Done> {
  const got = await patiently(tool.ncu, tool.replay, scope, what, instead);
  if (tool.replay === 'application' || tool.tried || !outOfReach(got)) return got;
  tool.tried = true;
  const cause = got.fault?.hung ? 'comes to no end' : 'has not the memory';
  scope.ctx.progress(`profile: kernel replay ${cause}, trying ${replayWords('application')}`);
  const other = await byApplication(tool.ncu, scope, what, instead, got);
  const log = [got.log, other.log].filter((text) => text !== '').join('\n');
  if (other.table === null) return { ...bothFailed(got, other), log };
  tool.replay = 'application';
  return { ...other, log };
}

/** A fault of the environment that application replay meets does not hide the one that led to it. */
async function byApplication(
  ncu: Ncu,
  scope: Scope,
  what: Collection,
  instead: ProfileStages['instead'],
  before: Done,
): Promise<Done> {
  try {
    return await patiently(ncu, 'application', scope, what, instead);
  } catch (fault) {
    if (!(fault instanceof EnvironmentFault)) throw fault;
    return { ...before, log: '', fault: null, reason: fault.reason };
  }
}

/** What only another way of replaying can mend. */
const outOfReach = (got: Done): boolean =>
  got.table === null && (got.reason?.code === 'env.ncu-memory' || got.fault?.hung === true);

function bothFailed(got: Done, other: Done): Done {
  const too = `By application replay: ${whyOf(other)}`;
  if (got.reason) return { ...got, reason: { ...got.reason, message: `${got.reason.message} ${too}` } };
  if (!got.fault) return got;
  const { incident, hung } = got.fault;
  const message = `${incident.message} (under ncu, by kernel replay, which runs the kernels of a call one by one). ${too}`;
  return { ...got, fault: new CandidateFault({ ...incident, message }, hung) };
}

/** Collects; waits while the counters are in use, and leaves out metrics that this ncu or GPU does not know. */
async function patiently(
  ncu: Ncu,
  replay: Replay,
  scope: Scope,
  what: Collection,
  instead: ProfileStages['instead'],
): Promise<Done> {
  let asked = [...what.metrics];
  const gone = new Set<string>();
  for (let busy = 0, tries = 0; ; ) {
    const got = await ncu.collect({ ...what, metrics: asked }, replay);
    if (got.reason?.code === 'env.ncu-busy') {
      const holders = counterHolders();
      const wait = BUSY_WAITS[busy++];
      if (wait === undefined) {
        const reason = busyReason(got.reason, holders, hasDcgmi(scope.ctx.tools.env.PATH ?? ''));
        return { ...got, reason, asked, unknown: [...gone] };
      }
      const by = holders.length === 0 ? '' : ` by ${holdersText(holders)}`;
      const next = `trying again in ${wait / 1000} s (${busy} of ${BUSY_WAITS.length})`;
      scope.ctx.progress(`profile: the counters are in use${by}, ${next}`);
      await pause(scope, wait);
      continue;
    }
    const unknown = got.table === null && got.fault === null ? unknownMetrics(got.log, asked) : [];
    if (unknown.length === 0 || tries === UNKNOWN_TRIES) return { ...got, asked, unknown: [...gone] };
    tries++;
    for (const id of unknown) gone.add(id);
    const rest = replaced(asked, unknown, gone, instead);
    // Asked for nothing, ncu would collect a set of its own.
    if (rest.length === 0 && what.sections.length === 0) return { ...got, asked, unknown: [...gone] };
    asked = rest;
    scope.ctx.progress(`profile: ${unknown.length} metrics are not known here, trying without`);
  }
}

/** Why a collection holds no launch, for people. */
export const whyOf = (got: Collected): string =>
  got.fault?.incident.message ||
  [got.reason?.message, got.reason?.remedy].filter(Boolean).join(' ') ||
  (got.table === null ? 'ncu printed no launch' : 'ncu profiled another kernel');
