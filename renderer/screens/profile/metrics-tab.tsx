import { useMemo } from 'react';
import { setQuery } from '../../app/navigation.ts';
import { changeClass, changeStep } from '../../charts/scale.ts';
import { count, metric } from '../../ui/format.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { changeText } from './change.ts';
import { type MetricRow, metricRows, searchMetrics } from './metrics.ts';
import type { ProfileContext } from './profile-screen.tsx';

const value = (v: MetricRow['value'] | null) => {
  if (v === null) return '–';
  const { text, title } = metric(v);
  return v.available ? text : <span className="muted">not available: {title}</span>;
};

function columnsOf(selected: string, compared: string | null): readonly Column<MetricRow>[] {
  return [
    {
      id: 'label',
      title: 'Metric',
      width: 'minmax(170px, 1.2fr)',
      sort: (m) => m.label,
      cell: (m) => m.label,
      hint: (m) => m.label,
    },
    {
      id: 'value',
      title: selected,
      width: 'minmax(110px, 0.8fr)',
      align: 'right',
      sort: (m) => (m.value.available ? m.value.value : null),
      cell: (m) => value(m.value),
      hint: (m) => metric(m.value).title,
    },
    ...(compared === null ? [] : besideOf(compared)),
    {
      id: 'meaning',
      title: 'Meaning',
      width: 'minmax(200px, 2.4fr)',
      cell: (m) => m.meaning || <span className="muted">no explanation in CUDAMaster</span>,
      hint: (m) => m.meaning,
    },
    { id: 'unit', title: 'Unit', width: '110px', sort: (m) => m.unit, cell: (m) => m.unit },
    {
      id: 'id',
      title: 'Id in Nsight Compute',
      width: 'minmax(160px, 1.6fr)',
      sort: (m) => m.id,
      cell: (m) => <span className="mono">{m.id}</span>,
      hint: (m) => m.id,
    },
  ];
}

/** The columns of the version beside it; there are none while nothing is chosen. */
function besideOf(compared: string): readonly Column<MetricRow>[] {
  return [
    {
      id: 'compared',
      title: compared,
      width: 'minmax(110px, 0.8fr)',
      align: 'right',
      sort: (m) => (m.compared?.available ? m.compared.value : null),
      cell: (m) => value(m.compared),
      hint: (m) => (m.compared === null ? '' : metric(m.compared).title),
    },
    {
      id: 'change',
      title: 'Change',
      width: '84px',
      align: 'right',
      sort: (m) => m.ratio,
      cell: (m) => <span className={`change ${changeClass(changeStep(m.ratio))}`}>{changeText(m.ratio)}</span>,
    },
  ];
}

/** Every metric by id, label, meaning and unit. */
export function MetricsTab({ context, query }: { readonly context: ProfileContext; readonly query: string }) {
  const { catalogue, profile, launch, compared, selected } = context;
  const other = compared?.evaluation?.profile ?? null;
  const rows = useMemo(() => metricRows(catalogue, profile, launch, other), [catalogue, profile, launch, other]);
  const shown = useMemo(() => searchMetrics(rows, query), [rows, query]);
  const columns = useMemo(() => columnsOf(selected.label, compared?.label ?? null), [selected, compared]);
  return (
    <div className="metrics-tab">
      <div className="code-bar">
        <input
          className="input metrics-search"
          type="search"
          aria-label="Search metrics"
          placeholder="Search by id, label, meaning or unit"
          value={query}
          spellCheck={false}
          onChange={(e) => setQuery({ q: e.target.value })}
        />
        <span className="muted tabular" role="status">
          {count(shown.length)} of {count(rows.length)} metrics
        </span>
      </div>
      <Table
        label="Metrics"
        columns={columns}
        rows={shown}
        rowKey={(m) => m.id}
        empty={<p className="muted pad">Nothing matches “{query}”.</p>}
      />
    </div>
  );
}
