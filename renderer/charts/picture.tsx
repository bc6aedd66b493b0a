import type { ChartConfiguration, Chart as ChartJs } from 'chart.js';
import { type RefObject, useEffect, useRef } from 'react';
import { useDark } from '../app/theme.ts';
import { Chart, type ChartTokens, chartTokens } from '../ui/chart-core.ts';
import './charts.css';

interface Props {
  /** What the picture shows, for those who do not see it; the figures stand in a table beside it. */
  readonly label: string;
  readonly height: number;
  readonly width?: number;
  readonly config: (tokens: ChartTokens, dark: boolean) => ChartConfiguration;
  /** The chart while it stands, to point at parts of it from outside. */
  readonly chart?: RefObject<ChartJs | null>;
}

/** A chart.js canvas alone, in the colours of the theme. `config` must be stable (useCallback): a new one draws again. */
export function Picture({ label, height, width, config, chart }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const built = config(chartTokens(element), dark);
    const options = { animation: false, responsive: true, maintainAspectRatio: false, ...built.options };
    const instance = new Chart(element, { ...built, options } as ChartConfiguration);
    if (chart) chart.current = instance;
    return () => {
      instance.destroy();
      if (chart) chart.current = null;
    };
  }, [config, dark, chart]);
  return (
    <div className="picture" style={{ height, width }}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}
