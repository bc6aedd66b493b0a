import { type ReactNode, useMemo, useState } from 'react';
import type { RunRow, StepLine } from '../../../main/contract/api.ts';
import { confirmedFigures } from '../../../main/contract/confirmed.ts';
import { sanitizedOf } from '../../../main/contract/sanitized.ts';
import { useApi } from '../../api/client.ts';
import { type Command, useCommands } from '../../app/commands.ts';
import { hrefOf } from '../../app/routes.ts';
import type { RunView } from '../../state/run-view.ts';
import { refollow } from '../../state/runs.ts';
import { toast, toastError } from '../../state/shell.ts';
import { Button } from '../../ui/controls.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Badge, SanitizedBadge, StatusBadge } from '../../ui/feedback.tsx';
import { count, duration, MISSING, money, number, partial, ratio } from '../../ui/format.ts';
import { useNow } from '../../ui/hooks.ts';
import { elapsedMs, moneyLeft } from './timeline-model.ts';

const replayed = (row: RunRow | null): boolean => row?.kind === 'replay' || row?.kind === 'demo';

/** Pause, resume and cancel of a run, with what can be done now. */
function useActions(run: string, view: RunView, row: RunRow | null) {
  const api = useApi();
  const [asked, setAsked] = useState(false);
  const [pausing, setPausing] = useState(false);
  const status = row?.status === 'interrupted' ? 'interrupted' : view.state.status;
  const running = status === 'running';
  const can = {
    pause: running && row?.drivenBy !== 'elsewhere' && !pausing,
    cancel:
      (running && row?.drivenBy !== 'elsewhere') ||
      status === 'parked' ||
      status === 'paused' ||
      status === 'interrupted',
    resume: status === 'paused' || status === 'interrupted' || status === 'failed' || status === 'cancelled',
  };
  const pause = async () => {
    setPausing(true);
    const answer = await api.call('runs.pause', { run });
    if (answer.ok) toast('The run pauses after its current step.');
    else toastError(answer.error);
    setPausing(false);
  };
  const resume = async () => {
    const answer = await api.call('runs.resume', { run });
    if (answer.ok) refollow(api, run);
    else toastError(answer.error);
  };
  const cancel = async () => {
    const answer = await api.call('runs.cancel', { run });
    if (!answer.ok) toastError(answer.error);
  };
  return { status, can, pause, resume, cancel, asked, setAsked };
}

export function RunHeader({
  run,
  view,
  row,
  steps,
}: {
  readonly run: string;
  readonly view: RunView;
  readonly row: RunRow | null;
  readonly steps: readonly StepLine[];
}) {
  const { status, can, pause, resume, cancel, asked, setAsked } = useActions(run, view, row);
  const { config } = view.state;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the actions are those of this rendering
  const commands = useMemo<readonly Command[]>(
    () => [
      { id: 'run.pause', title: 'Pause this run after its step', group: 'Run', disabled: !can.pause, run: pause },
      { id: 'run.resume', title: 'Resume this run', group: 'Run', disabled: !can.resume, run: resume },
      { id: 'run.cancel', title: 'Cancel this run …', group: 'Run', disabled: !can.cancel, run: () => setAsked(true) },
    ],
    [run, can.pause, can.resume, can.cancel],
  );
  useCommands(commands);
  return (
    <header className="run-header">
      <div className="run-title">
        <h1>
          {config ? (
            <a href={hrefOf('kernel', [config.task, config.dtype])} title="Show the kernel">
              {config.task} {config.dtype}
            </a>
          ) : (
            run
          )}
        </h1>
        <StatusBadge status={status} />
        {replayed(row) && (
          <Badge tone="neutral" icon="history" title="Recorded answers and results; nothing is run, asked or sent.">
            replay
          </Badge>
        )}
        {row?.drivenBy === 'elsewhere' && (
          <Badge tone="neutral" title="Driven by another process of this machine; pause it there.">
            driven elsewhere
          </Badge>
        )}
        <span className="mono muted">{run}</span>
        <span className="node-gap" />
        {view.state.best && view.state.best.round > 0 && (
          <a
            className="button"
            href={hrefOf('profile', [`${run}:r${view.state.best.round}.a${view.state.best.attempt}`])}
          >
            Profile of the best
          </a>
        )}
        {can.pause && (
          <Button icon="pause" onClick={pause} title="Stops after the current step; nothing is lost">
            Pause
          </Button>
        )}
        {can.resume && (
          <Button icon="run" tone="primary" onClick={resume}>
            Resume
          </Button>
        )}
        {can.cancel && (
          <Button icon="stop" onClick={() => setAsked(true)}>
            Cancel
          </Button>
        )}
      </div>
      <Strip view={view} steps={steps} running={status === 'running'} />
      {asked && (
        <Confirm
          title="Cancel this run now?"
          action="Cancel the run"
          onConfirm={cancel}
          onClose={() => setAsked(false)}
        >
          <p>The step under way is stopped and its work is lost; a request that was sent may still be charged.</p>
          <p>
            Everything finished stays in the history. “Pause” instead ends after the current step and loses nothing.
          </p>
        </Confirm>
      )}
    </header>
  );
}

function Figure({
  name,
  children,
  title,
}: {
  readonly name: string;
  readonly children: ReactNode;
  readonly title?: string;
}) {
  return (
    <div className="figure" title={title}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The figures one looks at while it runs. */
function Strip({
  view,
  steps,
  running,
}: {
  readonly view: RunView;
  readonly steps: readonly StepLine[];
  readonly running: boolean;
}) {
  const now = useNow(running);
  const { state } = view;
  const { config, usage, best } = state;
  const score = best && best.round > 0 ? (confirmedFigures(best.evaluation)?.score ?? null) : null;
  const left = moneyLeft(config?.maxUsd ?? null, usage.costUsd, usage.unknownCost);
  const tokens = usage.promptTokens + usage.completionTokens;
  const known = usage.replies > usage.unknownTokens;
  return (
    <dl className="strip">
      <Figure
        name="Best, weighted speed-up"
        title="Confirmed in fresh processes, weighted over the sizes, with its interval"
      >
        <strong>{best === null ? MISSING : best.round === 0 ? 'original' : ratio(score?.value)}</strong>
        {score && (
          <span className="muted">
            {' '}
            [{number(score.lo)}, {number(score.hi)}]
          </span>
        )}
        {score && best && <SanitizedBadge sanitized={sanitizedOf(best.evaluation)} />}
      </Figure>
      <Figure name="Round">
        {state.rounds.length} <span className="muted">of {config?.rounds ?? MISSING}</span>
      </Figure>
      <Figure name="Elapsed">
        {duration(elapsedMs(steps, running, now))}
        {config?.maxMinutes && <span className="muted"> of {number(config.maxMinutes, 3)} min</span>}
      </Figure>
      <Figure name="Tokens" title={`prompt ${count(usage.promptTokens)}, answer ${count(usage.completionTokens)}`}>
        {usage.replies === 0 ? MISSING : known ? partial(count(tokens), usage.unknownTokens) : 'unknown'}
        {config?.maxTokens && <span className="muted"> of {count(config.maxTokens)}</span>}
      </Figure>
      <Figure name="Cost">
        {usage.replies === 0
          ? MISSING
          : usage.replies > usage.unknownCost
            ? partial(money(usage.costUsd), usage.unknownCost)
            : 'unknown'}
      </Figure>
      <Figure name="Money left">
        {left === null ? <span className="muted">no limit</span> : `${left.atMost ? 'at most ' : ''}${money(left.usd)}`}
      </Figure>
      <Figure name="Model">{config ? `${config.provider}, ${config.model || MISSING}` : MISSING}</Figure>
      <Figure name="GPU">{best?.evaluation.machine?.gpu?.name ?? (config ? config.arch : MISSING)}</Figure>
    </dl>
  );
}
