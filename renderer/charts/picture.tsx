import type { ChartConfiguration, Chart as ChartJs } from 'chart.js';
import { type RefObject, useEffect, useRef, useState } from 'react';
import { useDark } from '../app/theme.ts';
import { type ChartTokens, chartTokens } from '../ui/chart-look.ts';
import './charts.css';

interface Props {
  /** What the picture shows, for those who do not see it; the figures stand in a table beside it. */
  readonly label: string;
  readonly height: number;
  readonly width?: number;
  readonly config: (tokens: ChartTokens, dark: boolean) => ChartConfiguration;
  /** Needs the matrix chart as well. */
  readonly matrix?: boolean;
  /** The chart while it stands, to point at parts of it from outside. */
  readonly chart?: RefObject<ChartJs | null>;
}

/** A part that is not there (the engine was replaced meanwhile) is asked for again by the next chart. */
const load = (matrix: boolean): Promise<{ readonly Chart: typeof ChartJs }> =>
  matrix ? import('../ui/chart-matrix.ts') : import('../ui/chart-core.ts');

/**
 * A chart.js canvas alone, in the colours of the theme. `config` must be stable (useCallback): a new one draws again. chart.js is loaded
 * with the first one.
 */
export function Picture({ label, height, width, config, matrix = false, chart }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [state, setState] = useState<'loading' | 'drawn' | 'failed'>('loading');
  const dark = useDark();
  useEffect(() => {
    let instance: ChartJs | null = null;
    let gone = false;
    load(matrix).then(
      ({ Chart }) => {
        const element = canvas.current;
        if (gone || element === null) return;
        const built = config(chartTokens(element), dark);
        const options = { animation: false, responsive: true, maintainAspectRatio: false, ...built.options };
        instance = new Chart(element, { ...built, options } as ChartConfiguration);
        if (chart) chart.current = instance;
        setState('drawn');
      },
      () => !gone && setState('failed'),
    );
    return () => {
      gone = true;
      instance?.destroy();
      if (chart) chart.current = null;
    };
  }, [config, dark, chart, matrix]);
  if (state === 'failed')
    return (
      <p className="muted" role="status">
        The program’s charts could not be loaded: load the page again. The table has the same figures.
      </p>
    );
  return (
    <div className="picture" aria-busy={state === 'loading'} style={{ height, width }}>
      <canvas ref={canvas} role="img" aria-label={label} />
    </div>
  );
}
