import { useState } from 'react';
import type { RecordingLine } from '../../../main/contract/api.ts';
import { useApi, useQuery } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { toastError } from '../../state/shell.ts';
import { Button, Checkbox, SelectField } from '../../ui/controls.tsx';
import { ErrorBox, Loading } from '../../ui/feedback.tsx';
import { bytes } from '../../ui/format.ts';

const speeds = [
  { value: '0', label: 'As fast as it can' },
  { value: '400', label: 'Slowly, to watch' },
  { value: '1500', label: 'Very slowly' },
] as const;

/** Recordings that come with the program: replayed through the real loop, without a GPU, a model or a network. */
export function Recordings() {
  const api = useApi();
  const list = useQuery('recordings.list', {});
  const [slow, setSlow] = useState<'0' | '400' | '1500'>('400');
  const [approve, setApprove] = useState(false);
  const [busy, setBusy] = useState<string | null>(null);
  const play = async (line: RecordingLine) => {
    setBusy(line.id);
    const answer = await api.call('runs.replay', {
      recording: line.id,
      slowMs: Number(slow),
      approve: approve || undefined,
    });
    setBusy(null);
    if (answer.ok) go('run', [answer.value.run]);
    else toastError(answer.error);
  };
  if (list.error) return <ErrorBox error={list.error} />;
  if (list.data === null) return <Loading what="recordings" />;
  return (
    <div className="stack">
      <div className="recording-speed">
        <SelectField label="Speed" value={slow} options={speeds} onChange={setSlow} />
        <Checkbox label="Each scheme waits for my approval" checked={approve} onChange={setApprove} />
      </div>
      <ul className="recordings">
        {list.data.map((line) => (
          <li key={line.id}>
            <div className="recording-text">
              <p>
                <strong>{line.id}</strong>{' '}
                <span className="muted">
                  {line.title}, {bytes(line.bytes)}
                </span>
              </p>
              <p className="muted recording-note" title={line.note}>
                {line.note}
              </p>
            </div>
            <Button icon="run" busy={busy === line.id} aria-label={`Replay ${line.id}`} onClick={() => play(line)}>
              Replay
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}
