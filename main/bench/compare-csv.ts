import { sizeText } from '../contract/index.ts';
import { type Comparison, quantities } from './compare.ts';
import { csvText, heads, three } from './csv.ts';

/** One line per pair, in the order of bench A: both figures with their intervals, ratio B/A or why there is none. */
export function comparisonCsv({ pairs }: Comparison): string {
  const head = [
    ...['task', 'dtype', 'sizes', 'problem', 'dims', 'quantity', 'unit'],
    ...heads('a'),
    'a_level',
    ...heads('b'),
    'b_level',
    ...heads('ratio'),
    'ratio_level',
    ...['intervals_overlap', 'verdict', 'why_no_ratio', 'candidate_a', 'candidate_b', 'gpu_a', 'gpu_b'],
  ];
  const lines = pairs.map((p) => [
    ...[p.task, p.dtype, p.sizes, p.problem, sizeText(p.dims), p.quantity, quantities[p.quantity].unit],
    ...[p.a, p.b, p.ratio].flatMap((e) => [...three(e), e?.level ?? null]),
    p.overlap === null ? null : p.overlap ? 'yes' : 'no',
    ...[p.verdict, p.why, p.candidates.a, p.candidates.b, p.gpus.a, p.gpus.b],
  ]);
  return csvText([head, ...lines]);
}
