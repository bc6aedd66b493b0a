import { memo, useMemo } from 'react';
import type { VersionRow } from '../../../main/contract/api.ts';
import { sanitizedFact } from '../../../main/contract/sanitized.ts';
import { go } from '../../app/navigation.ts';
import { hrefOf } from '../../app/routes.ts';
import { Button } from '../../ui/controls.tsx';
import { Empty, Facts, OutcomeBadge } from '../../ui/feedback.tsx';
import { count, level, number, ratio, ratioEstimate, stamp } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { bottleneckText, outcomeLook, outcomeOf } from '../../ui/outcomes.ts';
import { useActions } from './actions.ts';
import { positionOf } from './columns.tsx';
import { lineageOf } from './lineage.ts';
import { NoteField } from './note.tsx';

/** The tree of versions that the selected one belongs to. */
function Lineage({
  rows,
  row,
  onSelect,
}: {
  readonly rows: readonly VersionRow[];
  readonly row: VersionRow;
  readonly onSelect: (id: string) => void;
}) {
  const lines = useMemo(
    () =>
      lineageOf(
        rows.filter((r) => r.task === row.task && r.dtype === row.dtype),
        row.id,
      ),
    [rows, row.task, row.dtype, row.id],
  );
  if (lines.length < 2) return <p className="muted">Made from nothing listed here, and nothing was made from it.</p>;
  return (
    <ul className="lineage" aria-label="Lineage">
      {lines.map(({ row: r, depth, rails, last }) => (
        <li
          key={r.id}
          aria-current={r.id === row.id || undefined}
          className={r.id === row.id ? 'lineage-on' : undefined}
        >
          <button
            type="button"
            className="lineage-line"
            title={`${r.id}: ${r.reason || outcomeLook(outcomeOf(r)).meaning}`}
            onClick={() => onSelect(r.id)}
          >
            <span className="lineage-rails" aria-hidden="true">
              {rails.map((on, i) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a rail is its level
                <span key={i} className={on ? 'strand strand-on' : 'strand'} />
              ))}
              {depth > 0 && <span className={last ? 'strand strand-last' : 'strand strand-on strand-tee'} />}
            </span>
            <span className={`lineage-dot tone-${outcomeLook(outcomeOf(r)).tone}`}>
              <Icon name={outcomeLook(outcomeOf(r)).icon} size={11} />
            </span>
            <span className="mono">{r.run === row.run ? positionOf(r) : r.id}</span>
            <span className="lineage-score">{r.score ? ratio(r.score.value) : outcomeLook(outcomeOf(r)).label}</span>
            {r.pinned && <Icon name="pin" size={11} />}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Everything about one version that needs no further question to the engine, and what can be done with it. */
export const Details = memo(function Details({
  rows,
  row,
  onSelect,
}: {
  readonly rows: readonly VersionRow[];
  readonly row: VersionRow | null;
  readonly onSelect: (id: string) => void;
}) {
  const actions = useActions();
  if (row === null)
    return (
      <Empty title="No version chosen.">
        <p>Choose one in the table; Space adds a second one to compare.</p>
      </Empty>
    );
  const { score } = row;
  return (
    <div className="details-pane">
      <section className="details-column" aria-label="Version">
        <header className="details-head">
          <div>
            <h2 className="mono">{row.id}</h2>
            <p className="muted">
              {row.task} {row.dtype}
              {row.label !== positionOf(row) && `, ${row.label}`}
            </p>
          </div>
          <OutcomeBadge outcome={outcomeOf(row)} />
        </header>
        {row.reason !== '' && <p className="details-reason">{row.reason}</p>}
        <div className="row details-buttons">
          <Button icon="branch" onClick={() => go('kernel', [row.id])} title="Edit a copy of it and evaluate that">
            Branch
          </Button>
          <Button icon="profile" onClick={() => go('profile', [row.id])}>
            Profile
          </Button>
          <Button
            icon="compare"
            disabled={row.parent === null}
            title={row.parent === null ? 'It was made from no other version' : `Compare with ${row.parent}`}
            onClick={() => row.parent && go('compare', [row.parent, row.id])}
          >
            With parent
          </Button>
          <Button
            icon="export"
            onClick={() => actions.exportZip(row)}
            title="ZIP with source, origin, test program and report"
          >
            Export
          </Button>
          <Button icon="pin" aria-pressed={row.pinned} onClick={() => void actions.edit(row, { pinned: !row.pinned })}>
            {row.pinned ? 'Unpin' : 'Pin'}
          </Button>
          {row.deletedAt === null ? (
            <Button icon="trash" onClick={() => actions.remove(row)}>
              Delete
            </Button>
          ) : (
            <Button icon="retry" tone="primary" onClick={() => actions.restore(row)}>
              Restore
            </Button>
          )}
        </div>
        <NoteField key={row.id} row={row} />
      </section>
      <section className="details-column" aria-label="Figures">
        <Facts
          rows={[
            ['Speed-up', score && `${ratioEstimate(score)} (${level(score.level)})`],
            ...(row.sanitized === null ? [] : [['Sanitized', sanitizedFact(row.sanitized)] as const]),
            ['P_min', row.pMin === null ? null : ratio(row.pMin)],
            ['Bottleneck', bottleneckText(row.bottleneck, row.launchBound) || null],
            ['Largest error', row.maxUlp === null ? null : `${number(row.maxUlp, 3)} ulp`],
            ['Registers', row.registers === null ? null : count(row.registers)],
            ['GPU', row.gpu],
            ['Made', stamp(row.at)],
            [
              'Run',
              <a key="run" href={hrefOf('run', [row.run])} className="mono">
                {row.run}
              </a>,
            ],
          ]}
        />
      </section>
      <section className="details-column" aria-label="Lineage">
        <h3>Lineage</h3>
        <Lineage rows={rows} row={row} onSelect={onSelect} />
      </section>
    </div>
  );
});
