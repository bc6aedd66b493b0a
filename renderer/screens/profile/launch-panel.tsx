import type { Launch } from '../../../main/contract/profile.ts';
import { replayWords } from '../../../main/contract/replay.ts';
import { useQuery } from '../../api/client.ts';
import { setQuery } from '../../app/navigation.ts';
import { CopyLine } from '../../ui/copy.tsx';
import { ErrorBox, Loading } from '../../ui/feedback.tsx';
import { duration, metric } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import { shellWord } from '../../ui/shell-word.ts';
import type { ProfileContext } from './profile-screen.tsx';
import { metricOf } from './versions.ts';

const SHOWN_LAUNCH = ['gpu__time_duration.sum'];

export function LaunchPanel({ context }: { readonly context: ProfileContext }) {
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
                  {l.index === profile.verdict?.launch && (
                    <span className="badge tone-info" title="The verdict is about this launch">
                      verdict
                    </span>
                  )}
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

export function CollectionPanel({ context }: { readonly context: ProfileContext }) {
  const { profile, selected, evaluation } = context;
  return (
    <Panel title="How it was collected">
      <p className="muted">
        {evaluation.gpu?.name ?? 'GPU not recorded'}, Nsight Compute {profile.ncuVersion ?? 'version not recorded'}, at{' '}
        <span className="mono">{profile.problem ?? 'a size not recorded'}</span>, clocks left as they were,{' '}
        {replayWords(profile.replay)}.
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
                  {stage.replay && <div className="muted">by {replayWords(stage.replay)}</div>}
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
        <CopyLine text={`ncu-ui ${shellWord(data.report)}`} what="command that opens the report" />
      </>
    );
  return (
    <p className="muted">
      No report to open in Nsight Compute: {data?.reportReason ?? 'none was kept on this machine.'}
    </p>
  );
}
