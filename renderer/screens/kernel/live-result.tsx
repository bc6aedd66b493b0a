import { resultFigures } from '../../../main/contract/confirmed.ts';
import { sanitizedOf } from '../../../main/contract/sanitized.ts';
import { hrefOf } from '../../app/routes.ts';
import { useRunView } from '../../state/runs.ts';
import { Callout, ErrorBox, Loading, OutcomeBadge, Output, SanitizedBadge, StatusBadge } from '../../ui/feedback.tsx';
import { dims, number, ratio, ratioEstimate, timeEstimate } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';

/** An evaluation while it goes on, and its verdict. */
export function LiveResult({ run }: { readonly run: string }) {
  const view = useRunView(run);
  if (view === null) return <Loading what="the evaluation" />;
  const { state, progress, error } = view;
  const round = state.rounds.at(-1);
  const attempt = round?.attempts.at(-1);
  const evaluation = attempt?.evaluation ?? null;
  const version = round && attempt ? `${run}:r${round.round}.a${attempt.attempt}` : null;
  const figures = resultFigures(evaluation);
  const sizes = figures?.sizes ?? [];
  return (
    <Panel title="Result">
      <p className="row" role="status">
        <StatusBadge status={state.status} />
        {attempt?.outcome && <OutcomeBadge outcome={attempt.outcome} />}
        {state.status === 'running' && (
          <span className="muted">{progress ? `${progress.step} ${progress.note ?? ''}` : 'waits for its turn'}</span>
        )}
        <a href={hrefOf('run', [run])}>Run {run}</a>
        {version !== null && evaluation?.profile && <a href={hrefOf('profile', [version])}>Profile</a>}
      </p>
      {(error ?? state.error) && <ErrorBox error={(error ?? state.error) as NonNullable<typeof error>} />}
      {state.waiting !== null && (
        <Callout tone="warn" icon="wait" title="Waits for a bundle.">
          <p>{state.waiting.how}</p>
        </Callout>
      )}
      {attempt && attempt.reason !== '' && <p className="prose">{attempt.reason}</p>}
      {evaluation !== null && evaluation.digest !== '' && (
        <Output text={evaluation.digest} label="What was found" max={260} />
      )}
      {figures?.score && (
        <p>
          Speed-up over the origin <strong className="tabular">{ratioEstimate(figures.score)}</strong>, least of a size{' '}
          {ratio(figures.pMin)}; largest error {number(evaluation?.error?.maxUlp, 3)} ulp.{' '}
          <SanitizedBadge sanitized={evaluation && sanitizedOf(evaluation)} />
        </p>
      )}
      {sizes.length > 0 && (
        <div className="table-scroll" tabIndex={0} role="group" aria-label="Times by size">
          <table className="figure-table">
            <thead>
              <tr>
                <th scope="col">Size</th>
                <th scope="col" className="num">
                  Origin
                </th>
                <th scope="col" className="num">
                  Mine
                </th>
                <th scope="col" className="num">
                  Speed-up
                </th>
              </tr>
            </thead>
            <tbody>
              {sizes.map((size) => (
                <tr key={size.problem}>
                  <th scope="row" className="mono nowrap">
                    {dims(size.dims)}
                  </th>
                  <td className="num">{timeEstimate(size.originSpanNs)}</td>
                  <td className="num">{timeEstimate(size.candidateSpanNs)}</td>
                  <td className="num">{ratioEstimate(size.speedup)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
