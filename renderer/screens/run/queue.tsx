import type { QueueLine } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { hrefOf } from '../../app/routes.ts';
import { ErrorBox, Loading } from '../../ui/feedback.tsx';

/** Every GPU of this machine: what holds it, what waits for it. */
export function Queue() {
  const queue = useQuery('queue.list', {}, ['queue', 'runs']);
  if (queue.error) return <ErrorBox error={queue.error} />;
  if (queue.data === null) return <Loading what="queue" />;
  if (queue.data.length === 0)
    return (
      <p className="muted">
        No GPU was found on this machine. Recordings can be replayed, and runs can prepare bundles for another machine.
      </p>
    );
  return (
    <ul className="queue">
      {queue.data.map((line) => (
        <li key={line.gpu}>
          <p>
            <strong>{line.name ?? 'GPU'}</strong> <span className="mono muted">{line.gpu}</span>
          </p>
          <Holder line={line} />
          {line.waiting.map((w, index) => (
            <p key={`${w.run}${w.what}`} className="muted">
              {index + 1}. waits: <a href={hrefOf('run', [w.run])}>{w.run}</a>, {w.what}
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Holder({ line: { holder } }: { readonly line: QueueLine }) {
  if (holder === null) return <p className="muted">free</p>;
  return (
    <p>
      held by {holder.run === null ? 'another process' : <a href={hrefOf('run', [holder.run])}>{holder.run}</a>}:{' '}
      {holder.what}
      {holder.pid !== null && <span className="muted"> (pid {holder.pid})</span>}
    </p>
  );
}
