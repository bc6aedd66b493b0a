import { type Dtype, dtypes, type Estimate, type SizeSet, sizeSets, sizeText } from '../contract/index.ts';
import { type Cell, heading, htmlPage, htmlTable, paragraph } from '../profile/html.ts';
import { escapeXml } from '../profile/svg.ts';
import { classRows, PAPER } from './paper.ts';
import { allRooflinesSvg, classesSvg, errorSvg, type Heat, heatmapSvg, successSvg, times } from './pictures.ts';
import type { BenchReport, Entry } from './report.ts';

const NONE = '–';
const figure = (text: string): Cell => ({ figure: text });

/** "12.3 µs ±0.4 %": half the width of the interval beside every figure. */
function spanText(e: Estimate | null): Cell {
  if (e === null) return figure(NONE);
  const [factor, unit] = e.value >= 1e6 ? [1e6, 'ms'] : e.value >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return figure(`${Number((e.value / factor).toPrecision(4))} ${unit} ${spread(e)}`);
}
const spread = (e: Estimate): string => `±${((50 * (e.hi - e.lo)) / e.value).toPrecision(2)} %`;
const ratio = (e: Estimate | null): Cell => figure(e === null ? NONE : `${times(e.value)} ${spread(e)}`);
const number = (x: number | null, text: (x: number) => string): Cell => figure(x === null ? NONE : text(x));
const seconds = (s: number | null): Cell => number(s, (x) => x.toFixed(1));

/** The report of a bench as one page: no script, nothing loaded from elsewhere; light and dark by the reader's setting. */
export function reportHtml(report: BenchReport): string {
  const name = `Bench ${report.bench}`;
  return htmlPage(name, [
    `<h1>${escapeXml(name)}</h1>`,
    paragraph(summary(report)),
    ...environment(report),
    heading('What the time went into'),
    stageTable(report),
    ...success(report),
    ...heatmaps(report),
    ...profiles(report),
    ...dtypes.flatMap((dtype) => {
      const svg = errorSvg(report, dtype, `error-${dtype}`);
      return svg === '' ? [] : [heading(`Error against speed-up, ${dtype}`), svg];
    }),
    ...sizeSets.flatMap((sizes) => scores(report, sizes)),
    ...libraries(report),
    ...micro(report),
    heading('Every size'),
    ...report.entries.map(sizesTable),
    ...missing(report),
    ...outdated(report),
  ]);
}

const wrongWhenTimed: ReadonlySet<Entry['outcome']> = new Set(['wrong-result', 'race', 'cheat'] as const);

function summary(r: BenchReport): string {
  const { cells, entries } = r;
  // A version that was right when verified may still be wrong in a timed call.
  const verified = entries.filter((e) => e.verified && !wrongWhenTimed.has(e.outcome)).length;
  const open = cells.all - cells.measured;
  return [
    `${cells.measured} of ${cells.all} jobs have a result${open > 0 ? ` (${open} have none: see the end)` : ''}.`,
    r.outdated.length === 0
      ? ''
      : `${r.outdated.length} of them are of an earlier state of the tasks or the harness: they stay until they are measured again, and are named at the end.`,
    entries.length === 0 ? '' : `${verified} of ${entries.length} measured versions were proven correct.`,
    `Begun ${r.createdAt}, reported ${r.reportedAt}, CUDAMaster ${r.programVersion}.`,
    'Figures are GPU spans (interquartile means over processes) with half the width of their 95 % interval; a dash is a figure that was not measured.',
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function environment(r: BenchReport): string[] {
  const { gpu, clocks } = r;
  const rows = r.machines.map(({ machine: m, cells }): Cell[] => [
    m.gpu ? `${m.gpu.name} (${m.gpu.uuid}, compute capability ${m.gpu.cc})` : 'no GPU',
    m.driver ?? 'unknown',
    m.toolkit ?? 'unknown',
    m.nvcc ?? 'unknown',
    m.hostCompiler ?? 'unknown',
    m.ncu ?? 'none',
    m.containment,
    figure(String(cells)),
  ]);
  const mhz = (range: readonly [number, number]): string =>
    range[0] === range[1] ? `${range[0]}` : `${range[0]} to ${range[1]}`;
  return [
    heading('Environment'),
    htmlTable('Machines', ['GPU', 'Driver', 'CUDA', 'nvcc', 'Host compiler', 'ncu', 'Containment', 'Jobs'], rows),
    r.machines.length > 1
      ? paragraph('More than one environment: figures of different rows are not compared by anything but their ratios.')
      : '',
    paragraph(
      [
        gpu
          ? `${gpu.sms} multiprocessors, L2 ${(gpu.l2Bytes / 2 ** 20).toFixed(0)} MiB, memory ${(gpu.memoryBytes / 2 ** 30).toFixed(0)} GiB.`
          : '',
        clocks
          ? `Clocks seen during timing: SM ${mhz(clocks.sm)} MHz, memory ${mhz(clocks.memory)} MHz; never changed by us.`
          : 'Clocks were not read.',
      ].join(' '),
    ),
  ];
}

const stageTable = (r: BenchReport): string =>
  r.stages.length === 0
    ? paragraph('Nothing has been run yet.')
    : htmlTable(
        'Seconds. By the clock: how long at least one such step was under way; steps run beside each other, so sums exceed it',
        ['Pass', 'Step', 'Steps', 'Not ok', 'From cache', 'By the clock', 'Sum', 'GPU held'],
        r.stages.map((s): Cell[] => [
          s.stage,
          s.kind,
          figure(String(s.steps)),
          figure(String(s.failed)),
          figure(String(s.cached)),
          seconds(s.elapsedS),
          seconds(s.busyS),
          seconds(s.gpuS),
        ]),
      );

function success(r: BenchReport): string[] {
  if (r.success.length === 0) return [];
  return [
    heading('Cumulative success'),
    successSvg(r.success, 'success'),
    htmlTable(
      'Tasks with a speed-up of at least τ over their origin; one without a figure reaches none',
      ['Of', 'Type', 'Sizes', 'Tasks', 'No figure', ...(r.success[0]?.reached ?? []).map(({ tau }) => `τ = ${tau}`)],
      r.success.map((s): Cell[] => [
        s.of,
        s.dtype,
        s.sizes,
        figure(String(s.n)),
        figure(String(s.unknown)),
        ...s.reached.map(({ count }) => figure(`${count} (${((100 * count) / s.n).toFixed(0)} %)`)),
      ]),
    ),
  ];
}

const heats: readonly (Heat & { readonly id: string })[] = [
  {
    id: 'speedup',
    title: 'Speed-up of the candidate over its origin',
    value: (row) => row.speedup?.value ?? null,
    deepest: 32,
  },
  {
    id: 'library',
    title: 'Speed-up of the vendor library over the origin',
    value: (row) => row.librarySpeedup?.value ?? null,
    deepest: 32,
  },
  {
    id: 'headroom',
    title: 'Origin’s time over the least possible time on this GPU',
    value: (row) =>
      row.floorNs !== null && row.originSpanNs !== null && row.floorNs > 0
        ? row.originSpanNs.value / row.floorNs
        : null,
    deepest: 1000,
  },
];

/** One map per quantity, set and type; those without any figure are left out. */
function heatmaps(r: BenchReport): string[] {
  const maps = heats.flatMap((heat) =>
    groups(r.entries).flatMap(([dtype, sizes, all]) => {
      const entries = all.filter((e) => e.rows.some((row) => heat.value(row) !== null));
      const titled = { ...heat, title: `${heat.title}, ${dtype}, ${sizes} sizes` };
      return entries.length === 0 ? [] : [heatmapSvg(entries, titled, `heat-${heat.id}-${dtype}-${sizes}`)];
    }),
  );
  return maps.length === 0 ? [] : [heading('Task by size'), ...maps];
}

const groups = (entries: readonly Entry[]): [Dtype, SizeSet, Entry[]][] =>
  sizeSets.flatMap((sizes) =>
    dtypes.map((dtype): [Dtype, SizeSet, Entry[]] => [
      dtype,
      sizes,
      entries.filter((e) => e.dtype === dtype && e.sizes === sizes),
    ]),
  );

function profiles(r: BenchReport): string[] {
  if (r.profiles.length === 0) return [];
  const pct = (value: { available: boolean; value?: number } | undefined): Cell =>
    figure(value?.available && value.value !== undefined ? value.value.toFixed(1) : NONE);
  return [
    heading('Bottlenecks'),
    classesSvg(r.classes, 'classes'),
    classTable(r),
    allRooflinesSvg(r.profiles, 'rooflines'),
    htmlTable(
      `Launch with most time at the largest size (${r.config.profileSizes}), % of peak`,
      [
        'Task',
        'Type',
        'Version',
        'Class',
        'Launch bound',
        'SM',
        'Memory',
        'DRAM',
        'flop/byte',
        'Of its roof',
        'Remark',
      ],
      r.profiles.map((p): Cell[] => {
        const point = p.roofline?.points[0];
        return [
          p.task,
          p.dtype,
          p.version,
          p.bottleneck ?? 'no verdict',
          p.launchBound ? 'yes' : 'no',
          pct(p.throughputs?.compute),
          pct(p.throughputs?.memory),
          pct(p.throughputs?.dram),
          figure(point?.intensity.available ? String(Number(point.intensity.value.toPrecision(3))) : NONE),
          figure(point?.ofCeiling.available ? `${point.ofCeiling.value.toFixed(0)} %` : NONE),
          p.status === 'complete' ? '' : `${p.status}: ${p.reason}`,
        ];
      }),
    ),
  ];
}

/** Our classes beside the paper's; shares, since a bench may hold fewer tasks. */
function classTable(r: BenchReport): string {
  const names = ['compute', 'memory-bandwidth', 'memory-latency'] as const;
  const cell = (count: number, all: number): Cell =>
    figure(all === 0 ? NONE : `${count} (${((100 * count) / all).toFixed(0)} %)`);
  return htmlTable(
    `Tasks per class at 30 %, or at the thresholds of this GPU where it was calibrated, beside the paper's (${PAPER.gpu}, origins at its sizes)`,
    [
      'Of',
      'Profiled',
      'Compute',
      'Memory bandwidth',
      'Memory latency',
      'No verdict',
      'Launch bound (beside the class)',
    ],
    [
      ...classRows(r.classes).map((c): Cell[] => [
        `${c.dtype} ${c.version}`,
        figure(String(c.all)),
        ...names.map((name) => cell(c.counts[name], c.all)),
        cell(c.counts.none, c.all),
        cell(c.launchBound, c.all),
      ]),
      [
        'paper, origin',
        figure(String(PAPER.tasks)),
        ...names.map((name) => cell(PAPER.classes[name], PAPER.tasks)),
        figure(NONE),
        figure(NONE),
      ],
    ],
  );
}

/** The paper's six comparisons with known implementations, ours beside them. */
function micro(r: BenchReport): string[] {
  if (r.micro.length === 0) return [];
  const measured = r.micro.some((row) => row.candidate !== null);
  return [
    heading('The paper’s six comparisons'),
    htmlTable(
      `Speed-up over the origin at the largest size; the paper's on one ${PAPER.gpu} by its own protocol: another experiment`,
      [
        'Task',
        'Type',
        'Sizes',
        'Paper: against',
        'Its speed-up',
        'Paper: best',
        'Here',
        'Its speed-up',
        ...(measured ? ['Our candidate'] : []),
        'Why none',
      ],
      r.micro.map((row): Cell[] => [
        row.task,
        row.dtype ?? NONE,
        row.sizes ?? NONE,
        row.paper.baseline,
        figure(times(row.paper.theirs)),
        figure(times(row.paper.best)),
        row.library ?? NONE,
        ratio(row.ratio),
        ...(measured ? [ratio(row.candidate)] : []),
        row.why,
      ]),
    ),
  ];
}

function scores(r: BenchReport, sizes: SizeSet): string[] {
  const entries = r.entries.filter((e) => e.sizes === sizes);
  if (entries.length === 0) return [];
  const measured = entries.some((e) => e.candidate !== null);
  const head = [
    'Task',
    'Type',
    'Category',
    'Outcome',
    ...(measured ? ['Candidate', 'P', 'P_min', 'Geometric mean'] : []),
    'Library',
    'Its P',
    'Max error, ulp',
    'RMS, ulp',
    'Of the limit',
  ];
  return [
    heading(`Results at the ${sizes} sizes`),
    htmlTable(
      measured
        ? 'P is the weighted mean of the speed-ups over the origin'
        : 'Origins, and vendor libraries against them',
      head,
      entries.map((e): Cell[] => [
        e.task,
        e.dtype,
        e.category,
        e.outcome === 'valid' ? 'valid' : `${e.outcome}: ${e.reason}`,
        ...(measured ? [e.candidate ?? '', ratio(e.score), number(e.pMin, times), number(e.geomean, times)] : []),
        e.library === null
          ? ''
          : e.library.status === 'measured'
            ? e.library.title
            : `${e.library.title} ${e.library.status}`,
        ratio(e.library?.score ?? null),
        number(e.error?.maxUlp ?? null, (x) => x.toPrecision(3)),
        number(e.error?.rmsUlp ?? null, (x) => x.toPrecision(3)),
        number(e.error?.worstOfLimit ?? null, (x) => `${(100 * x).toPrecision(3)} %`),
      ]),
    ),
  ];
}

const stateOf = ({ status, reason }: NonNullable<Entry['library']>): string =>
  reason === '' ? status : `${status}: ${reason}`;

function libraries(r: BenchReport): string[] {
  const own = r.entries.filter((e) => e.library !== null);
  if (own.length === 0) return [];
  return [
    heading('Vendor libraries'),
    htmlTable(
      'In the same blocks as the others, proven by the same judge',
      ['Task', 'Type', 'Sizes', 'Library', 'State', 'Over origin', 'Least', 'Most', 'Max error, ulp'],
      own.map((e): Cell[] => {
        const ratios = e.rows.flatMap((row) => row.librarySpeedup?.value ?? []);
        return [
          e.task,
          e.dtype,
          e.sizes,
          e.library?.title ?? '',
          e.library ? stateOf(e.library) : '',
          ratio(e.library?.score ?? null),
          figure(ratios.length > 0 ? times(Math.min(...ratios)) : NONE),
          figure(ratios.length > 0 ? times(Math.max(...ratios)) : NONE),
          number(e.library?.maxUlp ?? null, (x) => x.toPrecision(3)),
        ];
      }),
    ),
  ];
}

function sizesTable(e: Entry): string {
  if (e.rows.length === 0) return '';
  const candidate = e.candidate !== null;
  const library = e.library?.status === 'measured';
  const foot = [
    e.processes === null ? '' : `${e.processes} processes`,
    e.calls === null ? '' : `${e.calls} timed calls`,
    e.voided === null ? '' : `${e.voided} void`,
  ].filter((text) => text !== '');
  return htmlTable(
    `${e.task} ${e.dtype}, ${e.sizes}${candidate ? `, ${e.candidate}` : ''} (${foot.join(', ')})`,
    [
      'Size',
      'Share of P',
      'Origin',
      'Origin, caller',
      ...(candidate ? ['Candidate', 'Candidate, caller', 'Speed-up'] : []),
      ...(library
        ? [e.library?.title ?? 'Library', 'Library over origin', ...(candidate ? ['Candidate over library'] : [])]
        : []),
      'Floor',
    ],
    e.rows.map((row): Cell[] => [
      sizeText(row.dims),
      figure(`${(100 * row.share).toFixed(1)} %`),
      spanText(row.originSpanNs),
      spanText(row.originWrapperNs),
      ...(candidate ? [spanText(row.candidateSpanNs), spanText(row.candidateWrapperNs), ratio(row.speedup)] : []),
      ...(library
        ? [
            spanText(row.librarySpanNs),
            ratio(row.librarySpeedup),
            ...(candidate ? [ratio(row.libraryVersusCandidate)] : []),
          ]
        : []),
      row.floorNs === null ? figure(NONE) : figure(`${Number((row.floorNs / 1000).toPrecision(3))} µs`),
    ]),
  );
}

const missing = (r: BenchReport): string[] =>
  r.missing.length === 0
    ? []
    : [
        heading('Without a result'),
        htmlTable(
          'Jobs that have none yet; `cudamaster bench resume` goes on with them',
          ['Job', 'Why'],
          r.missing.map(({ cell, reason }): Cell[] => [cell, reason]),
        ),
      ];

const outdated = (r: BenchReport): string[] =>
  r.outdated.length === 0
    ? []
    : [
        heading('Measured before a change'),
        paragraph(
          `The task, the harness or the plan has changed since; cudamaster bench resume measures them again: ${r.outdated.length === r.cells.measured ? 'all of them' : r.outdated.join(', ')}.`,
        ),
      ];
