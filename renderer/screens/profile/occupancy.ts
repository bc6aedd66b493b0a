import type { GpuInfo, Launch, MetricValue } from '../../../main/contract/index.ts';
import { metricOf } from './versions.ts';

export interface Limit {
  readonly id: string;
  readonly label: string;
  /** What the kernel takes of it, in words; '' where ncu did not say. */
  readonly uses: string;
  /** Blocks per multiprocessor that this resource allows. */
  readonly blocks: MetricValue;
  readonly limiting: boolean;
}

export interface Occupancy {
  readonly limits: readonly Limit[];
  /** % of the warps a multiprocessor can hold. */
  readonly theoretical: MetricValue;
  readonly achieved: MetricValue;
  /** Only known when no limit is missing: an unknown one could be the smallest. */
  readonly limiter: string | null;
}

const LIMITS = [
  ['registers', 'Registers', 'launch__occupancy_limit_registers'],
  ['shared', 'Shared memory', 'launch__occupancy_limit_shared_mem'],
  ['warps', 'Warps (block size)', 'launch__occupancy_limit_warps'],
  ['blocks', 'Blocks', 'launch__occupancy_limit_blocks'],
] as const;

/** Blocks per multiprocessor by resource, and which of them limits. `gpu` for the number of warps it holds, where ncu did not say. */
export function occupancy(launch: Launch, gpu: GpuInfo | null): Occupancy {
  const values = LIMITS.map(([id, label, metric]) => ({ id, label, blocks: metricOf(launch, [metric]) }));
  const known = values.flatMap(({ blocks }) => (blocks.available ? [blocks.value] : []));
  const least = known.length === 0 ? null : Math.min(...known);
  const limits = values.map(
    ({ id, label, blocks }): Limit => ({
      id,
      label,
      blocks,
      uses: uses(id, launch, gpu),
      limiting: blocks.available && blocks.value === least,
    }),
  );
  return {
    limits,
    theoretical: theoretical(launch, gpu, least, known.length === LIMITS.length),
    achieved: metricOf(launch, ['sm__warps_active.avg.pct_of_peak_sustained_active']),
    limiter:
      known.length < LIMITS.length
        ? null
        : limits
            .filter(({ limiting }) => limiting)
            .map(({ label }) => label.toLowerCase())
            .join(' and '),
  };
}

const number = (launch: Launch, id: string): number | null => {
  const value = metricOf(launch, [id]);
  return value.available ? value.value : null;
};
const count = (value: number): string => value.toLocaleString('en-US');

function blockSize(launch: Launch): number | null {
  const said = number(launch, 'launch__block_size');
  if (said !== null) return said;
  return launch.block.length === 0 ? null : launch.block.reduce((product, n) => product * n, 1);
}

function uses(id: (typeof LIMITS)[number][0], launch: Launch, gpu: GpuInfo | null): string {
  const threads = blockSize(launch);
  if (id === 'registers') {
    const each = number(launch, 'launch__registers_per_thread');
    if (each === null) return '';
    const of = gpu === null || threads === null ? '' : ` × ${count(threads)} threads, of ${count(gpu.regsPerSm)}`;
    return `${each} per thread${of}`;
  }
  if (id === 'shared') {
    const parts = [
      number(launch, 'launch__shared_mem_per_block_static'),
      number(launch, 'launch__shared_mem_per_block_dynamic'),
    ];
    if (parts.some((part) => part === null)) return '';
    const of = gpu === null ? '' : `, of ${count(gpu.sharedPerSm)}`;
    return `${count(parts.reduce((sum: number, part) => sum + (part ?? 0), 0))} B per block${of}`;
  }
  if (id === 'warps') {
    if (threads === null) return '';
    const of = gpu === null ? '' : `, of ${gpu.maxThreadsPerSm / 32}`;
    return `${Math.ceil(threads / 32)} per block${of}`;
  }
  return '';
}

function theoretical(launch: Launch, gpu: GpuInfo | null, least: number | null, complete: boolean): MetricValue {
  const said = metricOf(launch, ['sm__maximum_warps_per_active_cycle_pct']);
  if (said.available) return said;
  const threads = blockSize(launch);
  const most =
    number(launch, 'device__attribute_max_warps_per_multiprocessor') ??
    (gpu === null ? null : gpu.maxThreadsPerSm / 32);
  if (least === null || !complete || threads === null || most === null)
    return { available: false, reason: 'it needs all four limits, the block size and the GPU’s number of warps' };
  return { available: true, value: Math.min(100, (100 * least * Math.ceil(threads / 32)) / most), unit: '%' };
}
