/** Axes of small charts: linear or logarithmic, with round ticks. Pure. */
export interface AxisScale {
  readonly log: boolean;
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly number[];
  /** Position 0…1. */
  at(x: number): number;
}

function roundStep(span: number, parts: number): number {
  const raw = span / parts;
  const power = 10 ** Math.floor(Math.log10(raw));
  const lead = raw / power;
  return (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10) * power;
}

function linear(min: number, max: number): AxisScale {
  const pad = max === min ? Math.abs(max) * 0.1 || 1 : (max - min) * 0.06;
  const [lo, hi] = [min - pad, max + pad];
  const step = roundStep(hi - lo, 4);
  const ticks: number[] = [];
  for (let k = Math.ceil(lo / step); k * step <= hi; k += 1) ticks.push(Number((k * step).toPrecision(12)));
  return { log: false, min: lo, max: hi, ticks, at: (x) => (x - lo) / (hi - lo) };
}

function logarithmic(min: number, max: number): AxisScale {
  const pad = (Math.log10(max) - Math.log10(min)) * 0.06;
  const [lo, hi] = [Math.log10(min) - pad, Math.log10(max) + pad];
  const every = Math.max(1, Math.ceil((hi - lo) / 5));
  // Few decades: 1, 2 and 5 of each.
  const leads = hi - lo < 2.2 ? [1, 2, 5] : [1];
  const ticks: number[] = [];
  for (let k = Math.floor(lo); k <= hi; k += every)
    for (const lead of leads) {
      const tick = lead * 10 ** k;
      if (Math.log10(tick) >= lo && Math.log10(tick) <= hi) ticks.push(tick);
    }
  return { log: true, min: 10 ** lo, max: 10 ** hi, ticks, at: (x) => (Math.log10(x) - lo) / (hi - lo) };
}

/** Logarithmic where positive values spread over more than a factor of 20. null: nothing to show. */
export function axisOf(values: readonly number[]): AxisScale | null {
  const finite = values.filter((x) => Number.isFinite(x));
  if (finite.length === 0) return null;
  const [min, max] = [Math.min(...finite), Math.max(...finite)];
  return min > 0 && max / min > 20 ? logarithmic(min, max) : linear(min, max);
}
