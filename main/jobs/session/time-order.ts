import type { ArmId } from '../../contract/index.ts';

/** One call of a block: which arm, and which of the block's two contents. */
export interface Slot {
  readonly arm: ArmId;
  readonly half: 0 | 1;
  readonly content: 0 | 1;
}

/**
 * Calls of one block, forth and back over the arms in the order given, O B C · C B O say. The order is drawn anew for every block: with a
 * fixed one the outer arms would follow themselves, with their code still in the GPU's caches, and the inner one never. Contents
 * alternate from call to call, so that every arm sees both contents once (slots i and 2k-1-i have different parity) and no two calls running, also across blocks with their own contents, see the same.
 */
export function blockOrder(arms: readonly ArmId[]): Slot[] {
  return [...arms, ...arms.toReversed()].map((arm, i) => ({
    arm,
    half: i < arms.length ? 0 : 1,
    content: (i % 2) as 0 | 1,
  }));
}

export type ProcessKind = 'full' | 'solo';

/**
 * Processes one after another, the solo ones spread evenly among the full ones, a solo one first: origin's time is taken there, so that no
 * full process has to load origin before the others.
 */
export function processOrder(full: number, solo: number): ProcessKind[] {
  const at = (kind: ProcessKind, count: number) =>
    Array.from({ length: count }, (_, i) => ({ kind, key: (i + (kind === 'solo' ? 0 : 0.5)) / count }));
  return [...at('solo', solo), ...at('full', full)].sort((a, b) => a.key - b.key).map((p) => p.kind);
}

/**
 * Number of blocks of one problem: what fits the budget when each call costs what origin's took (its preparation included) and the judge
 * needs what it needed for one content, within the plan's bounds. Calls and judging go on at the same time, so the slower one counts.
 * @param cycleNs preparation and call of origin, ns, measured before any candidate was loaded
 * @param judgeNs comparison at the positions for contents not seen before, ns; a block has two contents
 */
export function blockCount(
  cycleNs: number,
  judgeNs: number,
  arms: number,
  limits: { readonly min: number; readonly max: number; readonly budgetMs: number },
): number {
  const blockNs = Math.max(2 * arms * cycleNs, 2 * judgeNs, 1);
  const fits = Math.floor((limits.budgetMs * 1e6) / blockNs);
  return Math.max(limits.min, Math.min(limits.max, fits));
}
