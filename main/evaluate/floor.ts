import type { Dtype, GpuInfo, TimeResult } from '../contract/index.ts';

type Peaks = NonNullable<TimeResult['peaks']>;

/**
 * Fastest legal arithmetic as a multiple of the measured FP32 FMA rate, by compute capability: dense tensor-core rates over FP32
 * rates of NVIDIA's data sheets, rounded up, so that the floor never lies above what is possible. FP32 tasks may use split schemes:
 * three TF32 products (or more BF16 ones) for one FP32 product. Unknown GPUs get the largest known ratio.
 */
const tensorOverFp32: Readonly<Record<string, Readonly<Record<Dtype, number>>>> = {
  '7.0': { fp32: 1, bf16: 8 },
  '7.5': { fp32: 1, bf16: 8 },
  '8.0': { fp32: 2.7, bf16: 16 },
  '8.6': { fp32: 1, bf16: 4 },
  '8.9': { fp32: 1, bf16: 4 },
  '9.0': { fp32: 2.7, bf16: 16 },
  '10.0': { fp32: 5.4, bf16: 32 },
  '10.3': { fp32: 5.4, bf16: 32 },
  '12.0': { fp32: 1, bf16: 4 },
};
const unknownGpu: Readonly<Record<Dtype, number>> = { fp32: 5.4, bf16: 32 };

export interface FloorInput {
  readonly dtype: Dtype;
  readonly flops: number;
  readonly bytes: { readonly read: number; readonly write: number };
  /** L2 was emptied before the call (flush read or write); without that, inputs may come from L2 too. */
  readonly flushed: boolean;
  readonly gpu: Pick<GpuInfo, 'cc' | 'l2Bytes'>;
  readonly peaks: Peaks;
}

/**
 * Least time a call can take on this GPU, ns: the largest of an empty kernel's span, the least traffic over measured bandwidth, and
 * the arithmetic over the fastest legal pipe. Writes may stay in L2 when the call ends, so its size is taken off them; reads and
 * writes share the memory's pins, so their sum is bounded by the best of the measured rates.
 */
export function floorNs(input: FloorInput): number {
  const { bytes, gpu, peaks } = input;
  const read = input.flushed ? bytes.read : Math.max(0, bytes.read - gpu.l2Bytes);
  const write = Math.max(0, bytes.write - gpu.l2Bytes);
  const best = Math.max(peaks.readBytesPerS, peaks.writeBytesPerS, peaks.copyBytesPerS);
  const pipe = (tensorOverFp32[gpu.cc] ?? unknownGpu)[input.dtype];
  return Math.max(
    peaks.emptySpanNs,
    (read / peaks.readBytesPerS) * 1e9,
    (write / peaks.writeBytesPerS) * 1e9,
    ((read + write) / best) * 1e9,
    (input.flops / (peaks.fp32FlopsPerS * pipe)) * 1e9,
  );
}
