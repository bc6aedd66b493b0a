import { memo } from 'react';
import { HEAT_STEPS, heatStep } from '../charts/scale.ts';
import { cudaSpans, sassSpans } from './highlight.ts';
import { type CodeRow, cellValue, type Side } from './model.ts';

/** Height of a row, px: the virtualiser and the styles agree on it. */
export const ROW = 20;

export type Shown = 'percent' | 'samples';

/** What all rows of a pane have in common. A new object makes all rows render again. */
export interface LineLook {
  readonly side: Side;
  readonly columns: readonly string[];
  readonly shown: Shown;
  /** Rows stand in program order: where some were left out is marked. */
  readonly gaps: boolean;
  /** Samples of the kernel: 100 %. */
  readonly total: number;
  /** Samples of the hottest row, and of the hottest cell of a stall: full colour. */
  readonly most: number;
  readonly mostStall: number;
}

interface Props {
  readonly row: CodeRow;
  readonly id: string;
  /** Row number for screen readers, from 1, the header counted. */
  readonly position: number;
  readonly top: number;
  readonly look: LineLook;
  readonly state: 'selected' | 'linked' | 'found' | 'plain';
}

/** One source line or instruction with its samples and stalls. */
export const CodeLine = memo(function CodeLine({ row, id, position, top, look, state }: Props) {
  const { side, columns } = look;
  const spans = side === 'lines' ? cudaSpans(row.text, row.inComment) : sassSpans(row.text);
  return (
    <div
      role="row"
      id={id}
      className={`code-line code-${state}${row.measured ? '' : ' code-context'}${look.gaps && row.gapBefore ? ' code-gap' : ''}`}
      aria-rowindex={position}
      aria-selected={state === 'selected'}
      style={{ top }}
      data-row={position - 2}
    >
      <div className="code-lead" role="none">
        <span role="gridcell" className="code-label">
          {row.label}
        </span>
        <span role="gridcell" className={`code-share ${heat(row.samples, look.most, look)}`}>
          {row.measured ? figure(row.samples, look.most, look) : ''}
        </span>
        <span role="gridcell" className="code-text" title={row.text.length > 60 ? row.text.trim() : undefined}>
          {spans.map(({ text, kind }, i) =>
            kind === '' ? (
              text
            ) : (
              // biome-ignore lint/suspicious/noArrayIndexKey: spans of a line have no other identity
              <span key={i} className={kind}>
                {text}
              </span>
            ),
          )}
        </span>
      </div>
      {columns.map((column) => {
        const value = cellValue(row, column);
        return (
          <span key={column} role="gridcell" className={`code-cell ${heat(value, look.mostStall, look)}`}>
            {row.measured ? figure(value, look.mostStall, look) : ''}
          </span>
        );
      })}
    </div>
  );
});

/** Shares that round to nothing beside much hotter ones keep their figure and get no colour. */
const FAINT = 0.0005;
const heat = (value: number | null, most: number, { total }: LineLook): string => {
  const faint = value !== null && value < FAINT * total && value <= most / HEAT_STEPS;
  const step = faint ? 0 : heatStep(value, most);
  return step === 0 ? '' : `h${step}`;
};

/** Decimals of a column, so that its hottest cell has two digits that matter. */
const decimalsOf = (share: number): number => (share >= 0.05 ? 1 : share >= 0.005 ? 2 : 3);

/** Nothing is left blank; missing is a dash. */
function figure(value: number | null, most: number, { shown, total }: LineLook): string {
  if (value === null) return '–';
  if (value === 0) return '';
  if (shown === 'samples') return value.toLocaleString('en-US');
  const places = decimalsOf(most / total);
  const text = ((100 * value) / total).toFixed(places);
  return Number(text) === 0 ? `<${(10 ** -places).toFixed(places)}` : text;
}
