import { useMemo, useState } from 'react';
import type { VersionDetail } from '../../../main/contract/api.ts';
import { confirmedFigures } from '../../../main/contract/confirmed.ts';
import { Whisker } from '../../charts/whisker.tsx';
import { domainOf } from '../../charts/whisker-scale.ts';
import { Segmented } from '../../ui/controls.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { level, MISSING, percent, ratioEstimate, time, timeEstimate } from '../../ui/format.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { pairSizes, type Quantity, type SizePair, verdictOf } from './model.ts';

const fasterText = (p: SizePair): string => {
  if (p.faster === 'unknown')
    return p.a === null && p.b === null ? 'no times' : `no time of ${p.a === null ? 'A' : 'B'}`;
  return p.faster === 'same' ? 'indistinguishable' : `${p.faster.toUpperCase()} faster`;
};

/** Times of both at every size, with intervals, on one axis. */
export function Timings({
  a,
  b,
  warning,
}: {
  readonly a: VersionDetail;
  readonly b: VersionDetail;
  readonly warning: string | null;
}) {
  const [quantity, setQuantity] = useState<Quantity>('span');
  const pairs = useMemo(() => pairSizes(a, b, quantity), [a, b, quantity]);
  const domain = useMemo(() => domainOf(pairs.flatMap((p) => [p.a, p.b])), [pairs]);
  const columns = useMemo<readonly Column<SizePair>[]>(
    () => [
      {
        id: 'size',
        title: 'Size',
        width: 'minmax(120px, 1fr)',
        cell: (p) => <span>{p.size}</span>,
        hint: (p) => p.size,
      },
      {
        id: 'weight',
        title: 'Weight',
        width: '66px',
        align: 'right',
        sort: (p) => p.weight,
        cell: (p) => percent(p.weight),
        meaning: 'Share of the size in the score.',
      },
      {
        id: 'a',
        title: 'A',
        width: 'minmax(164px, 1fr)',
        align: 'right',
        sort: (p) => p.a?.value ?? null,
        cell: (p) => <span>{timeEstimate(p.a)}</span>,
      },
      {
        id: 'b',
        title: 'B',
        width: 'minmax(164px, 1fr)',
        align: 'right',
        sort: (p) => p.b?.value ?? null,
        cell: (p) => <span>{timeEstimate(p.b)}</span>,
      },
      {
        id: 'axis',
        title: 'Intervals',
        unit: domain === null ? undefined : `${time(domain.lo)} to ${time(domain.hi)}`,
        width: '186px',
        cell: (p) => <Whisker estimates={[p.a, p.b]} domain={domain} width={170} />,
        meaning: 'A above, B below, on one logarithmic axis.',
      },
      {
        id: 'ratio',
        title: 'A over B',
        width: 'minmax(158px, 1fr)',
        align: 'right',
        sort: (p) => p.ratio?.value ?? null,
        cell: (p) => <span>{p.ratio ? ratioEstimate(p.ratio) : MISSING}</span>,
        meaning: 'Time of A over time of B: above 1, B is faster. Bounds from the ends of both intervals.',
      },
      {
        id: 'faster',
        title: 'Verdict',
        width: '122px',
        sort: (p) => p.faster,
        cell: (p) => (
          <span className={p.faster === 'same' || p.faster === 'unknown' ? 'muted' : undefined}>{fasterText(p)}</span>
        ),
      },
    ],
    [domain],
  );
  const levels = [a, b].flatMap(
    (v) => confirmedFigures(v.evaluation)?.sizes.flatMap((s) => s.originSpanNs ?? []) ?? [],
  );
  if (pairs.length === 0)
    return (
      <Empty title="Neither version has confirmed times.">
        <p>{b.reason || a.reason}</p>
      </Empty>
    );
  return (
    <div className="compare-part">
      <div className="cmp-part-bar">
        <Segmented
          label="Quantity"
          value={quantity}
          options={[
            { value: 'span', label: 'GPU span' },
            { value: 'wrapper', label: 'Wrapper time' },
          ]}
          onChange={setQuantity}
        />
        <p role="status">
          {warning === null ? verdictOf(pairs) : `${warning} Read nothing into these ratios.`}
          {levels[0] && <span className="muted"> {level(levels[0].level)} intervals.</span>}
        </p>
      </div>
      <Table label="Times by size" columns={columns} rows={pairs} rowKey={(p) => p.size} />
    </div>
  );
}
