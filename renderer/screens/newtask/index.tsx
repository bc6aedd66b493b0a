import { useEffect, useMemo, useRef, useState } from 'react';
import type { OwnTaskFile } from '../../../main/contract/own-task.ts';
import type { AppError } from '../../../main/contract/result.ts';
import { useApi } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import type { ScreenProps } from '../../app/screens.tsx';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Callout, Empty, ErrorBox } from '../../ui/feedback.tsx';
import { Splitter, Tabs } from '../../ui/panels.tsx';
import { EditTask } from './edit-task.tsx';
import { ChooseFile, DropTarget, errorIn, FilePane } from './files.tsx';
import { TaskForm } from './form.tsx';
import {
  aboutFile,
  errorText,
  type FormFile,
  faultAt,
  filesToAdd,
  fileText,
  formFiles,
  isOutdated,
  summaryText,
} from './model.ts';
import { CheckState } from './parts.tsx';
import { ReplaceQuestion, useAdding } from './replace.tsx';
import { askDraft, useTasks } from './store.ts';
import '../kernel/kernel.css';
import '../run/run.css';
import './newtask.css';

/** `#/newtask`: a task from a kernel of the user's own; `#/newtask/saxpy`: one of them, to be changed. */
export default function Screen({ route }: ScreenProps) {
  const [task] = route.path;
  return task === undefined ? <NewTask /> : <EditTask key={task} task={task} />;
}

/** Live editors ask this long after the last key. */
const quietMs = 300;

/** Keeps the engine's view of source and form up to date. */
function useLiveDraft(): AppError | null {
  const api = useApi();
  const source = useTasks((s) => s.fresh.source);
  const form = useTasks((s) => s.fresh.form);
  const [error, setError] = useState<AppError | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: source and form are what is asked about
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const fault = await askDraft(api, abort.signal);
      if (!abort.signal.aborted) setError(fault);
    }, quietMs);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [api, source, form]);
  return error;
}

type TabId = 'source' | FormFile;

/** Source and files at the left, the form at the right, as compilers’ explorers and settings editors have it. */
function NewTask() {
  const api = useApi();
  const { source, edited } = useTasks((s) => s.fresh);
  const view = useTasks((s) => s.view);
  const check = useTasks((s) => s.checks['']);
  const { set, startOver } = useTasks.getState();
  const unread = useLiveDraft();
  const [tab, setTab] = useState<TabId>('source');
  const [clearing, setClearing] = useState(false);
  const screen = useRef<HTMLDivElement>(null);
  const { add, question, close } = useAdding('');
  const running = check?.abort != null;
  const origin: OwnTaskFile = `origin.${view?.dtype ?? 'fp32'}.cu`;

  const at = check?.error?.at?.file;
  useEffect(() => {
    if (at === undefined) return;
    setTab(formFiles.find((file) => file === at) ?? 'source');
  }, [at]);

  const submit = useMemo(
    () => async () => {
      set({ tried: true });
      if (await askDraft(api)) return;
      const state = useTasks.getState();
      const files = filesToAdd(state.fresh.source, state.fresh.edited, state.view);
      if (files !== null) return add(files);
      if (faultAt(state.view, 'source') || state.fresh.source.trim() === '') setTab('source');
      requestAnimationFrame(() => screen.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus());
    },
    [api, set, add],
  );
  const commands = useMemo<readonly Command[]>(
    () => [
      {
        id: 'newtask.check',
        title: 'Check and add this kernel',
        group: 'Kernel',
        key: 'mod+s',
        run: () => void submit(),
      },
      { id: 'newtask.clear', title: 'Start over with another kernel', group: 'Kernel', run: () => setClearing(true) },
    ],
    [submit],
  );
  useCommands(commands);
  const empty = source === '' && Object.keys(edited).length === 0;
  const takeSource = (text: string) => {
    set({ source: text });
    setTab('source');
  };
  const mark = (file: FormFile): string => (at === file ? ' (error)' : edited[file] ? ' (edited)' : '');
  return (
    <div className="kernel-view" ref={screen}>
      <header className="kernel-bar">
        <h1>A kernel of your own</h1>
        <span className="muted newtask-summary" role="status">
          {summaryText(source, edited, view)}
        </span>
        <div className="kernel-actions">
          <Button disabled={empty || running} onClick={() => setClearing(true)}>
            Start over
          </Button>
          <Button tone="primary" icon="check" busy={running} onClick={() => void submit()}>
            Check and add
          </Button>
        </div>
      </header>
      <CheckState check={check} />
      {unread !== null && (
        <div className="check-state">
          <ErrorBox error={unread} />
        </div>
      )}
      <Splitter
        name="newtask"
        label="Width of the files"
        initial={Math.round(window.innerWidth * 0.5)}
        min={300}
        max={1400}
        first={
          <DropTarget onText={takeSource}>
            <Tabs
              label="Files of the task"
              value={tab}
              onChange={(id) => setTab(id as TabId)}
              tabs={[
                { id: 'source', label: `Source${at?.startsWith('origin.') ? ' (error)' : ''}` },
                ...formFiles.map((file) => ({ id: file, label: `${file}${mark(file)}` })),
              ]}
              actions={<ChooseFile onText={takeSource} />}
            >
              {tab === 'source' ? (
                <FilePane
                  key="source"
                  about={
                    <>
                      Paste, type or drop a <span className="mono">.cu</span> here: a kernel and an{' '}
                      <span className="mono">extern "C" void</span> wrapper that launches it, with pointers to device
                      memory. Nothing of it is run here.
                    </>
                  }
                  label="Source of your kernel"
                  text={source}
                  located={errorIn(check, origin, source)}
                  onChange={(text) => set({ source: text })}
                >
                  <SourceFault />
                </FilePane>
              ) : (
                <FormFilePane key={tab} file={tab} />
              )}
            </Tabs>
          </DropTarget>
        }
        second={
          <div className="kernel-facts newtask-form">
            {view === null || view.parameters.length + view.wrappers.length === 0 ? (
              <Guide />
            ) : (
              <TaskForm view={view} />
            )}
          </div>
        }
      />
      {question !== null && <ReplaceQuestion id={question.id} onReplace={question.replace} onClose={close} />}
      {clearing && (
        <Confirm title="Start over?" action="Discard it" onConfirm={startOver} onClose={() => setClearing(false)}>
          <p>Source, form and edited files of this kernel are discarded. Tasks in the list stay as they are.</p>
        </Confirm>
      )}
    </div>
  );
}

/** Why the source is no task's. */
function SourceFault() {
  const view = useTasks((s) => s.view);
  const source = useTasks((s) => s.fresh.source);
  const text = source.trim() === '' ? null : errorText(faultAt(view, 'source'), true);
  return text === null ? null : (
    <p className="field-error" role="alert">
      {text}
    </p>
  );
}

/** What happens here, while there is nothing to ask. */
const Guide = () => (
  <Empty title="From a .cu to a task">
    <ol className="guide">
      <li>Bring your kernel: paste, drop or choose the file.</li>
      <li>Say here what the source cannot tell: sizes, lengths, values.</li>
      <li>
        Write <span className="mono">reference.h</span>: what every output element must be. Rewrites are proven against
        it.
      </li>
      <li>
        Check and add: both are compiled in the sandbox, and <span className="mono">reference.h</span> is called there.
        Then the kernel can be optimized like any other.
      </li>
    </ol>
  </Empty>
);

/** reference.h or task.json: written by the form until the user writes on it. */
function FormFilePane({ file }: { readonly file: FormFile }) {
  const { edited } = useTasks((s) => s.fresh);
  const view = useTasks((s) => s.view);
  const check = useTasks((s) => s.checks['']);
  const { edit, regenerate } = useTasks.getState();
  const [asking, setAsking] = useState(false);
  const text = fileText(file, edited, view);
  if (text === null)
    return (
      <Empty title={`${file} comes when the form is complete.`}>
        <p>{aboutFile(file)}</p>
      </Empty>
    );
  const own = edited[file] !== undefined;
  const outdated = isOutdated(file, edited, view);
  return (
    <FilePane
      about={aboutFile(file)}
      label={`${file} of your kernel`}
      text={text}
      located={errorIn(check, file, text)}
      onChange={(changed) => edit(file, changed)}
    >
      {own && (file === 'task.json' || outdated) && (
        <Callout
          tone={outdated ? 'warn' : 'info'}
          icon={outdated ? 'warn' : 'info'}
          title={
            file === 'task.json'
              ? 'You edited task.json: it counts, the form no longer changes it.'
              : 'The form has changed since you began to edit this file.'
          }
          action={<Button onClick={() => setAsking(true)}>Take the form’s text</Button>}
        />
      )}
      {asking && (
        <Confirm
          title={`Take the form’s ${file}?`}
          action="Take it"
          onConfirm={() => regenerate(file)}
          onClose={() => setAsking(false)}
        >
          <p>What you wrote in {file} is discarded.</p>
        </Confirm>
      )}
    </FilePane>
  );
}
