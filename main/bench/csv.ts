import { printable } from '../base/printable.ts';
import { type Estimate, sizeText } from '../contract/index.ts';
import type { BenchReport } from './report.ts';
import { rightOnly } from './right.ts';

export type Cell = string | number | null;

/** RFC 4180; null is an empty field, never 0. A text that a spreadsheet would take for a formula gets a leading apostrophe. */
const field = (value: Cell): string => {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  // Read in a terminal, too: what would act on it is shown as �.
  const shown = printable(value);
  const text = /^[=+\-@\t\r\ufffd]/.test(shown) ? `'${shown}` : shown;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Lines of fields, each ended by CR LF. */
export const csvText = (lines: readonly (readonly Cell[])[]): string =>
  `${lines.map((cells) => cells.map(field).join(',')).join('\r\n')}\r\n`;

export const three = (e: Estimate | null): Cell[] => (e === null ? [null, null, null] : [e.value, e.lo, e.hi]);
export const heads = (name: string): string[] => [name, `${name}_lo`, `${name}_hi`];

/** One line per task, data type and size; times in ns, intervals beside every figure. Entries without figures have one line with their outcome. */
export function reportCsv(report: BenchReport): string {
  const head = [
    ...['task', 'category', 'dtype', 'sizes', 'candidate', 'outcome', 'verified', 'problem', 'dims', 'share'],
    ...heads('origin_span_ns'),
    ...heads('origin_wrapper_ns'),
    ...heads('candidate_span_ns'),
    ...heads('candidate_wrapper_ns'),
    ...heads('speedup'),
    'library',
    'library_status',
    ...heads('library_span_ns'),
    ...heads('library_speedup'),
    ...heads('library_over_candidate'),
    'floor_ns',
    ...heads('P'),
    'P_min',
    'geomean',
    'max_ulp',
    'rms_ulp',
    'library_max_ulp',
    'bottleneck_origin',
    'bottleneck_candidate',
    'reason',
    'gpu',
    'gpu_uuid',
  ];
  const lines = report.entries.map(rightOnly).flatMap((e) => {
    const bottleneck = (version: 'origin' | 'candidate'): Cell =>
      report.profiles.find(
        (p) => p.task === e.task && p.dtype === e.dtype && p.version === version && p.sizes === e.sizes,
      )?.bottleneck ?? null;
    const own = (row: (typeof e.rows)[number] | null): Cell[] => [
      ...[e.task, e.category, e.dtype, e.sizes, e.candidate, e.outcome, e.verified ? 'yes' : 'no'],
      ...(row ? [row.problem, sizeText(row.dims), row.share] : [null, null, null]),
      ...three(row?.originSpanNs ?? null),
      ...three(row?.originWrapperNs ?? null),
      ...three(row?.candidateSpanNs ?? null),
      ...three(row?.candidateWrapperNs ?? null),
      ...three(row?.speedup ?? null),
      e.library?.title ?? null,
      e.library?.status ?? null,
      ...three(row?.librarySpanNs ?? null),
      ...three(row?.librarySpeedup ?? null),
      ...three(row?.libraryVersusCandidate ?? null),
      row?.floorNs ?? null,
      ...three(e.score),
      ...[e.pMin, e.geomean, e.error?.maxUlp ?? null, e.error?.rmsUlp ?? null, e.library?.maxUlp ?? null],
      bottleneck('origin'),
      bottleneck('candidate'),
      e.reason,
      report.machines[e.machine]?.machine.gpu?.name ?? null,
      report.machines[e.machine]?.machine.gpu?.uuid ?? null,
    ];
    return e.rows.length === 0 ? [own(null)] : e.rows.map(own);
  });
  return csvText([head, ...lines]);
}
