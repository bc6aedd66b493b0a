import type { ProfileStages, Thresholds } from '../contract/index.ts';
import { evidenceIds } from './evidence.ts';
import { rooflineIds } from './roofline.ts';
import { alternatives, bottleneckIds, evidenceKeys, firstIds, PAPER_THRESHOLDS, type Table2Key } from './table2.ts';

/** What every launch is asked for: what the verdict needs, and how it fills the GPU. ncu adds the figures of the launch itself for nothing. */
const EVERY: readonly Table2Key[] = [
  'duration',
  'compute',
  'memory',
  'dram',
  'waves',
  'occupancy',
  'registers',
  'blockSize',
  'gridSize',
  'sharedStatic',
  'sharedDynamic',
  'limitRegisters',
  'limitShared',
  'limitWarps',
];

/**
 * Not asked for by name: ncu prints them with whatever is collected (test/fixtures/ncu/spmv_asked_raw.csv), or they belong to
 * SourceCounters, and some are refused when asked.
 */
const GIVEN = /^(?:launch__|device__|derived__|memory_|sm__maximum_warps)/;

/** Launches profiled of one call, and rows of them kept: a wrapper may launch thousands. */
export const MAX_LAUNCHES = 1024;
export const KEEP_LAUNCHES = 48;

/** Metric ids of the first stage. */
export const verdictMetricIds = (): string[] => firstIds(EVERY);

/**
 * The collection in two stages as data for the session, which decides between them where the GPU is: the source counters are those of
 * the section SourceCounters. Thresholds: those in force for the GPU; the paper's by default.
 */
export function profileStages(thresholds: Thresholds = PAPER_THRESHOLDS): ProfileStages {
  const asked = (ids: readonly string[]): string[] => [...new Set(ids)].filter((id) => !GIVEN.test(id));
  const { instead, ids: evidence } = evidenceIds();
  return {
    duration: alternatives('duration'),
    throughputs: {
      compute: alternatives('compute'),
      dram: alternatives('dram'),
      memory: alternatives('memory'),
    },
    thresholds,
    always: asked([...alternatives('duration'), ...firstIds(evidenceKeys), ...evidence, ...rooflineIds()]),
    byBottleneck: {
      compute: bottleneckIds('compute'),
      'memory-latency': bottleneckIds('memory-latency'),
      'memory-bandwidth': bottleneckIds('memory-bandwidth'),
    },
    sections: [],
    instead: { ...instead, ...insteadOf() },
  };
}

function insteadOf(): ProfileStages['instead'] {
  const keys: Table2Key[] = ['compute', 'memory', 'dram', 'issueSlotsBusy', 'smBusy'];
  return Object.fromEntries(
    keys.flatMap((key) => {
      const [first, ...others] = alternatives(key);
      return first === undefined || others.length === 0 ? [] : [[first, others]];
    }),
  );
}
