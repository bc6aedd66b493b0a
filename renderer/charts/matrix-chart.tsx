import type { Chart, ChartConfiguration } from 'chart.js';
import { useCallback, useState } from 'react';
import type { ChartTokens } from '../ui/chart-look.ts';
import { Segmented } from '../ui/controls.tsx';
import './scale.css';
import { Picture } from './picture.tsx';
import { changeClass, changeColour } from './scale.ts';

/** One cell of a matrix: its value as text, the step of the scale of changes, and what a reader hears. */
export interface MatrixCell {
  readonly text: string;
  readonly step: number;
  readonly spoken: string;
  readonly missing: boolean;
}
export interface Matrix {
  /** What the ends of the colour scale mean: "half", "double the origin". */
  readonly ends: readonly [less: string, more: string];
  readonly columns: readonly { readonly id: string; readonly label: string; readonly marked: boolean }[];
  readonly rows: readonly {
    readonly id: string;
    readonly label: string;
    readonly note: string;
    readonly cells: readonly MatrixCell[];
  }[];
}

/** Above this many cells a canvas is slow and its text small: the table alone. */
const MOST_CELLS = 2000;
const ROW = 21;
const COLUMN = 84;
const LABELS = 290;
const FONT = 11;

/** Values as text on the colour of their change. A column is chosen by a click on it, or in the table by its button. */
export function MatrixChart({
  matrix,
  label,
  corner,
  onPick,
}: {
  readonly matrix: Matrix;
  readonly label: string;
  /** Heading of the row names. */
  readonly corner: string;
  readonly onPick: (column: string) => void;
}) {
  const cells = matrix.rows.length * matrix.columns.length;
  const [view, setView] = useState<'chart' | 'table'>('chart');
  const config = useCallback(
    (look: ChartTokens, dark: boolean) => configOf(matrix, look, dark, onPick),
    [matrix, onPick],
  );
  const asTable = view === 'table' || cells > MOST_CELLS;
  return (
    <div>
      <div className="matrix-bar">
        {cells <= MOST_CELLS && (
          <Segmented
            label={`${label} as`}
            value={view}
            onChange={setView}
            options={[
              { value: 'chart', label: 'Chart' },
              { value: 'table', label: 'Table' },
            ]}
          />
        )}
        <Scale ends={matrix.ends} />
      </div>
      {asTable ? (
        <MatrixTable matrix={matrix} label={label} corner={corner} onPick={onPick} />
      ) : (
        <div className="table-scroll" tabIndex={0} role="group" aria-label={label}>
          <Picture
            matrix
            label={`${label}: ${matrix.rows.length} rows, ${matrix.columns.length} versions. The table has the same values.`}
            height={matrix.rows.length * ROW + 30}
            width={LABELS + matrix.columns.length * COLUMN}
            config={config}
          />
        </div>
      )}
    </div>
  );
}

const Scale = ({ ends: [less, more] }: Pick<Matrix, 'ends'>) => (
  <span className="matrix-scale" aria-hidden="true">
    <span className="muted">{less}</span>
    {[-6, -4, -2].map((step) => (
      <span key={step} className={`scale-cell ${changeClass(step)}`} />
    ))}
    <span className="scale-cell" />
    {[2, 4, 6].map((step) => (
      <span key={step} className={`scale-cell ${changeClass(step)}`} />
    ))}
    <span className="muted">{more}</span>
  </span>
);

function configOf(
  matrix: Matrix,
  look: ChartTokens,
  dark: boolean,
  onPick: (column: string) => void,
): ChartConfiguration {
  const { rows, columns } = matrix;
  const cellAt = (x: number, y: number): MatrixCell | undefined => rows[y]?.cells[x];
  const data = rows.flatMap((row) => columns.map((column) => ({ x: column.id, y: row.id, v: 0 })));
  const colourOf = (x: number, y: number) =>
    changeColour(dark ? 'dark' : 'light', cellAt(x, y)?.step ?? 0) ?? { background: look.surface, text: look.text };
  /** Cells are listed row by row. */
  const place = (index: number) => ({ x: index % columns.length, y: Math.floor(index / columns.length) });
  const names = (labels: readonly string[]) => ({
    type: 'category' as const,
    labels: [...labels],
    offset: true,
    grid: { display: false },
    border: { display: false },
  });
  const ticks = (text: (index: number) => string) => ({
    autoSkip: false,
    maxRotation: 0,
    color: look.text,
    font: { family: look.font, size: FONT },
    callback: (_value: string | number, index: number) => text(index),
  });
  const config: ChartConfiguration<'matrix'> = {
    type: 'matrix',
    data: {
      datasets: [
        {
          data: data as never,
          backgroundColor: ({ dataIndex }) => {
            const { x, y } = place(dataIndex);
            return colourOf(x, y).background;
          },
          borderColor: look.grid,
          borderWidth: 1,
          width: ({ chart }) => (chart.chartArea?.width ?? 0) / columns.length - 1,
          height: ({ chart }) => (chart.chartArea?.height ?? 0) / rows.length - 1,
        },
      ],
    },
    options: {
      layout: { padding: 1 },
      onClick: (_event, elements) => {
        const index = elements[0]?.index;
        const column = index === undefined ? undefined : columns[place(index).x];
        if (column) onPick(column.id);
      },
      scales: {
        x: { ...names(columns.map(({ id }) => id)), position: 'top', ticks: ticks((i) => columns[i]?.label ?? '') },
        y: {
          ...names(rows.map(({ id }) => id)),
          // The matrix chart turns the axis round by itself.
          reverse: false,
          afterFit: (scale: { width: number }) => {
            scale.width = LABELS;
          },
          ticks: ticks((i) => {
            const row = rows[i];
            return row === undefined ? '' : `${row.label}${row.note === '' ? '' : `  ${row.note}`}`;
          }),
        },
      },
      plugins: {
        legend: { display: false },
        tooltip: {
          callbacks: {
            title: () => '',
            label: ({ dataIndex }) => {
              const { x, y } = place(dataIndex);
              return [`${rows[y]?.label}, ${columns[x]?.label}`, cellAt(x, y)?.spoken ?? ''];
            },
          },
        },
      },
    },
    plugins: [cellTexts(matrix, look, colourOf)],
  };
  return config as ChartConfiguration;
}

const cellTexts = (
  { rows, columns }: Matrix,
  look: ChartTokens,
  colourOf: (x: number, y: number) => { readonly text: string },
) => ({
  id: 'cellTexts',
  afterDatasetsDraw(chart: Chart) {
    const { ctx, chartArea } = chart;
    const width = chartArea.width / columns.length;
    const height = chartArea.height / rows.length;
    ctx.save();
    ctx.font = `${FONT}px ${look.font}`;
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const [y, row] of rows.entries())
      for (const [x, cell] of row.cells.entries()) {
        ctx.fillStyle = cell.missing ? look.muted : colourOf(x, y).text;
        ctx.fillText(cell.text, chartArea.left + (x + 1) * width - 7, chartArea.top + (y + 0.5) * height, width - 8);
      }
    ctx.strokeStyle = look.accent;
    ctx.lineWidth = 2;
    for (const [x, column] of columns.entries())
      if (column.marked) ctx.strokeRect(chartArea.left + x * width, chartArea.top, width, chartArea.height);
    ctx.restore();
  },
});

function MatrixTable({
  matrix,
  label,
  corner,
  onPick,
}: {
  readonly matrix: Matrix;
  readonly label: string;
  readonly corner: string;
  readonly onPick: (column: string) => void;
}) {
  return (
    <div className="table-scroll matrix-table" tabIndex={0} role="group" aria-label={label}>
      <table className="figure-table">
        <thead>
          <tr>
            <th scope="col">{corner}</th>
            {matrix.columns.map((column) => (
              <th key={column.id} scope="col" className="num">
                <button
                  type="button"
                  className="link-button"
                  aria-pressed={column.marked}
                  onClick={() => onPick(column.id)}
                >
                  {column.label}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {matrix.rows.map((row) => (
            <tr key={row.id}>
              <th scope="row" title={row.id}>
                {row.label} <span className="muted">{row.note}</span>
              </th>
              {row.cells.map((cell, x) => (
                <td
                  key={matrix.columns[x]?.id}
                  className={`num ${changeClass(cell.step)} ${matrix.columns[x]?.marked ? 'marked-column' : ''}`}
                  title={cell.spoken}
                >
                  {cell.text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
