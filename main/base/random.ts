import { createHash, randomBytes } from 'node:crypto';

/** A fresh root seed: 32 random bytes as 64 hex digits. It is the first event of a run; everything else derives from it. */
export const newRootSeed = (): string => randomBytes(32).toString('hex');

/** Each label is framed by its length, so that ("ab","c") and ("a","bc") differ. */
function derive(root: string, labels: readonly (string | number)[]): string {
  const hash = createHash('sha256').update(`${root.length}:${root}`);
  for (const label of labels) {
    const text = String(label);
    hash.update(`|${Buffer.byteLength(text)}:${text}`);
  }
  return hash.digest('hex');
}

/** Seed of one call: 16 hex digits (u64), as the harness protocol wants it. */
export const deriveSeed = (root: string, ...labels: (string | number)[]): string => derive(root, labels).slice(0, 16);

/** A root for a part (a session, a step): 64 hex digits. */
export const deriveRoot = (root: string, ...labels: (string | number)[]): string => derive(root, ['root', ...labels]);

const rotl = (x: number, k: number): number => (x << k) | (x >>> (32 - k));

/**
 * Deterministic generator for drawing sizes, positions and bootstrap samples: xoshiro128** (Blackman and Vigna, 2018), state from SHA-256 of the seed.
 * Same seed, same stream, on every platform.
 */
export class Prng {
  // Four plain 32-bit integers: drawing is the inner loop of every bootstrap.
  private a: number;
  private b: number;
  private c: number;
  private d: number;
  /** The polar method makes two normal numbers at a time: the second one, until it is asked for. NaN: none. */
  private spare = Number.NaN;

  constructor(seedHex: string) {
    const state = createHash('sha256').update(`prng:${seedHex}`).digest();
    this.a = state.readInt32LE(0);
    this.b = state.readInt32LE(4);
    this.c = state.readInt32LE(8);
    this.d = state.readInt32LE(12);
    if ((this.a | this.b | this.c | this.d) === 0) this.a = 1; // the one state that the generator never leaves
  }

  /** 32 uniform bits, 0 … 2³²−1. */
  u32(): number {
    const { b } = this;
    const result = Math.imul(rotl(Math.imul(b, 5), 7), 9) >>> 0;
    this.c ^= this.a;
    this.d ^= b;
    this.b = b ^ this.c;
    this.a ^= this.d;
    this.c ^= b << 9;
    this.d = rotl(this.d, 11);
    return result;
  }

  /** Fills `out`, from `from` up to `to`, as u32() would, one after the other; the state stays in registers meanwhile. */
  fill(out: Uint32Array, from = 0, to = out.length): void {
    let { a, b, c, d } = this;
    for (let i = from; i < to; i++) {
      out[i] = Math.imul(rotl(Math.imul(b, 5), 7), 9);
      const t = b << 9;
      c ^= a;
      d ^= b;
      b ^= c;
      a ^= d;
      c ^= t;
      d = rotl(d, 11);
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }

  /** Standard normal numbers by the polar method, into `out` from `from` up to `to`; an odd one is kept for the next time. */
  normals(out: Float64Array, from = 0, to = out.length): void {
    let { a, b, c, d, spare } = this;
    for (let i = from; i < to; i++) {
      if (!Number.isNaN(spare)) {
        out[i] = spare;
        spare = Number.NaN;
        continue;
      }
      for (;;) {
        // Two numbers as u32() would draw them; the state stays in registers meanwhile.
        let x = 0;
        let y = 0;
        for (let half = 0; half < 2; half++) {
          x = y;
          y = (Math.imul(rotl(Math.imul(b, 5), 7), 9) >>> 0) / 2147483648 - 1;
          const t = b << 9;
          c ^= a;
          d ^= b;
          b ^= c;
          a ^= d;
          c ^= t;
          d = rotl(d, 11);
        }
        const s = x * x + y * y;
        if (!(s > 0 && s < 1)) continue;
        const f = Math.sqrt((-2 * Math.log(s)) / s);
        out[i] = x * f;
        spare = y * f;
        break;
      }
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
    this.spare = spare;
  }

  /** Uniform in [0, 1) with 53 bits. */
  next(): number {
    const high = this.u32() >>> 5;
    const low = this.u32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  /** Uniform integer, both ends included; the range may hold up to 2⁵³ values. */
  int(lo: number, hi: number): number {
    const range = hi - lo + 1;
    if (!Number.isSafeInteger(lo) || !Number.isSafeInteger(hi) || !(range >= 1) || range > 2 ** 53)
      throw new RangeError(`Prng.int: bad range ${lo} … ${hi}`);
    if (range > 2 ** 32) return lo + Math.floor(this.next() * range);
    const limit = Math.floor(2 ** 32 / range) * range; // rejection keeps it exactly uniform
    let draw = this.u32();
    while (draw >= limit) draw = this.u32();
    return lo + (draw % range);
  }

  /** A new array in random order (Fisher-Yates); the given one stays as it is. */
  shuffle<T>(items: readonly T[]): T[] {
    const out = items.slice();
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      const held = out[i] as T;
      out[i] = out[j] as T;
      out[j] = held;
    }
    return out;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('Prng.pick: nothing to pick from');
    return items[this.int(0, items.length - 1)] as T;
  }
}
