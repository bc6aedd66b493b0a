import type { ArmId, Incident } from '../../contract/index.ts';
import { EnvironmentFault } from './classify.ts';
import type { CallReply } from './replies.ts';

/** More void calls than this and the session says nothing. */
const VOID_LIMIT = 0.1;

/** Reading two clocks one after the other, ns, and how far the GPU's clock may run ahead of the host's. */
const CLOCK_READ_NS = 1_000;
const CLOCK_DRIFT = 1e-4;

/**
 * Time of a call, ns, or null when the record is missing or impossible. A span cannot be longer than what the caller waited for the same
 * call, but for the clocks' own error.
 */
export function sampleOf(reply: CallReply, quantity: 'span' | 'wrapper', stepNs: number): number | null {
  const wrapper = reply.wrapperNs;
  if (wrapper === null || !(wrapper > 0)) return null;
  if (quantity === 'wrapper') return wrapper;
  const span = reply.spanNs;
  if (span === null || !(span > 0) || reply.dropped > 0) return null;
  return span <= wrapper + stepNs + CLOCK_READ_NS + CLOCK_DRIFT * wrapper ? span : null;
}

/** Counts timed calls and void ones by arm, and says at the end what that means. */
export class VoidCount {
  private readonly byArm = new Map<ArmId, { calls: number; void: number }>();
  private foreign = 0;
  voided = 0;

  add(arm: ArmId, isVoid: boolean): void {
    const count = this.byArm.get(arm) ?? { calls: 0, void: 0 };
    this.byArm.set(arm, count);
    count.calls++;
    if (!isVoid) return;
    count.void++;
    this.voided++;
  }

  /** A call already counted as good turned out void. */
  addVoid(arm: ArmId): void {
    const count = this.byArm.get(arm);
    if (count) count.void++;
    this.voided++;
  }

  /** A whole pass is void because others used the GPU meanwhile: `valid` of its samples were good so far. */
  addForeign(valid: number): void {
    this.foreign += valid;
    this.voided += valid;
  }

  /**
   * Throws EnvironmentFault when others used the GPU, or records of origin itself are missing, beyond the limit; returns an incident
   * for each other arm whose records are missing where origin's are not.
   */
  verdict(): Incident[] {
    const calls = [...this.byArm.values()].reduce((sum, c) => sum + c.calls, 0);
    if (calls === 0) return [];
    if (this.foreign / calls > VOID_LIMIT)
      throw new EnvironmentFault(
        'env.gpu-busy',
        `Other programs used the GPU: ${this.foreign} of ${calls} timed calls are void.`,
        'End the programs named in the incidents, or choose another GPU, then measure again.',
      );
    const origin = this.byArm.get('O');
    if (origin && origin.void / origin.calls > VOID_LIMIT)
      throw new EnvironmentFault(
        'env.timing-void',
        `GPU activity records of origin are missing or impossible in ${origin.void} of ${origin.calls} calls.`,
        'Another profiler may be attached to the GPU; end it, then measure again.',
      );
    return [...this.byArm].flatMap(([arm, c]) =>
      c.void / c.calls > VOID_LIMIT
        ? [
            {
              kind: 'no-activity' as const,
              arm,
              message: `GPU activity records are missing or impossible in ${c.void} of ${c.calls} timed calls`,
            },
          ]
        : [],
    );
  }
}
