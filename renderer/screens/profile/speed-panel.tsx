import { useMemo } from 'react';
import { Badge, Callout } from '../../ui/feedback.tsx';
import { metric } from '../../ui/format.ts';
import { bottleneckText } from '../../ui/outcomes.ts';
import { Panel } from '../../ui/panels.tsx';
import type { ProfileContext } from './profile-screen.tsx';
import { type Bar, bars } from './speed-of-light.ts';

/** The verdict, the bars it was made of, and what it passes on. */
export function VerdictPanel({ context }: { readonly context: ProfileContext }) {
  const { profile, launch, compared, catalogue } = context;
  const { verdict } = profile;
  const other = compared?.evaluation?.profile ?? null;
  const all = useMemo(() => bars(profile, launch, other), [profile, launch, other]);
  const meaning = (id: string): string =>
    catalogue.find((m) => m.id === id)?.meaning ?? profile.filtered.find((m) => m.id === id)?.meaning ?? '';
  return (
    <Panel title="Speed of light">
      {profile.status === 'incomplete' && (
        <Callout tone="warn" icon="warn" title={profile.reason ?? 'The profile is incomplete.'}>
          {profile.remedy && <p>{profile.remedy}</p>}
        </Callout>
      )}
      {profile.remark !== undefined && <p className="muted">Remark: {profile.remark}.</p>}
      <p className="verdict">
        {verdict === null || verdict.bottleneck === null ? (
          <Badge tone="warn" icon="warn">
            no verdict
          </Badge>
        ) : (
          <Badge tone="info">{bottleneckText(verdict.bottleneck, verdict.launchBound)}</Badge>
        )}{' '}
        {verdict?.why ?? 'The profile has no verdict.'}
      </p>
      <div className="sol" role="table" aria-label="Speed of light">
        <div role="row" className="sol-row sol-head">
          <span role="columnheader">Of its peak</span>
          <span role="columnheader" className="num">
            {context.selected.label}
          </span>
          <span role="columnheader" className="num">
            {compared?.label ?? '–'}
          </span>
          <span role="columnheader" className="sol-scale" aria-label="Bar, 0 to 100 %">
            {[0, 25, 50, 75, 100].map((tick) => (
              <span key={tick} style={{ left: `${tick}%` }}>
                {tick}
              </span>
            ))}
          </span>
        </div>
        {all.map((bar) => (
          <BarRow key={bar.label} bar={bar} meaning={meaning(bar.id)} />
        ))}
      </div>
      <p className="legend muted">
        <span className="swatch swatch-now" aria-hidden="true" /> {context.selected.label}
        {compared !== null && (
          <>
            <span className="swatch swatch-ghost" aria-hidden="true" /> {compared.label}
          </>
        )}
        <span className="swatch swatch-theta" aria-hidden="true" /> threshold θ of the verdict
      </p>
      <Missing bars={all} />
      <MetricList context={context} />
    </Panel>
  );
}

/** Bars without a value, by their reason. */
function Missing({ bars: all }: { readonly bars: readonly Bar[] }) {
  const missing = all.flatMap(({ label, value }) => (value.available ? [] : [`${label} (${value.reason})`]));
  return missing.length === 0 ? null : <p className="muted">Not available: {missing.join('; ')}.</p>;
}

function BarRow({ bar, meaning }: { readonly bar: Bar; readonly meaning: string }) {
  const { value, baseline, threshold, label } = bar;
  const width = (v: typeof value | null): string | null =>
    v?.available ? `${Math.min(100, Math.max(0, v.value))}%` : null;
  const now = width(value);
  const ghost = width(baseline);
  const shown = metric(value);
  return (
    <div role="row" className="sol-row" title={`${bar.id}${meaning === '' ? '' : `: ${meaning}`}`}>
      <span role="rowheader">{label}</span>
      <span role="cell" className={value.available ? 'num' : 'num muted'} title={shown.title}>
        {value.available ? `${value.value.toFixed(1)} %` : 'n/a'}
      </span>
      <span role="cell" className="num muted" title={baseline === null ? undefined : metric(baseline).title}>
        {baseline?.available ? `${baseline.value.toFixed(1)} %` : baseline === null ? '' : 'n/a'}
      </span>
      <span role="cell" className="sol-track">
        {ghost !== null && <span className="sol-ghost" style={{ width: ghost }} />}
        {now !== null && <span className="sol-now" style={{ width: now }} />}
        {threshold !== null && (
          <span className="sol-theta" style={{ left: `${threshold}%` }}>
            <span className="visually-hidden">threshold {threshold} %</span>
          </span>
        )}
      </span>
    </div>
  );
}

/** What the verdict passes on, each with its meaning. */
function MetricList({ context }: { readonly context: ProfileContext }) {
  const { filtered } = context.profile;
  if (filtered.length === 0) return null;
  return (
    <dl className="meanings">
      {filtered.map(({ id, label, meaning, value }) => (
        <div key={id}>
          <dt>
            {label} <span className="tabular strong">{metric(value).text}</span>
            {!value.available && <span className="muted"> ({value.reason})</span>}
          </dt>
          <dd className="muted">{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
