import type { ThresholdProposal } from '../contract/index.ts';
import { type Histogram, histogram } from './histogram.ts';
import { coord, escapeXml } from './svg.ts';
import { PAPER_THRESHOLDS } from './table2.ts';

/** Drawing in SVG user units (pixels at 100 %). */
const SIZE = { width: 640, height: 372 } as const;
const PLOT = { left: 56, right: 624, top: 40, bottom: 264 } as const;
const BINS = 20;

/**
 * Colours are the variables of the page that holds the picture (light and dark by the reader's setting); a picture alone has none of
 * them and is drawn in the light ones.
 */
const INK = 'var(--ink,#1a1a1a)';
const PAPER = 'var(--paper,#ffffff)';
const EDGE = 'var(--edge,#33475b)';
const GRID = 'var(--rule,#d9d9d9)';
const BAND = 'var(--band,#f3e3a3)';
const MARK = 'var(--mark,#7a1f5c)';
const FAINT = 'var(--faint,#555555)';

const r = coord;
const points = (value: number): string => value.toFixed(1);
const x = (percent: number): number => PLOT.left + ((PLOT.right - PLOT.left) * Math.min(percent, 100)) / 100;
const tasks = (count: number): string => `${count} ${count === 1 ? 'task' : 'tasks'}`;

/**
 * The values of one throughput as a histogram in SVG, self-contained: bars of 5 points stacked by class under θ in force, the line
 * of θ, the paper's and Otsu's where they differ from it, the interval as a band. All that is drawn is also in `<desc>` as text.
 * `id` prefixes element ids: unique within a page, letters, digits and hyphens.
 */
export function histogramSvg(proposal: ThresholdProposal, id: string = proposal.metric): string {
  if (!/^[A-Za-z][\w-]*$/.test(id)) throw new RangeError(`histogramSvg: "${id}" is no element id`);
  const bars = histogram(
    proposal.values.map(({ value }) => value),
    proposal.used,
    BINS,
  );
  const top = Math.max(1, ...bars.bins.map(({ low, high }) => low + high));
  const step = tickStep(top);
  const ceiling = Math.ceil(top / step) * step;
  const y = (count: number): number => PLOT.bottom - ((PLOT.bottom - PLOT.top) * count) / ceiling;
  const title = `${proposal.label} of ${tasks(proposal.n)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${SIZE.height}" width="${SIZE.width}" height="${SIZE.height}" role="img" aria-labelledby="${id}-title ${id}-desc" font-family="system-ui, sans-serif" font-size="12" fill="${INK}">`,
    `<title id="${id}-title">${escapeXml(title)}</title>`,
    `<desc id="${id}-desc">${escapeXml(histogramText(proposal, bars))}</desc>`,
    `<rect width="${SIZE.width}" height="${SIZE.height}" fill="${PAPER}"/>`,
    `<text x="${PLOT.left}" y="20" font-size="14" font-weight="600">${escapeXml(title)}</text>`,
    band(proposal),
    ...yAxis(step, ceiling, y),
    ...bars.bins.flatMap(({ from, to, low, high }) => [
      bar('low', from, to, y(low), y(0), low),
      bar('high', from, to, y(low + high), y(low), high),
    ]),
    ...xAxis(),
    ...lines(proposal).map(
      ({ at, dash, color }) =>
        `<line x1="${r(x(at))}" x2="${r(x(at))}" y1="${PLOT.top - 8}" y2="${PLOT.bottom}" stroke="${color}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}/>`,
    ),
    ...legend(proposal, bars),
    proposal.n === 0
      ? `<text x="${(PLOT.left + PLOT.right) / 2}" y="150" text-anchor="middle">no task has a value</text>`
      : '',
    '</svg>',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

/** What the picture shows, in words: for screen readers, and for a log. */
export function histogramText(
  proposal: ThresholdProposal,
  bars: Histogram = histogram(
    proposal.values.map(({ value }) => value),
    proposal.used,
    BINS,
  ),
): string {
  const filled = bars.bins.flatMap(({ from, to, low, high }) =>
    low + high > 0 ? [`${from}-${to} %: ${low + high}`] : [],
  );
  const over = bars.over.low + bars.over.high;
  return [
    `${proposal.label} (${proposal.id}) in % of peak, one launch per task: ${tasks(proposal.n)}.`,
    `Threshold in force ${points(proposal.used)} %: ${bars.low} low, ${bars.high} high; ${proposal.why}.`,
    ...(proposal.missing.length === 0 ? [] : [`Without a value: ${tasks(proposal.missing.length)}.`]),
    ...(filled.length === 0 ? [] : [`Tasks per bin: ${filled.join(', ')}.`]),
    ...(over === 0 ? [] : [`Above 100 %: ${tasks(over)}, in no bar.`]),
  ].join(' ');
}

/** Step of whole counts that needs at most five ticks: 1, 2, 5, 10, … */
function tickStep(top: number): number {
  for (let power = 1; ; power *= 10) for (const step of [1, 2, 5]) if (top / (step * power) <= 5) return step * power;
}

const FILL = { low: 'var(--low,#b9cde4)', high: 'var(--high,#b3541e)' } as const;

/** The low class is pale with an outline, the high one dark: told apart without colour. */
function bar(side: 'low' | 'high', from: number, to: number, top: number, bottom: number, count: number): string {
  if (count === 0) return '';
  const label = `${from} to ${to} %: ${tasks(count)} ${side}`;
  return `<rect x="${r(x(from) + 1)}" y="${r(top)}" width="${r(x(to) - x(from) - 2)}" height="${r(bottom - top)}" fill="${FILL[side]}" stroke="${EDGE}"><title>${label}</title></rect>`;
}

function xAxis(): string[] {
  const ticks = Array.from({ length: 11 }, (_, i) => i * 10).map(
    (at) =>
      `<line x1="${r(x(at))}" x2="${r(x(at))}" y1="${PLOT.bottom}" y2="${PLOT.bottom + 5}" stroke="${INK}"/><text x="${r(x(at))}" y="${PLOT.bottom + 18}" text-anchor="middle">${at}</text>`,
  );
  return [
    `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${PLOT.bottom}" y2="${PLOT.bottom}" stroke="${INK}"/>`,
    ...ticks,
    `<text x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 36}" text-anchor="middle">% of peak</text>`,
  ];
}

function yAxis(step: number, ceiling: number, y: (count: number) => number): string[] {
  const counts = Array.from({ length: ceiling / step + 1 }, (_, i) => i * step);
  const middle = (PLOT.top + PLOT.bottom) / 2;
  return [
    ...counts.map(
      (count) =>
        `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${r(y(count))}" y2="${r(y(count))}" stroke="${GRID}"/><text x="${PLOT.left - 8}" y="${r(y(count) + 4)}" text-anchor="end">${count}</text>`,
    ),
    `<text x="16" y="${middle}" text-anchor="middle" transform="rotate(-90 16 ${middle})">tasks per ${100 / BINS} points</text>`,
  ];
}

function band({ cut }: ThresholdProposal): string {
  if (!cut.available || !cut.interval.available) return '';
  const [low, high] = [x(cut.interval.low), x(cut.interval.high)];
  return `<rect x="${r(low)}" y="${PLOT.top}" width="${r(Math.max(1, high - low))}" height="${PLOT.bottom - PLOT.top}" fill="${BAND}"/>`;
}

interface Line {
  readonly at: number;
  readonly dash: string;
  readonly color: string;
  readonly text: string;
}

/** θ in force is solid; the paper's and Otsu's are dashed, where they are not in force. */
function lines({ cut, adopted, used, metric }: ThresholdProposal): Line[] {
  const paper = PAPER_THRESHOLDS[metric];
  const of = adopted ? "Otsu's" : "the paper's";
  const found: Line[] = [{ at: used, dash: '', color: INK, text: `θ in force ${points(used)} % (${of})` }];
  if (adopted) found.push({ at: paper, dash: '2 4', color: FAINT, text: `the paper's ${points(paper)} %` });
  if (!adopted && cut.available)
    found.push({
      at: cut.threshold,
      dash: '7 4',
      color: MARK,
      text: `Otsu's ${points(cut.threshold)} %, not adopted`,
    });
  return found;
}

/** Three columns below the axis: classes, lines, interval and what is not drawn. */
function legend(proposal: ThresholdProposal, bars: Histogram): string[] {
  const row = (at: number): number => PLOT.bottom + 60 + 20 * at;
  const box = (at: number, left: number, fill: string, text: string): string =>
    `<rect x="${left}" y="${row(at) - 10}" width="16" height="11" fill="${fill}" stroke="${EDGE}"/><text x="${left + 22}" y="${row(at)}">${escapeXml(text)}</text>`;
  const { cut, missing } = proposal;
  const over = bars.over.low + bars.over.high;
  const interval = cut.available && cut.interval.available ? cut.interval : null;
  const notes = [
    ...(missing.length === 0 ? [] : [`${tasks(missing.length)} without a value`]),
    ...(over === 0 ? [] : [`${tasks(over)} above 100 %, not drawn`]),
  ];
  return [
    box(0, PLOT.left, FILL.low, `low: ${tasks(bars.low)}`),
    box(1, PLOT.left, FILL.high, `high: ${tasks(bars.high)}`),
    ...lines(proposal).map(
      ({ dash, color, text }, i) =>
        `<line x1="190" x2="214" y1="${row(i) - 4}" y2="${row(i) - 4}" stroke="${color}" stroke-width="2"${dash === '' ? '' : ` stroke-dasharray="${dash}"`}/><text x="220" y="${row(i)}">${escapeXml(text)}</text>`,
    ),
    ...(interval === null
      ? []
      : [
          box(
            0,
            424,
            BAND,
            `${Math.round(interval.level * 100)} % interval ${points(interval.low)} to ${points(interval.high)} %`,
          ),
        ]),
    ...notes.map((text, i) => `<text x="424" y="${row(i + 1)}">${text}</text>`),
  ];
}
