import './run.css';
import { useEffect, useRef } from 'react';
import { useApi, useQuery } from '../../api/client.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { refollow, useRunView } from '../../state/runs.ts';
import { Splitter } from '../../ui/panels.tsx';
import { LiveRun } from './live.tsx';
import { RunList } from './run-list.tsx';
import { StartForm } from './start-form.tsx';
import { Welcome } from './welcome.tsx';

/** Runs at the left; at the right a run, the form that starts one, or what to do first. */
export default function RunScreen({ route }: ScreenProps) {
  const [first] = route.path;
  const runs = useQuery('runs.list', { limit: 1000 }, ['runs']);
  const chosen = first === 'new' ? null : (first ?? null);
  return (
    <Splitter
      name="run"
      label="Width of the list of runs"
      initial={window.innerWidth < 1200 ? 196 : 224}
      min={180}
      max={480}
      first={<RunList runs={runs} current={first ?? null} />}
      second={
        first === 'new' ? (
          <StartForm key={JSON.stringify(route.query)} preset={route.query} />
        ) : chosen === null ? (
          <Welcome runs={runs.data} />
        ) : (
          <FollowedRun key={chosen} run={chosen} at={route.query.at} tab={route.query.tab} />
        )
      }
    />
  );
}

function FollowedRun({ run, at, tab }: { readonly run: string; readonly at?: string; readonly tab?: string }) {
  const api = useApi();
  const view = useRunView(run);
  const runs = useQuery('runs.list', { limit: 1000 }, ['runs']);
  const row = runs.data?.find((r) => r.id === run) ?? view?.row ?? null;
  const settled = view?.settled ?? false;
  // Taken up again or called off, here or by another process: told by the list, then followed anew. Once per change of the list.
  const news = row === null || row.status === 'interrupted' || row.status === view?.state.status ? null : row.updatedAt;
  const tried = useRef<string | null>(null);
  useEffect(() => {
    if (!settled || news === null || tried.current === news) return;
    tried.current = news;
    refollow(api, run);
  }, [api, run, settled, news]);
  return <LiveRun run={run} view={view} row={row} at={at} tab={tab} />;
}
