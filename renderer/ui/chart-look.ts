/** What charts take from the design tokens. Screens import this alone: chart.js itself comes with the first chart that is shown. */
export interface ChartTokens {
  readonly text: string;
  readonly muted: string;
  readonly grid: string;
  readonly surface: string;
  readonly accent: string;
  readonly good: string;
  readonly warn: string;
  readonly bad: string;
  readonly ghost: string;
  /** Six series colours. */
  readonly series: readonly string[];
  /** Sequential scale, low to high, and the text on it. */
  readonly heat: readonly string[];
  readonly heatText: string;
  readonly font: string;
}

/** Reads the design tokens of the theme in force. */
export function chartTokens(element: Element): ChartTokens {
  const style = getComputedStyle(element);
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: token('text'),
    muted: token('muted'),
    grid: token('grid'),
    surface: token('surface'),
    accent: token('accent'),
    good: token('good'),
    warn: token('warn'),
    bad: token('bad'),
    ghost: token('series-ghost'),
    series: [1, 2, 3, 4, 5, 6].map((n) => token(`series-${n}`)),
    heat: [0, 1, 2, 3, 4, 5].map((n) => token(`heat-${n}`)),
    heatText: token('heat-text'),
    font: token('font-ui'),
  };
}

/** Axis with title and unit, in the tokens' colours. Spread into `options.scales`. */
export const axis = (t: ChartTokens, title: string, more: Record<string, unknown> = {}) => ({
  title: { display: true, text: title, color: t.muted, font: { family: t.font, size: 11 } },
  grid: { color: t.grid, drawTicks: false },
  border: { color: t.grid },
  ticks: { color: t.muted, font: { family: t.font, size: 11 }, padding: 6, ...((more.ticks as object) ?? {}) },
  ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== 'ticks')),
});
