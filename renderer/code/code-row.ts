/**
 * One row of the code view as elements that are made once and filled again and again: scrolling writes text and classes that differ,
 * and makes nothing new. (As components, the rows cost several times as much in every frame.)
 */
import { HEAT_STEPS, heatStep } from '../charts/scale.ts';
import { cudaSpans, type Span, sassSpans } from './highlight.ts';
import { type CodeRow, cellValue, type Side } from './model.ts';

/** Height of a row, px: the rows' places and the styles agree on it. */
export const ROW = 20;
/** Cells before the stalls: label, share, text. */
export const LEADING = 3;

export type Shown = 'percent' | 'samples';
export type RowState = 'selected' | 'linked' | 'found' | 'plain';

/** What all rows of a pane have in common. */
export interface LineLook {
  readonly side: Side;
  /** Stalls in sight, by id, and how many stand to the left of them out of sight. */
  readonly columns: readonly string[];
  readonly before: number;
  readonly shown: Shown;
  /** Rows stand in program order: where some were left out is marked. */
  readonly gaps: boolean;
  /** Samples of the kernel: 100 %. */
  readonly total: number;
  /** Samples of the hottest row, and of the hottest cell of a stall: full colour. */
  readonly most: number;
  readonly mostStall: number;
}

export interface RowElements {
  readonly row: HTMLElement;
  readonly label: HTMLElement;
  readonly share: HTMLElement;
  readonly text: HTMLElement;
  readonly cells: HTMLElement[];
}

function gridCell(className: string, column: number): HTMLElement {
  const cell = document.createElement('span');
  cell.setAttribute('role', 'gridcell');
  cell.setAttribute('aria-colindex', String(column));
  cell.className = className;
  // The text that every filling writes anew.
  cell.append('');
  return cell;
}

export function makeRow(): RowElements {
  const row = document.createElement('div');
  row.setAttribute('role', 'row');
  const [label, share, text] = ['code-label', 'code-share', 'code-text'].map((name, i) => gridCell(name, i + 1)) as [
    HTMLElement,
    HTMLElement,
    HTMLElement,
  ];
  text.replaceChildren();
  row.append(label, share, text);
  return { row, label, share, text, cells: [] };
}

/** As many cells as there are columns in sight, each with its place among all of them. */
export function setColumns(elements: RowElements, { columns, before }: LineLook): void {
  const { row, cells } = elements;
  for (const cell of cells.splice(columns.length)) cell.remove();
  while (cells.length < columns.length) {
    const cell = gridCell('code-cell', 0);
    cells.push(cell);
    row.append(cell);
  }
  for (const [i, cell] of cells.entries()) cell.setAttribute('aria-colindex', String(LEADING + before + i + 1));
}

/** `place`: where it stands among the rows, from 0. */
export function fillRow(elements: RowElements, row: CodeRow, place: number, look: LineLook): void {
  const { row: element, label, share, text, cells } = elements;
  element.setAttribute('aria-rowindex', String(place + 2));
  element.dataset.row = String(place);
  element.style.top = `${place * ROW}px`;
  write(label, row.label);
  write(share, row.measured ? figure(row.samples, look.most, look) : '');
  name(share, withHeat('code-share', row.samples, look.most, look));
  spell(text, spansOf(row, look.side));
  if (row.text.length > 60) text.title = row.text.trim();
  else text.removeAttribute('title');
  for (const [i, cell] of cells.entries()) {
    const value = cellValue(row, look.columns[i] as string);
    write(cell, row.measured ? figure(value, look.mostStall, look) : '');
    name(cell, withHeat('code-cell', value, look.mostStall, look));
  }
}

export function markRow({ row: element }: RowElements, row: CodeRow, state: RowState, { gaps }: LineLook): void {
  const context = row.measured ? '' : ' code-context';
  name(element, `code-line code-${state}${context}${gaps && row.gapBefore ? ' code-gap' : ''}`);
  element.setAttribute('aria-selected', String(state === 'selected'));
}

function write(cell: HTMLElement, words: string): void {
  const text = cell.firstChild as Text;
  if (text.data !== words) text.data = words;
}

function name(element: HTMLElement, className: string): void {
  if (element.className !== className) element.className = className;
}

/** Words of a line, those of one look in one element. */
function spell(cell: HTMLElement, spans: readonly Span[]): void {
  while (cell.childElementCount > spans.length) cell.lastElementChild?.remove();
  for (const [i, { text, kind }] of spans.entries()) {
    let word = cell.children[i] as HTMLElement | undefined;
    if (word === undefined) {
      word = document.createElement('span');
      word.append('');
      cell.append(word);
    }
    write(word, text);
    name(word, kind);
  }
}

/** Classes that code.css gives a colour; the others would be elements for nothing. */
const COLOURED =
  /^tok-(keyword|operatorKeyword|modifier|typeName|className|namespace|string2?|number|bool|comment|meta|labelName|cuda)$/;
const merged = new WeakMap<readonly Span[], readonly Span[]>();

function spansOf(row: CodeRow, side: Side): readonly Span[] {
  const spans = side === 'lines' ? cudaSpans(row.text, row.inComment) : sassSpans(row.text);
  const known = merged.get(spans);
  if (known !== undefined) return known;
  const few: Span[] = [];
  for (const { text, kind } of spans) {
    const look = kind.split(' ').some((each) => COLOURED.test(each)) ? kind : '';
    const before = few.at(-1);
    if (before?.kind === look) few[few.length - 1] = { text: before.text + text, kind: look };
    else few.push({ text, kind: look });
  }
  merged.set(spans, few);
  return few;
}

/** Shares that round to nothing beside much hotter ones keep their figure and get no colour. */
const FAINT = 0.0005;
function withHeat(className: string, value: number | null, most: number, { total }: LineLook): string {
  const faint = value !== null && value < FAINT * total && value <= most / HEAT_STEPS;
  const step = faint ? 0 : heatStep(value, most);
  return step === 0 ? className : `${className} h${step}`;
}

/** Decimals of a column, so that its hottest cell has two digits that matter. */
const decimalsOf = (share: number): number => (share >= 0.05 ? 1 : share >= 0.005 ? 2 : 3);

/** Nothing is left blank; missing is a dash. */
function figure(value: number | null, most: number, { shown, total }: LineLook): string {
  if (value === null) return '–';
  if (value === 0) return '';
  if (shown === 'samples') return grouped(value);
  const places = decimalsOf(most / total);
  const text = ((100 * value) / total).toFixed(places);
  return Number(text) === 0 ? `<${(10 ** -places).toFixed(places).slice(1)}` : text;
}

const groups = new Intl.NumberFormat('en-US');
const grouped = (n: number): string => (n < 1000 ? String(n) : groups.format(n));
