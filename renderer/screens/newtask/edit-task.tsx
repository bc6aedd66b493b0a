import { useEffect, useMemo, useState } from 'react';
import { type OwnTaskFile, type OwnTaskTexts, ownTaskFiles } from '../../../main/contract/own-task.ts';
import { useQuery } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { go } from '../../app/navigation.ts';
import { Button } from '../../ui/controls.tsx';
import { Callout, Empty, ErrorBox, Loading } from '../../ui/feedback.tsx';
import { Tabs } from '../../ui/panels.tsx';
import { errorIn, FilePane } from './files.tsx';
import { aboutFile, dtypeIn, idIn } from './model.ts';
import { CheckState } from './parts.tsx';
import { useRemoveTask } from './remove.tsx';
import { ReplaceQuestion, useAdding } from './replace.tsx';
import { isChanged, useTasks } from './store.ts';

/** The files of a task of the user's own, to be changed: what they hold is checked as a new task is, and takes its place. */
export function EditTask({ task }: { readonly task: string }) {
  const { data, error, loading, refresh } = useQuery('tasks.files', { task }, ['tasks']);
  const change = useTasks((s) => s.changes[task]);
  const load = useTasks((s) => s.load);
  useEffect(() => {
    if (data !== null) load(task, data.files);
  }, [data, task, load]);
  if (loading) return <Loading what={task} />;
  if (data === null)
    return (
      <ErrorBox
        error={error ?? { code: 'internal', message: 'No answer.' }}
        action={<Button onClick={refresh}>Try again</Button>}
      />
    );
  if (change === undefined) return <Loading what={task} />;
  return <Files task={task} texts={change.texts} fault={data.fault?.message ?? null} />;
}

function Files({
  task,
  texts,
  fault,
}: {
  readonly task: string;
  readonly texts: OwnTaskTexts;
  readonly fault: string | null;
}) {
  const check = useTasks((s) => s.checks[task]);
  const changed = useTasks((s) => isChanged(s.changes[task]));
  const { change, revert } = useTasks.getState();
  const files = ownTaskFiles.filter((file) => texts[file] !== undefined);
  const [tab, setTab] = useState<string>('reference.h');
  const shown = files.find((file) => file === tab) ?? files[0];
  const at = check?.error?.at?.file;
  useEffect(() => {
    if (at !== undefined) setTab(at);
  }, [at]);
  const { add, question, close } = useAdding(task);
  const { ask, dialog } = useRemoveTask(task);
  const running = check?.abort != null;
  const commands = useMemo<readonly Command[]>(
    () => [
      {
        id: 'newtask.check',
        title: 'Check and replace this task',
        group: 'Kernel',
        key: 'mod+s',
        run: () => add(texts),
      },
      { id: 'newtask.remove', title: 'Remove this task', group: 'Kernel', run: ask },
    ],
    [add, texts, ask],
  );
  useCommands(commands);
  const renamed = idIn(texts['task.json']);
  return (
    <div className="kernel-view">
      <header className="kernel-bar">
        <h1>Change {task}</h1>
        <span className="muted">a kernel of your own{changed ? ', changed' : ''}</span>
        <div className="kernel-actions">
          <Button icon="trash" tone="danger" onClick={ask}>
            Remove
          </Button>
          <Button disabled={!changed || running} onClick={() => revert(task)}>
            Discard changes
          </Button>
          <Button icon="close" onClick={() => go('kernel', fault === null ? [task, dtypeIn(texts)] : [])}>
            Close
          </Button>
          <Button tone="primary" icon="check" busy={running} disabled={!changed} onClick={() => add(texts)}>
            Check and replace
          </Button>
        </div>
      </header>
      <CheckState check={check} />
      {fault !== null && (
        <div className="check-state">
          <Callout tone="bad" icon="cross" title="This task cannot be used as it is.">
            <p>{fault}</p>
          </Callout>
        </div>
      )}
      {renamed !== null && renamed !== task && (
        <div className="check-state">
          <Callout tone="info" icon="info" title={`Its id is now ${renamed}: it will be a task beside ${task}.`} />
        </div>
      )}
      {shown === undefined ? (
        <Empty title="This task has no files." />
      ) : (
        <Tabs
          label="Files of the task"
          value={shown}
          onChange={setTab}
          tabs={files.map((file) => ({ id: file, label: file === at ? `${file} (error)` : file }))}
        >
          <FilePane
            key={shown}
            about={aboutFile(shown)}
            label={`${shown} of ${task}`}
            text={texts[shown] ?? ''}
            located={errorIn(check, shown, texts[shown] ?? null)}
            onChange={(text) => change(task, shown as OwnTaskFile, text)}
          />
        </Tabs>
      )}
      {question !== null && <ReplaceQuestion id={question.id} onReplace={question.replace} onClose={close} />}
      {dialog}
    </div>
  );
}
