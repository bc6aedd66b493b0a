import type { MetricLine } from '../../contract/index.ts';
import evidence from '../../profile/evidence.json' with { type: 'json' };
import stalls from '../../profile/stalls.json' with { type: 'json' };
import table from '../../profile/table2.json' with { type: 'json' };
import type { Handlers } from './context.ts';

interface Named {
  readonly ids: readonly string[];
  readonly label?: string;
  readonly meaning?: string;
  readonly unit?: string;
}

/** Every metric whose name and meaning the program knows, by each of its ids; the first table that names an id counts. */
export function metricLines(): MetricLine[] {
  const known = new Map<string, MetricLine>();
  const named: Named[] = [...Object.values(table.metrics), ...Object.values(evidence.inputs as Record<string, Named>)];
  for (const { ids, label, meaning, unit } of named)
    for (const id of ids)
      if (label !== undefined && meaning !== undefined && !known.has(id))
        known.set(id, { id, label, meaning, unit: unit === undefined || unit === '' ? null : unit });
  for (const { id, label, meaning } of stalls.stalls)
    known.set(`stall:${id}`, { id: `stall:${id}`, label, meaning, unit: null });
  return [...known.values()];
}

export const metricMethods = (): Handlers<'metrics.list'> => ({ 'metrics.list': async () => metricLines() });
