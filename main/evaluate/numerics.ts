import {
  type Comparison,
  type Numerics,
  type Problem,
  sizeText,
  type TimeResult,
  type UlpError,
  type VerifyResult,
} from '../contract/index.ts';

/** Kind of input: the task's extra input ("verify/3+ties"), else how its inputs are generated ("uniform"). */
export function inputKind(problem: Problem): string {
  const extra = problem.id.split('+')[1];
  if (extra !== undefined) return extra;
  const kinds = problem.buffers.flatMap((b) =>
    b.role === 'out' || b.generator === undefined ? [] : [b.generator.kind],
  );
  return [...new Set(kinds)].join(', ') || 'none';
}

/**
 * Largest error, and RMS over all elements of several comparisons, ulp. null where one of them was not measured: a maximum of what is
 * left would be too small.
 */
export function ulpErrorOf(outputs: readonly Comparison[]): UlpError | null {
  if (outputs.length === 0) return null;
  const max = outputs.map((o) => o.maxUlp);
  const rms = outputs.map((o) => o.rmsUlp);
  const elements = outputs.reduce((sum, o) => sum + o.compared, 0);
  const squares = outputs.reduce((sum, o) => sum + o.compared * (o.rmsUlp ?? 0) ** 2, 0);
  return {
    maxUlp: max.includes(null) ? null : Math.max(...max.map(Number)),
    rmsUlp: rms.includes(null) || elements === 0 ? null : Math.sqrt(squares / elements),
  };
}

export interface NumericsInput {
  /** Whose results were verified: the candidate's, or origin's in a baseline. */
  readonly subject: 'C' | 'O';
  readonly verify: { readonly problems: readonly Problem[]; readonly result: VerifyResult } | null;
  /** The confirming sample: one call per arm and size was compared whole. */
  readonly confirm: { readonly problems: readonly Problem[]; readonly result: TimeResult } | null;
  /** Of the run's baseline, whose verification drew the same sizes. */
  readonly origin: readonly Numerics[] | null;
}

const rowOf = (problem: Problem, candidate: UlpError | null, origin: UlpError | null): Numerics => ({
  problem: problem.id,
  size: sizeText(problem.dims),
  kind: inputKind(problem),
  candidate,
  origin,
});

/**
 * Errors by size and kind of input, the candidate's beside origin's. Verified sizes: origin's come from the run's baseline (its own
 * seeds, the same sizes). Timed sizes: both come from the calls that were compared whole. null = nothing was measured.
 */
export function numericsOf(input: NumericsInput): Numerics[] | null {
  const { subject, verify, confirm, origin } = input;
  const verified = (verify?.problems ?? []).flatMap((problem) => {
    const outputs = verify?.result.checks.filter((c) => c.problem === problem.id).flatMap((c) => c.outputs) ?? [];
    const own = ulpErrorOf(outputs);
    if (own === null) return [];
    if (subject === 'O') return [rowOf(problem, null, own)];
    const before = origin?.find((o) => o.problem === problem.id && o.size === sizeText(problem.dims));
    return [rowOf(problem, own, before?.origin ?? null)];
  });
  const timed = (confirm?.problems ?? []).flatMap((problem, index) => {
    const of = (arm: string) =>
      ulpErrorOf(
        confirm?.result.whole.filter((w) => w.arm === arm && w.problem === index).flatMap((w) => w.outputs) ?? [],
      );
    const row = rowOf(problem, subject === 'C' ? of('C') : null, of('O'));
    return row.candidate === null && row.origin === null ? [] : [row];
  });
  const rows = [...verified, ...timed];
  return rows.length === 0 ? null : rows;
}
