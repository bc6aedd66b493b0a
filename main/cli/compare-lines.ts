import { type CompareAnswer, type Comparison, oneMeasurement, quantities } from '../app/index.ts';
import { type Estimate, sizeText } from '../contract/index.ts';
import { nsText } from './figures.ts';
import { type Paint, table, wrap } from './output.ts';

const width = 100;
type Group = Comparison['groups'][number];
type Pair = Comparison['pairs'][number];

const few = (names: readonly string[], most: number): string =>
  names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`;

const short = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
const counted = (n: number, one: string): string => `${n} ${one}${n === 1 ? '' : 's'}`;
const levelText = (levels: readonly number[]): string =>
  levels.map((l) => `${Number((100 * l).toFixed(2))} %`).join(' or ');

/** A comparison as a person reads it, at most 100 columns. */
export function comparisonLines({ comparison: c, reports, files }: CompareAnswer, paint: Paint): string[] {
  return [
    `${paint('bold', 'A')}  ${c.a.bench}  ${reports.a}`,
    `${paint('bold', 'B')}  ${c.b.bench}  ${reports.b}`,
    ...environmentLines(c, paint),
    ...rowLines(c, paint),
    ...summaryLines(c, paint),
    ...farthestLines(c, paint),
    ...classLines(c, paint),
    ...files.map((file) => `  ${file}`),
  ];
}

/** UUIDs shortened to what tells them apart; each column wraps in its half. */
function environmentLines({ environment }: Comparison, paint: Paint): string[] {
  const differing = environment.filter(({ same }) => !same);
  const head = Math.max(...environment.map(({ what }) => what.length)) + 4;
  const half = Math.floor((width - head - 2) / 2);
  const brief = (texts: readonly string[]): string[] =>
    wrap(
      few(
        texts.map((text) => text.replace(/^(GPU-[0-9a-f]{8})[0-9a-f-]+/, '$1…')),
        8,
      ) || '–',
      half,
      '',
    );
  const lines = differing.flatMap(({ what, a, b }) => {
    const [left, right] = [brief(a), brief(b)];
    return Array.from({ length: Math.max(left.length, right.length) }, (_, i) =>
      `  ${(i === 0 ? what : '').padEnd(head - 2)}${short(left[i] ?? '', half).padEnd(half)}  ${short(right[i] ?? '', half)}`.trimEnd(),
    );
  });
  const same = environment.filter((d) => d.same).map(({ what, a }) => `${what} ${a.join(', ')}`);
  return [
    '',
    paint('bold', `${'Environment that differs'.padEnd(head)}${'A'.padEnd(half)}  B`),
    ...(lines.length > 0 ? lines : ['  nothing']),
    ...(same.length > 0 ? wrap(`the same in both: ${same.join('; ')}`, width - 2, '  ') : []),
  ];
}

function rowLines(c: Comparison, paint: Paint): string[] {
  const { common, onlyA, onlyB, otherDims } = c.rows;
  const lines = [
    '',
    paint('bold', `Rows: ${common} in both, ${onlyA} only in A, ${onlyB} only in B, ${otherDims} of other dimensions`),
  ];
  const say = (text: string): void => void lines.push(...wrap(text, width - 2, '  '));
  const { same, other, unknown } = c.gpus;
  if (same + other + unknown > 0)
    say(
      `compared rows: ${same} on one GPU in both, ${other} on two${unknown > 0 ? `, ${unknown} where a report does not say on which of its GPUs` : ''}`,
    );
  for (const where of ['A', 'B', 'neither'] as const) {
    const here = c.unpaired.filter((u) => u.in === where);
    for (const why of new Set(here.map((u) => u.why))) {
      const cells = here.filter((u) => u.why === why).map(({ cell }) => cell);
      const head = where === 'neither' ? 'without figures in both' : `only in ${where}`;
      say(
        `${head}: ${counted(cells.length, 'cell')} (${where === 'A' ? 'B' : where === 'B' ? 'A' : 'why'}: ${short(why, 60)}): ${few(cells, 4)}`,
      );
    }
  }
  for (const d of c.otherDims.slice(0, 10)) say(`other dimensions: ${d.cell} ${d.problem}: ${d.a} in A, ${d.b} in B`);
  if (c.otherDims.length > 10) say(`and ${c.otherDims.length - 10} more of other dimensions`);
  if (c.sameMeasurement.length > 0) {
    const cells = c.sameMeasurement.map(({ cell, rows }) => `${cell} (${counted(rows, 'row')})`);
    say(`the same measurement lies in A and B, and is not compared: ${few(cells, 6)}`);
  }
  for (const o of c.outcomes.slice(0, 10))
    say(`outcome of ${o.cell}: ${o.a} in A, ${o.b} in B (${short(o.reasonB, 80)})`);
  if (c.outcomes.length > 10) say(`and ${c.outcomes.length - 10} more outcomes that differ`);
  if (c.candidates.length > 0) {
    const named = c.candidates.map(({ cell, a, b }) => `${cell}: ${a ?? 'none'} and ${b ?? 'none'}`);
    say(`other candidates in A and B: ${few(named, 4)}`);
  }
  return lines;
}

/** A table per size set. */
function summaryTable(sizes: Group['sizes'], groups: readonly Group[]): string[] {
  const within = (groups[0] as Group).within.map(({ percent }) => `≤${percent} %`);
  const head = [`${sizes} sizes`, 'type', 'pairs', 'median', ...within, 'overlap', '<1', '>1', 'chance'];
  const body = groups.map((g) => [
    quantities[g.quantity].label,
    g.dtype ?? 'all',
    String(g.pairs),
    g.median === null ? '–' : g.median.toFixed(4),
    ...g.within.map(({ count }) => String(count)),
    ...[g.overlapping, g.below, g.above].map(String),
    g.expectedByChance === null ? '–' : g.expectedByChance.toFixed(1),
  ]);
  return table([head, ...body], [...head.keys()].slice(2), '  ');
}

function summaryLines({ groups, inNeither, rows }: Comparison, paint: Paint): string[] {
  if (rows.common === 0) return [];
  const levels = [...new Set(groups.flatMap((g) => g.levels))];
  const intervals = levels.length > 0 ? `${levelText(levels)} interval` : 'interval';
  const say = (text: string): string[] => wrap(text, width - 2, '  ');
  return [
    '',
    paint('bold', 'B/A (1: the same; of times below 1: B is faster; of speed-ups above 1: B’s is higher)'),
    ...[...new Set(groups.map((g) => g.sizes))].flatMap((sizes) =>
      summaryTable(
        sizes,
        groups.filter((g) => g.sizes === sizes),
      ),
    ),
    ...say(
      `pairs: ratios there are. ≤1 % … ≤10 %: so many are at most so far from 1. overlap: the intervals of A and B do. <1, >1: the ratio’s ${intervals} lies wholly below or above 1. chance: at most so many of <1 and >1 together are expected where nothing differs. Rows of one job share their processes: they come in clusters.`,
    ),
    ...withoutLines(groups, say),
    ...(inNeither.length > 0
      ? say(`In neither bench: ${inNeither.map((name) => quantities[name].label).join(', ')}.`)
      : []),
  ];
}

/** The groups over all data types that have pairs. */
const wholeGroups = (groups: readonly Group[]): Group[] => {
  const all = groups.filter((g) => g.dtype === null);
  return groups.filter((g) => g.dtype === null || !all.some((o) => o.sizes === g.sizes && o.quantity === g.quantity));
};

/** Pairs without a ratio, by quantity and reason; those of one measurement in both are said with the rows. */
const withoutLines = (groups: readonly Group[], say: (text: string) => string[]): string[] =>
  wholeGroups(groups).flatMap((g) =>
    g.without
      .filter(({ why }) => why !== oneMeasurement)
      .flatMap(({ why, count }) =>
        say(`no ratio: ${g.sizes}, ${quantities[g.quantity].label}, ${counted(count, 'row')}: ${why}`),
      ),
  );

/** "1.0092 [0.9981, 1.0204]"; with as many digits as show on which side of 1 its ends lie. */
function ratio(e: Estimate): string {
  const ends = [e.lo, e.hi];
  const digits = [4, 5, 6].find((n) => ends.every((x) => x === 1 || Number(x.toFixed(n)) !== 1)) ?? 7;
  const [lo, hi] = ends.map((x) => x.toFixed(digits));
  return `${e.value.toFixed(digits)} [${lo}, ${hi}]`;
}
const figure = (pair: Pair, e: Estimate | null): string => {
  if (e === null) return '–';
  return quantities[pair.quantity].unit === 'ns' ? nsText(e.value) : `${e.value.toFixed(3)}×`;
};
const word = ({ verdict }: Pair): string => (verdict === 'same within the intervals' ? 'same' : (verdict ?? '–'));

/** Per size set and quantity over its data types; --json has them by type, and --dtype asks for one. */
function farthestLines({ groups }: Comparison, paint: Paint): string[] {
  const whole = wholeGroups(groups).filter((g) => g.pairs > 0);
  if (whole.length === 0) return [];
  const lines = whole.flatMap((g) => {
    const rows = g.farthest.map((p) => [
      p.task,
      p.dtype,
      `#${p.problem.split('/').at(-1)} ${sizeText(p.dims)}`,
      figure(p, p.a),
      figure(p, p.b),
      ratio(p.ratio as Estimate),
      word(p),
    ]);
    const others = [0, 1, 3, 4, 5, 6].reduce(
      (sum, i) => sum + Math.max(...rows.map((row) => row[i]?.length ?? 0)) + 2,
      4,
    );
    const room = Math.max(10, width - others);
    const cut = rows.map((row) => row.map((cell, i) => (i === 2 ? short(cell, room) : cell)));
    const of = `${g.farthest.length === 1 ? 'the one pair' : `the ${g.farthest.length} that differ most`} of ${g.pairs}`;
    return [
      '',
      `${paint('bold', `${quantities[g.quantity].label}, ${g.sizes}`)}: ${of} (A, B, B/A with interval, B against A)`,
      ...table(cut, [3, 4], '  '),
    ];
  });
  return [
    ...lines,
    '',
    'same: within the intervals, these figures cannot tell them apart. The farthest of many are so by',
    'chance in part: measure again what matters.',
  ];
}

function classLines({ profiles }: Comparison, paint: Paint): string[] {
  const { common, onlyA, onlyB, changed } = profiles;
  const name = ({ bottleneck, launchBound }: (typeof changed)[number]['a']): string =>
    `${bottleneck ?? 'no verdict'}${launchBound ? ', launch bound' : ''}`;
  const lines = changed.flatMap((p) => [
    `  ${p.task} ${p.dtype} ${p.version} (${p.sizes}): ${name(p.a)} → ${name(p.b)}`,
    ...wrap(`A: ${p.a.why}; B: ${p.b.why}`, width - 4, '    '),
  ]);
  const none = common > 0 && changed.length === 0 ? ['  no class differs'] : [];
  return [
    '',
    paint(
      'bold',
      `Profiles: ${common} in both, ${onlyA} only in A, ${onlyB} only in B; ${changed.length} of another class`,
    ),
    ...lines,
    ...none,
  ];
}
