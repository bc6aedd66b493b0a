import {
  type Bottleneck,
  bottlenecks,
  type Calibration,
  type ThresholdProposal,
  throughputs,
} from '../contract/index.ts';
import { histogramSvg } from './histogram-svg.ts';
import { type Cell, figure, htmlPage, htmlTable, paragraph, pictured } from './html.ts';
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
    paragraph(summary(calibration)),
    htmlTable(
      'Thresholds in % of peak',
      ['Throughput', 'Values', "Otsu's cut, %", 'η', '95 % interval, %', 'In force, %', 'Why'],
      all.map(thresholdRow),
    ),
    paragraph(MEANING, true),
    ...all.map((proposal) => pictured(sentence(proposal), histogramSvg(proposal))),
    classTable(calibration),
    movedTable(calibration),
    valuesTable(all),
    missingTable(all),
  ]);
}

const NONE = 'not available';

const MEANING =
  'Otsu’s cut divides the tasks’ values into a low and a high class; η is the share of their variance that lies between the two (0 to 1: 1 = two points). The interval is a bootstrap over tasks. One profiled launch per task, the one with most time, measured once by Nsight Compute.';

/** What came of it: how many thresholds were adopted, how many tasks changed their class. */
function summary({ proposals, verdicts: { moved }, tasks }: Calibration): string {
  const adopted = throughputs.filter((key) => proposals[key].adopted);
  const names = adopted.map((key) => `${proposals[key].label} ${proposals[key].used.toFixed(1)} %`).join(', ');
  return `${adopted.length === 0 ? 'No threshold of this GPU is sure enough to replace the paper’s' : `${adopted.length} of ${throughputs.length} thresholds of the paper are replaced: ${names}`}; ${moved.length} of ${tasks} tasks change their class.`;
}

/** What the histogram shows. */
function sentence({ label, values, used, n, why }: ThresholdProposal): string {
  const high = values.filter(({ value }) => value > used).length;
  return `${label}: ${high} of ${n} tasks lie above the threshold in force, ${used.toFixed(1)} %. ${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
}

/** Every value of every throughput, the largest first: where the gap lies, and which tasks stand beside it. */
function valuesTable(all: readonly ThresholdProposal[]): string {
  const sorted = all.map(({ values }) => values.toSorted((a, b) => b.value - a.value));
  const rows = Array.from({ length: Math.max(...sorted.map(({ length }) => length)) }, (_, i): Cell[] => [
    String(i + 1),
    ...sorted.flatMap((values): Cell[] => {
      const of = values[i];
      return of === undefined ? ['', ''] : [of.task, figure(of.value, of.value > 0 && of.value < 0.1 ? 3 : 1)];
    }),
  ]);
  return htmlTable(
    'Values of the tasks in % of peak, the largest first',
    ['Rank', ...all.flatMap(({ label }) => [label, '%'])],
    rows,
  );
}

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
