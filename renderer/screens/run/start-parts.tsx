import { useState } from 'react';
import type { ProviderLine } from '../../../main/contract/api.ts';
import type { AppError } from '../../../main/contract/result.ts';
import { useApi, useQuery } from '../../api/client.ts';
import { toastError } from '../../state/shell.ts';
import { Button, Checkbox, Labelled, Segmented, SelectField, TextField } from '../../ui/controls.tsx';
import { count } from '../../ui/format.ts';
import { ConsentDialog } from './consent.tsx';
import { agents, remoteHost, type StartErrors, type StartFields } from './start-model.ts';

interface PartProps {
  readonly fields: StartFields;
  readonly set: (change: Partial<StartFields>) => void;
  readonly errors: StartErrors;
}

/** Where a provider sends prompts and whether its key is set, in one line. */
export function providerHint(p: ProviderLine | undefined): string {
  if (p === undefined) return '';
  const where = p.remote === null ? 'Nothing leaves this machine.' : `Prompts go to ${p.remote}.`;
  const key =
    p.keyEnv === null ? '' : p.keySet ? ` Key in ${p.keyEnv}.` : ` ${p.keyEnv} is not set in the engine’s environment.`;
  return where + key;
}

export function ModelFields({
  fields,
  set,
  errors,
  providers,
}: PartProps & { readonly providers: readonly ProviderLine[] }) {
  const api = useApi();
  const [models, setModels] = useState<{ provider: string; ids: readonly string[] } | null>(null);
  const [busy, setBusy] = useState(false);
  const chosen = providers.find((p) => p.name === fields.provider);
  const manual = fields.provider === 'manual';
  const [asking, setAsking] = useState<AppError | null>(null);
  const host = fields.baseUrl.trim() === '' ? (chosen?.remote ?? null) : remoteHost(fields.baseUrl);
  const ask = async (consent?: readonly string[]) => {
    setBusy(true);
    const answer = await api.call('providers.models', {
      provider: fields.provider,
      baseUrl: fields.baseUrl.trim() || undefined,
      keyEnv: fields.keyEnv.trim() || undefined,
      consent: consent && [...consent],
    });
    setBusy(false);
    // A remote host is asked nothing before the user has agreed to it.
    if (!answer.ok && answer.error.code === 'provider.consent' && host !== null) return setAsking(answer.error);
    if (answer.ok) setModels({ provider: fields.provider, ids: answer.value.map((m) => m.id) });
    else toastError(answer.error);
  };
  const options = providers.map((p) => ({ value: p.name, label: p.title }));
  const listed = models?.provider === fields.provider ? models.ids : [];
  return (
    <div className="stack">
      <div className="field-row">
        <SelectField
          label="Provider"
          value={fields.provider}
          options={options}
          hint={providerHint(chosen)}
          // Model, address and key belong to the provider before.
          onChange={(provider) => set({ provider, model: '', baseUrl: '', keyEnv: '' })}
        />
        <TextField
          label={manual ? 'Model (for the record)' : 'Model'}
          value={fields.model}
          error={errors.model}
          list={listed}
          hint={listed.length > 0 ? `${count(listed.length)} models offered` : undefined}
          onChange={(model) => set({ model })}
        />
      </div>
      {asking !== null && host !== null && (
        <ConsentDialog
          hosts={[{ host, disclosure: asking.detail ?? null, providers: [chosen?.title ?? fields.provider] }]}
          then="ask for the models"
          onAgree={(agreed) => void ask(agreed)}
          onClose={() => setAsking(null)}
        />
      )}
      {!manual && (
        <>
          <div className="row">
            <Button icon="search" busy={busy} onClick={() => void ask()}>
              Ask which models there are
            </Button>
            <Labelled text="Effort">
              <Segmented
                label="Effort"
                value={fields.effort}
                onChange={(effort) => set({ effort })}
                options={[
                  { value: '', label: 'not said' },
                  { value: 'low', label: 'low' },
                  { value: 'medium', label: 'medium' },
                  { value: 'high', label: 'high' },
                ]}
              />
            </Labelled>
          </div>
          <details className="details">
            <summary>Address, key, context length</summary>
            <div className="stack details-body">
              <TextField
                label="Base address"
                value={fields.baseUrl}
                placeholder={chosen?.baseUrl ?? 'http://127.0.0.1:8000/v1'}
                onChange={(baseUrl) => set({ baseUrl })}
              />
              <div className="field-row">
                <TextField
                  label="Environment variable with the key"
                  value={fields.keyEnv}
                  placeholder={chosen?.keyEnv ?? 'none'}
                  hint="The variable’s name, never the key itself."
                  onChange={(keyEnv) => set({ keyEnv })}
                />
                <TextField
                  label="Context length"
                  type="number"
                  unit="tokens"
                  value={fields.contextTokens}
                  error={errors.contextTokens}
                  onChange={(contextTokens) => set({ contextTokens })}
                />
              </div>
            </div>
          </details>
        </>
      )}
      <details className="details">
        <summary>Other models for single agents</summary>
        <div className="stack details-body">
          {agents.map((agent) => (
            <div key={agent} className="field-row">
              <SelectField
                label={`${agent[0]?.toUpperCase()}${agent.slice(1)}: provider`}
                value={fields.agents[agent].provider}
                options={[{ value: '', label: 'as the run' }, ...options]}
                onChange={(provider) =>
                  set({ agents: { ...fields.agents, [agent]: { ...fields.agents[agent], provider } } })
                }
              />
              <TextField
                label={`${agent[0]?.toUpperCase()}${agent.slice(1)}: model`}
                value={fields.agents[agent].model}
                placeholder="as the run"
                onChange={(model) => set({ agents: { ...fields.agents, [agent]: { ...fields.agents[agent], model } } })}
              />
            </div>
          ))}
        </div>
      </details>
      <Checkbox
        label="Local only"
        hint="Blocks every connection that leaves this machine, for this run."
        checked={fields.localOnly}
        onChange={(localOnly) => set({ localOnly })}
      />
    </div>
  );
}

export function PlaceFields({ fields, set, errors }: PartProps) {
  const queue = useQuery('queue.list', {}, ['queue']);
  const gpus = queue.data ?? [];
  return (
    <div className="stack">
      <div className="field-row">
        <TextField
          label="At most"
          unit="US dollars"
          type="number"
          value={fields.maxUsd}
          placeholder="no limit"
          error={errors.maxUsd}
          onChange={(maxUsd) => set({ maxUsd })}
        />
        <TextField
          label="At most"
          unit="tokens"
          type="number"
          value={fields.maxTokens}
          placeholder="no limit"
          error={errors.maxTokens}
          onChange={(maxTokens) => set({ maxTokens })}
        />
        <TextField
          label="At most"
          unit="minutes"
          type="number"
          value={fields.maxMinutes}
          placeholder="no limit"
          error={errors.maxMinutes}
          onChange={(maxMinutes) => set({ maxMinutes })}
        />
      </div>
      <Labelled text="Where kernels are built and run">
        <Segmented
          label="Where kernels are built and run"
          value={fields.executor}
          onChange={(executor) => set({ executor })}
          options={[
            { value: 'local', label: 'this machine' },
            { value: 'bundle', label: 'bundle for another machine' },
          ]}
        />
        <span className="field-hint">
          {fields.executor === 'bundle'
            ? 'The run stops at each job with a folder to carry to the machine with the GPU.'
            : gpus.length === 0
              ? 'No GPU was found here; a bundle can be run elsewhere.'
              : 'Runs take turns on a GPU.'}
        </span>
      </Labelled>
      <div className="field-row">
        {fields.executor === 'local' && (
          <SelectField
            label="GPU"
            value={fields.gpu}
            options={[
              { value: '', label: 'the machine’s choice' },
              ...gpus.map((g) => ({ value: g.gpu, label: `${g.name ?? 'GPU'} (${g.gpu.slice(0, 12)}…)` })),
            ]}
            onChange={(gpu) => set({ gpu })}
          />
        )}
        <TextField
          label="Architecture"
          value={fields.arch}
          placeholder={fields.executor === 'local' ? 'of the GPU' : 'sm_90'}
          error={errors.arch}
          onChange={(arch) => set({ arch })}
        />
      </div>
    </div>
  );
}
