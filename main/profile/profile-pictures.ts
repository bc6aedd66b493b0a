import type { MetricValue, Roofline, RooflinePoint, SourceView, Thresholds } from '../contract/index.ts';
import stallTable from './stalls.json' with { type: 'json' };
import { picture, svgLine, svgRect, svgText } from './svg.ts';

const INK = 'var(--ink, #1a1a1a)';
const RULE = 'var(--rule, #bbbbbb)';
const LOW = 'var(--low, #b9cde4)';
const HIGH = 'var(--high, #b3541e)';
const MARK = 'var(--mark, #7a1f5c)';

export interface Throughput {
  readonly label: string;
  readonly value: MetricValue;
  readonly threshold: number;
}

export const throughputsOf = (
  values: Readonly<Record<keyof Thresholds, MetricValue>>,
  over: Thresholds,
): Throughput[] => [
  { label: 'Compute (SM)', value: values.compute, threshold: over.compute },
  { label: 'Memory', value: values.memory, threshold: over.memory },
  { label: 'DRAM', value: values.dram, threshold: over.dram },
];

/** The three throughputs in % of peak with the threshold of each. A missing one has no bar, and says why. */
export function throughputSvg(bars: readonly Throughput[], id = 'throughput'): string {
  const [left, right, top, step] = [120, 600, 34, 34];
  const x = (percent: number): number => left + ((right - left) * Math.min(percent, 100)) / 100;
  const bottom = top + bars.length * step;
  const rows = bars.flatMap(({ label, value, threshold }, i) => {
    const y = top + i * step;
    const mark = svgLine(x(threshold), y, x(threshold), y + step, MARK, 'stroke-width="2" stroke-dasharray="5 3"');
    const name = svgText(left - 8, y + 21, label, 'end');
    if (!value.available) return [name, svgText(left + 6, y + 21, `not available: ${value.reason}`), mark];
    const fill = value.value > threshold ? HIGH : LOW;
    return [
      name,
      svgRect(left, y + 6, x(value.value) - left, step - 12, fill, `stroke="${INK}" stroke-width="0.5"`),
      svgText(Math.min(x(value.value) + 6, right - 40), y + 21, `${value.value.toFixed(1)} %`),
      mark,
    ];
  });
  const ticks = [0, 20, 40, 60, 80, 100].flatMap((at) => [
    svgLine(x(at), top, x(at), bottom, RULE, 'stroke-width="0.5"'),
    svgText(x(at), bottom + 16, String(at), 'middle'),
  ]);
  return picture({
    id,
    title: 'Throughputs in % of peak',
    words: bars
      .map(({ label, value, threshold }) =>
        value.available
          ? `${label} ${value.value.toFixed(1)} %, threshold ${threshold} %.`
          : `${label} not available: ${value.reason}.`,
      )
      .join(' '),
    width: 640,
    height: bottom + 34,
    body: [
      svgText(
        left,
        18,
        'Throughput, % of peak (dashed: threshold of the bottleneck rule)',
        'start',
        'font-weight="600"',
      ),
      ...ticks,
      ...rows,
    ],
  });
}

/** "3.9 TB/s", "61 Tflop/s". */
export function scaled(value: number, unit: string): string {
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  const at = value > 0 ? Math.min(prefixes.length - 1, Math.max(0, Math.floor(Math.log10(value) / 3))) : 0;
  return `${Number((value / 1000 ** at).toPrecision(3))} ${prefixes[at]}${unit}`;
}

interface Placed {
  readonly point: RooflinePoint;
  readonly x: number;
  readonly y: number;
}

/** Points with a position: no place is made up for the others. */
const placed = (roofline: Roofline): Placed[] =>
  roofline.points.flatMap((point) =>
    point.intensity.available && point.rate.available && point.intensity.value > 0 && point.rate.value > 0
      ? [{ point, x: point.intensity.value, y: point.rate.value }]
      : [],
  );

/** The launch under the measured roofs, both axes logarithmic. Roofs that were not measured are not drawn, and named as such. */
export function rooflineSvg(roofline: Roofline, id = 'roofline'): string {
  const points = placed(roofline);
  const peaks = roofline.peaks ?? { bytesPerS: null, flopsPerS: {} };
  // The roofs of the pipes that worked; without any the one of ordinary arithmetic.
  const worked = roofline.points.map(({ pipe }) => pipe);
  const drawn = worked.some((pipe) => (peaks.flopsPerS[pipe] ?? 0) > 0) ? worked : ['fp32'];
  const flats = Object.entries(peaks.flopsPerS).filter(([pipe, flops]) => flops > 0 && drawn.includes(pipe));
  const bandwidth = peaks.bytesPerS;
  const xs = [...points.map(({ x }) => x), ...(bandwidth ? flats.map(([, flops]) => flops / bandwidth) : []), 1];
  const [x0, x1] = [Math.floor(Math.log10(Math.min(...xs)) - 0.5), Math.ceil(Math.log10(Math.max(...xs)) + 0.7)];
  const ys = [
    ...points.map(({ y }) => y),
    ...flats.map(([, flops]) => flops),
    ...(bandwidth ? [bandwidth * 10 ** x0] : []),
  ];
  const [y0, y1] =
    ys.length === 0
      ? [9, 12]
      : [Math.floor(Math.log10(Math.min(...ys)) - 0.2), Math.ceil(Math.log10(Math.max(...ys)) + 0.2)];
  const [left, right, top, bottom] = [70, 616, 34, 300];
  const x = (value: number): number => left + ((right - left) * (Math.log10(value) - x0)) / (x1 - x0);
  const y = (value: number): number => bottom - ((bottom - top) * (Math.log10(value) - y0)) / (y1 - y0);
  const grid = [
    ...decades(x0, x1).flatMap((at) => [
      svgLine(x(10 ** at), top, x(10 ** at), bottom, RULE, 'stroke-width="0.5"'),
      svgText(x(10 ** at), bottom + 16, power(at), 'middle'),
    ]),
    ...decades(y0, y1).flatMap((at) => [
      svgLine(left, y(10 ** at), right, y(10 ** at), RULE, 'stroke-width="0.5"'),
      svgText(left - 6, y(10 ** at) + 4, scaled(10 ** at, ''), 'end'),
    ]),
  ];
  const roofs = roofLines(flats, bandwidth, { x, y, x0, x1, y1 });
  const marks = points.map(({ point, x: at, y: rate }) => {
    const label =
      `${point.label} ${point.ofCeiling.available ? `${point.ofCeiling.value.toFixed(1)} % of its roof` : ''}`.trim();
    const end = x(at) > right - 150;
    return [
      `<circle cx="${x(at).toFixed(1)}" cy="${y(rate).toFixed(1)}" r="5" fill="${HIGH}" stroke="${INK}"/>`,
      svgText(x(at) + (end ? -9 : 9), y(rate) + 4, label, end ? 'end' : 'start'),
    ].join('');
  });
  return picture({
    id,
    title: 'Roofline of the launch with most time',
    words: rooflineWords(roofline),
    width: 640,
    height: 346,
    body: [
      svgText(left, 18, 'Roofline: arithmetic against memory traffic, measured roofs', 'start', 'font-weight="600"'),
      ...grid,
      ...roofs,
      ...marks,
      points.length === 0 ? svgText((left + right) / 2, 160, 'no point: see the notes', 'middle') : '',
      svgText((left + right) / 2, bottom + 36, 'flop per byte of device memory', 'middle'),
      svgText(16, (top + bottom) / 2, 'flop/s', 'middle', `transform="rotate(-90 16 ${(top + bottom) / 2})"`),
    ],
  });
}

const decades = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
const power = (at: number): string =>
  at >= 0 && at <= 3 ? String(10 ** at) : at < 0 ? (10 ** at).toPrecision(1) : `1e${at}`;

interface Scale {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly x0: number;
  readonly x1: number;
  readonly y1: number;
}

function roofLines(
  flats: readonly (readonly [string, number])[],
  bandwidth: number | null,
  { x, y, x0, x1, y1 }: Scale,
): string[] {
  const most = Math.max(0, ...flats.map(([, flops]) => flops));
  const lines: string[] = [];
  if (bandwidth !== null && bandwidth > 0) {
    const end = most > 0 ? most / bandwidth : Math.min(10 ** x1, 10 ** y1 / bandwidth);
    const from = 10 ** x0;
    lines.push(svgLine(x(from), y(from * bandwidth), x(end), y(end * bandwidth), INK, 'stroke-width="2"'));
    lines.push(svgText(x(from * 3) + 8, y(from * 3 * bandwidth) + 16, scaled(bandwidth, 'B/s')));
  }
  for (const [pipe, flops] of flats) {
    const from = bandwidth !== null && bandwidth > 0 ? flops / bandwidth : 10 ** x0;
    lines.push(svgLine(x(from), y(flops), x(10 ** x1), y(flops), INK, 'stroke-width="2"'));
    lines.push(svgText(x(10 ** x1) - 4, y(flops) - 6, `${pipe} ${scaled(flops, 'flop/s')}`, 'end'));
  }
  return lines;
}

/** The roofline in words: one sentence per pipe, then what is missing. */
export function rooflineWords({ points, missing, peaks, notes }: Roofline): string {
  const said = points.map(({ label, intensity, rate, ofCeiling, under }) => {
    const where = intensity.available
      ? `${Number(intensity.value.toPrecision(3))} flop/byte`
      : `intensity not available (${intensity.reason})`;
    const speed = rate.available ? scaled(rate.value, 'flop/s') : `rate not available (${rate.reason})`;
    const share = ofCeiling.available
      ? `${ofCeiling.value.toFixed(1)} % of the measured ${under === 'bandwidth' ? 'bandwidth' : 'arithmetic'} roof`
      : ofCeiling.reason;
    return `${label}: ${where}, ${speed}, ${share}.`;
  });
  const measured = Object.keys(peaks?.flopsPerS ?? {});
  return [
    ...said,
    measured.length === 0
      ? 'No arithmetic peak of this GPU was measured.'
      : `Arithmetic peaks measured here: ${measured.join(', ')}; other pipes were not measured.`,
    ...missing.map(({ pipe, reason }) => `${pipe} not known: ${reason}.`),
    ...notes,
  ].join(' ');
}

export interface StallTotal {
  readonly stall: string;
  readonly label: string;
  readonly samples: number;
  readonly share: number;
}

/** Where warps stood over the whole kernel: samples by reason, most first; only of rows that are kept. */
export function stallTotals(view: SourceView): StallTotal[] {
  const rows = view.instructions.length > 0 ? view.instructions : view.lines;
  const sums = new Map<string, number>();
  for (const { stalls } of rows)
    for (const [stall, count] of Object.entries(stalls)) sums.set(stall, (sums.get(stall) ?? 0) + count);
  const total = [...sums.values()].reduce((sum, count) => sum + count, 0);
  const labels = new Map(stallTable.stalls.map(({ id, label }) => [id, label]));
  return [...sums]
    .map(([stall, samples]) => ({ stall, label: labels.get(stall) ?? stall, samples, share: samples / total }))
    .sort((a, b) => b.samples - a.samples);
}

/** The reasons with most samples as bars. */
export function stallsSvg(totals: readonly StallTotal[], id = 'stalls'): string {
  const shown = totals.slice(0, 10);
  const [left, right, top, step] = [170, 560, 34, 24];
  const most = Math.max(1e-9, ...shown.map(({ share }) => share));
  const bottom = top + shown.length * step;
  const rows = shown.flatMap(({ label, share, stall }, i) => {
    const y = top + i * step;
    const width = ((right - left) * share) / most;
    const fill = stall === 'selected' ? LOW : HIGH;
    return [
      svgText(left - 8, y + 16, label, 'end'),
      svgRect(left, y + 4, width, step - 8, fill, `stroke="${INK}" stroke-width="0.5"`),
      svgText(left + width + 6, y + 16, `${(100 * share).toFixed(1)} %`),
    ];
  });
  return picture({
    id,
    title: 'Where warps stood',
    words: shown.map(({ label, share }) => `${label} ${(100 * share).toFixed(1)} %.`).join(' '),
    width: 640,
    height: bottom + 12,
    body: [
      svgText(left, 18, 'Where sampled warps stood (pale: issuing)', 'start', 'font-weight="600"'),
      svgLine(left, top, left, bottom, INK),
      ...rows,
    ],
  });
}
