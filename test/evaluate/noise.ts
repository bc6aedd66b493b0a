import { Prng } from '../../main/base/random.ts';
import type { ArmId, SampleSet } from '../../main/contract/index.ts';

/** Noise of simulated timings, all relative. */
export interface Noise {
  readonly processes: number;
  readonly solo?: number;
  readonly problems: number;
  readonly blocks: number;
  /** Spread of single calls. */
  readonly call: number;
  /** Share of calls with a large delay. */
  readonly tail: number;
  /** Random walk per call, common to all arms: clocks, temperature. */
  readonly drift: number;
  /** Spread between processes, per arm (half common to all sizes, half per size). */
  readonly process: number;
  /** Timer step, ns; 0 = none. */
  readonly step: number;
}

/** True times, ns, of an arm at a size. */
export type Truth = (arm: ArmId, problem: number) => number;

const sizes = [2_000, 5_000, 20_000, 80_000, 300_000];
export const baseTime = (problem: number): number => sizes[problem % sizes.length] as number;

/** Samples as the broker delivers them: two calls per arm and block, order O B C · C B O. */
export function simulate(
  noise: Noise,
  truth: Truth,
  seed: string,
  arms: readonly ArmId[] = ['O', 'B', 'C'],
): SampleSet[] {
  const prng = new Prng(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - prng.next())) * Math.cos(2 * Math.PI * prng.next());
  const sets: SampleSet[] = [];
  const total = noise.processes + (noise.solo ?? 0);
  for (let process = 0; process < total; process++) {
    const kind = process < noise.processes ? 'full' : 'solo';
    const here = kind === 'full' ? arms : (['O'] as const);
    const common = new Map(here.map((arm) => [arm, (normal() * noise.process) / Math.SQRT2]));
    for (let problem = 0; problem < noise.problems; problem++) {
      const own = new Map(here.map((arm) => [arm, (normal() * noise.process) / Math.SQRT2]));
      for (const quantity of ['wrapper', 'span'] as const) {
        const times: Partial<Record<ArmId, (number | null)[]>> = Object.fromEntries(here.map((arm) => [arm, []]));
        let walk = 0;
        for (let block = 0; block < noise.blocks; block++)
          for (const arm of [...here, ...[...here].reverse()]) {
            walk += noise.drift * normal();
            let log = walk + noise.call * normal() + (common.get(arm) ?? 0) + (own.get(arm) ?? 0);
            if (prng.next() < noise.tail) log += 0.05 + 0.3 * Math.abs(normal());
            let ns = (truth(arm, problem) + (quantity === 'wrapper' ? 8_000 : 0)) * Math.exp(log);
            if (noise.step > 0) ns = Math.max(1, Math.round(ns / noise.step)) * noise.step;
            times[arm]?.push(ns);
          }
        sets.push({ process, kind, problem, quantity, blocks: noise.blocks, arms: times });
      }
    }
  }
  return sets;
}
