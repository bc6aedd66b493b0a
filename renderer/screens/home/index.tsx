import { useMemo } from 'react';
import type { RunRow } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { hrefOf } from '../../app/routes.ts';
import { Button } from '../../ui/controls.tsx';
import { Badge, ErrorBox, Loading, StatusBadge } from '../../ui/feedback.tsx';
import { ago, ratio } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import { Queue } from '../run/queue.tsx';
import { Recordings } from '../run/recordings.tsx';
import '../run/run.css';

/** What to do first, what is going on, what this machine can do. */
export default function Home() {
  const runs = useQuery('runs.list', { limit: 8 }, ['runs']);
  const none = runs.data !== null && runs.data.length === 0;
  return (
    <div className="page">
      <div className="start-head">
        <h1>CUDAMaster</h1>
        <span className="node-gap" />
        <Button onClick={() => go('kernel')}>Pick a kernel</Button>
        <Button onClick={() => go('newtask')}>Your own kernel</Button>
        <Button tone="primary" icon="plus" onClick={() => go('run', ['new'])}>
          New run
        </Button>
      </div>
      {runs.error && <ErrorBox error={runs.error} />}
      {none && <Recorded first />}
      <div className="page-columns">
        <Panel title="Latest runs">
          {runs.data === null ? <Loading what="runs" /> : <LatestRuns runs={runs.data} />}
        </Panel>
        <Panel title="This machine" actions={<a href={hrefOf('settings')}>All checks</a>}>
          <Machine />
        </Panel>
      </div>
      {!none && <Recorded first={false} />}
    </div>
  );
}

const Recorded = ({ first }: { readonly first: boolean }) => (
  <Panel title={first ? 'Begin here: watch a recorded run, no GPU, model or network needed' : 'Recorded runs'}>
    <Recordings />
  </Panel>
);

function LatestRuns({ runs }: { readonly runs: readonly RunRow[] }) {
  if (runs.length === 0) return <p className="muted">Nothing has run yet. Replay a recording above, or start a run.</p>;
  return (
    <table className="plain-table wide">
      <caption className="visually-hidden">Latest runs</caption>
      <thead>
        <tr>
          <th scope="col">Run</th>
          <th scope="col">Status</th>
          <th scope="col" className="num">
            Best
          </th>
          <th scope="col" className="num">
            Begun
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((r) => (
          <tr key={r.id}>
            <td>
              <a href={hrefOf('run', [r.id])}>
                {r.task} {r.dtype}
              </a>{' '}
              <span className="muted">{r.kind}</span>
            </td>
            <td>
              <StatusBadge status={r.status} />
            </td>
            <td className="num">{ratio(r.score)}</td>
            <td className="num muted">{ago(r.createdAt)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Machine() {
  const doctor = useQuery('app.doctor', {});
  const abilities = useMemo(
    () =>
      doctor.data === null
        ? []
        : ([
            ['compile', doctor.data.canCompile],
            ['run kernels', doctor.data.canRun],
            ['profile', doctor.data.canProfile],
          ] as const),
    [doctor.data],
  );
  if (doctor.error) return <ErrorBox error={doctor.error} />;
  if (doctor.data === null) return <Loading what="the state of this machine" />;
  return (
    <div className="stack">
      <div className="row">
        {abilities.map(([what, can]) => (
          <Badge key={what} tone={can ? 'good' : 'neutral'} icon={can ? 'check' : 'cross'}>
            {can ? `can ${what}` : `cannot ${what}`}
          </Badge>
        ))}
      </div>
      <p className="muted">{doctor.data.chosen.why}</p>
      <Queue />
    </div>
  );
}
