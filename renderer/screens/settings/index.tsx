import { useState } from 'react';
import type { ApiParams, SettingsView } from '../../../main/contract/api.ts';
import type { Check } from '../../../main/contract/toolchain.ts';
import { useApi, useQuery } from '../../api/client.ts';
import { type Theme, toast, toastError, useShell } from '../../state/shell.ts';
import { Button, Checkbox, Labelled, Segmented, TextField } from '../../ui/controls.tsx';
import { Badge, ErrorBox, Facts, Loading } from '../../ui/feedback.tsx';
import { money } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import '../run/run.css';

/** Settings, and what the program found on this machine. */
export default function Settings() {
  const settings = useQuery('settings.get', {});
  const theme = useShell((s) => s.theme);
  const setTheme = useShell((s) => s.setTheme);
  return (
    <div className="page">
      <h1>Settings and machine</h1>
      <div className="page-columns">
        <Panel title="Settings">
          <div className="stack">
            <Labelled text="Theme of this window">
              <Segmented<Theme>
                label="Theme"
                value={theme}
                onChange={setTheme}
                options={[
                  { value: 'system', label: 'as the system' },
                  { value: 'light', label: 'light' },
                  { value: 'dark', label: 'dark' },
                ]}
              />
            </Labelled>
            {settings.error && <ErrorBox error={settings.error} />}
            {settings.data === null ? (
              settings.loading && <Loading what="settings" />
            ) : (
              <Editable key={JSON.stringify(settings.data)} settings={settings.data} onChanged={settings.refresh} />
            )}
          </div>
        </Panel>
        <Panel title="Spend by month, known costs">
          <Spend />
        </Panel>
      </div>
      <Doctor />
      <Providers />
    </div>
  );
}

function Editable({ settings, onChanged }: { readonly settings: SettingsView; readonly onChanged: () => void }) {
  const api = useApi();
  const [nvcc, setNvcc] = useState(settings.tools.nvcc ?? '');
  const [ncu, setNcu] = useState(settings.tools.ncu ?? '');
  const [gpu, setGpu] = useState(settings.tools.gpuUuid ?? '');
  const save = async (change: ApiParams<'settings.set'>) => {
    const answer = await api.call('settings.set', change);
    if (answer.ok) toast('Saved.', { tone: 'good' });
    else toastError(answer.error);
    onChanged();
  };
  const orNull = (text: string) => (text.trim() === '' ? null : text.trim());
  const changed =
    nvcc !== (settings.tools.nvcc ?? '') ||
    ncu !== (settings.tools.ncu ?? '') ||
    gpu !== (settings.tools.gpuUuid ?? '');
  return (
    <>
      <Checkbox
        label="Local only"
        hint="Blocks every connection that leaves this machine."
        checked={settings.localOnly}
        onChange={(localOnly) => save({ localOnly })}
      />
      <Checkbox
        label="Candidates run in a sandbox or not at all"
        hint="Without bubblewrap, evaluations are refused instead of run uncontained."
        checked={settings.requireSandbox}
        onChange={(requireSandbox) => save({ requireSandbox })}
      />
      <TextField label="nvcc" value={nvcc} placeholder="found by itself" onChange={setNvcc} />
      <TextField label="Nsight Compute (ncu)" value={ncu} placeholder="found by itself" onChange={setNcu} />
      <TextField label="UUID of the GPU" value={gpu} placeholder="the machine’s choice" onChange={setGpu} />
      <div className="row">
        <Button
          disabled={!changed}
          onClick={() => save({ nvcc: orNull(nvcc), ncu: orNull(ncu), gpuUuid: orNull(gpu) })}
        >
          Save paths
        </Button>
      </div>
      <Facts
        rows={[
          ['Hosts you agreed to', settings.knownRemotes.length > 0 ? settings.knownRemotes.join(', ') : 'none'],
          [
            'Kept in',
            <span key="f" className="mono">
              {settings.file}
            </span>,
          ],
        ]}
      />
    </>
  );
}

function Spend() {
  const spend = useQuery('spend.get', {}, ['runs']);
  if (spend.error) return <ErrorBox error={spend.error} />;
  if (spend.data === null) return <Loading what="spend" />;
  if (spend.data.month.length === 0) return <p className="muted">No reply was paid for yet.</p>;
  return (
    <table className="plain-table wide">
      <caption className="visually-hidden">Spend by month</caption>
      <thead>
        <tr>
          <th scope="col">Month</th>
          <th scope="col" className="num">
            Known cost
          </th>
          <th scope="col" className="num">
            Replies
          </th>
          <th scope="col" className="num">
            Of unknown cost
          </th>
        </tr>
      </thead>
      <tbody>
        {spend.data.month.map((m) => (
          <tr key={m.key}>
            <td>{m.key}</td>
            <td className="num">{m.unknown === m.replies ? 'unknown' : money(m.usd)}</td>
            <td className="num">{m.replies}</td>
            <td className="num">{m.unknown}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const checkLook = {
  ok: { tone: 'good', icon: 'check' },
  warning: { tone: 'warn', icon: 'warn' },
  error: { tone: 'bad', icon: 'cross' },
  absent: { tone: 'neutral', icon: 'dot' },
} as const;

/** What was found, what is wrong and how to mend it. */
function Doctor() {
  const doctor = useQuery('app.doctor', {});
  return (
    <Panel
      title="This machine"
      actions={
        <Button icon="retry" busy={doctor.loading} onClick={doctor.refresh}>
          Look again
        </Button>
      }
    >
      {doctor.error && <ErrorBox error={doctor.error} />}
      {doctor.loading && <Loading what="the state of this machine" />}
      {doctor.data && (
        <div className="stack">
          <p>{doctor.data.chosen.why}</p>
          <table className="plain-table wide checks">
            <caption className="visually-hidden">Checks of this machine</caption>
            <thead>
              <tr>
                <th scope="col">Check</th>
                <th scope="col">State</th>
                <th scope="col">Found, cause and remedy</th>
              </tr>
            </thead>
            <tbody>
              {doctor.data.checks.map((c) => (
                <CheckRow key={c.id} check={c} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function CheckRow({ check }: { readonly check: Check }) {
  const look = checkLook[check.status];
  return (
    <tr>
      <td>{check.title}</td>
      <td>
        <Badge tone={look.tone} icon={look.icon}>
          {check.status}
        </Badge>
      </td>
      <td className="wrap">
        <p>{check.found}</p>
        {check.cause && <p className="muted">{check.cause}</p>}
        {check.remedy && <p>{check.remedy}</p>}
      </td>
    </tr>
  );
}

function Providers() {
  const providers = useQuery('providers.list', {});
  return (
    <Panel title="Model providers">
      {providers.error && <ErrorBox error={providers.error} />}
      {providers.data && (
        <table className="plain-table wide">
          <caption className="visually-hidden">Model providers</caption>
          <thead>
            <tr>
              <th scope="col">Provider</th>
              <th scope="col">Address</th>
              <th scope="col">Key</th>
              <th scope="col">Prompts go to</th>
            </tr>
          </thead>
          <tbody>
            {providers.data.map((p) => (
              <tr key={p.name}>
                <td>{p.title}</td>
                <td className="mono">{p.baseUrl ?? '–'}</td>
                <td>{p.keyEnv === null ? 'none needed' : `${p.keyEnv}: ${p.keySet ? 'set' : 'not set'}`}</td>
                <td>{p.remote === null ? 'this machine only' : `${p.remote}${p.consented ? ' (agreed)' : ''}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
