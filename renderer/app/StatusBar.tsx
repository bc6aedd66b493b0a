import { useQuery } from '../api/client.ts';
import { useShell } from '../state/shell.ts';
import { money } from '../ui/format.ts';
import { Icon } from '../ui/icons.tsx';
import { hrefOf } from './routes.ts';

const words = { connecting: 'connecting …', connected: 'engine connected', lost: 'engine lost' } as const;

/** GPU, connection, runs at work and this month's spend. */
export function StatusBar() {
  const connection = useShell((s) => s.connection);
  const queue = useQuery('queue.list', {}, ['queue']);
  const runs = useQuery('runs.list', { limit: 50 }, ['runs']);
  const spend = useQuery('spend.get', {}, ['runs']);
  const info = useQuery('app.info', {});
  const active = (runs.data ?? []).filter((r) => r.status === 'running');
  const waiting = (runs.data ?? []).filter((r) => r.status === 'parked');
  const month = spend.data?.month[0];
  return (
    <footer className="status-bar">
      <span className={`status-item status-${connection}`}>
        <Icon name={connection === 'lost' ? 'warn' : 'dot'} size={12} />
        {words[connection]}
      </span>
      <span className="status-item" title={queue.data?.map((q) => q.gpu).join('\n')}>
        {gpuText(queue.data)}
      </span>
      {active.map((r) => (
        <a key={r.id} className="status-item" href={hrefOf('run', [r.id])}>
          <Icon name="run" size={12} />
          {r.task} {r.dtype} running
        </a>
      ))}
      {waiting.length > 0 && (
        <a className="status-item" href={hrefOf('run', [waiting[0]?.id ?? ''])}>
          <Icon name="wait" size={12} />
          {waiting.length} waiting
        </a>
      )}
      <span className="status-gap" />
      {month && (
        <span className="status-item" title="Known cost of this month's replies; unknown ones are in no sum.">
          {month.key}: {money(month.usd)}
          {month.unknown > 0 && ` + ${month.unknown} of unknown cost`}
        </span>
      )}
      <span className="status-item">{info.data ? `CUDAMaster ${info.data.version}` : ''}</span>
    </footer>
  );
}

function gpuText(queue: readonly { name: string | null; gpu: string; holder: { what: string } | null }[] | null) {
  if (queue === null) return 'GPU: …';
  const first = queue[0];
  if (first === undefined) return 'no GPU here';
  const state = first.holder ? `busy: ${first.holder.what}` : 'idle';
  return `${first.name ?? first.gpu}: ${state}${queue.length > 1 ? ` (+${queue.length - 1})` : ''}`;
}
