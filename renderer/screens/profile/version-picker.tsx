import { useMemo } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { hrefOf } from '../../app/routes.ts';
import { Empty, ErrorBox, Loading, OutcomeBadge } from '../../ui/feedback.tsx';
import { ago, ratio } from '../../ui/format.ts';
import { bottleneckText } from '../../ui/outcomes.ts';
import { Panel } from '../../ui/panels.tsx';
import { type Column, Table } from '../../ui/table.tsx';

const columns: readonly Column<VersionRow>[] = [
  { id: 'task', title: 'Task', width: 'minmax(140px, 1fr)', sort: (v) => v.task, cell: (v) => v.task },
  { id: 'dtype', title: 'Type', width: '60px', sort: (v) => v.dtype, cell: (v) => v.dtype },
  { id: 'run', title: 'Run', width: '150px', sort: (v) => v.run, cell: (v) => <span className="mono">{v.run}</span> },
  {
    id: 'label',
    title: 'Version',
    width: 'minmax(120px, 1fr)',
    sort: (v) => v.id,
    cell: (v) => <a href={hrefOf('profile', [v.id])}>{v.label}</a>,
    hint: (v) => v.id,
  },
  {
    id: 'outcome',
    title: 'Outcome',
    width: '130px',
    sort: (v) => v.outcome,
    cell: (v) => <OutcomeBadge outcome={v.outcome} />,
  },
  {
    id: 'score',
    title: 'Speed-up',
    width: '90px',
    align: 'right',
    sort: (v) => v.score?.value ?? null,
    cell: (v) => ratio(v.score?.value),
  },
  {
    id: 'bottleneck',
    title: 'Bottleneck',
    width: '210px',
    sort: (v) => v.bottleneck,
    cell: (v) => bottleneckText(v.bottleneck, v.launchBound) || '–',
  },
  {
    id: 'at',
    title: 'Made',
    width: '110px',
    align: 'right',
    sort: (v) => v.at,
    cell: (v) => ago(v.at),
    hint: (v) => v.at,
  },
];

/** Versions with a profile first. */
export function VersionPicker({
  title,
  onPick,
}: {
  readonly title: string;
  readonly onPick: (version: string) => void;
}) {
  const { data, error, loading } = useQuery('versions.list', {}, ['versions']);
  const rows = useMemo(
    () =>
      (data ?? []).toSorted(
        (a, b) => Number(b.bottleneck !== null) - Number(a.bottleneck !== null) || b.at.localeCompare(a.at),
      ),
    [data],
  );
  if (error !== null) return <ErrorBox error={error} />;
  if (loading) return <Loading what="versions" />;
  if (rows.length === 0)
    return (
      <Empty title="No version has been measured yet.">
        <p>
          Start a run, evaluate a kernel, or replay a recording on the Home screen: each version then has its profile
          here.
        </p>
      </Empty>
    );
  return (
    <Panel title={title} grow flush>
      <Table label={title} columns={columns} rows={rows} rowKey={(v) => v.id} onActivate={(v) => onPick(v.id)} />
    </Panel>
  );
}
