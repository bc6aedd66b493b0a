import type { ArgSpec, BufferSpec, Problem, ResolvedGenerator, Storage } from '../../contract/index.ts';

/** Bytes of one element as stored. */
export const elementBytes: Readonly<Record<Storage, number>> = { f32: 4, bf16: 2, i32: 4 };

/** A double as the C side reads it back exactly (shortest form that round-trips). */
function number(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`not a finite number in a problem: ${value}`);
  return Object.is(value, -0) ? '-0' : String(value);
}

function generatorText(g: ResolvedGenerator): string {
  switch (g.kind) {
    case 'uniform':
      return `uniform ${number(g.lo)} ${number(g.hi)}`;
    case 'wide':
      return `wide ${g.loExp} ${g.hiExp}`;
    case 'levels':
      return `levels ${number(g.lo)} ${number(g.hi)} ${g.levels}`;
    case 'zeros':
      return 'zeros';
    case 'int':
      return `int ${g.lo} ${g.hi}`;
    case 'offsets':
      return `offsets ${g.rows} ${g.nnz} ${g.style} ${g.every}`;
    case 'rows':
      return `rows ${g.rows} ${g.nnz} ${g.style} ${g.every} ${g.order}`;
    case 'ell':
      return `ell ${g.rows} ${g.nnz} ${g.width} ${g.style} ${g.every} ${generatorText(g.entries)}`;
  }
}

const bufferText = (b: BufferSpec, ordinal: number): string =>
  `buf ${b.name} ${b.role} ${b.elem} ${b.count} ${ordinal}${b.generator ? ` ${generatorText(b.generator)}` : ''}`;

const argText = (a: ArgSpec): string =>
  a.kind === 'buf'
    ? `arg buf ${a.index}`
    : `arg ${a.kind} ${a.kind === 'int' || a.kind === 'long' ? a.value : number(a.value)}`;

/** What follows `problem NONCE` (PROTOCOL.md, "Problem description"). The same text goes to runner and judge. */
export function problemText(problem: Problem, layout: 'guarded' | 'exact'): string {
  const dims = problem.dimOrder.map((name) => `${name}=${problem.dims[name]}`).join(' ');
  const lines = [
    layout,
    `dims ${dims}`,
    ...problem.buffers.map(bufferText),
    ...problem.args.map(argText),
    ...problem.limits.map((l) => `tol ${l.buffer} ${number(l.c)} ${number(l.rms)} ${number(l.uOut)} ${number(l.uAcc)}`),
  ];
  return lines.join('\n');
}

/** Indices of the buffers a call writes. */
export const outputsOf = (problem: Problem): number[] =>
  problem.buffers.flatMap((b, i) => (b.role === 'in' || b.count === 0 ? [] : [i]));

export const bufferBytes = (b: BufferSpec): number => b.count * elementBytes[b.elem];
