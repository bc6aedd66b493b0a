import { confirmedFigures } from '../../../main/contract/confirmed.ts';
import type { AttemptState, RoundState } from '../../../main/contract/run-state.ts';
import { setQuery } from '../../app/navigation.ts';
import { hrefOf } from '../../app/routes.ts';
import type { RunView } from '../../state/run-view.ts';
import { Code } from '../../ui/code.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Empty, Output } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/panels.tsx';
import { JobSteps } from './job-steps.tsx';
import { Messages } from './messages.tsx';
import { EvidenceFacts, Faults, FilteredMetrics, ScoreFacts, SizeTable, SizeWhiskers, VerdictBox } from './verdict.tsx';

interface Props {
  readonly run: string;
  readonly view: RunView;
  readonly round: RoundState;
  readonly attempt: AttemptState;
  readonly tab?: string;
}

const tabs = ['verdict', 'source', 'messages', 'build'] as const;

/** One attempt: verdict with figures, source, what agents were asked and said, what compilers and tools printed. */
export function AttemptDetail({ run, view, round, attempt, tab }: Props) {
  const at = `r${round.round}.a${attempt.attempt}`;
  // Under way there is no verdict yet: what agents write is shown until there is one.
  const shown = tabs.find((t) => t === tab) ?? (attempt.outcome === null ? 'messages' : 'verdict');
  const version = `${run}:${at}`;
  const diagnostics = attempt.evaluation?.build?.diagnostics ?? '';
  return (
    <Tabs
      label={`Attempt ${at}`}
      value={shown}
      onChange={(id) => setQuery({ tab: id })}
      tabs={[
        { id: 'verdict', label: 'Verdict' },
        { id: 'source', label: 'Source', disabled: attempt.source === null },
        { id: 'messages', label: 'Agents' },
        { id: 'build', label: 'Tools' },
      ]}
      actions={
        attempt.evaluation && (
          <>
            {attempt.evaluation.profile && (
              <a className="button" href={hrefOf('profile', [version])}>
                Profile
              </a>
            )}
            <a className="button" href={hrefOf('history', [version])}>
              In the history
            </a>
          </>
        )
      }
    >
      {shown === 'verdict' && <Verdict attempt={attempt} />}
      {shown === 'source' && attempt.source !== null && (
        <div className="source-tab">
          <div className="source-bar">
            <span className="mono ellipsis" title={attempt.compileArgs.join(' ')}>
              nvcc {attempt.compileArgs.join(' ')}
            </span>
            <CopyButton text={attempt.source} what="the source" />
          </div>
          <Code text={attempt.source} label={`Source of ${at}`} />
        </div>
      )}
      {shown === 'messages' && (
        <Messages
          run={run}
          view={view}
          // The Planner's scheme is the round's.
          positions={[...(attempt.attempt === 0 ? [] : [`${at}.debug`]), `${at}.coder`, `${at}.compiler`]}
        />
      )}
      {shown === 'build' && (
        <div className="detail">
          {diagnostics !== '' && (
            <section>
              <h3>Compiler output of the candidate</h3>
              <Output text={diagnostics} label="Compiler output" />
            </section>
          )}
          <JobSteps run={run} position={attempt.measuredBy ?? `${at}.eval`} seq={view.seq} />
        </div>
      )}
    </Tabs>
  );
}

function Verdict({ attempt }: { readonly attempt: AttemptState }) {
  const { evaluation } = attempt;
  const figures = confirmedFigures(evaluation);
  return (
    <div className="detail">
      <VerdictBox outcome={attempt.outcome} reason={attempt.reason} />
      {attempt.fix !== null && (
        <section>
          <h3>What Debug found</h3>
          <p className="prose">{attempt.fix}</p>
        </section>
      )}
      {evaluation === null ? (
        attempt.outcome === null && <Empty title="Not evaluated yet">The timeline shows what it is at.</Empty>
      ) : (
        <>
          <div className="detail-columns">
            <section>
              <h3>Figures</h3>
              <ScoreFacts evaluation={evaluation} />
              {evaluation.figures === null && <p className="muted">It was not timed.</p>}
            </section>
            <section>
              <h3>Evidence</h3>
              <EvidenceFacts evaluation={evaluation} />
            </section>
          </div>
          <Faults evaluation={evaluation} />
          {figures && (
            <section>
              <h3>Speed-up per size</h3>
              <SizeWhiskers sizes={figures.sizes} />
              <h3 className="next">Times per size, GPU time with interval</h3>
              <SizeTable evaluation={evaluation} />
            </section>
          )}
          {(evaluation.profile?.filtered.length ?? 0) > 0 && (
            <section>
              <h3>Metrics passed on to the Planner</h3>
              <FilteredMetrics evaluation={evaluation} />
            </section>
          )}
        </>
      )}
    </div>
  );
}
