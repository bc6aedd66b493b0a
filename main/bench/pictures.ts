import { bottlenecks, type Dtype } from '../contract/index.ts';
import { scaled } from '../profile/profile-pictures.ts';
import { coord, picture, svgLine, svgRect, svgText } from '../profile/svg.ts';
import { type Axis, BOLD, decade, decades, HIGH, INK, LOW, type Look, MARK, mark, RULE, ticks } from './axes.ts';
import type { BenchReport, Classes, ProfileEntry, Success } from './report.ts';
import { taus } from './report.ts';
import { letter, pointOf, times, ulps } from './words.ts';

const DASHES = ['', '6 3', '2 3', '8 3 2 3'];

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
    const stroke = `fill="none" stroke="${colour}" stroke-width="${group.sizes === 'large' ? 1.5 : 2.5}"${dash ? ` stroke-dasharray="${dash}"` : ''}`;
    const at = top + 20 * g + 4;
    const look: Look = {
      shape: group.dtype === 'fp32' ? 'circle' : 'square',
      hollow: group.sizes === 'large',
      label: '',
      colour,
    };
    return [
      `<polyline points="${points.map(([px, py]) => `${coord(px)},${coord(py)}`).join(' ')}" ${stroke}/>`,
      ...points.map(([px, py]) => mark(look, px, py)),
      `<line x1="440" y1="${at}" x2="470" y2="${at}" ${stroke}/>`,
      mark(look, 455, at),
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
      ...taus.map((tau, i) => svgText(x(i), bottom + 18, `${tau}×`, 'middle')),
      svgText((left + right) / 2, bottom + 38, 'τ: speed-up over the origin, ×', 'middle'),
      ...lines,
    ],
  });
}

/** Bottleneck classes of origins and candidates beside each other. */
export function classesSvg(classes: readonly Classes[], id: string): string {
  const [left, right, top, step] = [120, 720, 40, 30];
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
          : `${svgRect(x, y, width, 18, fills[k] as string, `stroke="${INK}" stroke-width="0.5" fill-opacity="0.5"`)}${svgText(x + width / 2, y + 13, width > 150 ? `${count} ${name.replace('-', ' ')}` : String(count), 'middle')}`;
      x += width;
      return bar;
    });
    return [svgText(left - 8, y + 13, `${c.dtype} ${c.version}`, 'end'), ...bars];
  });
  const names = ['compute', 'memory bandwidth', 'memory latency', 'no verdict'];
  const legend = names.map(
    (name, k) =>
      `${svgRect(left + k * 150, top + classes.length * step + 8, 14, 12, fills[k] as string, `stroke="${INK}" stroke-width="0.5" fill-opacity="0.5"`)}${svgText(left + k * 150 + 20, top + classes.length * step + 18, name)}`,
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

interface Mark extends Look {
  readonly x: number;
  readonly y: number;
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
  readonly legend: readonly (readonly [Omit<Look, 'label'>, string])[];
  readonly words: string;
}

/** Only what is drawn. */
const legendOf = (s: Scatter): Scatter['legend'] =>
  s.legend.filter(([look]) => s.marks.some((m) => m.shape === look.shape && m.hollow === look.hollow));

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
      ...legendOf(s).map(
        ([look, text], i) =>
          `${mark({ ...look, label: '' }, left + 6 + i * 150, bottom + 58)}${svgText(left + 16 + i * 150, bottom + 62, text)}`,
      ),
    ],
  });
}

/** Circles and squares, filled and hollow. */
const looks = (circle: string, square: string, [filled, hollow]: readonly [string, string]): Scatter['legend'] => [
  [{ shape: 'circle', hollow: false }, `${circle}, ${filled}`],
  [{ shape: 'circle', hollow: true }, `${circle}, ${hollow}`],
  [{ shape: 'square', hollow: false }, `${square}, ${filled}`],
  [{ shape: 'square', hollow: true }, `${square}, ${hollow}`],
];

/** Every profiled kernel under the measured roofs; of kernels with several pipes the one with most operations that has a roof. */
export function allRooflinesSvg(profiles: readonly ProfileEntry[], id: string): string {
  const marks = profiles.flatMap((p): Mark[] => {
    const point = pointOf(p);
    if (!point?.intensity.available || !point.rate.available || !(point.intensity.value > 0) || !(point.rate.value > 0))
      return [];
    const share = point.ofCeiling.available ? `, ${point.ofCeiling.value.toFixed(0)} % of its roof` : '';
    return [
      {
        x: point.intensity.value,
        y: point.rate.value,
        shape: p.version === 'origin' ? 'circle' : 'square',
        hollow: p.dtype !== 'fp32',
        label: `${p.task} ${p.dtype} (${point.label}): ${Number(point.intensity.value.toPrecision(3))} flop/byte, ${scaled(point.rate.value, 'flop/s')}${share}`,
      },
    ];
  });
  const roofed = profiles.find((p) => p.roofline?.peaks?.bytesPerS);
  const peaks = roofed?.roofline?.peaks;
  const bandwidth = peaks?.bytesPerS ?? null;
  const flat = peaks?.flopsPerS.fp32 ?? null;
  const ridge = bandwidth !== null && flat !== null ? flat / bandwidth : null;
  return scatter({
    id,
    title: `Roofline of all profiled kernels${roofed ? `; the roof is as measured on GPU ${letter(roofed.machine)}` : ''}`,
    xLabel: 'flop per byte of device memory',
    yLabel: 'flop per second',
    xText: decade,
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
          svgText(right - 4, y.at(flat) - 6, `FP32 FMA ${scaled(flat, 'flop/s')}`, 'end'),
        );
      const middle = start ** 0.25 * end ** 0.75;
      roof.push(svgText(x.at(middle) - 12, y.at(middle * bandwidth) - 6, `memory ${scaled(bandwidth, 'B/s')}`, 'end'));
      return roof;
    },
    legend: looks('origin', 'candidate', ['fp32', 'bf16']),
    words: `${marks.length} of ${profiles.length} profiled kernels have a position; the others executed no floating-point operation that ncu counts, or a figure is missing. ${marks.map((m) => m.label).join('. ')}`,
  });
}

/** Error against speed-up for one data type: candidates and libraries. */
export function errorSvg(report: BenchReport, dtype: Dtype, id: string): string {
  const marks = report.entries
    .filter((e) => e.dtype === dtype)
    .flatMap((e): Mark[] => {
      const out: Mark[] = [];
      const hollow = e.sizes === 'large';
      const add = (shape: Mark['shape'], who: string, ulp: number | null, speed: number | null): void => {
        // An exact result has no place on a logarithmic axis: it stands at a hundredth of an ulp, and its label says 0.
        if (ulp !== null && speed !== null)
          out.push({
            x: Math.max(0.01, ulp),
            y: speed,
            shape,
            hollow,
            label: `${e.task} ${e.sizes} ${who}: ${ulps(ulp)} ulp, ${times(speed)}`,
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
    xText: decade,
    yText: (v) => `${decade(v)}×`,
    marks,
    hold: { x: [], y: [1] },
    over: (_x, y, right) => [svgLine(76, y.at(1), right, y.at(1), INK, 'stroke-dasharray="4 3"')],
    legend: looks('candidate', 'library', ['published', 'large']),
    words: marks.map((m) => m.label).join('. '),
  });
}
