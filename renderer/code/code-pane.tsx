import {
  type KeyboardEvent,
  type MouseEvent,
  type UIEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type WheelEvent,
} from 'react';
import { CELL, CodeHeader, HEADER, LABEL, SHARE } from './code-header.tsx';
import { LEADING, type LineLook, ROW, type Shown } from './code-row.ts';
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
import { type PoolContent, type PoolMarks, RowPool } from './row-pool.ts';

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

/** Columns go out of sight before the text has less than its share of the pane, as far as that is between the first two; beyond the last it gains nothing. */
const TEXT = { least: 220, enough: 300, most: 900, share: 0.42 };
const COLUMN_BAR = 20;

/** One column of the code view: a grid of rows with samples, drawn only where it is seen. */
export function CodePane(props: Props) {
  const { id, side, title, model, columns, shown, sort, selected, linked, found, reveal } = props;
  const rows = model[side];
  const scroller = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const box = useBox(scroller);
  const order = useMemo(() => orderOf(rows, sort), [rows, sort]);
  const placeOf = useMemo(() => new Map(order.map((index, place) => [index, place])), [order]);
  const hot = useMemo(() => hottest(rows, sort), [rows, sort]);
  const marked = useMemo(() => (selected === null ? linked : new Set([selected])), [selected, linked]);

  const leastText = Math.max(TEXT.least, Math.min(TEXT.enough, Math.round(TEXT.share * box.width)));
  const forText = Math.max(leastText, Math.min(TEXT.most, box.width - LABEL - SHARE - columns.length * CELL));
  const inSight = Math.min(columns.length, Math.max(1, Math.floor((box.width - LABEL - SHARE - forText) / CELL)));
  const narrow = inSight < columns.length;
  const textWidth = narrow ? box.width - LABEL - SHARE - inSight * CELL : forText;
  const width = LABEL + SHARE + textWidth + inSight * CELL;
  const [asked, setFirst] = useState(0);
  const first = Math.max(0, Math.min(asked, columns.length - inSight));
  const reach = useCallback(
    (column: number) => setFirst((now) => Math.min(column, Math.max(now, column - inSight + 1))),
    [inSight],
  );
  const look = useLook({ model, side, columns, shown, gaps: sort === 'order', first, inSight });

  useRows(scroller, body, id, {
    content: useMemo(() => ({ rows, order, look }), [rows, order, look]),
    marks: useMemo(() => ({ selected, linked, found }), [selected, linked, found]),
    room: Math.max(0, box.height - HEADER),
  });

  useEffect(() => {
    const place = reveal === null ? undefined : placeOf.get(reveal.index);
    const element = scroller.current;
    if (place === undefined || !element) return;
    const room = element.clientHeight - HEADER;
    const y = place * ROW;
    if (y < element.scrollTop || y > element.scrollTop + room - ROW) element.scrollTop = Math.max(0, y - room / 3);
  }, [reveal, placeOf]);

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
    else if (key === 'ArrowRight' || key === 'ArrowLeft')
      setFirst(Math.max(0, first + (key === 'ArrowRight' ? 1 : -1)));
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

  const sideways = useRef(0);
  const onWheel = ({ deltaX, deltaY, shiftKey }: WheelEvent): void => {
    const delta = deltaX !== 0 ? deltaX : shiftKey ? deltaY : 0;
    if (delta === 0 || !narrow) return;
    sideways.current += delta;
    const by = Math.trunc(sideways.current / CELL);
    sideways.current -= by * CELL;
    if (by !== 0) setFirst(Math.max(0, Math.min(first + by, columns.length - inSight)));
  };

  return (
    <div className="code-pane" style={{ '--code-text': `${textWidth}px` } as React.CSSProperties}>
      <div className="code-table">
        <div
          ref={scroller}
          id={id}
          className="code-scroller"
          role="grid"
          aria-label={title}
          aria-rowcount={order.length + 1}
          aria-colcount={columns.length + LEADING}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onClick={onClick}
          onWheel={onWheel}
        >
          <CodeHeader {...props} first={first} width={width} total={model.total} onReach={reach} />
          <div ref={body} role="rowgroup" className="code-body" style={{ height: order.length * ROW, width }} />
        </div>
        {narrow && (
          <ColumnBar
            grid={id}
            first={first}
            inSight={inSight}
            all={columns.length}
            width={inSight * CELL}
            onFirst={setFirst}
          />
        )}
      </div>
      <Minimap
        rows={rows}
        order={order}
        height={Math.max(0, box.height - HEADER - 2)}
        below={narrow ? COLUMN_BAR : 0}
        content={HEADER + order.length * ROW}
        marked={marked}
        scroller={scroller}
      />
    </div>
  );
}

/** Inner size of an element, px. */
function useBox(ref: React.RefObject<HTMLElement | null>): { readonly width: number; readonly height: number } {
  const [box, setBox] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setBox({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return box;
}

/** The rows are no components: scrolling must cost React nothing. */
function useRows(
  grid: React.RefObject<HTMLElement | null>,
  body: React.RefObject<HTMLElement | null>,
  id: string,
  { content, marks, room }: { readonly content: PoolContent; readonly marks: PoolMarks; readonly room: number },
): void {
  const pool = useRef<RowPool | null>(null);
  useLayoutEffect(() => {
    const [scroller, rows] = [grid.current, body.current];
    if (!scroller || !rows) return;
    const made = new RowPool(scroller, rows, id);
    const onScroll = () => made.scrolled();
    pool.current = made;
    scroller.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      scroller.removeEventListener('scroll', onScroll);
      made.close();
      pool.current = null;
    };
  }, [grid, body, id]);
  useLayoutEffect(() => pool.current?.set(content, marks, room), [content, marks, room]);
}

interface LookOf {
  readonly model: CodeModel;
  readonly side: Side;
  readonly columns: readonly StallColumn[];
  readonly shown: Shown;
  readonly gaps: boolean;
  readonly first: number;
  readonly inSight: number;
}

function useLook({ model, side, columns, shown, gaps, first, inSight }: LookOf): LineLook {
  const full = useMemo(() => {
    let most = 0;
    let mostStall = 0;
    for (const row of model[side]) {
      most = Math.max(most, row.samples ?? 0);
      for (const { id } of columns) mostStall = Math.max(mostStall, cellValue(row, id) ?? 0);
    }
    return { most, mostStall };
  }, [model, side, columns]);
  return useMemo(() => {
    const ids = columns.slice(first, first + inSight).map((column) => column.id);
    return { side, columns: ids, before: first, shown, gaps, total: model.total ?? 0, ...full };
  }, [model, side, columns, shown, gaps, first, inSight, full]);
}

/** Scrolls the columns that the pane has no room for, column by column; the grid's keys ← and → do the same. */
function ColumnBar(props: {
  readonly grid: string;
  readonly first: number;
  readonly inSight: number;
  readonly all: number;
  readonly width: number;
  readonly onFirst: (first: number) => void;
}) {
  const { first, inSight, all, width } = props;
  const bar = useRef<HTMLDivElement>(null);
  const last = all - inSight;
  useEffect(() => {
    const element = bar.current;
    if (element === null) return;
    const room = element.scrollWidth - element.clientWidth;
    if (Math.round((element.scrollLeft / room) * last) !== first) element.scrollLeft = (first / last) * room;
  }, [first, last]);
  const onScroll = ({ currentTarget: element }: UIEvent<HTMLDivElement>): void => {
    const room = element.scrollWidth - element.clientWidth;
    if (room > 0) props.onFirst(Math.round((element.scrollLeft / room) * last));
  };
  return (
    <div className="code-columns" style={{ height: COLUMN_BAR }}>
      <span className="muted tabular">
        Stalls {first + 1}–{first + inSight} of {all}
      </span>
      <div
        ref={bar}
        className="code-columns-bar"
        role="scrollbar"
        aria-label="Stall columns in sight"
        aria-controls={props.grid}
        aria-orientation="horizontal"
        aria-valuemin={1}
        aria-valuemax={last + 1}
        aria-valuenow={first + 1}
        tabIndex={0}
        style={{ width }}
        onScroll={onScroll}
      >
        <div style={{ width: (width * all) / inSight }} />
      </div>
    </div>
  );
}
