import { useId, useState } from 'react';
import type { RunRow } from '../../../main/contract/api.ts';
import { useApi, useQuery } from '../../api/client.ts';
import type { RunView } from '../../state/run-view.ts';
import { refollow } from '../../state/runs.ts';
import { toastError } from '../../state/shell.ts';
import { Button } from '../../ui/controls.tsx';
import { CopyButton, CopyLine } from '../../ui/copy.tsx';
import { Callout, ErrorBox, Loading, Output } from '../../ui/feedback.tsx';

interface Props {
  readonly run: string;
  readonly view: RunView;
  readonly row: RunRow | null;
}

/** What the run waits for, or why it stopped, with the way on. */
export function WaitingBox({ run, view, row }: Props) {
  const { waiting, error, status } = view.state;
  if (view.error)
    return (
      <Boxed>
        <ErrorBox error={view.error} />
      </Boxed>
    );
  if (status === 'parked' && waiting !== null) {
    if (waiting.for === 'bundle')
      return (
        <Boxed>
          <BundleBox run={run} path={waiting.path} how={waiting.how} />
        </Boxed>
      );
    if (waiting.for === 'answer')
      return (
        <Boxed>
          <AnswerBox run={run} how={waiting.how} path={waiting.path} />
        </Boxed>
      );
    return (
      <Boxed>
        <ApprovalBox key={view.state.rounds.at(-1)?.scheme ?? ''} run={run} view={view} path={waiting.path} />
      </Boxed>
    );
  }
  if (error !== null && status !== 'running')
    return (
      <Boxed>
        <ErrorBox error={error} />
      </Boxed>
    );
  if (row?.status === 'interrupted')
    return (
      <Boxed>
        <Callout tone="warn" icon="warn" title="The process that drove this run is gone.">
          <p>
            Resume goes on where it stopped: finished steps are taken from the history, at most the open one is
            repeated.
          </p>
        </Callout>
      </Boxed>
    );
  return null;
}

const Boxed = ({ children }: { readonly children: React.ReactNode }) => <div className="run-wait">{children}</div>;

/** Sends something that lets the run go on. */
function useGoOn(run: string) {
  const api = useApi();
  const [busy, setBusy] = useState(false);
  const wrap = async (work: () => ReturnType<typeof api.call<'runs.answer' | 'runs.approve' | 'runs.resume'>>) => {
    setBusy(true);
    const answer = await work();
    setBusy(false);
    if (answer.ok) refollow(api, run);
    else toastError(answer.error);
    return answer.ok;
  };
  return {
    busy,
    answer: (text: string) => wrap(() => api.call('runs.answer', { run, text })),
    approve: (change: { scheme?: string; reject?: boolean }) =>
      wrap(() => api.call('runs.approve', { run, ...change })),
    resume: () => wrap(() => api.call('runs.resume', { run })),
  };
}

function BundleBox({ run, path, how }: { readonly run: string; readonly path: string; readonly how: string }) {
  const { busy, resume } = useGoOn(run);
  return (
    <Callout
      tone="warn"
      icon="wait"
      title="Waits for a bundle to be run on the machine with the GPU"
      action={
        <Button tone="primary" icon="run" busy={busy} onClick={resume}>
          Results are there: go on
        </Button>
      }
    >
      <p>{how}</p>
      <CopyLine what="bundle folder" text={path} />
      <CopyLine what="command" text={`cudamaster worker ${quoted(path)}`} />
    </Callout>
  );
}

/** A path as one word of a POSIX shell. */
const quoted = (path: string): string => (/^[\w./:@%+=-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** The manual provider: the prompt to take away, the answer to bring back. What is typed stays until it is sent. */
function AnswerBox({ run, how, path }: { readonly run: string; readonly how: string; readonly path: string }) {
  const prompt = useQuery('runs.prompt', { run }, ['runs']);
  const [text, setText] = useState('');
  const [over, setOver] = useState(false);
  const { busy, answer } = useGoOn(run);
  const id = useId();
  const take = async (file: File | undefined) => {
    if (file) setText(await file.text());
  };
  return (
    <Callout
      tone="warn"
      icon="wait"
      title={`Waits for your answer${prompt.data ? ` as the ${prompt.data.agent}` : ''}`}
    >
      <p>{how}</p>
      <div className="answer">
        <div className="answer-side">
          <div className="answer-bar">
            <span>Prompt {prompt.data && <span className="mono muted">{prompt.data.position}</span>}</span>
            {prompt.data && <CopyButton text={prompt.data.text} what="the prompt" label="Copy prompt" />}
          </div>
          {prompt.error && <ErrorBox error={prompt.error} />}
          {prompt.loading && <Loading what="prompt" />}
          {prompt.data && <Output text={prompt.data.text} label="Prompt" max={180} />}
          <CopyLine what="path of the prompt" text={prompt.data?.path ?? path} />
        </div>
        <div className="answer-side">
          <div className="answer-bar">
            <label htmlFor={id}>Answer: paste it, or drop a text file</label>
          </div>
          <textarea
            id={id}
            className={over ? 'input mono drop-over' : 'input mono'}
            rows={9}
            value={text}
            spellCheck={false}
            placeholder="The whole answer of the model, with its code block"
            onChange={(e) => setText(e.target.value)}
            onDragOver={(e) => {
              e.preventDefault();
              setOver(true);
            }}
            onDragLeave={() => setOver(false)}
            onDrop={(e) => {
              setOver(false);
              const file = e.dataTransfer.files[0];
              if (!file) return;
              e.preventDefault();
              void take(file);
            }}
          />
          <div className="row">
            <Button
              tone="primary"
              busy={busy}
              disabled={text.trim() === ''}
              onClick={async () => {
                if (await answer(text)) setText('');
              }}
            >
              Send the answer
            </Button>
            <label className="button">
              Open a file …
              <input
                type="file"
                className="visually-hidden"
                accept=".txt,.md,.cu,text/*"
                onChange={(e) => void take(e.target.files?.[0])}
              />
            </label>
          </div>
        </div>
      </div>
    </Callout>
  );
}

/** A scheme before anything is paid for it. */
function ApprovalBox({ run, view, path }: { readonly run: string; readonly view: RunView; readonly path: string }) {
  const round = view.state.rounds.at(-1);
  const scheme = round?.scheme ?? '';
  const [text, setText] = useState(scheme);
  const { busy, approve } = useGoOn(run);
  const id = useId();
  const changed = text.trim() !== scheme.trim();
  return (
    <Callout tone="warn" icon="wait" title={`Scheme of round ${round?.round ?? ''} waits for your approval`}>
      <p>Nothing is paid for this scheme before you accept it. It also lies in {path}.</p>
      <label htmlFor={id} className="muted">
        Scheme (you may change it)
      </label>
      <textarea id={id} className="input" rows={8} value={text} onChange={(e) => setText(e.target.value)} />
      <div className="row">
        <Button tone="primary" busy={busy} onClick={() => approve(changed ? { scheme: text } : {})}>
          {changed ? 'Go on with the changed scheme' : 'Approve'}
        </Button>
        <Button busy={busy} onClick={() => approve({ reject: true })}>
          Reject: ask the Planner again
        </Button>
        {changed && (
          <Button tone="quiet" onClick={() => setText(scheme)}>
            Undo my changes
          </Button>
        )}
      </div>
    </Callout>
  );
}
