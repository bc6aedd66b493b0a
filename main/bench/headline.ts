import { type Dtype, dtypes, type Estimate, type SizeSet, sizeSets } from '../contract/index.ts';
import { type Cell, htmlTable, paragraph, pictured } from '../profile/html.ts';
import { forestSvg } from './forest.ts';
import type { BenchReport, Entry, SizeRow } from './report.ts';
import { isRight } from './right.ts';
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

/** What is set against what: one figure per task and one per size. */
interface Arm {
  readonly id: 'candidate' | 'versus' | 'library';
  readonly name: string;
  readonly against: 'origin' | 'library';
  /** What stands for a task. */
  readonly figure: string;
  readonly tried: (e: Entry) => boolean;
  readonly ofTask: (e: Entry) => Estimate | null;
  readonly ofSize: (row: SizeRow) => Estimate | null;
}

const arms: readonly Arm[] = [
  {
    id: 'candidate',
    name: 'Candidate over origin',
    tried: (e) => e.candidate !== null,
    against: 'origin',
    figure: 'P',
    ofTask: (e) => (isRight(e) ? e.score : null),
    ofSize: (row) => row.speedup,
  },
  {
    id: 'versus',
    name: 'Candidate over library',
    tried: (e) => e.candidate !== null && e.library !== null,
    against: 'library',
    figure: 'ratio at the size with most weight',
    ofTask: (e) => (isRight(e) ? (heaviest(e)?.libraryVersusCandidate ?? null) : null),
    ofSize: (row) => row.libraryVersusCandidate,
  },
  {
    id: 'library',
    name: 'Library over origin',
    tried: (e) => e.library !== null,
    against: 'origin',
    figure: 'P',
    ofTask: (e) => e.library?.score ?? null,
    ofSize: (row) => row.librarySpeedup,
  },
];

/** The size with most weight in P. */
const heaviest = (e: Entry): SizeRow | undefined => e.rows.toSorted((a, b) => b.share - a.share)[0];

export interface Comparison extends Pick<Arm, 'name' | 'against' | 'figure'> {
  readonly arm: Arm['id'];
  readonly dtype: Dtype;
  readonly sizes: SizeSet;
  /** Tasks that have such a version. */
  readonly tried: number;
  /** Tasks of which the version has no figure: wrong, not built, not measured. */
  readonly unknown: readonly string[];
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
        const counted = own.filter((e) => arm.id === 'library' || isRight(e));
        const bySize = counted.flatMap((e) => e.rows.flatMap((row) => arm.ofSize(row) ?? [])).map(verdictOf);
        return [
          {
            arm: arm.id,
            name: arm.name,
            against: arm.against,
            figure: arm.figure,
            dtype,
            sizes,
            tried: own.length,
            unknown: own.flatMap((e) => (arm.ofTask(e) === null ? e.task : [])),
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
      return [`${arm.name}: ${faster} of ${verdicts.length} faster, ${slower} slower, ${open} not told apart.`];
    })
    .join(' ')
    .concat(' Counted: every task in every type at every size set.');
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
  return [
    `${c.name}${c.figure === 'P' ? '' : ` (${c.figure})`}, ${c.dtype}, ${c.sizes} sizes: faster for ${faster.length} of ${c.tried} tasks`,
    middle === null ? '' : `median of all ${times(middle)}`,
    where('slower', slower),
    ...(open.length > 0 ? [where('not told apart', open)] : []),
    ...(c.unknown.length > 0 ? [where('no figure', [...c.unknown].sort(byName))] : []),
  ]
    .filter((part) => part !== '')
    .join(', ')
    .concat('.');
}

function table(all: readonly Comparison[]): string {
  return htmlTable(
    `Faster or slower where the 95 % interval of a task’s P lies on one side of 1×, else not told apart (each task by itself: of 20 intervals one misses by chance)${all.some((c) => c.arm === 'versus') ? '; candidate over library: by the ratio at the size with most weight' : ''}`,
    [
      'Compared',
      'Sizes',
      'Type',
      'Tasks',
      'Faster',
      'Not told apart',
      'Slower',
      'No figure',
      'Median',
      'Largest',
      'Smallest',
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
        figure(String(c.unknown.length)),
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
