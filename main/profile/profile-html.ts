import {
  type Evaluation,
  type Finding,
  type Heatmap,
  type Profile,
  replayWords,
  type SourceView,
} from '../contract/index.ts';
import { type Cell, heading, htmlPage, htmlTable, paragraph } from './html.ts';
import {
  rooflineSvg,
  rooflineWords,
  stallsSvg,
  stallTotals,
  throughputSvg,
  throughputsOf,
} from './profile-pictures.ts';
import { escapeXml } from './svg.ts';
import { launchOf, metric } from './table2.ts';

export interface ProfilePage {
  /** "dot_product fp32, origin". */
  readonly title: string;
  readonly evaluation: Pick<Evaluation, 'outcome' | 'reason' | 'machine' | 'gpu'>;
  readonly profile: Profile;
  /** When it was made, for a reader. */
  readonly date: string;
}

/** A profile as one HTML page: verdict, metrics, roofline, findings, source and machine code by heat. Loads and runs nothing. */
export function profileHtml({ title, evaluation, profile, date }: ProfilePage): string {
  const gpu = evaluation.machine?.gpu ?? null;
  const from = [
    gpu === null ? null : `${gpu.name}, compute capability ${gpu.cc}`,
    evaluation.machine?.driver ? `driver ${evaluation.machine.driver}` : null,
    profile.ncuVersion === null ? null : `ncu ${profile.ncuVersion}`,
    profile.problem === null ? null : `size ${profile.problem}`,
    date,
  ].filter((part) => part !== null);
  return htmlPage(`Profile of ${title}`, [
    `<h1>${escapeXml(`Profile of ${title}`)}</h1>`,
    paragraph(
      `${from.join('; ')}.${profile.launches.length === 0 ? '' : ` Collected by ${replayWords(profile.replay)}.`}`,
      true,
    ),
    paragraph(`${evaluation.outcome}: ${evaluation.reason}`),
    ...verdictPart(profile),
    ...rooflinePart(profile),
    ...findingsPart(profile.findings ?? []),
    ...sourcePart(profile),
    ...resourcesPart(profile),
  ]);
}

const value = (of: Profile['filtered'][number]['value']): Cell =>
  of.available ? { figure: `${Number(of.value.toPrecision(5))} ${of.unit}`.trim() } : `not available (${of.reason})`;

function verdictPart(profile: Profile): string[] {
  const { verdict, status, reason, remedy, remark } = profile;
  const out = [heading('Bottleneck')];
  if (status !== 'complete')
    out.push(paragraph(`The profile is ${status}: ${[reason ?? 'no reason given', remedy].filter(Boolean).join(' ')}`));
  if (remark !== undefined) out.push(paragraph(`Remark: ${remark}.`));
  if (verdict === null) return out;
  const name = verdict.bottleneck === null ? 'No verdict' : `${verdict.bottleneck} bound`;
  out.push(
    `<p><strong>${escapeXml(name)}${verdict.launchBound ? ', launch bound (grid below one wave)' : ''}</strong>: ${escapeXml(verdict.why)}</p>`,
  );
  const launch = launchOf(profile.launches, verdict);
  if (launch !== undefined) {
    const values = {
      compute: metric(launch, 'compute'),
      memory: metric(launch, 'memory'),
      dram: metric(launch, 'dram'),
    };
    out.push(throughputSvg(throughputsOf(values, verdict.thresholds)));
  }
  out.push(
    htmlTable(
      'What the bottleneck rule passes on',
      ['Metric', 'Value', 'Meaning'],
      profile.filtered.map((m) => [m.label, value(m.value), m.meaning]),
    ),
    launchTable(profile),
  );
  return out;
}

function launchTable({ launches, launchCount, verdict }: Profile): string {
  const rows = launches.map((launch): Cell[] => [
    `${launch.index}${launch.index === verdict?.launch ? ' (most time)' : ''}`,
    { code: launch.kernel },
    launch.grid.join(' × '),
    launch.block.join(' × '),
    value(metric(launch, 'duration')),
    value(metric(launch, 'occupancy')),
  ]);
  const more = launchCount === undefined ? '' : `, ${launches.length} of ${launchCount} kept`;
  return htmlTable(
    `Launches of one call${more}`,
    ['Launch', 'Kernel', 'Grid', 'Block', 'Duration under the profiler', 'Achieved occupancy'],
    rows,
  );
}

function rooflinePart({ roofline }: Profile): string[] {
  if (roofline === undefined) return [];
  return [heading('Roofline'), rooflineSvg(roofline), paragraph(rooflineWords(roofline), true)];
}

const ORDER: readonly Finding['state'][] = ['found', 'clear', 'unknown', 'not-applicable'];

function findingsPart(findings: readonly Finding[]): string[] {
  const sorted = [...findings].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const rows = sorted.map((f): Cell[] => [f.label, f.state, value(f.value), f.sentence, f.rule]);
  const found = findings.filter(({ state }) => state === 'found').length;
  return findings.length === 0
    ? []
    : [
        heading('Finer bottlenecks'),
        htmlTable(
          `${found} found of ${findings.length} looked for`,
          ['What', 'State', 'Value', 'Meaning', 'Rule'],
          rows,
        ),
      ];
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

function sourcePart({ source, heatmap }: Profile): string[] {
  const out = [heading('Source and machine code')];
  if (heatmap === undefined && source === undefined) return [];
  const totals = source === undefined ? [] : stallTotals(source);
  if (totals.length > 0) out.push(stallsSvg(totals));
  if (source !== undefined) out.push(lineTable(source, heatmap?.lines));
  if (heatmap !== undefined) {
    if (source === undefined && !heatmap.lines.available)
      out.push(paragraph(`No source lines: ${heatmap.lines.reason}.`));
    out.push(instructionTable(heatmap.instructions));
    if (heatmap.lines.available) out.push(...heatmap.lines.notes.map((note) => paragraph(note, true)));
  }
  if (source !== undefined) {
    const { lines, instructions } = source.omitted;
    if (lines + instructions > 0)
      out.push(paragraph(`Left out, with fewest samples: ${lines} lines, ${instructions} instructions.`, true));
    out.push(...source.notes.map((note) => paragraph(note, true)));
  }
  return out;
}

/** Lines in the order of the source, each with its share of all samples. */
function lineTable(source: SourceView, map: Heatmap | undefined): string {
  const total = source.samples ?? 0;
  const hottest = Math.max(1, ...source.lines.map((line) => line.samples ?? 0));
  const hot = new Map(map?.available === true ? map.rows.map((row) => [`${row.line}`, row]) : []);
  const rows = source.lines.map((line): Cell[] => {
    const row = hot.get(`${line.line}`);
    const share: Cell =
      line.samples === null
        ? 'no count'
        : {
            figure:
              total > 0
                ? `${percent(line.samples / total)}${row === undefined ? '' : ` ± ${percent(row.plusMinus)}`}`
                : '0 samples',
            heat: line.samples / hottest,
          };
    const waits = row?.dominant ? `${row.dominant.label} (${percent(row.dominant.share)})` : '';
    return [`${line.line}`, share, waits, { code: line.text }];
  });
  return htmlTable(
    `${source.function}: ${source.files.join(', ')}, ${total} samples`,
    ['Line', 'Share of samples (95 %)', 'Mostly waits for', 'Source'],
    rows,
  );
}

function instructionTable(map: Heatmap): string {
  if (!map.available) return paragraph(`No instructions: ${map.reason}.`);
  const rows = map.rows.map((row): Cell[] => [
    row.address ?? '',
    { figure: `${percent(row.share)} ± ${percent(row.plusMinus)}`, heat: row.heat },
    row.dominant === null ? '' : `${row.dominant.label} (${percent(row.dominant.share)})`,
    row.line === null ? '' : `${row.line}`,
    { code: row.text },
  ]);
  return htmlTable(
    'Hottest instructions',
    ['Address', 'Share of samples (95 %)', 'Mostly waits for', 'Line', 'Machine code'],
    rows,
  );
}

const count = (n: number | null): Cell => (n === null ? 'not known' : { figure: String(n) });

function resourcesPart({ static: kernels = [], stages = [] }: Profile): string[] {
  return [
    htmlTable(
      'Resources by the compiler (ptxas)',
      ['Kernel', 'Registers', 'Stack, bytes', 'Spill stores', 'Spill loads', 'Shared, bytes', 'Barriers', 'Target'],
      kernels.map((k) => [
        k.kernel,
        count(k.registers),
        count(k.stackBytes),
        count(k.spillStoreBytes),
        count(k.spillLoadBytes),
        count(k.sharedBytes),
        count(k.barriers),
        k.arch,
      ]),
    ),
    htmlTable(
      'How it was collected',
      ['Stage', 'Metrics asked', 'Sections', 'Launches', 'Passes', 'Collecting', 'Reading', 'Remarks'],
      stages.map((s) => [
        s.stage,
        count(s.metrics.length),
        s.sections.join(', '),
        count(s.launches),
        count(s.passes),
        { figure: `${(s.collectMs / 1000).toFixed(2)} s` },
        { figure: `${(s.importMs / 1000).toFixed(2)} s` },
        [
          s.replay === undefined ? '' : `by ${replayWords(s.replay)}`,
          s.unknown.length > 0 ? `not known here: ${s.unknown.join(', ')}` : '',
          s.note ?? '',
        ]
          .filter(Boolean)
          .join('; '),
      ]),
    ),
  ];
}
