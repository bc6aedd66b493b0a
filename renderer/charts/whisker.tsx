import type { Estimate } from '../../main/contract/evaluation.ts';
import { type LogDomain, placeOf } from './whisker-scale.ts';
import './whisker.css';

const pad = 4;

/**
 * Centre and interval on a logarithmic axis. Decoration: the figures stand beside it as text. `mark`: a value drawn as a line (1×).
 */
export function Whisker({
  estimates,
  domain,
  mark,
  width = 110,
}: {
  readonly estimates: readonly (Estimate | null)[];
  readonly domain: LogDomain | null;
  readonly mark?: number;
  readonly width?: number;
}) {
  if (domain === null) return null;
  const x = (v: number) => pad + placeOf(domain, v) * (width - 2 * pad);
  const rows = estimates.length;
  const height = 14;
  return (
    <svg className="interval" width={width} height={height} aria-hidden="true" focusable="false">
      {mark !== undefined && <line className="interval-mark" x1={x(mark)} x2={x(mark)} y1={0} y2={height} />}
      {estimates.map((e, i) => {
        if (e === null) return null;
        const y = (height * (i + 1)) / (rows + 1);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place is the identity
          <g key={i} className={`interval-${i}`}>
            <line x1={x(e.lo)} x2={Math.max(x(e.hi), x(e.lo) + 0.5)} y1={y} y2={y} />
            <line x1={x(e.lo)} x2={x(e.lo)} y1={y - 2.5} y2={y + 2.5} />
            <line x1={x(e.hi)} x2={x(e.hi)} y1={y - 2.5} y2={y + 2.5} />
            <circle cx={x(e.value)} cy={y} r={2.4} />
          </g>
        );
      })}
    </svg>
  );
}
