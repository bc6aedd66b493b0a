import { bottlenecks, type Dtype, sizeText } from '../contract/index.ts';
import { scaled } from '../profile/profile-pictures.ts';
import { coord, escapeXml, picture, svgLine, svgRect, svgText } from '../profile/svg.ts';
import type { BenchReport, Classes, Entry, ProfileEntry, SizeRow, Success } from './report.ts';
import { taus } from './report.ts';

const INK = 'var(--ink, #1a1a1a)';
const RULE = 'var(--rule, #bbbbbb)';
const LOW = 'var(--low, #b9cde4)';
const HIGH = 'var(--high, #b3541e)';
const MARK = 'var(--mark, #7a1f5c)';
const BOLD = 'font-weight="600"';
const DASHES = ['', '6 3', '2 3', '8 3 2 3'];

/** "12.3×" */
export const times = (x: number): string => `${x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2)}×`;

const groupName = (s: Success): string => `${s.of}, ${s.dtype}, ${s.sizes} (${s.n})`;

/** Share of tasks that are at least τ times as fast as their origin. */
export function successSvg(groups: readonly Success[], id: string): string {
  const [left, right, top, bottom] = [56, 420, 40, 260];
  const x = (i: number): number => left + ((right - left) * i) / (taus.length - 1);
  const y = (share: number): number => bottom - (bottom - top) * share;
  const lines = groups.flatMap((group, g) => {
    const points = group.reached.map(({ count }, i) => [x(i), y(count / group.n)] as const);
    const colour = group.of === 'candidate' ? HIGH : MARK;
    const dash = DASHES[g % DASHES.length];
    const stroke = `fill="none" stroke="${colour}" stroke-width="${group.sizes === 'large' ? 1 : 2.5}"${dash ? ` stroke-dasharray="${dash}"` : ''}`;
    const at = top + 20 * g + 4;
    return [
      `<polyline points="${points.map(([px, py]) => `${coord(px)},${coord(py)}`).join(' ')}" ${stroke}/>`,
      ...points.map(([px, py]) => `<circle cx="${coord(px)}" cy="${coord(py)}" r="3" fill="${colour}"/>`),
      `<line x1="440" y1="${at}" x2="470" y2="${at}" ${stroke}/>`,
      svgText(478, at + 4, groupName(group)),
    ];
  });
  return picture({
    id,
    title: 'Cumulative success over τ',
    words: groups
      .map(
        (g) =>
          `${groupName(g)}: ${g.reached.map(({ tau, count }) => `τ ${tau}: ${count}`).join(', ')}; ${g.unknown} without a figure.`,
      )
      .join(' '),
    width: 760,
    height: 310,
    body: [
      svgText(left, 20, 'Share of tasks with a speed-up of at least τ over their origin', 'start', BOLD),
      ...[0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
        svgLine(left, y(share), right, y(share), RULE, 'stroke-width="0.5"'),
        svgText(left - 6, y(share) + 4, `${share * 100} %`, 'end'),
      ]),
      ...taus.map((tau, i) => svgText(x(i), bottom + 18, String(tau), 'middle')),
      svgText((left + right) / 2, bottom + 38, 'τ', 'middle'),
      ...lines,
    ],
  });
}

/** What a heatmap colours: a ratio per task and size, 1 = neutral; null: not measured. */
export interface Heat {
  readonly title: string;
  readonly value: (row: SizeRow) => number | null;
  /** Ratio of the deepest colour. */
  readonly deepest: number;
}

/** A row per task, a column per size; deeper = larger ratio, the other colour below 1, empty = not measured. */
export function heatmapSvg(entries: readonly Entry[], heat: Heat, id: string): string {
  const [left, top, cell] = [170, 58, 18];
  const columns = Math.max(1, ...entries.map((e) => e.rows.length));
  const rows = entries.map((entry, r) => {
    const y = top + r * 16;
    const cells = entry.rows.map((row, c) => {
      const value = heat.value(row);
      const x = left + c * cell;
      const label = `<title>${escapeXml(`${entry.task} ${entry.dtype} ${sizeText(row.dims)}: ${value === null ? 'not measured' : times(value)}`)}</title>`;
      if (value === null)
        return `<g>${label}${svgRect(x, y, cell - 2, 13, 'none', `stroke="${RULE}" stroke-dasharray="2 2"`)}</g>`;
      const depth = Math.min(1, Math.abs(Math.log(value)) / Math.log(heat.deepest));
      const fill = svgRect(
        x,
        y,
        cell - 2,
        13,
        value >= 1 ? HIGH : MARK,
        `fill-opacity="${coord(0.08 + 0.92 * depth)}" stroke="${RULE}" stroke-width="0.5"`,
      );
      return `<g>${label}${fill}</g>`;
    });
    return [svgText(left - 8, y + 11, entry.task, 'end'), ...cells].join('');
  });
  const measured = entries.flatMap((e) => e.rows.map(heat.value)).filter((v) => v !== null);
  const width = Math.max(760, left + columns * cell + 20);
  const steps = heat.deepest > 32 ? [1 / 4, 1, 4, 16, 64, 256, 1000] : [1 / 4, 1, 2, 4, 8, 16, 32];
  const legend = steps
    .filter((v) => v <= heat.deepest)
    .map((v, i) => {
      const depth = Math.min(1, Math.abs(Math.log(v)) / Math.log(heat.deepest));
      const more = v === heat.deepest ? ' or more' : '';
      return `${svgRect(left + i * 66, top + entries.length * 16 + 14, 14, 12, v >= 1 ? HIGH : MARK, `fill-opacity="${coord(0.08 + 0.92 * depth)}" stroke="${RULE}"`)}${svgText(left + i * 66 + 18, top + entries.length * 16 + 24, `${v}×${more}`)}`;
    });
  return picture({
    id,
    title: heat.title,
    words: `${heat.title}: ${entries.length} tasks, ${measured.length} figures${measured.length === 0 ? '' : ` from ${times(Math.min(...measured))} to ${times(Math.max(...measured))}`}. Every figure stands in the tables below.`,
    width,
    height: top + entries.length * 16 + 40,
    body: [
      svgText(8, 20, heat.title, 'start', BOLD),
      svgText(8, 38, 'One column per size, in the task’s order; the figures are in the tables below'),
      ...rows,
      ...legend,
    ],
  });
}

/** Bottleneck classes of origins and candidates beside each other. */
export function classesSvg(classes: readonly Classes[], id: string): string {
  const [left, right, top, step] = [150, 600, 40, 30];
  const order = [...bottlenecks, 'none'] as const;
  const fills = [HIGH, LOW, MARK, 'none'];
  const rows = classes.flatMap((c, i) => {
    const all = order.reduce((sum, name) => sum + c.counts[name], 0);
    const y = top + i * step;
    let x = left;
    const bars = order.map((name, k) => {
      const count = c.counts[name];
      const width = all === 0 ? 0 : ((right - left) * count) / all;
      const bar =
        count === 0
          ? ''
          : `${svgRect(x, y, width, 18, fills[k] as string, `stroke="${INK}" stroke-width="0.5" fill-opacity="0.6"`)}${svgText(x + width / 2, y + 13, String(count), 'middle')}`;
      x += width;
      return bar;
    });
    return [svgText(left - 8, y + 13, `${c.dtype} ${c.version === 'origin' ? 'before' : 'after'}`, 'end'), ...bars];
  });
  const names = ['compute', 'memory bandwidth', 'memory latency', 'no verdict'];
  const legend = names.map(
    (name, k) =>
      `${svgRect(left + k * 150, top + classes.length * step + 8, 14, 12, fills[k] as string, `stroke="${INK}" stroke-width="0.5" fill-opacity="0.6"`)}${svgText(left + k * 150 + 20, top + classes.length * step + 18, name)}`,
  );
  return picture({
    id,
    title: 'Bottleneck classes',
    words: classes
      .map(
        (c) =>
          `${c.dtype} ${c.version}: ${order.map((name) => `${name} ${c.counts[name]}`).join(', ')}; ${c.launchBound} launch bound beside the class.`,
      )
      .join(' '),
    width: 740,
    height: top + classes.length * step + 36,
    body: [svgText(left, 20, 'Tasks per bottleneck class', 'start', BOLD), ...rows, ...legend],
  });
}

interface Axis {
  readonly from: number;
  readonly to: number;
  at(value: number): number;
}

/** Whole decades around the values. */
function decades(values: readonly number[], low: number, high: number): Axis {
  const from = Math.floor(Math.log10(Math.min(...values)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values))));
  return { from, to, at: (value) => low + ((high - low) * (Math.log10(value) - from)) / (to - from) };
}

const ticks = ({ from, to }: Axis): number[] => Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));

interface Mark {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly shape: 'circle' | 'square' | 'cross';
}

interface Scatter {
  readonly id: string;
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly yText: (value: number) => string;
  readonly xText: (value: number) => string;
  readonly marks: readonly Mark[];
  /** Further values that the axes must hold, and what is drawn over the grid. */
  readonly hold?: { readonly x: readonly number[]; readonly y: readonly number[] };
  readonly over?: (x: Axis, y: Axis, right: number) => string[];
  readonly legend: readonly (readonly [Mark['shape'], string])[];
  readonly words: string;
}

function mark({ shape, label }: Pick<Mark, 'shape' | 'label'>, x: number, y: number): string {
  const title = label === '' ? '' : `<title>${escapeXml(label)}</title>`;
  if (shape === 'circle')
    return `<circle cx="${coord(x)}" cy="${coord(y)}" r="4" fill="${HIGH}" fill-opacity="0.75" stroke="${INK}" stroke-width="0.5">${title}</circle>`;
  if (shape === 'square')
    return `<rect x="${coord(x - 4)}" y="${coord(y - 4)}" width="8" height="8" fill="${MARK}" fill-opacity="0.75" stroke="${INK}" stroke-width="0.5">${title}</rect>`;
  return `<path d="M${coord(x - 4)} ${coord(y - 4)}l8 8m0 -8l-8 8" stroke="${INK}" fill="none">${title}</path>`;
}

function scatter(s: Scatter): string {
  const [left, right, top, bottom] = [76, 620, 40, 320];
  const xs = [...s.marks.map((m) => m.x), ...(s.hold?.x ?? [])];
  const ys = [...s.marks.map((m) => m.y), ...(s.hold?.y ?? [])];
  if (s.marks.length === 0) return '';
  const x = decades(xs, left, right);
  const y = decades(ys, bottom, top);
  return picture({
    id: s.id,
    title: s.title,
    words: s.words,
    width: 660,
    height: 392,
    body: [
      svgText(left, 20, s.title, 'start', BOLD),
      ...ticks(x).flatMap((v) => [
        svgLine(x.at(v), top, x.at(v), bottom, RULE, 'stroke-width="0.5"'),
        svgText(x.at(v), bottom + 16, s.xText(v), 'middle'),
      ]),
      ...ticks(y).flatMap((v) => [
        svgLine(left, y.at(v), right, y.at(v), RULE, 'stroke-width="0.5"'),
        svgText(left - 6, y.at(v) + 4, s.yText(v), 'end'),
      ]),
      ...(s.over?.(x, y, right) ?? []),
      ...s.marks.map((m) => mark(m, x.at(m.x), y.at(m.y))),
      svgText((left + right) / 2, bottom + 36, s.xLabel, 'middle'),
      svgText(14, (top + bottom) / 2, s.yLabel, 'middle', `transform="rotate(-90 14 ${(top + bottom) / 2})"`),
      ...s.legend.map(
        ([shape, text], i) =>
          `${mark({ shape, label: '' }, left + 6 + i * 190, bottom + 58)}${svgText(left + 16 + i * 190, bottom + 62, text)}`,
      ),
    ],
  });
}

const plain = (value: number): string =>
  value >= 1 && value < 1e4 ? String(value) : value >= 0.001 && value < 1 ? String(value) : value.toExponential(0);

/** Every profiled kernel under the measured roofs; of kernels with several pipes the one with most operations. */
export function allRooflinesSvg(profiles: readonly ProfileEntry[], id: string): string {
  const marks = profiles.flatMap((p): Mark[] => {
    const point = p.roofline?.points[0];
    if (!point?.intensity.available || !point.rate.available || !(point.intensity.value > 0) || !(point.rate.value > 0))
      return [];
    const share = point.ofCeiling.available ? `, ${point.ofCeiling.value.toFixed(0)} % of its roof` : '';
    return [
      {
        x: point.intensity.value,
        y: point.rate.value,
        shape: p.version === 'origin' ? 'circle' : 'square',
        label: `${p.task} ${p.dtype} (${point.label}): ${Number(point.intensity.value.toPrecision(3))} flop/byte, ${scaled(point.rate.value, 'flop/s')}${share}`,
      },
    ];
  });
  const peaks = profiles.map((p) => p.roofline?.peaks).find((p) => p?.bytesPerS);
  const bandwidth = peaks?.bytesPerS ?? null;
  const flat = peaks?.flopsPerS.fp32 ?? null;
  const ridge = bandwidth !== null && flat !== null ? flat / bandwidth : null;
  return scatter({
    id,
    title: 'Roofline of all profiled kernels',
    xLabel: 'flop per byte of device memory',
    yLabel: 'flop/s',
    xText: plain,
    yText: (v) => scaled(v, ''),
    marks,
    hold: { x: ridge === null ? [] : [ridge], y: flat === null ? [] : [flat] },
    over: (x, y, right) => {
      if (bandwidth === null) return [];
      const start = Math.max(10 ** x.from, 10 ** y.from / bandwidth);
      const end = ridge ?? 10 ** x.to;
      const roof = [
        svgLine(x.at(start), y.at(start * bandwidth), x.at(end), y.at(end * bandwidth), INK, 'stroke-width="2"'),
      ];
      if (flat !== null && ridge !== null)
        roof.push(
          svgLine(x.at(ridge), y.at(flat), right, y.at(flat), INK, 'stroke-width="2"'),
          svgText(right - 4, y.at(flat) - 6, `FP32 ${scaled(flat, 'flop/s')}`, 'end'),
        );
      roof.push(svgText(x.at(start) + 10, y.at(start * bandwidth) + 18, scaled(bandwidth, 'B/s')));
      return roof;
    },
    legend: [
      ['circle', 'origin'],
      ['square', 'candidate'],
    ],
    words: `${marks.length} of ${profiles.length} profiled kernels have a position; the others executed no floating-point operation that ncu counts, or a figure is missing. ${marks.map((m) => m.label).join('. ')}`,
  });
}

/** Error against speed-up for one data type: candidates and libraries. */
export function errorSvg(report: BenchReport, dtype: Dtype, id: string): string {
  const marks = report.entries
    .filter((e) => e.dtype === dtype)
    .flatMap((e): Mark[] => {
      const out: Mark[] = [];
      const add = (shape: Mark['shape'], who: string, ulp: number | null, speed: number | null): void => {
        // An exact result has no place on a logarithmic axis: it stands at a hundredth of an ulp, and its label says 0.
        if (ulp !== null && speed !== null)
          out.push({
            x: Math.max(0.01, ulp),
            y: speed,
            shape,
            label: `${e.task} ${e.sizes} ${who}: ${ulp.toPrecision(3)} ulp, ${times(speed)}`,
          });
      };
      add('circle', 'candidate', e.verified && e.score ? (e.error?.maxUlp ?? null) : null, e.score?.value ?? null);
      add('square', e.library?.title ?? 'library', e.library?.maxUlp ?? null, e.library?.score?.value ?? null);
      return out;
    });
  return scatter({
    id,
    title: `Largest error against speed-up over origin, ${dtype}`,
    xLabel: 'largest error in ulp of the stored type (exact: at 0.01)',
    yLabel: 'speed-up over origin',
    xText: plain,
    yText: (v) => times(v).replace('.00', ''),
    marks,
    hold: { x: [], y: [1] },
    over: (_x, y, right) => [svgLine(76, y.at(1), right, y.at(1), INK, 'stroke-dasharray="4 3"')],
    legend: [
      ['circle', 'candidate'],
      ['square', 'library'],
    ],
    words: marks.map((m) => m.label).join('. '),
  });
}
