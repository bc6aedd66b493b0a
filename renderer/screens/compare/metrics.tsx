import { useMemo, useState } from 'react';
import type { VersionDetail } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { Checkbox } from '../../ui/controls.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { MISSING, metric, number, percent } from '../../ui/format.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { type MetricPair, pairMetrics } from './model.ts';

const value = (p: MetricPair, side: 'a' | 'b') => {
  const { text, title } = metric(p[side]);
  return (
    <span className={p[side].available ? undefined : 'muted'} title={title}>
      {text}
    </span>
  );
};

function differenceText(p: MetricPair): string {
  if (p.difference === null || !p.a.available) return MISSING;
  // The difference of two percentages is no percentage of anything.
  const size = Math.abs(p.difference);
  const shown =
    p.a.unit === '%' ? `${number(size, 3)} pp` : metric({ available: true, value: size, unit: p.a.unit }).text;
  return p.difference === 0 ? 'none' : `${p.difference > 0 ? '+' : '−'}${shown}`;
}

const relative = (p: MetricPair): number | null =>
  p.difference === null || !p.a.available || p.a.value === 0 ? null : p.difference / Math.abs(p.a.value);

const columns: readonly Column<MetricPair>[] = [
  {
    id: 'label',
    title: 'Metric',
    width: 'minmax(210px, 1.4fr)',
    sort: (p) => p.label,
    cell: (p) => <span>{p.label}</span>,
    hint: (p) => `${p.meaning} ${p.id}`.trim(),
  },
  {
    id: 'a',
    title: 'A',
    width: 'minmax(110px, 1fr)',
    align: 'right',
    sort: (p) => (p.a.available ? p.a.value : null),
    cell: (p) => value(p, 'a'),
  },
  {
    id: 'b',
    title: 'B',
    width: 'minmax(110px, 1fr)',
    align: 'right',
    sort: (p) => (p.b.available ? p.b.value : null),
    cell: (p) => value(p, 'b'),
  },
  {
    id: 'difference',
    title: 'B − A',
    width: 'minmax(110px, 1fr)',
    align: 'right',
    sort: (p) => p.difference,
    cell: (p) => differenceText(p),
  },
  {
    id: 'relative',
    title: 'of A',
    width: '84px',
    align: 'right',
    sort: (p) => relative(p),
    cell: (p) => {
      const share = relative(p);
      return share === null ? MISSING : `${share > 0 ? '+' : ''}${percent(share, Math.abs(share) < 0.01 ? 2 : 1)}`;
    },
    meaning: 'Difference relative to A.',
  },
  {
    id: 'id',
    title: 'ncu name',
    width: 'minmax(240px, 2fr)',
    sort: (p) => p.id,
    cell: (p) => <span className="mono muted">{p.id}</span>,
    hint: (p) => p.meaning,
  },
];

/** Metrics of the hottest launch of each, side by side. What is missing stays "not available", with its reason. */
export function Metrics({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  const known = useQuery('metrics.list', {});
  const [text, setText] = useState('');
  const [all, setAll] = useState(false);
  const labels = useMemo(() => new Map((known.data ?? []).map((m) => [m.id, m])), [known.data]);
  const pairs = useMemo(() => pairMetrics(a, b, labels), [a, b, labels]);
  const shown = useMemo(() => {
    const words = text
      .toLowerCase()
      .split(/\s+/)
      .filter((w) => w !== '');
    return pairs.filter(
      (p) =>
        (all || p.told || words.length > 0) &&
        words.every((w) => `${p.label} ${p.id} ${p.meaning}`.toLowerCase().includes(w)),
    );
  }, [pairs, all, text]);
  if (pairs.length === 0)
    return (
      <Empty title="Neither version has a profile.">
        <p>
          {a.evaluation?.profile?.reason ??
            b.evaluation?.profile?.reason ??
            'The runs were made without one, or the versions did not get that far.'}
        </p>
      </Empty>
    );
  return (
    <div className="compare-part">
      <div className="cmp-part-bar">
        <input
          className="input cmp-part-search"
          type="search"
          aria-label="Find metrics"
          placeholder="Find metrics …"
          value={text}
          onChange={(e) => setText(e.target.value)}
        />
        <Checkbox label="All that were collected" checked={all} onChange={setAll} />
        <span className="muted" role="status">
          {shown.length} of {pairs.length} metrics, each of the launch with most time
        </span>
      </div>
      <Table
        label="Metrics"
        columns={columns}
        rows={shown}
        rowKey={(p) => p.id}
        empty={<Empty title="No metric fits." />}
      />
    </div>
  );
}
