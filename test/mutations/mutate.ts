import type { Storage } from '../../main/contract/index.ts';

/**
 * Ways in which an output can be wrong, made from a right one. Pure: buffers in, buffers out.
 * Each stands for a fault that generated kernels show: nothing written, a tail forgotten, an index off by one, sums or
 * results in a format too coarse, last call's output left in place.
 */
export const mutations = [
  { id: 'zero', title: 'all zero' },
  { id: 'one-wrong', title: 'one element wrong' },
  { id: 'one-beyond', title: 'one element just beyond its limit' },
  { id: 'tail-poison', title: 'last block not written' },
  { id: 'tail-zero', title: 'last block zero' },
  { id: 'neighbour', title: 'neighbouring index' },
  { id: 'coarse', title: 'lower precision' },
  { id: 'coarser', title: 'much lower precision' },
  { id: 'stale', title: 'stale output' },
] as const;
export type MutationId = (typeof mutations)[number]['id'];

export const elementBytes = (elem: Storage): number => (elem === 'bf16' ? 2 : 4);
export const elementCount = (elem: Storage, bytes: Buffer): number => bytes.length / elementBytes(elem);

/** One fp32 seen as number and as bits. */
const cell = new DataView(new ArrayBuffer(4));

/** Element i as a double, exactly. */
export function load(elem: Storage, bytes: Buffer, i: number): number {
  if (elem === 'i32') return bytes.readInt32LE(4 * i);
  if (elem === 'f32') return bytes.readFloatLE(4 * i);
  cell.setUint32(0, bytes.readUInt16LE(2 * i) << 16);
  return cell.getFloat32(0);
}

/** Significant bits of a stored type. */
const precision = { f32: 24, bf16: 8, i32: 31 } as const;

/** Distance between neighbours at |value| in a format of `bits` significant bits with the exponents of fp32. */
function spacing(value: number, bits: number): number {
  const magnitude = Math.abs(value);
  let exponent = Math.floor(Math.log2(magnitude));
  if (2 ** exponent > magnitude)
    exponent -= 1; // log2 may round up just below a power of two
  else if (2 ** (exponent + 1) <= magnitude) exponent += 1;
  return 2 ** (Math.max(exponent, -126) - bits + 1);
}

function halfEven(x: number): number {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}

/** Nearest value with `bits` significant bits, ties to even; overflow is left to the store. Non-finite values stay. */
export function roundTo(value: number, bits: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const step = spacing(value, bits);
  return halfEven(value / step) * step;
}

/** The value towards zero with `bits` significant bits. */
export function truncateTo(value: number, bits: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const step = spacing(value, bits);
  return Math.trunc(value / step) * step;
}

/** Stores a double rounded once, to nearest even. */
export function store(elem: Storage, bytes: Buffer, i: number, value: number): void {
  if (elem === 'i32') bytes.writeInt32LE(Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.round(value))), 4 * i);
  else if (elem === 'f32') bytes.writeFloatLE(value, 4 * i);
  else {
    cell.setFloat32(0, roundTo(value, precision.bf16));
    bytes.writeUInt16LE(cell.getUint32(0) >>> 16, 2 * i);
  }
}

/** Next stored value above a finite one. */
export function nextUp(elem: Storage, value: number): number {
  if (elem === 'i32') return value + 1;
  const shift = elem === 'bf16' ? 16 : 0;
  cell.setFloat32(0, value === 0 ? 0 : value);
  const bits = (cell.getUint32(0) >>> shift) + (value < 0 ? -1 : 1);
  cell.setUint32(0, (bits << shift) >>> 0);
  return cell.getFloat32(0);
}

/** Next stored value below a finite one. */
export const nextDown = (elem: Storage, value: number): number => -nextUp(elem, -value);

function mapped(elem: Storage, bytes: Buffer, change: (value: number, i: number) => number): Buffer {
  const out = Buffer.from(bytes);
  const count = elementCount(elem, bytes);
  for (let i = 0; i < count; i++) store(elem, out, i, change(load(elem, bytes, i), i));
  return out;
}

/** One element replaced. */
export function withElement(elem: Storage, bytes: Buffer, i: number, value: number): Buffer {
  const out = Buffer.from(bytes);
  store(elem, out, i, value);
  return out;
}

/** Elements of the last block: as many as a block of 256 threads writes, at most half of the output, at least one. */
export const tailLength = (count: number): number => Math.max(1, Math.min(256, Math.floor(count / 2)));

function withTail(elem: Storage, bytes: Buffer, fill: number): Buffer {
  const out = Buffer.from(bytes);
  const count = elementCount(elem, bytes);
  return out.fill(fill, (count - tailLength(count)) * elementBytes(elem));
}

/** A value nobody could call a rounding of `value`: other sign, and away from zero. */
export const clearlyWrong = (elem: Storage, value: number): number =>
  elem === 'i32' ? (value > 0 ? value - 1_000_003 : value + 1_000_003) : value > 0 ? -value - 1 : -value + 1;

/** Bits kept by the two columns of lower precision. */
export function coarseBits(elem: Storage): { readonly coarse: number; readonly coarser: number } {
  return elem === 'bf16' ? { coarse: precision.bf16, coarser: 5 } : { coarse: 11, coarser: 8 };
}

export interface Right {
  readonly elem: Storage;
  /** The correctly rounded reference, as stored. */
  readonly bytes: Buffer;
  /** The same rounded to fp32 only; for outputs of bf16 where it can be had. */
  readonly wide: Buffer | null;
  /** The reference of another seed. */
  readonly other: Buffer;
  /** Where the one wrong element goes. */
  readonly position: number;
  /** The stored value closest to, but beyond, what is allowed there. */
  readonly beyond: number;
}

/** Outputs of bf16: the fp32 result cut, not rounded, to bf16. Others: rounded to the 11 bits of TF32 and fp16. */
function coarse({ elem, bytes, wide }: Right): Buffer {
  const bits = coarseBits(elem).coarse;
  if (elem !== 'bf16') return mapped(elem, bytes, (value) => roundTo(value, bits));
  return mapped(elem, bytes, (value, i) => truncateTo(wide ? load('f32', wide, i) : value, bits));
}

/** The wrong output. */
export function mutate(id: MutationId, right: Right): Buffer {
  const { elem, bytes, position } = right;
  const count = elementCount(elem, bytes);
  switch (id) {
    case 'zero':
      return Buffer.alloc(bytes.length);
    case 'one-wrong':
      return withElement(elem, bytes, position, clearlyWrong(elem, load(elem, bytes, position)));
    case 'one-beyond':
      return withElement(elem, bytes, position, right.beyond);
    case 'tail-poison':
      return withTail(elem, bytes, 0xff);
    case 'tail-zero':
      return withTail(elem, bytes, 0);
    case 'neighbour':
      return mapped(elem, bytes, (_, i) => load(elem, bytes, (i + 1) % count));
    case 'coarse':
      return coarse(right);
    case 'coarser':
      return mapped(elem, bytes, (value) => roundTo(value, coarseBits(elem).coarser));
    case 'stale':
      return Buffer.from(right.other);
  }
}
