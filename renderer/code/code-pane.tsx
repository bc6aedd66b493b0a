import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { percent } from '../ui/format.ts';
import { CodeLine, type LineLook, ROW, type Shown } from './code-line.tsx';
import { Minimap } from './minimap.tsx';
import {
  type CodeModel,
  cellValue,
  hottest,
  nextHot,
  orderOf,
  type Side,
  type SortBy,
  type StallColumn,
} from './model.ts';

interface Props {
  readonly id: string;
  readonly side: Side;
  readonly title: string;
  readonly model: CodeModel;
  readonly columns: readonly StallColumn[];
  readonly shown: Shown;
  readonly sort: SortBy;
  readonly onSort: (by: SortBy) => void;
  /** Row selected on this side; null: none, or one of the other side. */
  readonly selected: number | null;
  readonly linked: ReadonlySet<number>;
  readonly found: ReadonlySet<number>;
  /** A row to bring into view; a new object does it again. */
  readonly reveal: { readonly index: number } | null;
  readonly onSelect: (index: number | null) => void;
  /** '/' : search, Enter: over to the linked row of the other side. */
  readonly onSearch: () => void;
  readonly onCross: () => void;
}

const LABEL = 46;
const SHARE = 50;
const CELL = 46;
const HEADER = 132;
/** Rows drawn beyond either end of what is seen. */
const OVERSCAN = 6;

/** One column of the code view: a grid of rows with samples, drawn only where it is seen. */
export function CodePane(props: Props) {
  const { id, side, title, model, columns, shown, sort, selected, linked, found, reveal } = props;
  const rows = model[side];
  const scroller = useRef<HTMLDivElement>(null);
  const [box, setBox] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const measure = () => setBox({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const order = useMemo(() => orderOf(rows, sort), [rows, sort]);
  const placeOf = useMemo(() => new Map(order.map((index, place) => [index, place])), [order]);
  const hot = useMemo(() => hottest(rows, sort), [rows, sort]);
  const look = useLook(model, side, columns, shown, sort === 'order');
  const marked = useMemo(() => (selected === null ? linked : new Set([selected])), [selected, linked]);

  const virtual = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
  });

  useEffect(() => {
    const place = reveal === null ? undefined : placeOf.get(reveal.index);
    const element = scroller.current;
    if (place === undefined || !element) return;
    const room = element.clientHeight - HEADER;
    const y = place * ROW;
    if (y < element.scrollTop || y > element.scrollTop + room - ROW) element.scrollTop = Math.max(0, y - room / 3);
  }, [reveal, placeOf]);

  const textWidth = Math.max(220, Math.min(900, box.width - LABEL - SHARE - columns.length * CELL));
  const width = LABEL + SHARE + textWidth + columns.length * CELL;

  const move = (step: number): void => {
    const at = selected === null ? (step > 0 ? -1 : order.length) : (placeOf.get(selected) ?? -1);
    const next = order[Math.min(order.length - 1, Math.max(0, at + step))];
    if (next !== undefined) props.onSelect(next);
  };
  const page = Math.max(1, Math.floor((box.height - HEADER) / ROW) - 1);
  function toHot(step: 1 | -1): void {
    const next = nextHot(hot, selected ?? -1, step);
    if (next !== null) props.onSelect(next);
  }
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -order.length,
    End: order.length,
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== event.currentTarget) return;
    const { key } = event;
    const step = steps[key];
    if (step !== undefined) move(step);
    else if (key === 'n' || key === 'p') toHot(key === 'n' ? 1 : -1);
    else if (key === 's') props.onSort(sort === 'order' ? 'samples' : 'order');
    else if (key === '/') props.onSearch();
    else if (key === 'Enter') props.onCross();
    else if (key === 'Escape') props.onSelect(null);
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent): void => {
    const line = (event.target as HTMLElement).closest<HTMLElement>('[data-row]');
    const index = order[Number(line?.dataset.row ?? Number.NaN)];
    if (index !== undefined) props.onSelect(index);
  };

  const stateOf = (index: number): 'selected' | 'linked' | 'found' | 'plain' =>
    index === selected ? 'selected' : linked.has(index) ? 'linked' : found.has(index) ? 'found' : 'plain';
  const rowId = (index: number): string => `${id}-${index}`;
  const items = virtual.getVirtualItems();
  // Rows that scroll out lend their elements to those that come in: changing text is much cheaper than new elements.
  const slots = Math.max(items.length, Math.ceil(box.height / ROW) + 2 * OVERSCAN + 3);
  const inView = selected !== null && items.some(({ index }) => order[index] === selected);
  return (
    <div className="code-pane" style={{ '--code-text': `${textWidth}px` } as React.CSSProperties}>
      <div
        ref={scroller}
        id={id}
        className={`code-scroller${width > box.width ? ' code-wide' : ''}`}
        role="grid"
        aria-label={title}
        aria-rowcount={order.length + 1}
        aria-colcount={columns.length + 3}
        aria-activedescendant={inView && selected !== null ? rowId(selected) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onClick={onClick}
      >
        <Header {...props} width={width} total={model.total} />
        <div role="rowgroup" className="code-body" style={{ height: virtual.getTotalSize(), width }}>
          {items.map(({ index: place, start }) => {
            const index = order[place] as number;
            const row = rows[index];
            return row === undefined ? null : (
              <CodeLine
                key={place % slots}
                id={rowId(index)}
                row={row}
                position={place + 2}
                top={start}
                look={look}
                state={stateOf(index)}
              />
            );
          })}
        </div>
      </div>
      <Minimap
        rows={rows}
        order={order}
        height={Math.max(0, box.height - HEADER - 2)}
        content={HEADER + order.length * ROW}
        marked={marked}
        scroller={scroller}
      />
    </div>
  );
}

function useLook(model: CodeModel, side: Side, columns: readonly StallColumn[], shown: Shown, gaps: boolean): LineLook {
  return useMemo(() => {
    const rows = model[side];
    const ids = columns.map((column) => column.id);
    let most = 0;
    let mostStall = 0;
    for (const row of rows) {
      most = Math.max(most, row.samples ?? 0);
      for (const column of ids) mostStall = Math.max(mostStall, cellValue(row, column) ?? 0);
    }
    return { side, columns: ids, shown, gaps, total: model.total ?? 0, most, mostStall };
  }, [model, side, columns, shown, gaps]);
}

const Header = memo(function Header({
  side,
  columns,
  sort,
  onSort,
  shown,
  width,
  total,
}: Props & { readonly width: number; readonly total: number | null }) {
  const unit = shown === 'percent' ? '%' : 'samples';
  const sorted = (by: SortBy) => (sort === by ? (by === 'order' ? 'ascending' : 'descending') : 'none');
  return (
    <div role="rowgroup" className="code-header" style={{ width, height: HEADER }}>
      <div role="row" className="code-header-row" aria-rowindex={1}>
        <div className="code-lead" role="none">
          <HeaderCell
            className="code-label"
            sorted={sorted('order')}
            onSort={() => onSort('order')}
            title="Program order"
          >
            {side === 'lines' ? 'Line' : 'Offset'}
          </HeaderCell>
          <HeaderCell
            className="code-share"
            sorted={sorted('samples')}
            onSort={() => onSort('samples')}
            title="Warp samples; sorts hottest first"
          >
            Samples {unit === '%' ? '%' : ''}
          </HeaderCell>
          <span role="columnheader" className="code-text">
            {side === 'lines' ? 'Source' : 'Machine code (SASS)'}
          </span>
        </div>
        {columns.map(({ id, label, meaning, samples }) => (
          <HeaderCell
            key={id}
            className="code-cell"
            sorted={sorted(id)}
            onSort={() => onSort(id)}
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
  readonly sorted: 'none' | 'ascending' | 'descending';
  readonly onSort: () => void;
  readonly title: string;
  readonly children: React.ReactNode;
}) {
  return (
    <span role="columnheader" className={props.className} aria-sort={props.sorted}>
      <button type="button" className="code-sort" title={props.title} onClick={props.onSort}>
        {props.children}
      </button>
    </span>
  );
}
