/**
 * Estimates as dot and whisker on one axis, one row each: label, picture, figure. The figure as text stands beside every mark.
 */
import type { ReactNode } from 'react';
import type { Estimate } from '../../main/contract/evaluation.ts';
import { ratioEstimate, tick } from './format.ts';
import { type AxisScale, axisOf } from './scale.ts';

export interface WhiskerRow {
  readonly id: string;
  readonly label: ReactNode;
  /** null: not measured; the row says so. */
  readonly estimate: Estimate | null;
  readonly tone?: 'accent' | 'good' | 'muted' | 'bad';
  readonly text?: string;
  /** A thin mark: the physical bound, the best … */
  readonly mark?: number;
}

interface WhiskersProps {
  readonly rows: readonly WhiskerRow[];
  /** Axis title with unit. */
  readonly axis: string;
  /** A line at this value ("no change"). */
  readonly reference?: number;
  readonly format?: (e: Estimate | null) => string;
  readonly onSelect?: (id: string) => void;
  readonly selected?: string;
}

/** Rows are a table for those who read it; the picture in each is decoration. */
export function Whiskers({ rows, axis, reference, format = ratioEstimate, onSelect, selected }: WhiskersProps) {
  const values = rows.flatMap((r) => (r.estimate ? [r.estimate.lo, r.estimate.hi] : []));
  // Far from the values the reference would only press them together.
  const near = reference !== undefined && values.some((v) => v < 5 * reference);
  const scale = axisOf(near ? [...values, reference] : values);
  return (
    <table className="whiskers">
      <thead>
        <tr>
          <th scope="col" className="visually-hidden">
            Version
          </th>
          <th scope="col" className="whisker-axis">
            {axis}
            {scale?.log ? ', log scale' : ''}
          </th>
          <th scope="col" className="num">
            value [interval]
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <tr key={r.id} className={r.id === selected ? 'whisker-selected' : undefined}>
            <th scope="row">
              {onSelect ? (
                <button type="button" className="link-button" onClick={() => onSelect(r.id)}>
                  {r.label}
                </button>
              ) : (
                r.label
              )}
            </th>
            <td className="whisker-cell">
              {scale && <Mark row={r} scale={scale} reference={near ? reference : undefined} />}
            </td>
            <td className="num">{r.text ?? format(r.estimate)}</td>
          </tr>
        ))}
      </tbody>
      {scale && (
        <tfoot aria-hidden="true">
          <tr>
            <td />
            <td className="whisker-cell">
              <div className="whisker-ticks">
                {scale.ticks.map((t) => (
                  <span key={t} style={{ left: `${100 * scale.at(t)}%` }}>
                    {tick(t)}
                  </span>
                ))}
              </div>
            </td>
            <td />
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function Mark({ row, scale, reference }: { row: WhiskerRow; scale: AxisScale; reference?: number }) {
  const at = (x: number) => `${100 * scale.at(x)}%`;
  const e = row.estimate;
  // Caps that the dot would cover only make it square.
  const wide = e !== null && scale.at(e.hi) - scale.at(e.lo) > 0.025;
  return (
    <svg className={`whisker-svg whisker-${row.tone ?? 'accent'}`} width="100%" height="18" aria-hidden="true">
      {scale.ticks.map((t) => (
        <line key={t} x1={at(t)} x2={at(t)} y1="0" y2="18" className="whisker-grid" />
      ))}
      {reference !== undefined && <line x1={at(reference)} x2={at(reference)} y1="0" y2="18" className="whisker-ref" />}
      {row.mark !== undefined && <line x1={at(row.mark)} x2={at(row.mark)} y1="3" y2="15" className="whisker-mark" />}
      {e && (
        <>
          <line x1={at(e.lo)} x2={at(e.hi)} y1="9" y2="9" className="whisker-line" />
          {wide && <line x1={at(e.lo)} x2={at(e.lo)} y1="5.5" y2="12.5" className="whisker-line" />}
          {wide && <line x1={at(e.hi)} x2={at(e.hi)} y1="5.5" y2="12.5" className="whisker-line" />}
          <circle cx={at(e.value)} cy="9" r="3" className="whisker-dot" />
        </>
      )}
    </svg>
  );
}
