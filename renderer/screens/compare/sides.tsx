import { useMemo } from 'react';
import type { VersionDetail, VersionRow } from '../../../main/contract/api.ts';
import { sanitizedFact } from '../../../main/contract/sanitized.ts';
import { hrefOf } from '../../app/routes.ts';
import { OutcomeBadge } from '../../ui/feedback.tsx';
import { count, MISSING, number, ratio, ratioEstimate, stamp } from '../../ui/format.ts';
import { bottleneckText, outcomeLook } from '../../ui/outcomes.ts';

const optionText = (v: VersionRow): string => {
  const position = v.id.slice(v.run.length + 1);
  const label = v.label === position ? '' : ` ${v.label}`;
  return `${position}${label} · ${v.score ? ratio(v.score.value) : outcomeLook(v.outcome).label}`;
};

/** Chooses one side: versions of the same kernel first, by run, newest first. */
export function SidePicker({
  side,
  value,
  rows,
  like,
  onPick,
}: {
  readonly side: 'A' | 'B';
  readonly value: string | undefined;
  readonly rows: readonly VersionRow[];
  /** The version whose kernel is offered. */
  readonly like: VersionRow | undefined;
  readonly onPick: (id: string) => void;
}) {
  const groups = useMemo(() => {
    const fitting = rows
      .filter((r) => like === undefined || (r.task === like.task && r.dtype === like.dtype))
      .slice(0, 500);
    const byRun = new Map<string, VersionRow[]>();
    for (const row of fitting) byRun.set(row.run, [...(byRun.get(row.run) ?? []), row]);
    return [...byRun];
  }, [rows, like]);
  const known = groups.some(([, list]) => list.some((r) => r.id === value));
  return (
    <label className={`cmp-side cmp-side-${side.toLowerCase()}`}>
      <span className="cmp-side-name">{side}</span>
      <select
        className="input select"
        aria-label={`Version ${side}`}
        value={value ?? ''}
        onChange={(e) => onPick(e.target.value)}
      >
        {value === undefined && <option value="">choose …</option>}
        {value !== undefined && !known && <option value={value}>{value}</option>}
        {groups.map(([run, list]) => (
          <optgroup key={run} label={`${list[0]?.task} ${list[0]?.dtype}, run ${run}`}>
            {list.map((r) => (
              <option key={r.id} value={r.id}>
                {optionText(r)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

/** The two in a few lines; what differs most stands first. */
export function Summary({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  const both = (name: string, of: (v: VersionDetail) => React.ReactNode) => (
    <tr key={name}>
      <th scope="row">{name}</th>
      <td>{of(a) ?? MISSING}</td>
      <td>{of(b) ?? MISSING}</td>
    </tr>
  );
  return (
    <table className="plain-table cmp-summary-table">
      <caption className="visually-hidden">The two versions</caption>
      <thead>
        <tr>
          <th scope="col">
            <span className="visually-hidden">Fact</span>
          </th>
          <th scope="col">
            <span className="cmp-swatch cmp-swatch-a" /> A
          </th>
          <th scope="col">
            <span className="cmp-swatch cmp-swatch-b" /> B
          </th>
        </tr>
      </thead>
      <tbody>
        {both('Version', (v) => (
          <a className="mono" href={hrefOf('kernel', [v.id])}>
            {v.id}
          </a>
        ))}
        {both('Kernel', (v) => `${v.task} ${v.dtype}`)}
        {both('Outcome', (v) => (
          <OutcomeBadge outcome={v.outcome} />
        ))}
        {both(
          'Speed-up',
          (v) =>
            v.score && (
              <>
                {ratio(v.score.value)}{' '}
                <span className="together">{ratioEstimate(v.score).slice(ratio(v.score.value).length + 1)}</span>
              </>
            ),
        )}
        {both('Sanitized', (v) => v.sanitized && sanitizedFact(v.sanitized))}
        {both('P_min', (v) => ratio(v.pMin))}
        {both('Bottleneck', (v) => bottleneckText(v.bottleneck, v.launchBound) || null)}
        {both('Largest error', (v) => (v.maxUlp === null ? null : `${number(v.maxUlp, 3)} ulp`))}
        {both('Registers', (v) => count(v.registers))}
        {both('Spilled', (v) =>
          v.evaluation?.build?.spillBytes == null ? null : `${count(v.evaluation.build.spillBytes)} B`,
        )}
        {both('Made', (v) => stamp(v.at))}
        {both('Note', (v) => v.note || null)}
      </tbody>
    </table>
  );
}

/** What was planned and why each ended as it did. */
export function Reasons({ a, b }: { readonly a: VersionDetail; readonly b: VersionDetail }) {
  return (
    <div className="cmp-reasons">
      {[a, b].map((v, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the side is the identity
        <section key={i} aria-label={i === 0 ? 'A' : 'B'}>
          <h3>
            <span className={`cmp-swatch cmp-swatch-${i === 0 ? 'a' : 'b'}`} /> {i === 0 ? 'A' : 'B'}
          </h3>
          <p>{v.reason || outcomeLook(v.outcome).meaning}</p>
          {v.scheme !== '' && (
            <details className="details">
              <summary>Scheme</summary>
              <p className="cmp-scheme">{v.scheme}</p>
            </details>
          )}
        </section>
      ))}
    </div>
  );
}
