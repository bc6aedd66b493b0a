import { useEffect, useMemo, useRef, useState } from 'react';
import type { RunRow, StepLine } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { setQuery } from '../../app/navigation.ts';
import type { RunView } from '../../state/run-view.ts';
import { Checkbox } from '../../ui/controls.tsx';
import { Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { Splitter } from '../../ui/panels.tsx';
import { AttemptDetail } from './attempt-detail.tsx';
import { BaselineDetail } from './baseline-detail.tsx';
import { RunHeader } from './header.tsx';
import { Overview } from './overview.tsx';
import { selectionOf } from './positions.ts';
import { RoundDetail } from './round-detail.tsx';
import { Timeline } from './timeline.tsx';
import { newestNode, timelineOf } from './timeline-model.ts';
import { WaitingBox } from './waiting.tsx';

interface Props {
  readonly run: string;
  readonly view: RunView | null;
  readonly row: RunRow | null;
  readonly at?: string;
  readonly tab?: string;
}

/** One run: its head, the timeline, and what is selected in it. */
export function LiveRun({ run, view, row, at, tab }: Props) {
  const running = view?.state.status === 'running' && !view.settled;
  const news = view ? `${view.seq} ${view.progress?.step ?? ''} ${Object.keys(view.streaming).join()}` : '';
  const steps = useSteps(run, news, running);
  const [follow, setFollow] = useState(false);
  const nodes = useMemo(() => (view ? timelineOf(view, steps) : []), [view, steps]);

  if (view === null) return <Loading what={`run ${run}`} />;
  if (view.row === null && view.error)
    return (
      <div className="page">
        <ErrorBox error={view.error} />
      </div>
    );
  if (view.state.config === null && !running)
    return (
      <Empty title="This run ended before it began">{view.state.error?.message ?? 'Its history holds no start.'}</Empty>
    );

  const selected = follow && running ? newestNode(nodes) : (at ?? 'run');
  const select = (id: string) => {
    setFollow(false);
    setQuery({ at: id === 'run' ? undefined : id, tab: undefined });
  };
  return (
    <div className="live">
      <RunHeader run={run} view={view} row={row} steps={steps} />
      <WaitingBox run={run} view={view} row={row} />
      <Splitter
        name="timeline"
        label="Width of the timeline"
        initial={window.innerWidth < 1200 ? 296 : 344}
        min={260}
        max={640}
        first={
          <section className="side" aria-label="Timeline">
            <div className="side-bar">
              <h2>Timeline</h2>
              {running && <Checkbox label="Follow" checked={follow} onChange={setFollow} />}
            </div>
            <Timeline nodes={nodes} selected={selected} onSelect={select} />
          </section>
        }
        second={<Selected run={run} view={view} steps={steps} at={selected} tab={tab} onSelect={select} />}
      />
    </div>
  );
}

/** Steps of a run: asked again after news, at most every 150 ms, and every two seconds while it runs (a step opens without an event). */
function useSteps(run: string, news: string, running: boolean): readonly StepLine[] {
  const { data, refresh } = useQuery('runs.steps', { run }, ['runs']);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `news` asks again
  useEffect(() => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      refresh();
    }, 150);
  }, [news, refresh]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!running) return;
    const poll = setInterval(refresh, 2000);
    return () => clearInterval(poll);
  }, [running, refresh]);
  return data ?? NONE;
}

const NONE: readonly StepLine[] = [];

function Selected({
  run,
  view,
  steps,
  at,
  tab,
  onSelect,
}: {
  readonly run: string;
  readonly view: RunView;
  readonly steps: readonly StepLine[];
  readonly at: string;
  readonly tab?: string;
  readonly onSelect: (id: string) => void;
}) {
  const { kind, round, attempt } = selectionOf(at);
  if (kind === 'baseline') return <BaselineDetail view={view} />;
  const found = view.state.rounds.find((r) => r.round === round);
  if (kind === 'round' && found) return <RoundDetail run={run} view={view} steps={steps} round={found} tab={tab} />;
  const made = found?.attempts.find((a) => a.attempt === attempt);
  if (kind === 'attempt' && found && made)
    return <AttemptDetail key={at} run={run} view={view} round={found} attempt={made} tab={tab} />;
  return <Overview run={run} view={view} onSelect={onSelect} />;
}
