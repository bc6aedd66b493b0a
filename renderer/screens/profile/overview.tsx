import { useMemo } from 'react';
import type { Finding, Launch } from '../../../main/contract/profile.ts';
import { useQuery } from '../../api/client.ts';
import { setQuery } from '../../app/navigation.ts';
import { RooflineChart } from '../../charts/roofline.tsx';
import type { RooflineOf } from '../../charts/roofline-model.ts';
import { CopyLine } from '../../ui/copy.tsx';
import { Badge, Callout, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { count, duration, metric, percent } from '../../ui/format.ts';
import { bottleneckText } from '../../ui/outcomes.ts';
import { Panel } from '../../ui/panels.tsx';
import { occupancy } from './occupancy.ts';
import type { ProfileContext } from './profile-screen.tsx';
import { type Bar, bars } from './speed-of-light.ts';
import { metricOf } from './versions.ts';

/** Verdict, speed of light, roofline, occupancy, findings, launches, and how it was collected. */
export function Overview({ context }: { readonly context: ProfileContext }) {
  return (
    <div className="profile-scroll profile-grid">
      <div className="profile-column">
        <VerdictPanel context={context} />
        <FindingsPanel context={context} />
        <OccupancyPanel context={context} />
      </div>
      <div className="profile-column">
        <RooflinePanel context={context} />
        <HottestPanel context={context} />
        <LaunchPanel context={context} />
        <CollectionPanel context={context} />
      </div>
    </div>
  );
}

function VerdictPanel({ context }: { readonly context: ProfileContext }) {
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

function RooflinePanel({ context }: { readonly context: ProfileContext }) {
  const { versions, selected, compared } = context;
  const of = useMemo(() => {
    const best = versions.find(({ isBest }) => isBest);
    const wanted = [
      { version: selected, role: 'selected' as const, word: '' },
      ...(best && best.label !== 'origin' ? [{ version: best, role: 'best' as const, word: 'best ' }] : []),
      ...(compared ? [{ version: compared, role: 'compared' as const, word: '' }] : []),
      ...(versions[0] ? [{ version: versions[0], role: 'origin' as const, word: '' }] : []),
    ];
    const seen = new Set<string>();
    return wanted.flatMap(({ version, role, word }): RooflineOf[] => {
      if (seen.has(version.id)) return [];
      seen.add(version.id);
      const shownRole = version.label === 'origin' && role === 'compared' ? 'origin' : role;
      return [
        {
          version: version.id,
          label: `${word}${version.label}`,
          role: shownRole,
          roofline: version.evaluation?.profile?.roofline ?? null,
        },
      ];
    });
  }, [versions, selected, compared]);
  const notes = selected.evaluation?.profile?.roofline?.notes ?? [];
  return (
    <Panel title="Roofline">
      {of.every(({ roofline }) => roofline === null) ? (
        <p className="muted">
          These profiles have no roofline: it needs operation counts and the measured peaks of the GPU, which profiles
          made by older versions of CUDAMaster do not hold. Evaluate the version again.
        </p>
      ) : (
        <>
          <RooflineChart of={of} />
          <ul className="notes">
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

/** The five hottest lines: the way into the code. */
function HottestPanel({ context }: { readonly context: ProfileContext }) {
  const map = context.profile.heatmap?.lines;
  if (map === undefined) return null;
  return (
    <Panel title="Hottest lines">
      {!map.available ? (
        <p className="muted">Not available: {map.reason}.</p>
      ) : (
        <ol className="hot-lines">
          {map.rows.slice(0, 5).map((row) => (
            <li key={`${row.file}:${row.line}`}>
              <button type="button" className="hot-line" onClick={() => setQuery({ tab: 'code' })}>
                <span className="num">
                  {percent(row.share)} <span className="muted">± {percent(row.plusMinus)}</span>
                </span>
                <span className="mono hot-text">
                  <span className="muted">{row.line}</span> {row.text.trim()}
                </span>
                <span className="muted hot-stall" title={row.dominant?.meaning}>
                  {row.dominant === null ? '' : `${row.dominant.label} ${percent(row.dominant.share, 0)}`}
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

const STATES: Record<Finding['state'], { readonly word: string; readonly rank: number }> = {
  found: { word: 'found', rank: 0 },
  unknown: { word: 'not known', rank: 1 },
  clear: { word: 'clear', rank: 2 },
  'not-applicable': { word: 'does not apply', rank: 3 },
};

function FindingsPanel({ context }: { readonly context: ProfileContext }) {
  const findings = useMemo(
    () => (context.profile.findings ?? []).toSorted((a, b) => STATES[a.state].rank - STATES[b.state].rank),
    [context.profile],
  );
  if (findings.length === 0)
    return (
      <Panel title="Findings">
        <p className="muted">
          This profile holds no finer findings: it was made by an older version of CUDAMaster. The metrics tab has its
          evidence.
        </p>
      </Panel>
    );
  return (
    <Panel title="Findings">
      <ul className="findings">
        {findings.map((finding) => (
          <li key={finding.id}>
            <details open={finding.state === 'found'}>
              <summary>
                <Badge tone={finding.state === 'found' ? 'warn' : finding.state === 'clear' ? 'good' : 'neutral'}>
                  {STATES[finding.state].word}
                </Badge>{' '}
                {finding.label}
                {finding.value.available && <span className="tabular strong"> {metric(finding.value).text}</span>}
              </summary>
              <p>{finding.sentence}</p>
              <p className="muted">Rule: {finding.rule}.</p>
              <ul className="evidence">
                {finding.evidence.map(({ id, label, meaning, value }) => (
                  <li key={id} title={`${id}${meaning === '' ? '' : `: ${meaning}`}`}>
                    {label}:{' '}
                    <span className="tabular">
                      {value.available ? metric(value).text : `not available (${value.reason})`}
                    </span>
                  </li>
                ))}
              </ul>
            </details>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function OccupancyPanel({ context }: { readonly context: ProfileContext }) {
  const { launch, evaluation, profile } = context;
  const found = useMemo(() => (launch === null ? null : occupancy(launch, evaluation.gpu)), [launch, evaluation]);
  if (found === null || launch === null) return null;
  const statics = profile.static?.find(({ kernel }) => launch.kernel.includes(kernel));
  return (
    <Panel title="Occupancy">
      <p>
        Achieved <span className="tabular strong">{metric(found.achieved).text}</span>
        {!found.achieved.available && <span className="muted"> ({found.achieved.reason})</span>}, theoretical{' '}
        <span className="tabular strong">{metric(found.theoretical).text}</span>
        {!found.theoretical.available && <span className="muted"> ({found.theoretical.reason})</span>}.{' '}
        {found.limiter === null ? 'What limits it is not known: a limit is missing.' : `Limited by ${found.limiter}.`}
      </p>
      <table className="figure-table occupancy">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col" className="num">
              Blocks per SM
            </th>
            <th scope="col">A block takes</th>
          </tr>
        </thead>
        <tbody>
          {found.limits.map(({ id, label, blocks, uses, limiting }) => (
            <tr key={id} className={limiting ? 'limiting' : undefined}>
              <th scope="row">
                {label}
                {limiting && (
                  <>
                    {' '}
                    <Badge tone="warn">limits</Badge>
                  </>
                )}
              </th>
              <td className="num" title={metric(blocks).title}>
                {blocks.available ? count(blocks.value) : 'n/a'}
              </td>
              <td className="tabular">{uses || <span className="muted">–</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {statics && (
        <p className="muted tabular">
          ptxas for {statics.arch}: {statics.registers ?? '–'} registers, spills {statics.spillStoreBytes ?? '–'} B
          stored and {statics.spillLoadBytes ?? '–'} B loaded, stack {statics.stackBytes ?? '–'} B, shared{' '}
          {statics.sharedBytes ?? '–'} B, constant {statics.constantBytes ?? '–'} B, barriers {statics.barriers ?? '–'}.
        </p>
      )}
    </Panel>
  );
}

const SHOWN_LAUNCH = ['gpu__time_duration.sum'];

function LaunchPanel({ context }: { readonly context: ProfileContext }) {
  const { profile, launch } = context;
  const total = profile.launchCount ?? profile.launches.length;
  const time = (l: Launch) => metricOf(l, SHOWN_LAUNCH);
  return (
    <Panel title={`Launches (${total})`}>
      <div className="table-scroll">
        <table className="figure-table">
          <thead>
            <tr>
              <th scope="col" className="num">
                #
              </th>
              <th scope="col">Kernel</th>
              <th scope="col" className="num">
                Grid
              </th>
              <th scope="col" className="num">
                Block
              </th>
              <th scope="col" className="num">
                Time under ncu
              </th>
            </tr>
          </thead>
          <tbody>
            {profile.launches.map((l) => (
              <tr key={l.index} className={l.index === launch?.index ? 'limiting' : undefined}>
                <td className="num">{l.index}</td>
                <th scope="row">
                  <button
                    type="button"
                    className="link-button mono launch-name"
                    aria-pressed={l.index === launch?.index}
                    title={l.kernel}
                    onClick={() => setQuery({ launch: `${l.index}` })}
                  >
                    {l.kernel}
                  </button>
                  {l.index === profile.verdict?.launch && <span className="muted"> the verdict is about this one</span>}
                </th>
                <td className="num">{l.grid.join('×')}</td>
                <td className="num">{l.block.join('×')}</td>
                <td className="num" title={metric(time(l)).title}>
                  {time(l).available ? metric(time(l)).text : 'n/a'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {total > profile.launches.length && (
        <p className="muted">{total - profile.launches.length} shorter launches are not kept.</p>
      )}
    </Panel>
  );
}

function CollectionPanel({ context }: { readonly context: ProfileContext }) {
  const { profile, selected, evaluation } = context;
  return (
    <Panel title="How it was collected">
      <p className="muted">
        {evaluation.gpu?.name ?? 'GPU not recorded'}, Nsight Compute {profile.ncuVersion ?? 'version not recorded'}, at{' '}
        <span className="mono">{profile.problem ?? 'a size not recorded'}</span>, clocks left as they were.
      </p>
      {profile.stages === undefined ? (
        <p className="muted">The stages were not recorded.</p>
      ) : (
        <table className="figure-table">
          <thead>
            <tr>
              <th scope="col">Stage</th>
              <th scope="col" className="num">
                Launches
              </th>
              <th scope="col" className="num">
                Passes
              </th>
              <th scope="col">Asked for</th>
              <th scope="col" className="num">
                Collecting
              </th>
            </tr>
          </thead>
          <tbody>
            {profile.stages.map((stage) => (
              <tr key={stage.stage}>
                <th scope="row">{stage.stage}</th>
                <td className="num">{stage.launches}</td>
                <td className="num">{stage.passes ?? '–'}</td>
                <td title={[...stage.metrics, ...stage.sections].join('\n')}>
                  {stage.metrics.length} metrics{stage.sections.length > 0 && `, ${stage.sections.join(', ')}`}
                  {stage.unknown.length > 0 && <span className="muted">; {stage.unknown.length} not known here</span>}
                  {stage.note && <div className="muted">{stage.note}</div>}
                </td>
                <td className="num">{duration(stage.collectMs)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <Report version={selected.id} />
    </Panel>
  );
}

/** The report for Nsight Compute, or why there is none. */
function Report({ version }: { readonly version: string }) {
  const { data, error, loading } = useQuery('versions.get', { version });
  if (loading) return <Loading what="the report’s place" />;
  if (error !== null) return <ErrorBox error={error} />;
  if (data?.report)
    return (
      <>
        <h3>Open the report in Nsight Compute</h3>
        <CopyLine text={`ncu-ui ${quoted(data.report)}`} what="command that opens the report" />
      </>
    );
  return (
    <p className="muted">
      No report to open in Nsight Compute: {data?.reportReason ?? 'none was kept on this machine.'}
    </p>
  );
}

const quoted = (path: string): string => (/^[\w./:\\-]+$/.test(path) ? path : `"${path.replaceAll('"', '\\"')}"`);
