import { useMemo, useRef, useState } from 'react';
import type { TaskEntry } from '../../../main/contract/api.ts';
import type { AppError } from '../../../main/contract/result.ts';
import { useApi, useQuery } from '../../api/client.ts';
import { go } from '../../app/navigation.ts';
import { remember, remembered } from '../../state/shell.ts';
import { Button, Checkbox, Field, Labelled, Segmented, TextField } from '../../ui/controls.tsx';
import { Callout, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { categoryName, count } from '../../ui/format.ts';
import { Panel } from '../../ui/panels.tsx';
import { byCategory } from '../kernel/model.ts';
import { ConsentDialog } from './consent.tsx';
import {
  consentNeeded,
  mostRequests,
  restoreFields,
  type StartFields,
  sizeChoice,
  startParams,
} from './start-model.ts';
import { ModelFields, PlaceFields } from './start-parts.tsx';

type Preset = Readonly<Record<string, string>>;

/** What was used last, with what the address asks for (task, dtype, from). */
function initial(preset: Preset): StartFields {
  const fields = restoreFields(remembered('start'));
  return {
    ...fields,
    task: preset.task ?? fields.task,
    dtype: preset.dtype === 'bf16' || preset.dtype === 'fp32' ? preset.dtype : fields.dtype,
    from: preset.from ?? '',
  };
}

export function StartForm({ preset }: { readonly preset: Preset }) {
  const api = useApi();
  const tasks = useQuery('tasks.list', {}, ['tasks']);
  const providers = useQuery('providers.list', {});
  const settings = useQuery('settings.get', {});
  const [fields, setFields] = useState<StartFields>(() => initial(preset));
  const [tried, setTried] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<AppError | null>(null);
  const [asking, setAsking] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  const set = (change: Partial<StartFields>) => setFields((f) => ({ ...f, ...change }));
  const sizes = tasks.data?.find((t) => t.id === fields.task && t.dtype === fields.dtype)?.sizes ?? null;
  const { params, errors } = useMemo(() => startParams(fields, sizes), [fields, sizes]);
  const shown = tried ? errors : {};
  const hosts = consentNeeded(fields, providers.data ?? [], settings.data?.knownRemotes);

  const start = async (consent: readonly string[]) => {
    if (params === undefined) return;
    setBusy(true);
    setFault(null);
    remember('start', JSON.stringify(fields));
    const answer = await api.call('runs.start', { ...params, consent: consent.length > 0 ? [...consent] : undefined });
    setBusy(false);
    if (answer.ok) go('run', [answer.value.run]);
    else setFault(answer.error);
  };
  const submit = () => {
    setTried(true);
    if (params === undefined) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
      return;
    }
    if (hosts.length > 0) setAsking(true);
    else void start([]);
  };

  if (tasks.error) return <ErrorBox error={tasks.error} />;
  if (tasks.data === null || providers.data === null)
    return providers.error ? <ErrorBox error={providers.error} /> : <Loading what="tasks and providers" />;
  const most = mostRequests(fields);
  return (
    <form
      ref={form}
      className="page start"
      onSubmit={(e) => {
        e.preventDefault();
        submit();
      }}
    >
      <div className="start-head">
        <h1>New run</h1>
        <span className="node-gap" />
        <span className="muted">
          {most === null ? '' : `at most ${count(most)} requests to models`}
          {fields.maxUsd.trim() !== '' && `, stops at $${fields.maxUsd.trim()}`}
        </span>
        <Button type="submit" tone="primary" icon="run" busy={busy}>
          Start
        </Button>
      </div>
      {fault && <ErrorBox error={fault} />}
      {tried && Object.keys(errors).length > 0 && (
        <Callout tone="bad" icon="cross" title="Some fields need a look; they are marked below." />
      )}
      <div className="page-columns">
        <Panel title="Kernel">
          <KernelFields fields={fields} set={set} tasks={tasks.data} errors={shown} />
        </Panel>
        <Panel title="Search">
          <SearchFields fields={fields} set={set} errors={shown} />
        </Panel>
        <Panel title="Models">
          <ModelFields fields={fields} set={set} errors={shown} providers={providers.data} />
        </Panel>
        <Panel title="Limits, GPU">
          <PlaceFields fields={fields} set={set} errors={shown} />
        </Panel>
      </div>
      <Panel title="Notes and constraints for the Planner">
        <Notes value={fields.notes} onChange={(notes) => set({ notes })} />
      </Panel>
      {asking && <ConsentDialog hosts={hosts} onAgree={(agreed) => start(agreed)} onClose={() => setAsking(false)} />}
    </form>
  );
}

interface PartProps {
  readonly fields: StartFields;
  readonly set: (change: Partial<StartFields>) => void;
}

function KernelFields({
  fields,
  set,
  tasks,
  errors,
}: PartProps & { tasks: readonly TaskEntry[]; errors: Partial<Record<keyof StartFields, string>> }) {
  const groups = useMemo(() => {
    const known = new Map<string, Map<string, TaskEntry>>();
    for (const t of tasks) {
      const category = t.category ?? 'other';
      const group = known.get(category) ?? new Map<string, TaskEntry>();
      if (!group.has(t.id)) group.set(t.id, t);
      known.set(category, group);
    }
    return [...known].sort(([a], [b]) => byCategory(a, b));
  }, [tasks]);
  const mine = tasks.filter((t) => t.id === fields.task);
  const entry = mine.find((t) => t.dtype === fields.dtype);
  // A kernel of the user's own may have one type alone.
  const choose = (task: string) => {
    const of = tasks.filter((t) => t.id === task).map((t) => t.dtype);
    set({ task, dtype: of.includes(fields.dtype) ? fields.dtype : (of[0] ?? fields.dtype) });
  };
  const sizes = sizeChoice(entry?.sizes ?? null);
  return (
    <div className="stack">
      <Field label="Task" error={errors.task} hint={entry?.fault ?? entry?.title ?? undefined}>
        {(ids) => (
          <select {...ids} className="input select" value={fields.task} onChange={(e) => choose(e.target.value)}>
            <option value="">Choose a task …</option>
            {groups.map(([name, group]) => (
              <optgroup key={name} label={categoryName(name)}>
                {[...group.values()].map((t) => (
                  <option key={t.id} value={t.id}>
                    {t.id}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        )}
      </Field>
      <Button icon="plus" className="align-start" onClick={() => go('newtask')}>
        Your own kernel …
      </Button>
      <div className="row">
        <Labelled text="Type">
          <Segmented
            label="Element type"
            value={fields.dtype}
            onChange={(dtype) => set({ dtype })}
            options={(['fp32', 'bf16'] as const).map((d) => ({
              value: d,
              label: d,
              disabled: mine.length > 0 && !mine.some((t) => t.dtype === d),
            }))}
          />
        </Labelled>
        <Labelled text="Sizes">
          <Segmented
            label="Sizes"
            value={fields.sizeSet}
            onChange={(sizeSet) => set({ sizeSet })}
            options={sizes.options}
          />
          {sizes.why !== null && (
            <span className={errors.sizeSet === undefined ? 'field-hint' : 'field-error'}>
              {errors.sizeSet ?? sizes.why}
            </span>
          )}
        </Labelled>
      </div>
      <TextField
        label="Start from a version instead of the original"
        value={fields.from}
        placeholder="RUN:r1.a0"
        onChange={(from) => set({ from })}
      />
    </div>
  );
}

function SearchFields({ fields, set, errors }: PartProps & { errors: Partial<Record<keyof StartFields, string>> }) {
  return (
    <div className="stack">
      <div className="field-row">
        <TextField
          label="Rounds R"
          type="number"
          value={fields.rounds}
          error={errors.rounds}
          onChange={(rounds) => set({ rounds })}
        />
        <TextField
          label="Repairs per round D"
          type="number"
          value={fields.debugAttempts}
          error={errors.debugAttempts}
          onChange={(debugAttempts) => set({ debugAttempts })}
        />
      </div>
      <Labelled text="Profile told to the Planner">
        <Segmented
          label="Profile told to the Planner"
          value={fields.profile}
          onChange={(profile) => set({ profile })}
          options={[
            { value: 'filtered', label: 'filtered' },
            { value: 'full', label: 'full' },
            { value: 'none', label: 'none' },
          ]}
        />
        <span className="field-hint">
          {fields.profile === 'filtered'
            ? 'Only what the bottleneck calls for: fewer tokens, the paper’s way.'
            : fields.profile === 'full'
              ? 'Every section of Nsight Compute: many tokens, longer collection.'
              : 'No profile: for comparison.'}
        </span>
      </Labelled>
      <Checkbox
        label="Each scheme waits for my approval"
        hint="Nothing is paid for a scheme before you accepted, changed or rejected it."
        checked={fields.approve}
        onChange={(approve) => set({ approve })}
      />
    </div>
  );
}

function Notes({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) {
  return (
    <Field
      label="Told to the Planner word for word"
      hint="Such as: no tensor cores; keep it readable; N is always a multiple of 32."
    >
      {(ids) => (
        <textarea
          {...ids}
          className="input"
          rows={3}
          maxLength={20_000}
          value={value}
          onChange={(e) => onChange(e.target.value)}
        />
      )}
    </Field>
  );
}
