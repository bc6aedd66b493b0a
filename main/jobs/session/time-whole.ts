import type { Prng } from '../../base/random.ts';
import type { ArmId } from '../../contract/index.ts';

/**
 * Chooses one timed call per arm and problem to be compared whole, every call with the same chance. The draw for a call is made only
 * after that call, so that nothing in the process can know it: each of the k calls still to come is taken with probability 1/k.
 */
export class WholeDraw {
  private readonly left = new Map<string, number>();
  private readonly random: Prng;

  constructor(random: Prng) {
    this.random = random;
  }

  expect(arm: ArmId, problem: number, calls: number): void {
    this.left.set(`${arm}|${problem}`, calls);
  }

  /** To be asked once after every timed call. */
  takes(arm: ArmId, problem: number): boolean {
    const key = `${arm}|${problem}`;
    const left = this.left.get(key);
    if (left === undefined || left <= 0) return false;
    const taken = this.random.next() * left < 1;
    this.left.set(key, taken ? 0 : left - 1);
    return taken;
  }
}
