import type { Heatmap, HeatRow, SourceCounts, SourceFunction } from '../contract/index.ts';
import stallTable from './stalls.json' with { type: 'json' };

export interface HeatOptions {
  /** samples: all; notIssued: only those of cycles in which the scheduler issued nothing. Default: samples. */
  readonly by?: 'samples' | 'notIssued';
  /** Default: lines where the page has them, else instructions. */
  readonly unit?: 'line' | 'instruction';
  /** Hottest rows kept; default all. */
  readonly limit?: number;
}

/** Below this many samples shares are rough; ours. */
const FEW = 200;

type Candidate = Pick<HeatRow, 'function' | 'file' | 'line' | 'address' | 'text'> & { readonly counts: SourceCounts };

/** Rows of the heatmap over the given functions (one kernel, or all of a page), hottest first, with shares of all their samples. */
export function heatmap(functions: readonly SourceFunction[], options: HeatOptions = {}): Heatmap {
  const by = options.by ?? 'samples';
  if (functions.length === 0) return { available: false, reason: 'the source page has no kernel' };
  const unit = options.unit ?? (functions.some((f) => f.lines.length > 0) ? 'line' : 'instruction');
  const all = functions.flatMap((of) => (unit === 'line' ? lineRows(of) : instructionRows(of)));
  if (all.length === 0)
    return {
      available: false,
      reason:
        unit === 'line' ? 'the page has no source lines (compile with -lineinfo)' : 'the page has no instructions',
    };
  const total = totalOf(functions, by, all);
  if (total === null) return { available: false, reason: 'the page has no sample counts' };
  if (total === 0) return { available: false, reason: 'the sampler took no sample: the kernel is too short' };
  const known = all.flatMap((row) => {
    const samples = row.counts[by];
    return samples === null || samples === 0 ? [] : [{ row, samples }];
  });
  known.sort((a, b) => b.samples - a.samples);
  const hottest = known[0]?.samples ?? 0;
  const unknown = all.filter((row) => row.counts[by] === null).length;
  const listed = known.reduce((sum, { samples }) => sum + samples, 0);
  const notes = ['Samples stand where a warp waited, not where the value it waited for was asked for.'];
  if (total < FEW) notes.push(`Only ${total} samples: shares are rough.`);
  if (unknown > 0) notes.push(`${unknown} rows have no sample count.`);
  if (listed < total) notes.push(`${total - listed} of ${total} samples belong to no row.`);
  if (listed > total) notes.push('Rows share samples: inlining puts an instruction under several lines.');
  return {
    available: true,
    by,
    unit,
    total,
    rows: known.slice(0, options.limit).map(({ row, samples }) => heatRow(row, samples, total, hottest, by)),
    notes,
  };
}

const lineRows = (of: SourceFunction): Candidate[] =>
  of.lines.map(({ file, line, text, counts }) => ({ function: of.name, file, line, address: null, text, counts }));

function instructionRows(of: SourceFunction): Candidate[] {
  return of.instructions.map(({ address, sass, lines, counts }) => {
    const line = of.lines[lines[0] ?? -1];
    return { function: of.name, file: line?.file ?? null, line: line?.line ?? null, address, text: sass, counts };
  });
}

/**
 * Samples of the functions. Instructions count each sample once; lines may share an instruction by inlining, or miss those without line
 * information. null: no row has a count.
 */
function totalOf(
  functions: readonly SourceFunction[],
  by: 'samples' | 'notIssued',
  rows: readonly Candidate[],
): number | null {
  const instructions = functions.flatMap((of) => of.instructions.map((i) => i.counts[by]));
  const counts = functions.every((of) => of.instructions.length > 0) ? instructions : rows.map((row) => row.counts[by]);
  const known = counts.filter((count) => count !== null);
  return known.length === 0 ? null : known.reduce((sum, count) => sum + count, 0);
}

function heatRow(
  row: Candidate,
  samples: number,
  total: number,
  hottest: number,
  by: 'samples' | 'notIssued',
): HeatRow {
  const { counts, ...place } = row;
  const share = Math.min(1, samples / total);
  return {
    ...place,
    samples,
    share,
    plusMinus: wilson(share, total),
    heat: samples / hottest,
    dominant: dominant(by === 'samples' ? counts.stalls : counts.stallsNotIssued, samples),
  };
}

/** Half width of the 95 % Wilson interval of a share of n. */
function wilson(share: number, n: number): number {
  const z2 = 1.96 ** 2;
  return (1.96 / (1 + z2 / n)) * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n));
}

/** The reason of most samples; issuing is none. Reasons not in stalls.json are shown under ncu's name. */
function dominant(stalls: Readonly<Record<string, number>>, samples: number): HeatRow['dominant'] {
  let best: { stall: string; samples: number } | null = null;
  for (const [stall, count] of Object.entries(stalls))
    if (count > (best?.samples ?? 0) && describe(stall).kind !== 'issuing') best = { stall, samples: count };
  if (best === null) return null;
  const { label, meaning } = describe(best.stall);
  return { ...best, label, meaning, share: Math.min(1, best.samples / samples) };
}

function describe(stall: string): { readonly label: string; readonly meaning: string; readonly kind: string } {
  const known = stallTable.stalls.find(({ id }) => id === stall);
  return (
    known ?? { label: stall, meaning: `A reason this version of CUDAMaster does not know (${stall}).`, kind: 'stall' }
  );
}

const pct = (share: number): string => `${(share * 100).toFixed(1)} %`;
// Control characters of a source file must not reach a terminal.
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ').trim();
const cut = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

/** The n hottest rows as text, one paragraph each; the reason when there is no heatmap. */
export function topLines(map: Heatmap, n = 5): string {
  if (!map.available) return `No heatmap: ${map.reason}.`;
  const what = map.by === 'samples' ? 'samples' : 'samples without issue';
  const rows = map.rows.slice(0, n);
  const severalKernels = new Set(map.rows.map((row) => row.function)).size > 1;
  const out = [`Hottest ${map.unit}s, of ${map.total} ${what}:`];
  for (const [i, row] of rows.entries()) {
    out.push(
      `${i + 1}. ${place(row, severalKernels)}: ${pct(row.share)} ± ${pct(row.plusMinus)}  ${cut(plain(row.text), 120)}`,
    );
    if (row.dominant !== null)
      out.push(`   ${plain(row.dominant.label)}, ${pct(row.dominant.share)} of these. ${plain(row.dominant.meaning)}`);
  }
  return [...out, ...map.notes].join('\n');
}

function place(row: HeatRow, withKernel: boolean): string {
  const file = row.file === null ? '' : (row.file.split(/[\\/]/).pop() ?? '');
  const line = row.line === null ? '' : `${plain(file) || 'line'}:${row.line}`;
  const at = [line, row.address === null ? '' : plain(row.address)].filter((part) => part !== '').join(' ');
  return withKernel ? `${cut(plain(row.function), 60)} ${at}` : at;
}
