import { dtypes } from '../contract/index.ts';
import { pictured } from '../profile/html.ts';
import { type Heat, heatmapSvg, heatSentence } from './heatmap.ts';
import type { BenchReport } from './report.ts';

const heats: readonly (Heat & { readonly id: string })[] = [
  {
    id: 'speedup',
    title: 'Speed-up of the candidate over its origin',
    value: (row) => row.speedup?.value ?? null,
    interval: (row) => row.speedup,
    deepest: 32,
  },
  {
    id: 'versus',
    title: 'Speed-up of the candidate over the vendor library',
    value: (row) => row.libraryVersusCandidate?.value ?? null,
    interval: (row) => row.libraryVersusCandidate,
    deepest: 32,
  },
  {
    id: 'library',
    title: 'Speed-up of the vendor library over the origin',
    value: (row) => row.librarySpeedup?.value ?? null,
    interval: (row) => row.librarySpeedup,
    deepest: 32,
  },
  {
    id: 'headroom',
    title: 'Origin’s time over the least possible time on this GPU (floor)',
    value: (row) =>
      row.floorNs !== null && row.originSpanNs !== null && row.floorNs > 0
        ? row.originSpanNs.value / row.floorNs
        : null,
    deepest: 1000,
  },
];

/** One map per quantity and type; those without any figure are left out. */
export const heatmaps = (r: BenchReport): string[] =>
  heats.flatMap((heat) =>
    dtypes.flatMap((dtype) => {
      const all = r.entries.filter((e) => e.dtype === dtype);
      const shown = new Set(all.flatMap((e) => (e.rows.some((row) => heat.value(row) !== null) ? e.task : [])));
      if (shown.size === 0) return [];
      const titled = { ...heat, title: `${heat.title}, ${dtype}` };
      const entries = all.filter((e) => shown.has(e.task));
      return [
        pictured(
          `${titled.title}: ${heatSentence(all, heat)}`,
          heatmapSvg(entries, titled, `heat-${heat.id}-${dtype}`),
        ),
      ];
    }),
  );
