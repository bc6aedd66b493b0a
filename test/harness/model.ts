/**
 * The generators once more, written independently from PROTOCOL.md's description: BigInt mixing, rounding to bf16 by arithmetic on
 * doubles and to f32 by Math.fround, so that a slip in the C++ bit code does not repeat here.
 */
const mask = (1n << 64n) - 1n;
const golden = 0x9e3779b97f4a7c15n;

const mix = (value: bigint): bigint => {
  let z = value & mask;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
  return z ^ (z >> 31n);
};

export const bitsAt = (seed: bigint, ordinal: number, i: number): bigint =>
  mix(mix(mix(seed + golden) + BigInt(ordinal + 1) * golden) + BigInt(i + 1) * golden);

const grid = (lo: number, hi: number, bits: bigint): number => lo + (hi - lo) * (Number(bits >> 40n) / 2 ** 24);

/** Value of `generator` (the text of a `buf` line) before rounding. */
export function modelValue(generator: string, seed: bigint, ordinal: number, i: number): number {
  const [kind, ...parameters] = generator.split(' ');
  const [a = 0, b = 0, c = 0] = parameters.map(Number);
  const bits = bitsAt(seed, ordinal, i);
  if (kind === 'uniform') return grid(a, b, bits);
  if (kind === 'wide') {
    const exponent = a + Number(((bits >> 48n) * BigInt(b - a)) >> 16n);
    const magnitude = 2 ** exponent * (1 + Number((bits >> 8n) & 0x7fffffn) / 2 ** 23);
    return bits & 1n ? -magnitude : magnitude;
  }
  if (kind === 'levels') {
    if (c <= 1) return a;
    const level = Number(((bits >> 32n) * BigInt(c)) >> 32n);
    return a + ((b - a) * level) / (c - 1);
  }
  if (kind === 'zeros') return (bits & 3n) === 0n ? grid(-1, 1, bits) : (bits >> 2n) & 1n ? -0 : 0;
  if (kind === 'int') return a + Number(((bits >> 32n) * BigInt(b - a)) >> 32n);
  if (kind === 'rows') return rowOf(parameters, seed, ordinal, i);
  if (kind === 'ell') return ellPlace(parameters, seed, ordinal, i);
  return offset(parameters, i);
}

/** Walks the permutation of entries on the next power of two, then looks its place up row by row. */
function rowOf(parameters: readonly string[], seed: bigint, ordinal: number, i: number): number {
  const [rows, nnz] = [Number(parameters[0]), Number(parameters[1])];
  if (i >= nnz) return 0;
  let place = BigInt(i);
  if (parameters[4] === 'shuffled') {
    const bits = BigInt(Math.ceil(Math.log2(nnz)));
    const half = bits > 1n ? (bits + 1n) / 2n : 1n;
    const key = mix(mix(seed + golden) + BigInt(ordinal + 1) * golden);
    do {
      for (let round = 1n; round <= 4n; round++) {
        const r = mix(key + round * golden);
        place = (place * (r | 1n) + (r >> 32n)) & ((1n << bits) - 1n);
        place ^= place >> half;
      }
    } while (place >= BigInt(nnz));
  }
  const offsets = offsetsOf(parameters, rows);
  let [low, high] = [0, rows - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (BigInt(offsets[middle + 1] as number) <= place) low = middle + 1;
    else high = middle;
  }
  return low;
}

const known = new Map<string, number[]>();
function offsetsOf(parameters: readonly string[], rows: number): number[] {
  const name = parameters.slice(0, 4).join(' ');
  const list = known.get(name) ?? Array.from({ length: rows + 1 }, (_, row) => offset(parameters, row));
  known.set(name, list);
  return list;
}

function ellPlace(parameters: readonly string[], seed: bigint, ordinal: number, i: number): number {
  const [rows, nnz, width, , every] = parameters.slice(0, 5).map(Number) as [number, number, number, number, number];
  const entries = parameters.slice(5).join(' ');
  const row = Math.floor(i / width);
  const even = (r: number): number => Math.floor(nnz / rows) + (r < nnz % rows ? 1 : 0);
  let length = even(row);
  if (parameters[3] === 'skewed') length = row % every === 0 ? width : 0;
  else if ((row ^ 1) < rows) {
    const bits = mix(BigInt(Math.floor(row / 2) + 1) * golden);
    const winner = row - (row % 2) + Number(bits & 1n);
    const most = Math.max(0, Math.min(width - even(winner), even(winner ^ 1)));
    const moved = Number(((bits >> 32n) * BigInt(most + 1)) >> 32n);
    length += row === winner ? moved : -moved;
  }
  if (i % width < length) return modelValue(entries, seed, ordinal, i);
  return entries.startsWith('int') ? -1 : 0;
}

/** Row by row, not in closed form. */
function offset(parameters: readonly string[], i: number): number {
  const [rows, nnz, every] = [Number(parameters[0]), Number(parameters[1]), Number(parameters[3])];
  const heavy = (row: number): boolean => parameters[2] === 'even' || row % every === 0;
  let parts = 0;
  for (let row = 0; row < rows; row++) if (heavy(row)) parts++;
  let [sum, seen] = [0, 0];
  for (let row = 0; row < i; row++) {
    if (!heavy(row)) continue;
    sum += Math.floor(nnz / parts) + (seen < nnz % parts ? 1 : 0);
    seen++;
  }
  return sum;
}

export function roundToBf16(v: number): number {
  if (v === 0 || !Number.isFinite(v)) return v;
  let exponent = Math.floor(Math.log2(Math.abs(v)));
  while (2 ** exponent > Math.abs(v)) exponent--;
  while (2 ** (exponent + 1) <= Math.abs(v)) exponent++;
  const quantum = 2 ** (Math.max(exponent, -126) - 7);
  const scaled = Math.abs(v) / quantum;
  const low = Math.floor(scaled);
  const rest = scaled - low;
  const rounded = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  const result = rounded * quantum;
  return Math.sign(v) * (result >= 2 ** 128 ? Number.POSITIVE_INFINITY : result);
}

/** Values of a raw buffer as the runner and the judge write them. */
export function values(raw: Buffer, elem: 'f32' | 'bf16' | 'i32'): number[] {
  const out: number[] = [];
  if (elem === 'f32') for (let i = 0; i < raw.length; i += 4) out.push(raw.readFloatLE(i));
  else if (elem === 'i32') for (let i = 0; i < raw.length; i += 4) out.push(raw.readInt32LE(i));
  else {
    const word = Buffer.alloc(4);
    for (let i = 0; i < raw.length; i += 2) {
      word.writeUInt16LE(raw.readUInt16LE(i), 2);
      out.push(word.readFloatLE(0));
    }
  }
  return out;
}
