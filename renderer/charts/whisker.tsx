import type { Estimate } from '../../main/contract/evaluation.ts';
import { type LogDomain, placeOf } from './whisker-scale.ts';
import './whisker.css';

const pad = 4;
const dot = 2.4;

/** Line, both caps and the dot in one path: thousands of rows are scrolled past, and every element costs. */
function shape(lo: number, value: number, hi: number, y: number): string {
  const end = Math.max(hi, lo + 0.5);
  const cap = (at: number): string => `M${at} ${y - 2.5}v5`;
  const circle = `M${value - dot} ${y}a${dot} ${dot} 0 1 0 ${2 * dot} 0a${dot} ${dot} 0 1 0 ${-2 * dot} 0Z`;
  return `M${lo} ${y}H${end}${cap(lo)}${cap(hi)}${circle}`;
}

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
        // biome-ignore lint/suspicious/noArrayIndexKey: the place is the identity
        return <path key={i} className={`interval-${i}`} d={shape(x(e.lo), x(e.value), x(e.hi), y)} />;
      })}
    </svg>
  );
}
