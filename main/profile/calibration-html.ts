import {
  type Bottleneck,
  bottlenecks,
  type Calibration,
  type ThresholdProposal,
  throughputs,
} from '../contract/index.ts';
import { escapeXml, histogramSvg } from './histogram-svg.ts';

const STYLE =
  'body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}' +
  'table{border-collapse:collapse;margin:1rem 0}th,td{border:1px solid #bbb;padding:.3rem .6rem;text-align:left;vertical-align:top}' +
  'td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto;margin:1rem 0}';

/** A calibration as one HTML page: figures, histograms, classes before and after. No script, nothing loaded from elsewhere. */
export function calibrationHtml(calibration: Calibration): string {
  const { gpu, driver, date, dtype, ncuVersions, proposals } = calibration;
  const all = throughputs.map((key) => proposals[key]);
  const name = `Bottleneck thresholds of ${gpu.name}`;
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`,
    `<title>${escapeXml(name)}</title><style>${STYLE}</style></head><body>`,
    `<h1>${escapeXml(name)}</h1>`,
    `<p>${escapeXml(
      `${gpu.uuid}, compute capability ${gpu.cc}, driver ${driver}, ncu ${ncuVersions.join(', ') || 'unknown'}; ${calibration.tasks} tasks in ${dtype} at their large size; ${date}.`,
    )}</p>`,
    table(
      'Thresholds in % of peak',
      ['Throughput', 'Values', "Otsu's cut", 'η', 'Interval', 'In force', 'Why'],
      all.map(thresholdRow),
    ),
    ...all.map((proposal) => histogramSvg(proposal)),
    classTable(calibration),
    movedTable(calibration),
    missingTable(all),
    '</body></html>',
    '',
  ]
    .filter((part, at, parts) => part !== '' || at === parts.length - 1)
    .join('\n');
}

/** A cell: text, or a figure set to the right. */
type Cell = string | { readonly figure: string };

const figure = (value: number, digits = 1): Cell => ({ figure: value.toFixed(digits) });
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
  return table('Tasks per class', ['Class', "Paper's thresholds", 'Thresholds in force'], rows);
}

const movedTable = ({ verdicts: { moved } }: Calibration): string =>
  moved.length === 0
    ? '<p>No task changes its class.</p>'
    : table(
        'Tasks that change their class',
        ['Task', 'From', 'To'],
        moved.map(({ task, from, to }) => [task, className(from), className(to)]),
      );

function missingTable(all: readonly ThresholdProposal[]): string {
  const rows = all.flatMap(({ label, missing }) => missing.map(({ task, reason }): Cell[] => [task, label, reason]));
  return rows.length === 0 ? '' : table('Values that are missing', ['Task', 'Throughput', 'Reason'], rows);
}

function table(caption: string, head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cell = (of: Cell, at: number): string => {
    if (typeof of !== 'string') return `<td class="n">${escapeXml(of.figure)}</td>`;
    return at === 0 ? `<th scope="row">${escapeXml(of)}</th>` : `<td>${escapeXml(of)}</td>`;
  };
  return [
    `<table><caption>${escapeXml(caption)}</caption>`,
    `<thead><tr>${head.map((name) => `<th scope="col">${escapeXml(name)}</th>`).join('')}</tr></thead><tbody>`,
    ...rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`),
    '</tbody></table>',
  ].join('\n');
}
