import { dtypes, type SizeSet, sizeSets, sizeText } from '../contract/index.ts';
import { type Cell, heading, htmlPage, htmlTable, paragraph, pictured } from '../profile/html.ts';
import { escapeXml } from '../profile/svg.ts';
import { inShort } from './headline.ts';
import { heatmaps } from './maps.ts';
import { meanings } from './meanings.ts';
import { classRows, PAPER } from './paper.ts';
import { allRooflinesSvg, classesSvg, errorSvg, successSvg } from './pictures.ts';
import type { BenchReport, Entry } from './report.ts';
import { rightOnly } from './right.ts';
import { errorSentence, roofSentence, successSentence } from './sentences.ts';
import { libraryTable, profileTable, scoreTable, taskSections } from './tables.ts';
import { byName, figure, letter, NONE, placeOf, ratio, seconds, taskCell, tasksOf } from './words.ts';

interface Section {
  readonly title: string;
  readonly id: string;
  readonly parts: readonly string[];
}

/** The report of a bench as one page: no script, nothing loaded from elsewhere; light and dark by the reader's setting. */
export function reportHtml(report: BenchReport): string {
  const name = `Bench ${report.bench}`;
  const ordered = { ...report, entries: byTask(report.entries.map(rightOnly)), profiles: byTask(report.profiles) };
  const sections = sectionsOf(ordered).filter(({ parts }) => parts.some((part) => part !== ''));
  return htmlPage(name, [
    `<h1>${escapeXml(name)}</h1>`,
    paragraph(summary(ordered)),
    contents(ordered, sections),
    ...sections.flatMap(({ title, id, parts }) => [heading(title, id), ...parts]),
  ]);
}

const byTask = <T extends { readonly task: string }>(items: readonly T[]): T[] =>
  items.toSorted((a, b) => byName(a.task, b.task));

/** What answers "is it faster, by how much, how sure, where not" comes first; how it was measured last. */
const sectionsOf = (r: BenchReport): Section[] => [
  { title: 'In short', id: 'short', parts: r.entries.length === 0 ? [] : inShort(r) },
  { title: 'How to read the figures', id: 'meanings', parts: r.entries.length === 0 ? [] : [meanings(r)] },
  { title: 'Task by size', id: 'sizes', parts: heatmaps(r) },
  { title: 'Cumulative success', id: 'success', parts: success(r) },
  { title: 'The paper’s six comparisons', id: 'paper', parts: micro(r) },
  { title: 'Bottlenecks', id: 'bottlenecks', parts: profiles(r) },
  ...dtypes.map((dtype) => ({
    title: `Error against speed-up, ${dtype}`,
    id: `errors-${dtype}`,
    parts: [pictured(errorSentence(r, dtype), errorSvg(r, dtype, `error-${dtype}`))],
  })),
  ...sizeSets.map((sizes: SizeSet) => ({
    title: `Results at the ${sizes} sizes`,
    id: `results-${sizes}`,
    parts: [scoreTable(r, sizes)],
  })),
  { title: 'Vendor libraries', id: 'libraries', parts: [libraryTable(r)] },
  { title: 'Every size', id: 'tasks', parts: taskSections(r) },
  { title: 'Environment', id: 'environment', parts: environment(r) },
  { title: 'What the time went into', id: 'time', parts: [stageTable(r)] },
  { title: 'Without a result', id: 'missing', parts: missing(r) },
  { title: 'Measured before a change', id: 'outdated', parts: outdated(r) },
];

/** Links to the sections, and to every task. */
function contents(r: BenchReport, sections: readonly Section[]): string {
  const link = (id: string, text: string): string => `<a href="#${escapeXml(id)}">${escapeXml(text)}</a>`;
  const tasks = tasksOf(r.entries);
  return [
    '<nav>',
    `<p>${sections.map(({ id, title }) => link(id, title)).join(' · ')}</p>`,
    tasks.length === 0 ? '' : `<p>Every size of: ${tasks.map((task) => link(placeOf(task), task)).join(' · ')}</p>`,
    '</nav>',
  ].join('');
}

const wrongWhenTimed: ReadonlySet<Entry['outcome']> = new Set(['wrong-result', 'race', 'cheat'] as const);

function summary(r: BenchReport): string {
  const { cells, entries } = r;
  // A version that was right when verified may still be wrong in a timed call.
  const verified = entries.filter((e) => e.verified && !wrongWhenTimed.has(e.outcome)).length;
  const refused = entries.filter((e) => e.outcome === 'screen-rejected').length;
  const measured = entries.length - refused;
  const open = cells.all - cells.measured - refused;
  return [
    `${cells.measured} of ${cells.all} jobs have a result${open > 0 ? ` (${open} have none: see the end)` : ''}.`,
    r.outdated.length === 0
      ? ''
      : `${r.outdated.length} of them are of an earlier state of the tasks or the harness: they stay until they are measured again, and are named at the end.`,
    measured === 0 ? '' : `${verified} of ${measured} measured versions were proven correct.`,
    refused === 0 ? '' : `${refused} were refused by the screen before they were built.`,
    r.machines.length === 0 ? '' : `Measured on ${gpus(r)}.`,
    `Begun ${r.createdAt}, reported ${r.reportedAt}, CUDAMaster ${r.programVersion}.`,
  ]
    .filter((text) => text !== '')
    .join(' ');
}

/** "4 NVIDIA H200 (GPUs A to D)": each model with how many machines. */
function gpus(r: BenchReport): string {
  const models = [...new Set(r.machines.map(({ machine }) => machine.gpu?.name ?? 'a machine without a GPU'))];
  return models
    .map((model) => {
      const own = r.machines.flatMap(({ machine }, i) =>
        (machine.gpu?.name ?? 'a machine without a GPU') === model ? [letter(i)] : [],
      );
      return own.length === 1 ? `one ${model} (GPU ${own[0]})` : `${own.length} × ${model} (GPUs ${own.join(', ')})`;
    })
    .join(' and ');
}

function environment(r: BenchReport): string[] {
  const { gpu, clocks } = r;
  const rows = r.machines.map(({ machine: m, cells }, i): Cell[] => [
    letter(i),
    m.gpu ? `${m.gpu.name}, compute capability ${m.gpu.cc}` : 'no GPU',
    m.gpu?.uuid ?? '',
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
  const at = r.machines.findIndex(({ machine }) => machine.gpu !== null && machine.gpu.uuid === gpu?.uuid);
  return [
    htmlTable(
      'Machines, by the letter that stands beside every result',
      ['Letter', 'GPU', 'UUID', 'Driver', 'CUDA', 'nvcc', 'Host compiler', 'ncu', 'Containment', 'Jobs'],
      rows,
    ),
    r.machines.length > 1
      ? paragraph(
          'A speed-up always sets versions beside each other that ran in the same session on the same GPU. Times and rates of different letters are of different GPUs: only their ratios are compared.',
        )
      : '',
    paragraph(
      [
        gpu
          ? `${at >= 0 ? `GPU ${letter(at)}: ` : ''}${gpu.sms} multiprocessors, L2 ${(gpu.l2Bytes / 2 ** 20).toFixed(0)} MiB, memory ${(gpu.memoryBytes / 2 ** 30).toFixed(0)} GiB.`
          : '',
        clocks
          ? `Clocks seen during timing, all GPUs: SM ${mhz(clocks.sm)} MHz, memory ${mhz(clocks.memory)} MHz; never changed by us.`
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
    pictured(successSentence(r.success), successSvg(r.success, 'success')),
    htmlTable(
      'Tasks with a speed-up of at least τ over their origin (P itself, not its interval); one without a figure reaches none',
      ['Of', 'Type', 'Sizes', 'Tasks', 'No figure', ...(r.success[0]?.reached ?? []).map(({ tau }) => `τ = ${tau}×`)],
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

function profiles(r: BenchReport): string[] {
  if (r.profiles.length === 0) return [];
  const classes = classRows(r.classes)
    .map(
      (c) =>
        `${c.dtype} ${c.version}s: ${c.counts.compute} of ${c.all} compute bound, ${c.counts['memory-bandwidth']} memory-bandwidth bound, ${c.counts['memory-latency']} memory-latency bound`,
    )
    .join('; ');
  return [
    pictured(`${classes}.`, classesSvg(r.classes, 'classes')),
    classTable(r),
    pictured(roofSentence(r.profiles), allRooflinesSvg(r.profiles, 'rooflines')),
    profileTable(r),
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
    htmlTable(
      `Speed-up over the origin at the largest size; the paper's on one ${PAPER.gpu} by its own protocol: another experiment`,
      [
        'Task',
        'Type',
        'Sizes',
        'Paper: against',
        'Paper: its speed-up',
        'Paper: best',
        'Here: library',
        'Here: its speed-up',
        ...(measured ? ['Here: candidate'] : []),
        'At the size',
        'GPU',
        'Why none',
      ],
      r.micro.map((row): Cell[] => [
        row.dtype === null ? row.task : taskCell(row.task),
        row.dtype ?? NONE,
        row.sizes ?? NONE,
        row.paper.baseline,
        figure(`${row.paper.theirs}×`),
        figure(`${row.paper.best}×`),
        row.library ?? NONE,
        ratio(row.ratio),
        ...(measured ? [ratio(row.candidate)] : []),
        row.at === null || (row.ratio === null && row.candidate === null) ? '' : sizeText(row.at),
        row.machine === null ? '' : letter(row.machine),
        row.why,
      ]),
    ),
  ];
}

const missing = (r: BenchReport): string[] =>
  r.missing.length === 0
    ? []
    : [
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
        paragraph(
          `The task, the harness or the plan has changed since; cudamaster bench resume measures them again: ${r.outdated.length === r.cells.measured ? 'all of them' : r.outdated.join(', ')}.`,
        ),
      ];
