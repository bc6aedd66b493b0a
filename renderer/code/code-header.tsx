import { memo } from 'react';
import { percent } from '../ui/format.ts';
import { LEADING, type Shown } from './code-row.ts';
import type { Side, SortBy, StallColumn } from './model.ts';

/** Heights and widths of the grid, px. */
export const HEADER = 132;
export const LABEL = 46;
export const SHARE = 50;
export const CELL = 46;

interface Props {
  readonly side: Side;
  readonly columns: readonly StallColumn[];
  /** The first column in sight. */
  readonly first: number;
  readonly width: number;
  readonly sort: SortBy;
  readonly onSort: (by: SortBy) => void;
  /** A column that is out of sight was reached with the keyboard. */
  readonly onReach: (column: number) => void;
  readonly shown: Shown;
  readonly total: number | null;
}

/** All headings; those of columns out of sight are cut off, and come into sight with the keyboard. */
export const CodeHeader = memo(function CodeHeader(props: Props) {
  const { side, columns, first, width, sort, onSort, onReach, shown, total } = props;
  const sorted = (by: SortBy) => (sort === by ? (by === 'order' ? 'ascending' : 'descending') : 'none');
  return (
    <div role="rowgroup" className="code-header" style={{ height: HEADER, width }}>
      <div role="row" className="code-header-row" aria-rowindex={1}>
        <HeaderCell
          className="code-label"
          column={1}
          sorted={sorted('order')}
          onSort={() => onSort('order')}
          title="Program order"
        >
          {side === 'lines' ? 'Line' : 'Offset'}
        </HeaderCell>
        <HeaderCell
          className="code-share"
          column={2}
          sorted={sorted('samples')}
          onSort={() => onSort('samples')}
          title="Warp samples; sorts hottest first"
        >
          Samples {shown === 'percent' ? '%' : ''}
        </HeaderCell>
        <span role="columnheader" aria-colindex={LEADING} className="code-text">
          {side === 'lines' ? 'Source' : 'Machine code (SASS)'}
        </span>
        {columns.map(({ id, label, meaning, samples }, i) => (
          <HeaderCell
            key={id}
            className="code-cell"
            column={LEADING + i + 1}
            shift={i === 0 ? -first * CELL : 0}
            sorted={sorted(id)}
            onSort={() => onSort(id)}
            onFocus={() => onReach(i)}
            title={meaning === '' ? `${label}: sorts by it` : `${label}. ${meaning}`}
          >
            <span className="code-vertical">{label}</span>
            <span className="code-sum">{total ? percent(samples / total, 0) : samples}</span>
          </HeaderCell>
        ))}
      </div>
    </div>
  );
});

function HeaderCell(props: {
  readonly className: string;
  readonly column: number;
  /** Pixels by which it and all that follow are moved. */
  readonly shift?: number;
  readonly sorted: 'none' | 'ascending' | 'descending';
  readonly onSort: () => void;
  readonly onFocus?: () => void;
  readonly title: string;
  readonly children: React.ReactNode;
}) {
  return (
    <span
      role="columnheader"
      className={props.className}
      aria-colindex={props.column}
      aria-sort={props.sorted}
      style={props.shift ? { marginLeft: props.shift } : undefined}
    >
      <button type="button" className="code-sort" title={props.title} onClick={props.onSort} onFocus={props.onFocus}>
        {props.children}
      </button>
    </span>
  );
}
