import { useMemo } from 'react';
import type { VersionDetail } from '../../../main/contract/api.ts';
import type { UlpError } from '../../../main/contract/evaluation.ts';
import { Empty, Output } from '../../ui/feedback.tsx';
import { MISSING, number, percent } from '../../ui/format.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { type NumericsPair, pairNumerics } from './model.ts';

const ulp = (e: UlpError | null, what: 'maxUlp' | 'rmsUlp') => number(e?.[what] ?? null, 3);

/** A share of the limit; far beyond it, how many times. */
const ofLimit = (x: number | null): string => (x !== null && x >= 10 ? `${number(x, 3)} ×` : percent(x));

const columns: readonly Column<NumericsPair>[] = [
  { id: 'size', title: 'Size', width: 'minmax(180px, 1.5fr)', sort: (p) => p.size, cell: (p) => <span>{p.size}</span> },
  { id: 'kind', title: 'Input', width: 'minmax(90px, 1fr)', sort: (p) => p.kind, cell: (p) => p.kind },
  {
    id: 'amax',
    title: 'A largest',
    unit: 'ulp',
    width: '110px',
    align: 'right',
    sort: (p) => p.a?.maxUlp ?? null,
    cell: (p) => ulp(p.a, 'maxUlp'),
  },
  {
    id: 'arms',
    title: 'A RMS',
    unit: 'ulp',
    width: '100px',
    align: 'right',
    sort: (p) => p.a?.rmsUlp ?? null,
    cell: (p) => ulp(p.a, 'rmsUlp'),
  },
  {
    id: 'bmax',
    title: 'B largest',
    unit: 'ulp',
    width: '110px',
    align: 'right',
    sort: (p) => p.b?.maxUlp ?? null,
    cell: (p) => ulp(p.b, 'maxUlp'),
  },
  {
    id: 'brms',
    title: 'B RMS',
    unit: 'ulp',
    width: '100px',
    align: 'right',
    sort: (p) => p.b?.rmsUlp ?? null,
    cell: (p) => ulp(p.b, 'rmsUlp'),
  },
];

function Overall({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  const rows: [string, (v: VersionDetail) => string][] = [
    ['Verified', (v) => (v.evaluation === null ? MISSING : v.verified ? 'yes' : 'no')],
    ['Largest error', (v) => `${number(v.evaluation?.error?.maxUlp ?? null, 3)} ulp`],
    ['RMS error', (v) => `${number(v.evaluation?.error?.rmsUlp ?? null, 3)} ulp`],
    ['Worst, of the limit', (v) => ofLimit(v.evaluation?.error?.worstOfLimit ?? null)],
    ['At', (v) => v.evaluation?.error?.problem ?? MISSING],
  ];
  return (
    <table className="plain-table">
      <caption className="visually-hidden">Errors over everything that was verified</caption>
      <thead>
        <tr>
          <th scope="col">Over everything verified</th>
          <th scope="col" className="num">
            A
          </th>
          <th scope="col" className="num">
            B
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, of]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td className="num">{of(a)}</td>
            <td className="num">{of(b)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Errors of both, overall and by size and kind of input; what was wrong, in words. */
export function Errors({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  const pairs = useMemo(() => pairNumerics(a, b), [a, b]);
  const digests = [
    ['A', a.evaluation?.digest ?? ''],
    ['B', b.evaluation?.digest ?? ''],
  ].filter(([, text]) => text !== '');
  return (
    <div className="compare-part">
      <div className="cmp-errors-top">
        <Overall a={a} b={b} />
        {digests.map(([side = '', text = '']) => (
          <Output key={side} label={`What was wrong with ${side}`} text={`${side}: ${text}`} max={150} />
        ))}
      </div>
      <Table
        label="Errors by size and input"
        columns={columns}
        rows={pairs}
        rowKey={(p) => p.key}
        empty={
          <Empty title="Errors by size and input were not kept.">
            <p>The program version that measured these did not report them.</p>
          </Empty>
        }
      />
    </div>
  );
}
