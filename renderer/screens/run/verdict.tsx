import { confirmedFigures, firstSampleOnly } from '../../../main/contract/confirmed.ts';
import type { Estimate, Evaluation, SizeFigures } from '../../../main/contract/evaluation.ts';
import { sanitizedFact, sanitizedOf } from '../../../main/contract/sanitized.ts';
import { Callout, Details, Facts } from '../../ui/feedback.tsx';
import {
  bytes,
  columnUnit,
  count,
  dims,
  duration,
  level,
  MISSING,
  metric,
  number,
  percent,
  ratio,
  ratioEstimate,
  spread,
  type TimeUnit,
  time,
  timeEstimate,
  timeIn,
} from '../../ui/format.ts';
import { bottleneckText, outcomeLook } from '../../ui/outcomes.ts';
import { type Column, Table } from '../../ui/table.tsx';
import { Whiskers } from '../../ui/whiskers.tsx';

/** The verdict in words: outcome, reason with figures, and what the word means. */
export function VerdictBox({ outcome, reason }: { readonly outcome: string | null; readonly reason: string }) {
  const look = outcomeLook(outcome);
  return (
    <Callout tone={look.tone} icon={look.icon} title={look.label}>
      {reason !== '' && <p className="selectable">{reason}</p>}
      <p className="muted">{look.meaning}</p>
    </Callout>
  );
}

const phases = { baseline: 'baseline', confirm: 'confirmed in fresh processes' } as const;

/** Score, interval and where it comes from. Figures of a first sample are none. */
export function ScoreFacts({ evaluation }: { readonly evaluation: Evaluation }) {
  const figures = confirmedFigures(evaluation);
  if (figures === null && !firstSampleOnly(evaluation)) return null;
  if (figures === null)
    return <p className="muted">A first sample only: there was nothing to confirm, so there are no figures.</p>;
  const sanitized = sanitizedOf(evaluation);
  const any = figures.score ?? figures.sizes.find((s) => s.originSpanNs)?.originSpanNs;
  const basis = `${phases[figures.phase]}, ${count(figures.processes)} processes, ${count(figures.calls)} timed calls, ${count(figures.voided)} voided${any ? `, ${level(any.level)} intervals` : ''}`;
  return (
    <Facts
      rows={[
        ...(figures.score
          ? ([
              ['P, weighted speed-up', <strong key="p">{ratioEstimate(figures.score)}</strong>],
              ...(sanitized === null ? [] : [['Sanitized', sanitizedFact(sanitized)] as const]),
              ['P min, worst size', figures.pMin === null ? null : `${number(figures.pMin)}×`],
              ['Geometric mean', figures.geomean === null ? null : `${number(figures.geomean)}×`],
              ['R, against the best', ratioEstimate(figures.ratio)],
            ] as const)
          : []),
        ['Basis', basis],
      ]}
    />
  );
}

/** Worst error against the limit: a share below it, a multiple far above. */
const limitText = (x: number | null): string => (x !== null && x > 10 ? ratio(x) : percent(x));

/** What was built, proven and found. */
export function EvidenceFacts({ evaluation }: { readonly evaluation: Evaluation }) {
  const { error, build, machine, profile } = evaluation;
  const verdict = profile?.verdict ?? null;
  const bound = verdict === null ? '' : bottleneckText(verdict.bottleneck, verdict.launchBound);
  return (
    <Facts
      rows={[
        ['Verified', evaluation.verified ? 'yes' : 'no'],
        ['Largest error', error === null ? null : `${number(error.maxUlp, 3)} ulp, RMS ${number(error.rmsUlp, 3)} ulp`],
        ['Of the limit', error === null ? null : limitText(error.worstOfLimit)],
        [
          'Build',
          build === null
            ? null
            : `${count(build.registers)} registers, ${bytes(build.spillBytes)} spilled, ${bytes(build.sharedBytes)} shared`,
        ],
        [
          'Profile',
          profile === null
            ? 'none'
            : profile.status === 'complete'
              ? `${bound || (verdict?.why ?? 'no verdict')}${profile.remark === undefined ? '' : ` (${profile.remark})`}`
              : `${profile.status}: ${profile.reason ?? 'no reason given'}`,
        ],
        [
          'Machine',
          machine === null
            ? null
            : `${machine.gpu?.name ?? 'no GPU'}, driver ${machine.driver ?? MISSING}, CUDA ${machine.toolkit ?? MISSING}, containment ${machine.containment}`,
        ],
        ['Took', duration(evaluation.jobWallMs)],
      ]}
    />
  );
}

/** Speed-up per size as dot and whisker. */
export function SizeWhiskers({ sizes }: { readonly sizes: readonly SizeFigures[] }) {
  if (!sizes.some((s) => s.speedup)) return null;
  return (
    <Whiskers
      axis="original / candidate, GPU time, ×"
      reference={1}
      rows={sizes.map((s) => ({ id: s.problem, label: dims(s.dims), estimate: s.speedup }))}
    />
  );
}

const times = (s: SizeFigures): readonly (Estimate | null)[] => [
  s.candidateSpanNs,
  s.originSpanNs,
  s.candidateWrapperNs ?? s.originWrapperNs,
];

/** "±2.5": the heading has the sign of per cent. */
const bareSpread = (e: Estimate | null): string => spread(e).replace(/\s?%$/, '');

/** Value and relative half width, both without the units that the heading has; the interval itself is the tooltip. */
function estimateColumn(
  id: string,
  title: string,
  meaning: string,
  value: (s: SizeFigures) => Estimate | null,
  unit: TimeUnit | '×',
): Column<SizeFigures> {
  return {
    id,
    title,
    unit: `${unit} ±%`,
    meaning,
    width: unit === '×' ? '108px' : '104px',
    align: 'right',
    sort: (s) => value(s)?.value ?? null,
    hint: (s) => (unit === '×' ? ratioEstimate(value(s)) : timeEstimate(value(s))),
    cell: (s) => {
      const e = value(s);
      return (
        <span>
          {unit === '×' ? number(e?.value) : timeIn(e?.value, unit)} <span className="muted">{bareSpread(e)}</span>
        </span>
      );
    },
  };
}

/** Times per size with intervals. The best version's own times follow from the ratio to it, and are its tooltip. */
export function SizeTable({ evaluation }: { readonly evaluation: Evaluation }) {
  const figures = confirmedFigures(evaluation);
  if (figures === null || figures.sizes.length === 0) return null;
  const { sizes } = figures;
  const total = sizes.reduce((sum, s) => sum + s.weight, 0);
  const compared = sizes.some((s) => s.candidateSpanNs !== null);
  const unit = columnUnit(sizes.flatMap((s) => times(s).map((e) => e?.value)));
  const of = estimateColumn;
  const columns: readonly Column<SizeFigures>[] = [
    {
      id: 'size',
      title: 'Size',
      width: 'minmax(110px, 1fr)',
      sort: (s) => dims(s.dims),
      cell: (s) => <span>{dims(s.dims)}</span>,
      hint: (s) => dims(s.dims),
    },
    {
      id: 'weight',
      title: 'Weight',
      unit: '%',
      width: '72px',
      align: 'right',
      sort: (s) => s.weight,
      cell: (s) => percent(total > 0 ? s.weight / total : null).replace(/\s?%$/, ''),
    },
    ...(compared
      ? [
          of('speedup', 'Original/this', 'Speed-up over the original', (s) => s.speedup, '×'),
          {
            ...of('versus', 'Best/this', 'Speed-up over the best version before', (s) => s.versusBest, '×'),
            width: '96px',
            hint: (s: SizeFigures) =>
              `${ratioEstimate(s.versusBest)}; the best version before: ${timeEstimate(s.bestSpanNs)}`,
          },
          of('candidate', 'This', 'GPU time of this version', (s) => s.candidateSpanNs, unit),
        ]
      : []),
    of('origin', 'Original', 'GPU time of the original', (s) => s.originSpanNs, unit),
    of(
      'wrapper',
      'Wrapper',
      'What a caller waits, launch and synchronisation included',
      (s) => (compared ? s.candidateWrapperNs : s.originWrapperNs),
      unit,
    ),
    {
      id: 'floor',
      title: 'Floor',
      unit,
      meaning: 'The least time that the hardware allows',
      width: '76px',
      align: 'right',
      sort: (s) => s.floorNs,
      hint: (s) => time(s.floorNs),
      cell: (s) => <span>{timeIn(s.floorNs, unit)}</span>,
    },
  ];
  return (
    <Table
      label="Times per size"
      columns={columns}
      rows={sizes}
      rowKey={(s) => s.problem}
      maxHeight={28 + 24 * Math.min(16, sizes.length) + 16}
    />
  );
}

/** What the filtered profile passed on, with its meaning. */
export function FilteredMetrics({ evaluation }: { readonly evaluation: Evaluation }) {
  const metrics = evaluation.profile?.filtered ?? [];
  if (metrics.length === 0) return null;
  return (
    <table className="plain-table metrics-table">
      <caption className="visually-hidden">Metrics passed on to the Planner</caption>
      <thead>
        <tr>
          <th scope="col">Metric</th>
          <th scope="col" className="num">
            Value
          </th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        {metrics.map((m) => {
          const { text, title } = metric(m.value);
          return (
            <tr key={m.id} title={m.id}>
              <td>{m.label}</td>
              <td className="num" title={title}>
                {text}
              </td>
              <td className="wrap muted">{m.meaning}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Wrong elements and incidents: what Debug is told, and more. */
export function Faults({ evaluation }: { readonly evaluation: Evaluation }) {
  const { wrong, incidents, digest } = evaluation;
  const bad = wrong.flatMap((w) =>
    w.outputs.filter((o) => o.bad > 0 || o.nonFinite > 0).map((o) => ({ ...o, problem: w.problem, seed: w.seed })),
  );
  if (bad.length === 0 && incidents.length === 0 && digest === '') return null;
  return (
    <div className="stack">
      {bad.length > 0 && <WrongTable rows={bad.slice(0, SHOWN)} />}
      {bad.length > SHOWN && (
        <details className="details">
          <summary>{count(bad.length - SHOWN)} more</summary>
          <WrongTable rows={bad.slice(SHOWN)} />
        </details>
      )}
      {incidents.map((i) => (
        <p key={`${i.kind}${i.message}`}>
          <strong>{i.kind}</strong> <span className="muted">{[i.arm, i.problem].filter(Boolean).join(', ')}</span>{' '}
          {i.message}
        </p>
      ))}
      {digest !== '' && <Details summary="What the Debug agent is told" text={digest} />}
    </div>
  );
}

const SHOWN = 6;
type Wrong = Evaluation['wrong'][number]['outputs'][number] & { readonly problem: string; readonly seed: string };

const WrongTable = ({ rows }: { readonly rows: readonly Wrong[] }) => (
  <table className="plain-table wide">
    <caption className="visually-hidden">Outputs beyond the limit</caption>
    <thead>
      <tr>
        <th scope="col">Problem</th>
        <th scope="col">Output</th>
        <th scope="col" className="num">
          Wrong
        </th>
        <th scope="col" className="num">
          Compared
        </th>
        <th scope="col">First wrong</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((o) => (
        <tr key={`${o.problem}${o.seed}${o.output}`}>
          <td>{o.problem}</td>
          <td className="mono">{o.output}</td>
          <td className="num">{count(o.bad)}</td>
          <td className="num">{count(o.compared)}</td>
          <td className="mono">
            {o.first[0] ? `[${o.first[0].index}] got ${o.first[0].got}, want ${o.first[0].want}` : MISSING}
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
