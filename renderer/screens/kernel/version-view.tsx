import { useMemo, useState } from 'react';
import type { TaskDetail, VersionDetail } from '../../../main/contract/api.ts';
import { useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go, setQuery } from '../../app/navigation.ts';
import { Code, CodeDiff } from '../../ui/code.tsx';
import { Button, Segmented } from '../../ui/controls.tsx';
import { Empty, ErrorBox, Loading, OutcomeBadge } from '../../ui/feedback.tsx';
import { Splitter } from '../../ui/panels.tsx';
import { Edit } from './edit.tsx';
import { CommandPanel, ResourcesPanel, RooflinePanel, VersionPanel } from './facts.tsx';

interface Props {
  readonly version: string;
  readonly query: Readonly<Record<string, string>>;
}

/** A version of a run: its source beside its parent's, verdict, resources, command; the start of a branch. */
export function VersionView({ version, query }: Props) {
  const { data, error, loading, refresh } = useQuery('versions.get', { version }, ['versions']);
  const task = useQuery('tasks.get', data === null ? null : { task: data.task, dtype: data.dtype });
  if (loading) return <Loading what={version} />;
  if (data === null)
    return (
      <ErrorBox
        error={error ?? { code: 'internal', message: 'No answer.' }}
        action={<Button onClick={refresh}>Try again</Button>}
      />
    );
  if (query.edit !== undefined && data.source !== null)
    return (
      <Edit
        task={data.task}
        dtype={data.dtype}
        sizeSet="published"
        sizes={task.data?.sizes ?? null}
        parent={data.id}
        parentName={data.id}
        parentSource={data.source}
        parentArgs={data.compileArgs}
        signature={task.data?.signature ?? null}
        run={query.evaluation ?? null}
        onClose={() => setQuery({ edit: undefined, evaluation: undefined })}
      />
    );
  return <Shown detail={data} task={task.data} />;
}

function Shown({ detail, task }: { readonly detail: VersionDetail; readonly task: TaskDetail | null }) {
  const [view, setView] = useState<'source' | 'diff'>('source');
  const parent = useQuery('versions.get', detail.parent === null ? null : { version: detail.parent });
  const before = parent.data?.source ?? task?.originSource ?? null;
  const { source } = detail;
  const commands = useMemo<readonly Command[]>(
    () => [
      {
        id: 'kernel.edit',
        title: 'Edit a copy of this version',
        group: 'Kernel',
        disabled: source === null,
        run: () => setQuery({ edit: '1' }),
      },
      {
        id: 'kernel.optimize',
        title: 'Optimize from this version',
        group: 'Kernel',
        run: () => go('run', ['new'], { task: detail.task, dtype: detail.dtype, from: detail.id }),
      },
      {
        id: 'kernel.profile',
        title: 'Profile of this version',
        group: 'Kernel',
        run: () => go('profile', [detail.id]),
      },
    ],
    [detail.id, detail.task, detail.dtype, source],
  );
  useCommands(commands);
  return (
    <div className="kernel-view">
      <header className="kernel-bar">
        <h1>
          {detail.task} <span className="muted">{detail.dtype}</span> {detail.id.split(':')[1]}
        </h1>
        <OutcomeBadge outcome={detail.outcome} />
        <span className="muted ellipsis" title={detail.label}>
          {detail.label}
        </span>
        <div className="kernel-actions">
          <Segmented
            label="Shown"
            value={view}
            onChange={setView}
            options={[
              { value: 'source', label: 'Source' },
              { value: 'diff', label: 'Against its parent', disabled: before === null || source === null },
            ]}
          />
          <Button icon="profile" onClick={() => go('profile', [detail.id])}>
            Profile
          </Button>
          <Button icon="branch" onClick={() => setQuery({ edit: '1' })} disabled={source === null}>
            Edit a copy
          </Button>
          <Button
            tone="primary"
            icon="run"
            onClick={() => go('run', ['new'], { task: detail.task, dtype: detail.dtype, from: detail.id })}
          >
            Optimize from here
          </Button>
        </div>
      </header>
      <Splitter
        name="kernel.code"
        label="Width of the source"
        initial={620}
        min={240}
        max={1200}
        first={
          <div className="kernel-code">
            {source === null ? (
              <Empty title="This version has no source.">
                <p>{detail.reason || 'The answer of the model held no usable code.'}</p>
              </Empty>
            ) : view === 'diff' && before !== null ? (
              <CodeDiff
                left={before}
                right={source}
                leftLabel={`Source of ${detail.parent ?? 'the origin'}`}
                rightLabel={`Source of ${detail.id}`}
              />
            ) : (
              <Code text={source} label={`Source of ${detail.id}`} />
            )}
          </div>
        }
        second={
          <div className="kernel-facts">
            <VersionPanel detail={detail} />
            <RooflinePanel evaluation={detail.evaluation} version={detail.id} label={detail.id.split(':')[1] ?? ''} />
            <ResourcesPanel evaluation={detail.evaluation} />
            <CommandPanel command={detail.nvccCommand} fault={null} />
          </div>
        }
      />
    </div>
  );
}
