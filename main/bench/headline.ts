import { type Dtype, dtypes, type Estimate, type SizeSet, sizeSets } from '../contract/index.ts';
import { type Cell, htmlTable, paragraph, pictured } from '../profile/html.ts';
import { forestSvg } from './forest.ts';
import type { BenchReport, Entry, SizeRow } from './report.ts';
import {
  byName,
  figure,
  list,
  median,
  NONE,
  number,
  ratio,
  times,
  type Verdict,
  verdictOf,
  verdictWords,
} from './words.ts';

/** What is set against what: one figure per task (P) and one per size. */
interface Arm {
  readonly id: 'candidate' | 'library';
  readonly name: string;
  readonly tried: (e: Entry) => boolean;
  readonly ofTask: (e: Entry) => Estimate | null;
  readonly ofSize: (row: SizeRow) => Estimate | null;
}

const arms: readonly Arm[] = [
  {
    id: 'candidate',
    name: 'Candidate over origin',
    tried: (e) => e.candidate !== null,
    ofTask: (e) => e.score,
    ofSize: (row) => row.speedup,
  },
  {
    id: 'library',
    name: 'Library over origin',
    tried: (e) => e.library !== null,
    ofTask: (e) => e.library?.score ?? null,
    ofSize: (row) => row.librarySpeedup,
  },
];

export interface Comparison {
  readonly arm: Arm['id'];
  readonly name: string;
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  /** Tasks that have such a version. */
  readonly tried: number;
  /** Those with a figure, the largest ratio first. */
  readonly tasks: readonly { readonly task: string; readonly p: Estimate }[];
  readonly bySize: Readonly<Record<Verdict, number>>;
}

/** Every version against the origin, by size set and data type; groups without any such version are left out. */
export function comparisons(r: Pick<BenchReport, 'entries'>): Comparison[] {
  return arms.flatMap((arm) =>
    sizeSets.flatMap((sizes) =>
      dtypes.flatMap((dtype): Comparison[] => {
        const own = r.entries.filter((e) => e.sizes === sizes && e.dtype === dtype && arm.tried(e));
        if (own.length === 0) return [];
        const tasks = own.flatMap((e) => {
          const p = arm.ofTask(e);
          return p === null ? [] : [{ task: e.task, p }];
        });
        const bySize = own.flatMap((e) => e.rows.flatMap((row) => arm.ofSize(row) ?? [])).map(verdictOf);
        return [
          {
            arm: arm.id,
            name: arm.name,
            dtype,
            sizes,
            tried: own.length,
            tasks: tasks.sort((a, b) => b.p.value - a.p.value),
            bySize: count(bySize),
          },
        ];
      }),
    ),
  );
}

const count = (verdicts: readonly Verdict[]): Record<Verdict, number> => {
  const out = { faster: 0, open: 0, slower: 0 };
  for (const verdict of verdicts) out[verdict] += 1;
  return out;
};

const named = (c: Comparison, verdict: Verdict): string[] =>
  c.tasks.flatMap(({ task, p }) => (verdictOf(p) === verdict ? [task] : [])).sort(byName);

/** Is it faster, by how much, how sure, where not: a table, and a picture per version and size set. */
export function inShort(r: BenchReport): string[] {
  const all = comparisons(r);
  if (all.length === 0) return [paragraph('Nothing was set against the origins.')];
  return [
    paragraph(sumOf(all)),
    table(all),
    ...arms.flatMap((arm) =>
      sizeSets.map((sizes) => {
        const own = all.filter((c) => c.arm === arm.id && c.sizes === sizes);
        const svg = forestSvg(own, `forest-${arm.id}-${sizes}`);
        return pictured(`${own.map(sentenceOf).join(' ')} Each bar is a 95 % interval.`, svg);
      }),
    ),
  ];
}

/** Over all groups: how many tasks (in a type, at a size set) are faster, slower, open. */
function sumOf(all: readonly Comparison[]): string {
  return arms
    .flatMap((arm) => {
      const own = all.filter((c) => c.arm === arm.id);
      if (own.length === 0) return [];
      const verdicts = own.flatMap((c) => c.tasks.map(({ p }) => verdictOf(p)));
      const { faster, slower, open } = count(verdicts);
      return [
        `${arm.name}: of ${verdicts.length} comparisons (a task in a type at a size set) ${faster} are faster, ${slower} slower, ${open} not told apart.`,
      ];
    })
    .join(' ');
}

/** "Vendor library over origin, fp32, published sizes: faster for 26 of 31 tasks (half of them gain at least 17×), slower for …" */
export function sentenceOf(c: Comparison): string {
  const middle = median(c.tasks.map(({ p }) => p.value));
  const [faster, slower, open] = (['faster', 'slower', 'open'] as const).map((verdict) => named(c, verdict)) as [
    string[],
    string[],
    string[],
  ];
  const where = (what: string, names: string[]): string =>
    names.length === 0 ? `${what} for none` : `${what} for ${names.length} (${list(names)})`;
  const unknown = c.tried - c.tasks.length;
  return [
    `${c.name}, ${c.dtype}, ${c.sizes} sizes: faster for ${faster.length} of ${c.tried} tasks`,
    middle === null ? '' : `median of all ${times(middle)}`,
    where('slower', slower),
    ...(open.length > 0 ? [where('not told apart', open)] : []),
    ...(unknown > 0 ? [`${unknown} without a figure`] : []),
  ]
    .filter((part) => part !== '')
    .join(', ')
    .concat('.');
}

function table(all: readonly Comparison[]): string {
  return htmlTable(
    'Against the origin: faster or slower where the 95 % interval of P lies on one side of 1×, else not told apart (each task by itself: of 20 intervals one misses by chance)',
    [
      'Compared',
      'Sizes',
      'Type',
      'Tasks',
      'Faster',
      'Not told apart',
      'Slower',
      'No figure',
      'Median P',
      'Largest P',
      'Smallest P',
      'Sizes where faster',
      'Sizes not told apart',
      'Sizes where slower',
    ],
    all.map((c): Cell[] => {
      const [first, last] = [c.tasks[0], c.tasks.at(-1)];
      return [
        c.name,
        c.sizes,
        c.dtype,
        figure(String(c.tried)),
        ...(['faster', 'open', 'slower'] as const).map((verdict) => figure(String(named(c, verdict).length))),
        figure(String(c.tried - c.tasks.length)),
        number(median(c.tasks.map(({ p }) => p.value)), times),
        first ? ratio(first.p) : figure(NONE),
        last ? ratio(last.p) : figure(NONE),
        ...(['faster', 'open', 'slower'] as const).map((verdict) => figure(String(c.bySize[verdict]))),
      ];
    }),
  );
}

/** One word per interval, for a table. */
export const verdictText = (e: Estimate | null): string => (e === null ? '' : verdictWords[verdictOf(e)]);
