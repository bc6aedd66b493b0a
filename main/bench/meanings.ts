import { sizeSets } from '../contract/index.ts';
import { escapeXml } from '../profile/svg.ts';
import type { BenchReport } from './report.ts';

/** What every word and figure of the page means; those that the page does not have are left out. */
export function meanings(r: BenchReport): string {
  const candidates = r.entries.some((e) => e.candidate !== null);
  const libraries = r.entries.some((e) => e.library !== null);
  const terms: (readonly [string, string, boolean?])[] = [
    [
      'Origin',
      'the kernel that the suite publishes for the task: every speed-up is against it, in the same data type.',
    ],
    ['Candidate', 'a rewritten version of it, made by an agent or a person.', candidates],
    [
      'Library',
      'the vendor’s function for the task (cuBLAS, cuDNN …) behind the same interface; not every task has one.',
      libraries,
    ],
    [
      'Published and large sizes',
      'published: those of the suite, many of which a GPU of today finishes in a few microseconds; large: the largest size at which an origin’s call stays within 100 ms on the reference GPU.',
    ],
    [
      'Time of a call (GPU span)',
      `from the first start to the last end of what the call does on the GPU, by CUPTI: robust mean over blocks and processes, L2 emptied before the call. “Caller” is what a caller waits for the function, by the host’s clock in calls of their own: on short calls it is mostly launch and memory management.${unwaited(r)}`,
    ],
    [
      '± and “to”',
      'a 95 % interval by bootstrap over processes and blocks: ± is its farther end, in % of the figure; where that is more than 10 %, both ends are written. It says how well this session knows the figure, not how other GPUs or drivers would differ.',
    ],
    [
      'Speed-up',
      'time of the origin over time of the other, both in the same session on the same GPU; above 1× the other is faster.',
    ],
    [
      'P',
      `mean of a version’s speed-ups over the sizes of a set, weighted by the work of a size (“share of P”).${candidates ? ' P_min is the smallest of them and the geometric mean weighs them alike: points without an interval of their own.' : ''}`,
    ],
    [
      'Faster, slower, not told apart',
      'whether the 95 % interval lies above 1×, below it, or holds it. Each by itself: no correction for the number of tasks.',
    ],
    [
      'Floor',
      'least time a call can take on that GPU: the largest of an empty kernel’s span, the least traffic over measured bandwidth, the arithmetic over the fastest pipe allowed. A bound, so it has no interval.',
    ],
    [
      'Error',
      'largest one over all verified inputs against a reference in double precision, in ulp (units in the last place) of the stored type. “Of the limit” decides: share of the error that the task allows; above 100 % a version is wrong. A maximum over what was checked, so it has no interval.',
    ],
    ['GPU A, B …', 'the machine that measured a row; they are listed under Environment.'],
    [
      'Bottleneck class',
      'by Nsight Compute of the launch with most time: compute where SM throughput is above θ; memory bandwidth where memory or DRAM throughput is; else memory latency. θ is 30 %, or that of this GPU’s calibration.',
      r.profiles.length > 0,
    ],
    [NONE_TERM, 'not measured, or not to be had; never zero.'],
  ];
  const shown = terms.filter(([, , show]) => show !== false);
  return `<dl>${shown.map(([term, text]) => `<dt>${escapeXml(term)}</dt><dd>${escapeXml(text)}</dd>`).join('\n')}</dl>`;
}

/** Size sets at which the caller's time was not taken. */
function unwaited(r: BenchReport): string {
  const without = sizeSets.filter((sizes) => {
    const rows = r.entries.filter((e) => e.sizes === sizes).flatMap((e) => e.rows);
    return rows.length > 0 && rows.every((row) => row.originWrapperNs === null);
  });
  return without.length === 0 ? '' : ` It was not measured at the ${without.join(' and ')} sizes.`;
}

const NONE_TERM = '– (a dash)';
