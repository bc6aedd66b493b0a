import {
  type Dtype,
  dtypes,
  type SizeSet,
  sanitizedFact,
  sanitizedText,
  sizeSets,
  sizeText,
} from '../contract/index.ts';
import { type Cell, htmlTable, paragraph } from '../profile/html.ts';
import { escapeXml } from '../profile/svg.ts';
import { verdictText } from './headline.ts';
import type { BenchReport, Entry, ProfileEntry, SizeRow } from './report.ts';
import {
  byName,
  figure,
  letter,
  list,
  NONE,
  number,
  percent,
  placeOf,
  pointOf,
  ratio,
  span,
  taskCell,
  tasksOf,
  times,
  ulps,
} from './words.ts';

const ofLimit = (x: number | null | undefined): Cell => number(x ?? null, (share) => `${percent(100 * share)} %`);
const error = (x: number | null | undefined): Cell => number(x ?? null, ulps);

/** One row per entry at the sizes: outcome, P of candidate and library, errors. '' without entries. */
export function scoreTable(r: BenchReport, sizes: SizeSet): string {
  const entries = r.entries.filter((e) => e.sizes === sizes);
  const measured = entries.some((e) => e.candidate !== null);
  const remarks = entries.some((e) => e.outcome !== 'valid' && e.reason !== '');
  const whose = measured ? 'candidate' : 'origin';
  return htmlTable(
    `P is the weighted mean of the speed-ups over the origin at the ${sizes} sizes, with its 95 % interval; errors are the ${whose}’s`,
    [
      'Task',
      'Type',
      'GPU',
      'Outcome',
      ...(measured ? ['P of the candidate', 'Sanitized', 'Against origin', 'P_min', 'Geometric mean'] : []),
      'Library',
      'P of the library',
      'Against origin',
      'Max error, ulp',
      'RMS error, ulp',
      'Of the limit',
      'Category',
      ...(measured ? ['Candidate'] : []),
      ...(remarks ? ['Why'] : []),
    ],
    entries.map((e): Cell[] => [
      taskCell(e.task),
      e.dtype,
      letter(e.machine),
      e.outcome,
      ...(measured
        ? [
            ratio(e.score),
            e.sanitized ? sanitizedFact(e.sanitized) : '',
            verdictText(e.score),
            number(e.pMin, times),
            number(e.geomean, times),
          ]
        : []),
      e.library === null
        ? 'none'
        : e.library.status === 'measured'
          ? e.library.title
          : `${e.library.title} ${e.library.status}`,
      ratio(e.library?.score ?? null),
      verdictText(e.library?.score ?? null),
      error(e.error?.maxUlp),
      error(e.error?.rmsUlp),
      ofLimit(e.error?.worstOfLimit),
      e.category,
      ...(measured ? [e.candidate ?? ''] : []),
      ...(remarks ? [e.outcome === 'valid' ? '' : e.reason] : []),
    ]),
  );
}

const stateOf = ({ status, reason }: NonNullable<Entry['library']>): string =>
  reason === '' ? status : `${status}: ${reason}`;

/** Every library arm with its state, its smallest and largest ratio of a size, and its error. '' without any. */
export function libraryTable(r: BenchReport): string {
  return htmlTable(
    'Timed in the same blocks as the others, proven by the same judge; each ratio with its 95 % interval',
    [
      'Task',
      'Type',
      'Sizes',
      'GPU',
      'Library',
      'State',
      'P over origin',
      'Smallest of a size',
      'Largest of a size',
      'Max error, ulp',
      'Of the limit',
    ],
    r.entries.flatMap((e): Cell[][] => {
      if (e.library === null) return [];
      const ratios = e.rows.flatMap((row) => row.librarySpeedup ?? []).sort((a, b) => a.value - b.value);
      return [
        [
          taskCell(e.task),
          e.dtype,
          e.sizes,
          letter(e.machine),
          e.library.title,
          stateOf(e.library),
          ratio(e.library.score),
          ...(ratios.length === 1
            ? ['one size', 'one size']
            : [ratio(ratios[0] ?? null), ratio(ratios.at(-1) ?? null)]),
          error(e.library.maxUlp),
          ofLimit(e.library.worstOfLimit),
        ],
      ];
    }),
  );
}

const remarkOf = (p: ProfileEntry): string =>
  [p.status === 'complete' ? '' : `${p.status}: ${p.reason}`, p.remark ?? ''].filter((text) => text !== '').join('; ');

/** Launch with most time of every profile: class, throughputs, place under the roof. '' without profiles. */
export function profileTable(r: BenchReport): string {
  const remarks = r.profiles.some((p) => remarkOf(p) !== '');
  const pct = (value: { available: boolean; value?: number } | undefined): Cell =>
    figure(value?.available && value.value !== undefined ? `${percent(value.value)} %` : NONE);
  return htmlTable(
    `Launch with most time at the largest size (${r.config.profileSizes}), throughputs in % of the GPU’s peak: one profiled call, so without an interval`,
    [
      'Task',
      'Type',
      'Version',
      'GPU',
      'Class',
      'Launch bound',
      'SM',
      'Memory',
      'DRAM',
      'Pipe',
      'flop/byte',
      'Of its roof',
      ...(remarks ? ['Remark'] : []),
    ],
    r.profiles.map((p): Cell[] => {
      const point = pointOf(p);
      return [
        taskCell(p.task),
        p.dtype,
        p.version,
        letter(p.machine),
        p.bottleneck ?? 'no verdict',
        p.launchBound ? 'yes' : 'no',
        pct(p.throughputs?.compute),
        pct(p.throughputs?.memory),
        pct(p.throughputs?.dram),
        point?.label ?? NONE,
        figure(point?.intensity.available ? ulps(point.intensity.value) : NONE),
        pct(point?.ofCeiling),
        ...(remarks ? [remarkOf(p)] : []),
      ];
    }),
  );
}

/** A section per task that has entries: what measured it, and one table of all its sizes in both types. */
export const taskSections = (r: BenchReport): string[] =>
  tasksOf(r.entries).flatMap((task) => {
    const entries = r.entries.filter((e) => e.task === task);
    const first = entries[0] as Entry;
    const table = sizesTable(entries);
    return [
      `<h3 id="${placeOf(task)}">${escapeXml(`${task} – ${first.title} (${first.category})`)}</h3>`,
      paragraph(entries.map(originOf).join('; '), true),
      table === '' ? paragraph('No figure of a size.') : table,
    ];
  });

/** "fp32 published: GPU A, valid, 3 processes, 1536 timed calls, 0 void" */
function originOf(e: Entry): string {
  return [
    `${e.dtype} ${e.sizes}: GPU ${letter(e.machine)}`,
    e.candidate === null ? '' : e.candidate,
    e.outcome,
    e.sanitized && e.sanitized.state !== 'yes' ? sanitizedText(e.sanitized) : '',
    e.library === null ? 'no library' : e.library.status === 'measured' ? '' : `${e.library.title} ${e.library.status}`,
    e.processes === null ? '' : `${e.processes} processes`,
    e.calls === null ? '' : `${e.calls} timed calls`,
    e.voided === null ? '' : `${e.voided} void`,
  ]
    .filter((text) => text !== '')
    .join(', ');
}

interface Line {
  readonly sizes: SizeSet;
  readonly dtype: Dtype;
  readonly row: SizeRow;
  readonly machine: number;
}

/** Published sizes first, the types of a size under each other. */
const linesOf = (entries: readonly Entry[]): Line[] =>
  sizeSets.flatMap((sizes) => {
    const own = entries.filter((e) => e.sizes === sizes);
    const problems = [...new Set(own.flatMap((e) => e.rows.map(({ problem }) => problem)))];
    return problems.flatMap((problem) =>
      dtypes.flatMap((dtype) =>
        own
          .filter((e) => e.dtype === dtype)
          .flatMap((e) =>
            e.rows.flatMap((row): Line[] =>
              row.problem === problem ? [{ sizes, dtype, row, machine: e.machine }] : [],
            ),
          ),
      ),
    );
  });

function sizesTable(entries: readonly Entry[]): string {
  const candidate = entries.some((e) => e.candidate !== null);
  const library = entries.some((e) => e.library?.status === 'measured');
  const titles = [...new Set(entries.flatMap((e) => (e.library?.status === 'measured' ? e.library.title : [])))];
  return htmlTable(
    `${entries[0]?.task ?? ''}: time of a call (GPU span; “caller”: as its caller waits), each with its 95 % interval`,
    [
      'Size',
      'Set',
      'Type',
      'GPU',
      'Share of P',
      ...(candidate ? ['Candidate over origin'] : []),
      ...(library ? [...(candidate ? ['Candidate over library'] : []), 'Library over origin'] : []),
      'Origin',
      ...(candidate ? ['Candidate'] : []),
      ...(library ? [list(titles.sort(byName))] : []),
      'Floor',
      'Origin, caller',
      ...(candidate ? ['Candidate, caller'] : []),
    ],
    linesOf(entries).map(({ sizes, dtype, row, machine }): Cell[] => [
      sizeText(row.dims),
      sizes,
      dtype,
      letter(machine),
      figure(`${percent(100 * row.share)} %`),
      ...(candidate ? [ratio(row.speedup)] : []),
      ...(library ? [...(candidate ? [ratio(row.libraryVersusCandidate)] : []), ratio(row.librarySpeedup)] : []),
      span(row.originSpanNs),
      ...(candidate ? [span(row.candidateSpanNs)] : []),
      ...(library ? [span(row.librarySpanNs)] : []),
      row.floorNs === null ? figure(NONE) : figure(`${Number((row.floorNs / 1000).toPrecision(3))} µs`),
      span(row.originWrapperNs),
      ...(candidate ? [span(row.candidateWrapperNs)] : []),
    ]),
  );
}
