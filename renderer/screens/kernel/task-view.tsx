import { useMemo, useState } from 'react';
import type { TaskDetail } from '../../../main/contract/api.ts';
import type { Dtype, SizeSet } from '../../../main/contract/task.ts';
import { useApi, useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go, setQuery } from '../../app/navigation.ts';
import { toast, toastError } from '../../state/shell.ts';
import { Code } from '../../ui/code.tsx';
import { Button, IconButton, Segmented } from '../../ui/controls.tsx';
import { copyText } from '../../ui/copy.tsx';
import { ErrorBox, Loading } from '../../ui/feedback.tsx';
import { categoryName } from '../../ui/format.ts';
import { Splitter } from '../../ui/panels.tsx';
import { useRemoveTask } from '../newtask/remove.tsx';
import { Edit } from './edit.tsx';
import { CommandPanel, DefinitionPanel, ResourcesPanel, RooflinePanel, SizesPanel } from './facts.tsx';

interface Props {
  readonly task: string;
  readonly dtype: Dtype;
  readonly query: Readonly<Record<string, string>>;
}

/** A task's origin: source, definition, sizes, baseline, resources, command. */
export function TaskView({ task, dtype, query }: Props) {
  const sizeSet: SizeSet = query.sizes === 'large' ? 'large' : 'published';
  const { data, error, loading, refresh } = useQuery('tasks.get', { task, dtype, sizeSet }, ['versions', 'tasks']);
  if (loading) return <Loading what={`${task} ${dtype}`} />;
  if (data === null)
    return (
      <ErrorBox
        error={error ?? { code: 'internal', message: 'No answer.' }}
        action={<Button onClick={refresh}>Try again</Button>}
      />
    );
  if (query.edit !== undefined)
    return (
      <Edit
        task={task}
        dtype={dtype}
        sizeSet={sizeSet}
        sizes={data.sizes}
        parent={null}
        parentName="origin"
        parentSource={data.originSource}
        parentArgs={[]}
        signature={data.signature}
        run={query.evaluation ?? null}
        onClose={() => setQuery({ edit: undefined, evaluation: undefined })}
      />
    );
  return <Shown detail={data} sizeSet={sizeSet} />;
}

function Shown({ detail, sizeSet }: { readonly detail: TaskDetail; readonly sizeSet: SizeSet }) {
  const { id, dtype } = detail;
  const evaluation = detail.baseline?.evaluation ?? null;
  const own = detail.own === true;
  const { ask: askRemove, dialog: removing } = useRemoveTask(id);
  const commands = useMemo<readonly Command[]>(
    () => [
      { id: 'kernel.edit', title: 'Edit a copy of this kernel', group: 'Kernel', run: () => setQuery({ edit: '1' }) },
      {
        id: 'kernel.optimize',
        title: 'Optimize this kernel',
        group: 'Kernel',
        run: () => go('run', ['new'], { task: id, dtype }),
      },
      {
        id: 'kernel.sizes',
        title: `Show the ${sizeSet === 'large' ? 'published' : 'large'} sizes of this kernel`,
        group: 'Kernel',
        disabled: sizeSet === 'published' && (detail.sizes?.large ?? 0) === 0,
        run: () => setQuery({ sizes: sizeSet === 'large' ? 'published' : 'large' }),
      },
      {
        id: 'kernel.nvcc',
        title: 'Copy the nvcc command of this kernel',
        group: 'Kernel',
        disabled: detail.nvccCommand === null,
        run: async () => {
          if (await copyText(detail.nvccCommand ?? '')) toast('The nvcc command was copied.');
          else toast('The browser does not allow copying here.', { tone: 'bad' });
        },
      },
      ...(own
        ? [
            { id: 'kernel.change', title: 'Change this task', group: 'Kernel', run: () => go('newtask', [id]) },
            { id: 'kernel.remove', title: 'Remove this task', group: 'Kernel', run: askRemove },
          ]
        : []),
    ],
    [id, dtype, sizeSet, detail.sizes, detail.nvccCommand, own, askRemove],
  );
  useCommands(commands);
  return (
    <div className="kernel-view">
      <header className="kernel-bar">
        <h1>
          {id} <span className="muted">{dtype}</span>
        </h1>
        <span className="muted ellipsis" title={detail.title ?? ''}>
          {detail.title} · {categoryName(detail.category)}
        </span>
        <div className="kernel-actions">
          <Segmented
            label="Sizes"
            value={sizeSet}
            onChange={(sizes) => setQuery({ sizes })}
            options={[
              { value: 'published', label: 'Published sizes' },
              { value: 'large', label: 'Large sizes', disabled: (detail.sizes?.large ?? 0) === 0 },
            ]}
          />
          {own && (
            <>
              <IconButton icon="trash" label={`Remove ${id}`} tone="danger" onClick={askRemove} />
              <Button icon="settings" onClick={() => go('newtask', [id])} title="Its source, reference.h and task.json">
                Change task
              </Button>
            </>
          )}
          <MeasureButton detail={detail} sizeSet={sizeSet} />
          <Button icon="edit" onClick={() => setQuery({ edit: '1' })}>
            Edit a copy
          </Button>
          <Button tone="primary" icon="run" onClick={() => go('run', ['new'], { task: id, dtype })}>
            Optimize
          </Button>
        </div>
      </header>
      <Splitter
        name="kernel.code"
        label="Width of the source"
        initial={410}
        min={240}
        max={1200}
        first={
          <div className="kernel-code">
            <Code text={detail.originSource} label={`Source of the origin of ${id} ${dtype}`} />
          </div>
        }
        second={
          <div className="kernel-facts">
            <SizesPanel detail={detail} />
            <RooflinePanel evaluation={evaluation} version={`${detail.baseline?.run}:origin`} label="origin" />
            <ResourcesPanel evaluation={evaluation} />
            <CommandPanel command={detail.nvccCommand} fault={detail.nvccFault} />
            <DefinitionPanel detail={detail} />
          </div>
        }
      />
      {removing}
    </div>
  );
}

/** Evaluates the origin alone, with a profile. */
function MeasureButton({ detail, sizeSet }: { readonly detail: TaskDetail; readonly sizeSet: SizeSet }) {
  const api = useApi();
  const [busy, setBusy] = useState(false);
  const measure = async (executor: 'local' | 'bundle') => {
    setBusy(true);
    const started = await api.call('runs.evaluate', {
      task: detail.id,
      dtype: detail.dtype,
      sizeSet,
      profile: 'filtered',
      executor,
      label: 'baseline',
    });
    setBusy(false);
    if (started.ok) go('run', [started.value.run]);
    else toastError(started.error);
  };
  return (
    <>
      <Button
        icon="profile"
        busy={busy}
        onClick={() => measure('local')}
        title="Evaluates the origin on this machine’s GPU"
      >
        {detail.baseline === null ? 'Measure baseline' : 'Measure again'}
      </Button>
      <Button
        busy={busy}
        onClick={() => measure('bundle')}
        title="Writes a bundle that a worker executes where the GPU is"
      >
        As a bundle
      </Button>
    </>
  );
}
