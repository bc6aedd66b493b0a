import { useEffect, useMemo, useState } from 'react';
import type { TaskEntry } from '../../../main/contract/api.ts';
import { type ProfileMode, profileModes } from '../../../main/contract/profile.ts';
import type { AppError } from '../../../main/contract/result.ts';
import type { Dtype, SizeSet } from '../../../main/contract/task.ts';
import { useApi } from '../../api/client.ts';
import { setQuery } from '../../app/navigation.ts';
import { remember, remembered } from '../../state/shell.ts';
import { Code, CodeDiff } from '../../ui/code.tsx';
import { Button, Segmented, SelectField, TextField } from '../../ui/controls.tsx';
import { ErrorBox } from '../../ui/feedback.tsx';
import { Panel, Splitter } from '../../ui/panels.tsx';
import { sizeChoice } from '../run/start-model.ts';
import { LiveResult } from './live-result.tsx';
import { joinArgs, splitArgs } from './model.ts';

interface Props {
  readonly task: string;
  readonly dtype: Dtype;
  readonly sizeSet: SizeSet;
  /** How many sizes the task has; null: not known (yet). */
  readonly sizes: TaskEntry['sizes'];
  /** The version copied; null: the task's origin. */
  readonly parent: string | null;
  readonly parentName: string;
  readonly parentSource: string;
  readonly parentArgs: readonly string[];
  readonly signature: string | null;
  /** The evaluation that is shown; in the address, so that it is there again after a look at its run. */
  readonly run: string | null;
  readonly onClose: () => void;
}

type Executor = 'local' | 'bundle';

/** A copy in the editor, evaluated as "mine". The text stays in this browser until it is discarded. */
export function Edit(props: Props) {
  const { task, dtype, parent, parentName, parentSource, parentArgs, signature, run, onClose } = props;
  const api = useApi();
  const key = `draft.${parent ?? `${task}.${dtype}`}`;
  const [text, setText] = useState(() => remembered(key) || parentSource);
  const [args, setArgs] = useState(joinArgs(parentArgs));
  const [label, setLabel] = useState('mine');
  const [chosen, setChosen] = useState(props.sizeSet);
  const [profile, setProfile] = useState<ProfileMode>('filtered');
  const [executor, setExecutor] = useState<Executor>('local');
  const [view, setView] = useState<'edit' | 'diff'>('edit');
  const [error, setError] = useState<AppError | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => remember(key, text === parentSource ? '' : text), 400);
    return () => clearTimeout(timer);
  }, [key, text, parentSource]);

  const sizes = sizeChoice(props.sizes);
  // From an address that was written for another task, or before its sizes were known.
  const sizeSet = sizes.options.find(({ value }) => value === chosen)?.disabled ? 'published' : chosen;
  const compileArgs = useMemo(() => splitArgs(args), [args]);
  const evaluate = async () => {
    if (compileArgs === null) return;
    setBusy(true);
    setError(null);
    const started = await api.call('runs.evaluate', {
      task,
      dtype,
      sizeSet,
      profile,
      executor,
      source: text,
      label: label.trim() || 'mine',
      compileArgs: [...compileArgs],
      ...(parent === null ? {} : { parent }),
    });
    setBusy(false);
    if (started.ok) setQuery({ evaluation: started.value.run });
    else setError(started.error);
  };
  return (
    <div className="kernel-view">
      <header className="kernel-bar">
        <h1>
          {task} <span className="muted">{dtype}</span> copy of {parentName}
        </h1>
        <div className="kernel-actions">
          <Segmented
            label="Shown"
            value={view}
            onChange={setView}
            options={[
              { value: 'edit', label: 'Edit' },
              { value: 'diff', label: 'Against the parent' },
            ]}
          />
          <Button onClick={() => setText(parentSource)} disabled={text === parentSource}>
            Discard changes
          </Button>
          <Button icon="close" onClick={onClose}>
            Close
          </Button>
        </div>
      </header>
      <Splitter
        name="kernel.edit"
        label="Width of the editor"
        initial={760}
        min={300}
        max={1200}
        first={
          <div className="kernel-code">
            {view === 'edit' ? (
              <Code text={text} label={`Copy of ${parentName}`} onChange={setText} />
            ) : (
              <CodeDiff
                left={parentSource}
                right={text}
                leftLabel={`Source of ${parentName}`}
                rightLabel="Source of the copy"
              />
            )}
          </div>
        }
        second={
          <div className="kernel-facts">
            <Panel title="Evaluate mine">
              <div className="evaluate-form">
                <TextField label="Name" value={label} onChange={setLabel} />
                <TextField
                  label="Arguments to nvcc"
                  value={args}
                  onChange={setArgs}
                  placeholder="--use_fast_math -maxrregcount=64"
                  hint="Added to the command; those outside the allow-list are refused by name."
                  error={compileArgs === null ? 'A quote is not closed.' : null}
                />
                <SelectField
                  label="Sizes"
                  value={sizeSet}
                  onChange={setChosen}
                  options={sizes.options}
                  hint={sizes.why ?? undefined}
                />
                <SelectField
                  label="Profile"
                  value={profile}
                  onChange={setProfile}
                  options={profileModes.map((value) => ({ value, label: value }))}
                />
                <SelectField
                  label="Where"
                  value={executor}
                  onChange={(to: Executor) => setExecutor(to)}
                  options={[
                    { value: 'local', label: 'this machine' },
                    { value: 'bundle', label: 'a bundle for another machine' },
                  ]}
                />
                <Button
                  tone="primary"
                  icon="run"
                  busy={busy}
                  onClick={evaluate}
                  disabled={compileArgs === null || text.trim() === ''}
                >
                  Evaluate mine
                </Button>
              </div>
              {signature !== null && (
                <p className="muted">
                  The wrapper must be <span className="mono">{signature}</span>; kernels end in{' '}
                  <span className="mono">_kernel_optimized</span>.
                </p>
              )}
              {error !== null && <ErrorBox error={error} />}
            </Panel>
            {run !== null && <LiveResult run={run} />}
          </div>
        }
      />
    </div>
  );
}
