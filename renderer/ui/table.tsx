import { useVirtualizer, type VirtualItem } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
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
  /** What its cells show is never wider than the track: nothing has to be cut off, which costs scrolling time in every cell. */
  readonly fits?: boolean;
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

const cellClass = ({ align = 'left', fits }: Pick<Column<never>, 'align' | 'fits'>): string =>
  `cell cell-${align}${fits ? ' cell-fits' : ''}`;

/** Rows drawn beyond either end of what is seen. */
const OVERSCAN = 6;

/**
 * Rows that scroll out lend their elements to those that come in, and the elements keep their order in the document meanwhile: changing
 * words costs much less than making or moving elements. At rest the order is that of the rows again.
 */
function useSlots(items: readonly VirtualItem[], scrolling: boolean) {
  const most = useRef(0);
  const first = useRef(0);
  // A number of slots that grew once stays: rows would change their elements with it.
  most.current = Math.max(most.current, items.length + 2);
  if (!scrolling) first.current = items[0]?.index ?? 0;
  const slots = most.current;
  const place = ({ index }: VirtualItem): number => (((index - first.current) % slots) + slots) % slots;
  return { ordered: scrolling ? items.toSorted((a, b) => place(a) - place(b)) : items, slots };
}

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
    overscan: OVERSCAN,
    scrollPaddingStart: 28,
  });
  const template = useMemo(() => columns.map((c) => c.width).join(' '), [columns]);
  const minWidth = useMemo(() => leastWidth(columns), [columns]);
  const current = Math.min(at, shown.length - 1);

  // The current row follows a selection made elsewhere.
  const single = typeof props.selected === 'string' ? props.selected : null;
  useEffect(() => {
    if (single === null) return;
    const index = shown.findIndex((r) => rowKey(r) === single);
    if (index >= 0) setAt(index);
  }, [single, shown, rowKey]);

  // Rows keep these for good; what they call is always the newest.
  const latest = useRef(props);
  latest.current = props;
  const events = useMemo<RowEvents<R>>(
    () => ({
      choose: (row, index, extend) => {
        setAt(index);
        latest.current.onSelect?.(row, extend);
      },
      activate: (row) => latest.current.onActivate?.(row),
    }),
    [],
  );

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
  const { ordered, slots } = useSlots(items, virtual.isScrolling);
  // Tooltips are put together for the cell that is pointed at, not for every cell that is scrolled past.
  const hinted = useRef<HTMLElement | null>(null);
  const onPointerOver = (e: PointerEvent) => {
    const cell = (e.target as HTMLElement).closest<HTMLElement>('[role="gridcell"]');
    if (cell === hinted.current) return;
    hinted.current?.removeAttribute('title');
    hinted.current = cell;
    const line = cell?.parentElement;
    const row = shown[Number(line?.getAttribute('aria-rowindex') ?? Number.NaN) - 2];
    const column = columns[[...(line?.children ?? [])].indexOf(cell as HTMLElement)];
    if (cell && row !== undefined && column?.hint) cell.title = column.hint(row);
  };
  // A grid holds rows and nothing else.
  if (shown.length === 0 && props.empty !== undefined) return <div className="grid-empty">{props.empty}</div>;
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
      onPointerOver={onPointerOver}
      onPointerLeave={onPointerOver}
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
      <div className="grid-rows" role="rowgroup" style={{ height: virtual.getTotalSize(), minWidth }}>
        {ordered.map((item) => {
          const row = shown[item.index] as R;
          const key = rowKey(row);
          return (
            <Row
              key={item.index % slots}
              id={`${id}-${item.index}`}
              index={item.index}
              start={item.start}
              row={row}
              columns={columns}
              template={template}
              minWidth={minWidth}
              height={rowHeight}
              selected={props.onSelect ? isSelected(props.selected, key) : null}
              current={item.index === current}
              extraClass={props.rowClass?.(row)}
              events={events}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowEvents<R> {
  choose(row: R, index: number, extend: boolean): void;
  activate(row: R): void;
}

interface RowProps<R> {
  readonly id: string;
  readonly index: number;
  readonly start: number;
  readonly row: R;
  readonly columns: readonly Column<R>[];
  readonly template: string;
  readonly minWidth: number;
  readonly height: number;
  /** null: rows cannot be selected. */
  readonly selected: boolean | null;
  readonly current: boolean;
  readonly extraClass: string | undefined;
  readonly events: RowEvents<R>;
}

/** One row. It is drawn again only when something of its own changed: scrolling past a hundred rows draws the new ones alone. */
const Row = memo(function Row<R>({ row, columns, selected, current, events, index, ...look }: RowProps<R>) {
  const classes = ['grid-row', selected && 'grid-row-selected', current && 'grid-row-current', look.extraClass];
  return (
    <div
      id={look.id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected ?? undefined}
      tabIndex={-1}
      className={classes.filter(Boolean).join(' ')}
      style={{
        gridTemplateColumns: look.template,
        minWidth: look.minWidth,
        height: look.height,
        top: look.start,
      }}
      onClick={(e) => events.choose(row, index, e.ctrlKey || e.metaKey || e.shiftKey)}
      onDoubleClick={() => events.activate(row)}
    >
      {columns.map((c) => (
        <div key={c.id} role="gridcell" className={cellClass(c)}>
          {c.cell(row)}
        </div>
      ))}
    </div>
  );
}) as <R>(props: RowProps<R>) => ReactNode;

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
