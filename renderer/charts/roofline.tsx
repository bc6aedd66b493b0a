import type { Chart, ChartConfiguration, ChartDataset } from 'chart.js';
import { useCallback, useMemo, useRef, useState } from 'react';
import { axis, type ChartTokens } from '../ui/chart-look.ts';
import { Segmented } from '../ui/controls.tsx';
import { metric, percent, si } from '../ui/format.ts';
import { Picture } from './picture.tsx';
import {
  type PlacedPoint,
  type RooflineModel,
  type RooflineOf,
  type RoofName,
  roofLabels,
  rooflineModel,
} from './roofline-model.ts';

const STYLE: Record<
  RooflineOf['role'],
  { readonly shape: 'circle' | 'triangle' | 'rectRot' | 'star'; readonly radius: number; readonly series: number }
> = {
  selected: { shape: 'circle', radius: 6, series: 1 },
  best: { shape: 'star', radius: 7, series: 2 },
  compared: { shape: 'triangle', radius: 6, series: 3 },
  origin: { shape: 'rectRot', radius: 6, series: 0 },
};

/** Rate over arithmetic intensity, both logarithmic, under the measured roofs of this GPU. Points by pointer, by keyboard, and as a table. */
export function RooflineChart({ of, height = 300 }: { readonly of: readonly RooflineOf[]; readonly height?: number }) {
  const model = useMemo(() => rooflineModel(of), [of]);
  const [view, setView] = useState<'chart' | 'table'>('chart');
  const chart = useRef<Chart | null>(null);
  const config = useCallback((look: ChartTokens) => configOf(model, look), [model]);
  const point = (at: number | null): void => {
    const made = chart.current;
    if (made === null) return;
    const active = at === null ? [] : [{ datasetIndex: model.roofs.length + at, index: 0 }];
    made.setActiveElements(active);
    made.tooltip?.setActiveElements(active, { x: 0, y: 0 });
    made.update('none');
  };
  return (
    <div>
      <div className="roofline-bar">
        <Segmented
          label="Roofline as"
          value={view}
          onChange={setView}
          options={[
            { value: 'chart', label: 'Chart' },
            { value: 'table', label: 'Table' },
          ]}
        />
      </div>
      {view === 'table' ? (
        <PointTable model={model} of={of} />
      ) : (
        <>
          <Picture label={summary(model)} height={height} config={config} chart={chart} />
          <ul className="chart-points" aria-label="Points of the roofline">
            {model.points.map((placed, at) => (
              <li key={`${placed.role} ${placed.version} ${placed.point.pipe}`}>
                <button
                  type="button"
                  className="chart-point"
                  onFocus={() => point(at)}
                  onBlur={() => point(null)}
                  onPointerEnter={() => point(at)}
                  onPointerLeave={() => point(null)}
                  title={words(placed).join(', ')}
                >
                  <Mark role={placed.role} />
                  {placed.label} · {placed.point.label}{' '}
                  <span className="muted">
                    {placed.point.ofCeiling.available ? `${metric(placed.point.ofCeiling).text} of roof` : 'no roof'}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {model.absent.length > 0 && (
        <ul className="notes">
          {[...new Set(model.absent)].map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

const MARKS: Record<RooflineOf['role'], string> = {
  selected: 'M2 6a4 4 0 1 0 8 0a4 4 0 1 0 -8 0',
  origin: 'M6 1l5 5-5 5-5-5z',
  compared: 'M6 1.500 11 10.500H1z',
  best: 'M6 1v10M1.700 3.500l8.600 5M10.300 3.500l-8.600 5',
};
const Mark = ({ role }: { readonly role: RooflineOf['role'] }) => (
  <svg
    width="12"
    height="12"
    viewBox="0 0 12 12"
    aria-hidden="true"
    fill={`var(--series-${STYLE[role].series + 1})`}
    stroke={`var(--series-${STYLE[role].series + 1})`}
    strokeWidth={role === 'best' ? 1.8 : 0}
  >
    <path d={MARKS[role]} />
  </svg>
);

const summary = ({ points, roofs }: RooflineModel): string =>
  `Roofline with ${roofs.length} roofs and ${points.length} points. ${points.map((p) => words(p).join(', ')).join('. ')}`;

function words({ label, point, x, y }: PlacedPoint): string[] {
  const roof = point.ofCeiling.available
    ? `${metric(point.ofCeiling).text} of its ${point.under === 'bandwidth' ? 'bandwidth' : 'compute'} roof`
    : `no roof: ${point.ofCeiling.reason}`;
  return [`${label}, ${point.label}`, `${si(x, 'FLOP/B')}`, `${si(y, 'FLOP/s')}`, roof];
}

function configOf({ roofs, points, x, y }: RooflineModel, look: ChartTokens): ChartConfiguration {
  const roofSets: ChartDataset<'scatter'>[] = roofs.map((roof, i) => ({
    label: roof.label,
    data: roof.points as { x: number; y: number }[],
    showLine: true,
    borderColor: roof.pipe === null ? look.text : (look.series[(i + 3) % look.series.length] ?? look.muted),
    borderWidth: 1.5,
    borderDash: roof.pipe === null ? [] : [6, 3],
    pointRadius: 0,
    pointHitRadius: 0,
    // Drawn before the points.
    order: 1,
  }));
  const pointSets: ChartDataset<'scatter'>[] = points.map((placed) => {
    const { shape, radius, series } = STYLE[placed.role];
    const colour = look.series[series] ?? look.accent;
    return {
      label: `${placed.label}, ${placed.point.label}`,
      data: [{ x: placed.x, y: placed.y }],
      order: 0,
      pointStyle: shape,
      radius,
      hoverRadius: radius + 3,
      hitRadius: 8,
      backgroundColor: colour,
      borderColor: shape === 'star' ? colour : look.surface,
      borderWidth: shape === 'star' ? 2 : 1,
      hoverBorderColor: look.text,
      hoverBorderWidth: 2,
    };
  });
  const decades = (min: number, max: number, title: string) =>
    axis(look, title, {
      type: 'logarithmic',
      min,
      max,
      ticks: {
        maxRotation: 0,
        callback: (value: string | number) => (Number.isInteger(Math.log10(Number(value))) ? power(Number(value)) : ''),
      },
    });
  const config: ChartConfiguration<'scatter'> = {
    type: 'scatter',
    data: { datasets: [...roofSets, ...pointSets] },
    options: {
      scales: {
        x: decades(x[0], x[1], 'Arithmetic intensity, FLOP per DRAM byte'),
        y: decades(y[0], y[1], 'Rate, FLOP/s'),
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          filter: ({ datasetIndex }) => datasetIndex >= roofs.length,
          callbacks: {
            title: () => '',
            label: ({ datasetIndex }) => {
              const placed = points[datasetIndex - roofs.length];
              return placed === undefined ? '' : words(placed);
            },
          },
        },
      },
    },
    plugins: [roofNames(roofs, look)],
  };
  return config as ChartConfiguration;
}

const FONT = 11;

/** 0.01, 10, "1 T": whole decades only. */
function power(value: number): string {
  if (value < 1) return `${Number(value.toPrecision(1))}`;
  const prefix = Math.min(5, Math.floor(Math.round(Math.log10(value)) / 3));
  return `${Math.round(value / 1000 ** prefix)}${['', ' k', ' M', ' G', ' T', ' P'][prefix]}`;
}

/** Names of the roofs on their lines: no legend to look up. The first roof is drawn last; the points come after the names. */
const roofNames = (roofs: RooflineModel['roofs'], look: ChartTokens) => ({
  id: 'roofNames',
  afterDatasetDraw(chart: Chart, { index }: { readonly index: number }) {
    if (index !== 0 || roofs.length === 0) return;
    const { ctx, chartArea } = chart;
    ctx.save();
    ctx.font = `${FONT}px ${look.font}`;
    ctx.fillStyle = look.muted;
    const flat: RoofName[] = [];
    // Words that cross a line stay legible.
    ctx.lineJoin = 'round';
    ctx.lineWidth = 3;
    ctx.strokeStyle = look.surface;
    const write = (text: string, x: number, y: number): void => {
      ctx.strokeText(text, x, y);
      ctx.fillText(text, x, y);
    };
    for (const [i, roof] of roofs.entries()) {
      const line = chart.getDatasetMeta(i).data;
      const [from, to] = [line[0], line[1]];
      if (!from || !to) continue;
      if (roof.pipe !== null) {
        flat.push({ label: roof.label, rate: roof.points[0]?.y ?? 0, at: to.y });
        continue;
      }
      const text = `${roof.label} ${si((roof.points[0]?.y ?? 0) / (roof.points[0]?.x ?? 1), 'B/s')}`;
      ctx.save();
      ctx.translate((from.x + to.x) / 2, (from.y + to.y) / 2);
      ctx.rotate(Math.atan2(to.y - from.y, to.x - from.x));
      ctx.textAlign = 'center';
      write(text, 0, -6);
      ctx.restore();
    }
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const { text, at } of roofLabels(flat, FONT + 2)) write(text, chartArea.right - 4, at);
    ctx.restore();
  },
});

function PointTable({ model, of }: { readonly model: RooflineModel; readonly of: readonly RooflineOf[] }) {
  const rows = of.flatMap(({ version, label, roofline }) =>
    (roofline?.points ?? []).map((point) => ({ version, label, point })),
  );
  return (
    <div className="table-scroll" tabIndex={0} role="group" aria-label="Roofline as a table">
      <table className="figure-table">
        <thead>
          <tr>
            <th scope="col">Version</th>
            <th scope="col">Pipe</th>
            <th scope="col" className="num">
              Operations
            </th>
            <th scope="col" className="num">
              Share
            </th>
            <th scope="col" className="num">
              FLOP/B
            </th>
            <th scope="col" className="num">
              Rate
            </th>
            <th scope="col" className="num">
              Roof
            </th>
            <th scope="col" className="num">
              Of roof
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ version, label, point }) => (
            <tr key={`${label} ${version} ${point.pipe}`}>
              <th scope="row">{label}</th>
              <td>{point.label}</td>
              <td className="num">{si(point.flop, 'FLOP')}</td>
              <td className="num">{percent(point.share)}</td>
              {[point.intensity, point.rate, point.ceiling, point.ofCeiling].map((value, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: four fixed columns
                <td key={i} className="num" title={metric(value).title}>
                  {value.available ? metric(value).text.replace('flop/byte', '') : '–'}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        <tfoot>
          {model.roofs.map((roof) => (
            <tr key={roof.label}>
              <th scope="row" colSpan={6}>
                {roof.label}
              </th>
              <td className="num" colSpan={2}>
                {roof.pipe === null
                  ? si((roof.points[0]?.y ?? 0) / (roof.points[0]?.x ?? 1), 'B/s')
                  : si(roof.points[0]?.y, 'FLOP/s')}
              </td>
            </tr>
          ))}
        </tfoot>
      </table>
    </div>
  );
}
