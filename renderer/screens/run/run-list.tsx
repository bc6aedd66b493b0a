import { useMemo, useState } from 'react';
import type { RunRow } from '../../../main/contract/api.ts';
import type { Query } from '../../api/client.ts';
import { search } from '../../app/match.ts';
import { go } from '../../app/navigation.ts';
import { Button } from '../../ui/controls.tsx';
import { Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { ago, ratio, stamp } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { statusLook } from '../../ui/outcomes.ts';
import { type Column, Table } from '../../ui/table.tsx';

const kinds: Readonly<Record<string, string>> = {
  optimize: 'run',
  demo: 'demo',
  replay: 'replay',
  evaluate: 'evaluation',
  profile: 'profile',
};

const columns: readonly Column<RunRow>[] = [
  {
    id: 'run',
    title: 'Run',
    width: 'minmax(90px, 1fr)',
    sort: (r) => `${r.task} ${r.dtype}`,
    hint: (r) =>
      `${r.task} ${r.dtype}, ${kinds[r.kind] ?? r.kind}, ${statusLook(r.status).label}\n${r.id}\n${stamp(r.createdAt)}`,
    cell: (r) => {
      const look = statusLook(r.status);
      return (
        <span className="run-cell">
          <span className={`run-status tone-${look.tone}`} title={look.label}>
            <Icon name={look.icon} size={12} />
            <span className="visually-hidden">{look.label}</span>
          </span>
          <span className="run-cell-text">
            <span className="ellipsis">
              {r.task} <span className="muted">{r.dtype}</span>
            </span>
            <span className="muted run-cell-more ellipsis">
              {kinds[r.kind] ?? r.kind}, {ago(r.createdAt)}
            </span>
          </span>
        </span>
      );
    },
  },
  {
    id: 'score',
    title: 'Best',
    width: '72px',
    align: 'right',
    meaning: 'Weighted speed-up of the best version over the original',
    sort: (r) => r.score,
    cell: (r) => <span>{ratio(r.score)}</span>,
  },
];

export function RunList({
  runs,
  current,
}: {
  readonly runs: Query<readonly RunRow[]>;
  readonly current: string | null;
}) {
  const [query, setQuery] = useState('');
  const shown = useMemo(
    () =>
      query.trim() === ''
        ? (runs.data ?? [])
        : search(query, runs.data ?? [], (r) => `${r.task} ${r.dtype} ${r.id} ${r.status} ${r.kind} ${r.model}`, 1000),
    [runs.data, query],
  );
  return (
    <section className="side" aria-label="Runs">
      <div className="side-bar">
        <h2>Runs</h2>
        <Button icon="plus" tone={current === 'new' ? 'plain' : 'primary'} onClick={() => go('run', ['new'])}>
          New run
        </Button>
      </div>
      <div className="side-filter">
        <input
          className="input"
          type="search"
          aria-label="Filter runs"
          placeholder="Filter by task, status, model …"
          value={query}
          onChange={(e) => setQuery(e.target.value)}
        />
      </div>
      {runs.error && !runs.data && <ErrorBox error={runs.error} />}
      {runs.loading ? (
        <Loading what="runs" />
      ) : (
        <Table
          label="Runs, newest first"
          columns={columns}
          rows={shown}
          rowKey={(r) => r.id}
          rowHeight={40}
          selected={current ?? ''}
          onSelect={(r) => go('run', [r.id])}
          empty={<Empty title={query === '' ? 'No run yet' : 'No run fits the filter'} />}
        />
      )}
    </section>
  );
}
