import { describe, expect, it } from 'vitest';
import type { Comparison, Problem } from '../../main/contract/index.ts';
import { inputKind, numericsOf, ulpErrorOf } from '../../main/evaluate/numerics.ts';
import { comparison, timeResult } from './fakes.ts';

const problem = (id: string, n: number, kind: 'uniform' | 'wide' = 'uniform'): Problem =>
  ({
    id,
    dims: { N: n },
    dimOrder: ['N'],
    args: [],
    limits: [],
    buffers: [
      {
        name: 'x',
        role: 'in',
        elem: 'f32',
        count: n,
        generator: kind === 'wide' ? { kind, loExp: -9, hiExp: 9 } : { kind, lo: -1, hi: 1 },
      },
      { name: 'y', role: 'out', elem: 'f32', count: n },
    ],
  }) satisfies Problem;
const output = (maxUlp: number | null, rmsUlp: number | null, compared = 10): Comparison =>
  comparison({ output: 'y', compared, maxUlp, rmsUlp });
const plain = problem('verify/0', 10);
const ties = problem('verify/0+ties', 10);
const check = (id: string, ...outputs: Comparison[]) => ({ problem: id, seed: '0', outputs, firstCallNs: 1 });
const verified = (...checks: ReturnType<typeof check>[]) => ({
  problems: [plain, ties],
  result: { mode: 'verify' as const, gpu: null, incidents: [], checks },
});

describe('errors of several comparisons', () => {
  it('the largest, and the RMS over all elements', () => {
    expect(ulpErrorOf([output(3, 1, 30), output(2, 2, 10)])).toEqual({ maxUlp: 3, rmsUlp: Math.sqrt(70 / 40) });
  });
  it('one that was not measured leaves no figure, nothing compared leaves none at all', () => {
    expect(ulpErrorOf([output(3, 1), output(null, null)])).toEqual({ maxUlp: null, rmsUlp: null });
    expect(ulpErrorOf([])).toBeNull();
  });
});

describe('the report of an evaluation', () => {
  it('names size and kind of input, the candidate beside the baseline’s origin', () => {
    const origin = numericsOf({
      subject: 'O',
      verify: verified(check('verify/0', output(2, 0.5)), check('verify/0+ties', output(4, 0.7))),
      confirm: null,
      origin: null,
    });
    expect(origin?.map((o) => [o.candidate, o.origin?.maxUlp])).toEqual([
      [null, 2],
      [null, 4],
    ]);
    const rows = numericsOf({
      subject: 'C',
      verify: verified(
        check('verify/0', output(1, 0.25)),
        check('verify/0', output(6, 0.25)),
        check('verify/0+ties', output(0, 0)),
      ),
      confirm: null,
      origin,
    });
    expect(rows).toEqual([
      {
        problem: 'verify/0',
        size: 'N=10',
        kind: 'uniform',
        candidate: { maxUlp: 6, rmsUlp: 0.25 },
        origin: { maxUlp: 2, rmsUlp: 0.5 },
      },
      {
        problem: 'verify/0+ties',
        size: 'N=10',
        kind: 'ties',
        candidate: { maxUlp: 0, rmsUlp: 0 },
        origin: { maxUlp: 4, rmsUlp: 0.7 },
      },
    ]);
  });
  it('an origin that was measured at other sizes is none', () => {
    const other = [
      { problem: 'verify/0', size: 'N=11', kind: 'uniform', candidate: null, origin: { maxUlp: 1, rmsUlp: 1 } },
    ];
    const rows = numericsOf({
      subject: 'C',
      verify: verified(check('verify/0', output(1, 1))),
      confirm: null,
      origin: other,
    });
    expect(rows?.map((r) => r.origin)).toEqual([null]);
  });
  it('timed sizes carry both, from the calls that were compared whole', () => {
    const result = timeResult([], {
      whole: [
        { arm: 'O', problem: 0, outputs: [output(2, 1)] },
        { arm: 'C', problem: 0, outputs: [output(3, 2)] },
        { arm: 'B', problem: 0, outputs: [output(9, 9)] },
      ],
    });
    const confirm = { problems: [problem('published/0', 1024)], result };
    expect(numericsOf({ subject: 'C', verify: null, confirm, origin: null })).toEqual([
      {
        problem: 'published/0',
        size: 'N=1024',
        kind: 'uniform',
        candidate: { maxUlp: 3, rmsUlp: 2 },
        origin: { maxUlp: 2, rmsUlp: 1 },
      },
    ]);
  });
  it('nothing measured is null, not an empty success', () => {
    expect(numericsOf({ subject: 'C', verify: null, confirm: null, origin: null })).toBeNull();
    expect(numericsOf({ subject: 'C', verify: verified(), confirm: null, origin: null })).toBeNull();
  });
  it('kinds of input are named by the task’s extra input, else by how they are generated', () => {
    expect([plain, ties, problem('verify/1', 4, 'wide')].map(inputKind)).toEqual(['uniform', 'ties', 'wide']);
  });
});
