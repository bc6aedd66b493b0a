import {
  type Bottleneck,
  bottlenecks,
  type Calibration,
  type ThresholdProposal,
  throughputs,
} from '../contract/index.ts';
import { histogramSvg } from './histogram-svg.ts';
import { type Cell, figure, htmlPage, htmlTable, paragraph } from './html.ts';
import { escapeXml } from './svg.ts';

/** A calibration as one HTML page: figures, histograms, classes before and after. No script, nothing loaded from elsewhere. */
export function calibrationHtml(calibration: Calibration): string {
  const { gpu, driver, date, dtype, ncuVersions, proposals } = calibration;
  const all = throughputs.map((key) => proposals[key]);
  const name = `Bottleneck thresholds of ${gpu.name}`;
  return htmlPage(name, [
    `<h1>${escapeXml(name)}</h1>`,
    paragraph(
      `${gpu.uuid}${calibration.pooled ? ` (profiles of ${calibration.pooled.length} GPUs of this model)` : ''}, compute capability ${gpu.cc}, driver ${driver}, ncu ${ncuVersions.join(', ') || 'unknown'}; ${calibration.tasks} tasks in ${dtype} at their large size; ${date}.`,
    ),
    htmlTable(
      'Thresholds in % of peak',
      ['Throughput', 'Values', "Otsu's cut", 'η', 'Interval', 'In force', 'Why'],
      all.map(thresholdRow),
    ),
    ...all.map((proposal) => histogramSvg(proposal)),
    classTable(calibration),
    movedTable(calibration),
    missingTable(all),
  ]);
}

const NONE = 'not available';

function thresholdRow({ label, n, cut, adopted, used, why }: ThresholdProposal): Cell[] {
  const interval = cut.available && cut.interval.available ? cut.interval : null;
  return [
    label,
    figure(n, 0),
    cut.available ? figure(cut.threshold) : NONE,
    cut.available ? figure(cut.eta, 3) : NONE,
    interval === null ? NONE : { figure: `${interval.low.toFixed(1)} to ${interval.high.toFixed(1)}` },
    { figure: `${used.toFixed(1)} (${adopted ? 'adopted' : 'paper'})` },
    why,
  ];
}

const className = (name: Bottleneck | null): string => (name === null ? 'no verdict' : `${name} bound`);

function classTable({ verdicts: { before, after } }: Calibration): string {
  const rows = [...bottlenecks, null].map((name): Cell[] => [
    className(name),
    figure(before[name ?? 'none'], 0),
    figure(after[name ?? 'none'], 0),
  ]);
  rows.push([
    'known to be launch bound (beside the class)',
    figure(before.launchBound, 0),
    figure(after.launchBound, 0),
  ]);
  return htmlTable('Tasks per class', ['Class', "Paper's thresholds", 'Thresholds in force'], rows);
}

const movedTable = ({ verdicts: { moved } }: Calibration): string =>
  moved.length === 0
    ? '<p>No task changes its class.</p>'
    : htmlTable(
        'Tasks that change their class',
        ['Task', 'From', 'To'],
        moved.map(({ task, from, to }) => [task, className(from), className(to)]),
      );

function missingTable(all: readonly ThresholdProposal[]): string {
  const rows = all.flatMap(({ label, missing }) => missing.map(({ task, reason }): Cell[] => [task, label, reason]));
  return rows.length === 0 ? '' : htmlTable('Values that are missing', ['Task', 'Throughput', 'Reason'], rows);
}
