import {
  fillRow,
  type LineLook,
  makeRow,
  markRow,
  ROW,
  type RowElements,
  type RowState,
  setColumns,
} from './code-row.ts';
import type { CodeRow } from './model.ts';

/** What a pane shows; a new object fills all rows again. */
export interface PoolContent {
  readonly rows: readonly CodeRow[];
  /** Indices of the rows in the order to show. */
  readonly order: readonly number[];
  readonly look: LineLook;
}

export interface PoolMarks {
  /** Index of the row; null: none of this pane. */
  readonly selected: number | null;
  readonly linked: ReadonlySet<number>;
  readonly found: ReadonlySet<number>;
}

interface Slot extends RowElements {
  /** Where the row that it shows stands; null: none. */
  place: number | null;
}

/** Rows drawn beyond either end of what is seen. */
const OVERSCAN = 4;
const SETTLED_MS = 150;

/**
 * The rows of a pane that are in sight, in a fixed number of elements. Those that scroll out are filled with what comes in; once the
 * scrolling rests, the elements stand in the order of the rows again, for who selects text or reads them one after the other.
 */
export class RowPool {
  readonly #grid: HTMLElement;
  readonly #body: HTMLElement;
  readonly #prefix: string;
  #slots: Slot[] = [];
  #content: PoolContent | null = null;
  #marks: PoolMarks = { selected: null, linked: new Set(), found: new Set() };
  #room = 0;
  #settling: ReturnType<typeof setTimeout> | undefined;

  /** `grid` scrolls and has the focus, `body` takes the rows; their ids begin with `prefix`. */
  constructor(grid: HTMLElement, body: HTMLElement, prefix: string) {
    this.#grid = grid;
    this.#body = body;
    this.#prefix = prefix;
  }

  /** `room`: height in which rows are seen, px. */
  set(content: PoolContent, marks: PoolMarks, room: number): void {
    const same = content === this.#content && room === this.#room;
    this.#content = content;
    this.#marks = marks;
    this.#room = room;
    if (!same) {
      this.#resize();
      for (const slot of this.#slots) {
        slot.place = null;
        setColumns(slot, content.look);
      }
    }
    this.scrolled();
    for (const slot of this.#slots)
      if (slot.place === null) slot.row.remove();
      else this.#mark(slot);
    this.#settle();
  }

  /** Brings in the rows that are in sight now. */
  scrolled(): void {
    if (this.#content === null) return;
    const { rows, order, look } = this.#content;
    const top = this.#grid.scrollTop;
    const first = Math.max(0, Math.floor(top / ROW) - OVERSCAN);
    const last = Math.min(order.length, Math.ceil((top + this.#room) / ROW) + OVERSCAN);
    let moved = false;
    for (let place = first; place < last; place++) {
      const slot = this.#slots[place % this.#slots.length] as Slot;
      if (slot.place === place) continue;
      const row = rows[order[place] as number] as CodeRow;
      slot.place = place;
      fillRow(slot, row, place, look);
      this.#mark(slot);
      if (!slot.row.isConnected) this.#body.append(slot.row);
      moved = true;
    }
    this.#pointOut(first, last);
    if (!moved) return;
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.#settle(), SETTLED_MS);
  }

  close(): void {
    clearTimeout(this.#settling);
    for (const { row } of this.#slots) row.remove();
    this.#slots = [];
  }

  #resize(): void {
    const wanted = Math.ceil(this.#room / ROW) + 2 * OVERSCAN + 2;
    while (this.#slots.length < wanted) this.#slots.push({ ...makeRow(), place: null });
    for (const { row } of this.#slots.splice(wanted)) row.remove();
  }

  #mark(slot: Slot): void {
    const index = this.#content?.order[slot.place ?? -1];
    const row = index === undefined ? undefined : this.#content?.rows[index];
    if (index === undefined || row === undefined || this.#content === null) return;
    const id = `${this.#prefix}-${index}`;
    if (slot.row.id !== id) slot.row.id = id;
    markRow(slot, row, this.#stateOf(index), this.#content.look);
  }

  #stateOf(index: number): RowState {
    const { selected, linked, found } = this.#marks;
    return index === selected ? 'selected' : linked.has(index) ? 'linked' : found.has(index) ? 'found' : 'plain';
  }

  /** The grid says which row the keyboard is on, as long as there is an element for it. */
  #pointOut(first: number, last: number): void {
    const { selected } = this.#marks;
    const there =
      selected !== null && this.#slots.some(({ place }) => place !== null && this.#content?.order[place] === selected);
    const id = there && last > first ? `${this.#prefix}-${selected}` : null;
    if (this.#grid.getAttribute('aria-activedescendant') === id) return;
    if (id === null) this.#grid.removeAttribute('aria-activedescendant');
    else this.#grid.setAttribute('aria-activedescendant', id);
  }

  /** Elements in the order of their rows; nothing to do, or the part that went around is moved. */
  #settle(): void {
    clearTimeout(this.#settling);
    const shown = this.#slots.filter((slot): slot is Slot & { place: number } => slot.place !== null);
    const ordered = shown.toSorted((a, b) => a.place - b.place);
    for (const [i, { row }] of ordered.entries())
      if (this.#body.children[i] !== row) this.#body.insertBefore(row, this.#body.children[i] ?? null);
  }
}
