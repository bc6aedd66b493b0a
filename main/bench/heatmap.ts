import { type Estimate, sizeText } from '../contract/index.ts';
import { escapeXml, picture, svgRect, svgText } from '../profile/svg.ts';
import { BOLD, HIGH, MARK, RULE } from './axes.ts';
import type { Entry, SizeRow } from './report.ts';
import { list, median, NONE, placeOf, tasksOf, times } from './words.ts';

/** What a heatmap colours: a ratio per task and size, 1 = neutral; null: not measured. */
export interface Heat {
  readonly title: string;
  readonly value: (row: SizeRow) => number | null;
  /** Its interval, where it has one. */
  readonly interval?: (row: SizeRow) => Estimate | null;
  /** Ratio of the deepest colour. */
  readonly deepest: number;
}

const [LEFT, TOP, WIDE, HIGH_ROW, PER_LINE] = [170, 76, 40, 18, 16];
/** Figures stand on the colour: half of it leaves them a contrast of 4.5:1 in both themes. */
const DEEPEST = 0.5;

const depthOf = (value: number, deepest: number): number =>
  0.04 + (DEEPEST - 0.04) * Math.min(1, Math.abs(Math.log(value)) / Math.log(deepest));

/** A ratio in at most five characters; in brackets where its interval holds 1. */
function short(value: number, interval: Estimate | null): string {
  const text =
    value >= 1e4
      ? `${(value / 1000).toFixed(0)}k`
      : value >= 100
        ? value.toFixed(0)
        : value >= 10
          ? value.toFixed(1)
          : value.toFixed(2);
  return interval !== null && interval.lo <= 1 && interval.hi >= 1 ? `(${text})` : text;
}

function cell(x: number, y: number, row: SizeRow, heat: Heat, about: string): string {
  const value = heat.value(row);
  const label = `<title>${escapeXml(`${about} ${sizeText(row.dims)}: ${value === null ? 'not measured' : times(value)}`)}</title>`;
  const box = [x, y, WIDE - 2, HIGH_ROW - 2] as const;
  const middle = (text: string): string => svgText(x + WIDE / 2 - 1, y + 12, text);
  if (value === null)
    return `<g>${label}${svgRect(...box, 'none', `stroke="${RULE}" stroke-dasharray="2 2"`)}${middle(NONE)}</g>`;
  const fill = `fill-opacity="${depthOf(value, heat.deepest).toFixed(2)}" stroke="${RULE}" stroke-width="0.5"`;
  return `<g>${label}${svgRect(...box, value >= 1 ? HIGH : MARK, fill)}${middle(short(value, heat.interval?.(row) ?? null))}</g>`;
}

/**
 * A row per task of one data type: first its large sizes, then the published ones in the task's order, sixteen to a line. Every cell has its
 * figure; deeper = farther from 1, the other colour below it.
 */
export function heatmapSvg(entries: readonly Entry[], heat: Heat, id: string): string {
  const of = (task: string, sizes: Entry['sizes']): readonly SizeRow[] =>
    entries.filter((e) => e.task === task && e.sizes === sizes).flatMap((e) => e.rows);
  const tasks = tasksOf(entries);
  const large = Math.max(0, ...tasks.map((task) => of(task, 'large').length));
  const start = LEFT + large * WIDE + (large > 0 ? 12 : 0);
  const dtype = entries[0]?.dtype ?? '';
  let y = TOP;
  let widest = 0;
  const rows = tasks.map((task) => {
    const published = of(task, 'published');
    widest = Math.max(widest, Math.min(PER_LINE, published.length));
    const parts = [
      `<a href="#${placeOf(task)}">${svgText(LEFT - 8, y + 12, task, 'end')}</a>`,
      '<g font-size="11" text-anchor="middle">',
      ...of(task, 'large').map((row, i) => cell(LEFT + i * WIDE, y, row, heat, `${task} ${dtype} large`)),
      ...published.map((row, i) =>
        cell(start + (i % PER_LINE) * WIDE, y + Math.floor(i / PER_LINE) * HIGH_ROW, row, heat, `${task} ${dtype}`),
      ),
      '</g>',
    ];
    y += HIGH_ROW * Math.max(1, Math.ceil(published.length / PER_LINE));
    return parts.join('');
  });
  const width = Math.max(760, start + widest * WIDE + 12);
  return picture({
    linked: true,
    id,
    title: heat.title,
    words: `${heat.title}. ${heatSentence(entries, heat)}`,
    width,
    height: y + 44,
    body: [
      svgText(8, 20, heat.title, 'start', BOLD),
      svgText(
        8,
        38,
        'Figures are ratios (×). A cell per size, in the task’s order; tasks with more than sixteen go on below. In brackets: the interval holds 1.',
      ),
      large > 0 ? svgText(LEFT, TOP - 8, 'large', 'start', BOLD) : '',
      widest > 0 ? svgText(start, TOP - 8, 'published', 'start', BOLD) : '',
      ...rows,
      ...legend(heat.deepest, y + 14),
    ],
  });
}

function legend(deepest: number, y: number): string[] {
  const steps = deepest > 32 ? [1 / 4, 1, 4, 16, 64, 256, 1000] : [1 / 32, 1 / 4, 1, 2, 4, 8, 16, 32];
  return steps.map((v, i) => {
    const x = LEFT + i * (steps.length > 7 ? 84 : 74) + (i > 0 && steps[0] === 1 / deepest ? 28 : 0);
    const text = `${v < 1 ? `1/${1 / v}` : v}×${v === deepest ? ' or more' : v === 1 / deepest ? ' or less' : ''}`;
    const fill = `fill-opacity="${depthOf(v, deepest).toFixed(2)}" stroke="${RULE}"`;
    return `${svgRect(x, y, 14, 12, v >= 1 ? HIGH : MARK, fill)}${svgText(x + 18, y + 10, text)}`;
  });
}

/** How many figures, how many on either side of 1, the middle and the ends with their places. */
export function heatSentence(entries: readonly Entry[], heat: Heat): string {
  const found = entries.flatMap((e) =>
    e.rows.flatMap((row) => {
      const value = heat.value(row);
      return value === null ? [] : [{ value, where: `${e.task} ${sizeText(row.dims)}` }];
    }),
  );
  const sorted = found.toSorted((a, b) => a.value - b.value);
  const [least, most] = [sorted[0], sorted.at(-1)];
  const middle = median(sorted.map(({ value }) => value));
  if (least === undefined || most === undefined || middle === null) return 'No figure.';
  const below = sorted.filter(({ value }) => value < 1).length;
  const without = tasksOf(entries).filter(
    (task) => !entries.some((e) => e.task === task && e.rows.some((row) => heat.value(row) !== null)),
  );
  return [
    `${sorted.length} figures of ${tasksOf(entries).length - without.length} tasks, ${below} below 1×, median ${times(middle)};`,
    `least ${times(least.value)} (${least.where}), most ${times(most.value)} (${most.where}).`,
    ...(without.length > 0 ? [`No figure: ${list(without)}.`] : []),
  ].join(' ');
}
