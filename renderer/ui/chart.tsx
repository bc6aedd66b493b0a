import type { ChartConfiguration } from 'chart.js';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useDark } from '../app/theme.ts';
import { Chart as ChartJs, type ChartTokens, chartTokens } from './chart-core.ts';

export interface DataTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

interface ChartProps {
  /** What is shown, one sentence: read out instead of the picture. */
  readonly label: string;
  /** Built anew when `deps` or the theme change. Colours come from the tokens alone. */
  readonly config: (t: ChartTokens) => ChartConfiguration;
  readonly deps: readonly unknown[];
  /** The same data as text. */
  readonly table: DataTable;
  /** Pixels; absent: fills its parent. */
  readonly height?: number;
  readonly legend?: ReactNode;
}

const still = (): boolean => window.matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A chart.js chart with axes in tokens, and its data as a table for those who do not see it. */
export function Chart({ label, config, deps, table, height, legend }: ChartProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<ChartJs | null>(null);
  const dark = useDark();
  const [asTable, setAsTable] = useState(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the caller names what its configuration depends on
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const made = config(chartTokens(element));
    const instance = new ChartJs(element, {
      ...made,
      options: {
        responsive: true,
        maintainAspectRatio: false,
        animation: still() ? false : { duration: 160 },
        ...made.options,
      },
    } as ChartConfiguration);
    chart.current = instance;
    return () => instance.destroy();
  }, [dark, asTable, ...deps]);

  return (
    <figure className="chart" style={height ? { height } : undefined}>
      <div className="chart-tools">
        {legend}
        <button type="button" className="link-button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show as chart' : 'Show as table'}
        </button>
      </div>
      {asTable ? (
        <div className="chart-table" tabIndex={0}>
          <PlainTable {...table} caption={label} />
        </div>
      ) : (
        <div className="chart-canvas">
          <canvas ref={canvas} role="img" aria-label={label} />
        </div>
      )}
    </figure>
  );
}

/** A small table of text, numbers aligned to the right. */
export function PlainTable({ head, rows, caption }: DataTable & { readonly caption: string }) {
  return (
    <table className="plain-table">
      <caption className="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          {head.map((h) => (
            <th key={h} scope="col">
              {h}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name and do not move
          <tr key={index}>
            {row.map((cell, column) => (
              <td key={head[column]} className={column === 0 ? undefined : 'num'}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
