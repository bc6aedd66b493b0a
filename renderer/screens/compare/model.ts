import type { VersionDetail } from '../../../main/contract/api.ts';
import { confirmedFigures } from '../../../main/contract/confirmed.ts';
import type { Estimate, Numerics, SizeFigures } from '../../../main/contract/evaluation.ts';
import type { MetricValue } from '../../../main/contract/profile.ts';

/** GPU span: what the GPU needs. Wrapper: what a caller waits. */
export type Quantity = 'span' | 'wrapper';

/** Which of two times is less. `unknown`: one is missing. */
export type Comparison = 'a' | 'b' | 'same' | 'unknown';

export interface SizePair {
  readonly size: string;
  /** Of the score, 0 … 1; null: the two disagree or do not say. */
  readonly weight: number | null;
  readonly a: Estimate | null;
  readonly b: Estimate | null;
  /** Time of A over time of B: above 1, B is faster. Bounds from the ends of both intervals. */
  readonly ratio: Estimate | null;
  readonly faster: Comparison;
}

const sizeText = (dims: Readonly<Record<string, number>>): string =>
  Object.entries(dims)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');

function timeOf(version: VersionDetail, s: SizeFigures | undefined, quantity: Quantity): Estimate | null {
  if (s === undefined) return null;
  if (version.round === 0) return quantity === 'span' ? s.originSpanNs : s.originWrapperNs;
  return quantity === 'span' ? s.candidateSpanNs : s.candidateWrapperNs;
}

/** Overlapping intervals do not tell two times apart. */
export function compareTimes(a: Estimate | null, b: Estimate | null): Comparison {
  if (a === null || b === null) return 'unknown';
  if (a.lo > b.hi) return 'b';
  return b.lo > a.hi ? 'a' : 'same';
}

/** Cautious bounds: the ends of the intervals that lie furthest apart. */
export function ratioOf(a: Estimate | null, b: Estimate | null): Estimate | null {
  if (a === null || b === null || !(b.lo > 0)) return null;
  return { value: a.value / b.value, lo: a.lo / b.hi, hi: a.hi / b.lo, level: Math.min(a.level, b.level) };
}

/** Every size of either version, in the order of A, then what only B has. */
export function pairSizes(a: VersionDetail, b: VersionDetail, quantity: Quantity): SizePair[] {
  const bySize = (v: VersionDetail) => {
    const sizes = confirmedFigures(v.evaluation)?.sizes ?? [];
    const total = sizes.reduce((sum, s) => sum + s.weight, 0);
    return new Map(sizes.map((s) => [sizeText(s.dims), { s, share: total > 0 ? s.weight / total : null }]));
  };
  const [ofA, ofB] = [bySize(a), bySize(b)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((size) => {
    const [x, y] = [ofA.get(size), ofB.get(size)];
    const [timeA, timeB] = [timeOf(a, x?.s, quantity), timeOf(b, y?.s, quantity)];
    const agree = x === undefined || y === undefined || Math.abs((x.share ?? 0) - (y.share ?? 0)) < 1e-9;
    return {
      size,
      weight: agree ? (x?.share ?? y?.share ?? null) : null,
      a: timeA,
      b: timeB,
      ratio: ratioOf(timeA, timeB),
      faster: compareTimes(timeA, timeB),
    };
  });
}

/** "B is faster at 12 of 16 sizes, A at 1; 3 cannot be told apart." */
export function verdictOf(pairs: readonly SizePair[]): string {
  const count = (what: Comparison) => pairs.filter((p) => p.faster === what).length;
  const [a, b, same, unknown] = [count('a'), count('b'), count('same'), count('unknown')];
  if (pairs.length === unknown) return 'No size has confirmed times of both versions.';
  const known = pairs.length - unknown;
  const parts = [
    b > 0 ? `B is faster at ${b} of ${known} sizes` : '',
    a > 0 ? `A is faster at ${a} of ${known}${b > 0 ? '' : ' sizes'}` : '',
    same > 0 ? `at ${same} the intervals overlap: indistinguishable` : '',
    unknown > 0 ? `${unknown} without times of both` : '',
  ].filter((p) => p !== '');
  const text = parts.join('; ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** One fact of the machines, and whether a difference in it makes times incomparable. */
export interface EnvironmentLine {
  readonly name: string;
  readonly a: string | null;
  readonly b: string | null;
  readonly differs: boolean;
  readonly decisive: boolean;
}

const facts: readonly (readonly [string, boolean, (v: VersionDetail) => string | null | undefined])[] = [
  ['GPU', true, (v) => v.evaluation?.gpu?.name ?? v.machine?.gpu?.name ?? v.gpu],
  ['Driver', true, (v) => v.machine?.driver],
  ['CUDA toolkit', true, (v) => v.machine?.toolkit],
  ['nvcc', false, (v) => v.machine?.nvcc],
  ['Host compiler', false, (v) => v.machine?.hostCompiler],
  ['Nsight Compute', false, (v) => v.machine?.ncu],
  ['Containment', false, (v) => v.machine?.containment],
  ['GPU device', false, (v) => v.evaluation?.gpu?.uuid ?? v.machine?.gpu?.uuid],
];

/** Both environments side by side. What one does not know differs from nothing. */
export function environmentLines(a: VersionDetail, b: VersionDetail): EnvironmentLine[] {
  return facts.map(([name, decisive, of]) => {
    const [x, y] = [of(a) ?? null, of(b) ?? null];
    return { name, a: x, b: y, differs: x !== null && y !== null && x !== y, decisive };
  });
}

/** Why times of the two must not be compared; empty: nothing known speaks against it. */
export const incomparable = (lines: readonly EnvironmentLine[]): string[] =>
  lines.filter((l) => l.differs && l.decisive).map((l) => l.name);

export interface MetricPair {
  readonly id: string;
  readonly label: string;
  readonly meaning: string;
  readonly a: MetricValue;
  readonly b: MetricValue;
  /** B − A in the metric's unit; null: one is not available, or the units differ. */
  readonly difference: number | null;
  /** Named in the verdict or its evidence, not only collected. */
  readonly told: boolean;
}

interface Known {
  readonly label: string;
  readonly meaning: string;
  readonly value: MetricValue;
  readonly told: boolean;
}

/** Every metric of a version's profile: what the verdict and its evidence name first, then all of the launch with most time. */
function metricsOf(
  v: VersionDetail,
  labels: ReadonlyMap<string, { label: string; meaning: string }>,
): Map<string, Known> {
  const profile = v.evaluation?.profile ?? null;
  const found = new Map<string, Known>();
  for (const m of [...(profile?.filtered ?? []), ...(profile?.evidence ?? [])])
    if (!found.has(m.id)) found.set(m.id, { label: m.label, meaning: m.meaning, value: m.value, told: true });
  const index = profile?.verdict?.launch ?? null;
  const launch = profile?.launches.find((l) => l.index === index) ?? null;
  for (const [id, value] of Object.entries(launch?.metrics ?? {})) {
    const known = labels.get(id);
    if (!found.has(id)) found.set(id, { label: known?.label ?? id, meaning: known?.meaning ?? '', value, told: false });
  }
  return found;
}

const absent = (v: VersionDetail): MetricValue => {
  const profile = v.evaluation?.profile ?? null;
  const reason =
    profile === null
      ? 'no profile was taken'
      : profile.status === 'complete'
        ? 'not collected'
        : (profile.reason ?? profile.status);
  return { available: false, reason };
};

export function pairMetrics(
  a: VersionDetail,
  b: VersionDetail,
  labels: ReadonlyMap<string, { label: string; meaning: string }>,
): MetricPair[] {
  const [ofA, ofB] = [metricsOf(a, labels), metricsOf(b, labels)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((id) => {
    const [x, y] = [ofA.get(id), ofB.get(id)];
    const any = (x ?? y) as Known;
    const [left, right] = [x?.value ?? absent(a), y?.value ?? absent(b)];
    const comparable = left.available && right.available && left.unit === right.unit;
    return {
      id,
      label: any.label,
      meaning: any.meaning,
      a: left,
      b: right,
      difference: comparable ? right.value - left.value : null,
      told: (x?.told ?? false) || (y?.told ?? false),
    };
  });
}

export interface NumericsPair {
  readonly key: string;
  readonly size: string;
  readonly kind: string;
  readonly a: Numerics['candidate'];
  readonly b: Numerics['candidate'];
}

/** Errors by size and kind of input. Ragged sizes are drawn anew for each run: most pairs of different runs have one side only. */
export function pairNumerics(a: VersionDetail, b: VersionDetail): NumericsPair[] {
  const ofVersion = (v: VersionDetail) =>
    new Map(
      (v.evaluation?.numerics ?? []).map((n) => [
        `${n.size} ${n.kind}`,
        { n, error: v.round === 0 ? (n.candidate ?? n.origin) : n.candidate },
      ]),
    );
  const [ofA, ofB] = [ofVersion(a), ofVersion(b)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])].map((key) => {
    const any = (ofA.get(key) ?? ofB.get(key)) as { n: Numerics };
    return { key, size: any.n.size, kind: any.n.kind, a: ofA.get(key)?.error ?? null, b: ofB.get(key)?.error ?? null };
  });
}

/** Arguments that only one of the two has, for marking; both keep their order. */
export function argumentMarks(
  a: readonly string[],
  b: readonly string[],
): { a: [string, boolean][]; b: [string, boolean][] } {
  const marks = (own: readonly string[], other: readonly string[]): [string, boolean][] =>
    own.map((arg) => [arg, !other.includes(arg)]);
  return { a: marks(a, b), b: marks(b, a) };
}
