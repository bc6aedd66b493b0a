import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Icon } from './icons.tsx';
import { type Sort, type SortValue, sortRows } from './sort.ts';

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** Shown small behind the title. */
  readonly unit?: string;
  /** CSS grid track: "80px", "minmax(120px, 1fr)". */
  readonly width: string;
  readonly align?: 'left' | 'right' | 'center';
  /** What it sorts by; absent: not sortable. */
  readonly sort?: (row: R) => SortValue;
  readonly cell: (row: R) => ReactNode;
  /** Tooltip of a cell. */
  readonly hint?: (row: R) => string;
  /** What the column means. */
  readonly meaning?: string;
}

interface TableProps<R> {
  /** Said by screen readers. */
  readonly label: string;
  readonly columns: readonly Column<R>[];
  readonly rows: readonly R[];
  readonly rowKey: (row: R) => string;
  /** Highlighted rows. */
  readonly selected?: ReadonlySet<string> | string | null;
  /** The row that the keyboard or a click came to. `extend`: with Ctrl/Cmd or Space, to choose several. */
  readonly onSelect?: (row: R, extend: boolean) => void;
  /** Enter or double click. */
  readonly onActivate?: (row: R) => void;
  /** Further keys on the current row (Delete …); true = taken. */
  readonly onKey?: (row: R, e: KeyboardEvent) => boolean;
  readonly initialSort?: Sort;
  /** Shown instead of rows. */
  readonly empty?: ReactNode;
  readonly rowClass?: (row: R) => string | undefined;
  /** Height of a row, pixels. */
  readonly rowHeight?: number;
  /** Grows with its rows up to this height, pixels; absent: fills its parent. */
  readonly maxHeight?: number;
}

const isSelected = (selected: TableProps<unknown>['selected'], key: string): boolean =>
  typeof selected === 'string' ? selected === key : (selected?.has(key) ?? false);

/** Pixels that the tracks need at least: every row takes the same, whatever is in its cells. */
const leastWidth = (columns: readonly { readonly width: string }[]): number =>
  columns.reduce((sum, c) => sum + Number(/([\d.]+)px/.exec(c.width)?.[1] ?? 60), 0);

/** Keys that move the current row: new index, or null. */
function moved(key: string, index: number, last: number, page: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return Math.min(last, index + 1);
    case 'ArrowUp':
      return Math.max(0, index - 1);
    case 'PageDown':
      return Math.min(last, index + page);
    case 'PageUp':
      return Math.max(0, index - page);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return null;
  }
}

/**
 * A grid of rows of one height: only those in sight are in the document, the header stays, every column with `sort` sorts by click.
 * Keyboard: arrows, Page, Home, End move; Enter activates; Space adds to the selection.
 */
export function Table<R>(props: TableProps<R>) {
  const { label, columns, rows, rowKey, rowHeight = 24, maxHeight } = props;
  const [sort, setSort] = useState<Sort | null>(props.initialSort ?? null);
  const [at, setAt] = useState(0);
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();

  const shown = useMemo(() => {
    const column = columns.find((c) => c.id === sort?.column);
    return sort && column?.sort ? sortRows(rows, column.sort, sort.descending) : rows;
  }, [rows, columns, sort]);

  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollPaddingStart: 28,
  });
  const template = columns.map((c) => c.width).join(' ');
  const minWidth = leastWidth(columns);
  const current = Math.min(at, shown.length - 1);

  // The current row follows a selection made elsewhere.
  const single = typeof props.selected === 'string' ? props.selected : null;
  useEffect(() => {
    if (single === null) return;
    const index = shown.findIndex((r) => rowKey(r) === single);
    if (index >= 0) setAt(index);
  }, [single, shown, rowKey]);

  const onKeyDown = (e: KeyboardEvent) => {
    if (e.target !== e.currentTarget) return;
    const row = shown[current];
    if (row === undefined) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 240) / rowHeight) - 2);
    const to = moved(e.key, current, shown.length - 1, page);
    if (to !== null) {
      setAt(to);
      virtual.scrollToIndex(to);
      const next = shown[to];
      if (next !== undefined && !e.ctrlKey && !e.metaKey) props.onSelect?.(next, e.shiftKey);
    } else if (e.key === 'Enter' && props.onActivate) props.onActivate(row);
    else if (e.key === ' ' && props.onSelect) props.onSelect(row, true);
    else if (!props.onKey?.(row, e)) return;
    e.preventDefault();
  };

  const items = virtual.getVirtualItems();
  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={shown.length + 1}
      aria-colcount={columns.length}
      aria-multiselectable={typeof props.selected === 'object' && props.selected !== null ? true : undefined}
      aria-activedescendant={items.some((i) => i.index === current) ? `${id}-${current}` : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      style={maxHeight ? { maxHeight, flex: 'none' } : undefined}
    >
      <div
        className="grid-head"
        role="row"
        aria-rowindex={1}
        style={{ gridTemplateColumns: template, minWidth }}
        tabIndex={-1}
      >
        {columns.map((c) => (
          <HeadCell key={c.id} column={c} sort={sort} onSort={setSort} />
        ))}
      </div>
      {shown.length === 0 && props.empty}
      <div className="grid-rows" role="rowgroup" style={{ height: virtual.getTotalSize(), minWidth }}>
        {items.map((item) => {
          const row = shown[item.index] as R;
          const key = rowKey(row);
          const chosen = isSelected(props.selected, key);
          return (
            <div
              key={key}
              id={`${id}-${item.index}`}
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={props.onSelect ? chosen : undefined}
              tabIndex={-1}
              className={[
                'grid-row',
                chosen && 'grid-row-selected',
                item.index === current && 'grid-row-current',
                props.rowClass?.(row),
              ]
                .filter(Boolean)
                .join(' ')}
              style={{
                gridTemplateColumns: template,
                minWidth,
                height: rowHeight,
                transform: `translateY(${item.start}px)`,
              }}
              onClick={(e) => {
                setAt(item.index);
                props.onSelect?.(row, e.ctrlKey || e.metaKey || e.shiftKey);
              }}
              onDoubleClick={() => props.onActivate?.(row)}
            >
              {columns.map((c) => (
                <div key={c.id} role="gridcell" className={`cell cell-${c.align ?? 'left'}`} title={c.hint?.(row)}>
                  {c.cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

function HeadCell<R>({
  column,
  sort,
  onSort,
}: {
  readonly column: Column<R>;
  readonly sort: Sort | null;
  readonly onSort: (sort: Sort) => void;
}) {
  const on = sort?.column === column.id;
  const text = (
    <>
      {column.title}
      {column.unit && <span className="unit">{column.unit}</span>}
    </>
  );
  return (
    <div
      role="columnheader"
      tabIndex={-1}
      className={`cell cell-${column.align ?? 'left'}`}
      aria-sort={on ? (sort.descending ? 'descending' : 'ascending') : column.sort ? 'none' : undefined}
      title={column.meaning}
    >
      {column.sort ? (
        <button
          type="button"
          className="head-button"
          onClick={() => onSort({ column: column.id, descending: on ? !sort.descending : false })}
        >
          {text}
          {on && <Icon name={sort.descending ? 'down' : 'up'} size={10} />}
        </button>
      ) : (
        text
      )}
    </div>
  );
}
