import { coord, picture, svgLine, svgText } from '../profile/svg.ts';
import { BOLD, decade, decades, INK, mark, RULE, ticks } from './axes.ts';
import type { Comparison } from './headline.ts';
import { margin, NONE, placeOf, times } from './words.ts';

const [NAMES, FIRST, COLUMN, LEFT, RIGHT, TOP, ROW] = [170, 232, 62, 330, 820, 62, 20];

/**
 * A row per task, the largest ratio of the first type first: a mark at P and a bar over its interval, on a logarithmic axis; the figures
 * beside it. FP32 is a filled circle, BF16 a hollow square. '' without any figure.
 */
export function forestSvg(groups: readonly Comparison[], id: string): string {
  const values = groups.flatMap((g) => g.tasks.flatMap(({ p }) => [p.lo, p.hi]));
  const first = groups[0];
  if (first === undefined || values.length === 0) return '';
  const axis = decades([1, ...values], LEFT, RIGHT);
  const tasks = [...new Set(groups.flatMap((g) => g.tasks.map(({ task }) => task)))];
  const bottom = TOP + tasks.length * ROW + 4;
  const rows = tasks.flatMap((task, r) => {
    const y = TOP + r * ROW + 12;
    const marks = groups.flatMap((g, k) => {
      const p = g.tasks.find((t) => t.task === task)?.p;
      const column = svgText(FIRST + COLUMN * k, y + 4, p ? times(p.value) : NONE, 'end');
      if (p === undefined) return [column];
      const at = y + (groups.length > 1 ? (k === 0 ? -4 : 4) : 0);
      const label = `${task} ${g.dtype}: ${times(p.value)} (${margin(p, times)})`;
      return [
        svgLine(axis.at(p.lo), at, axis.at(p.hi), at, INK, 'stroke-width="1.5"'),
        mark(
          { shape: g.dtype === 'fp32' ? 'circle' : 'square', hollow: g.dtype !== 'fp32', label },
          axis.at(p.value),
          at,
        ),
        column,
      ];
    });
    return [
      r % 2 === 0
        ? `<rect x="0" y="${coord(y - 10)}" width="840" height="${ROW}" fill="${RULE}" fill-opacity="0.18"/>`
        : '',
      `<a href="#${placeOf(task)}">${svgText(NAMES, y + 4, task, 'end')}</a>`,
      ...marks,
    ];
  });
  const title = `${first.name}, ${first.sizes} sizes: ${first.figure} and its 95 % interval`;
  return picture({
    linked: true,
    id,
    title,
    words: groups
      .map(
        (g) =>
          `${g.dtype}: ${g.tasks.map(({ task, p }) => `${task} ${times(p.value)} (${margin(p, times)})`).join(', ')}.`,
      )
      .join(' '),
    width: 840,
    height: bottom + 46,
    body: [
      svgText(8, 20, title, 'start', BOLD),
      ...groups.map((g, k) => svgText(FIRST + COLUMN * k, TOP - 8, g.dtype, 'end', BOLD)),
      ...rows,
      ...ticks(axis).flatMap((v) => [
        svgLine(
          axis.at(v),
          TOP,
          axis.at(v),
          bottom,
          v === 1 ? INK : RULE,
          v === 1 ? 'stroke-width="1.5"' : 'stroke-width="0.5"',
        ),
        svgText(axis.at(v), TOP - 8, `${decade(v)}×`, 'middle'),
      ]),
      svgText(axis.at(1) - 6, bottom + 16, `slower than ${first.against}`, 'end'),
      svgText(axis.at(1) + 6, bottom + 16, `faster than ${first.against}`),
      ...groups.flatMap((g, k) => [
        mark(
          { shape: g.dtype === 'fp32' ? 'circle' : 'square', hollow: g.dtype !== 'fp32', label: '' },
          12 + 90 * k,
          bottom + 30,
        ),
        svgText(22 + 90 * k, bottom + 34, g.dtype),
      ]),
    ],
  });
}
