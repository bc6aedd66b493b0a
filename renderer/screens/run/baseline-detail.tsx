import { useState } from 'react';
import type { RunView } from '../../state/run-view.ts';
import { Code } from '../../ui/code.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/panels.tsx';
import { JobSteps } from './job-steps.tsx';
import { EvidenceFacts, Faults, FilteredMetrics, ScoreFacts, SizeTable, VerdictBox } from './verdict.tsx';

/** The original: verified, timed and profiled before anything else. */
export function BaselineDetail({ view }: { readonly view: RunView }) {
  const { baseline, originSource } = view.state;
  const [tab, setTab] = useState('verdict');
  return (
    <Tabs
      label="The original"
      value={tab}
      onChange={setTab}
      tabs={[
        { id: 'verdict', label: 'Verdict' },
        { id: 'source', label: 'Source', disabled: originSource === null },
        { id: 'build', label: 'Tools' },
      ]}
    >
      {tab === 'source' && originSource !== null && (
        <div className="source-tab">
          <div className="source-bar">
            <span className="muted">The task’s original</span>
            <CopyButton text={originSource} what="the source" />
          </div>
          <Code text={originSource} label="Source of the original" />
        </div>
      )}
      {tab === 'build' && (
        <div className="detail">
          <JobSteps run={view.run} position={view.state.baselineBy ?? 'r0.baseline'} seq={view.seq} />
        </div>
      )}
      {tab === 'verdict' &&
        (baseline === null ? (
          <Empty title="Not measured yet">The original is built, verified, timed and profiled first.</Empty>
        ) : (
          <div className="detail">
            <VerdictBox outcome={baseline.outcome} reason={baseline.reason} />
            <div className="detail-columns">
              <section>
                <h3>Basis</h3>
                <ScoreFacts evaluation={baseline} />
              </section>
              <section>
                <h3>Evidence</h3>
                <EvidenceFacts evaluation={baseline} />
              </section>
            </div>
            <Faults evaluation={baseline} />
            <section>
              <h3>Times per size, GPU time with interval</h3>
              <SizeTable evaluation={baseline} />
            </section>
            {baseline.profile && baseline.profile.filtered.length > 0 && (
              <section>
                <h3>Metrics passed on to the Planner</h3>
                <FilteredMetrics evaluation={baseline} />
              </section>
            )}
          </div>
        ))}
    </Tabs>
  );
}
