import type { Roofline, RooflinePeaks, RooflinePoint } from '../../main/contract/profile.ts';
import { si } from '../ui/format.ts';

/** A version's roofline, with the word that names it. */
export interface RooflineOf {
  readonly version: string;
  /** "origin", "best r2.a0", "selected r1.a0". */
  readonly label: string;
  readonly role: 'selected' | 'compared' | 'best' | 'origin';
  readonly roofline: Roofline | null;
}

export interface Roof {
  readonly label: string;
  readonly pipe: string | null;
  /** In FLOP/B and FLOP/s. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface PlacedPoint {
  readonly version: string;
  readonly label: string;
  readonly role: RooflineOf['role'];
  readonly point: RooflinePoint;
  readonly x: number;
  readonly y: number;
}

export interface RooflineModel {
  readonly roofs: readonly Roof[];
  readonly points: readonly PlacedPoint[];
  /** Points that have no place, and roofs that were not measured, with the reason. */
  readonly absent: readonly string[];
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

/** Operations of a pipe below this share are listed in the table but not drawn. */
const DRAWN = 0.005;

/** Roofs and points in one picture. Peaks are those of the first version that has any: all ran on one GPU. */
export function rooflineModel(of: readonly RooflineOf[], labelOf: (pipe: string) => string = pipeLabel): RooflineModel {
  const absent: string[] = [];
  const points: PlacedPoint[] = [];
  for (const { version, label, role, roofline } of of) {
    if (roofline === null) {
      absent.push(`${label}: no roofline in its profile.`);
      continue;
    }
    for (const point of roofline.points) {
      if (point.share < DRAWN) continue;
      const { intensity, rate } = point;
      if (intensity.available && rate.available)
        points.push({ version, label, role, point, x: intensity.value, y: rate.value });
      else
        absent.push(
          `${label}, ${point.label}: ${intensity.available ? (rate as { reason: string }).reason : intensity.reason}.`,
        );
    }
    if (roofline.points.length === 0)
      absent.push(`${label}: ${roofline.missing[0]?.reason ?? 'no floating-point operation was counted'}.`);
  }
  const peaks = of.find(({ roofline }) => roofline?.peaks !== undefined)?.roofline?.peaks ?? null;
  const x = span(
    points.map((p) => p.x),
    ridges(peaks),
  );
  const roofs = peaks === null ? [] : roofsOf(peaks, x, labelOf);
  if (peaks === null) absent.push('The peaks of this GPU were not measured: no roofs.');
  const y = span(
    points.map((p) => p.y),
    roofs.flatMap((roof) => roof.points.map((p) => p.y)),
  );
  return { roofs, points, absent, x, y };
}

function ridges(peaks: RooflinePeaks | null): number[] {
  const bandwidth = peaks?.bytesPerS ?? null;
  if (peaks === null || bandwidth === null || !(bandwidth > 0)) return [];
  // Two decades of the slope are seen below the lowest ridge, one of the roof above the highest.
  return Object.values(peaks.flopsPerS).flatMap((flops) => [flops / bandwidth / 50, (flops / bandwidth) * 5]);
}

/** Whole decades around all values, at least two. */
function span(...values: readonly (readonly number[])[]): readonly [number, number] {
  const known = values.flat().filter((v) => v > 0 && Number.isFinite(v));
  if (known.length === 0) return [0.01, 100];
  const low = Math.floor(Math.log10(Math.min(...known)) - 0.15);
  const high = Math.ceil(Math.log10(Math.max(...known)) + 0.15);
  return [10 ** low, 10 ** Math.max(high, low + 2)];
}

/** The slope of the memory up to the highest peak, and each pipe's flat roof from where the slope meets it. */
function roofsOf(
  peaks: RooflinePeaks,
  [left, right]: readonly [number, number],
  labelOf: (pipe: string) => string,
): Roof[] {
  const bandwidth = peaks.bytesPerS;
  const pipes = Object.entries(peaks.flopsPerS).filter(([, flops]) => flops > 0);
  const roofs: Roof[] = [];
  if (bandwidth !== null && bandwidth > 0) {
    const highest = Math.max(...pipes.map(([, flops]) => flops), 0);
    const end = highest > 0 ? Math.min(right, highest / bandwidth) : right;
    roofs.push({
      label: 'DRAM bandwidth',
      pipe: null,
      points: [
        { x: left, y: left * bandwidth },
        { x: end, y: end * bandwidth },
      ],
    });
  }
  for (const [pipe, flops] of pipes) {
    const ridge = bandwidth !== null && bandwidth > 0 ? flops / bandwidth : left;
    roofs.push({
      label: `${labelOf(pipe)} peak`,
      pipe,
      points: [
        { x: Math.max(left, ridge), y: flops },
        { x: right, y: flops },
      ],
    });
  }
  return roofs;
}

/** "fp32" → "FP32", "tensor-bf16" → "Tensor BF16". */
export const pipeLabel = (pipe: string): string =>
  pipe
    .split('-')
    .map((word) => (/\d/.test(word) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join(' ');

export interface RoofName {
  readonly label: string;
  /** FLOP/s. */
  readonly rate: number;
  /** px from the top. */
  readonly at: number;
}

/** Lines that cannot be told apart, px. */
const EQUAL = 4;

/**
 * Words beside the flat roofs, each with the px of its middle. Roofs that cannot be told apart share their words; words stand above
 * their line, or below it where those of the line above are in the way, or join these where there is no room at all.
 * `height`: of a line of words, px.
 */
export function roofLabels(roofs: readonly RoofName[], height: number): readonly { text: string; at: number }[] {
  const groups: RoofName[][] = [];
  for (const roof of roofs.toSorted((a, b) => a.at - b.at)) {
    const last = groups.at(-1);
    if (last?.[0] !== undefined && roof.at - last[0].at < EQUAL) last.push(roof);
    else groups.push([roof]);
  }
  const placed: { text: string; at: number }[] = [];
  for (const [i, group] of groups.entries()) {
    const above = placed.at(-1);
    const line = group[0]?.at ?? 0;
    const next = groups[i + 1]?.[0]?.at ?? Number.POSITIVE_INFINITY;
    const free = (at: number): boolean => above === undefined || at - above.at >= height;
    const places = [line - height / 2 - 1, line + height / 2 + 2];
    const at = places.find((place, below) => free(place) && (below === 0 || next - place > height / 2));
    if (at === undefined && above !== undefined) above.text += `, ${roofText(group)}`;
    else placed.push({ text: roofText(group), at: at ?? (places[0] as number) });
  }
  return placed;
}

/** "FP32 peak 64.8 TFLOP/s"; of several: "Tensor FP16, BF16 peaks 594.8, 594.6 TFLOP/s". */
function roofText(group: readonly RoofName[]): string {
  const names = group.map(({ label }) => label.replace(/ peak$/, ''));
  const family = /^\w+ /.exec(names[0] ?? '')?.[0] ?? '';
  const short = names.map((name, i) =>
    i > 0 && family !== '' && name.startsWith(family) ? name.slice(family.length) : name,
  );
  const rates = group.map(({ rate }) => si(rate, 'FLOP/s').split(/\s/));
  const unit = rates[0]?.[1] ?? '';
  const figures = rates.every(([, each]) => each === unit)
    ? `${rates.map(([figure]) => figure).join(', ')} ${unit}`
    : rates.map((parts) => parts.join(' ')).join(', ');
  return `${short.join(', ')} peak${group.length > 1 ? 's' : ''} ${figures}`;
}
