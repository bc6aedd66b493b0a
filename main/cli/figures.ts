import {
  confirmedFigures,
  type Estimate,
  type Evaluation,
  firstSampleOnly,
  replayWords,
  sanitizedOf,
  sanitizedText,
  sizeText,
} from '../contract/index.ts';
import { table } from './output.ts';

/** Nanoseconds in the unit that suits `scale` (ns). Missing is a dash, never 0. */
function inUnit(ns: number, scale: number): string {
  const [factor, unit] = scale >= 1e6 ? [1e6, 'ms'] : scale >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${significant(ns / factor)} ${unit}`;
}

/** Nanoseconds in the unit that suits them: "12.41 µs". */
export const nsText = (ns: number): string => inUnit(ns, ns);

/** Four significant digits without an exponent. */
export function significant(x: number): string {
  if (!Number.isFinite(x)) return String(x);
  const digits = x === 0 ? 0 : Math.floor(Math.log10(Math.abs(x))) + 1;
  return x.toFixed(Math.min(6, Math.max(0, 4 - digits)));
}

/** "12.41 µs [12.38, 12.45]" */
export function timeText(e: Estimate | null): string {
  if (e === null) return '–';
  const unit = inUnit(e.value, e.value);
  const name = unit.slice(unit.indexOf(' '));
  const bare = (ns: number) => inUnit(ns, e.value).replace(name, '');
  return `${unit} [${bare(e.lo)}, ${bare(e.hi)}]`;
}

/** "812 B", "3.1 KiB", "20.0 MiB". */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}

/** "1.842× [1.83, 1.86]" */
export const ratioText = (e: Estimate | null): string =>
  e === null ? '–' : `${e.value.toFixed(3)}× [${e.lo.toFixed(3)}, ${e.hi.toFixed(3)}]`;

/** Level of the intervals, e.g. "99 %". */
function levelOf(figures: NonNullable<Evaluation['figures']>): string {
  const any = figures.sizes.flatMap((s) => [s.speedup, s.originSpanNs, s.candidateSpanNs]).find((e) => e !== null);
  return any ? `${Number((any.level * 100).toFixed(2))} % intervals` : 'no intervals';
}

const phaseText = { baseline: 'baseline', confirm: 'confirmed in fresh processes' } as const;

/** Table of times and speed-ups per size, with what they rest on. */
export function figuresLines(evaluation: Evaluation, indent = '  '): string[] {
  const figures = confirmedFigures(evaluation);
  if (figures === null && !firstSampleOnly(evaluation)) return [];
  if (figures === null) return [`${indent}(first sample only, nothing to confirm: no figures)`];
  const withCandidate = figures.sizes.some((s) => s.candidateSpanNs !== null);
  const head = withCandidate
    ? ['size', 'weight', 'origin (GPU span)', 'candidate', 'origin/candidate', 'best/candidate', 'wrapper', 'floor']
    : ['size', 'weight', 'origin (GPU span)', 'wrapper', 'floor'];
  const total = figures.sizes.reduce((sum, s) => sum + s.weight, 0);
  const rows = figures.sizes.map((s) => {
    const weight = total > 0 ? `${((100 * s.weight) / total).toFixed(1)} %` : '–';
    const floor = s.floorNs === null ? '–' : inUnit(s.floorNs, s.floorNs);
    const origin = [sizeText(s.dims), weight, timeText(s.originSpanNs)];
    if (!withCandidate) return [...origin, timeText(s.originWrapperNs), floor];
    return [
      ...origin,
      timeText(s.candidateSpanNs),
      ratioText(s.speedup),
      ratioText(s.versusBest),
      timeText(s.candidateWrapperNs),
      floor,
    ];
  });
  const basis = `${phaseText[figures.phase]}, ${figures.processes} processes, ${figures.calls} timed calls, ${figures.voided} voided, ${levelOf(figures)}`;
  const lines = [...table([head, ...rows], [1], indent), `${indent}(${basis})`];
  const sanitized = sanitizedOf(evaluation);
  if (figures.score !== null)
    lines.push(
      `${indent}P = ${ratioText(figures.score)}${sanitized === null ? '' : ` (${sanitizedText(sanitized)})`}  P_min ${plain(figures.pMin)}  geometric mean ${plain(figures.geomean)}  against best R = ${ratioText(figures.ratio)}`,
    );
  return lines;
}

const plain = (x: number | null): string => (x === null ? '–' : `${x.toFixed(3)}×`);

const ulp = (x: number | null): string => (x === null ? '–' : x.toPrecision(3));

/** What was proven, built and found besides times. */
export function evidenceLines(e: Evaluation, indent = '  '): string[] {
  const lines: string[] = [];
  if (e.error)
    lines.push(
      `verified ${e.verified ? 'yes' : 'no'}: error max ${ulp(e.error.maxUlp)} ulp, RMS ${ulp(e.error.rmsUlp)} ulp, worst ${e.error.worstOfLimit === null ? '–' : `${(100 * e.error.worstOfLimit).toPrecision(3)} % of the limit`}${e.error.problem ? ` (${e.error.problem})` : ''}`,
    );
  if (e.build) {
    const { registers, spillBytes, sharedBytes } = e.build;
    const count = (x: number | null, unit: string) => (x === null ? `${unit} unknown` : `${x} ${unit}`);
    lines.push(
      `build: ${count(registers, 'registers')}, ${count(spillBytes, 'bytes spilled')}, ${count(sharedBytes, 'bytes shared memory')}`,
    );
  }
  if (e.machine)
    lines.push(
      `machine: ${e.machine.gpu?.name ?? 'no GPU'}, driver ${e.machine.driver ?? '–'}, CUDA ${e.machine.toolkit ?? '–'}, containment ${e.machine.containment}`,
    );
  return lines.map((l) => indent + l);
}

/** Errors by size and kind of input beside the origin's; a dash where nothing was measured. */
export function numericsLines(e: Evaluation, indent = '  '): string[] {
  if (!e.numerics) return [`${indent}errors by size: not measured`];
  const rows = e.numerics.map((n) => [
    n.size,
    n.kind,
    ulp(n.candidate?.maxUlp ?? null),
    ulp(n.candidate?.rmsUlp ?? null),
    ulp(n.origin?.maxUlp ?? null),
    ulp(n.origin?.rmsUlp ?? null),
  ]);
  const head = ['size', 'input', 'max ulp', 'RMS ulp', 'origin max', 'origin RMS'];
  return table([head, ...rows], [2, 3, 4, 5], indent);
}

/** Bottleneck and the metrics passed on. */
export function profileLines(e: Evaluation, indent = '  '): string[] {
  const p = e.profile;
  if (!p) return [`${indent}no profile`];
  const lines: string[] = [];
  if (p.status !== 'complete')
    lines.push(`${p.status}: ${p.reason ?? 'no reason given'}${p.remedy ? ` ${p.remedy}` : ''}`);
  if (p.remark !== undefined) lines.push(`remark: ${p.remark}`);
  if (p.verdict) {
    const name = p.verdict.bottleneck === null ? 'no verdict' : `${p.verdict.bottleneck} bound`;
    lines.push(`${name}${p.verdict.launchBound ? ', launch bound (grid below one wave)' : ''}: ${p.verdict.why}`);
  }
  const rows = p.filtered.map((m) => [
    m.label,
    m.value.available ? `${significant(m.value.value)} ${m.value.unit}`.trim() : `not available (${m.value.reason})`,
    m.meaning,
  ]);
  const from = [
    p.problem ? `size ${p.problem}` : '',
    p.ncuVersion ? `ncu ${p.ncuVersion}` : '',
    p.launches.length > 0 ? replayWords(p.replay) : '',
    `${p.launches.length} launches`,
  ];
  lines.push(...table(rows, [1]), `(${from.filter((t) => t !== '').join(', ')})`);
  return lines.map((l) => indent + l);
}

export const bottleneckText = (e: Evaluation | null): string => {
  const v = e?.profile?.verdict;
  if (!v) return '';
  return [v.bottleneck === null ? '' : `${v.bottleneck} bound`, v.launchBound ? 'launch bound' : '']
    .filter((t) => t !== '')
    .join(', ');
};
