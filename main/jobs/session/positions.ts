import type { Prng } from '../../base/random.ts';

/**
 * Positions of a buffer to look at after a timed call: `count` random ones, evenly likely, and always the last element (a wrong bound
 * shows there). All of them when the buffer is no larger than that.
 */
export function drawPositions(random: Prng, length: number, count: number): BigUint64Array {
  if (length <= count) return BigUint64Array.from({ length }, (_, i) => BigInt(i));
  const out = new BigUint64Array(count);
  for (let i = 0; i < count - 1; i++) out[i] = BigInt(random.int(0, length - 1));
  out[count - 1] = BigInt(count > 1 ? length - 1 : random.int(0, length - 1));
  return out;
}
