import { useCallback, useMemo } from 'react';
import type { MetricLine } from '../../../main/contract/api.ts';
import { go } from '../../app/navigation.ts';
import { MatrixChart } from '../../charts/matrix-chart.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { Panel } from '../../ui/panels.tsx';
import { metricMatrix, speedupMatrix } from './matrix.ts';
import type { RunVersion } from './versions.ts';

/** Everything the run measured, version by version. */
export function VersionsTab({
  versions,
  catalogue,
  selected,
}: {
  readonly versions: readonly RunVersion[];
  readonly catalogue: readonly MetricLine[];
  readonly selected: string;
}) {
  const speedups = useMemo(() => speedupMatrix(versions, selected), [versions, selected]);
  const metrics = useMemo(() => metricMatrix(versions, catalogue, selected), [versions, catalogue, selected]);
  const pick = useCallback((id: string) => go('profile', [id], { tab: 'versions' }), []);
  return (
    <div className="profile-scroll">
      <Panel title="Speed-up by size">
        {speedups.columns.length === 0 ? (
          <Empty title="No version of this run has confirmed figures.">
            <p>Only figures of the confirming sample are shown; a version that did not pass has none.</p>
          </Empty>
        ) : (
          <MatrixChart
            matrix={speedups}
            label="Speed-up over the origin by size and version"
            corner="Size"
            onPick={pick}
          />
        )}
      </Panel>
      <Panel title="Metrics by version">
        {metrics.columns.length === 0 ? (
          <Empty title="No version of this run has a profile." />
        ) : (
          <MatrixChart matrix={metrics} label="Metrics by version" corner="Metric" onPick={pick} />
        )}
      </Panel>
    </div>
  );
}
