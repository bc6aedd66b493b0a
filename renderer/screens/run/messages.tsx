import { useEffect, useRef } from 'react';
import type { ChatReply } from '../../../main/contract/chat.ts';
import { useQuery } from '../../api/client.ts';
import type { RunView } from '../../state/run-view.ts';
import { CopyButton } from '../../ui/copy.tsx';
import { Callout, ErrorBox, Output } from '../../ui/feedback.tsx';
import { count, duration, money } from '../../ui/format.ts';
import { placeOf, stepName } from './positions.ts';

interface Props {
  readonly run: string;
  readonly view: RunView;
  readonly positions: readonly string[];
}

/** What agents were asked and what they answered, newest state of each; an open one streams. */
export function Messages({ run, view, positions }: Props) {
  return (
    <div className="detail">
      {positions.map((position) => (
        <Exchange key={position} run={run} view={view} position={position} />
      ))}
    </div>
  );
}

function Exchange({
  run,
  view,
  position,
}: {
  readonly run: string;
  readonly view: RunView;
  readonly position: string;
}) {
  const { data, error, refresh } = useQuery('runs.step', { run, position });
  const done = data?.reply != null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: news of the run asks again until the answer is stored
  useEffect(() => {
    if (!done) refresh();
  }, [view.seq, done, refresh]);
  const place = placeOf(position);
  const title = stepName(place?.step ?? position);
  const streaming = view.streaming[data?.agent ?? place?.step ?? ''];
  if (error && error.code !== 'store.not-found') return <ErrorBox error={error} />;
  const reply = data?.reply ?? null;
  const open = data !== null && data.state === 'open';
  return (
    <section className="exchange" aria-label={title}>
      <header className="exchange-bar">
        <h3>{title}</h3>
        <span className="mono muted">{position}</span>
        <span className="node-gap" />
        {reply && <span className="muted">{replyText(reply)}</span>}
        {reply && <CopyButton text={reply.text} what={`the answer of the ${title}`} />}
      </header>
      {data === null && streaming === undefined && <p className="muted">Not asked yet.</p>}
      {data?.request?.messages.map((m, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages of a request have no other name and do not move
        <details key={index} className="details">
          <summary>
            {m.role === 'system' ? 'Role (system message)' : `Request (${m.role} message)`}, {count(m.content.length)}{' '}
            characters
          </summary>
          <Output text={m.content} label={`${m.role} message`} />
        </details>
      ))}
      {reply?.reasoning && (
        <details className="details">
          <summary>Thinking, {count(reply.reasoning.length)} characters</summary>
          <Output text={reply.reasoning} label="Thinking" />
        </details>
      )}
      {reply && (
        <>
          {reply.finish !== 'stop' && (
            <Callout
              tone="warn"
              icon="warn"
              title={
                reply.finish === 'length'
                  ? 'The answer was cut by its length limit'
                  : 'The answer did not end by itself'
              }
            />
          )}
          {reply.warnings?.map((w) => (
            <p key={w} className="muted">
              {w}
            </p>
          ))}
          <Output text={reply.text} label={`Answer of the ${title}`} max={460} />
        </>
      )}
      {!reply && (open || streaming !== undefined) && <Streaming text={streaming ?? ''} title={title} />}
      {data?.state === 'parked' && <p className="muted">Waits for the answer: see above.</p>}
      {data === null || reply || open || data.state === 'parked' ? null : <p className="muted">No answer is stored.</p>}
    </section>
  );
}

/** Who answered, how long it took, what it cost; what is unknown is said once. */
function replyText(reply: ChatReply): string {
  const { promptTokens, completionTokens } = reply.usage;
  const tokens =
    promptTokens === null && completionTokens === null
      ? 'tokens unknown'
      : `${count(promptTokens)} + ${count(completionTokens)} tokens`;
  const cost = reply.costUsd === null ? 'cost unknown' : money(reply.costUsd);
  return [reply.model, duration(reply.wallMs), tokens, cost].join(', ');
}

/** Tokens as they come; stays at the end unless the reader scrolled up. */
function Streaming({ text, title }: { readonly text: string; readonly title: string }) {
  const box = useRef<HTMLPreElement>(null);
  const pinned = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new text scrolls
  useEffect(() => {
    const el = box.current;
    if (el && pinned.current) el.scrollTop = el.scrollHeight;
  }, [text]);
  return (
    <pre
      ref={box}
      className="output output-live"
      tabIndex={0}
      role="log"
      aria-live="off"
      aria-label={`Answer of the ${title}, so far`}
      onScroll={(e) => {
        const el = e.currentTarget;
        pinned.current = el.scrollHeight - el.scrollTop - el.clientHeight < 24;
      }}
    >
      {text === '' ? 'Asked; no token yet …' : text}
    </pre>
  );
}
